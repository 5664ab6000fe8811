package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tandem/agent/patch"
)

// Patch makes all the changes of a patch, or none: everything is looked at before anything is
// touched, and what was done is taken back when a later part cannot be done after all. A file that
// could not be taken back is in the result with its changes, and the error says so.
func (w *Workspace) Patch(ctx context.Context, files []patch.File) (Result, error) {
	steps, err := w.steps(ctx, files)
	if err != nil {
		return Result{}, err
	}
	var all Result
	var diffs, folders []string
	for _, s := range steps {
		folders = append(folders, w.unmade(s)...)
		r, err := s.do(ctx, w)
		all.Changes = append(all.Changes, r.Changes...)
		all.Notes = append(all.Notes, r.Notes...)
		diffs = append(diffs, r.Diff)
		if err != nil && (len(steps) > 1 || s.to != "") {
			return w.takeBack(ctx, all.Changes, folders, err)
		}
		if err != nil {
			return r, err
		}
	}
	all.Changes, all.Diff = joined(all.Changes), strings.Join(diffs, "")
	return all, nil
}

// step is one change that is known to fit, and has not been made.
type step struct {
	file   *file
	given  string // the path, as the patch has it
	data   []byte
	notes  []string
	open   *opened // the document in the editor that is changed
	to     string
	delete bool
}

// opened is the text that a document had when the change was made for it, and what it shall have.
type opened struct {
	version       int32
	before, after string
}

// steps looks at everything that a patch asks for.
func (w *Workspace) steps(ctx context.Context, files []patch.File) ([]step, error) {
	taken := map[string]string{}
	var steps []step
	for _, f := range merged(files) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := w.step(f)
		if err != nil && len(files) > 1 {
			return nil, fmt.Errorf("nothing of the patch was applied: %w", err)
		}
		if err != nil {
			return nil, err
		}
		for _, given := range []string{f.Path, f.To} {
			name, err := w.Name(given)
			if given == "" || err != nil {
				continue
			}
			if other, ok := taken[name]; ok {
				return nil, fmt.Errorf("the patch changes %s twice (as %s too): join the two", given, other)
			}
			taken[name] = given
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// merged are the files of a patch with what is said of one file in several places joined.
func merged(files []patch.File) []patch.File {
	var out []patch.File
	for _, f := range files {
		i := slices.IndexFunc(out, func(o patch.File) bool { return o.Path == f.Path })
		if i < 0 || f.Kind != patch.Update || out[i].Kind != patch.Update || f.To+out[i].To != "" {
			out = append(out, f)
			continue
		}
		out[i].Hunks = slices.Concat(out[i].Hunks, f.Hunks)
		out[i].Edits = slices.Concat(out[i].Edits, f.Edits)
		out[i].Notes = slices.Concat(out[i].Notes, f.Notes)
	}
	return out
}

func (w *Workspace) step(f patch.File) (step, error) {
	switch {
	case f.Kind == patch.Add:
		return w.addition(f)
	case f.Kind == patch.Delete:
		return w.deletion(f)
	case f.To != "":
		return w.move(f)
	}
	return w.update(f)
}

// update looks at edits or hunks of one file.
func (w *Workspace) update(f patch.File) (step, error) {
	name, err := w.agents(f.Path, true)
	if err != nil {
		return step{}, err
	}
	if len(f.Edits)+len(f.Hunks) == 0 {
		return step{}, fmt.Errorf("edit %s: no edits were given: give at least one pair of old and new", f.Path)
	}
	rewrite := func(raw string) (string, []string, error) {
		if len(f.Hunks) > 0 {
			return rewriteHunks(raw, f.Hunks)
		}
		return rewrite(raw, f.Edits)
	}
	if text, version, open := w.buffer(name); open {
		after, notes, err := rewrite(text)
		if err != nil {
			return step{}, fmt.Errorf("edit %s (open in the editor): %w", f.Path, err)
		}
		return step{given: f.Path, file: &file{name: name}, notes: slices.Concat(notes, f.Notes), open: &opened{version, text, after}}, nil
	}
	s := step{given: f.Path}
	if s.file, err = w.load(name); err != nil {
		return step{}, err
	}
	if s.file.image == nil && !creates(f.Edits) && !makes(f.Hunks) {
		return step{}, w.missing(f.Path)
	}
	if err := w.fresh(s.file); err != nil {
		return step{}, err
	}
	if s.data, s.notes, err = s.file.edited(rewrite); err != nil {
		return step{}, fmt.Errorf("edit %s: %w", f.Path, err)
	}
	s.notes = slices.Concat(s.notes, f.Notes)
	return s, nil
}

// makes tells whether hunks may make a file: the only one has no old lines, by its numbers too.
func makes(hunks []patch.Hunk) bool { return fills(hunks) && hunks[0].Line == 1 }

// addition looks at a new file. It overwrites nothing, in the editor neither.
func (w *Workspace) addition(f patch.File) (step, error) {
	name, err := w.agents(f.Path, true)
	if err != nil {
		return step{}, err
	}
	if _, _, open := w.buffer(name); open {
		return step{}, fmt.Errorf("%s is open in the editor, and a patch that makes a file overwrites nothing: change it with an update", f.Path)
	}
	if info, err := w.root.Lstat(name); err == nil {
		what := "exists already"
		if info.IsDir() {
			what = "is a folder"
		}
		return step{}, fmt.Errorf("%s %s, and a patch that makes a file overwrites nothing: change it with an update, or choose another name", f.Path, what)
	}
	s := step{given: f.Path, notes: f.Notes}
	if s.file, err = w.load(name); err != nil {
		return step{}, err
	}
	s.data, err = s.file.styled(f.Text)
	return s, err
}

// deletion looks at a file that is to be deleted. Where the patch says what it holds, it must hold
// that and nothing else.
func (w *Workspace) deletion(f patch.File) (step, error) {
	name, err := w.agents(f.Path, false)
	if err != nil {
		return step{}, err
	}
	image, err := w.taken(name, f.Path)
	if err != nil {
		return step{}, err
	}
	if image == nil {
		return step{}, fmt.Errorf("%s is a folder: a patch deletes files one by one", f.Path)
	}
	s := step{given: f.Path, file: &file{name: name}, delete: true}
	if len(f.Hunks) == 0 {
		return s, nil
	}
	var b strings.Builder
	for _, h := range f.Hunks {
		b.WriteString(h.Old)
	}
	loaded, err := w.load(name)
	if err != nil {
		return step{}, err
	}
	if want := strings.TrimSuffix(b.String(), "\n"); strings.TrimSuffix(shown(loaded.data), "\n") != want {
		return step{}, fmt.Errorf("%s differs from what the patch deletes, so it stays: read it again", f.Path)
	}
	return s, nil
}

// move looks at a file that gets another name, and may be changed besides.
func (w *Workspace) move(f patch.File) (step, error) {
	s := step{}
	source, err := w.agents(f.Path, false)
	if err != nil {
		return s, err
	}
	if len(f.Hunks) > 0 {
		if s, err = w.update(f); err != nil {
			return s, err
		}
		if s.file.name != source {
			return s, fmt.Errorf("%s is a link: change the file that it leads to, and move the link with move_file", f.Path)
		}
	}
	target, err := w.agents(f.To, false)
	if err == nil {
		err = w.vacant(target, f.To)
	}
	if err != nil {
		return s, err
	}
	image, err := w.taken(source, f.Path)
	if err != nil {
		return s, err
	}
	if image == nil {
		return s, fmt.Errorf("%s is a folder: move it with move_file", f.Path)
	}
	s.given, s.to = f.Path, f.To
	if s.file == nil {
		s.file, s.notes = &file{name: source}, f.Notes
	}
	return s, nil
}

// do makes the change of a step, with its own look that nothing has moved since.
func (s step) do(ctx context.Context, w *Workspace) (r Result, err error) {
	switch {
	case s.delete:
		return w.Delete(ctx, s.given)
	case s.open != nil:
		r, err = w.applied(ctx, s.file.name, s.open.version, s.open.before, s.open.after, s.notes)
	case s.data != nil || s.to == "":
		var c Change
		c, err = w.replace(s.file, s.data)
		r = w.result(c, s.file.data, s.data, s.notes)
	default:
		r.Notes = s.notes
	}
	if err != nil || s.to == "" {
		return r, err
	}
	moved, err := w.Move(ctx, s.given, s.to)
	r.Changes = append(r.Changes, moved.Changes...)
	return r, err
}

// joined are changes with those of one path made one: what stood there first, and what stands
// there last.
func joined(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		i := slices.IndexFunc(out, func(o Change) bool { return o.Path == c.Path })
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].After = c.After
	}
	return out
}

// takeBack undoes the changes of a patch that could not be finished, and the folders made for it.
func (w *Workspace) takeBack(ctx context.Context, done []Change, folders []string, cause error) (Result, error) {
	newest := slices.Clone(done)
	slices.Reverse(newest)
	back, err := w.Revert(context.WithoutCancel(ctx), newest, false)
	for _, dir := range slices.Backward(folders) {
		_ = w.root.Remove(dir) // one that holds anything stays
	}
	var r Result
	for _, c := range joined(done) {
		if slices.ContainsFunc(back.Files, func(f RevertedFile) bool { return f.Path == c.Path && f.Status != "conflict" }) {
			continue
		}
		r.Changes = append(r.Changes, c)
	}
	switch {
	case err != nil || len(r.Changes) > 0:
		left := strings.Join(pathsOf(r.Changes), ", ")
		return r, errors.Join(fmt.Errorf("%w; what the patch had changed before could not all be taken back, look at %s: %s", cause, left, strings.Join(back.Conflicts, "; ")), err)
	case len(done) > 0:
		return r, fmt.Errorf("%w; what the patch had changed before (%s) was taken back, so nothing is changed", cause, strings.Join(pathsOf(done), ", "))
	}
	return r, fmt.Errorf("%w; nothing was changed", cause)
}

// unmade are the folders that a step will make, the outermost first.
func (w *Workspace) unmade(s step) []string {
	var dirs []string
	target := s.file.name
	if s.to != "" {
		target, _ = w.name(s.to) // it was looked at
	}
	for dir := path.Dir(target); dir != "."; dir = path.Dir(dir) {
		if _, err := w.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}
