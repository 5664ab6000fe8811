//go:build soak && linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A soakModel is a model's server that works at random and at a random pace, and holds every
// request against the rules of a conversation. What it answers follows from the seed and from the
// conversation.
type soakModel struct {
	*httptest.Server
	seed uint64

	mu       sync.Mutex
	requests int
	longest  map[string][]json.RawMessage // the messages of each session's longest request
	faults   []string
}

func newSoakModel(t *testing.T, seed uint64) *soakModel {
	m := &soakModel{seed: seed, longest: map[string][]json.RawMessage{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

var soakTask = regexp.MustCompile(`task of session ([0-9]+)\.`)

func (m *soakModel) serve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages   []json.RawMessage
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the daemon was killed while it asked
	}
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) < 2 {
		m.fault("a request is no conversation: %v %.200s", err, body)
		return
	}
	named := soakTask.FindSubmatch(q.Messages[1])
	if named == nil {
		m.fault("a request names no session: %.200s", q.Messages[1])
		return
	}
	m.heard(string(named[1]), q.Messages)
	a := m.answer(string(named[1]), q.Messages, bytes.Contains(q.ToolChoice, []byte("update_plan")))
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range a.words {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
		w.(http.Flusher).Flush()
		select {
		case <-time.After(a.pace):
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, a.end())
}

func (m *soakModel) fault(format string, a ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.faults) < 50 {
		m.faults = append(m.faults, fmt.Sprintf(format, a...))
	}
}

// heard notes a request. A question that was cut can arrive behind the one that cut it: of two,
// one is the beginning of the other.
func (m *soakModel) heard(session string, messages []json.RawMessage) {
	if err := soundTalk(messages); err != nil {
		m.fault("session %s: the conversation is not valid: %v", session, err)
	}
	m.mu.Lock()
	m.requests++
	before := m.longest[session]
	if len(messages) >= len(before) {
		m.longest[session] = messages
	}
	m.mu.Unlock()
	for i := range min(len(before), len(messages)) {
		if !bytes.Equal(before[i], messages[i]) {
			m.fault("session %s: message %d was %.300s and became %.300s", session, i, before[i], messages[i])
			return
		}
	}
}

// talk is the longest conversation of a session as one text.
func (m *soakModel) talk(session string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return joinedTalk(m.longest[session])
}

func joinedTalk(messages []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range messages {
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// soundTalk says which rule a conversation breaks: each call has one result, right behind it.
func soundTalk(messages []json.RawMessage) error {
	var open []string
	for i, raw := range messages {
		var m struct {
			Role       string
			Content    *string
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
			ToolCallID string                `json:"tool_call_id"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		empty := m.Content == nil || *m.Content == ""
		at := slices.Index(open, m.ToolCallID)
		switch {
		case m.Role == "tool" && (at < 0 || empty):
			return fmt.Errorf("message %d is no result of an open call: %.200s", i, raw)
		case m.Role == "tool":
			open = slices.Delete(open, at, at+1)
		case len(open) > 0:
			return fmt.Errorf("message %d comes while calls %q have no result", i, open)
		case empty && len(m.ToolCalls) == 0:
			return fmt.Errorf("message %d is empty", i)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return errors.New("the last calls have no result")
	}
	return nil
}

// soakAnswer is some words at a pace, and a call or none.
type soakAnswer struct {
	words []string
	pace  time.Duration
	tool  string
	args  map[string]any
}

func (a soakAnswer) end() string {
	if a.tool == "" {
		return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	}
	a.args["intent"], a.args["step"] = "I go on with "+a.tool+".", "s1"
	raw, err := json.Marshal(a.args)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%q}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", a.tool, raw)
}

func (m *soakModel) answer(session string, messages []json.RawMessage, forced bool) soakAnswer {
	h := fnv.New64a()
	fmt.Fprint(h, session, len(messages))
	r := rand.New(rand.NewPCG(m.seed, h.Sum64()))
	a := soakAnswer{words: strings.SplitAfter("I look at what is there and then I go on. ", " ")[:1+r.IntN(9)],
		pace: time.Duration(20+r.IntN(300)) * time.Millisecond}
	last := string(messages[len(messages)-1])
	switch n := r.IntN(100); {
	case strings.Contains(last, "The session is paused") || strings.Contains(last, "[paused by"):
		return a // in words
	case forced || !strings.Contains(joinedTalk(messages), `"update_plan"`):
		a.tool = "update_plan"
		a.args = map[string]any{"explanation": "so it goes", "steps": []any{map[string]any{"id": "s1", "title": "Work", "intent": "I work.", "status": "active"}}}
	case n < 45:
		a.tool, a.args = "read_file", map[string]any{"path": "a.txt"}
	case n < 70:
		a.tool = "write_file"
		a.args = map[string]any{"path": "of" + session + ".txt", "content": strings.Repeat("a line\n", r.IntN(20))}
	case n < 82:
		a.tool, a.args = "run_command", map[string]any{"command": fmt.Sprintf("echo begun; sleep 0.%d; echo over", r.IntN(9))}
	case n < 90:
		a.tool, a.args = "run_command", map[string]any{"command": "sleep 30 & setsid sleep 20 & echo begun; sleep 4", "background": r.IntN(2) == 0}
	case n < 93:
		a.tool, a.args = "finish", map[string]any{"summary": "It is done."}
	case n < 96: // its turn ends in words
	default:
		a.tool, a.args = "search", map[string]any{"pattern": "line"}
	}
	return a
}
