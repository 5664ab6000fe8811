package server

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"tandem/agent/session"
	"tandem/protocol"
)

// journalEnd is how the name of a session's journal ends; what stands before it is the id.
const journalEnd = ".jsonl"

func idOf(journal string) string { return strings.TrimSuffix(filepath.Base(journal), journalEnd) }

// listing is a session on disk as it was when its journal had this size and time.
type listing struct {
	Size     int64             `json:"size"`
	Modified time.Time         `json:"modified"`
	View     *protocol.Session `json:"view"` // nil: it cannot be listed
}

// mostListed bounds how many sessions on disk are remembered in one folder.
const mostListed = 5000

// List is the sessions of a workspace, or with "" of all, newest first, without the operations
// that have ended. Those on disk are read and not run, and read again only when their journal
// has changed.
func (r *Registry) List(dir string) ([]protocol.Session, error) {
	folders := []string{r.sessionsIn(dir)}
	if dir == "" {
		folders = r.sessionFolders()
	}
	var out []protocol.Session
	for _, folder := range folders {
		out = append(out, r.listFolder(folder)...)
	}
	slices.SortStableFunc(out, func(a, b protocol.Session) int { return b.StartedAt.Compare(a.StartedAt) })
	return out, nil
}

// views are the sessions with these journals. They are read side by side, on all cores.
func (r *Registry) views(paths []string) []protocol.Session {
	found := make([]*protocol.Session, len(paths))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)); i = next.Add(1) - 1 {
				found[i] = r.view(paths[i])
			}
		})
	}
	readers.Wait()
	var out []protocol.Session
	for _, view := range found {
		if view != nil {
			out = append(out, *view)
		}
	}
	return out
}

func (r *Registry) view(path string) *protocol.Session {
	if s, ok := r.running(idOf(path)); ok {
		return summary(s.Now())
	}
	return r.onShelf(path)
}

// summary is a session as a list shows it: what has ended in it is told to those who attach.
func summary(now session.Snapshot) *protocol.Session {
	view := now.View()
	view.Operations = slices.DeleteFunc(view.Operations, func(o protocol.Operation) bool { return o.EndedAt != nil })
	return &view
}

// onShelf is a session that does not run here; nil when it cannot be listed, which shall not
// hide the others.
func (r *Registry) onShelf(path string) *protocol.Session {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	r.mu.Lock()
	known, ok := r.listed[path]
	r.mu.Unlock()
	if ok && known.Size == info.Size() && known.Modified.Equal(info.ModTime()) {
		return known.View
	}
	fresh := listing{Size: info.Size(), Modified: info.ModTime()}
	now, err := session.Load(path)
	if err != nil || now.State.Seq == 0 {
		r.log.Warn("a session cannot be listed", zap.String("session", idOf(path)), zap.Error(err))
	} else {
		fresh.View = summary(now)
	}
	r.mu.Lock()
	r.listed[path] = fresh
	r.mu.Unlock()
	return fresh.View
}

// sessionFolders are the folders of all workspaces' sessions.
func (r *Registry) sessionFolders() []string {
	all := filepath.Join(r.opts.State, "workspaces")
	var out []string
	for _, name := range namesIn(all) {
		out = append(out, filepath.Join(all, name, "sessions"))
	}
	return out
}

// journalsIn are the journals in a folder, in the order of their names: the oldest first.
func journalsIn(folder string) []string {
	var out []string
	for _, name := range namesIn(folder) {
		if strings.HasSuffix(name, journalEnd) {
			out = append(out, filepath.Join(folder, name))
		}
	}
	return out
}

// namesIn are the names in a folder, in order; a folder that is not there holds none.
func namesIn(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}
