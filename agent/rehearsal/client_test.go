package rehearsal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// reply is an answer as a client puts it together.
type reply struct {
	Text, Reasoning, Finish string
	Calls                   []replyCall
	Usage, Done             bool
	Status                  int
	RetryAfter, Body        string // of an answer that is none
	Broken                  error  // how the body ended, if not by its end
}

type replyCall struct{ ID, Name, Arguments string }

// person is a client of a model server; it holds one conversation.
type person struct {
	t        *testing.T
	url      string
	http     *http.Client
	messages []map[string]any
}

func newPerson(t *testing.T, url, task string) *person {
	carrier := &http.Transport{}
	t.Cleanup(carrier.CloseIdleConnections)
	p := &person{t: t, url: url, http: &http.Client{Transport: carrier}}
	p.add(map[string]any{"role": "system", "content": "You are the driver of a pair."})
	p.add(map[string]any{"role": "user", "content": task})
	return p
}

func (p *person) add(m map[string]any) { p.messages = append(p.messages, m) }

// steer puts the developer's words into the conversation.
func (p *person) steer(words string) {
	p.add(map[string]any{"role": "user", "content": "The developer steers (steer-1):\n" + words})
}

// request is the body of the next request.
func (p *person) request(forced string) []byte {
	body := map[string]any{"model": "m", "stream": true, "stream_options": map[string]any{"include_usage": true}, "messages": p.messages}
	switch forced {
	case "":
	case "none":
		body["tool_choice"] = forced
	default:
		body["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": forced}}
	}
	b, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// ask sends the conversation and reads the answer until it ends or until said wants no more.
func (p *person) ask(forced string, said func(string) bool) reply {
	p.t.Helper()
	return p.askUntil(p.t.Context(), forced, said)
}

// askWithin is ask by a client that hangs up when the context ends.
func (p *person) askWithin(ctx context.Context, forced string) reply {
	return p.askUntil(ctx, forced, nil)
}

func (p *person) askUntil(ctx context.Context, forced string, said func(string) bool) reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", p.url+"/chat/completions", bytes.NewReader(p.request(forced)))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer very-secret")
	res, err := p.http.Do(req)
	if err != nil {
		return reply{Broken: err}
	}
	defer res.Body.Close()
	r := reply{Status: res.StatusCode, RetryAfter: res.Header.Get("Retry-After")}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(res.Body)
		r.Body, r.Broken = string(b), err
		return r
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			r.Done = true
			continue
		}
		if err := r.take(data); err != nil {
			p.t.Fatal(err)
		}
		if said != nil && !said(r.Text) {
			return r
		}
	}
	r.Broken = lines.Err()
	return r
}

// take adds a chunk to the answer. It is strict: every call has its index and, once, its id.
func (r *reply) take(data string) error {
	var c struct {
		Model   string
		Choices []struct {
			Delta struct {
				Content          string
				ReasoningContent string `json:"reasoning_content"`
				ToolCalls        []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason *string `json:"finish_reason"`
		}
		Usage *struct {
			CompletionTokens int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return fmt.Errorf("chunk %s: %w", data, err)
	}
	if c.Model != "m" {
		return errors.New("the model's name is not told back: " + data)
	}
	r.Usage = r.Usage || c.Usage != nil && c.Usage.CompletionTokens > 0
	for _, choice := range c.Choices {
		r.Text += choice.Delta.Content
		r.Reasoning += choice.Delta.ReasoningContent
		if choice.FinishReason != nil {
			r.Finish = *choice.FinishReason
		}
		for _, t := range choice.Delta.ToolCalls {
			switch {
			case t.Index == len(r.Calls) && t.ID != "":
				r.Calls = append(r.Calls, replyCall{ID: t.ID})
			case t.Index >= len(r.Calls) || t.ID != "":
				return errors.New("a call begins in the middle: " + data)
			}
			r.Calls[t.Index].Name += t.Function.Name
			r.Calls[t.Index].Arguments += t.Function.Arguments
		}
	}
	return nil
}

// hear puts an answer into the conversation, with ids of the client's own.
func (p *person) hear(r reply, results ...string) {
	m := map[string]any{"role": "assistant", "content": r.Text}
	var calls []map[string]any
	for i, c := range r.Calls {
		calls = append(calls, map[string]any{"id": fmt.Sprintf("op%d-%d", len(p.messages), i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	p.add(m)
	for i, c := range calls {
		result := "ok"
		if i < len(results) {
			result = results[i]
		}
		p.add(map[string]any{"role": "tool", "tool_call_id": c["id"], "content": result})
	}
}
