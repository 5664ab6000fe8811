package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Reverted is what a revert did, or with a dry run would do. Changes are its own, so that it
// can be reverted itself. A path with a conflict stays as it is.
type Reverted = struct {
	Files     []RevertedFile
	Changes   []Change
	Conflicts []string // sentences that name the path
}

// RevertedFile is one path that a revert is about.
type RevertedFile = struct {
	Path   string
	Status string // "restored", "deleted", "created" or "conflict"; "same" when nothing was left to take back
}

// Revert takes changes back, the newest first in the list: for each path a three-way merge of
// what stands there now with what stood there before, so that what others changed since stays.
// Where that clashes the path stays as it is, and the conflict shows both sides. It never touches a
// path that is not in the list, nor anything of git's. Only the end of ctx is an error: whatever
// keeps one path from being taken back is a conflict of that path.
func (w *Workspace) Revert(ctx context.Context, changes []Change, dry bool) (Reverted, error) {
	r := reversal{w: w, dry: dry}
	for _, name := range pathsOf(changes) {
		r.paths = append(r.paths, w.undo(name, changes))
	}
	r.makeRoom()
	err := r.carryOut(ctx)
	return r.outcome(), err
}

// reversal is a revert while it is made: all paths are looked at before the first is changed, so that
// a dry run says what a revert would do.
type reversal struct {
	w     *Workspace
	dry   bool
	paths []*undone
}

// undone is one path of a revert.
type undone struct {
	given, name string
	now, then   form
	made        int // folders above it that were made for it
	status      string
	err         error
	change      Change
}

// undo finds out what has to stand at a path.
func (w *Workspace) undo(given string, changes []Change) *undone {
	u := &undone{given: given, name: given, status: "conflict"}
	if u.name, u.err = w.name(given); u.err != nil {
		return u
	}
	if inGit(u.name) {
		u.err = errors.New("it belongs to git; it stays")
		return u
	}
	if u.now, u.err = w.formNow(u.name); u.err != nil {
		return u
	}
	u.then = u.now
	for _, c := range changes {
		if c.Path != given {
			continue
		}
		if c.Before == nil {
			u.made = max(u.made, c.Made)
		}
		if u.then, u.err = w.before(u.then, c); u.err != nil {
			return u
		}
	}
	u.status = statusOf(u.now, u.then)
	return u
}

// makeRoom turns into conflicts what has no room: a file where a folder stands that keeps other files,
// or below a path at which a file stays.
func (r *reversal) makeRoom() {
	gone := map[string]bool{}
	for _, u := range r.paths {
		gone[u.name] = u.status == "deleted"
	}
	for _, u := range r.paths {
		if u.err == nil && u.status != "deleted" && r.otherCase(u, gone) {
			u.now, u.status = form{}, statusOf(form{}, u.then)
		}
	}
	for _, u := range r.paths {
		if u.err != nil || u.status == "same" || u.status == "deleted" {
			continue
		}
		if u.now.folder {
			u.err = r.w.emptied(u.name, gone)
		}
		if above := r.w.above(u.name); above != "" && !gone[above] {
			u.err = fmt.Errorf("%s is no folder now, so nothing is made below it; it stays", above)
		}
		if u.err != nil {
			u.status = "conflict"
		}
	}
}

// otherCase says that a path is another spelling of one that will be gone: where the case of names does
// not count, they are one file.
func (r *reversal) otherCase(u *undone, gone map[string]bool) bool {
	return slices.ContainsFunc(r.paths, func(o *undone) bool {
		if !gone[o.name] || o.name == u.name || !strings.EqualFold(o.name, u.name) {
			return false
		}
		a, err := r.w.root.Lstat(o.name)
		b, too := r.w.root.Lstat(u.name)
		return err == nil && too == nil && os.SameFile(a, b)
	})
}

// emptied says whether a folder will be gone when others are.
func (w *Workspace) emptied(dir string, gone map[string]bool) error {
	return fs.WalkDir(w.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !gone[name] {
			return fmt.Errorf("a folder stands there now, with %s in it; it stays", name)
		}
		return err
	})
}

// above is what stands, a file or a link, where a folder above a name should; "" when nothing does. No
// link is followed: what is taken back was changed at this very name.
func (w *Workspace) above(name string) string {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := w.root.Lstat(name[:i])
		if err != nil {
			return ""
		}
		if !info.IsDir() {
			return name[:i]
		}
	}
	return ""
}

// carryOut removes first, the deepest first, and then makes: a file may stand where a folder was, and
// one name may differ from another in its case alone.
func (r *reversal) carryOut(ctx context.Context) error {
	if r.dry {
		return nil
	}
	first := slices.Clone(r.paths)
	slices.SortStableFunc(first, func(a, b *undone) int { return strings.Compare(b.name, a.name) })
	for _, deleting := range []bool{true, false} {
		for _, u := range first {
			if u.err != nil || u.status == "same" || (u.status == "deleted") != deleting {
				continue
			}
			if err := ctx.Err(); err != nil {
				r.giveUp(err)
				return fmt.Errorf("revert: %w", err)
			}
			u.change, u.err = r.w.become(ctx, u)
			if u.err != nil && u.change.Path == "" {
				u.status = "conflict"
			}
		}
		slices.Reverse(first)
	}
	return nil
}

// giveUp leaves what has not been taken back as it is.
func (r *reversal) giveUp(err error) {
	for _, u := range r.paths {
		if u.err == nil && u.status != "same" && u.change.Path == "" {
			u.status, u.err = "conflict", err
		}
	}
}

func (r *reversal) outcome() (out Reverted) {
	for _, u := range r.paths {
		out.Files = append(out.Files, RevertedFile{u.given, u.status})
		if u.err != nil {
			out.Conflicts = append(out.Conflicts, fmt.Sprintf("%s: %v", u.given, u.err))
		}
		if u.change.Path != "" {
			out.Changes = append(out.Changes, u.change)
		}
	}
	return out
}

// Unseen takes changes for ones that the agent was not shown: an edit of such a file is refused, with
// what changed, before it is made. For reverts that the agent did not ask for.
func (w *Workspace) Unseen(changes []Change) {
	for _, c := range changes {
		w.remember(c.Path, c.Before)
	}
}

func pathsOf(changes []Change) []string {
	var names []string
	seen := map[string]bool{}
	for _, c := range changes {
		if !seen[c.Path] {
			seen[c.Path] = true
			names = append(names, c.Path)
		}
	}
	return names
}

// form is what stands at a path while its changes are taken back: nothing, a folder, a link, or bytes.
type form struct {
	image  *Image
	data   []byte
	folder bool
}

func (f form) link() bool { return f.image != nil && f.image.Link != "" }

// formNow is what stands at a name: the editor's text, where it is open there.
func (w *Workspace) formNow(name string) (form, error) {
	if w.above(name) != "" {
		return form{}, nil
	}
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return form{}, nil
	case err != nil:
		return form{}, w.confined(name, err)
	case info.IsDir():
		return form{folder: true}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := w.root.Readlink(name)
		return form{image: &Image{Mode: info.Mode(), Link: link}}, err
	}
	f, err := w.load(name)
	if err != nil {
		return form{}, err
	}
	if text, _, open := w.buffer(name); open {
		return form{image: &Image{Digest: Digest([]byte(text)), Size: int64(len(text)), Mode: info.Mode()}, data: []byte(text)}, nil
	}
	return form{image: f.image, data: f.data}, nil
}

// before takes one change back. The error says, as a part of a sentence, why that clashes.
func (w *Workspace) before(now form, c Change) (form, error) {
	switch {
	case now.folder && c.After == nil: // makeRoom looks at what is in it
		return w.formOf(c.Before)
	case now.folder:
		return form{}, errors.New("a folder stands there now; it stays")
	case sameContent(now.image, c.Before):
		return w.moded(now, now, c)
	case sameContent(now.image, c.After):
		then, err := w.formOf(c.Before)
		if err != nil {
			return form{}, err
		}
		return w.moded(then, now, c)
	case c.Before == nil && w.reads(now, c.After):
		return form{}, nil
	}
	then, err := w.formOf(c.Before)
	switch {
	case err != nil:
		return form{}, err
	case c.Before == nil:
		return form{}, w.clashOf("it was made by the agent and has changed since; it stays", now, then)
	case c.After == nil:
		return form{}, w.clashOf("it was deleted by the agent and is there again; it stays", now, then)
	case now.image == nil:
		return form{}, w.clashOf("it was changed by the agent and has been deleted since; it stays deleted", now, then)
	}
	return w.merged(now, then, c)
}

// moded gives a form the mode bits that it has to have: those of before, where the change has set
// them and nobody has since.
func (w *Workspace) moded(then, now form, c Change) (form, error) {
	if then.image == nil || now.image == nil || c.Before == nil || c.After == nil || then.link() || now.link() {
		return then, nil
	}
	is, was, set := bits(now.image), bits(c.Before), bits(c.After)
	switch {
	case was == set || is == was:
		was = is
	case is != set:
		return form{}, fmt.Errorf("its mode was %v, the agent made it %v, and it is %v now; it stays", was, set, is)
	}
	image := *then.image
	image.Mode = image.Mode&^modeBits | was
	return form{image: &image, data: then.data}, nil
}

// modeBits are what of a mode can be set.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func bits(i *Image) fs.FileMode { return i.Mode & modeBits }

// merged is what stands there now, with the change from c.After back to c.Before made in it.
func (w *Workspace) merged(now, before form, c Change) (form, error) {
	after, err := w.formOf(c.After)
	switch {
	case err != nil:
		return form{}, fmt.Errorf("what the agent had left there is not known, so nobody can tell what changed since (%w)", err)
	case now.link() || before.link() || after.link():
		return form{}, w.clashOf("it has been replaced since; it stays as it is", now, before)
	}
	t, ok := threeTexts(after.data, now.data, before.data)
	if !ok {
		return form{}, w.clashOf("it is no text, and has changed since; it stays as it is", now, before)
	}
	ours, theirs := udiff.Lines(t.base, t.now), udiff.Lines(t.base, t.before)
	edits, ok := udiff.Merge(ours, theirs)
	if !ok {
		return form{}, w.overlap(t)
	}
	text, err := udiff.Apply(t.base, edits)
	if err != nil {
		return form{}, fmt.Errorf("the changes do not fit together (%w); it stays as it is", err)
	}
	data, err := t.encode(text)
	if err != nil {
		return form{}, fmt.Errorf("it %w; it stays as it is", err)
	}
	image := &Image{Digest: Digest(data), Size: int64(len(data)), Mode: now.image.Mode}
	return w.moded(form{image: image, data: data}, now, c)
}

// texts are what a three-way merge merges. An editor shows a file without its byte order mark and
// in another encoding, so the same text may have two forms; the merged text takes that of now.
type texts struct {
	base, now, before string
	encode            func(text string) ([]byte, error)
}

// threeTexts is false where one of them is no text: what is binary is never merged.
func threeTexts(base, now, before []byte) (texts, bool) {
	a, errA := decode(base)
	n, errN := decode(now)
	b, errB := decode(before)
	if errors.Join(errA, errN, errB) != nil {
		return texts{}, false
	}
	return texts{a.text, n.text, b.text, func(text string) ([]byte, error) {
		n.text = text
		return n.encode()
	}}, true
}

// reads says that a form has the text of an image, whatever its encoding.
func (w *Workspace) reads(now form, i *Image) bool {
	if now.image == nil || now.image.Link != "" {
		return false
	}
	kept, err := w.formOf(i)
	text, ok := TextOf(kept.data)
	return err == nil && kept.image != nil && kept.image.Link == "" && ok && Holds(now.data, text)
}

// formOf is an image with its bytes. Those that were never kept cannot come back.
func (w *Workspace) formOf(i *Image) (form, error) {
	if i == nil || i.Link != "" {
		return form{image: i}, nil
	}
	if i.Digest == "" {
		return form{}, fmt.Errorf("its content was not kept (%s); it stays", NotKept(i))
	}
	data, err := w.store.Get(i.Digest)
	if err != nil {
		return form{}, fmt.Errorf("its content cannot be read (%w); it stays", err)
	}
	return form{image: i, data: data}, nil
}

func sameContent(a, b *Image) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Link == b.Link && a.Digest == b.Digest && (a.Digest != "" || a.Link != "")
}

func statusOf(now, then form) string {
	switch {
	case then.image == nil && (now.image == nil || now.folder):
		return "same"
	case then.image == nil:
		return "deleted"
	case now.image == nil:
		return "created"
	case sameContent(now.image, then.image) && (now.link() || bits(now.image) == bits(then.image)):
		return "same"
	}
	return "restored"
}

// become puts at a path what has to stand there, if what stands there is still what was looked at.
func (w *Workspace) become(ctx context.Context, u *undone) (Change, error) {
	name, now, then := u.name, u.now, u.then
	if u.status == "deleted" {
		return w.vanish(u)
	}
	if now.folder {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Change{}, fmt.Errorf("a folder stands there now that is not empty; it stays (%w)", err)
		}
	}
	switch text, version, open := w.buffer(name); {
	case now.link() || then.link():
		return w.relink(name, now, then)
	case sameContent(now.image, then.image):
		return w.remode(name, now, then)
	case open:
		return w.becomeOpen(ctx, name, version, text, now, then)
	}
	f := &file{name: name}
	if now.image != nil {
		loaded, err := w.load(name)
		if err != nil {
			return Change{}, err
		}
		if f = loaded; !sameContent(f.image, now.image) {
			return Change{}, refuse(ErrChanged, "it changed while it was taken back; it stays")
		}
	}
	change, err := w.replace(f, then.data)
	if change.Path == "" || change.After.Mode == then.image.Mode {
		return change, err
	}
	change.After.Mode = then.image.Mode
	return change, errors.Join(err, w.chmod(name, then.image))
}

func (w *Workspace) chmod(name string, i *Image) error {
	if err := w.root.Chmod(name, bits(i)); err != nil {
		return fmt.Errorf("set the mode of %s: %w", name, err)
	}
	return nil
}

// remode sets the mode bits alone.
func (w *Workspace) remode(name string, now, then form) (Change, error) {
	if err := w.stands(name, now); err != nil {
		return Change{}, err
	}
	if err := w.chmod(name, then.image); err != nil {
		return Change{}, err
	}
	after := *now.image
	after.Mode = then.image.Mode
	return Change{Path: name, Before: now.image, After: &after}, nil
}

// stands is the compare before what stands at a name is replaced.
func (w *Workspace) stands(name string, was form) error {
	now, err := w.formNow(name)
	if err != nil {
		return err
	}
	if now.folder || !sameContent(now.image, was.image) {
		return refuse(ErrChanged, "it changed while it was taken back; it stays")
	}
	return nil
}

// becomeOpen puts a form into a document that is open in an editor. What its editor does not change
// stays, as a file does that changed meanwhile.
func (w *Workspace) becomeOpen(ctx context.Context, name string, version int32, text string, now, then form) (Change, error) {
	if text != string(now.data) {
		return Change{}, refuse(ErrChanged, "the text changed in the editor while it was taken back; it stays")
	}
	want, ok := TextOf(then.data)
	if !ok {
		return Change{}, refuse(ErrChanged, "it was no text before, and is open in the editor; it stays")
	}
	r, err := w.applied(ctx, name, version, text, want, nil)
	if len(r.Changes) == 0 {
		return Change{}, err
	}
	change := r.Changes[0]
	if now.image != nil && bits(now.image) != bits(then.image) {
		change.After.Mode = then.image.Mode
		err = errors.Join(err, w.chmod(name, then.image))
	}
	return change, err
}

// vanish removes a file that the agent made, and the folders that were made for it and are empty.
func (w *Workspace) vanish(u *undone) (Change, error) {
	if !u.now.link() {
		if _, err := w.store.Put(u.now.data); err != nil {
			return Change{}, err
		}
		if err := w.still(u.name, u.now.image); err != nil {
			return Change{}, err
		}
	}
	if err := w.stands(u.name, u.now); err != nil {
		return Change{}, err
	}
	if err := w.root.Remove(u.name); err != nil {
		return Change{}, w.confined(u.name, err)
	}
	w.remember(u.name, nil)
	dir := path.Dir(u.name)
	for range u.made {
		if dir == "." || w.root.Remove(dir) != nil { // it is not empty
			break
		}
		dir = path.Dir(dir)
	}
	return Change{Path: u.name, Before: u.now.image}, syncDir(w.root, dir)
}

// relink puts a link where nothing, a file or another link stands, or a file where a link does.
func (w *Workspace) relink(name string, now, then form) (Change, error) {
	made, err := w.makeFolders(path.Dir(name))
	if err != nil {
		return Change{}, err
	}
	if now.image != nil && !now.link() {
		if _, err := w.store.Put(now.data); err != nil {
			return Change{}, err
		}
	}
	temp := path.Join(path.Dir(name), tempName())
	if then.link() {
		err = w.root.Symlink(then.image.Link, temp)
	} else {
		err = errors.Join(writeNew(w.root, temp, then.data, 0o600, true), w.root.Chmod(temp, bits(then.image)))
	}
	if err != nil {
		return Change{}, dropTemp(w.root, temp, w.confined(name, err))
	}
	if err := w.stands(name, now); err != nil {
		return Change{}, dropTemp(w.root, temp, err)
	}
	if err := w.root.Rename(temp, name); err != nil {
		return Change{}, dropTemp(w.root, temp, w.confined(name, err))
	}
	w.remember(name, then.image)
	return Change{Path: name, Before: now.image, After: then.image, Made: made}, syncDir(w.root, path.Dir(name))
}

// makeFolders makes a folder and those above it, and counts the ones that were not there.
func (w *Workspace) makeFolders(dir string) (made int, err error) {
	for at := dir; at != "."; at = path.Dir(at) {
		if _, err := w.root.Lstat(at); err == nil {
			break
		}
		made++
	}
	if err := w.root.MkdirAll(dir, 0o755); err != nil {
		return 0, w.confined(dir, err)
	}
	return made, nil
}
