package command

import "unicode/utf8"

// longLine is the length from which an unfinished line is given away in parts; what was given away can no longer be
// overwritten by a carriage return.
const longLine = 8 << 10

// longString bounds an operating-system command and its like. One that goes on is taken for text again, so that
// a stray introducer cannot swallow the output.
const longString = 4 << 10

type escape byte

// The states of the cleaner: outside of any sequence, after ESC, in a control sequence, in a string (OSC, DCS, APC,
// PM, SOS), and after ESC in a string.
const (
	ground escape = iota
	escaped
	sequence
	text
	textEscaped
)

// cleaner turns raw output, in pieces cut anywhere, into text: valid UTF-8 without control codes but newline and
// tab, each line as it stood last after carriage returns and backspaces.
type cleaner struct {
	buf   []byte // clean text not yet taken
	start int    // where in buf the unfinished line begins
	told  int    // bytes at the front of buf that the clients have seen of the unfinished line
	torn  bool   // a line was overwritten after clients had seen its beginning
	part  []byte // an incomplete rune
	state escape
	param int // the first number of a control sequence
	run   int // length of the string so far
	back  bool

	bytes, nul, strange int64 // seen in all; NUL; other control codes and invalid bytes
}

// plain are the bytes that stand for themselves wherever no sequence is open.
var plain = func() (t [256]bool) {
	for b := 0x20; b < 0x7f; b++ {
		t[b] = true
	}
	t['\n'], t['\t'] = true, true
	return t
}()

func (c *cleaner) write(p []byte) {
	c.bytes += int64(len(p))
	for len(p) > 0 {
		if n := c.plainRun(p); n > 0 {
			p = p[n:]
			continue
		}
		c.byte(p[0])
		p = p[1:]
	}
}

// plainRun takes the plain bytes at the front of p in one go and answers how many it took.
func (c *cleaner) plainRun(p []byte) int {
	if c.state != ground || len(c.part) > 0 || c.back {
		return 0
	}
	n, end := 0, -1
	for n < len(p) && plain[p[n]] {
		if p[n] == '\n' {
			end = n
		}
		n++
	}
	if end >= 0 {
		c.start = len(c.buf) + end + 1
	}
	c.buf = append(c.buf, p[:n]...)
	return n
}

func (c *cleaner) byte(b byte) {
	if b < utf8.RuneSelf && len(c.part) == 0 {
		c.rune(rune(b))
		return
	}
	c.part = append(c.part, b)
	for len(c.part) > 0 && utf8.FullRune(c.part) {
		c.takeRune()
	}
}

// takeRune takes one rune, or one invalid byte, from the front of the incomplete part.
func (c *cleaner) takeRune() {
	r, n := utf8.DecodeRune(c.part)
	c.part = append(c.part[:0], c.part[n:]...)
	if r == utf8.RuneError && n == 1 {
		c.strange++
	}
	c.rune(r)
}

func (c *cleaner) rune(r rune) {
	switch c.state {
	case ground:
		c.put(r)
	case escaped:
		c.afterEscape(r)
	case sequence:
		c.inSequence(r)
	case text:
		c.inString(r)
	case textEscaped:
		c.state = ground
		if r != '\\' {
			c.afterEscape(r)
		}
	}
}

func (c *cleaner) afterEscape(r rune) {
	c.state = ground
	switch {
	case r == '[':
		c.state, c.param = sequence, 0
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		c.state, c.run = text, 0
	case r == 0x1b || 0x20 <= r && r < 0x30:
		c.state = escaped
	case r == '\n' || r == '\r' || r >= 0x7f:
		c.put(r)
	}
}

func (c *cleaner) inSequence(r rune) {
	switch {
	case '0' <= r && r <= '9':
		c.param = min(c.param*10+int(r-'0'), 1<<16)
	case 0x20 <= r && r < 0x40:
	case 0x40 <= r && r < 0x7f:
		c.state = ground
		if r == 'K' && (c.param == 2 || c.back) {
			c.eraseLine()
		}
	default: // A control code or text inside a sequence: the sequence is broken off.
		c.state = ground
		c.put(r)
	}
}

func (c *cleaner) inString(r rune) {
	c.run++
	switch {
	case r == 0x07 || r == 0x9c:
		c.state = ground
	case r == 0x1b:
		c.state = textEscaped
	case r == '\n' || c.run > longString:
		c.state = ground
		c.put(r)
	}
}

// put takes a rune outside of any sequence.
func (c *cleaner) put(r rune) {
	switch {
	case r == '\n':
		c.back = false
		c.buf = append(c.buf, '\n')
		c.start = len(c.buf)
	case r == '\r':
		c.back = true
	case r == '\b':
		c.backspace()
	case r == 0x1b:
		c.state = escaped
	case r == 0x9b:
		c.state, c.param = sequence, 0
	case r == 0x90 || r == 0x98 || 0x9d <= r && r <= 0x9f:
		c.state, c.run = text, 0
	case r == 0:
		c.nul++
	case r < 0x20 && r != '\t' || 0x7f <= r && r < 0xa0:
		c.strange++
	default:
		if c.back {
			c.eraseLine()
		}
		c.buf = utf8.AppendRune(c.buf, r)
	}
}

// eraseLine forgets the unfinished line: it is being written anew.
func (c *cleaner) eraseLine() {
	c.back = false
	if c.start == 0 && c.told > 0 {
		c.told, c.torn = 0, true
	}
	c.buf = c.buf[:c.start]
}

func (c *cleaner) backspace() {
	if len(c.buf) > c.start && !c.back {
		_, n := utf8.DecodeLastRune(c.buf)
		c.buf = c.buf[:len(c.buf)-n]
		c.told = min(c.told, len(c.buf))
	}
}

// finished answers with the text that can no longer change; it is valid until the next write, and must be dropped
// by forget.
func (c *cleaner) finished() []byte {
	if len(c.buf)-c.start > longLine {
		c.start = len(c.buf)
	}
	return c.buf[:c.start]
}

// forget drops what finished gave.
func (c *cleaner) forget() {
	if c.start > 0 {
		c.buf = append(c.buf[:0], c.buf[c.start:]...)
		c.start, c.told = 0, 0
	}
}

// close ends the text: a rune that is still incomplete is invalid, and the last line needs no newline.
func (c *cleaner) close() {
	for len(c.part) > 0 {
		c.takeRune()
	}
	c.start = len(c.buf)
}

// binary says that the output is no text: it holds NULs, and a tenth of it is nothing that a terminal would show,
// or half of it is NULs.
func (c *cleaner) binary() bool {
	return c.nul > 0 && (c.strange*10 > c.bytes || c.nul*2 > c.bytes)
}

// cleanLine answers with s as one line of clean text, at most about n bytes long.
func cleanLine(s string, n int) string {
	var c cleaner
	c.write([]byte(s))
	c.close()
	line := c.buf
	for i, b := range line {
		if b == '\n' || b == '\t' {
			line[i] = ' '
		}
	}
	if len(line) > n {
		return string(wholeEnd(line[:n])) + "…"
	}
	return string(line)
}

// wholeEnd cuts an incomplete rune off the end of clean text that was cut anywhere.
func wholeEnd(p []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// wholeStart cuts an incomplete rune off the front of clean text that was cut anywhere.
func wholeStart(p []byte) []byte {
	for len(p) > 0 && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	return p
}
