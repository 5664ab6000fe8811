package model

import (
	"strings"
)

const (
	// maxAnswer bounds what is kept of one answer: more than any model can say in one.
	maxAnswer = 8 << 20
	// maxCalls bounds the calls in one answer: each becomes an operation that the developer sees.
	maxCalls = 128
	// maxName bounds what is kept of the name of a call: no tool's is longer.
	maxName = 256
)

// assembly puts an answer together from its chunks and judges whether it is whole.
type assembly struct {
	said func(Delta)

	text, reasoning strings.Builder
	calls           calls
	usage           Usage
	finish          string // the server's word; the last one counts

	streamed  bool   // it came in deltas; a message behind them only repeats them
	whole     bool   // it came as one JSON completion
	counted   bool   // the server told the usage
	late      bool   // the chunk that finished also carried a call
	unrelated []byte // the first event that was no part of a completion
}

// take adds one event. It adds what the event says even when the event also carries
// an error.
func (a *assembly) take(event []byte) error {
	c, err := parseChunk(event)
	if err != nil {
		return &garbageError{what: "it sent an event of another shape", sample: event[:min(len(event), maxSample)]}
	}
	for _, choice := range c.Choices {
		if choice.Index.value == 0 { // we ask for one choice; another is not ours
			a.choose(choice)
		}
	}
	if err := a.excess(); err != nil {
		return err
	}
	a.count(c.Groq.Usage)
	a.count(c.Usage)
	if fault := c.fault(event); fault != nil {
		return readFault(fault)
	}
	if len(c.Choices) == 0 && a.unrelated == nil {
		a.unrelated = append([]byte{}, event[:min(len(event), maxSample)]...)
	}
	return nil
}

// excess refuses an answer that nobody can have meant: a model that turns in a circle, or a server that floods.
func (a *assembly) excess() error {
	switch {
	case len(a.calls.list) > maxCalls:
		return &garbageError{what: "it asks for more than 128 tool calls in one answer", final: true}
	case a.text.Len()+a.reasoning.Len()+a.calls.size > maxAnswer:
		return &garbageError{what: "its answer is longer than 8 MB", final: true}
	}
	return nil
}

func (a *assembly) choose(c choice) {
	said, add := c.Delta, a.calls.add
	a.streamed = a.streamed || c.Delta != nil
	if c.Message != nil && !a.streamed {
		said, add, a.whole = c.Message, a.calls.addWhole, true
	}
	if c.Finish != "" {
		a.finish = string(c.Finish)
		a.late = said != nil && len(said.ToolCalls) > 0
	}
	a.count(c.Usage)
	if said == nil {
		return
	}
	a.say(Delta{Text: said.Content.text + string(said.Refusal), Reasoning: said.thought()})
	for _, d := range said.ToolCalls {
		if add(d); len(a.calls.list) > maxCalls {
			return
		}
	}
}

func (a *assembly) say(d Delta) {
	if d == (Delta{}) {
		return
	}
	a.text.WriteString(d.Text)
	a.reasoning.WriteString(d.Reasoning)
	if a.said != nil {
		a.said(d)
	}
}

func (a *assembly) count(usage []byte) {
	if u, ok := parseUsage(usage); ok {
		a.usage, a.counted = u, true
	}
}

// end judges the answer at its end; done tells that the server sent [DONE].
func (a *assembly) end(done bool) error {
	something := a.text.Len() > 0 || len(a.calls.list) > 0
	switch {
	case !something && a.finish == "" && a.unrelated != nil:
		return &garbageError{what: "it sent no choices", sample: a.unrelated, astray: true, final: true}
	case !something && a.finish == "":
		return &garbageError{what: "it sent an answer with nothing in it", astray: true}
	case !done && !a.whole && !a.closed(something):
		return errTorn
	case done && a.finish == "" && !a.calls.sound():
		return errTorn // the end mark is a proxy's: the call above it is half
	}
	return a.check()
}

// closed tells whether a stream without [DONE] may pass for whole. A finish reason in
// one chunk with a call is not enough: servers exist that repeat it with each call.
func (a *assembly) closed(something bool) bool {
	return a.finish != "" && something && (!a.late || a.counted)
}

// check refuses a whole answer that cannot be acted upon.
func (a *assembly) check() error {
	switch finish, ok := finishes[strings.ToLower(a.finish)]; {
	case ok && finish == ToolCalls && len(a.calls.list) == 0:
		return &garbageError{what: "it announced tool calls and sent none"}
	case brokenFinishes[strings.ToLower(a.finish)]:
		return fault{message: "the answer ended with " + a.finish}
	}
	return nil
}

// answer is the whole answer; end has found it sound.
func (a *assembly) answer() Answer {
	whole := a.partial()
	whole.Calls = a.calls.whole()
	whole.Finish = finishes[strings.ToLower(a.finish)]
	if whole.Finish == Stop && len(whole.Calls) > 0 {
		whole.Finish = ToolCalls
	}
	return whole
}

// partial is what can be kept of an answer that broke.
func (a *assembly) partial() Answer {
	return Answer{Text: a.text.String(), Reasoning: a.reasoning.String(), Usage: a.usage}
}

// finishes maps the words of servers; an unknown word is a regular stop.
var finishes = map[string]Finish{
	"tool_calls": ToolCalls, "tool_call": ToolCalls, "tool_use": ToolCalls, "function_call": ToolCalls,
	"length": Length, "max_tokens": Length, "model_length": Length, "max_output_tokens": Length,
	"content_filter": ContentFilter, "safety": ContentFilter, "refusal": ContentFilter, "sensitive": ContentFilter,
	"recitation": ContentFilter, "prohibited_content": ContentFilter, "blocklist": ContentFilter,
}

// brokenFinishes are reasons that say the server could not go on.
var brokenFinishes = map[string]bool{
	"error": true, "network_error": true, "abort": true, "insufficient_system_resource": true,
	"malformed_function_call": true, "internal_error": true,
}
