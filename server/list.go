package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Summary  *Summary  `json:"summary"` // nil: it cannot be listed
}

// Summary is a session as a list shows it. It is encoded once: a long list is mostly of sessions
// that have not changed for long.
type Summary struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"startedAt"`
	// Recovers says that a daemon which starts has to look after it: it was at work, or goes on
	// by itself.
	Recovers bool            `json:"recovers"`
	View     json.RawMessage `json:"view"`
}

// mostListed bounds how many sessions on disk are remembered in one folder.
const mostListed = 5000

// List is the sessions of a workspace, or with "" of all, newest first, without the operations
// that have ended. Those on disk are read and not run, and read again only when their journal
// has changed.
func (r *Registry) List(dir string) ([]Summary, error) {
	folders := []string{r.sessionsIn(dir)}
	if dir == "" {
		folders = r.sessionFolders()
	}
	var out []Summary
	for _, folder := range folders {
		out = append(out, r.listFolder(folder)...)
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return b.StartedAt.Compare(a.StartedAt) })
	return out, nil
}

// views are the sessions with these journals. They are read side by side, on all cores.
func (r *Registry) views(paths []string) []Summary {
	found := make([]*Summary, len(paths))
	sideBySide(len(paths), func(i int) { found[i] = r.view(paths[i]) })
	var out []Summary
	for _, s := range found {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out
}

func (r *Registry) view(path string) *Summary {
	if s, ok := r.running(idOf(path)); ok {
		return r.summary(s.Now())
	}
	return r.onShelf(path)
}

// summary shows a session without the operations that have ended: attach tells them.
func (r *Registry) summary(now session.Snapshot) *Summary {
	view := now.View()
	view.Operations = slices.DeleteFunc(view.Operations, func(o protocol.Operation) bool { return o.EndedAt != nil })
	raw, err := json.Marshal(view)
	if err != nil {
		r.log.Warn("a session cannot be listed", zap.String("session", view.ID), zap.Error(err))
		return nil
	}
	return &Summary{ID: view.ID, StartedAt: view.StartedAt, Recovers: view.Mode == protocol.Executing || goesOn(view), View: raw}
}

// onShelf is a session that does not run here; nil when it cannot be listed, which shall not
// hide the others.
func (r *Registry) onShelf(path string) *Summary {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	r.mu.Lock()
	known, ok := r.listed[path]
	r.mu.Unlock()
	if ok && known.Size == info.Size() && known.Modified.Equal(info.ModTime()) {
		return known.Summary
	}
	fresh := listing{Size: info.Size(), Modified: info.ModTime()}
	now, err := session.Load(path)
	if err != nil || now.State.Seq == 0 {
		r.log.Warn("a session cannot be listed", zap.String("session", idOf(path)), zap.Error(err))
	} else {
		fresh.Summary = r.summary(now)
	}
	r.mu.Lock()
	r.listed[path] = fresh
	r.mu.Unlock()
	return fresh.Summary
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
