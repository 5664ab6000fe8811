package face

import (
	"slices"
	"strings"
)

// A Comment is a word to the agent that stands in the code: a comment that begins with «tandem:».
type Comment struct {
	Text        string
	First, Last int // its lines, counted from 0
}

const mark = "tandem:"

// openers begin a comment, also behind code; lone ones only where nothing else stands before the
// mark, as they mean something else in most languages.
var (
	openers = []string{"//", "#", "--", ";", "%", "/*", "<!--", "(*", "{-", "{#", "{{!", "<%--", "--[["}
	lone    = []string{"*", "!", "'", `"`, "rem", "@rem", "::", "dnl", "..", "|"}
)

// closers end a comment on its line.
var closers = []string{"*/", "-->", "*)", "-}", "#}", "}}", "--%>", "--]]", "]]"}

// blocks are comments, or texts that serve as such, whose inner lines need no mark of their own.
var blocks = [][2]string{{"/*", "*/"}, {"<!--", "-->"}, {`"""`, `"""`}, {"'''", "'''"}, {"(*", "*)"}, {"{-", "-}"}, {"--[[", "]]"}, {"=begin", "=end"}}

// mostLines bounds how long a comment is that is read whole.
const mostLines = 30

// CommentAt is the comment «tandem: …» that a line of a text belongs to. Lines below the first
// belong to it as long as they are comments of the same kind and say something.
func CommentAt(text string, line int) (Comment, bool) {
	lines := strings.Split(text, "\n")
	if line < 0 || line >= len(lines) {
		return Comment{}, false
	}
	for first := line; first >= 0 && first > line-mostLines; first-- {
		before, said, ok := marked(lines, first)
		if !ok {
			continue
		}
		c := extended(lines, first, before, said)
		return c, line <= c.Last && c.Text != "" && !hides(c.Text)
	}
	return Comment{}, false
}

// hides says that a text holds more than is seen, or is read in another order than it stands. Such a
// word is not offered: who chooses the action would say what they did not read.
func hides(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r == '\u200b' || r == '\ufeff' || r >= '\u2028' && r <= '\u202e' || r >= '\u2060' && r <= '\u206f' || r >= 0xe0000 && r <= 0xe0fff
	})
}

// marked says that a line bears the mark as a comment's first word, with what stands before and
// behind it.
func marked(lines []string, at int) (before, said string, ok bool) {
	line := lines[at]
	i := strings.Index(strings.ToLower(line), mark)
	if i < 0 || len(strings.ToLower(line)) != len(line) {
		return "", "", false
	}
	before, said = line[:i], line[i+len(mark):]
	lead := strings.ToLower(strings.TrimSpace(before))
	if lead == "" {
		return before, said, inBlock(lines[:at])
	}
	return before, said, slices.Contains(lone, lead) || slices.ContainsFunc(openers, func(o string) bool { return opens(lead, o) })
}

// opens says that a line's begin ends with a comment's opener, which no address does.
func opens(lead, opener string) bool {
	code, ok := strings.CutSuffix(lead, opener)
	code = strings.TrimRight(code, opener)
	return ok && (code == "" || strings.ContainsAny(code[len(code)-1:], " \t;,{}()[]"))
}

// inBlock says that a block comment is open behind the lines.
func inBlock(lines []string) bool {
	text := strings.Join(lines[max(0, len(lines)-mostLines):], "\n")
	return slices.ContainsFunc(blocks, func(b [2]string) bool {
		if b[0] == b[1] {
			return strings.Count(text, b[0])%2 == 1
		}
		return strings.LastIndex(text, b[0]) > strings.LastIndex(text, b[1])
	})
}

// extended is the comment that begins on a line, with the lines that continue it. One behind code
// is a line of its own.
func extended(lines []string, first int, before, said string) Comment {
	said, closed := unclosed(said)
	c := Comment{Text: said, First: first, Last: first}
	lead := strings.TrimSpace(before)
	if closed || !comments(lead) {
		return c
	}
	for at := first + 1; at < len(lines) && at < first+mostLines; at++ {
		more, ok := continued(lines[at], lead)
		if !ok {
			break
		}
		more, closed = unclosed(more)
		if more == "" {
			break
		}
		c.Text, c.Last = c.Text+" "+more, at
		if closed {
			break
		}
	}
	c.Text = strings.TrimSpace(c.Text)
	return c
}

// comments says that what stands before the mark is a comment's begin and no code.
func comments(lead string) bool {
	return lead == "" || slices.Contains(lone, strings.ToLower(lead)) || slices.ContainsFunc(openers, func(o string) bool {
		return strings.TrimRight(strings.TrimSuffix(lead, o), o) == ""
	})
}

// continued is what a line adds to a comment that began with lead.
func continued(line, lead string) (string, bool) {
	text := strings.TrimSpace(line)
	switch {
	case strings.Contains(strings.ToLower(text), mark):
		return "", false // another word
	case slices.ContainsFunc(closers, func(c string) bool { return strings.HasPrefix(text, c) }):
		return "", false
	case lead == "" || opensBlock(lead):
		return strings.TrimPrefix(text, "* "), true
	}
	return strings.CutPrefix(text, lead)
}

func opensBlock(lead string) bool {
	return slices.ContainsFunc(blocks, func(b [2]string) bool { return lead == b[0] })
}

// unclosed is a comment's text without what closes it, and whether that was there.
func unclosed(text string) (string, bool) {
	for _, c := range append([]string{`"""`, "'''", "=end"}, closers...) {
		if i := strings.Index(text, c); i >= 0 {
			return strings.TrimSpace(text[:i]), true
		}
	}
	return strings.TrimSpace(text), false
}
