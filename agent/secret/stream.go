package secret

// Stream takes secrets out of a text that comes in pieces, torn anywhere: the end of a piece that
// may be the beginning of a secret waits for the next. The zero Stream, and the nil one's redactor,
// knows what the nil Redactor knows. One goroutine uses it.
type Stream struct {
	of   *Redactor
	past string // the end of what was given away, as it came: a name before its value, say
	held string
}

const (
	// pastKept is how much of what was given away is looked at again: the longest name with what
	// may stand between it and a value.
	pastKept = 256
	// longestHeld is the longest text, in bytes, that is taken for the beginning of a secret.
	longestHeld = 64 << 10
)

// Stream makes a stream.
func (r *Redactor) Stream() *Stream { return &Stream{of: r} }

// Next gives what can be given away once a piece has come.
func (s *Stream) Next(piece string) string {
	text := s.past + s.held + piece
	found := s.of.index().find(text)
	end := max(found.opens(len(text)), len(s.past))
	if len(text)-end > longestHeld {
		end = len(text)
	}
	out := without(text[:end], len(s.past), upTo(found.spans, end))
	s.past, s.held = ending(text[:end]), text[end:]
	return out
}

// Rest gives what is still held, as nothing follows.
func (s *Stream) Rest() string {
	text := s.past + s.held
	out := without(text, len(s.past), s.of.index().find(text).spans)
	s.past, s.held = ending(text), ""
	return out
}

func ending(text string) string { return text[max(0, len(text)-pastKept):] }

// upTo are the spans before a place. One that goes beyond it is cut there: what is beyond is held.
func upTo(spans []span, end int) []span {
	for i, s := range spans {
		if s.to > end {
			return spans[:i]
		}
	}
	return spans
}
