package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Buffers are the documents that an editor holds open. Text gives the text of the document
// at a slash-separated path relative to the workspace, and its version; open is false when
// no editor holds it, or when the file on disk is the truer copy.
type Buffers interface {
	Text(path string) (text string, version int32, open bool)
	// Base gives the text that the document and the file on disk had when they were last the
	// same, if it is known.
	Base(path string) (text string, known bool)
	// Saved hears that the file on disk was given the text of its document.
	Saved(path string)
}

// Options of a workspace; the zero value keeps no content and knows no editor.
type Options struct {
	// Store is the folder in which the contents before and after each change are kept. It
	// must lie outside the workspace. With "" images have digests, but no content.
	Store string
	// Buffers are read in place of the disk; nil means that no document is open.
	Buffers Buffers
	// Apply changes an open document from old to new, if it still has that version, and gives
	// the text as the editor has it then: new, in the editor's form. An error means that the
	// document was not changed, as far as is known.
	Apply func(ctx context.Context, path string, version int32, old, new string) (string, error)
	// Secret says of a slash-separated path, with links followed, that the file there holds
	// secrets: no search looks into it, and no snapshot keeps its content. nil: there is none.
	Secret func(path string) bool
	// Getenv tells where the user's configuration of git lies; nil is nowhere.
	Getenv func(name string) string
	// Clean takes out of a file's text what may not be shown in a conflict; nil is nothing.
	Clean func(text string) string
}

// Image is one state of one path. Digest is the SHA-256 of the content in hex, Size counts
// bytes. A symbolic link has a Link, and no digest. A digest of "" on a plain file means
// that the content of that state is not known.
type Image = struct {
	Digest string
	Size   int64
	Mode   fs.FileMode
	Link   string
}

// Change is what happened to one path, slash-separated and relative to the workspace; a nil
// image means that there was, or is, no such file. Made is how many of the folders right above
// it were made for it.
type Change = struct {
	Path          string
	Before, After *Image
	Made          int
}

// Edit replaces Old by New: in the one place where Old stands, or everywhere with ReplaceAll.
type Edit = struct {
	Old, New   string
	ReplaceAll bool
}

// Result tells of a mutation. Diff is a unified diff, "" for moves and deletions. Notes are
// sentences for the agent, such as that a match ignored trailing blanks.
type Result = struct {
	Changes []Change
	Diff    string
	Notes   []string
}

// ErrChanged is wrapped by each refusal of a mutation because the file is no longer what the
// agent saw, or changed while the mutation was under way.
var ErrChanged = errors.New("the file changed meanwhile")

// ErrOutside is wrapped by each refusal of a path that leaves the workspace.
var ErrOutside = errors.New("outside the workspace")

// Workspace is the files below one folder. Its methods may be called side by side; that two
// mutations of the same file at once do not mix is up to the caller, the loser of a race
// gets ErrChanged.
type Workspace struct {
	dir     string
	root    *os.Root
	store   *Store
	buffers Buffers
	apply   func(ctx context.Context, path string, version int32, old, new string) (string, error)
	secret  func(path string) bool
	clean   func(text string) string
	vigil   *vigil
	// seen holds, by path, the digest of what the agent last saw. Reads run side by side,
	// so it is a concurrent map; each key is written by itself, no invariant spans two.
	seen sync.Map
	last atomic.Pointer[Snapshot]
	rg   string
	git  string
	env  func(name string) string
}

// Open opens the workspace in dir, which must be a folder, and the store, which is made if
// it is not there. Its errors name the folder.
func Open(dir string, o Options) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	if within(abs, o.Store) {
		root.Close()
		return nil, fmt.Errorf("open workspace %s: the content store %s lies in it: choose a folder outside", dir, o.Store)
	}
	w := &Workspace{dir: abs, root: root, buffers: o.Buffers, apply: o.Apply, secret: o.Secret, clean: o.Clean, rg: findRipgrep(abs), git: findGit(abs)}
	if w.clean == nil {
		w.clean = func(text string) string { return text }
	}
	if w.env = o.Getenv; w.env == nil {
		w.env = func(string) string { return "" }
	}
	if o.Store != "" {
		if w.store, err = OpenStore(o.Store); err != nil {
			root.Close()
			return nil, err
		}
	}
	w.vigil = newVigil(abs)
	return w, nil
}

// within tells whether a folder, which need not exist, lies in another.
func within(dir, folder string) bool {
	if folder == "" {
		return false
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	for at := abs; at != filepath.Dir(at); at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil && real == dir {
			return true
		}
	}
	return false
}

// holdsSecrets says that the file at a name holds secrets.
func (w *Workspace) holdsSecrets(name string) bool { return w.secret != nil && w.secret(name) }

// Close gives the workspace's handles back. What is open from it stays usable.
func (w *Workspace) Close() error {
	return errors.Join(w.vigil.close(), w.store.Close(), w.root.Close())
}

// Dir is the absolute path of the workspace, with links resolved.
func (w *Workspace) Dir() string { return w.dir }

// Gone says that the folder at the workspace's path is not the one that was opened: it was
// removed, or another was put in its place. What is still open then leads nowhere.
func (w *Workspace) Gone() bool {
	return gone(w.root, w.dir)
}

// StoreGone says the same of the folder in which contents are kept: nothing is changed any more then.
func (w *Workspace) StoreGone() bool { return w.store != nil && gone(w.store.root, w.store.dir) }

func gone(root *os.Root, dir string) bool {
	opened, err := root.Stat(".")
	if err != nil {
		return true
	}
	there, err := os.Stat(dir)
	return err != nil || !os.SameFile(opened, there)
}

// Content gives the bytes of an image by its digest. It fails when they were never kept, or
// are no longer what the digest says.
func (w *Workspace) Content(digest string) ([]byte, error) { return w.store.Get(digest) }

// Keep keeps a content in the store of the workspace and gives its digest.
func (w *Workspace) Keep(data []byte) (digest string, err error) { return w.store.Put(data) }

// Saw takes the file's present content as seen by the agent: for changes that reach it by
// another way than a read, such as the report of a command's changes or of a revert.
func (w *Workspace) Saw(path string) error {
	name, err := w.name(path)
	if err != nil {
		return err
	}
	f, err := w.load(name)
	if err != nil {
		return err
	}
	w.remember(f.name, f.image)
	return nil
}

// Knows tells whether the agent last saw a file with this very text.
func (w *Workspace) Knows(path, text string) bool {
	name, err := w.Name(path)
	if err != nil {
		return false
	}
	seen, ok := w.seen.Load(name)
	if !ok {
		return false
	}
	if seen == Digest([]byte(text)) {
		return true
	}
	f, err := w.load(name) // its bytes may have another form than its text
	return err == nil && f.image != nil && seen == f.image.Digest && f.holds(text)
}

// remember takes an image for what the agent knows of a path; nil means that it knows of no
// file there.
func (w *Workspace) remember(name string, i *Image) {
	if i == nil {
		w.seen.Delete(name)
		return
	}
	w.seen.Store(name, i.Digest)
}

// buffer is the open document at name.
func (w *Workspace) buffer(name string) (text string, version int32, open bool) {
	if w.buffers == nil {
		return "", 0, false
	}
	return w.buffers.Text(name)
}
