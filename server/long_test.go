package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tandem/protocol"
)

// limited is a model that takes so many tokens, four bytes each, and works through a long task.
type limited struct {
	tokens int
	answer func(step int) reply
	mu     sync.Mutex
	step   int
	took   [][]byte // the messages of each request that it took
	refuse int
}

func (m *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := r.Context().Err(); err != nil { // what was cancelled before it got here is not sent
		return nil, err
	}
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r}
	if len(body)/4 > m.tokens {
		m.refuse++
		res.StatusCode = http.StatusBadRequest
		res.Header.Set("Content-Type", "application/json")
		res.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"error":{"message":"This model's maximum context length is %d tokens","code":"context_length_exceeded"}}`, m.tokens)))
		return res, nil
	}
	var messages [][]byte
	for _, raw := range q.Messages {
		messages = append(messages, raw)
	}
	said := bytes.Join(messages, []byte("\n"))
	m.took = append(m.took, said)
	next := does("update_plan", planArguments("s1 active Read", "s2 pending Sum"))
	if !strings.Contains(string(q.ToolChoice), "update_plan") {
		next = m.answer(m.step)
		m.step++
	}
	res.Body = &stream{text: strings.NewReader(next.body), reply: next, left: r.Context().Done(), shut: make(chan struct{})}
	return res, nil
}

// What a long session must not lose: each stands in every request after it was said.
const (
	longSteer    = "Write every number with a dot."
	laterSteer   = "And keep the old names."
	longDecision = "The report is one file"
	longQuestion = "Which currency do the prices have?"
)

// TestALongSessionIsCompacted works 300 steps with a model that takes 32,000 tokens. The conversation
// begins anew several times; what the developer said, what was decided and what is open stands in
// every request, and between two such moments a request is the one before it with something added.
func TestALongSessionIsCompacted(t *testing.T) {
	h := newHouse(t, map[string]string{"data.txt": strings.Repeat("a line of the data\n", 110)})
	h.close()
	steps := make(chan int, 400)
	model := &limited{tokens: 32_000, answer: func(step int) reply {
		steps <- step
		return longStep(step)
	}}
	h.opts.HTTP = model
	h.Registry = NewRegistry(h.opts)
	p := h.client()
	id := p.start(params{"task": "Sum the data up.", "autonomy": "high"}).ID
	said := map[int]string{20: longSteer, 121: laterSteer}
	for step := range steps {
		if words := said[step]; words != "" {
			p.ok(protocol.MethodSteer, at(id, "text", words), nil)
		}
		if step == 200 { // the agent asks, and the developer says something else
			p.untilHas(protocol.NoteModeChanged, `"waiting"`)
			p.ok(protocol.MethodSteer, at(id, "text", "I will say that later; go on."), nil)
		}
		if step >= 300 {
			break
		}
	}
	p.untilHas(protocol.NoteModeChanged, `"done"`)
	model.mu.Lock()
	defer model.mu.Unlock()
	nothingLost(t, model.took)
	share, compacted := cached(model.took)
	t.Logf("%d requests, begun anew %d times, refused %d times; %.1f %% of the bytes between were those of the request before", len(model.took), compacted, model.refuse, 100*share)
	if compacted < 3 || share < 0.9 {
		t.Errorf("begun anew %d times, %.2f of the bytes stood in the request before", compacted, share)
	}
}

// longStep is what the agent does in a step.
func longStep(step int) reply {
	switch {
	case step == 0:
		return does("update_plan", planArguments("s1 active Read", "s2 pending Sum"))
	case step == 30:
		return does("announce_decision", `{"intent":"I say it.","step":"s1","summary":"`+longDecision+`","rationale":"it is small","alternatives":[{"id":"two","title":"two files"}],"significance":"notable"}`)
	case step == 200:
		return does("ask_developer", `{"intent":"I ask.","step":"s1","questions":[{"text":"`+longQuestion+`"}]}`)
	case step >= 300:
		return does("finish", `{"intent":"It is done.","step":"s2","summary":"summed up"}`)
	}
	return does("read_file", fmt.Sprintf(`{"intent":"I read part %d.","step":"s1","path":"data.txt"}`, step))
}

// nothingLost says that nothing is lost from the moment on at which it stood in a request.
func nothingLost(t *testing.T, took [][]byte) {
	t.Helper()
	for _, want := range []string{longSteer, laterSteer, longDecision, longQuestion} {
		first := -1
		for i, said := range took {
			n := bytes.Count(said, []byte(want))
			if first < 0 && n > 0 {
				first = i
			}
			if first >= 0 && n == 0 {
				t.Fatalf("%q stood in request %d and is lost in request %d", want, first, i)
			}
		}
		if first < 0 {
			t.Errorf("%q stands in no request", want)
		}
	}
}

// cached is the share of bytes that stood at the same place in the request before, over all requests
// that go on with a conversation; and how often one was begun anew.
func cached(took [][]byte) (share float64, begun int) {
	same, all := 0, 0
	for i := 1; i < len(took); i++ {
		n := 0
		for n < len(took[i]) && n < len(took[i-1]) && took[i][n] == took[i-1][n] {
			n++
		}
		if n < len(took[i-1]) {
			begun++
			continue
		}
		same, all = same+n, all+len(took[i])
	}
	return float64(same) / float64(all), begun
}
