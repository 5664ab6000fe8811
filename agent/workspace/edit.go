package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"tandem/agent/patch"
)

// Edit applies all the edits to one file, or none. Each is matched against the text as it
// stands before the call, so their order does not matter, and two that overlap are refused.
// A single edit with an empty Old fills a file that is missing or empty. The errors are
// sentences that show what would have matched.
func (w *Workspace) Edit(ctx context.Context, path string, edits []Edit) (Result, error) {
	s, err := w.update(patch.File{Path: path, Edits: edits})
	if err != nil {
		return Result{}, err
	}
	return s.do(ctx, w)
}

// creates tells whether edits are the one form that makes a file.
func creates(edits []Edit) bool {
	return len(edits) == 1 && edits[0].Old == "" && edits[0].New != ""
}

// edited gives the file's bytes after its text was rewritten.
func (f *file) edited(rewrite func(raw string) (string, []string, error)) ([]byte, []string, error) {
	d, err := decode(f.data)
	if err != nil {
		return nil, nil, fmt.Errorf("the file %w: a text edit would damage it; use a command that knows its format", err)
	}
	after, notes, err := rewrite(d.text)
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
		notes = append(notes, howNotes(t, found[0])...)
		spans = append(spans, found...)
	}
	after, err := t.splice(spans)
	if err == nil && after == raw {
		err = errors.New("the file already reads so: nothing would change")
	}
	return after, notes, err
}

// howNotes tells of a match that was not byte by byte.
func howNotes(t *text, s span) []string {
	if s.how == "" {
		return nil
	}
	return []string{fmt.Sprintf("The old text at line %d was matched %s.", t.number(s.start), s.how)}
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
