package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// copied is a copy of a workspace.
type copied struct {
	above string // the folder that is removed
	dir   string
	left  []string
}

// copying is a copy while it is made.
type copying struct {
	*Place
	from, to *os.Root
	target   string
	scenario Scenario
	snapshot Snapshot
	limits   Limits
	folders  []seen // in the order of their making
	files    int
	bytes    int64
	left     []string // what could not be read
}

// copy makes a copy of the workspace with the inputs of a snapshot. The caller removes it.
func (p *Place) copy(ctx context.Context, s Scenario, snap Snapshot) (c copied, err error) {
	above, err := os.MkdirTemp(p.Temp, "tandem-scenario-")
	if err != nil {
		return copied{}, fmt.Errorf("copy the workspace: %w", err)
	}
	c = copied{above: above, dir: filepath.Join(above, filepath.Base(p.Dir))}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("copy the workspace: %w", err), c.remove())
		}
	}()
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return c, err
	}
	from, err := os.OpenRoot(p.Dir)
	if err != nil {
		return c, err
	}
	defer from.Close()
	to, err := os.OpenRoot(c.dir)
	if err != nil {
		return c, err
	}
	defer to.Close()
	k := copying{Place: p, from: from, to: to, target: c.dir, scenario: s, snapshot: snap, limits: p.Limits.orDefault()}
	err = k.all(ctx)
	c.left = k.left
	return c, err
}

// remove removes a copy, also where the command made folders that cannot be written.
func (c copied) remove() error {
	if os.RemoveAll(c.above) == nil {
		return nil
	}
	err := filepath.WalkDir(c.above, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(c.above))
}

func (k *copying) all(ctx context.Context) error {
	err := fs.WalkDir(k.from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return err
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission):
			k.left = append(k.left, name)
			return nil
		case err != nil:
			return err
		case path.Base(name) == ".git" && d.IsDir():
			return fs.SkipDir
		}
		return k.one(name, d)
	})
	if err != nil {
		return err
	}
	for _, f := range k.snapshot.Files {
		if err := k.input(f); err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(k.folders) { // those within others first, which set the time of these
		if err := errors.Join(k.to.Chmod(d.name, d.info.Mode().Perm()), k.to.Chtimes(d.name, d.info.ModTime(), d.info.ModTime())); err != nil {
			return err
		}
	}
	return nil
}

// one copies an entry. One that went away meanwhile is none.
func (k *copying) one(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, kept := k.snapshot.file(name)
	switch {
	case kept || k.logOfInput(name) || !d.IsDir() && path.Base(name) == ".git": // it comes from the snapshot; it points into history
		return nil
	case d.IsDir():
		k.folders = append(k.folders, seen{name, info})
		return k.to.Mkdir(name, 0o700)
	case matches(k.snapshot.Patterns, name): // an input that was not there then
		return nil
	case d.Type()&fs.ModeSymlink != 0:
		return k.link(name)
	case d.Type().IsRegular():
		return k.file(name, info)
	}
	return nil
}

// logOfInput says that a file is the log of a database that comes from the snapshot, and so does its log.
func (k *copying) logOfInput(name string) bool {
	base, ok := logOf(name)
	if !ok {
		return false
	}
	_, kept := k.snapshot.file(base)
	return kept
}

// link copies a link. It leads into the copy where it led into the workspace, and out of it to where it did.
func (k *copying) link(name string) error {
	to, err := k.from.Readlink(name)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(to) {
		meant := filepath.Join(k.Dir, filepath.FromSlash(path.Dir(name)), to)
		if below(k.Dir, meant) {
			return k.to.Symlink(to, name)
		}
		return k.to.Symlink(meant, name)
	}
	if below(k.Dir, to) {
		rest, err := filepath.Rel(k.Dir, to)
		if err != nil {
			return err
		}
		to = filepath.Join(k.target, rest)
	}
	return k.to.Symlink(to, name)
}

// below says that a path is a folder or stands in it.
func below(dir, name string) bool {
	rest, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rest)
}

// file copies a file, with its mode and time.
func (k *copying) file(name string, info fs.FileInfo) error {
	if err := k.count(name, info.Size()); err != nil {
		return err
	}
	from, err := k.from.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		k.left = append(k.left, name)
		return nil
	case err != nil:
		return err
	}
	defer from.Close()
	if err := fill(k.to, name, from, info.Mode().Perm()); err != nil {
		return err
	}
	return k.to.Chtimes(name, info.ModTime(), info.ModTime())
}

func (k *copying) count(name string, bytes int64) error {
	k.files, k.bytes = k.files+1, k.bytes+bytes
	if k.files > k.limits.CopyFiles || k.bytes > k.limits.CopyBytes {
		return fmt.Errorf("it is too large to run %s aside: more than %d files or %s at %s; the scenario can run where the live inputs are those of the snapshot",
			k.scenario.Name, k.limits.CopyFiles, size(k.limits.CopyBytes), name)
	}
	return nil
}

// input puts an input into the copy as it was kept; the live file serves, with its time, where it is still that.
func (k *copying) input(f File) error {
	if err := k.to.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	if s, ok := k.sight(f.Path); ok && s.digest == f.Digest {
		if info, err := k.from.Lstat(f.Path); err == nil && s.still(info) {
			return k.file(f.Path, info)
		}
	}
	data, err := k.Store.Get(f.Digest)
	if err != nil {
		return fmt.Errorf("the input %s: %w", f.Path, err)
	}
	return fill(k.to, f.Path, strings.NewReader(string(data)), f.Mode)
}

func (p *Place) sight(name string) (sight, bool) {
	all := p.seen.Load()
	if all == nil {
		return sight{}, false
	}
	s, ok := (*all)[name]
	return s, ok
}

// fill writes a file that is not there yet.
func fill(root *os.Root, name string, from io.Reader, mode fs.FileMode) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, from); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Chmod(mode)
}

// bring puts the outputs of a copy into the workspace. What is an input too is left as it lives.
func (p *Place) bring(ctx context.Context, dir string, s Scenario) ([]Brought, error) {
	from, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	outputs, err := look(ctx, from, s.Outputs)
	if err != nil {
		return nil, err
	}
	var out []Brought
	for _, o := range outputs {
		if matches(s.Inputs, o.name) {
			continue
		}
		b, err := p.bringOne(from, to, o)
		if err != nil {
			return out, fmt.Errorf("put %s into the workspace: %w", o.name, err)
		}
		if b.Before != b.After {
			out = append(out, b)
		}
	}
	return out, nil
}

// bringOne puts an output in its place, whole, and keeps what stood there.
func (p *Place) bringOne(from, to *os.Root, o seen) (Brought, error) {
	b := Brought{Path: o.name}
	data, err := from.ReadFile(o.name)
	if err != nil {
		return b, err
	}
	if b.After, err = p.Store.Put(data); err != nil {
		return b, err
	}
	was, err := to.ReadFile(o.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if err == nil {
		if b.Before, err = p.Store.Put(was); err != nil || b.Before == b.After {
			return b, err
		}
	}
	return b, replace(to, o.name, data, o.info.Mode().Perm())
}

// replace writes a file beside its place and renames it there; where a link stands, what it leads to
// is written.
func replace(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return root.WriteFile(name, data, mode)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), ".tandem-"+rand.Text())
	if err := fill(root, temp, strings.NewReader(string(data)), mode); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
