package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Store keeps contents by the SHA-256 of their bytes, in hexadecimal.
type Store interface {
	// Put keeps a content and gives its digest.
	Put(data []byte) (digest string, err error)
	// Get gives a content, and fails when there is none.
	Get(digest string) ([]byte, error)
}

// Limits bound what is read and copied. A zero is the default.
type Limits struct {
	// Files bounds the inputs of a scenario: 100,000.
	Files int
	// Bytes bounds one file that is kept: 256 MB. Total bounds the inputs of a scenario: 1 GB.
	Bytes, Total int64
	// CopyFiles and CopyBytes bound the copy of a workspace: 500,000 files, 8 GB.
	CopyFiles int
	CopyBytes int64
}

func (l Limits) orDefault() Limits {
	or := func(n *int64, value int64) {
		if *n == 0 {
			*n = value
		}
	}
	files, copied := int64(l.Files), int64(l.CopyFiles)
	or(&files, 100_000)
	or(&copied, 500_000)
	l.Files, l.CopyFiles = int(files), int(copied)
	or(&l.Bytes, 256<<20)
	or(&l.Total, 1<<30)
	or(&l.CopyBytes, 8<<30)
	return l
}

// Place is a workspace whose scenarios run. Its methods may be called from any goroutine; two runs
// in the workspace itself disturb one another, so a caller does not let them.
type Place struct {
	// Dir is the workspace's folder, an absolute path.
	Dir   string
	Store Store
	// Command runs a command line; it is needed by Run alone.
	Command Command
	// Temp is the folder for copies; "" is the system's.
	Temp   string
	Limits Limits

	seen atomic.Pointer[map[string]sight]
}

// sight is what a file was when it was read.
type sight struct {
	info   fs.FileInfo
	at     time.Time
	digest string
	sqlite bool
}

// grain is more than any system's clock for files is coarse: a file that changed so shortly before it was
// read may have changed behind it without a trace.
const grain = 100 * time.Millisecond

// still says that a file is the one that was read.
func (s sight) still(now fs.FileInfo) bool {
	return s.info != nil && same(s.info, now) && now.ModTime().Before(s.at.Add(-grain))
}

func same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// File is one input as it was kept.
type File struct {
	// Path is relative to the workspace, with / between folders.
	Path   string `json:"path"`
	Digest string `json:"digest"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Mode holds the permission bits.
	Mode fs.FileMode `json:"mode"`
}

// Snapshot is a scenario's inputs as they were at one time. It never changes.
type Snapshot struct {
	Patterns []string `json:"patterns"`
	// Files are sorted by their path.
	Files []File `json:"files"`

	digest string
}

// Digest names the snapshot: it is that of the list of paths, digests and modes. Equal inputs have
// equal digests.
func (s Snapshot) Digest() string { return s.digest }

// file is an input by its path.
func (s Snapshot) file(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(s.Files, name, func(f File, name string) int { return strings.Compare(f.Path, name) })
	if !ok {
		return File{}, false
	}
	return s.Files[i], true
}

// Take keeps a scenario's inputs as they are now. An input that is not there is none: should it come, that
// is drift. It is an error when there are patterns and no file at all matches, when a file cannot be
// read whole, and when the bounds are passed.
func (p *Place) Take(ctx context.Context, s Scenario) (Snapshot, error) {
	if err := s.Check(); err != nil {
		return Snapshot{}, err
	}
	snap, err := p.take(ctx, s.Inputs)
	if err != nil {
		return Snapshot{}, fmt.Errorf("keep the inputs of %s: %w", s.Name, err)
	}
	if len(snap.Files) == 0 && len(s.Inputs) > 0 {
		return Snapshot{}, fmt.Errorf("keep the inputs of %s: no file matches %s", s.Name, strings.Join(s.Inputs, ", "))
	}
	list, err := json.Marshal(snap)
	if err != nil {
		return Snapshot{}, err
	}
	if snap.digest, err = p.Store.Put(list); err != nil {
		return Snapshot{}, fmt.Errorf("keep the inputs of %s: %w", s.Name, err)
	}
	return snap, nil
}

// Load is a snapshot by its digest.
func (p *Place) Load(digest string) (Snapshot, error) {
	list, err := p.Store.Get(digest)
	if err != nil {
		return Snapshot{}, fmt.Errorf("load the snapshot %.12s: %w", digest, err)
	}
	s := Snapshot{digest: digest}
	if err := json.Unmarshal(list, &s); err != nil {
		return Snapshot{}, fmt.Errorf("load the snapshot %.12s: %w", digest, err)
	}
	return s, nil
}

// take looks at the files that patterns mean, and keeps what it has not seen before.
func (p *Place) take(ctx context.Context, patterns []string) (Snapshot, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer root.Close()
	names, err := find(ctx, root, patterns)
	if err != nil {
		return Snapshot{}, err
	}
	k := keeping{place: p, root: root, limits: p.Limits.orDefault(), seen: map[string]sight{}, files: map[string]File{}}
	if old := p.seen.Load(); old != nil {
		k.seen = maps.Clone(*old)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return Snapshot{}, err
		}
		if err := k.keep(name); err != nil {
			return Snapshot{}, err
		}
	}
	p.seen.Store(&k.seen)
	return Snapshot{Patterns: patterns, Files: k.sorted()}, nil
}

// keeping is a snapshot while it is taken.
type keeping struct {
	place  *Place
	root   *os.Root
	limits Limits
	seen   map[string]sight
	files  map[string]File
	total  int64
}

// keep takes one file in, and with a database of SQLite the log beside it: what was written last may
// stand there alone.
func (k *keeping) keep(name string) error {
	if _, ok := k.files[name]; ok {
		return nil
	}
	info, err := k.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it went away, or is a link to nothing
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case !info.Mode().IsRegular():
		return nil
	}
	if err := k.count(name, info); err != nil {
		return err
	}
	s := k.seen[name]
	if !s.still(info) {
		if s, err = k.read(name); err != nil {
			return err
		}
		k.seen[name] = s
	}
	k.files[name] = File{Path: name, Digest: s.digest, Size: s.info.Size(), Mode: s.info.Mode().Perm()}
	if !s.sqlite {
		return nil
	}
	return errors.Join(k.log(name+"-wal"), k.log(name+"-journal"))
}

// log takes a database's log in, where there is one that holds something.
func (k *keeping) log(name string) error {
	if info, err := k.root.Stat(name); err != nil || info.Size() == 0 {
		return nil
	}
	return k.keep(name)
}

// count holds the bounds.
func (k *keeping) count(name string, info fs.FileInfo) error {
	k.total += info.Size()
	switch {
	case info.Size() > k.limits.Bytes:
		return fmt.Errorf("%s is too large to keep: %s, at most %s are kept of a file; leave it out of the inputs", name, size(info.Size()), size(k.limits.Bytes))
	case len(k.files) >= k.limits.Files:
		return fmt.Errorf("there are more than %d inputs; name fewer of them", k.limits.Files)
	case k.total > k.limits.Total:
		return fmt.Errorf("the inputs up to %s are too large to keep: more than %s; name fewer of them", name, size(k.limits.Total))
	}
	return nil
}

// tries is how often a file is read that changes meanwhile.
const tries = 3

// read keeps a file's content, all of it from one time.
func (k *keeping) read(name string) (sight, error) {
	for range tries {
		s, whole, err := k.readOnce(name)
		if err != nil {
			return sight{}, fmt.Errorf("read %s: %w", name, err)
		}
		if whole {
			return s, nil
		}
	}
	return sight{}, fmt.Errorf("read %s: it changes while it is read", name)
}

// readOnce says that what it read is not whole when the file changed under it.
func (k *keeping) readOnce(name string) (s sight, whole bool, err error) {
	at := time.Now()
	f, err := k.root.Open(name)
	if err != nil {
		return sight{}, false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return sight{}, false, err
	}
	data, err := io.ReadAll(io.LimitReader(f, k.limits.Bytes+1))
	if err != nil {
		return sight{}, false, err
	}
	after, err := f.Stat()
	if err != nil || !same(before, after) || int64(len(data)) != after.Size() {
		return sight{}, false, err
	}
	digest, err := k.place.Store.Put(data)
	return sight{after, at, digest, isSQLite(data)}, true, err
}

// sorted are the files by their path.
func (k *keeping) sorted() []File {
	return slices.SortedFunc(maps.Values(k.files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}
