package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/protocol"
)

// The messages of the conversation, in the form of the chat completions that OpenAI's API
// reference describes. Each is encoded once and sent as these bytes ever after.
type (
	message struct {
		Role       string     `json:"role"`
		Content    *string    `json:"content"`
		Reasoning  string     `json:"reasoning_content,omitempty"`
		ToolCalls  []toolCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	toolCall struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function function        `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// encode is v as compact JSON, without escapes that only HTML needs.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // plain structs of strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func say(role, text string) json.RawMessage {
	return json.RawMessage(encode(message{Role: role, Content: &text}))
}

func toolMessage(op, text string) json.RawMessage {
	text = data(sound(text))
	return json.RawMessage(encode(message{Role: "tool", Content: &text, ToolCallID: op}))
}

// assistantMessage is an answer as the conversation keeps it. Its calls bear the ids of their
// operations, from first on. Reasoning goes back only with calls, to servers that sent it.
func assistantMessage(in Replied, first int) json.RawMessage {
	m := message{Role: "assistant"}
	if in.Text != "" || len(in.Calls) == 0 {
		m.Content = &in.Text
	}
	if len(in.Calls) > 0 {
		m.Reasoning = in.Reasoning
	}
	for i, c := range in.Calls {
		if !json.Valid(c.Extra) {
			c.Extra = nil
		}
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: fmt.Sprintf("op%07d", first+i), Type: "function", Extra: c.Extra,
			Function: function{Name: c.Name, Arguments: object(c.Arguments)}})
	}
	return json.RawMessage(encode(m))
}

// cutMessage is what an answer had said when it was stopped, marked as cut.
func cutMessage(said string, by protocol.CancelledBy) json.RawMessage {
	return say("assistant", strings.TrimLeft(said+" "+cutMark(by), " "))
}

// unsent are the messages that the next question adds: the system's and the task's at the
// start; then a result for each call of the last answer, and one message with all that the
// model has to be told.
func (m *moment) unsent() []json.RawMessage {
	var out []json.RawMessage
	var told []string
	if m.talk.size == 0 {
		out = append(out, say("system", systemWords))
		told = append(told, taskWords(m.Started))
	}
	for _, t := range m.Turn {
		out = append(out, toolMessage(t.Op, m.result(t)))
	}
	for _, n := range m.Unsaid {
		told = append(told, n.Text)
	}
	if m.Missing != "" {
		told = append(told, missingWords(m.Missing))
	}
	if len(told) > 0 {
		out = append(out, say("user", strings.Join(told, "\n\n")))
	}
	return out
}

// result is what the model is told of a call now. One that still runs gets a placeholder; its
// outcome follows as a note.
func (m *moment) result(t TurnCall) string {
	if t.Ended {
		return t.Result
	}
	c, _ := m.call(t.Op)
	if c.Stop != nil {
		return encode(cancelledResult{Status: "cancelled", By: c.Stop, Note: "it runs and is being ended; what it did follows",
			Output: clip(m.said(t.Op), shownOutput)})
	}
	status := "running"
	if c.Op.Status == protocol.OpQueued {
		status = "queued"
	}
	return encode(runningResult{Status: status, Operation: t.Op, Output: clip(m.said(t.Op), shownOutput), Note: "the outcome follows in a later message"})
}

// validTalk says that each call in the conversation has one result, right behind it, but for
// those of the last answer, which are still to be sent.
func (s State) validTalk() bool {
	var open []string
	for raw := range s.talk.oldest {
		var m message
		if json.Unmarshal(raw, &m) != nil {
			return false
		}
		if m.Role == "tool" {
			i := slices.Index(open, m.ToolCallID)
			if i < 0 {
				return false
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		if len(open) > 0 {
			return false
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	return slices.EqualFunc(open, s.Turn, func(id string, t TurnCall) bool { return id == t.Op })
}

type (
	runningResult struct {
		Status    string `json:"status"`
		Operation string `json:"operation"`
		Output    string `json:"output_so_far"`
		Note      string `json:"note"`
	}
	cancelledResult struct {
		Status string                `json:"status"`
		By     *protocol.CancelledBy `json:"by"`
		Note   string                `json:"note,omitempty"`
		Output string                `json:"output,omitempty"`
	}
	lostResult struct {
		Status string `json:"status"`
		Note   string `json:"note"`
		Output string `json:"output_so_far,omitempty"`
	}
	planOutcome struct {
		Status        string         `json:"status"`
		Revision      int            `json:"revision"`
		Verifications []Verification `json:"verifications,omitempty"`
		Unverified    string         `json:"unverified,omitempty"`
		Conflicts     []string       `json:"conflicts,omitempty"`
		Ended         []string       `json:"ended_operations,omitempty"`
		StillRunning  []string       `json:"still_running,omitempty"`
	}
)

func cancelledText(e Cancelled) string {
	r := cancelledResult{Status: "cancelled", By: &e.By, Note: "it never began", Output: e.Output}
	if e.Partial {
		r.Note = "it was ended while it ran; look at what it did before you act on it"
		r.Output = e.Text
	}
	return encode(r)
}

// lostText is what the model is told of a call that ran when the daemon died: all that the
// developer saw of its output, and no more.
func (s State) lostText(op string) string {
	c, _ := s.call(op)
	return encode(lostResult{Status: "lost", Note: "the daemon ended while it ran: the outcome is unknown; look before you act again", Output: c.Op.Output})
}

// planResult is what the model is told of its plan.
func (s State) planResult(c Call) string {
	o := planOutcome{Status: "done", Revision: s.Plan.Revision, Verifications: c.Verified, Conflicts: c.Conflicts,
		Ended: c.Obsolete, StillRunning: s.runningCommands()}
	if !s.Started.Trusted {
		o.Unverified = "the workspace is not trusted, so no verification was run; a step with one is not done"
	}
	for _, v := range c.Verified {
		if !v.Passed {
			o.Status = "a verification did not pass; its steps are not done"
		}
	}
	return encode(o)
}

// brief begins a conversation that has become too long anew: what the task is, what is done,
// what remains, what was decided and said, and what the model has not been told yet.
func (s State) brief() []json.RawMessage {
	var b strings.Builder
	b.WriteString(taskWords(s.Started))
	b.WriteString("\n\n[brief] The conversation became too long for you and begins anew here. What has happened:\n")
	for _, t := range s.Plan.Steps {
		fmt.Fprintf(&b, "- step %s (%s): %s\n", inline(t.ID), t.Status, inline(t.Title))
		if t.Verify != nil {
			fmt.Fprintf(&b, "  verify: %s\n", inline(t.Verify.Command))
		}
	}
	for _, d := range s.Decisions {
		fmt.Fprintf(&b, "- decision (%s): %s\n", d.Status, inline(d.Summary))
	}
	for _, w := range s.toldWords() {
		fmt.Fprintf(&b, "- the developer said: %s\n", w)
	}
	b.WriteString(s.lately(briefOps))
	for _, q := range s.Questions {
		fmt.Fprintf(&b, "- open question: %s\n", inline(q.Text))
	}
	for _, c := range s.Open {
		fmt.Fprintf(&b, "- %s runs: %s %s\n", c.Op.ID, inline(c.Op.Tool), inline(c.Op.Target))
	}
	if s.Pause != nil {
		b.WriteString("\n" + pauseBrief(s) + "\n")
	}
	for _, t := range s.Turn {
		if t.Ended {
			fmt.Fprintf(&b, "- result of %s:\n%s\n", t.Op, quote(clip(t.Result, 2000)))
		}
	}
	for _, n := range s.Unsaid {
		b.WriteString("\n" + n.Text + "\n")
	}
	return []json.RawMessage{say("system", systemWords), say("user", b.String())}
}

// toldWords is what the developer has said, without the steers that the model is yet to be told: these
// stand whole behind it.
func (s State) toldWords() []string {
	said := s.words.all()
	for _, n := range slices.Backward(s.Unsaid) {
		t, ok := s.steering(n.Steer)
		for i := len(said) - 1; ok && i >= 0; i-- {
			if said[i] == t.Steer.Text {
				said = slices.Delete(said, i, i+1)
				break
			}
		}
	}
	return said
}

// pauseBrief is what the agent is to do in the pause that the session is in.
func pauseBrief(s State) string {
	if s.Took {
		return decidedNote(Decided{Pause: s.Pause.ID, Text: s.Pause.Decision})
	}
	return pauseNote(*s.Pause)
}

// briefOps is how many of the latest operations a brief names.
const briefOps = 60

func (s State) lately(most int) string {
	var lines []string
	for p := range s.done.newest {
		if len(lines) == most {
			break
		}
		if p.Op.Kind == protocol.Tool && p.Op.Effect != protocol.EffectNone {
			lines = append(lines, fmt.Sprintf("- %s %s %s: %s\n", p.Op.Status, inline(p.Op.Tool), inline(p.Op.Target), inline(clip(p.Op.Intent, 120))))
		}
	}
	slices.Reverse(lines)
	return strings.Join(lines, "")
}

// sound is a text that a server takes as a tool's result: never empty.
func sound(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	return text
}

// clip bounds a text to a number of bytes, head and tail, and says what was cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if most < 200 {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	head, tail := strings.ToValidUTF8(text[:most*2/3], ""), text[len(text)-most/3:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n… %d bytes cut …\n%s", head, len(text)-len(head)-len(tail), tail)
}
