package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Bounds of one read.
const (
	maxLines = 2_000
	maxText  = 64 << 10
	maxApart = 8 << 10
)

// Text is a part of a file: the lines First to Last of Total, counted from 1. All are 0 for
// an empty file. Text has the file's own blanks, "\n" as line ends, and no byte order mark.
// Note says in a sentence what was cut or converted.
type Text = struct {
	Text               string
	First, Last, Total int
	Note               string
}

// Read gives the lines first to last of a file, both counted from 1; 0 means from the start,
// or to the end. One call gives at most 2,000 lines and 64 kB. An open document is read from
// its editor. What was read counts as seen by the agent.
func (w *Workspace) Read(given string, first, last int) (Text, error) {
	name, err := w.name(given)
	if err != nil {
		return Text{}, err
	}
	if text, open := w.openText(name); open {
		w.remember(name, &Image{Digest: Digest([]byte(text))})
		return part(given, text, first, last, join("This is the text in the editor, which may be unsaved.", w.apartNote(name, text)))
	}
	f, err := w.load(name)
	if err != nil {
		return Text{}, err
	}
	if f.image == nil {
		return Text{}, w.missing(given)
	}
	text, note, err := f.legible(given)
	if err != nil {
		return Text{}, err
	}
	w.remember(f.name, f.image)
	return part(given, text, first, last, note)
}

// apartNote says that a document and its file were both changed since they were the same, and how
// they differ: none of the two may be taken for the whole truth.
func (w *Workspace) apartNote(name, text string) string {
	real, err := w.resolve(name)
	if err != nil {
		return ""
	}
	base, known := w.buffers.Base(real)
	disk, err := w.load(real)
	if !known || err != nil || disk.holds(base) || disk.holds(text) {
		return ""
	}
	what := bounded(diff(real, []byte(text), disk.data), maxApart)
	return "A conflict: the file on disk was changed too, since the editor read it. Ask the developer which text holds before you build on it. From the editor's text to that on disk:\n" + what
}

// openText is the text of the document that is open at a name, with its links followed.
func (w *Workspace) openText(name string) (string, bool) {
	real, err := w.resolve(name)
	if err != nil {
		return "", false
	}
	text, _, open := w.buffer(real)
	return text, open
}

// legible gives the text of a file with what there is to say of its encoding.
func (f *file) legible(given string) (text, note string, err error) {
	d, err := decode(f.data)
	switch {
	case errors.Is(err, errUTF16):
		return decodeUTF16(f.data), "The file is UTF-16: it is shown converted and cannot be edited as text.", nil
	case err != nil:
		return "", "", fmt.Errorf("%s %w (%d bytes): it cannot be read here; use a command that knows its format", given, err, len(f.data))
	case d.latin1:
		return d.text, "The file is Latin-1, not UTF-8: edits keep its encoding.", nil
	case !utf8.ValidString(d.text):
		return strings.ToValidUTF8(d.text, "\ufffd"), "Some bytes of the file are no UTF-8 and are shown as \ufffd: lines with them cannot be matched by an edit.", nil
	}
	return d.text, "", nil
}

// part cuts the lines wanted out of a text, within the bounds of a read.
func part(given, text string, first, last int, note string) (Text, error) {
	lines := split(text, isOldMac(text))
	first = max(first, 1)
	if last <= 0 || last > len(lines) {
		last = len(lines)
	}
	if len(lines) == 0 {
		return Text{Note: note}, nil
	}
	if first > last {
		return Text{}, fmt.Errorf("%s has %d lines: there is nothing from line %d to line %d", given, len(lines), first, last)
	}
	body, shown := fill(lines[first-1 : last])
	if shown == 0 {
		long := lines[first-1].text
		body, shown = strings.ToValidUTF8(long[:maxText-1], ""), 1
		note = join(note, fmt.Sprintf("Line %d has %d bytes; it was cut after %d. A command shows more of it: sed -n %dp FILE | tail -c +%d | head -c 60000", first, len(long), len(body), first, len(body)+1))
	}
	end := first + shown - 1
	if end < last {
		note = join(note, fmt.Sprintf("Cut here: go on with start_line %d.", end+1))
	}
	return Text{Text: body, First: first, Last: end, Total: len(lines), Note: note}, nil
}

// fill joins as many lines as the bounds of a read take.
func fill(lines []line) (text string, n int) {
	var b strings.Builder
	for _, l := range lines[:min(len(lines), maxLines)] {
		if b.Len()+len(l.text) >= maxText {
			break
		}
		b.WriteString(l.text)
		if l.end != "" {
			b.WriteByte('\n')
		}
		n++
	}
	return b.String(), n
}

func join(a, b string) string { return strings.TrimSpace(a + " " + b) }

// Instructions are words of the developer to any agent that works below a folder.
type Instructions = struct{ Path, Text string }

const (
	instructionsFile = "AGENTS.md"
	maxInstructions  = 32 << 10
)

// Instructions gives the AGENTS.md files that hold for a folder, the nearest first, up to
// the workspace's own. Each is bounded to 32 kB, and says so where it was cut. One that
// cannot be read is an error, since unread instructions would be broken unknowingly.
func (w *Workspace) Instructions(ctx context.Context, dir string) ([]Instructions, error) {
	name, err := w.name(dir)
	if err != nil {
		return nil, err
	}
	if info, err := w.root.Stat(name); err == nil && !info.IsDir() {
		name = path.Dir(name)
	}
	var all []Instructions
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := path.Join(name, instructionsFile)
		f, err := w.load(at)
		if err != nil {
			return nil, fmt.Errorf("read instructions: %w", err)
		}
		if f.image != nil && w.holdsSecrets(f.name) {
			return nil, fmt.Errorf("read instructions: %s is a link to %s, which holds secrets: put a file there that may be read", at, f.name)
		}
		if f.image != nil {
			text, _, err := f.legible(at)
			if err != nil {
				return nil, fmt.Errorf("read instructions: %w", err)
			}
			all = append(all, Instructions{Path: at, Text: bounded(text, maxInstructions)})
		}
		if name == "." {
			return all, nil
		}
		name = path.Dir(name)
	}
}

// bounded cuts a text at a line's end.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := strings.LastIndexByte(text[:most], '\n') + 1
	if cut == 0 {
		cut = most
	}
	return fmt.Sprintf("%s(… %d bytes more were cut)\n", strings.ToValidUTF8(text[:cut], ""), len(text)-cut)
}
