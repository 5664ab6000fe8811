package rehearsal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
)

var (
	errCut  = errors.New("the beat cuts the connection")
	errLeft = errors.New("the client hung up")
)

// argumentBytes is how much of a call's arguments goes into one chunk.
const argumentBytes = 48

// stream writes one beat as server-sent events.
type stream struct {
	w      http.ResponseWriter
	done   <-chan struct{}
	n      int // of the request
	beat   beat
	model  string
	usage  bool
	pace   float64 // words a second of the script
	slower float64 // what waits are multiplied by
	calls  int     // so far
	sent   int     // bytes of words and arguments
	holds  func()  // is told when the answer holds; nil is nobody
}

// play sends the whole beat; it ends early when the client hangs up.
func (s *stream) play() error {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-store")
	if err := s.delta(`{"role":"assistant","content":""}`); err != nil {
		return err
	}
	for _, p := range s.beat.parts {
		if err := s.part(p); err != nil {
			return err
		}
	}
	if err := s.chunk(`{}`, `"`+s.beat.finish()+`"`); err != nil {
		return err
	}
	if s.usage {
		tokens := max(1, s.sent/4)
		if err := s.event(fmt.Sprintf(`{%s,"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d,"total_tokens":%d}}`,
			s.head(), tokens, tokens+1)); err != nil {
			return err
		}
	}
	return s.event("[DONE]")
}

func (s *stream) part(p part) error {
	switch p.kind {
	case delayPart:
		return s.wait(p.wait)
	case thinkPart:
		return s.words("reasoning_content", p)
	case sayPart:
		return s.words("content", p)
	case callPart:
		return s.call(p)
	case cutPart:
		return errCut
	}
	if s.holds != nil {
		s.holds()
	}
	<-s.done
	return errLeft
}

// words sends a text word by word, each with the space behind it.
func (s *stream) words(field string, p part) error {
	pace := p.pace
	if pace < 0 {
		pace = s.pace
	}
	for _, word := range splitWords(p.text) {
		text, err := appendJSON(nil, word)
		if err != nil {
			return err
		}
		if err := s.delta(`{"` + field + `":` + string(text) + `}`); err != nil {
			return err
		}
		s.sent += len(word)
		if pace > 0 {
			if err := s.wait(time.Duration(float64(time.Second) / pace)); err != nil {
				return err
			}
		}
	}
	return nil
}

// call sends a tool call: its name first, then its arguments in pieces.
func (s *stream) call(p part) error {
	i := s.calls
	s.calls++
	id := fmt.Sprintf("%s_%d_%d", s.beat.name, s.n, i)
	name, err := appendJSON(nil, p.tool)
	if err != nil {
		return err
	}
	if err := s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, id, name)); err != nil {
		return err
	}
	for rest := p.text; rest != ""; {
		piece := headOf(rest, argumentBytes)
		rest = rest[len(piece):]
		text, err := appendJSON(nil, piece)
		if err != nil {
			return err
		}
		if err := s.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, text)); err != nil {
			return err
		}
		s.sent += len(piece)
	}
	return nil
}

func (s *stream) delta(delta string) error { return s.chunk(delta, "null") }

func (s *stream) chunk(delta, finish string) error {
	return s.event(fmt.Sprintf(`{%s,"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, s.head(), delta, finish))
}

// head is what every chunk of an answer begins with.
func (s *stream) head() string {
	model, err := appendJSON(nil, s.model)
	if err != nil {
		model = []byte(`""`)
	}
	return fmt.Sprintf(`"id":"rehearsal-%d","object":"chat.completion.chunk","created":0,"model":%s`, s.n, model)
}

func (s *stream) event(data string) error {
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return errLeft
	}
	return http.NewResponseController(s.w).Flush()
}

// wait sleeps for a written time, and ends at once when the client hangs up.
func (s *stream) wait(written time.Duration) error {
	d := time.Duration(float64(written) * s.slower)
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.done:
		return errLeft
	}
}

// splitWords cuts a text behind its spaces, so that the pieces together are the text.
func splitWords(text string) []string {
	var words []string
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			return append(words, text)
		}
		rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		words = append(words, text[:len(text)-len(rest)])
		text = rest
	}
	return words
}

// headOf gives the first n bytes of a text, or a few more, so that no letter is cut.
func headOf(text string, n int) string {
	for i := range text {
		if i >= n {
			return text[:i]
		}
	}
	return text
}
