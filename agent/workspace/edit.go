package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Edit applies all the edits to one file, or none. Each is matched against the text as it
// stands before the call, so their order does not matter, and two that overlap are refused.
// A single edit with an empty Old fills a file that is missing or empty. The errors are
// sentences that show what would have matched.
func (w *Workspace) Edit(ctx context.Context, path string, edits []Edit) (Result, error) {
	name, err := w.agents(path, true)
	if err != nil {
		return Result{}, err
	}
	if len(edits) == 0 {
		return Result{}, fmt.Errorf("edit %s: no edits were given: give at least one pair of old and new", path)
	}
	if text, version, open := w.buffer(name); open {
		after, notes, err := rewrite(text, edits)
		if err != nil {
			return Result{}, fmt.Errorf("edit %s (open in the editor): %w", path, err)
		}
		return w.applied(ctx, name, version, text, after, notes)
	}
	f, err := w.load(name)
	if err != nil {
		return Result{}, err
	}
	if f.image == nil && !creates(edits) {
		return Result{}, w.missing(path)
	}
	if err := w.fresh(f); err != nil {
		return Result{}, err
	}
	data, notes, err := f.edited(edits)
	if err != nil {
		return Result{}, fmt.Errorf("edit %s: %w", path, err)
	}
	change, err := w.replace(f, data)
	return w.result(change, f.data, data, notes), err
}

// creates tells whether edits are the one form that makes a file.
func creates(edits []Edit) bool {
	return len(edits) == 1 && edits[0].Old == "" && edits[0].New != ""
}

// edited gives the file's bytes after the edits.
func (f *file) edited(edits []Edit) ([]byte, []string, error) {
	d, err := decode(f.data)
	if err != nil {
		return nil, nil, fmt.Errorf("the file %w: a text edit would damage it; use a command that knows its format", err)
	}
	after, notes, err := rewrite(d.text, edits)
	if err != nil {
		return nil, nil, err
	}
	d.text = after
	data, err := d.encode()
	if err != nil {
		return nil, nil, fmt.Errorf("the file %w: keep to what it can hold", err)
	}
	return data, notes, nil
}

// rewrite applies edits to a text.
func rewrite(raw string, edits []Edit) (string, []string, error) {
	if raw == "" && creates(edits) {
		return edits[0].New, nil, hides("", edits[0].New)
	}
	t := newText(raw)
	var spans []span
	var notes []string
	for i, e := range edits {
		if old, marked := strings.CutPrefix(e.Old, bom); marked {
			e.Old, e.New = old, strings.TrimPrefix(e.New, bom)
		}
		found, err := t.locate(e)
		if err == nil {
			err = hides(raw, e.New)
		}
		if err != nil {
			return "", nil, numberedError(i, edits, t, err)
		}
		if found[0].how != "" {
			notes = append(notes, fmt.Sprintf("The old text at line %d was matched %s.", t.number(found[0].start), found[0].how))
		}
		spans = append(spans, found...)
	}
	after, err := t.splice(spans)
	if err == nil && after == raw {
		err = errors.New("the file already reads so: nothing would change")
	}
	return after, notes, err
}

// numberedError says which of several edits was refused, and whether it hopes for the text
// of an earlier one.
func numberedError(i int, edits []Edit, t *text, err error) error {
	if len(edits) == 1 {
		return err
	}
	hint := ""
	for j, e := range edits[:i] {
		if old := lf(edits[i].Old); strings.Contains(lf(e.New), old) && !strings.Contains(t.raw, old) {
			hint = fmt.Sprintf(" (edit %d writes such a text, but all edits match the file as it was: join the two)", j+1)
		}
	}
	return fmt.Errorf("edit %d of %d is refused, so none was applied: %w%s", i+1, len(edits), err, hint)
}

// splice replaces all spans at once.
func (t *text) splice(spans []span) (string, error) {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.start < at {
			return "", fmt.Errorf("two edits overlap at line %d: join them into one", t.number(s.start))
		}
		b.WriteString(t.raw[at:s.start])
		b.WriteString(s.with)
		at = s.end
	}
	b.WriteString(t.raw[at:])
	return b.String(), nil
}

func (w *Workspace) result(c Change, before, after []byte, notes []string) Result {
	if c.Path == "" {
		return Result{}
	}
	return Result{Changes: []Change{c}, Diff: diff(c.Path, before, after), Notes: notes}
}

// diff shows a change as text, line by line, whatever the line ends and the encoding; it is
// "" when only those changed.
func diff(name string, before, after []byte) string {
	return udiff.Unified(name, name, shown(before), shown(after))
}

// shown is a content as a reader sees it.
func shown(data []byte) string {
	d, err := decode(data)
	if errors.Is(err, errUTF16) {
		return decodeUTF16(data)
	}
	if err != nil {
		return fmt.Sprintf("(binary, %d bytes)\n", len(data))
	}
	return strings.ToValidUTF8(lf(d.text), "\ufffd")
}
