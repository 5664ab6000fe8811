package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a snapshot.
const (
	// maxEntries and maxLook bound how many names one snapshot looks at, and for how long.
	maxEntries = 1_000_000
	maxLook    = 30 * time.Second
	// keptFile, keptTotal and keptTime bound what one snapshot copies into the store, in bytes
	// and in time. What a snapshot does not get to, the next one does.
	keptFile  = 16 << 20
	keptTotal = 256 << 20
	keptTime  = 10 * time.Second
	// clockGrain is more than any system's clock for files is coarse.
	clockGrain = 100 * time.Millisecond
	// maxCrew is how many look into folders at the same time.
	maxCrew = 8
)

// bounds are those of one snapshot; tests have their own.
type bounds struct {
	most           int
	look           time.Duration
	perFile, total int64
	copying        time.Duration
	throughGit     bool // contents that git has are not copied
}

var usualBounds = bounds{maxEntries, maxLook, keptFile, keptTotal, keptTime, true}

// Snapshot is how the files of a workspace stood at one time. It never changes.
//
// A file counts as unchanged when its size, times, mode and inode are. Where they moved since the
// snapshot before, the content of a file of up to 16 MB is read and kept, up to 256 MB and ten
// seconds a snapshot; the next one goes on. A file that stands as git's index of the workspace has
// it is not copied: git has its content. A change of any other file, and of one that holds secrets,
// is seen, but what was there before is not known.
//
// It is a tree of folders. A folder in which nothing moved is the same value as in the snapshot
// before, so two of them are compared in no time.
type Snapshot struct {
	trees []asked
	// settled is the time, in nanoseconds, before which a file must have changed last for its
	// stamp to be trusted: the system's clock for files is coarse.
	settled int64
	exclude ignoreFile
	index   *index
	files   int
	heard   uint64 // the reading of the vigil with which it began
}

// asked is what stands below one path that was asked for.
type asked struct {
	name string
	root *folder
	file *entry // when the path is that of a file
}

// folder is a folder as it was looked at.
type folder struct {
	above, here rules // that held outside it and in it
	entries     []entry
	shut        shut
	// whole says that all of it was looked at and kept, and that the vigil hears of what happens in it.
	whole        bool
	names, files int // of it and what stands below it
}

// shut says why a folder was not looked into.
type shut int

const (
	lookedInto shut = iota
	denied          // its rights forbid it
	beyond          // a bound of the snapshot was reached
)

// entry is a name in a folder: a file, a folder, or what git ignores.
type entry struct {
	name    string
	ignored bool
	dir     bool
	folder  *folder
	stamp   stamp
	image   *Image
	blob    blob // where git has the content, and the image no digest
	// again says that the next look has to see it whatever is heard: its content is to be kept yet, or it
	// has another name by which it can be changed.
	again bool
}

// Len is the number of files.
func (s *Snapshot) Len() int { return s.files }

// NotKept says why the content of an image is not known, as a part of a sentence; "" when it is, or
// when there is none.
func NotKept(i *Image) string {
	switch {
	case i == nil || i.Digest != "" || i.Link != "":
		return ""
	case i.Mode&fs.ModeType != 0:
		return "it is no plain file"
	case i.Size > keptFile:
		return fmt.Sprintf("%d MB, and contents are kept up to %d MB a file", i.Size>>20, keptFile>>20)
	}
	return fmt.Sprintf("it could not be read, or more than %d MB had to be kept at once", keptTotal>>20)
}

// stamp is what the system says of a file.
type stamp struct {
	size, modified, changed int64
	inode                   uint64
	mode                    fs.FileMode
}

func (s stamp) youngest() int64 { return max(s.modified, s.changed) }

// Snapshot looks at all files that git does not ignore, and at all those at or below the further
// paths given, and keeps what it has not seen before. It costs little where little changed since
// the last one. Files that vanish or cannot be read meanwhile are left out, or have no digest; so
// are further paths that are not there.
func (w *Workspace) Snapshot(ctx context.Context, also ...string) (*Snapshot, error) {
	return w.look(ctx, also, false)
}

// Glance is a Snapshot that does not look where nothing has happened since the last one, as far as
// the system tells. It may miss what a program has written into a file that it had mapped into its
// memory: the next Snapshot sees that.
func (w *Workspace) Glance(ctx context.Context, also ...string) (*Snapshot, error) {
	return w.look(ctx, also, true)
}

func (w *Workspace) look(ctx context.Context, also []string, glance bool) (*Snapshot, error) {
	if w.StoreGone() {
		return nil, fmt.Errorf("take a snapshot of %s: keep content in %s: %w", w.dir, w.store.dir, errStoreGone)
	}
	s, err := w.snapshot(ctx, usualBounds, also, glance)
	if err != nil {
		return nil, fmt.Errorf("take a snapshot of %s: %w", w.dir, err)
	}
	return s, nil
}

func (w *Workspace) snapshot(ctx context.Context, b bounds, also []string, glance bool) (*Snapshot, error) {
	last := w.last.Load()
	if last == nil {
		last = &Snapshot{}
	}
	now := time.Now()
	next := &Snapshot{settled: now.Add(-clockGrain).UnixNano(), index: last.index, heard: w.vigil.listen()}
	var err error
	if next.exclude, err = w.ignoreRules(".git/info/exclude", ".", last.exclude); err != nil {
		return nil, err
	}
	s := &shot{w: w, glance: glance, last: last, next: next, bounds: b, crew: make(chan struct{}, min(runtime.NumCPU(), maxCrew)-1), end: now.Add(b.look), copied: now.Add(b.copying)}
	s.left.Store(b.total)
	s.index = sync.OnceValue(func() *index { // only when a file has moved
		next.index = w.gitIndex(last.index)
		return next.index
	})
	for i, root := range append([]string{"."}, also...) {
		if err := s.take(ctx, root, i > 0); err != nil {
			return nil, err
		}
	}
	next.files = int(s.files.Load())
	w.last.Store(next)
	return next, nil
}

// shot is a snapshot while it is taken.
type shot struct {
	w          *Workspace
	glance     bool
	last, next *Snapshot
	bounds
	names, files atomic.Int64  // that were looked at
	left         atomic.Int64  // bytes that may still be copied
	crew         chan struct{} // who looks beside the caller
	end, copied  time.Time
	index        func() *index // git's, as it is now
}

// take looks at what stands at a path and below it. Below a further path nothing is ignored.
func (s *shot) take(ctx context.Context, root string, further bool) error {
	name, err := s.w.Name(root)
	if err != nil {
		return err
	}
	info, err := s.w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.w.confined(name, err)
	}
	var was asked
	if i := slices.IndexFunc(s.last.trees, func(t asked) bool { return t.name == name }); i >= 0 {
		was = s.last.trees[i]
	}
	t := asked{name: name}
	switch {
	case further && s.next.has(name) && !info.IsDir():
		return nil
	case info.IsDir():
		var above rules
		if !further {
			above = s.next.exclude.rules
		}
		t.root, err = s.folder(ctx, name, above, was.root, further)
	default:
		e := entry{name: path.Base(name)}
		err = s.file(path.Dir(name), &e, info, was.file)
		t.file = &e
	}
	s.next.trees = append(s.next.trees, t)
	return err
}

// has says that the tree of the workspace itself has a file.
func (s *Snapshot) has(name string) bool {
	if len(s.trees) == 0 || s.trees[0].root == nil {
		return false
	}
	at := s.trees[0].root
	for {
		first, rest, deeper := strings.Cut(name, "/")
		e := at.find(first)
		switch {
		case e == nil || e.ignored || deeper != e.dir:
			return false
		case !deeper:
			return true
		}
		at, name = e.folder, rest
	}
}

func (f *folder) find(name string) *entry {
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &f.entries[i]
}

// folder looks into a folder. Where all is as it was, the result is what it was.
func (s *shot) folder(ctx context.Context, dir string, above rules, was *folder, further bool) (*folder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.glance && !further && was != nil && was.whole && was.above.is(above) && s.w.vigil.quiet(dir, s.last.heard) {
		s.names.Add(int64(was.names))
		s.files.Add(int64(was.files))
		return was, nil
	}
	if s.names.Load() >= int64(s.most) || time.Now().After(s.end) {
		return &folder{shut: beyond}, nil
	}
	now := &folder{above: above}
	list, err := s.w.entriesOf(dir, func(f *os.File) { now.whole = s.w.vigil.over(f, dir) })
	if errors.Is(err, fs.ErrPermission) {
		return &folder{shut: denied}, nil
	}
	if err != nil {
		return nil, err
	}
	s.names.Add(int64(len(list)))
	now.entries, now.names = make([]entry, 0, len(list)), len(list)
	if now.here, err = s.rules(dir, list, above, was, further); err != nil {
		return nil, err
	}
	p := pass{dir: dir, now: now, was: was, same: was != nil && was.here.is(now.here), further: further}
	for _, d := range list {
		if err := s.entry(&p, d); err != nil {
			return nil, err
		}
	}
	if err := s.within(ctx, &p); err != nil {
		return nil, err
	}
	now.sum()
	if p.same && was.whole == now.whole && was.shut == lookedInto && was.above.is(above) && slices.Equal(was.entries, now.entries) {
		return was, nil
	}
	return now, nil
}

// sum adds what stands below a folder.
func (f *folder) sum() {
	for i := range f.entries {
		switch e := &f.entries[i]; {
		case e.ignored:
		case e.dir:
			below := e.folder
			f.whole = f.whole && below != nil && below.whole
			if below != nil {
				f.names, f.files = f.names+below.names, f.files+below.files
			}
		default:
			f.files++
			f.whole = f.whole && !e.again
		}
	}
}

// pass is a folder while it is looked into.
type pass struct {
	dir      string
	now, was *folder
	same     bool // what is ignored is what was
	further  bool
	at       int // how far the entries that were are behind
	folders  int
}

// before is what an entry was; nil when it was not there. It is asked for in the order of names.
func (p *pass) before(name string) *entry {
	was := p.was.list()
	for p.at < len(was) && was[p.at].name < name {
		p.at++
	}
	if p.at < len(was) && was[p.at].name == name {
		return &was[p.at]
	}
	return nil
}

// within looks into the folders of a folder, into some of them at the same time.
func (s *shot) within(ctx context.Context, p *pass) error {
	if p.folders == 0 {
		return nil
	}
	p.at = 0
	var work sync.WaitGroup
	errs := make([]error, len(p.now.entries))
	for i := range p.now.entries {
		e := &p.now.entries[i]
		if !e.dir || e.ignored {
			continue
		}
		was := p.before(e.name).asFolder()
		look := func() { e.folder, errs[i] = s.folder(ctx, path.Join(p.dir, e.name), p.now.here, was, p.further) }
		select {
		case s.crew <- struct{}{}:
			work.Go(func() { look(); <-s.crew })
		default:
			look()
		}
	}
	work.Wait()
	return errors.Join(errs...)
}

// rules adds a folder's own ignore file to those above it. As long as neither changes they are the
// very same value, which tells that what they ignore is the same too.
func (s *shot) rules(dir string, list []fs.DirEntry, above rules, was *folder, further bool) (rules, error) {
	i := slices.IndexFunc(list, func(d fs.DirEntry) bool { return d.Name() == ".gitignore" && d.Type().IsRegular() })
	if further || i < 0 {
		return above, nil
	}
	if e := was.find(".gitignore"); e != nil && was.above.is(above) {
		if info, err := list[i].Info(); err == nil && s.trusts(e, stampOf(info)) {
			return was.here, nil
		}
	}
	own, err := s.w.ignoreRules(path.Join(dir, ".gitignore"), dir, ignoreFile{})
	return append(slices.Clip(above), own.rules...), err
}

// entry looks at one name of a folder. One that has vanished is left out.
func (s *shot) entry(p *pass, d fs.DirEntry) error {
	if never(d.Name()) {
		return nil
	}
	e := entry{name: d.Name(), dir: d.IsDir()}
	was := p.before(e.name)
	if p.same && was != nil && was.dir == e.dir {
		e.ignored = was.ignored
	} else {
		name := path.Join(p.dir, e.name)
		e.ignored = p.now.here.ignore(name, e.dir) || p.further && s.next.has(name)
	}
	switch {
	case e.ignored:
	case e.dir:
		p.folders++
	default:
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if err := s.file(p.dir, &e, info, was); err != nil {
			return err
		}
	}
	p.now.entries = append(p.now.entries, e)
	return nil
}

// trusts says that a file whose stamp is this has the content that it had.
func (s *shot) trusts(was *entry, now stamp) bool {
	return was != nil && was.image != nil && was.stamp == now && now.youngest() < s.last.settled
}

// file pictures a file, unless it is what it was.
func (s *shot) file(dir string, e *entry, info fs.FileInfo, was *entry) error {
	s.files.Add(1)
	e.stamp = stampOf(info)
	if s.trusts(was, e.stamp) && (was.image.Digest != "" || was.blob != blob{} || !s.mayKeep(info)) {
		e.image, e.blob, e.again = was.image, was.blob, was.again
		return nil
	}
	if err := s.picture(path.Join(dir, e.name), e, info); err != nil {
		return err
	}
	e.again = e.again || manyNamed(info)
	if was != nil && was.image != nil && *was.image == *e.image {
		e.image = was.image
	}
	return nil
}

func stampOf(info fs.FileInfo) stamp {
	ino, changed := inode(info)
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano(), changed: changed, inode: ino, mode: info.Mode()}
}

// mayKeep says that the content of a file may be copied into the store.
func (s *shot) mayKeep(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() <= min(s.perFile, s.left.Load()) && time.Now().Before(s.copied)
}

// picture makes the image of a file, and keeps its content unless git has it.
func (s *shot) picture(name string, e *entry, info fs.FileInfo) error {
	e.image = &Image{Size: info.Size(), Mode: info.Mode()}
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err := s.w.root.Readlink(name); err == nil {
			e.image.Size, e.image.Link = 0, link
		}
		return nil
	}
	if s.w.holdsSecrets(name) {
		return nil
	}
	if s.throughGit && info.Mode().IsRegular() && info.Size() <= maxFile {
		if e.blob = s.index().blob(name, e.stamp); e.blob != (blob{}) {
			return nil
		}
	}
	if e.again = info.Mode().IsRegular() && info.Size() <= s.perFile; !s.mayKeep(info) {
		return nil
	}
	f, err := s.w.fetch(name)
	if err != nil {
		return nil // it has vanished, or may not be read
	}
	e.again = false
	s.left.Add(-int64(len(f.data)))
	e.image = &Image{Size: int64(len(f.data)), Mode: f.info.Mode()}
	e.image.Digest, err = s.w.store.put(f.data, false)
	return err
}

// ignoreFile is an ignore file that was read.
type ignoreFile struct {
	data  []byte
	rules rules
}

// ignoreRules reads an ignore file; one that is not there, or no plain file, has no rules. One
// that reads as it did gives what it gave.
func (w *Workspace) ignoreRules(name, dir string, was ignoreFile) (ignoreFile, error) {
	data, err := w.ignoreText(name)
	if err != nil || bytes.Equal(data, was.data) {
		return was, err
	}
	return ignoreFile{data, parseRules(data, dir)}, nil
}
