package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A teller is a model's server that answers by the conversation that it gets, and by nothing else:
// a request that comes twice, or from a second daemon, gets the same answer. It holds every request
// against the rules of a conversation.
type teller struct {
	*httptest.Server
	wants chan string // a word of the developer that it waits for

	mu     sync.Mutex
	asked  int
	told   []json.RawMessage // the messages of the last request
	faults []string
}

func newTeller(t *testing.T) *teller {
	m := &teller{wants: make(chan string, 64)}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// nobodyWaits forgets what was waited for by an answer whose daemon has died.
func (m *teller) nobodyWaits() {
	for len(m.wants) > 0 {
		<-m.wants
	}
}

// last is the conversation of the last request as one text.
func (m *teller) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, raw := range m.told {
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// tail is the end of the last conversation, for a person.
func (m *teller) tail() string {
	all := m.last()
	return "…" + all[max(0, len(all)-3000):]
}

func (m *teller) lastTalk() talk {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, _ := readTalk(m.told) // a fault of it is among the faults already
	return t
}

func (m *teller) serve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages   []json.RawMessage
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the daemon died while it asked
	}
	if err := json.Unmarshal(body, &q); err != nil {
		m.fault(fmt.Sprintf("a request is no JSON: %v", err))
		return
	}
	t := m.heard(q.Messages)
	a := t.answer(strings.Contains(string(q.ToolChoice), "update_plan"))
	if m.tooOften() {
		a = calling("finish", map[string]any{"summary": "I go round in circles."})
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, words(a.words))
	w.(http.Flusher).Flush()
	if a.waits != "" {
		m.wants <- a.waits
		<-r.Context().Done()
		return
	}
	if a.tool == "" {
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		return
	}
	fmt.Fprint(w, calls(a.tool, a.args))
}

// mostAsked is far more requests than the story needs.
const mostAsked = 60

// tooOften counts the requests; a story that goes round in circles is ended.
func (m *teller) tooOften() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked++; m.asked == mostAsked {
		m.faults = append(m.faults, "the story goes round in circles")
	}
	return m.asked >= mostAsked
}

// heard notes a request, which has to go on where the last one ended.
func (m *teller) heard(messages []json.RawMessage) talk {
	t, err := readTalk(messages)
	if err != nil {
		m.fault(fmt.Sprintf("a conversation is not valid: %v", err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	grows := len(messages) >= len(m.told) && slices.EqualFunc(messages[:len(m.told)], m.told, func(a, b json.RawMessage) bool { return string(a) == string(b) })
	if !grows {
		m.faults = append(m.faults, fmt.Sprintf("a conversation of %d messages does not begin with the %d before it", len(messages), len(m.told)))
	}
	m.told = messages
	return t
}

func (m *teller) fault(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, text)
}

// talk is a conversation as a model reads it.
type talk struct {
	calls []told
	said  string // all words of the developer
}

// told is a call with its result.
type told struct {
	id, tool, args, result string
	answered               bool
}

// readTalk reads a conversation; the error says which rule it breaks.
func readTalk(messages []json.RawMessage) (talk, error) {
	var t talk
	var err error
	open := 0 // calls without a result
	for i, raw := range messages {
		var m struct {
			Role       string
			Content    *string
			ToolCalls  []toldCall `json:"tool_calls"`
			ToolCallID string     `json:"tool_call_id"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return t, fmt.Errorf("message %d: %w", i, err)
		}
		switch {
		case m.Role == "tool":
			open--
			err = t.result(m.ToolCallID, m.Content)
		case open > 0:
			err = fmt.Errorf("%d calls have no result", open)
		case m.Role == "user":
			t.said += *m.Content + "\n"
		case m.Role == "assistant" && len(m.ToolCalls) == 0 && (m.Content == nil || *m.Content == ""):
			err = fmt.Errorf("the assistant says nothing")
		}
		if err != nil {
			return t, fmt.Errorf("message %d: %w", i, err)
		}
		for _, c := range m.ToolCalls {
			t.calls = append(t.calls, told{id: c.ID, tool: c.Function.Name, args: c.Function.Arguments})
			open++
		}
	}
	if open > 0 {
		return t, fmt.Errorf("at the end %d calls have no result", open)
	}
	return t, nil
}

type toldCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

// result gives a call its result, the only one.
func (t *talk) result(id string, content *string) error {
	i := slices.IndexFunc(t.calls, func(c told) bool { return c.id == id })
	switch {
	case i < 0:
		return fmt.Errorf("a result of %q, which nobody called", id)
	case t.calls[i].answered:
		return fmt.Errorf("a second result of %s", id)
	case content == nil || *content == "":
		return fmt.Errorf("an empty result of %s", id)
	}
	t.calls[i].result, t.calls[i].answered = *content, true
	return nil
}

// callFate is what a result says became of a call.
type callFate string

const (
	callDone  callFate = "done"
	callLost  callFate = "lost"
	callNever callFate = "never began"
	callElse  callFate = "something else"
)

func (c told) fate() callFate {
	switch {
	case strings.Contains(c.result, `"status":"lost"`):
		return callLost
	case strings.Contains(c.result, "it never began"):
		return callNever
	case c.tool != "run_command" || strings.Contains(c.result, "exit code 0"):
		return callDone
	}
	return callElse
}

// runs are the calls of run_command, in order.
func (t talk) runs() []told {
	return slices.DeleteFunc(slices.Clone(t.calls), func(c told) bool { return c.tool != "run_command" })
}

// latest is the last call of a tool and what came behind it.
func (t talk) latest(tool string) (told, []told, bool) {
	for i, c := range slices.Backward(t.calls) {
		if c.tool == tool {
			return c, t.calls[i+1:], true
		}
	}
	return told{}, nil, false
}

// is says what the model knows of a piece of work: whether it is done, and if its outcome is
// unknown, whether the file at path, which it then reads, shows the proof.
func (t talk) is(tool, path, proof string) (done, look bool) {
	c, behind, ok := t.latest(tool)
	if !ok || c.fate() == callNever {
		return false, false
	}
	if c.fate() == callDone {
		return true, false
	}
	for _, r := range behind {
		if r.tool == "read_file" && strings.Contains(r.args, path) && r.fate() == callDone {
			return strings.Contains(r.result, proof), false
		}
	}
	return false, true
}

// An answer says some words and calls a tool; with waits it hangs until the developer has spoken.
type tellersAnswer struct {
	words, waits string
	tool         string
	args         map[string]any
}

func calling(tool string, args map[string]any) tellersAnswer {
	args["intent"], args["step"] = "I go on, with "+tool+".", "s1"
	return tellersAnswer{words: "I go on. ", tool: tool, args: args}
}

// answer is the story: what comes next after this conversation.
func (t talk) answer(forced bool) tellersAnswer {
	if _, _, planned := t.latest("update_plan"); forced || !planned {
		return t.plan("active")
	}
	if strings.LastIndex(t.said, "The session is paused") > strings.LastIndex(t.said, "[resumed]") {
		return tellersAnswer{words: "I hear you."}
	}
	if a, next := t.make("write_file", "made.txt", "it is there", map[string]any{"path": "made.txt", "content": "it is there\n"}); next {
		return a
	}
	if !strings.Contains(t.said, "[steer ") {
		return tellersAnswer{words: "I think about its name", waits: "steer"}
	}
	edits := []any{map[string]any{"old": "tally", "new": "tally I"}}
	if a, next := t.make("edit_file", "tally.txt", "tally I", map[string]any{"path": "tally.txt", "edits": edits}); next {
		return a
	}
	if !strings.Contains(t.said, "[re-plan]") {
		return tellersAnswer{words: "I think about the plan", waits: "replan"}
	}
	n := len(t.runs())
	line := fmt.Sprintf("echo begin-%d >> marks.txt; echo at work; sleep 0.08; echo end-%d >> marks.txt", n+1, n+1)
	if a, next := t.make("run_command", "marks.txt", fmt.Sprintf("end-%d", n), map[string]any{"command": line}); next {
		return a
	}
	return t.close()
}

// make does a piece of work, or looks whether it was done; next is false when it was.
func (t talk) make(tool, path, proof string, args map[string]any) (a tellersAnswer, next bool) {
	done, look := t.is(tool, path, proof)
	if look {
		return calling("read_file", map[string]any{"path": path}), true
	}
	return calling(tool, args), !done
}

// close verifies the first step, asks, and finishes.
func (t talk) close() tellersAnswer {
	if c, _, _ := t.latest("update_plan"); !strings.Contains(c.result, `"passed":true`) {
		return t.plan("done")
	}
	if !strings.Contains(t.said, "[answer to") {
		return calling("ask_developer", map[string]any{"questions": []any{map[string]any{"text": "Which colour?"}}})
	}
	return calling("finish", map[string]any{"summary": "It is made and counted."})
}

// plan is the whole plan, with what the developer has said and added.
func (t talk) plan(first string) tellersAnswer {
	step := func(id, status string) map[string]any {
		return map[string]any{"id": id, "title": "Step " + id, "intent": "I do " + id + ".", "status": status}
	}
	s1 := step("s1", first)
	s1["verify"] = map[string]any{"command": "echo verifying; test -e made.txt"}
	steps := []any{s1, step("s2", "pending")}
	if strings.Contains(t.said, "[steer ") {
		steps = append(steps, step("s3", "pending"))
	}
	if strings.Contains(t.said, "[re-plan]") {
		steps = append(steps, step("n1", "pending"))
	}
	return calling("update_plan", map[string]any{"steps": steps, "explanation": "so it goes"})
}
