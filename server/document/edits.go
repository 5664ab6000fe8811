package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"tandem/protocol"
)

// Edits are the edits that lead from one text to another: in the order of the text, apart from
// each other, all in positions of the old text, and none where the two are the same.
func Edits(old, new string, enc protocol.PositionEncoding) []protocol.TextEdit {
	var out []protocol.TextEdit
	for _, s := range spans(old, new) {
		out = append(out, protocol.TextEdit{Range: Range(old, s.start, s.end, enc), NewText: s.with})
	}
	return out
}

// trimmed is the replacement of old[start:end] without what both sides begin and end with. Its
// bounds are such that a position can name them.
func trimmed(old string, start, end int, with string) (int, int, string) {
	head := sameHead(old[start:end], with)
	for head > 0 && boundary(old, start+head) != start+head {
		head--
	}
	start, with = start+head, with[head:]
	tail := sameTail(old[start:end], with)
	for tail > 0 && boundary(old, end-tail) != end-tail {
		tail--
	}
	return start, end - tail, with[:len(with)-tail]
}

// sameHead is how many bytes two texts begin with alike, in whole runes.
func sameHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// sameTail is how many bytes two texts end with alike, in whole runes.
func sameTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}

// Same tells whether two texts are the same but for their form: the line ends, which an editor
// makes alike, and a line end at the very end, which some editors always have.
func Same(a, b string) bool {
	return a == b || plain(a) == plain(b)
}

func plain(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimSuffix(text, "\n")
}

// Holds tells whether a text holds the change from old to new: it is new, in whatever form, or new
// with further changes beside it, as when somebody types while the change is made. Such a text is
// nearer to new than to old, and nothing of what the change put there is missing.
func Holds(text, old, new string) bool {
	if Same(old, new) { // only the form is to be changed
		return text == new
	}
	if Same(text, new) {
		return true
	}
	text, old, new = plain(text), plain(old), plain(new)
	further := spans(new, text)
	if size(further) >= size(spans(old, text)) {
		return false
	}
	for _, put := range spans(new, old) { // in new: what stands there in place of old
		if slices.ContainsFunc(further, func(s span) bool { return s.start < put.end && put.start < s.end }) {
			return false
		}
	}
	return true
}

// span is a place in a text at which another differs, and what stands there in the other.
type span struct {
	start, end int
	with       string
}

func spans(text, other string) []span {
	var out []span
	for _, e := range udiff.Lines(text, other) {
		start, end, with := trimmed(text, e.Start, e.End, e.New)
		out = append(out, span{start, end, with})
	}
	return out
}

// size is how much a text differs from another, in bytes that come and go.
func size(list []span) int {
	n := 0
	for _, s := range list {
		n += s.end - s.start + len(s.with)
	}
	return n
}
