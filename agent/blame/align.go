package blame

import (
	"slices"
	"sort"
)

// align gives for each line of b the line of a that it was, or -1: equal lines, in the same order.
// Lines that stand once in both are the anchors, as in a patience diff, so a block that was moved
// or repeated does not take its neighbours along; between them the longest common part counts.
func align(a, b []string) []int {
	pairs := nobody(len(b))
	alignPart(part{a, 0}, part{b, 0}, pairs)
	return pairs
}

// part is a run of lines, and where in the whole text it begins.
type part struct {
	lines []string
	at    int
}

func (p part) cut(from, to int) part { return part{p.lines[from:to], p.at + from} }

func alignPart(a, b part, pairs []int) {
	for len(a.lines) > 0 && len(b.lines) > 0 && a.lines[0] == b.lines[0] {
		pairs[b.at] = a.at
		a, b = a.cut(1, len(a.lines)), b.cut(1, len(b.lines))
	}
	for len(a.lines) > 0 && len(b.lines) > 0 && a.lines[len(a.lines)-1] == b.lines[len(b.lines)-1] {
		pairs[b.at+len(b.lines)-1] = a.at + len(a.lines) - 1
		a, b = a.cut(0, len(a.lines)-1), b.cut(0, len(b.lines)-1)
	}
	if len(a.lines) == 0 || len(b.lines) == 0 {
		return
	}
	anchors := rising(uniqueInBoth(a.lines, b.lines))
	if len(anchors) == 0 {
		alignAll(a, b, pairs)
		return
	}
	fromA, fromB := 0, 0
	for _, p := range anchors {
		alignPart(a.cut(fromA, p.a), b.cut(fromB, p.b), pairs)
		pairs[b.at+p.b] = a.at + p.a
		fromA, fromB = p.a+1, p.b+1
	}
	alignPart(a.cut(fromA, len(a.lines)), b.cut(fromB, len(b.lines)), pairs)
}

// pair is a line of b and the line of a that it was.
type pair struct{ a, b int }

// uniqueInBoth are the lines that stand once in each of two texts, in the order of the second.
func uniqueInBoth(a, b []string) []pair {
	type count struct{ inA, inB, at int }
	counts := make(map[string]count, len(a))
	for i, l := range a {
		c := counts[l]
		counts[l] = count{c.inA + 1, 0, i}
	}
	for _, l := range b {
		if c, ok := counts[l]; ok {
			c.inB++
			counts[l] = c
		}
	}
	var out []pair
	for i, l := range b {
		if c := counts[l]; c.inA == 1 && c.inB == 1 {
			out = append(out, pair{c.at, i})
		}
	}
	return out
}

// rising is a longest choice of pairs whose lines rise in both texts.
func rising(pairs []pair) []pair {
	var ends []int // the pair that ends the best choice of each length
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]].a >= p.a })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var out []pair
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}

// mostCells bounds the table of alignAll. Two longer parts without any line that stands once in
// both are taken for different.
const mostCells = 1 << 20

// alignAll aligns two parts by their longest common part.
func alignAll(a, b part, pairs []int) {
	rows, columns := len(a.lines)+1, len(b.lines)+1
	if rows*columns > mostCells {
		return
	}
	longest := make([]int32, rows*columns) // of what follows line i of a and line j of b
	for i := rows - 2; i >= 0; i-- {
		for j := columns - 2; j >= 0; j-- {
			if a.lines[i] == b.lines[j] {
				longest[i*columns+j] = longest[(i+1)*columns+j+1] + 1
			} else {
				longest[i*columns+j] = max(longest[(i+1)*columns+j], longest[i*columns+j+1])
			}
		}
	}
	for i, j := 0, 0; i < rows-1 && j < columns-1; {
		switch {
		case a.lines[i] == b.lines[j]:
			pairs[b.at+j] = a.at + i
			i, j = i+1, j+1
		case longest[(i+1)*columns+j] >= longest[i*columns+j+1]:
			i++
		default:
			j++
		}
	}
}
