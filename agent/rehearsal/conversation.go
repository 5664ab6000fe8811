package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// question is a request, reduced to what a rehearsal looks at.
type question struct {
	model    string
	messages []message
	forced   string // the tool that has to be called; "none" when tools are forbidden; empty when it is free
	usage    bool   // the client wants a chunk with the usage
}

// message is one message of the conversation.
type message struct {
	role   string
	text   string
	calls  []toolCall
	callID string // of a tool's result
}

// toolCall is a call as the client tells it back.
type toolCall struct {
	id, name, arguments string
}

// wire is the part of a request's JSON that is read.
type wire struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// readQuestion decodes a request body.
func readQuestion(body []byte) (question, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return question{}, fmt.Errorf("the body is no chat completion request: %w", err)
	}
	if !w.Stream {
		return question{}, errors.New("the request does not ask for a stream; a rehearsal streams its answers alone")
	}
	q := question{model: w.Model, forced: forcedTool(w.ToolChoice), usage: w.StreamOptions.IncludeUsage}
	for i, m := range w.Messages {
		text, err := contentText(m.Content)
		if err != nil {
			return q, fmt.Errorf("message %d: %w", i, err)
		}
		out := message{role: m.Role, text: text, callID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out.calls = append(out.calls, toolCall{c.ID, c.Function.Name, c.Function.Arguments})
		}
		q.messages = append(q.messages, out)
	}
	return q, nil
}

// contentText reads a content that is text, a list of parts, null or absent.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.New("the content is neither text nor a list of parts")
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}

// forcedTool reads tool_choice in both of its forms.
func forcedTool(raw json.RawMessage) string {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word == "none" {
			return word
		}
		return ""
	}
	var choice struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &choice) != nil {
		return ""
	}
	return choice.Function.Name
}

// results are what the tools answered to the last message that called this tool, or any.
func (q question) results(tool string) string {
	var all []string
	for _, m := range slices.Backward(q.messages) {
		if m.role == "tool" {
			all = append(all, m.text)
		}
		if slices.ContainsFunc(m.calls, func(c toolCall) bool { return tool == "" || c.name == tool }) {
			slices.Reverse(all)
			return strings.Join(all, "\n")
		}
		if len(m.calls) > 0 {
			all = nil
		}
	}
	return ""
}

// conversation is all that was said, but for the system's words.
func (q question) conversation() string {
	var all strings.Builder
	for _, m := range q.messages {
		if m.role == "system" || m.role == "developer" {
			continue
		}
		all.WriteString(m.text + "\n")
		for _, c := range m.calls {
			all.WriteString(c.name + " " + c.arguments + "\n")
		}
	}
	return all.String()
}

// cancelled tells the calls of a message that came back as cancelled.
func (q question) cancelled(c toolCall) bool {
	for _, m := range q.messages {
		if m.role != "tool" || m.callID != c.id {
			continue
		}
		var outcome struct {
			Status string `json:"status"`
		}
		if json.Unmarshal([]byte(m.text), &outcome) == nil && outcome.Status == "cancelled" {
			return true
		}
	}
	return false
}

// told tells whether the result of a call is an outcome of Tandem's own that has these words.
func (q question) told(c toolCall, words string) bool {
	return slices.ContainsFunc(q.messages, func(m message) bool {
		return m.role == "tool" && m.callID == c.id && strings.HasPrefix(m.text, `{"status":`) && strings.Contains(m.text, words)
	})
}

// called tells whether a tool was called, with one of these words in its arguments.
func (q question) called(tool string, words []string) bool {
	for _, m := range q.messages {
		for _, c := range m.calls {
			if c.name == tool && (len(words) == 0 || hasAny(c.arguments, words)) && !q.cancelled(c) {
				return true
			}
		}
	}
	return false
}

// shows tells whether a condition holds.
func (q question) shows(c condition) bool {
	switch c.subject {
	case "call":
		return q.called(c.tool, c.words) != c.no
	case "result":
		return hasAny(q.results(c.tool), c.words) != c.lacks
	}
	return hasAny(q.conversation(), c.words) != c.lacks
}

// hasAny looks for words without regard to case: developers type them.
func hasAny(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, strings.ToLower(w)) })
}

// gave tells whether the message is the whole answer of the beat.
func (m message) gave(b beat) bool {
	calls := b.calls()
	if len(calls) != len(m.calls) {
		return false
	}
	if len(calls) == 0 {
		return strings.TrimSpace(m.text) == strings.TrimSpace(b.words())
	}
	for i, c := range calls {
		if c.tool != m.calls[i].name || !sameArguments(c.text, m.calls[i].arguments) {
			return false
		}
	}
	return true
}

// cutFrom tells whether the message may be the beginning of the beat's answer. Of a message
// without calls nothing more is asked: clients mark words that were cut.
func (m message) cutFrom(b beat) bool {
	calls := b.calls()
	if len(m.calls) > len(calls) {
		return false
	}
	for i, c := range m.calls {
		if c.name != calls[i].tool {
			return false
		}
	}
	return true
}

// sameArguments compares as JSON. Arguments that are none are told back in any form that a
// client sees fit.
func sameArguments(sent, back string) bool {
	var a, b any
	if json.Unmarshal([]byte(sent), &a) != nil {
		return true
	}
	return json.Unmarshal([]byte(back), &b) == nil && reflect.DeepEqual(a, b)
}
