package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxMoved bounds how many files one move of a folder carries, since each gets its images.
const maxMoved = 1_000

// Write puts content into a file and makes the file and its folders if they are not there.
// What stood there before is kept as an image. A file keeps its mode, byte order mark and
// encoding, and, where all its lines end alike, its line ends. A file that the agent has seen
// and that changed since is refused; one that it never saw is not.
func (w *Workspace) Write(ctx context.Context, path, content string) (Result, error) {
	name, err := w.agents(path, true)
	if err != nil {
		return Result{}, err
	}
	f, err := w.load(name)
	if err != nil {
		return Result{}, err
	}
	text, version, open := w.buffer(name)
	if open {
		f.data = []byte(text)
		f.image = &Image{Digest: Digest(f.data), Size: int64(len(f.data)), Mode: 0o644}
	}
	if err := w.fresh(f); err != nil {
		return Result{}, err
	}
	data, err := f.styled(content)
	if err != nil {
		return Result{}, fmt.Errorf("write %s: %w", path, err)
	}
	if f.image != nil && Digest(data) == f.image.Digest {
		w.remember(f.name, f.image)
		return Result{Notes: []string{"The file reads so already: nothing changed."}}, nil
	}
	if open {
		return w.applied(ctx, name, version, text, string(data), nil)
	}
	change, err := w.replace(f, data)
	return w.result(change, f.data, data, nil), err
}

// styled gives content the form of the file that it replaces.
func (f *file) styled(content string) ([]byte, error) {
	d, err := decode(f.data)
	if err != nil {
		return []byte(content), hides("", content)
	}
	content = strings.TrimPrefix(content, bom)
	if err := errors.Join(elidesFile(d.text, content), hides(d.text, content)); err != nil {
		return nil, err
	}
	if end, uniform := onlyEnd(d.text); uniform {
		content = withEnds(lf(content), end)
	}
	d.text = content
	data, err := d.encode()
	if err != nil {
		return nil, fmt.Errorf("the file %w: keep to what it can hold", err)
	}
	return data, nil
}

// elidesFile refuses a whole file that leaves out what stands in the one that it replaces.
func elidesFile(old, content string) error {
	if strings.TrimSpace(old) == "" {
		return nil
	}
	return elides("", content, old)
}

// onlyEnd is the line end of a text that has only one kind.
func onlyEnd(text string) (end string, uniform bool) {
	for _, l := range split(text, isOldMac(text)) {
		if l.end == "" {
			continue
		}
		if end != "" && l.end != end {
			return "", false
		}
		end = l.end
	}
	return end, end != ""
}

// Delete removes one file, or a link, or an empty folder. The content is kept as an image.
func (w *Workspace) Delete(_ context.Context, given string) (Result, error) {
	name, err := w.agents(given, false)
	if err != nil {
		return Result{}, err
	}
	image, err := w.taken(name, given)
	if err != nil {
		return Result{}, err
	}
	if image == nil {
		return Result{}, w.removeFolder(name, given)
	}
	if err := w.still(name, image); err != nil {
		return Result{}, err
	}
	if err := w.root.Remove(name); err != nil {
		return Result{}, w.confined(name, err)
	}
	w.remember(name, nil)
	return Result{Changes: []Change{{Path: name, Before: image}}}, syncDir(w.root, path.Dir(name))
}

// still is the compare before a file loses its name. A link has nothing to lose.
func (w *Workspace) still(name string, image *Image) error {
	if image.Link != "" {
		return nil
	}
	return w.unchanged(&file{name: name, image: image})
}

// removeFolder removes a folder that is empty. It never takes a tree: files are deleted one
// by one, each with its image.
func (w *Workspace) removeFolder(name, given string) error {
	if err := w.root.Remove(name); err != nil {
		return fmt.Errorf("%s is a folder that is not empty: delete its files one by one", given)
	}
	return nil
}

// taken gives the image of a file that is about to be deleted or moved, with its content
// kept; nil for a folder. It refuses a file that changed since the agent saw it, or that
// has unsaved text in the editor.
func (w *Workspace) taken(name, given string) (*Image, error) {
	info, err := w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, w.missing(given)
	}
	if err != nil {
		return nil, w.confined(name, err)
	}
	if info.IsDir() {
		return nil, nil
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := w.root.Readlink(name)
		return &Image{Mode: info.Mode(), Link: link}, err
	}
	f, err := w.load(name)
	if err != nil {
		return nil, err
	}
	if f.image == nil {
		return nil, w.missing(given)
	}
	if text, _, open := w.buffer(name); open && lf(text) != shown(f.data) {
		return nil, fmt.Errorf("%s has unsaved text in the editor: ask the developer to save or close it", given)
	}
	if err := w.fresh(f); err != nil {
		return nil, err
	}
	_, err = w.store.Put(f.data)
	return f.image, err
}

// Move gives a file, link or folder another name, and makes the folders above that. It
// overwrites nothing.
func (w *Workspace) Move(ctx context.Context, from, to string) (Result, error) {
	source, err := w.agents(from, false)
	if err != nil {
		return Result{}, err
	}
	target, err := w.agents(to, false)
	if err != nil {
		return Result{}, err
	}
	if err := w.vacant(target, to); err != nil {
		return Result{}, err
	}
	changes, err := w.leaving(ctx, source, from, target)
	if err != nil {
		return Result{}, err
	}
	made, err := w.makeFolders(path.Dir(target))
	if err != nil {
		return Result{}, err
	}
	if len(changes) == 2 && changes[0].Path == source {
		if err := w.still(source, changes[0].Before); err != nil {
			return Result{}, err
		}
	}
	if err := w.rename(source, target); err != nil {
		return Result{}, err
	}
	for i, c := range changes {
		w.remember(c.Path, c.After)
		if c.After != nil { // a folder that was moved is new at its place, and so are those in it
			changes[i].Made = made + strings.Count(strings.TrimPrefix(c.Path, target), "/")
		}
	}
	return Result{Changes: changes}, errors.Join(syncDir(w.root, path.Dir(source)), syncDir(w.root, path.Dir(target)))
}

func (w *Workspace) vacant(target, to string) error {
	info, err := w.root.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return w.confined(target, err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder that exists: give the whole new path, with the file's name", to)
	default:
		return fmt.Errorf("%s exists already, and a move overwrites nothing: delete it first, or choose another name", to)
	}
}

// leaving lists what a move changes: the file, or each file of a folder.
func (w *Workspace) leaving(ctx context.Context, source, from, target string) ([]Change, error) {
	image, err := w.taken(source, from)
	if err != nil {
		return nil, err
	}
	if image != nil {
		return []Change{{Path: source, Before: image}, {Path: target, After: image}}, nil
	}
	if target == source || strings.HasPrefix(target, source+"/") {
		return nil, fmt.Errorf("%s cannot be moved into itself", from)
	}
	var changes []Change
	err = fs.WalkDir(w.root.FS(), source, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if inGit(name) {
			return fmt.Errorf("%s holds a git repository: move it with a command", from)
		}
		if inTandem(name) {
			return errOurs(name)
		}
		if len(changes) >= 2*maxMoved {
			return fmt.Errorf("%s holds more than %d files: move it with a command", from, maxMoved)
		}
		image, err := w.taken(name, name)
		changes = append(changes, Change{Path: name, Before: image},
			Change{Path: target + strings.TrimPrefix(name, source), After: image})
		return err
	})
	return changes, err
}

// rename moves without overwriting: a file gets its second name before it loses the first.
func (w *Workspace) rename(source, target string) error {
	info, err := w.root.Lstat(source)
	if err != nil {
		return w.confined(source, err)
	}
	if info.Mode().IsRegular() {
		return w.put(source, target)
	}
	if err := w.root.Rename(source, target); err != nil {
		return fmt.Errorf("move %s to %s: %w", source, target, err)
	}
	return nil
}
