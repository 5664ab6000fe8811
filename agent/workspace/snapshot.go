package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Bounds of a snapshot.
const (
	maxEntries = 50_000
	// keptFile and keptTotal bound what one snapshot copies into the store, in bytes. The
	// content of a larger file, and of what comes after the total, is not known.
	keptFile  = 1 << 20
	keptTotal = 64 << 20
	// clockGrain is more than any system's clock for files is coarse.
	clockGrain = 100 * time.Millisecond
)

// Snapshot is how the files of a workspace stood at one time. It never changes.
//
// A file counts as unchanged when its size, times, mode and inode are. The content of a file
// of up to 1 MB is read and kept when the snapshot before did not have it, up to 64 MB a
// snapshot; that of any other file has no digest, so a change of it is seen, but what was
// there before is not known.
type Snapshot struct {
	files map[string]stamp
	// settled is the time, in nanoseconds, before which a file must have changed last for its
	// stamp to be trusted: the system's clock for files is coarse.
	settled int64
	// Partial tells that there were more than 50,000 files, of which only the first are here.
	Partial bool
}

// Len is the number of files.
func (s *Snapshot) Len() int { return len(s.files) }

// stamp is what the system says of a file, with its image.
type stamp struct {
	size, modified, changed int64
	inode                   uint64
	mode                    fs.FileMode
	image                   *Image
}

func (s stamp) same(o stamp) bool {
	return s.size == o.size && s.modified == o.modified && s.changed == o.changed && s.inode == o.inode && s.mode == o.mode
}

// differs compares by content where it is known, else by what the system says.
func (s stamp) differs(o stamp) bool {
	known := s.image.Digest != "" || s.image.Link != ""
	if known && (o.image.Digest != "" || o.image.Link != "") {
		return *s.image != *o.image
	}
	return !s.same(o)
}

// Snapshot looks at all files that git does not ignore, and at those at or below the further
// paths given, ignored or not, and keeps what it has not seen before. It costs little where
// little changed since the last one. Files that vanish or cannot be read meanwhile are left
// out, or have no digest; so are further paths that are not there.
func (w *Workspace) Snapshot(ctx context.Context, also ...string) (*Snapshot, error) {
	next := &Snapshot{files: map[string]stamp{}, settled: time.Now().Add(-clockGrain).UnixNano()}
	if w.StoreGone() {
		return nil, fmt.Errorf("take a snapshot of %s: keep content in %s: %w", w.dir, w.store.dir, errStoreGone)
	}
	last := w.last.Load()
	if last == nil {
		last = &Snapshot{}
	}
	s := shot{w: w, last: last, next: next, budget: keptTotal}
	for _, root := range append([]string{"."}, also...) {
		if err := s.take(ctx, root); err != nil {
			return nil, fmt.Errorf("take a snapshot of %s: %w", w.dir, err)
		}
	}
	w.last.Store(next)
	return next, nil
}

// shot is a snapshot while it is taken.
type shot struct {
	w          *Workspace
	last, next *Snapshot
	budget     int64
}

func (s *shot) take(ctx context.Context, root string) error {
	name, err := s.w.Name(root)
	if err != nil {
		return err
	}
	err = s.w.walk(ctx, name, s.add)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *shot) add(name string, d fs.DirEntry) error {
	if _, ok := s.next.files[name]; ok {
		return nil
	}
	if len(s.next.files) == maxEntries {
		s.next.Partial = true
		return errEnough
	}
	info, err := d.Info()
	if err != nil {
		return nil
	}
	now := stampOf(info)
	if was, ok := s.last.files[name]; ok && was.same(now) && max(now.changed, now.modified) < s.last.settled {
		now.image = was.image
	} else if now.image, err = s.w.picture(name, info, &s.budget); err != nil {
		return err
	}
	s.next.files[name] = now
	return nil
}

func stampOf(info fs.FileInfo) stamp {
	ino, changed := inode(info)
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano(), changed: changed, inode: ino, mode: info.Mode()}
}

// picture makes the image of a file, and keeps its content within the budget.
func (w *Workspace) picture(name string, info fs.FileInfo, budget *int64) (*Image, error) {
	image := &Image{Size: info.Size(), Mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := w.root.Readlink(name)
		if err == nil {
			image.Size, image.Link = 0, link
		}
		return image, nil
	case !info.Mode().IsRegular() || info.Size() > min(keptFile, *budget):
		return image, nil
	}
	f, err := w.fetch(name)
	if err != nil {
		return image, nil
	}
	*budget -= int64(len(f.data))
	image = &Image{Size: int64(len(f.data)), Mode: f.info.Mode()}
	image.Digest, err = w.store.put(f.data, false)
	return image, err
}

// Diff tells what became of each path between two snapshots, which must have been asked for
// with the same further paths, in the order of paths. A file
// that was only touched is no change. Where a digest is not known, a stamp that differs is
// taken for a change.
func (w *Workspace) Diff(before, after *Snapshot) []Change {
	var changes []Change
	for name, was := range before.files {
		now, ok := after.files[name]
		switch {
		case !ok && after.Partial:
			// It may stand beyond the bound.
		case !ok:
			changes = append(changes, Change{Path: name, Before: was.image})
		case was.differs(now):
			changes = append(changes, Change{Path: name, Before: was.image, After: now.image})
		}
	}
	for name, now := range after.files {
		if _, ok := before.files[name]; !ok && !before.Partial {
			changes = append(changes, Change{Path: name, After: now.image})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
