package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// bom is UTF-8's byte order mark. The model never sees it, and the file keeps it.
const bom = "\ufeff"

var (
	errBinary = errors.New("is binary, not text")
	errUTF16  = errors.New("is UTF-16, not UTF-8")
)

// document is a file's text as the model speaks of it, with what it takes to write it back.
type document struct {
	text   string
	bom    bool
	latin1 bool
}

// decode takes bytes for text. Bytes that are no UTF-8 are taken for Latin-1, in which each
// byte is one character, so that writing back loses nothing; but a UTF-8 file with a few
// damaged bytes keeps them as they are.
func decode(data []byte) (document, error) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return document{}, errUTF16
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return document{}, errBinary
	}
	text, marked := strings.CutPrefix(string(data), bom)
	if !marked && isLatin1(text) {
		return document{text: fromLatin1(text), latin1: true}, nil
	}
	return document{text: text, bom: marked}, nil
}

// isLatin1 tells whether the bytes beyond ASCII are single ones rather than UTF-8 sequences.
func isLatin1(text string) bool {
	if utf8.ValidString(text) {
		return false
	}
	single, sequences := 0, 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			single++
		} else if n > 1 {
			sequences++
		}
		i += n
	}
	return single > sequences
}

func fromLatin1(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for i := range len(text) {
		b.WriteRune(rune(text[i]))
	}
	return b.String()
}

// encode gives the bytes that decode would take for the document. It refuses characters that
// the file's encoding has not.
func (d document) encode() ([]byte, error) {
	if d.bom {
		return []byte(bom + d.text), nil
	}
	if !d.latin1 {
		return []byte(d.text), nil
	}
	data := make([]byte, 0, len(d.text))
	for _, r := range d.text {
		if r > 0xff {
			return nil, fmt.Errorf("is not UTF-8 but Latin-1, which has no %q (U+%04X)", r, r)
		}
		data = append(data, byte(r))
	}
	return data, nil
}

// decodeUTF16 makes a UTF-16 file readable. It cannot be edited as text.
func decodeUTF16(data []byte) string {
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 0xfe {
		order = binary.BigEndian
	}
	units := make([]uint16, 0, len(data)/2)
	for rest := data[2:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return string(utf16.Decode(units))
}

// line is a piece of a text, with its end. The end is "" for a last line that has none.
type line struct {
	at   int
	text string
	end  string
}

// isOldMac tells whether a carriage return alone ends the lines of a text: only where no
// line feed stands in all of it.
func isOldMac(text string) bool {
	return strings.ContainsRune(text, '\r') && !strings.ContainsRune(text, '\n')
}

// split cuts a text into lines.
func split(text string, mac bool) []line {
	var lines []line
	for at := 0; at < len(text); {
		l := cut(text[at:], mac)
		l.at = at
		lines = append(lines, l)
		at += len(l.text) + len(l.end)
	}
	return lines
}

// cut takes the first line off a text that is not empty.
func cut(text string, mac bool) line {
	sep := "\n"
	if mac {
		sep = "\r"
	}
	body, _, found := strings.Cut(text, sep)
	switch {
	case !found:
		return line{text: body}
	case sep == "\n" && strings.HasSuffix(body, "\r"):
		return line{text: body[:len(body)-1], end: "\r\n"}
	default:
		return line{text: body, end: sep}
	}
}

// lineEnd is the end that most lines have; "\n" where there is none.
func lineEnd(lines []line) string {
	counts := map[string]int{}
	for _, l := range lines {
		counts[l.end]++
	}
	best := "\n"
	for _, end := range []string{"\r\n", "\r"} {
		if counts[end] > counts[best] {
			best = end
		}
	}
	return best
}

// lf gives a model's text with line feeds as its only line ends.
func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// withEnds gives a text of line feeds the end of a document's lines.
func withEnds(text, end string) string {
	if end == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", end)
}

// invisible finds the first character of a line that a reader cannot see.
func invisible(text string) (r rune, column int) {
	column = 1
	for _, r := range text {
		switch {
		case r == 0x00ad, r == 0x2060, r == 0xfeff, r >= 0x200b && r <= 0x200f, isBidi(r):
			return r, column
		}
		column++
	}
	return 0, 0
}

// isBidi tells the controls that make a line read in another order than it runs.
func isBidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }
