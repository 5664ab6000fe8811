package main

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// line is one line of the picture, before it is fitted to a screen. Its text may come from a
// model or a command, so it is cleaned before it is drawn.
type line struct {
	indent int
	mark   string
	text   string
	side   string // quieter words behind it, at the right where there is room
	tone   tone
	as     bool // text is drawn as it stands, spaces and all
}

// tone is what a line is; a screen with colours shows it by them too.
type tone int

const (
	plain tone = iota
	quiet
	strong
	good
	bad
	careful
	mine // what the developer said
)

// codes are the terminal's colours of the tones.
var codes = map[tone]string{quiet: "2", strong: "1", good: "32", bad: "31", careful: "33", mine: "36"}

// paper is what lines are drawn on. Width 0 is a pipe: nothing is broken there.
type paper struct {
	width  int
	colour bool
}

// sideEdge is the column at which words at the right end on a wide screen.
const sideEdge = 110

// rows are a line as rows of the paper.
func (p paper) rows(l line) []string {
	head := strings.Repeat(" ", l.indent)
	if l.mark != "" {
		head += l.mark + " "
	}
	hang := runewidth.StringWidth(head)
	var out []string
	for i, text := range p.broken(l, hang) {
		lead := strings.Repeat(" ", hang)
		if i == 0 {
			lead = p.paint(head, l.tone)
		}
		out = append(out, lead+p.paint(text, p.textTone(l)))
	}
	return p.beside(out, l, hang)
}

// textTone is the colour of a line's text: where a mark bears the colour, the text is calm.
func (p paper) textTone(l line) tone {
	if l.mark != "" && (l.tone == good || l.tone == careful) {
		return plain
	}
	return l.tone
}

// broken is the text in pieces that fit behind hang columns.
func (p paper) broken(l line, hang int) []string {
	text := clean(l.text)
	if p.width == 0 {
		return strings.Split(text, "\n")
	}
	room := max(p.width-hang-1, 10)
	var out []string
	for part := range strings.SplitSeq(text, "\n") {
		if l.as {
			out = append(out, strings.Split(runewidth.Wrap(part, room), "\n")...)
		} else {
			out = append(out, wrap(part, room)...)
		}
	}
	return out
}

// beside puts the side behind the last row where there is room, else below it.
func (p paper) beside(rows []string, l line, hang int) []string {
	side := strings.Join(strings.Fields(clean(l.side)), " ")
	if side == "" {
		return rows
	}
	last := len(rows) - 1
	if p.width == 0 {
		rows[last] += "  · " + side
		return rows
	}
	edge := min(p.width-1, sideEdge)
	gap := edge - visible(rows[last]) - runewidth.StringWidth(side)
	if gap >= 2 {
		rows[last] += strings.Repeat(" ", gap) + p.paint(side, quiet)
		return rows
	}
	for _, part := range wrap(side, max(p.width-hang-3, 10)) {
		rows = append(rows, strings.Repeat(" ", hang+2)+p.paint(part, quiet))
	}
	return rows
}

// paint colours a text, where the paper takes colours.
func (p paper) paint(text string, t tone) string {
	code, ok := codes[t]
	if !p.colour || !ok || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// visible is how many columns a row takes whose only escapes are colours of ours.
func visible(row string) int {
	n := 0
	for {
		before, rest, coloured := strings.Cut(row, "\x1b[")
		n += runewidth.StringWidth(before)
		if !coloured {
			return n
		}
		_, row, _ = strings.Cut(rest, "m")
	}
}

// wrap breaks a text at spaces into rows of at most width columns; a longer word is broken in itself.
// One that fits stays as it stands.
func wrap(text string, width int) []string {
	if runewidth.StringWidth(text) <= width {
		return []string{strings.TrimRight(text, " ")}
	}
	var rows []string
	row, used := "", 0
	for word := range strings.FieldsSeq(text) {
		before, rest, _ := strings.Cut(text, word)
		text = rest
		w, gap := runewidth.StringWidth(word), runewidth.StringWidth(before)
		if used > 0 && used+gap+w <= width {
			row, used = row+before+word, used+gap+w
			continue
		}
		if used > 0 {
			rows = append(rows, row)
		}
		parts := strings.Split(runewidth.Wrap(word, width), "\n")
		rows = append(rows, parts[:len(parts)-1]...)
		row = parts[len(parts)-1]
		used = runewidth.StringWidth(row)
	}
	return append(rows, row)
}

// escapes are the sequences that colour, move and name things on a terminal.
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?`)

// clean takes out of a text what would steer the terminal: escapes, other control characters, and
// marks that turn the direction of writing.
func clean(text string) string {
	if strings.ContainsRune(text, '\x1b') {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n")
	text = strings.ReplaceAll(text, "\t", "    ")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\u2028' || r == '\u2029' || unicode.IsControl(r):
			return -1
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clip is the head of a text on one row.
func clip(text string, columns int) string {
	return runewidth.Truncate(strings.Join(strings.Fields(clean(text)), " "), columns, "…")
}
