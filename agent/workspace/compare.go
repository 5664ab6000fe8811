package workspace

import (
	"context"
	"path"
	"slices"
	"strings"
)

// Difference is what became of the files of a workspace between two snapshots.
type Difference = struct {
	// Changes are in the order of paths.
	Changes []Change
	// Unseen are folders that one of the snapshots did not look into, so that what changed there
	// is not known.
	Unseen []string
}

// Diff tells how two snapshots differ, which must have been asked for with the same further paths.
// A file that was only touched is no change. Where a content is not known, a stamp that differs is
// taken for a change. What git had of the files that changed is kept now.
func (w *Workspace) Diff(ctx context.Context, before, after *Snapshot) Difference {
	d := &difference{}
	for _, b := range after.trees {
		i := slices.IndexFunc(before.trees, func(a asked) bool { return a.name == b.name })
		if i < 0 {
			d.tree(asked{name: b.name}, b)
		} else {
			d.tree(before.trees[i], b)
		}
	}
	for _, a := range before.trees {
		if !slices.ContainsFunc(after.trees, func(b asked) bool { return a.name == b.name }) {
			d.tree(a, asked{name: a.name})
		}
	}
	w.fromGit(ctx, d.pairs)
	var out Difference
	for _, p := range d.pairs {
		if p.differs() {
			out.Changes = append(out.Changes, Change{Path: p.path, Before: p.before.picture(), After: p.after.picture(), Made: p.made})
		}
	}
	slices.SortStableFunc(out.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(d.unseen)
	out.Unseen = slices.Compact(d.unseen)
	return out
}

// pair is a path whose stamp differs, as it was and as it is; nil is no file.
type pair struct {
	path          string
	made          int
	before, after *entry
}

// picture is a copy: what is in a snapshot never changes.
func (e *entry) picture() *Image {
	if e == nil {
		return nil
	}
	i := *e.image
	return &i
}

// differs compares by content where it is known, else by what the system says.
func (p pair) differs() bool {
	if p.before == nil || p.after == nil {
		return true
	}
	a, b := p.before, p.after
	if known(a) && known(b) {
		return *a.image != *b.image
	}
	return a.stamp != b.stamp
}

func known(e *entry) bool { return e.image.Digest != "" || e.image.Link != "" }

type difference struct {
	pairs  []pair
	unseen []string
}

func (d *difference) tree(a, b asked) {
	switch {
	case a.file != nil || b.file != nil:
		d.file(a.name, a.file, b.file, 0)
		fallthrough
	default:
		d.folder(a.name, a.root, b.root, 0)
	}
}

// file notes a path that may have changed.
func (d *difference) file(name string, a, b *entry, made int) {
	switch {
	case a == nil && b == nil:
		return
	case a != nil && b != nil && a.stamp == b.stamp && a.blob == b.blob && *a.image == *b.image:
		return
	case a == nil:
		d.pairs = append(d.pairs, pair{path: name, made: made, after: b})
	default:
		d.pairs = append(d.pairs, pair{path: name, before: a, after: b})
	}
}

// folder compares two folders; nil is none. Made counts those from this one upwards that were not
// there before.
func (d *difference) folder(dir string, a, b *folder, made int) {
	if a == b {
		return
	}
	if a.hidden() || b.hidden() {
		if !(a != nil && b != nil && a.shut == denied && b.shut == denied) {
			d.unseen = append(d.unseen, dir)
		}
		return
	}
	for x, y := range bothOf(a.list(), b.list()) {
		d.entry(dir, x, y, made)
	}
}

func (f *folder) hidden() bool { return f != nil && f.shut != lookedInto }

func (f *folder) list() []entry {
	if f == nil {
		return nil
	}
	return f.entries
}

func (d *difference) entry(dir string, a, b *entry, made int) {
	a, b = a.seen(), b.seen()
	if a == nil && b == nil {
		return
	}
	name := ""
	if a != nil {
		name = path.Join(dir, a.name)
	} else {
		name = path.Join(dir, b.name)
	}
	d.file(name, a.asFile(), b.asFile(), made)
	was, is := a.asFolder(), b.asFolder()
	if was == nil {
		made++
	}
	d.folder(name, was, is, made)
}

// seen is an entry that git does not ignore.
func (e *entry) seen() *entry {
	if e == nil || e.ignored {
		return nil
	}
	return e
}

func (e *entry) asFile() *entry {
	if e == nil || e.dir {
		return nil
	}
	return e
}

func (e *entry) asFolder() *folder {
	if e == nil {
		return nil
	}
	return e.folder
}

// bothOf goes through two lists in the order of their names, with nil for a name that one lacks.
func bothOf(a, b []entry) func(yield func(x, y *entry) bool) {
	return func(yield func(x, y *entry) bool) {
		for i, j := 0, 0; i < len(a) || j < len(b); {
			var x, y *entry
			switch {
			case j == len(b) || i < len(a) && a[i].name < b[j].name:
				x = &a[i]
				i++
			case i == len(a) || b[j].name < a[i].name:
				y = &b[j]
				j++
			default:
				x, y = &a[i], &b[j]
				i, j = i+1, j+1
			}
			if !yield(x, y) {
				return
			}
		}
	}
}
