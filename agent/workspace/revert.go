package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

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
// Where that clashes the path stays as it is. It never touches a path that is not in the list.
func (w *Workspace) Revert(ctx context.Context, changes []Change, dry bool) (Reverted, error) {
	var out Reverted
	for _, name := range pathsOf(changes) {
		if err := ctx.Err(); err != nil {
			return out, fmt.Errorf("revert: %w", err)
		}
		if err := w.revertPath(ctx, name, changes, dry, &out); err != nil {
			return out, fmt.Errorf("revert %s: %w", name, err)
		}
	}
	return out, nil
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

// form is what stands at a path while its changes are taken back: nothing, a link, or bytes.
type form struct {
	image *Image
	data  []byte
}

func (w *Workspace) revertPath(ctx context.Context, given string, changes []Change, dry bool, out *Reverted) error {
	name, err := w.writable(given, false)
	if err != nil {
		return err
	}
	now, err := w.formNow(name)
	if err != nil {
		return err
	}
	then := now
	for _, c := range changes {
		if c.Path != given {
			continue
		}
		if then, err = w.before(then, c); err != nil {
			out.Conflicts = append(out.Conflicts, fmt.Sprintf("%s: %v", given, err))
			out.Files = append(out.Files, RevertedFile{given, "conflict"})
			return nil
		}
	}
	status := statusOf(now, then)
	out.Files = append(out.Files, RevertedFile{given, status})
	if dry || status == "same" {
		return nil
	}
	change, err := w.become(ctx, name, now, then)
	if errors.Is(err, ErrChanged) {
		out.Files[len(out.Files)-1].Status = "conflict"
		out.Conflicts = append(out.Conflicts, fmt.Sprintf("%s: %v", given, err))
		return nil
	}
	if err == nil {
		out.Changes = append(out.Changes, change)
	}
	return err
}

// formNow is what stands at a name: the editor's text, where it is open there.
func (w *Workspace) formNow(name string) (form, error) {
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return form{}, nil
	case err != nil:
		return form{}, w.confined(name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := w.root.Readlink(name)
		return form{image: &Image{Mode: info.Mode(), Link: link}}, err
	}
	f, err := w.load(name)
	if err != nil {
		return form{}, err
	}
	if text, _, open := w.buffer(name); open {
		return form{image: &Image{Digest: Digest([]byte(text)), Size: int64(len(text)), Mode: f.image.Mode}, data: []byte(text)}, nil
	}
	return form{image: f.image, data: f.data}, nil
}

// before takes one change back. The error says, as a part of a sentence, why that clashes.
func (w *Workspace) before(now form, c Change) (form, error) {
	if sameContent(now.image, c.Before) {
		return now, nil // it was taken back already
	}
	if sameContent(now.image, c.After) {
		return w.formOf(c.Before)
	}
	switch {
	case c.Before == nil && w.reads(now, c.After):
		return form{}, nil
	case c.Before == nil:
		return form{}, errors.New("it was made by the agent and has changed since; it stays")
	case c.After == nil:
		return form{}, errors.New("it was deleted by the agent and is there again; it stays")
	case now.image == nil:
		return form{}, errors.New("it was changed by the agent and has been deleted since; it stays deleted")
	}
	return w.merged(now, c)
}

// merged is what stands there now, with the change from c.After back to c.Before made in it.
func (w *Workspace) merged(now form, c Change) (form, error) {
	after, err := w.formOf(c.After)
	if err != nil {
		return form{}, err
	}
	before, err := w.formOf(c.Before)
	if err != nil {
		return form{}, err
	}
	t := threeTexts(after.data, now.data, before.data)
	edits, ok := udiff.Merge(udiff.Lines(t.base, t.now), udiff.Lines(t.base, t.before))
	if !ok || now.image.Link != "" {
		return form{}, errors.New("what others changed since stands in the same lines; it stays as it is")
	}
	text, err := udiff.Apply(t.base, edits)
	if err != nil {
		return form{}, fmt.Errorf("the changes do not fit together (%w); it stays as it is", err)
	}
	data, err := t.encode(text)
	if err != nil {
		return form{}, fmt.Errorf("it %w; it stays as it is", err)
	}
	return form{image: &Image{Digest: Digest(data), Size: int64(len(data)), Mode: c.Before.Mode}, data: data}, nil
}

// texts are what a three-way merge merges. An editor shows a file without its byte order mark and
// in another encoding, so the same text may have two forms; the merged text takes that of now.
type texts struct {
	base, now, before string
	encode            func(text string) ([]byte, error)
}

func threeTexts(base, now, before []byte) texts {
	a, errA := decode(base)
	n, errN := decode(now)
	b, errB := decode(before)
	if errors.Join(errA, errN, errB) != nil { // bytes are merged as they are
		return texts{string(base), string(now), string(before), func(text string) ([]byte, error) { return []byte(text), nil }}
	}
	return texts{a.text, n.text, b.text, func(text string) ([]byte, error) {
		n.text = text
		return n.encode()
	}}
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
		return form{}, errors.New("what stood there before is not known; it stays")
	}
	data, err := w.store.Get(i.Digest)
	if err != nil {
		return form{}, fmt.Errorf("what stood there before cannot be read (%w); it stays", err)
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
	case sameContent(now.image, then.image) && sameMode(now.image, then.image):
		return "same"
	case then.image == nil:
		return "deleted"
	case now.image == nil:
		return "created"
	}
	return "restored"
}

func sameMode(a, b *Image) bool {
	return a == nil || b == nil || a.Mode.Perm() == b.Mode.Perm()
}

// become puts a form at a name, if what stands there is still what was looked at.
func (w *Workspace) become(ctx context.Context, name string, now, then form) (Change, error) {
	f := &file{name: name, data: now.data, image: now.image}
	switch {
	case then.image == nil:
		return w.vanish(name, f)
	case then.image.Link != "":
		return w.relink(name, then.image)
	}
	if text, version, open := w.buffer(name); open {
		return w.becomeOpen(ctx, name, version, text, now, then)
	}
	if now.image != nil {
		loaded, err := w.load(name)
		if err != nil {
			return Change{}, err
		}
		f = loaded
		if !sameContent(f.image, now.image) {
			return Change{}, refuse(ErrChanged, "%s changed while it was taken back; it stays", name)
		}
	}
	change, err := w.replace(f, then.data)
	if err != nil {
		return change, err
	}
	if err := w.root.Chmod(name, then.image.Mode); err != nil {
		return change, fmt.Errorf("keep the mode of %s: %w", name, err)
	}
	change.After.Mode = then.image.Mode
	return change, nil
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
	switch {
	case len(r.Changes) > 0:
		return r.Changes[0], err
	case err != nil:
		return Change{}, refuse(ErrChanged, "%v", err)
	}
	return Change{}, nil
}

// vanish removes a file that the agent made.
func (w *Workspace) vanish(name string, f *file) (Change, error) {
	if f.image.Link == "" {
		if _, err := w.store.Put(f.data); err != nil {
			return Change{}, err
		}
	}
	if err := w.still(name, f.image); err != nil {
		return Change{}, err
	}
	if err := w.root.Remove(name); err != nil {
		return Change{}, w.confined(name, err)
	}
	w.remember(name, nil)
	return Change{Path: name, Before: f.image}, syncDir(w.root, path.Dir(name))
}

// relink puts a link back where nothing stands.
func (w *Workspace) relink(name string, i *Image) (Change, error) {
	if err := w.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return Change{}, w.confined(name, err)
	}
	if err := w.root.Symlink(i.Link, name); err != nil {
		return Change{}, w.confined(name, err)
	}
	return Change{Path: name, After: i}, syncDir(w.root, path.Dir(name))
}
