package workspace

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Bounds of what a conflict shows: places, lines of each side at a place, characters of a line.
const (
	shownClashes   = 3
	shownSideLines = 6
	shownSideWidth = 160
)

// clash is why a path cannot be taken back, with both sides.
type clash struct {
	why   string
	sides []sides
}

// sides are a place as it stands, from a line on that counts from 1, and as a revert would have it.
type sides struct {
	line        int
	now, before string
}

// Error is a sentence, and under it the lines of both sides.
func (c *clash) Error() string {
	var b strings.Builder
	b.WriteString(c.why)
	for _, s := range c.sides[:min(len(c.sides), shownClashes)] {
		fmt.Fprintf(&b, "\n  as it stands%s:%s\n  as the revert would have it:%s", atLine(s.line), side(s.now), side(s.before))
	}
	if more := len(c.sides) - shownClashes; more > 0 {
		fmt.Fprintf(&b, "\n  and so at %d more places", more)
	}
	return b.String()
}

func atLine(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", from line %d", n)
}

// side shows the lines of one side, each behind a bar, so that nothing in them is taken for a word of
// ours.
func side(text string) string {
	if text == "" {
		return " nothing"
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	var b strings.Builder
	for _, l := range lines[:min(len(lines), shownSideLines)] {
		if r := []rune(l); len(r) > shownSideWidth {
			l = string(r[:shownSideWidth]) + "…"
		}
		b.WriteString("\n    | " + l)
	}
	if more := len(lines) - shownSideLines; more > 0 {
		fmt.Fprintf(&b, "\n    | … and %d more lines", more)
	}
	return b.String()
}

// clashOf compares two whole forms.
func (w *Workspace) clashOf(why string, now, before form) error {
	a, plainA := now.text()
	b, plainB := before.text()
	if !plainA || !plainB || now.image == nil || before.image == nil {
		return &clash{why, []sides{{0, w.clean(now.shown()), w.clean(before.shown())}}}
	}
	a, b = w.clean(a), w.clean(b)
	c := &clash{why: why}
	for _, e := range udiff.Lines(a, b) {
		c.sides = append(c.sides, sides{1 + strings.Count(a[:e.Start], "\n"), a[e.Start:e.End], e.New})
	}
	return c
}

// overlap shows where two changes of a text meet. It is made of whole texts without what may not be
// shown: a part of that cannot be told from anything else.
func (w *Workspace) overlap(t texts) error {
	base := w.clean(t.base)
	return &clash{"what others changed since stands in the same lines; it stays as it is",
		overlaps(base, udiff.Lines(base, w.clean(t.now)), udiff.Lines(base, w.clean(t.before)))}
}

// text is what a form reads like; nothing is an empty text, and a link or a folder is none.
func (f form) text() (string, bool) {
	if f.folder || f.link() {
		return "", false
	}
	return TextOf(f.data)
}

// shown is a form as one side of a conflict.
func (f form) shown() string {
	text, plain := f.text()
	switch {
	case f.folder:
		return "(a folder)"
	case f.image == nil:
		return "(no file)"
	case f.link():
		return "(a link to " + f.image.Link + ")"
	case !plain:
		return fmt.Sprintf("(no text, %d bytes)", len(f.data))
	case text == "":
		return "(an empty file)"
	}
	return text
}

// overlaps are the places of a text at which two lists of edits meet and differ.
func overlaps(base string, now, before []udiff.Edit) []sides {
	var out []sides
	grown := 0 // lines, by the edits of now that are behind
	grow := func(e udiff.Edit) { grown += strings.Count(e.New, "\n") - strings.Count(base[e.Start:e.End], "\n") }
	for i, j := 0, 0; i < len(now) && j < len(before); {
		switch {
		case now[i].End < before[j].Start:
			grow(now[i])
			i++
			continue
		case before[j].End < now[i].Start:
			j++
			continue
		}
		start := min(now[i].Start, before[j].Start)
		n, m, end := meeting(now, before, i, j)
		s := sides{1 + strings.Count(base[:start], "\n") + grown, edited(base, start, end, now[i:n]), edited(base, start, end, before[j:m])}
		if s.now != s.before {
			out = append(out, s)
		}
		for ; i < n; i++ {
			grow(now[i])
		}
		j = m
	}
	return out
}

// meeting is how far the edits go that hang together with two that meet.
func meeting(now, before []udiff.Edit, i, j int) (n, m, end int) {
	end = max(now[i].End, before[j].End)
	for n, m = i+1, j+1; ; {
		switch {
		case n < len(now) && now[n].Start <= end:
			end = max(end, now[n].End)
			n++
		case m < len(before) && before[m].Start <= end:
			end = max(end, before[m].End)
			m++
		default:
			return n, m, end
		}
	}
}

// edited is a part of a text with edits made in it.
func edited(base string, start, end int, edits []udiff.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		b.WriteString(base[start:e.Start] + e.New)
		start = e.End
	}
	return b.String() + base[start:end]
}
