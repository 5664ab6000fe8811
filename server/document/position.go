package document

import (
	"strings"
	"unicode/utf8"

	"tandem/protocol"
)

// Offset is the offset in bytes of a position in a text.
func Offset(text string, p protocol.Position, enc protocol.PositionEncoding) int {
	start := lineStart(text, int(p.Line))
	line := text[start : start+lineLength(text[start:])]
	left := int64(p.Character)
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		left -= int64(units(r, size, enc))
		if left < 0 {
			return start + i
		}
		i += size
	}
	return start + len(line)
}

// Span is the offsets in bytes of a range in a text, the lesser first.
func Span(text string, r protocol.Range, enc protocol.PositionEncoding) (start, end int) {
	start, end = Offset(text, r.Start, enc), Offset(text, r.End, enc)
	return min(start, end), max(start, end)
}

// Position is the position of an offset in bytes. One outside of the text is its nearer end, one
// within a rune the rune's beginning, and one within "\r\n" the end of that line.
func Position(text string, offset int, enc protocol.PositionEncoding) protocol.Position {
	offset = boundary(text, min(max(offset, 0), len(text)))
	var p protocol.Position
	start := 0
	for {
		n := lineLength(text[start:])
		end := endLength(text[start+n:])
		if end == 0 || start+n+end > offset {
			break
		}
		start += n + end
		p.Line++
	}
	for i := start; i < offset; {
		r, size := utf8.DecodeRuneInString(text[i:])
		p.Character += uint32(units(r, size, enc))
		i += size
	}
	return p
}

// Range is the range between two offsets in bytes.
func Range(text string, start, end int, enc protocol.PositionEncoding) protocol.Range {
	return protocol.Range{Start: Position(text, start, enc), End: Position(text, end, enc)}
}

// Convert is a range of a text, in one encoding, in another.
func Convert(text string, r protocol.Range, from, to protocol.PositionEncoding) protocol.Range {
	if from == to {
		return r
	}
	return protocol.Range{Start: convert(text, r.Start, from, to), End: convert(text, r.End, from, to)}
}

// convert leaves the first character of a line as it is, also of a line that is not there.
func convert(text string, p protocol.Position, from, to protocol.PositionEncoding) protocol.Position {
	if p.Character == 0 {
		return p
	}
	return Position(text, Offset(text, p, from), to)
}

// units is how much a rune of so many bytes counts in an encoding.
func units(r rune, size int, enc protocol.PositionEncoding) int {
	switch {
	case enc == protocol.UTF8:
		return size
	case enc != protocol.UTF32 && r > 0xffff:
		return 2
	}
	return 1
}

// lineStart is where a line begins, counted from 0; the end of the text where it has fewer.
func lineStart(text string, line int) int {
	at := 0
	for ; line > 0; line-- {
		n := lineLength(text[at:])
		end := endLength(text[at+n:])
		if end == 0 {
			return len(text)
		}
		at += n + end
	}
	return at
}

// lineLength is how many bytes the first line of a text has, without its end.
func lineLength(text string) int {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// endLength is how many bytes the line end has that a text begins with.
func endLength(text string) int {
	switch {
	case strings.HasPrefix(text, "\r\n"):
		return 2
	case text != "" && (text[0] == '\n' || text[0] == '\r'):
		return 1
	}
	return 0
}

// boundary is the last offset up to this one that a position can name.
func boundary(text string, offset int) int {
	if 0 < offset && offset < len(text) && text[offset-1] == '\r' && text[offset] == '\n' {
		return offset - 1
	}
	for n := 0; n < utf8.UTFMax && 0 < offset && offset < len(text) && !utf8.RuneStart(text[offset]); n++ {
		offset--
	}
	return offset
}
