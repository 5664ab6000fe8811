package session

import (
	"bytes"
	"encoding/json"
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
	values  *strings.Replacer
	secrets []string
	marks   []string // what stands in place of each
}

// shortestSecret is the shortest value, in bytes, that is taken for a secret: shorter ones
// stand in any text.
const shortestSecret = 6

var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	wholeKey   = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`)
)

// NewRedactor makes the redactor of an environment.
func NewRedactor(environ []string) Redactor {
	var pairs [][2]string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if secretName(name) && len(value) >= shortestSecret {
			for _, form := range forms(value) {
				pairs = append(pairs, [2]string{form, "[" + name + " redacted]"})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) }) // a value may hold another
	var flat, secrets, marks []string
	for _, p := range pairs {
		flat, secrets, marks = append(flat, p[0], p[1]), append(secrets, p[0]), append(marks, p[1])
	}
	return Redactor{strings.NewReplacer(flat...), secrets, marks}
}

// forms are a value as it is and as it stands in JSON, with and without escapes that only HTML
// needs: a model's arguments are JSON.
func forms(value string) []string {
	out := []string{value}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) != nil {
			continue // a string can be encoded
		}
		quoted := strings.TrimSpace(b.String())
		if form := quoted[1 : len(quoted)-1]; !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
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

// keyHead begins a private key.
const keyHead = "-----BEGIN "

// Unfinished is how many bytes at the end of a text may be the beginning of a secret.
func (r Redactor) Unfinished(text string) int {
	if keys := wholeKey.FindAllStringIndex(text, -1); len(keys) > 0 {
		text = text[keys[len(keys)-1][1]:]
	}
	if at := strings.LastIndex(text, keyHead); at >= 0 {
		head, _, whole := strings.Cut(text[at:], "\n")
		if !whole || strings.Contains(head, "PRIVATE KEY") {
			return len(text) - at
		}
	}
	longest := beginning(text, keyHead, nil)
	for _, secret := range r.secrets {
		longest = max(longest, beginning(text, secret, r.secrets))
	}
	return longest
}

// beginning is the length of the longest end of a text with which a word begins, but not ends,
// and which does not itself begin within a secret that is whole.
func beginning(text, word string, secrets []string) int {
	for n := min(len(text), len(word)-1); n > 0; n-- {
		if strings.HasSuffix(text, word[:n]) && !slices.ContainsFunc(secrets, func(s string) bool { return spans(text, len(text)-n, s) }) {
			return n
		}
	}
	return 0
}

// spans says that a word stands in a text before and behind a place.
func spans(text string, at int, word string) bool {
	return strings.Contains(text[max(0, at-len(word)+1):min(len(text), at+len(word)-1)], word)
}

// longestHeld is the longest text, in bytes, that is taken for the beginning of a secret.
const longestHeld = 64 << 10

// filter takes secrets out of a text that comes in pieces: the end of a piece that may be the
// beginning of a secret waits for the next.
func (r Redactor) filter() func(piece []byte, last bool) []byte {
	held := ""
	return func(piece []byte, last bool) []byte {
		text := held + string(piece)
		held = ""
		if n := r.Unfinished(text); !last && n <= longestHeld {
			text, held = text[:len(text)-n], text[len(text)-n:]
		}
		return []byte(r.Text(text))
	}
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
		in.Guards = redactedGuards(in.Guards, clean)
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
			c := &in.Calls[i]
			c.Name, c.Arguments = clean(c.Name), clean(c.Arguments)
			if len(c.Extra) > 0 {
				c.Extra = json.RawMessage(clean(string(c.Extra)))
			}
		}
		return in
	case agent.AskFailed:
		in.Text = clean(in.Text)
		return in
	case agent.CheckIn:
		in.Text = clean(in.Text)
		return in
	case agent.AskAside:
		in.Question, in.Facts = clean(in.Question), redactedTexts(in.Facts, clean)
		return in
	case agent.Resume:
		in.Drift = redactedTexts(in.Drift, clean)
		return in
	case agent.Configure:
		in.Guards = redactedGuards(in.Guards, clean)
		return in
	case agent.AddWatch:
		in.Name, in.Source = clean(in.Name), redactedSource(in.Source, clean)
		return in
	case agent.Evaluated:
		return redactedLook(in, clean)
	case agent.Kept:
		in.Broken = clean(in.Broken)
		return in
	case agent.Preceded:
		in.Run.Checks, in.Broken = redactedChecks(in.Run.Checks, clean), clean(in.Broken)
		return in
	case agent.Reran:
		return redactedRun(in, clean)
	case agent.Said:
		in.Text = clean(in.Text)
		return in
	case agent.Outcome:
		in.Text, in.Output, in.Findings = clean(in.Text), clean(in.Output), redactedFindings(in.Findings, clean)
		in.Conflicts = redactedTexts(in.Conflicts, clean)
		return in
	}
	return in
}

func redactedLook(in agent.Evaluated, clean func(string) string) agent.Input {
	in.Findings, in.Values = redactedFindings(in.Findings, clean), redactedValues(in.Values, clean)
	if len(in.Baseline) > 0 {
		in.Baseline = json.RawMessage(clean(string(in.Baseline)))
	}
	return in
}

func redactedTexts(list []string, clean func(string) string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = clean(out[i])
	}
	return out
}

func redactedGuards(g agent.Guards, clean func(string) string) agent.Guards {
	g.Watches = slices.Clone(g.Watches)
	for i, w := range g.Watches {
		g.Watches[i] = protocol.NewWatch{Name: clean(w.Name), Source: redactedSource(w.Source, clean)}
	}
	return g
}

// redactedSource is a value source without secrets. With a mark in it it cannot be read, and says so.
func redactedSource(s protocol.Source, clean func(string) string) protocol.Source {
	s.SQL, s.Query, s.Command, s.Output = clean(s.SQL), clean(s.Query), clean(s.Command), clean(s.Output)
	return s
}

func redactedValues(list []agent.Reading, clean func(string) string) []agent.Reading {
	out := slices.Clone(list)
	for i, v := range out {
		if text, ok := v.Value.(string); ok {
			out[i].Value = clean(text)
		}
		out[i].Error = clean(v.Error)
	}
	return out
}

func redactedRun(in agent.Reran, clean func(string) string) agent.Input {
	in.Facts, in.Values, in.Broken = redactedFacts(in.Facts, clean), redactedValues(in.Values, clean), clean(in.Broken)
	in.Comparison.Before.Checks = redactedChecks(in.Comparison.Before.Checks, clean)
	in.Comparison.After.Checks = redactedChecks(in.Comparison.After.Checks, clean)
	in.Comparison.Changes = slices.Clone(in.Comparison.Changes)
	for i, c := range in.Comparison.Changes {
		in.Comparison.Changes[i] = protocol.Change{What: clean(c.What), Before: clean(c.Before), After: clean(c.After)}
	}
	return in
}

func redactedFindings(list []agent.Finding, clean func(string) string) []agent.Finding {
	out := slices.Clone(list)
	for i := range out {
		out[i].Facts = redactedFacts(out[i].Facts, clean)
	}
	return out
}

func redactedFacts(list []protocol.Fact, clean func(string) string) []protocol.Fact {
	out := slices.Clone(list)
	for i, f := range out {
		out[i].Text = clean(f.Text)
		if f.Source != nil {
			source := *f.Source
			source.Expected, source.Observed = clean(source.Expected), clean(source.Observed)
			out[i].Source = &source
		}
	}
	return out
}

func redactedChecks(list []protocol.Check, clean func(string) string) []protocol.Check {
	out := slices.Clone(list)
	for i := range out {
		out[i].Expected, out[i].Observed = clean(out[i].Expected), clean(out[i].Observed)
	}
	return out
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
