package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"

	"tandem/protocol"
)

// shelf is what is remembered on disk of a folder's sessions, so that a new daemon lists them
// without reading every journal. It can be deleted at any time.
type shelf struct {
	Form     string             `json:"form"`
	Sessions map[string]listing `json:"sessions"` // by the name of the journal
}

// shelfForm names what the shelf holds; one of another form is not read.
var shelfForm = fmt.Sprintf("tandem %s, protocol %d", Version, protocol.Version)

func shelfOf(folder string) string { return filepath.Join(filepath.Dir(folder), "listed.json") }

// folderTurn lets one after the other list a folder: what one had to read, the next finds. A daemon
// that starts looks for crashed sessions while its first client asks for the list.
type folderTurn struct {
	sync.Mutex
	read bool // the shelf was
}

// turn is what lets the listings of a folder take turns.
func (r *Registry) turn(folder string) *folderTurn {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.shelves[folder]
	if !ok {
		s = &folderTurn{}
		r.shelves[folder] = s
	}
	return s
}

// listFolder lists one folder's sessions, and remembers what had to be read for it.
func (r *Registry) listFolder(folder string) []Summary {
	turn := r.turn(folder)
	turn.Lock()
	defer turn.Unlock()
	paths := journalsIn(folder)
	if !turn.read {
		r.readShelf(folder)
		turn.read = true
	}
	before := r.shelved(paths)
	out := r.views(paths)
	if after := r.shelved(paths); !sameShelf(before, after) {
		if err := writeShelf(shelfOf(folder), after); err != nil {
			r.log.Warn("the list of sessions is not kept", zap.String("folder", folder), zap.Error(err))
		}
	}
	return out
}

// shelve remembers sessions that have just been closed, so that the next daemon need not read them.
func (r *Registry) shelve(closed []*running) {
	folders := map[string][]*running{}
	for _, s := range closed {
		folder := r.sessionsIn(s.workspace)
		folders[folder] = append(folders[folder], s)
	}
	for folder, sessions := range folders {
		if err := r.shelveIn(folder, sessions); err != nil {
			r.log.Warn("the list of sessions is not kept", zap.String("folder", folder), zap.Error(err))
		}
	}
}

func (r *Registry) shelveIn(folder string, closed []*running) error {
	turn := r.turn(folder)
	turn.Lock()
	defer turn.Unlock()
	if !turn.read {
		r.readShelf(folder)
		turn.read = true
	}
	for _, s := range closed {
		path := r.path(s.workspace, s.id)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.listed[path] = listing{Size: info.Size(), Modified: info.ModTime(), Summary: r.summary(s.Now())}
		r.mu.Unlock()
	}
	return writeShelf(shelfOf(folder), r.shelved(journalsIn(folder)))
}

// readShelf takes what a folder's shelf holds.
func (r *Registry) readShelf(folder string) {
	raw, err := os.ReadFile(shelfOf(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var s shelf
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		r.log.Warn("the list of sessions is made anew", zap.String("folder", folder), zap.Error(err))
		return
	}
	if s.Form != shelfForm {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, l := range s.Sessions {
		if path := filepath.Join(folder, name); filepath.Base(path) == name {
			r.listed[path] = l
		}
	}
}

// shelved is what is remembered of these journals, the newest ones where there are too many; the
// rest is forgotten.
func (r *Registry) shelved(paths []string) map[string]listing {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range paths[:max(0, len(paths)-mostListed)] {
		delete(r.listed, path)
	}
	out := map[string]listing{}
	for _, path := range paths {
		if l, ok := r.listed[path]; ok {
			out[filepath.Base(path)] = l
		}
	}
	return out
}

func sameShelf(a, b map[string]listing) bool {
	if len(a) != len(b) {
		return false
	}
	for name, l := range a {
		if o, ok := b[name]; !ok || o.Size != l.Size || !o.Modified.Equal(l.Modified) {
			return false
		}
	}
	return true
}

// writeShelf puts a shelf in place of the old one, whole or not at all.
func writeShelf(path string, sessions map[string]listing) error {
	raw, err := json.Marshal(shelf{Form: shelfForm, Sessions: sessions})
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".listed-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
