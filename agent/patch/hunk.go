package patch

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	numbers  = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)
	noNumber = regexp.MustCompile(`^[-+0-9,. ]*$`)
)

// head is the line that begins a hunk. Was and now are where the old and the new lines begin and
// how many they are; counted says that the line told it.
type head struct {
	was, wasLines, now, nowLines int
	counted                      bool
	anchor                       string
}

func readHead(l string) head {
	m := numbers.FindStringSubmatch(l)
	if m == nil {
		anchor := strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(strings.TrimRight(l, " "), "@"), "@@"))
		if noNumber.MatchString(anchor) || anchor == "…" {
			anchor = ""
		}
		return head{anchor: anchor}
	}
	n := func(i int) int {
		if m[i] == "" {
			return 1
		}
		v, err := strconv.Atoi(m[i])
		if err != nil { // it has more digits than any file has lines
			return -1
		}
		return v
	}
	return head{was: n(1), wasLines: n(2), now: n(3), nowLines: n(4), counted: true}
}

// place is where the first old and the first new line stand. A side without lines is told by the
// line before.
func (h head) place() (was, now int) {
	was, now = h.was, h.now
	if h.wasLines == 0 {
		was++
	}
	if h.nowLines == 0 {
		now++
	}
	return was, now
}

// hunks reads hunks as long as there are any. Ends tells the lines that end a body. The numbers of
// a file's hunks are kept where all of them are true of the lines and of each other.
func (r *reader) hunks(ends func([]string) bool) ([]Hunk, error) {
	var all []Hunk
	trusted, delta := true, 0
	for r.skipBlank(); r.more() && (isHunk(r.line()) || len(all) == 0 && isBody(r.line()) && !ends(r.lines[r.at:])); r.skipBlank() {
		h, anchors, err := r.heads()
		if err != nil {
			return nil, err
		}
		lines, exact, err := r.body(h, ends)
		if err != nil {
			return nil, err
		}
		hunk, err := r.hunk(lines)
		if err != nil {
			return nil, err
		}
		was, now := h.place()
		trusted = trusted && exact && now == was+delta
		delta += h.nowLines - h.wasLines
		hunk.Anchors, hunk.Line = anchors, was
		all = append(all, hunk)
	}
	for i := range all {
		if !trusted {
			all[i].Line = 0
		}
	}
	return all, nil
}

// heads reads the lines that begin a hunk: one with numbers, or some that name lines before it.
func (r *reader) heads() (h head, anchors []string, err error) {
	for r.more() && isHunk(r.line()) {
		if strings.HasPrefix(r.line(), "@@@") {
			return h, nil, r.wrong("is of a diff of a merge, which has several old sides: send a diff with one")
		}
		h = readHead(r.line())
		if h.anchor != "" {
			anchors = append(anchors, h.anchor)
		}
		r.at++
	}
	return h, anchors, nil
}

func (r *reader) skipBlank() {
	for r.more() && r.line() == "" {
		r.at++
	}
}

func isHunk(l string) bool { return strings.HasPrefix(l, "@@") }

// isBody says that a line can stand in a hunk.
func isBody(l string) bool { return l == "" || strings.ContainsRune(` +-\`, rune(l[0])) }

// body takes the lines of a hunk: as many as its head says, if that is true of them, else all up
// to what can only be another thing.
func (r *reader) body(h head, ends func([]string) bool) (lines []string, exact bool, err error) {
	start := r.at
	if h.counted {
		if n, ok := r.counted(h, ends); ok {
			r.at = start + n
			return r.lines[start:r.at], true, nil
		}
	}
	for r.more() && !isHunk(r.line()) && !ends(r.lines[r.at:]) {
		if !isBody(r.line()) {
			return nil, false, r.wrong("(%q) stands in a hunk, but begins neither with a blank nor with + or -", clip(r.line()))
		}
		r.at++
	}
	lines = r.lines[start:r.at]
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, false, nil
}

// counted is how many lines a hunk has by its head. It is not so when another line of a hunk
// follows: then the head is wrong.
func (r *reader) counted(h head, ends func([]string) bool) (n int, ok bool) {
	rest := r.lines[r.at:]
	for h.wasLines > 0 || h.nowLines > 0 {
		if n == len(rest) || !isBody(rest[n]) {
			return 0, false
		}
		switch l := rest[n]; {
		case l == "" || l[0] == ' ':
			h.wasLines--
			h.nowLines--
		case l[0] == '-':
			h.wasLines--
		case l[0] == '+':
			h.nowLines--
		}
		n++
	}
	if h.wasLines < 0 || h.nowLines < 0 {
		return 0, false
	}
	for n < len(rest) && strings.HasPrefix(rest[n], `\`) {
		n++
	}
	next := n
	for next < len(rest) && rest[next] == "" {
		next++
	}
	follows := next < len(rest) && isBody(rest[next]) && !ends(rest[next:])
	return n, !follows
}

// side is the old or the new lines of a hunk. Once it is open, its last line has no newline.
type side struct {
	text strings.Builder
	open bool
	late bool // a line came behind one without newline
}

func (s *side) add(l string) {
	s.late = s.late || s.open
	s.text.WriteString(l + "\n")
}

func (s *side) String() string {
	if s.open {
		return strings.TrimSuffix(s.text.String(), "\n")
	}
	return s.text.String()
}

// hunk makes a hunk of its lines.
func (r *reader) hunk(lines []string) (Hunk, error) {
	var h Hunk
	var old, now side
	changed, last := false, byte(' ')
	for _, l := range lines {
		kind := byte(' ')
		if l != "" {
			kind, l = l[0], l[1:]
		}
		if kind == '\\' {
			old.open, now.open = old.open || last != '+', now.open || last != '-'
			continue
		}
		if kind != '+' {
			old.add(l)
		}
		if kind != '-' {
			now.add(l)
		}
		switch {
		case kind != ' ':
			changed, h.After = true, 0
		case changed:
			h.After++
		default:
			h.Before++
		}
		last = kind
	}
	if old.late || now.late {
		return h, r.wrong("is behind a hunk in which a line that is not the last has no newline")
	}
	h.Old, h.New, h.AtEnd = old.String(), now.String(), old.open || now.open
	if h.Old == h.New {
		return h, r.wrong("is behind a hunk that changes nothing: give lines with + or -")
	}
	return h, nil
}
