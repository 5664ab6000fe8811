package secret

import (
	"cmp"
	"slices"
)

// span is a secret in a text, and what stands in its place.
type span struct {
	from, to int
	mark     string
}

// hit is what an anchor leads to. With to 0 nothing is there.
type hit struct {
	span
	open  bool // the text ends before what begins at begin does: it may be a secret, or a longer one
	begin int
}

// anchor is a word at which a secret may stand. Folded ones are lower case, and match in any.
type anchor struct {
	word   string
	folded bool
	// free wants no letter or digit before the word, as a token's beginning has none.
	free bool
	look func(text string, at int) hit
}

// index finds all secrets in a text in one pass.
type index struct {
	values  []value
	marks   []string
	pairs   [1 << 16 / 64]uint64 // the first two bytes of each anchor
	anchors map[uint16][]anchor
	firsts  map[byte][]anchor // by their first byte alone
	longest int               // length of the longest anchor
}

func newIndex(values []value) *index {
	x := &index{values: values, anchors: map[uint16][]anchor{}, firsts: map[byte][]anchor{}}
	for _, v := range values {
		for _, form := range forms(v.text) {
			x.add(anchor{word: form, look: whole(len(form), v.mark)})
		}
		x.addMark(v.mark)
	}
	for _, a := range kinds() {
		x.add(a)
	}
	for _, mark := range kindMarks() {
		x.addMark(mark)
	}
	return x
}

// addMark has a mark stay as it is, whatever a value in it may be.
func (x *index) addMark(mark string) {
	if !slices.Contains(x.marks, mark) {
		x.marks = append(x.marks, mark)
		x.add(anchor{word: mark, look: whole(len(mark), mark)})
	}
}

// whole is what an anchor leads to that is the secret itself.
func whole(length int, mark string) func(string, int) hit {
	return func(_ string, at int) hit { return hit{span: span{at, at + length, mark}} }
}

func (x *index) add(a anchor) {
	x.longest = max(x.longest, len(a.word))
	for _, first := range cases(a.word[0], a.folded) {
		x.firsts[first] = append(x.firsts[first], a)
		for _, second := range cases(a.word[1], a.folded) {
			k := pair(first, second)
			x.pairs[k/64] |= 1 << (k % 64)
			x.anchors[k] = append(x.anchors[k], a)
		}
	}
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func cases(b byte, folded bool) []byte {
	if folded && 'a' <= b && b <= 'z' {
		return []byte{b, b - 'a' + 'A'}
	}
	return []byte{b}
}

// stands says that the word stands at a place, as far as the text goes.
func (a anchor) stands(text string, at int) bool {
	n := min(len(a.word), len(text)-at)
	if a.folded {
		return foldsTo(text[at:at+n], a.word[:n])
	}
	return text[at:at+n] == a.word[:n] && (!a.free || free(text, at))
}

// foldsTo says that a text, in lower case, is a word. In no letter beyond ASCII a name of a secret
// is written.
func foldsTo(text, word string) bool {
	for i := range len(word) {
		b := text[i]
		if isUpper(b) {
			b += 'a' - 'A'
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

// finding is what stands in a text: secrets in their order, none within another, and where one may
// begin whose end is still to come.
type finding struct {
	spans  []span
	begins []int
}

func (x *index) find(text string) finding {
	var f finding
	for i := 0; i+1 < len(text); i++ {
		k := pair(text[i], text[i+1])
		if x.pairs[k/64]&(1<<(k%64)) == 0 {
			continue
		}
		for _, a := range x.anchors[k] {
			if len(a.word) > len(text)-i || !a.stands(text, i) {
				continue
			}
			h := a.look(text, i)
			if h.open {
				f.begins = append(f.begins, h.begin)
			}
			if h.to > 0 {
				f.spans = append(f.spans, h.span)
				if h.to == len(text) && h.open && h.mark == keyMark { // it holds all that follows
					i = len(text)
					break
				}
			}
		}
	}
	f.begins = append(f.begins, x.torn(text)...)
	f.spans = joined(f.spans)
	return f
}

// torn are the places at the end of a text where an anchor begins and does not end. Names are no
// matter: they are still known when their value comes.
func (x *index) torn(text string) []int {
	var out []int
	for i := max(0, len(text)-x.longest+1); i+1 < len(text); i++ {
		k := pair(text[i], text[i+1])
		if x.pairs[k/64]&(1<<(k%64)) == 0 {
			continue
		}
		if slices.ContainsFunc(x.anchors[k], func(a anchor) bool { return len(a.word) > len(text)-i && !a.folded && a.stands(text, i) }) {
			out = append(out, i)
		}
	}
	if last := len(text) - 1; last >= 0 {
		if slices.ContainsFunc(x.firsts[text[last]], func(a anchor) bool { return !a.folded && a.stands(text, last) }) {
			out = append(out, last)
		}
	}
	return out
}

// joined are spans in their order; those that overlap are one, with the mark of the longest.
func joined(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	out := spans[:1]
	longest := spans[0].to - spans[0].from
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		n := s.to - s.from
		if s.from >= last.to {
			out, longest = append(out, s), n
			continue
		}
		if n > longest {
			last.mark, longest = s.mark, n
		}
		last.to = max(last.to, s.to)
	}
	return out
}

// opens is the first place from which on a text has to wait for what follows, or its end. What
// begins within a secret that is whole goes away with it.
func (f finding) opens(end int) int {
	at := end
	for _, b := range f.begins {
		within := slices.ContainsFunc(f.spans, func(s span) bool { return s.from < b && b < s.to })
		if !within {
			at = min(at, b)
		}
	}
	// A secret is never torn: one that holds the place waits whole.
	for _, s := range f.spans {
		if s.from < at && at < s.to {
			at = s.from
		}
	}
	return at
}
