package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"tandem/agent"
	"tandem/agent/blame"
	"tandem/agent/session"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// What a blame looks at, so that it stays quick: files of this many bytes, the latest sessions of
// the workspace, and the latest edits of the file.
const (
	largestBlamed  = 1 << 20
	mostSessions   = 500
	mostEdits      = 200
	mostRemembered = 64 // files whose edits were followed
)

// blames is what blaming remembers. All of it can be made anew from the journals and the store.
type blames struct {
	mu       sync.Mutex
	sessions map[string]sessionWrites // by the journal
	files    map[string]followed      // by the file's path
}

// sessionWrites are the writes of a session as it was at an event, or when its journal had a size and time.
type sessionWrites struct {
	seq      int64
	size     int64
	modified time.Time
	writes   []agent.Write
}

// followed is a file's history, for these edits of it.
type followed struct {
	edits   []fileEdit
	known   []fileEdit // those whose texts are known
	history blame.History
}

// fileEdit is an operation's edit of one file.
type fileEdit struct {
	by            origin
	before, after string // digests; "" is no file
	restores      bool
}

// origin is what led to an edit.
type origin struct{ session, op, step, decision, steer string }

func newBlames() *blames {
	return &blames{sessions: map[string]sessionWrites{}, files: map[string]followed{}}
}

// blame says which operation last wrote each line of a file as it stands now, in the editor or on
// disk, followed through later edits of everyone. Lines that are not the agent's are left out.
func (c *client) blame(_ context.Context, p protocol.BlameParams) (protocol.BlameResult, error) {
	path, ok := filePath(protocol.DocumentURI(p.URI))
	if !ok {
		return protocol.BlameResult{}, protocol.Errorf(protocol.InvalidParams, "uri: %q is no file URI", p.URI)
	}
	dir, ok := c.folderAround(path)
	if !ok {
		return protocol.BlameResult{}, protocol.Errorf(protocol.InvalidParams, "uri: %s lies in no workspace of this connection", path)
	}
	r := c.registry
	if err := r.enter(); err != nil {
		return protocol.BlameResult{}, err
	}
	defer r.busy.Done()
	edits := editsOf(r.writesIn(dir), slashed(dir, path))
	if len(edits) == 0 {
		return protocol.BlameResult{}, nil
	}
	text, err := r.textNow(path)
	if err != nil {
		return protocol.BlameResult{}, err
	}
	f, err := r.follow(dir, path, edits)
	if err != nil {
		return protocol.BlameResult{}, err
	}
	return protocol.BlameResult{Lines: blamedLines(f.known, f.history.Lines(text), p.Range)}, nil
}

// folderAround is the workspace that a file lies in: the client's own, or one that a session of this
// process works in; of several the innermost.
func (c *client) folderAround(path string) (string, bool) {
	c.mu.Lock()
	dirs := []string{c.dir}
	c.mu.Unlock()
	c.registry.mu.Lock()
	for dir := range c.registry.places {
		dirs = append(dirs, dir)
	}
	c.registry.mu.Unlock()
	found := ""
	for _, dir := range dirs {
		if dir != "" && len(dir) > len(found) && slashed(dir, path) != "" {
			found = dir
		}
	}
	return found, found != ""
}

// slashed is a path relative to a folder, with slashes; "" when it does not lie in it.
func slashed(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// textNow is the text of a file: the editor's where it is open there. No file has no lines.
func (r *Registry) textNow(path string) (string, error) {
	if open, ok := r.documents.look(path); ok {
		return bounded(path, open.Text)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("blame: %w", err)
	case !info.Mode().IsRegular():
		return "", protocol.Errorf(protocol.InvalidParams, "uri: %s is no plain file", path)
	case info.Size() > largestBlamed:
		return "", tooLarge(path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("blame: %w", err)
	}
	text, ok := workspace.TextOf(data)
	if !ok {
		return "", protocol.Errorf(protocol.InvalidParams, "uri: %s is no text", path)
	}
	return bounded(path, text)
}

func bounded(path, text string) (string, error) {
	if len(text) > largestBlamed {
		return "", tooLarge(path, int64(len(text)))
	}
	return text, nil
}

func tooLarge(path string, size int64) error {
	return protocol.Errorf(protocol.InvalidParams, "uri: %s has %d bytes; lines are followed in files of up to %d", path, size, largestBlamed)
}

// writesIn are the writes of all sessions of a workspace, the oldest first.
func (r *Registry) writesIn(dir string) []agent.Write {
	journals := journalsIn(r.sessionsIn(dir))
	journals = journals[max(0, len(journals)-mostSessions):]
	found := make([][]agent.Write, len(journals))
	sideBySide(len(journals), func(i int) { found[i] = r.writesOf(journals[i]) })
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b agent.Write) int { return a.Ended.Compare(b.Ended) })
	return all
}

// sideBySide does something for each of n, on all cores.
func sideBySide(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}

// writesOf are the writes of the session with a journal: of one that runs here as it stands, of
// another as its journal tells. What cannot be read shall not hide the others.
func (r *Registry) writesOf(journal string) []agent.Write {
	if s, ok := r.running(idOf(journal)); ok {
		state := s.Now().State
		return r.blames.remember(journal, sessionWrites{seq: state.Seq}, state.Writes)
	}
	info, err := os.Stat(journal)
	if err != nil {
		return nil
	}
	return r.blames.remember(journal, sessionWrites{size: info.Size(), modified: info.ModTime()}, func() []agent.Write {
		now, err := session.Load(journal)
		if err != nil {
			r.log.Warn("the lines of a session cannot be told", zap.String("session", idOf(journal)), zap.Error(err))
		}
		return now.State.Writes()
	})
}

// remember gives the writes of a session as it is now, and reads them only where it has changed.
func (b *blames) remember(journal string, now sessionWrites, read func() []agent.Write) []agent.Write {
	b.mu.Lock()
	known, ok := b.sessions[journal]
	b.mu.Unlock()
	if ok && known.seq == now.seq && known.size == now.size && known.modified.Equal(now.modified) {
		return known.writes
	}
	now.writes = read()
	b.mu.Lock()
	b.sessions[journal] = now
	b.mu.Unlock()
	return now.writes
}

// editsOf are the edits of the file at a path, the oldest first. Where the file was moved, those of
// its earlier path come before.
func editsOf(writes []agent.Write, path string) []fileEdit {
	var out []fileEdit
	for _, w := range slices.Backward(writes) {
		for _, c := range slices.Backward(w.Changes) {
			if c.Path != path || len(out) == mostEdits {
				continue
			}
			if from := movedFrom(w, c); from != "" {
				path = from
				break
			}
			if !kept(c.Before) || !kept(c.After) { // nobody knows which lines those are
				continue
			}
			out = append(out, fileEdit{origin{w.Session, w.Op, w.Step, w.Decision, w.Steer}, digest(c.Before), digest(c.After), w.Restores})
		}
	}
	slices.Reverse(out)
	return out
}

// movedFrom is the path from which an operation moved a file to where it made one, or "".
func movedFrom(w agent.Write, made agent.Change) string {
	if made.Before != nil || made.After == nil || made.After.Digest == "" {
		return ""
	}
	for _, c := range w.Changes {
		if c.Before != nil && c.After == nil && c.Before.Digest == made.After.Digest {
			return c.Path
		}
	}
	return ""
}

// kept says that the content of an image can be had: it was stored, and is not too large.
func kept(i *agent.Image) bool {
	return i == nil || i.Digest != "" && i.Size <= largestBlamed
}

func digest(i *agent.Image) string {
	if i == nil {
		return ""
	}
	return i.Digest
}

// follow is the history of a file through its edits, followed once.
func (r *Registry) follow(dir, path string, edits []fileEdit) (followed, error) {
	b := r.blames
	b.mu.Lock()
	f, ok := b.files[path]
	b.mu.Unlock()
	if ok && slices.Equal(f.edits, edits) {
		return f, nil
	}
	files, err := r.filesOf(dir)
	if err != nil {
		return followed{}, err
	}
	f = followed{edits: edits}
	var texts []blame.Edit
	for _, e := range edits {
		before, had := textOf(files, e.before)
		after, has := textOf(files, e.after)
		if had && has { // else nobody knows which lines those are
			f.known = append(f.known, e)
			texts = append(texts, blame.Edit{Before: before, After: after, Restores: e.restores})
		}
	}
	f.history = blame.Of(texts)
	b.mu.Lock()
	if len(b.files) >= mostRemembered {
		clear(b.files)
	}
	b.files[path] = f
	b.mu.Unlock()
	return f, nil
}

func textOf(files *workspace.Workspace, digest string) (string, bool) {
	if digest == "" {
		return "", true
	}
	data, err := files.Content(digest)
	if err != nil {
		return "", false
	}
	return workspace.TextOf(data)
}

// blamedLines are the runs of lines with the same origin, within a range.
func blamedLines(edits []fileEdit, authors []int, in *protocol.Range) []protocol.BlamedLines {
	from, to := linesIn(in, len(authors))
	var out []protocol.BlamedLines
	for i := from; i < to; i++ {
		if authors[i] == blame.Nobody {
			continue
		}
		by := edits[authors[i]].by
		last := len(out) - 1
		if last >= 0 && out[last].Range.End.Line == uint32(i) && by == originOf(out[last]) {
			out[last].Range.End.Line++
			continue
		}
		out = append(out, protocol.BlamedLines{SessionID: by.session, OperationID: by.op, StepID: by.step, DecisionID: by.decision, SteerID: by.steer,
			Range: protocol.Range{Start: protocol.Position{Line: uint32(i)}, End: protocol.Position{Line: uint32(i) + 1}}})
	}
	return out
}

func originOf(l protocol.BlamedLines) origin {
	return origin{l.SessionID, l.OperationID, l.StepID, l.DecisionID, l.SteerID}
}

// linesIn are the lines of a text of n lines that a range touches; of one that ends at the start of a
// line that line is none.
func linesIn(in *protocol.Range, n int) (from, to int) {
	if in == nil {
		return 0, n
	}
	to = int(in.End.Line) + 1
	if in.End.Character == 0 && in.End.Line > in.Start.Line {
		to--
	}
	return min(int(in.Start.Line), n), min(to, n)
}
