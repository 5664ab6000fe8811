package session

import (
	"regexp"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

// Redactor takes secrets out of text before it reaches journal, log, client or model: the
// values of the environment's variables named *_KEY, *_TOKEN, *_SECRET or *_PASSWORD, and
// private-key blocks. The zero Redactor knows of no values.
type Redactor struct {
	values *strings.Replacer
	marks  []string // what stands in place of each value
}

// shortestSecret is the shortest value, in bytes, that is taken for a secret: shorter ones
// stand in any text.
const shortestSecret = 6

var privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)

// NewRedactor makes the redactor of an environment.
func NewRedactor(environ []string) Redactor {
	var pairs [][2]string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if secretName(name) && len(value) >= shortestSecret {
			pairs = append(pairs, [2]string{value, "[" + name + " redacted]"})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) }) // a value may hold another
	var flat, marks []string
	for _, p := range pairs {
		flat, marks = append(flat, p[0], p[1]), append(marks, p[1])
	}
	return Redactor{strings.NewReplacer(flat...), marks}
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// Text is a text without secrets.
func (r Redactor) Text(text string) string {
	if r.values != nil {
		text = r.values.Replace(text)
	}
	if strings.Contains(text, "PRIVATE KEY-----") {
		text = privateKey.ReplaceAllString(text, keyMark)
	}
	return text
}

// keyMark stands in place of a private key.
const keyMark = "[private key redacted]"

// Mark is the first mark in a text that stands in place of a secret, or "".
func (r Redactor) Mark(text string) string {
	for _, mark := range append(r.marks[:len(r.marks):len(r.marks)], keyMark) {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

// redacted is an input without secrets, whoever said them.
func redacted(in agent.Input, clean func(string) string) agent.Input {
	if clean == nil {
		return in
	}
	switch in := in.(type) {
	case agent.Start:
		in.Task = clean(in.Task)
		in.Instructions = slices.Clone(in.Instructions)
		for i := range in.Instructions {
			in.Instructions[i].Text = clean(in.Instructions[i].Text)
		}
		return in
	case agent.Steer:
		in.Text = clean(in.Text)
		return in
	case agent.Replan:
		in.Reason, in.Edits = clean(in.Reason), redactedEdits(in.Edits, clean)
		return in
	case agent.Pause:
		in.Reason = clean(in.Reason)
		return in
	case agent.Decide:
		in.Text = clean(in.Text)
		return in
	case agent.Replied:
		in.Text, in.Reasoning = clean(in.Text), clean(in.Reasoning)
		in.Calls = slices.Clone(in.Calls)
		for i := range in.Calls {
			in.Calls[i].Arguments = clean(in.Calls[i].Arguments)
		}
		return in
	case agent.AskFailed:
		in.Text = clean(in.Text)
		return in
	case agent.Said:
		in.Text = clean(in.Text)
		return in
	case agent.Outcome:
		in.Text, in.Output = clean(in.Text), clean(in.Output)
		return in
	}
	return in
}

// redactedEdits are edits of a plan without secrets.
func redactedEdits(edits []protocol.PlanEdit, clean func(string) string) []protocol.PlanEdit {
	out := slices.Clone(edits)
	for i, e := range out {
		if e.Step != nil {
			step := *e.Step
			step.Title, step.Intent, step.Verify = clean(step.Title), clean(step.Intent), redactedVerify(step.Verify, clean)
			out[i].Step = &step
		}
		out[i].Title, out[i].Intent = redactedText(e.Title, clean), redactedText(e.Intent, clean)
		out[i].Verify = redactedVerify(e.Verify, clean)
	}
	return out
}

func redactedText(text *string, clean func(string) string) *string {
	if text == nil {
		return nil
	}
	cleaned := clean(*text)
	return &cleaned
}

func redactedVerify(v *protocol.Verify, clean func(string) string) *protocol.Verify {
	if v == nil {
		return nil
	}
	return &protocol.Verify{Command: clean(v.Command)}
}
