package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// maxFile is the largest file that is read or edited as text, in bytes.
const maxFile = 32 << 20

// file is a file as it stood when it was read; image is nil when there was none.
type file struct {
	name  string
	data  []byte
	info  fs.FileInfo
	image *Image
}

// load reads the file at a clean name through its links. No file there is no error.
func (w *Workspace) load(name string) (*file, error) {
	real, err := w.resolve(name)
	if err != nil {
		return nil, err
	}
	f, err := w.fetch(real)
	if errors.Is(err, fs.ErrNotExist) {
		return &file{name: real}, nil
	}
	if err != nil {
		return nil, err
	}
	f.image = &Image{Digest: Digest(f.data), Size: int64(len(f.data)), Mode: f.info.Mode()}
	return f, nil
}

// fetch reads the file at a name without links, but takes no image of it.
func (w *Workspace) fetch(name string) (*file, error) {
	h, err := w.root.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, w.confined(name, err)
	}
	defer h.Close()
	f := &file{name: name}
	if f.info, err = h.Stat(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := readable(name, f.info); err != nil {
		return nil, err
	}
	f.data = make([]byte, 0, f.info.Size()+bytes.MinRead)
	data := bytes.NewBuffer(f.data)
	if _, err = data.ReadFrom(io.LimitReader(h, maxFile)); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f.data = data.Bytes()
	return f, nil
}

// readable refuses what is no plain file of a bearable size.
func readable(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder: list_files shows what is in it", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no plain file (%s): it is neither read nor changed", name, info.Mode())
	case info.Size() > maxFile:
		return fmt.Errorf("%s is too large for the file tools (%d bytes; at most %d): use a command", name, info.Size(), maxFile)
	}
	return nil
}

// confined words an error of the root. That a path escapes is the root's own finding, after
// resolve had found nothing: a link was swapped in between.
func (w *Workspace) confined(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") {
		return w.outside(name)
	}
	return fmt.Errorf("reach %s: %w", name, err)
}

// fresh refuses a file that the agent has seen otherwise than it is now. What changed is
// said, and from then on counts as seen.
func (w *Workspace) fresh(f *file) error {
	seen, ok := w.seen.Load(f.name)
	if !ok || f.image != nil && seen == f.image.Digest {
		return nil
	}
	if f.image == nil {
		w.remember(f.name, nil)
		return refuse(ErrChanged, "%s was deleted since you read it: look again before you write it anew", f.name)
	}
	before, err := w.store.Get(seen.(string))
	if err != nil {
		return w.freshWhole(f)
	}
	w.remember(f.name, f.image)
	what := diff(f.name, before, f.data)
	if what == "" {
		what = "only line ends, byte order mark or encoding"
	}
	return refuse(ErrChanged, "%s changed since you read it. What changed, from what you saw to what is there now:\n%s", f.name, what)
}

// shownWhole is the largest file, in bytes, that a refusal shows whole.
const shownWhole = 6 << 10

// freshWhole refuses a file of which it is not kept how the agent has seen it: it is shown whole, or
// has to be read again.
func (w *Workspace) freshWhole(f *file) error {
	text := shown(f.data)
	if len(text) > shownWhole {
		return refuse(ErrChanged, "%s changed since you read it; read it again", f.name)
	}
	w.remember(f.name, f.image)
	return refuse(ErrChanged, "%s changed since you read it. What stands there now:\n%s", f.name, text)
}

// replace puts data at a file's name, if the file is still what was read. Without a file
// there it makes one, and the folders above it. It gives the images before and after, whose
// contents are kept before anything is touched.
func (w *Workspace) replace(f *file, data []byte) (Change, error) {
	perm := fs.FileMode(0o644)
	if f.image != nil {
		perm = 0o600
		if _, err := w.store.Put(f.data); err != nil {
			return Change{}, err
		}
	}
	if _, err := w.store.Put(data); err != nil {
		return Change{}, err
	}
	dir := path.Dir(f.name)
	made, err := w.makeFolders(dir)
	if err != nil {
		return Change{}, err
	}
	temp := path.Join(dir, tempName())
	if err := writeNew(w.root, temp, data, perm, true); err != nil {
		return Change{}, w.confined(f.name, err)
	}
	after, err := w.swap(temp, f, data)
	if err != nil {
		return Change{}, dropTemp(w.root, temp, err)
	}
	w.remember(f.name, after)
	return Change{Path: f.name, Before: f.image, After: after, Made: made}, syncDir(w.root, dir)
}

// dropTemp removes what a mutation left half-way.
func dropTemp(root *os.Root, temp string, cause error) error {
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(cause, err)
	}
	return cause
}

// Names of files on their way, which no list shows.
const (
	tempPrefix = ".tandem-"
	tempSuffix = ".tmp"
)

func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func isTemp(base string) bool {
	return strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// stale is the age from which a file on its way has been left behind by a process that died.
const stale = time.Hour

// Sweep removes the files that processes left half-way when they were killed, and gives
// their number. Those of the last hour stay: another process may be writing them.
func (w *Workspace) Sweep(ctx context.Context) (int, error) {
	swept := 0
	err := fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case d == nil:
			return err
		case d.IsDir() && (err != nil || never(d.Name())):
			return fs.SkipDir
		case err != nil || !isTemp(d.Name()) || !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil || time.Since(info.ModTime()) < stale {
			return nil
		}
		swept++
		return w.root.Remove(name)
	})
	if err != nil {
		return swept, fmt.Errorf("sweep %s: %w", w.dir, err)
	}
	return swept, nil
}

// swap moves a finished file to its name, after a last look at what stands there, and gives
// the new image. Owner and mode of an old file are kept, the bits beyond 0777 too.
func (w *Workspace) swap(temp string, f *file, data []byte) (*Image, error) {
	if f.image != nil {
		if err := keepOwner(w.root, temp, f.info); err != nil {
			return nil, fmt.Errorf("keep the owner of %s: %w", f.name, err)
		}
		if err := w.root.Chmod(temp, f.image.Mode); err != nil {
			return nil, fmt.Errorf("keep the mode of %s: %w", f.name, err)
		}
	}
	info, err := w.root.Lstat(temp)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", f.name, err)
	}
	after := &Image{Digest: Digest(data), Size: int64(len(data)), Mode: info.Mode()}
	if f.image == nil {
		return after, w.put(temp, f.name)
	}
	if err := w.unchanged(f); err != nil {
		return nil, err
	}
	if err := w.root.Rename(temp, f.name); err != nil {
		return nil, fmt.Errorf("write %s: %w", f.name, err)
	}
	return after, nil
}

// put gives a finished file its name where there must be none. A second name for the same
// file fails when something stands there, which a rename would overwrite.
func (w *Workspace) put(temp, name string) error {
	err := w.root.Link(temp, name)
	if errors.Is(err, fs.ErrExist) {
		return refuse(ErrChanged, "%s came into being meanwhile: read it first", name)
	}
	if err == nil {
		return w.root.Remove(temp)
	}
	// Some file systems have no second names; there a look must do.
	if _, err := w.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return refuse(ErrChanged, "%s came into being meanwhile: read it first", name)
	}
	if err := w.root.Rename(temp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// unchanged is the compare of compare-and-set.
func (w *Workspace) unchanged(f *file) error {
	now, err := w.load(f.name)
	if err != nil {
		return err
	}
	if now.image == nil || *now.image != *f.image {
		return refuse(ErrChanged, "%s changed while it was being written, so it was left as it is: read it again", f.name)
	}
	return nil
}
