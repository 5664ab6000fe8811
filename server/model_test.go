package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a model's server without sockets: each request gets the next of its replies. A
// request beyond them gets what beyond gives, else hangs until it is hung up on.
type scripted struct {
	t testing.TB

	mu       sync.Mutex
	came     *sync.Cond
	first    time.Duration // passes before the first reply
	replies  []reply
	beyond   func() reply
	requests []request
}

// reply is one answer of the server.
type reply struct {
	status int           // 0 is 200
	after  time.Duration // as Retry-After
	body   string
	slow   time.Duration // passes before the rest comes
	rest   string
	hangs  bool   // nothing comes after the body
	left   func() // is told when who asked has left
	cut    bool   // the connection breaks after the body
}

// request is what a question sent.
type request struct {
	Model      string
	Messages   []json.RawMessage
	ToolChoice json.RawMessage `json:"tool_choice"`
}

func newScripted(t testing.TB) *scripted {
	m := &scripted{t: t}
	m.came = sync.NewCond(&m.mu)
	return m
}

func (m *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	next := reply{hangs: true}
	m.mu.Lock()
	m.requests = append(m.requests, q)
	m.came.Broadcast()
	if len(m.replies) > 0 {
		next, m.replies = m.replies[0], m.replies[1:]
	} else if m.beyond != nil {
		next = m.beyond()
	}
	wait := m.first
	m.first = 0
	m.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
	resp := &http.Response{StatusCode: max(next.status, 200), Header: http.Header{}, Request: r}
	if next.status == 0 {
		resp.Header.Set("Content-Type", "text/event-stream")
	}
	if next.after > 0 {
		resp.Header.Set("Retry-After", strconv.Itoa(int(next.after.Seconds())))
	}
	resp.Body = &stream{text: strings.NewReader(next.body), reply: next, left: r.Context().Done(), shut: make(chan struct{})}
	return resp, nil
}

// stream is the body of a reply.
type stream struct {
	text  *strings.Reader
	reply reply
	left  <-chan struct{}
	shut  chan struct{}
	once  sync.Once
}

func (s *stream) Read(p []byte) (int, error) {
	if s.text.Len() > 0 {
		return s.text.Read(p)
	}
	switch {
	case s.reply.rest != "":
		select {
		case <-time.After(s.reply.slow):
		case <-s.left:
			return 0, errors.New("hung up")
		}
		s.text.Reset(s.reply.rest)
		s.reply.rest = ""
		return s.text.Read(p)
	case s.reply.hangs:
		select {
		case <-s.left:
			if s.reply.left != nil {
				s.reply.left()
			}
		case <-s.shut:
		}
		return 0, errors.New("hung up")
	case s.reply.cut:
		return 0, io.ErrUnexpectedEOF
	}
	return 0, io.EOF
}

func (s *stream) Close() error {
	s.once.Do(func() { close(s.shut) })
	return nil
}

// will adds replies.
func (m *scripted) will(replies ...reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, replies...)
}

// question waits for the n-th question, from 0, and gives its messages as one text.
func (m *scripted) question(n int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.requests) <= n {
		m.came.Wait()
	}
	var b strings.Builder
	for _, raw := range m.requests[n].Messages {
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// asked are the requests so far.
func (m *scripted) asked() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]request{}, m.requests...)
}

// sse are lines of an answer: words, or calls.
type sse []string

func (s sse) whole(finish string) reply {
	lines := append(s, fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`, finish), "[DONE]")
	return reply{body: "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n"}
}

func (s sse) hanging() reply {
	return reply{body: "data: " + strings.Join(s, "\n\ndata: ") + "\n\n", hangs: true}
}

func saying(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%s}}]}`, quoted(text))
}

// says is a whole answer in words.
func says(text string) reply { return sse{saying(text)}.whole("stop") }

// does is a whole answer with calls, as pairs of a tool and its arguments.
func does(pairs ...string) reply {
	var s sse
	for i := 0; i < len(pairs); i += 2 {
		s = append(s, calling(i/2, pairs[i], pairs[i+1]))
	}
	return s.whole("tool_calls")
}

func calling(index int, tool, arguments string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call%d","type":"function","function":{"name":%q,"arguments":%s}}]}}]}`,
		index, index, tool, quoted(arguments))
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// plans is a call of update_plan with steps as «id status title», or «id status title | verify».
func plans(steps ...string) []string {
	return []string{"update_plan", planArguments(steps...)}
}

func planArguments(steps ...string) string {
	var list []map[string]any
	for _, s := range steps {
		line, verify, _ := strings.Cut(s, " | ")
		parts := strings.SplitN(line, " ", 3)
		step := map[string]any{"id": parts[0], "status": parts[1], "title": parts[2], "intent": "I do it."}
		if verify != "" {
			step["verify"] = verify
		}
		list = append(list, step)
	}
	b, err := json.Marshal(map[string]any{"intent": "I lay out the work.", "step": "", "explanation": "so it is", "steps": list})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// work is a plan with one step, and calls behind it.
func work(pairs ...string) reply { return does(append(plans("s1 active Work"), pairs...)...) }
