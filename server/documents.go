package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/uri"

	"tandem/agent/workspace"
	"tandem/protocol"
	"tandem/server/document"
)

// documents are the files that editors hold open, of every client of the daemon: a session sees
// the unsaved text in its workspace, whichever client told it. They are filed under the real path
// of the file, so that spellings of one path are one file; a document belongs to each session in
// whose workspace its file lies, also when a client has several folders open. What is no file here
// (untitled:, git:, vscode-remote:) is not kept.
//
// Several clients may have the same file open. Then the text that counts is unsaved text before
// saved text, and of those the one that changed last: it is where the developer is working. An
// edit goes to that editor; the others find it on disk once it is saved there, as they would find
// a colleague's.
//
// A document whose text is that of the file on disk is saved, whatever its editor calls it. When
// the file then changes on disk, by a command or by git, the file is the truer copy until the
// editor has read it again.
type documents struct {
	mu   sync.Mutex
	open map[string][]*opened // by the real path of the file
	turn int64                // counts what editors tell
}

// opened is a document in one editor. What changes of it is guarded by documents.mu.
type opened struct {
	document.Document
	by   *client
	can  abilities
	path string
	gone chan struct{} // closed when its editor has closed it

	turn  int64       // when its editor last told of its text
	saved bool        // the text is that of the file on disk
	base  *string     // the text that both had when they were last the same; nil: they never were
	disk  fs.FileInfo // the file when that was looked at; nil: there was none
	want  *wanted     // the edit that its editor was asked for
}

// abilities are what an editor can do, as it said at the start.
type abilities struct {
	encoding protocol.PositionEncoding
	edits    bool // it changes documents when it is asked to
	versions bool // edits may bear the version that they are for
}

// wanted is an edit on its way.
type wanted struct {
	old, new string
	made     chan string // gets the text that shows it, once
}

func newDocuments() *documents { return &documents{open: map[string][]*opened{}} }

// put files a document that an editor opened, and says whether its text is on disk.
func (d *documents) put(o *opened) (saved bool) {
	o.disk, saved = onDiskAs(o.path, o.Text)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn++
	o.turn = d.turn
	o.agrees(saved)
	d.open[o.path] = append(d.open[o.path], o)
	return saved
}

// now is a document as its editor has it.
func (d *documents) now(o *opened) document.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return o.Document
}

// drop forgets a document that an editor closed, and says whether its text is on disk.
func (d *documents) drop(o *opened) (saved bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[o.path] = slices.DeleteFunc(d.open[o.path], func(other *opened) bool { return other == o })
	if len(d.open[o.path]) == 0 {
		delete(d.open, o.path)
	}
	close(o.gone)
	return o.saved
}

// change gives a document the text that its editor told. It says whether that is another than
// stood there and than the agent asked for, and whether it is on disk.
func (d *documents) change(o *opened, now document.Document) (other, saved bool) {
	disk, saved := onDiskAs(o.path, now.Text)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn++
	before := o.Text
	o.Document, o.turn, o.disk = now, d.turn, disk
	o.agrees(saved)
	if o.want != nil && document.Holds(now.Text, o.want.old, o.want.new) {
		o.want.made <- now.Text
		before, o.want = o.want.new, nil
	}
	return !document.Same(before, now.Text), saved
}

// wrote notes that a document's text is said to be on disk.
func (d *documents) wrote(o *opened) {
	now := d.now(o)
	disk, saved := onDiskAs(o.path, now.Text)
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.Text == now.Text {
		o.disk = disk
		o.agrees(saved)
	}
}

// agrees notes whether the text is that of the file on disk.
func (o *opened) agrees(saved bool) {
	if o.saved = saved; saved {
		text := o.Text
		o.base = &text
	}
}

// largestDocument is the largest file, in bytes, that is compared with its document.
const largestDocument = 32 << 20

// onDiskAs tells whether the file at a path holds a text, and what the file was then: nil where
// there is none, which is the empty text.
func onDiskAs(path, text string) (info fs.FileInfo, same bool) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, text == ""
	case err != nil || !info.Mode().IsRegular() || info.Size() > largestDocument:
		return nil, false
	}
	data, err := os.ReadFile(path)
	return info, err == nil && workspace.Holds(data, text)
}

// still tells whether a file is as it was, without reading it.
func still(path string, was fs.FileInfo) bool {
	now, err := os.Stat(path)
	if was == nil || err != nil {
		return was == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// holder is the document whose text counts for a file; nil where no editor has it open. The
// caller holds mu.
func (d *documents) holder(path string) *opened {
	all := d.open[path]
	if len(all) == 0 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *opened) int {
		if a.saved == b.saved {
			return cmp.Compare(a.turn, b.turn)
		}
		if a.saved {
			return -1
		}
		return 1
	})
}

// look is the document that counts for a file, as it is now. It is none where the file on disk is
// the truer copy: where it changed under a document that was saved.
func (d *documents) look(path string) (now opened, ok bool) {
	d.mu.Lock()
	o := d.holder(path)
	if o != nil {
		now = *o
	}
	d.mu.Unlock()
	if o == nil || still(path, now.disk) {
		return now, o != nil
	}
	disk, same := onDiskAs(path, now.Text)
	if !same {
		return now, !now.saved
	}
	now.disk, now.saved = disk, true // somebody saved it meanwhile, or wrote the same again
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.turn == now.turn {
		o.disk = disk
		o.agrees(true)
	}
	return now, true
}

// text is the document that counts for a file, where an editor has it open and the file on disk is
// not the truer copy.
func (d *documents) text(path string) (document.Document, bool) {
	now, open := d.look(path)
	return now.Document, open
}

// How long an editor may take to answer an edit, and then to show it.
const (
	answerWithin = 10 * time.Second
	showWithin   = 3 * time.Second
)

// apply has the editor change a document, and gives the text as it then has it. The editor's
// answer is not believed, either way: it is done when the document that the editor tells shows it.
func (d *documents) apply(ctx context.Context, path string, version int32, old, new string) (string, error) {
	o, w, err := d.expect(path, version, old, new)
	if err != nil {
		return "", err
	}
	defer d.settle(o, w)
	asked, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var r protocol.ApplyEditResult
	err = o.by.conn.Call(asked, protocol.LSPApplyEdit, o.edit(version, old, new), &r)
	wait := showWithin
	if err != nil || !r.Applied {
		wait = 0
	}
	if text, ok := w.shown(ctx, o.gone, wait); ok {
		return made(text, new), nil
	}
	return "", fmt.Errorf("%s: %s", o.by.by(), whyNot(ctx, err, r))
}

// made is the text that an edit led to: the editor's form of it, but without what the developer
// typed meanwhile, which the agent has not seen.
func made(text, new string) string {
	if document.Same(text, new) {
		return text
	}
	return new
}

// whyNot says what became of an edit that no text shows, and the way out.
func whyNot(ctx context.Context, err error, r protocol.ApplyEditResult) string {
	switch {
	case ctx.Err() != nil:
		return "the call was ended before the editor had made the change; whether it still makes it is not known: read the file again"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the editor did not answer within %s; whether it still makes the change is not known: read the file again before you go on", answerWithin)
	case err != nil:
		return fmt.Sprintf("the editor did not make the change (%v): read the file again, then make the edit anew", err)
	case !r.Applied && r.FailureReason != "":
		return fmt.Sprintf("the editor refused the change (%s): nothing was changed; read the file again, then make the edit anew", r.FailureReason)
	case !r.Applied:
		return "the editor refused the change: nothing was changed; read the file again, then make the edit anew"
	}
	return "the editor's text does not show the change, which an editor skips when the text has moved on meanwhile: read the file again, then make the edit anew"
}

// shown waits for the text that shows an edit.
func (w *wanted) shown(ctx context.Context, gone <-chan struct{}, wait time.Duration) (string, bool) {
	select {
	case text := <-w.made:
		return text, true
	default:
	}
	if wait == 0 {
		return "", false
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case text := <-w.made:
		return text, true
	case <-late.C:
	case <-gone:
	case <-ctx.Done():
	}
	return "", false
}

// expect prepares the document that counts for an edit of old to new.
func (d *documents) expect(path string, version int32, old, new string) (*opened, *wanted, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.holder(path)
	switch {
	case o == nil || o.Version != version || o.Text != old:
		return nil, nil, errors.New("the text changed while the edit was being made: read the file again, then make the edit anew")
	case !o.can.edits:
		return nil, nil, fmt.Errorf("%s takes no edits from others, and holds unsaved text: ask the developer to save the file", o.by.by())
	case o.want != nil:
		return nil, nil, errors.New("another edit of the same file is under way in the editor: read the file again, then make the edit anew")
	}
	o.want = &wanted{old, new, make(chan string, 1)}
	return o, o.want, nil
}

// settle ends the wait for an edit: what the editor tells from now on is the developer's doing.
func (d *documents) settle(o *opened, w *wanted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.want == w {
		o.want = nil
	}
}

// edit is the request for an edit: with the version that it was made for, where the editor can
// take one.
func (o *opened) edit(version int32, old, new string) protocol.ApplyEditParams {
	edits := document.Edits(old, new, o.can.encoding)
	if !o.can.versions {
		return protocol.ApplyEditParams{Label: "Tandem", Edit: protocol.WorkspaceEdit{Changes: map[protocol.DocumentURI][]protocol.TextEdit{o.URI: edits}}}
	}
	return protocol.ApplyEditParams{Label: "Tandem", Edit: protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{
		{TextDocument: &protocol.EditedDocument{URI: o.URI, Version: &version}, Edits: edits}}}}
}

// buffers are the documents in one workspace, as its files know them.
type buffers struct {
	*documents
	dir string
}

func (b buffers) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// Text is the document that is open at a path of the workspace. One that is saved, in an editor
// that takes no edits, is read and changed on disk, where that editor finds it.
func (b buffers) Text(name string) (string, int32, bool) {
	now, open := b.look(b.path(name))
	if !open || now.saved && !now.can.edits {
		return "", 0, false
	}
	return now.Text, now.Version, true
}

// Base is the text that an open document and its file had when they were last the same.
func (b buffers) Base(name string) (string, bool) {
	now, open := b.look(b.path(name))
	if !open || now.base == nil {
		return "", false
	}
	return *now.base, true
}

// Saved notes that the file was given the text of its document.
func (b buffers) Saved(name string) {
	b.mu.Lock()
	o := b.holder(b.path(name))
	b.mu.Unlock()
	if o != nil {
		b.wrote(o)
	}
}

func (b buffers) apply(ctx context.Context, name string, version int32, old, new string) (string, error) {
	return b.documents.apply(ctx, b.path(name), version, old, new)
}

// filePath is the real path of the file that a URI names, which need not exist; ok is false for
// what is no file of this machine.
func filePath(at protocol.DocumentURI) (path string, ok bool) {
	u, err := url.ParseRequestURI(string(at))
	if err != nil || u.Scheme != uri.FileScheme || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	return realPath(uri.URI(at).Filename()), true
}

// realPath follows the links on the way to a file as far as there are any.
func realPath(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
