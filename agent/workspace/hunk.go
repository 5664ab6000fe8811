package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/agent/patch"
)

// The hunks of a patch are found by their lines, in the tiers of edits, but always as whole
// lines. Between several places only what the patch says besides can choose: lines that it names
// as standing before, the end of the file, and numbers, where nothing speaks against them.

// rewriteHunks applies hunks to a text.
func rewriteHunks(raw string, hunks []patch.Hunk) (string, []string, error) {
	if raw == "" && fills(hunks) {
		return hunks[0].New, nil, hides("", hunks[0].New)
	}
	t := newText(raw)
	var spans []span
	var notes []string
	for i, h := range hunks {
		s, err := t.place(h)
		if err == nil {
			err = hides(raw, h.New)
		}
		if err != nil && len(hunks) > 1 {
			err = fmt.Errorf("hunk %d of %d is refused, so none was applied: %w", i+1, len(hunks), err)
		}
		if err != nil {
			return "", nil, err
		}
		notes = append(notes, howNotes(t, s)...)
		spans = append(spans, t.narrow(s))
	}
	after, err := t.splice(spans)
	if err == nil && after == raw {
		err = errors.New("the file already reads so: nothing would change")
	}
	return after, notes, err
}

// fills tells whether hunks are the one form that fills an empty file, or makes it.
func fills(hunks []patch.Hunk) bool {
	return len(hunks) == 1 && hunks[0].Old == "" && len(hunks[0].Anchors) == 0
}

// place finds the one place of a hunk, or refuses.
func (t *text) place(h patch.Hunk) (span, error) {
	if err := elides(h.Old, h.New, t.raw); err != nil {
		return span{}, err
	}
	if h.Old == "" {
		return t.insertion(h)
	}
	h = t.closed(h)
	found := t.wholeLines(h.Old, h.New)
	if len(found) == 0 {
		return span{}, t.notFound(h.Old, h.New)
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(s span) bool { return h.AtEnd && !t.reachesEnd(s) })
	if len(fit) == 0 {
		return span{}, fmt.Errorf("the patch says that the old text reaches the end of the file, but it stands at line %d and the file goes on", t.number(found[0].start))
	}
	if len(h.Anchors) > 0 {
		return t.behind(h.Anchors, fit)
	}
	if i := slices.IndexFunc(fit, func(s span) bool { return t.believes(h, s) }); i >= 0 {
		return fit[i], nil
	}
	if len(fit) > 1 {
		return span{}, t.ambiguous(fit, moreLines)
	}
	return fit[0], nil
}

// wholeLines finds the places of lines in the first tier that has any.
func (t *text) wholeLines(old, repl string) []span {
	for _, tier := range tiers {
		if found := tier.find(t, old, repl); len(found) > 0 {
			for i := range found {
				found[i].how = tier.name
			}
			return found
		}
		if strings.TrimSpace(old) == "" {
			break
		}
	}
	return nil
}

// fullContext is how many lines a tool that makes diffs shows on either side of a change.
const fullContext = 3

// believes tells whether the numbers of a hunk say that it belongs where it was found. Models guess
// them, so they count only with all that they come with from a tool: the lines exactly, and the
// whole context or the edge of the file on both sides.
func (t *text) believes(h patch.Hunk, s span) bool {
	return h.Line > 0 && s.how == "" && t.number(s.start) == h.Line &&
		(h.Before >= fullContext || s.start == 0) && (h.After >= fullContext || t.reachesEnd(s))
}

// reachesEnd says that nothing but the end of a line stands behind a span.
func (t *text) reachesEnd(s span) bool {
	return len(t.lines) == 0 || s.end >= len(t.raw)-len(t.lines[len(t.lines)-1].end)
}

// closed is a hunk that says that its file has no final newline, as it is for one that has: that
// stays as it is, unless the patch takes the newline away.
func (t *text) closed(h patch.Hunk) patch.Hunk {
	if strings.HasSuffix(h.Old, "\n") || len(t.lines) == 0 || t.lines[len(t.lines)-1].end == "" {
		return h
	}
	if h.Old += "\n"; !strings.HasSuffix(h.New, "\n") && h.New != "" {
		h.New += "\n"
	}
	return h
}

// insertion is the place of a hunk that only adds lines: right behind the lines that it names, or
// at the end of the file where it says so.
func (t *text) insertion(h patch.Hunk) (span, error) {
	if h.AtEnd && len(h.Anchors) == 0 {
		return t.added(len(t.lines), h.New), nil
	}
	ends := t.anchored(h.Anchors)
	if len(h.Anchors) == 0 {
		return span{}, errors.New("the hunk only adds lines and does not say where: give lines before or behind them as context")
	}
	switch len(ends) {
	case 0:
		return span{}, t.noAnchor(h.Anchors)
	case 1:
		return t.added(ends[0].next, h.New), nil
	}
	return span{}, fmt.Errorf("the lines behind @@ stand there %d times: give lines before or behind the new ones as context", len(ends))
}

// added is the span that puts lines before the i-th. Behind a last line that is not ended they
// begin a new one, and are not ended either.
func (t *text) added(i int, lines string) span {
	with := withEnds(lines, t.end)
	if i < len(t.lines) {
		return span{start: t.lines[i].at, end: t.lines[i].at, with: with}
	}
	if n := len(t.lines); n > 0 && t.lines[n-1].end == "" {
		with = t.end + strings.TrimSuffix(with, t.end)
	}
	return span{start: len(t.raw), end: len(t.raw), with: with}
}

// stretch is what a line that is named as an anchor stands for: the lines from next on, and before
// end, which are indented deeper than it.
type stretch struct{ next, end int }

// anchored gives the stretch behind each run of anchors in the text, each anchor within that of
// the one before. Without anchors it is nothing.
func (t *text) anchored(anchors []string) []stretch {
	within := []stretch{{0, len(t.lines)}}
	for _, a := range anchors {
		var next []stretch
		for _, s := range within {
			for i := s.next; i < s.end; i++ {
				if at := (stretch{i + 1, t.blockEnd(i)}); plain(strings.TrimSpace(t.lines[i].text)) == plain(strings.TrimSpace(a)) && !slices.Contains(next, at) {
					next = append(next, at)
				}
			}
		}
		within = next
	}
	return within
}

// blockEnd is the first line behind the i-th that is neither blank nor indented deeper.
func (t *text) blockEnd(i int) int {
	deep := depth(t.lines[i].text)
	for j := i + 1; j < len(t.lines); j++ {
		if l := t.lines[j].text; strings.TrimSpace(l) != "" && depth(l) <= deep && !strings.ContainsRune("})]", rune(strings.TrimSpace(l)[0])) {
			return j
		}
	}
	return len(t.lines)
}

func depth(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }

// behind chooses the place that stands behind the anchors: the only one there is, if it does, else
// the only one in a stretch of theirs.
func (t *text) behind(anchors []string, found []span) (span, error) {
	stretches := t.anchored(anchors)
	if len(stretches) == 0 {
		return span{}, t.noAnchor(anchors)
	}
	if len(found) == 1 {
		if i := t.number(found[0].start) - 1; !slices.ContainsFunc(stretches, func(s stretch) bool { return i >= s.next-1 }) {
			return span{}, fmt.Errorf("the old text stands at line %d, which is before %q: give the right line behind @@, or none", i+1, anchors[len(anchors)-1])
		}
		return found[0], nil
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(s span) bool {
		i := t.number(s.start) - 1
		return !slices.ContainsFunc(stretches, func(a stretch) bool { return i >= a.next-1 && i < a.end })
	})
	if len(fit) == 1 {
		return fit[0], nil
	}
	return span{}, t.ambiguous(found, moreLines)
}

func (t *text) noAnchor(anchors []string) error {
	return fmt.Errorf("no line of the file is %q, which the patch gives behind @@: give a line as it stands in the file, or context", strings.Join(anchors, `" followed by "`))
}

// narrow takes the lines that stay off both ends of a span, so that hunks whose context overlaps
// are no clash.
func (t *text) narrow(s span) span {
	was, now := split(t.raw[s.start:s.end], t.mac), split(s.with, t.mac)
	same := func(a, b line) bool { return a.text == b.text && a.end == b.end }
	for len(was) > 0 && len(now) > 0 && same(was[0], now[0]) {
		n := len(was[0].text) + len(was[0].end)
		s.start, s.with = s.start+n, s.with[n:]
		was, now = was[1:], now[1:]
	}
	for len(was) > 0 && len(now) > 0 && same(was[len(was)-1], now[len(now)-1]) {
		n := len(was[len(was)-1].text) + len(was[len(was)-1].end)
		s.end, s.with = s.end-n, s.with[:len(s.with)-n]
		was, now = was[:len(was)-1], now[:len(now)-1]
	}
	return s
}
