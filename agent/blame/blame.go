// Package blame follows the lines of a text through edits and says which edit wrote each of them
// last. It knows texts, and edits by their place in a list; where they come from, and what led to
// an edit, it does not know.
package blame

import "strings"

// Edit is one edit of a text, as whoever made it found the text and left it.
type Edit struct {
	Before, After string
	// Restores says that it put back what had stood there earlier, as a revert does: such lines
	// belong to whoever wrote them first.
	Restores bool
}

// Nobody is the author of a line that no edit wrote.
const Nobody = -1

// History is a text at the end of its edits. The zero History is that of no edits.
type History struct{ last version }

// version is a text with the author of each line.
type version struct {
	lines   []string
	authors []int
}

// Of follows the lines of a text through its edits, the oldest first. What changed between two of
// them was somebody else's doing.
func Of(edits []Edit) History {
	var past []version // what stood there, for those that restore
	var now version
	for i, e := range edits {
		before := Split(e.Before)
		if i == 0 {
			now.lines, now.authors = before, nobody(len(before))
		}
		now = now.become(before, Nobody)
		past = append(past, now)
		if !e.Restores {
			now = now.become(Split(e.After), i)
			continue
		}
		now = now.become(Split(e.After), unknown)
		for _, v := range backward(past) {
			now.learn(v)
		}
		now.settle()
	}
	return History{now}
}

// Lines is the author of each line of the text that stands there now: the place of an edit in the
// list, or Nobody.
func (h History) Lines(now string) []int {
	return h.last.become(Split(now), Nobody).authors
}

// unknown is the author of a line that was put back, until it is known.
const unknown = -2

// looksBack bounds how many earlier versions a revert is held against.
const looksBack = 64

// backward is what stood there, the latest first.
func backward(past []version) []version {
	var out []version
	for i := len(past) - 1; i >= 0 && len(out) < looksBack; i-- {
		out = append(out, past[i])
	}
	return out
}

func nobody(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = Nobody
	}
	return out
}

// become is the text that follows: lines that stood there keep their author, new ones are by.
func (v version) become(lines []string, by int) version {
	next := version{lines: lines, authors: make([]int, len(lines))}
	for i, from := range align(v.lines, lines) {
		next.authors[i] = by
		if from >= 0 {
			next.authors[i] = v.authors[from]
		}
	}
	return next
}

// learn takes the authors of lines that are not known from an earlier version.
func (v version) learn(from version) {
	missing := false
	for _, a := range v.authors {
		missing = missing || a == unknown
	}
	if !missing {
		return
	}
	for i, at := range align(from.lines, v.lines) {
		if v.authors[i] == unknown && at >= 0 {
			v.authors[i] = from.authors[at]
		}
	}
}

// settle leaves what is not known to nobody.
func (v version) settle() {
	for i, a := range v.authors {
		if a == unknown {
			v.authors[i] = Nobody
		}
	}
}

// Split is the lines of a text without their ends, as LSP counts them. The byte order mark is no
// part of the text, and no line follows the last line end.
func Split(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	var out []string
	for text != "" {
		i := strings.IndexAny(text, "\r\n")
		if i < 0 {
			return append(out, text)
		}
		out = append(out, text[:i])
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		text = text[i+1:]
	}
	return out
}
