package workspace

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// span is a stretch of a text and what shall stand there instead.
type span struct {
	start, end int
	with       string
	how        string
}

// text is a document cut into lines once, for all the edits of a call.
type text struct {
	raw   string
	lines []line
	end   string
	mac   bool
}

func newText(raw string) *text {
	t := &text{raw: raw, mac: isOldMac(raw)}
	t.lines = split(raw, t.mac)
	t.end = lineEnd(t.lines)
	return t
}

// number is the number, counted from 1, of the line that holds an offset.
func (t *text) number(at int) int {
	lo, hi := 0, len(t.lines)
	for lo < hi {
		if mid := (lo + hi) / 2; t.lines[mid].at <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return max(lo, 1)
}

// locate finds where an edit belongs. Each tier is tried only when those before it found
// nothing, and none of them chooses between places.
func (t *text) locate(e Edit) ([]span, error) {
	old, repl := lf(e.Old), lf(e.New)
	if old == repl {
		return nil, fmt.Errorf("old and new are equal, so nothing would change (line ends are always kept)")
	}
	if old == "" {
		return nil, fmt.Errorf("old is empty and the file has text: give the text that new shall replace, or use write_file for the whole file")
	}
	if err := elides(old, repl, t.raw); err != nil {
		return nil, err
	}
	found := t.exact(old, repl)
	for _, tier := range tiers {
		if len(found) > 0 || strings.TrimSpace(old) == "" {
			break
		}
		found = tier.find(t, old, repl)
		for i := range found {
			found[i].how = tier.name
		}
	}
	switch {
	case len(found) == 0:
		return nil, t.notFound(old, repl)
	case e.ReplaceAll:
		return apart(found), nil
	case len(found) > 1:
		return nil, t.ambiguous(found, moreLines+", or set replace_all")
	}
	return found, nil
}

const moreLines = "give more of the lines around it so that only one place matches"

// apart are the places that do not overlap one before them.
func apart(found []span) []span {
	end := 0
	return slices.DeleteFunc(found, func(s span) bool {
		if s.start < end {
			return true
		}
		end = s.end
		return false
	})
}

// exact finds the text as it stands, but for line ends. Text that ends a line is meant as
// whole lines where only one place has them so.
func (t *text) exact(old, repl string) []span {
	view, offset := t.unix()
	var found, whole []span
	for at := 0; ; {
		i := strings.Index(view[at:], old)
		if i < 0 {
			break
		}
		start := at + i
		at = start + 1 // places that overlap are several, too
		s := t.weave(offset(start), offset(start+len(old)), old, repl, nil)
		found = append(found, s)
		if start == 0 || view[start-1] == '\n' {
			whole = append(whole, s)
		}
	}
	if len(found) > 1 && len(whole) == 1 && strings.HasSuffix(old, "\n") {
		return whole
	}
	return found
}

// unix is the text with line feeds as its only line ends, and the way back from an offset
// in it to one in the raw text.
func (t *text) unix() (string, func(int) int) {
	if !strings.ContainsRune(t.raw, '\r') {
		return t.raw, func(at int) int { return at }
	}
	var b strings.Builder
	starts := make([]int, len(t.lines))
	for i, l := range t.lines {
		starts[i] = b.Len()
		b.WriteString(l.text)
		if l.end != "" {
			b.WriteByte('\n')
		}
	}
	view := b.String()
	return view, func(at int) int {
		lo, hi := 0, len(starts)
		for lo < hi {
			if mid := (lo + hi) / 2; starts[mid] <= at {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if at == len(view) {
			return len(t.raw)
		}
		return t.lines[lo-1].at + at - starts[lo-1]
	}
}

// tier is one way to match whole lines that are not there byte by byte.
type tier struct {
	name string
	find func(t *text, old, repl string) []span
}

// The order is from what differs least. Each keeps the bytes of lines that the edit repeats.
var tiers = []tier{
	{"", func(t *text, old, repl string) []span { return t.equal(old, repl, same) }},
	{"ignoring trailing blanks", func(t *text, old, repl string) []span { return t.equal(old, repl, bare) }},
	{"ignoring typographic quotes, dashes and blanks", func(t *text, old, repl string) []span { return t.equal(old, repl, plain) }},
	{"with tabs and blanks exchanged at the start of lines", (*text).tabbed},
	{"with the indentation shifted", (*text).shifted},
	{"without line numbers at the start of lines", (*text).numbered},
	{"with HTML entities resolved", (*text).entities},
}

func same(s string) string { return s }

func bare(s string) string { return strings.TrimRight(s, " \t") }

var typographic = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`,
	"\u2013", "-", "\u2014", "-", "\u00a0", " ")

func plain(s string) string { return bare(norm.NFC.String(typographic.Replace(s))) }

// contents are the lines of a model's text, and whether the last one is ended.
func contents(s string) (lines []string, ended bool) {
	s, ended = strings.CutSuffix(s, "\n")
	return strings.Split(s, "\n"), ended
}

// runs gives the index of each run of lines that are those wanted under key. It looks at each line once, however
// much of a run is repeated (Knuth, Morris and Pratt).
func (t *text) runs(want []string, key func(string) string) []int {
	keys := make([]string, len(want))
	for j, w := range want {
		keys[j] = key(w)
	}
	back := make([]int, len(keys)) // how much of the beginning also stands before each place
	for j, n := 1, 0; j < len(keys); j++ {
		for n > 0 && keys[j] != keys[n] {
			n = back[n-1]
		}
		if keys[j] == keys[n] {
			n++
		}
		back[j] = n
	}
	var at []int
	n := 0
	for i, l := range t.lines {
		got := key(l.text)
		for n == len(keys) || n > 0 && got != keys[n] {
			n = back[n-1]
		}
		if got == keys[n] {
			n++
		}
		if n == len(keys) {
			at = append(at, i+1-n)
		}
	}
	return at
}

// equal finds the lines of old where they are the same under key.
func (t *text) equal(old, repl string, key func(string) string) []span {
	want, _ := contents(old)
	var found []span
	for _, i := range t.runs(want, key) {
		found = append(found, t.whole(i, old, repl, nil))
	}
	return found
}

// whole makes the span of the lines from i on that old describes.
func (t *text) whole(i int, old, repl string, fix func(string) string) span {
	want, ended := contents(old)
	first, last := t.lines[i], t.lines[i+len(want)-1]
	end := last.at + len(last.text)
	switch {
	case ended && last.end != "":
		end += len(last.end)
	case ended:
		old, repl = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(repl, "\n")
	}
	return t.weave(first.at, end, old, repl, fix)
}

// weave makes the span that puts repl where old stands between two offsets. Lines that repl
// repeats keep their bytes; the others are fixed, and get the line ends of those that they
// replace, or else the document's.
func (t *text) weave(start, end int, old, repl string, fix func(string) string) span {
	segment := split(t.raw[start:end], t.mac)
	if strings.HasSuffix(old, "\n") {
		segment = append(segment, line{})
	}
	lines := strings.Split(repl, "\n")
	kept := align(strings.Split(old, "\n"), lines)
	fallback := t.end
	if l := t.lines[t.number(start)-1]; l.end != "" {
		fallback = l.end
	}
	ends := endings(segment, kept, fallback)
	var b strings.Builder
	for j, l := range lines {
		if k := kept[j]; k >= 0 && k < len(segment) {
			l = segment[k].text
		} else if fix != nil {
			l = fix(l)
		}
		b.WriteString(l)
		if j < len(lines)-1 {
			b.WriteString(ends[j])
		}
	}
	return span{start: start, end: end, with: b.String()}
}

// endings chooses the end of each new line: its own where it stays, that of the old line
// which it replaces, or the fallback.
func endings(segment []line, kept []int, fallback string) []string {
	stays := map[int]bool{}
	for _, k := range kept {
		stays[k] = true
	}
	ends := make([]string, len(kept))
	next := 0
	for j, k := range kept {
		switch {
		case k >= 0:
			next = k
		case stays[next]:
			next, k = next-1, len(segment)
		default:
			k = next
		}
		next++
		ends[j] = fallback
		if k < len(segment) && segment[k].end != "" {
			ends[j] = segment[k].end
		}
	}
	return ends
}

// align gives, for each new line, the old line that it repeats, or -1: from the front, from
// the back, and in order between.
func align(old, lines []string) []int {
	kept := make([]int, len(lines))
	for i := range kept {
		kept[i] = -1
	}
	front := 0
	for front < min(len(old), len(lines)) && old[front] == lines[front] {
		kept[front] = front
		front++
	}
	back := 0
	for back < min(len(old), len(lines))-front && old[len(old)-1-back] == lines[len(lines)-1-back] {
		kept[len(lines)-1-back] = len(old) - 1 - back
		back++
	}
	for k, j := front, front; j < len(lines)-back; j++ {
		for i := k; i < len(old)-back; i++ {
			if old[i] == lines[j] {
				kept[j], k = i, i+1
				break
			}
		}
	}
	return kept
}

// tabbed matches where the model gave blanks and the file has tabs, or the other way round;
// the indentation may be shifted besides.
func (t *text) tabbed(old, repl string) []span {
	for _, find := range []func(old, repl string) []span{
		func(old, repl string) []span { return t.equal(old, repl, plain) },
		t.shifted,
	} {
		for _, convert := range []func(string, int) string{tabify, untabify} {
			for _, width := range []int{4, 2, 8} {
				as := func(s string) string { return convert(s, width) }
				if o := eachLine(old, as); o != old {
					if found := find(o, eachLine(repl, as)); len(found) > 0 {
						return found
					}
				}
			}
		}
	}
	return nil
}

func tabify(s string, width int) string {
	body := strings.TrimLeft(s, " ")
	n := len(s) - len(body)
	return strings.Repeat("\t", n/width) + strings.Repeat(" ", n%width) + body
}

func untabify(s string, width int) string {
	body := strings.TrimLeft(s, "\t")
	return strings.Repeat(" ", width*(len(s)-len(body))) + body
}

func eachLine(s string, f func(string) string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return strings.Join(lines, "\n")
}

// shifted matches where all lines of the file are indented more, or all less, than the
// model's, by the same blanks; the new lines are shifted alike.
func (t *text) shifted(old, repl string) []span {
	want, _ := contents(old)
	var found []span
	for _, i := range t.runs(want, func(l string) string { return strings.TrimLeft(plain(l), " \t") }) {
		s := shift(t.lines[i:i+len(want)], want)
		if s != nil && s.fits(repl) {
			found = append(found, t.whole(i, old, repl, s.move))
		}
	}
	return found
}

// indent is a difference of indentation: blanks to put before each line, or to take off.
type indent struct{ add, drop string }

func (n *indent) move(s string) string {
	if strings.TrimSpace(s) == "" {
		return s
	}
	return n.add + strings.TrimPrefix(s, n.drop)
}

// fits tells whether every line has the blanks that would be taken off.
func (n *indent) fits(s string) bool {
	for l := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, n.drop) {
			return false
		}
	}
	return true
}

// shift finds the one difference of indentation between lines and what is wanted, or nil.
func shift(lines []line, want []string) *indent {
	var s *indent
	for j, w := range want {
		got := plain(lines[j].text)
		w = plain(w)
		body := strings.TrimLeft(w, " \t")
		if body != strings.TrimLeft(got, " \t") {
			return nil
		}
		if body == "" {
			continue
		}
		next := between(got[:len(got)-len(body)], w[:len(w)-len(body)])
		if next == nil || s != nil && *s != *next {
			return nil
		}
		s = next
	}
	return s
}

func between(got, want string) *indent {
	if add, ok := strings.CutSuffix(got, want); ok {
		return &indent{add: add}
	}
	if drop, ok := strings.CutSuffix(want, got); ok {
		return &indent{drop: drop}
	}
	return nil
}

var numbers = regexp.MustCompile(`^\s*(\d+)(?: ?[|:→] ?|\t)`)

// numbered matches where the model copied the line numbers of some listing: they must run
// on one by one, and the number of a single line must be that of its place.
func (t *text) numbered(old, repl string) []span {
	want, _ := contents(old)
	first := 0
	for i, w := range want {
		m := numbers.FindStringSubmatch(w)
		if m == nil {
			return nil
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || i > 0 && n != first+i {
			return nil
		}
		if i == 0 {
			first = n
		}
	}
	without := func(s string) string { return numbers.ReplaceAllString(s, "") }
	o := eachLine(old, without)
	if strings.TrimSpace(o) == "" {
		return nil
	}
	found := t.equal(o, eachLine(repl, without), bare)
	if len(want) == 1 && len(found) == 1 && t.number(found[0].start) != first {
		return nil
	}
	return found
}

// entities matches where the model wrote &lt; for <.
func (t *text) entities(old, repl string) []span {
	o, r := html.UnescapeString(old), html.UnescapeString(repl)
	if o == old || o == r {
		return nil
	}
	if found := t.exact(o, r); len(found) > 0 {
		return found
	}
	return t.equal(o, r, bare)
}
