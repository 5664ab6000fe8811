package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/protocol"
)

const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nqqqq\n-----END RSA PRIVATE KEY-----"

func TestRedactor(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=hunter2", "c_secret=lowercase", "D_PASSWORD=short",
		"E_PASSWORD=ünïcode", "PLAIN=visible", "F_KEY", "_KEY=underscore", `G_SECRET=a"b\c<d>`})
	for _, test := range []struct{ in, want string }{
		{"nothing to hide", "nothing to hide"},
		{"see hunter2-hunter2.", "see [A_KEY redacted]."}, // the longest first
		{"hunter2", "[B_TOKEN redacted]"},
		{"lowercase and visible", "[c_secret redacted] and visible"},
		{"short stays: it stands in any text", "short stays: it stands in any text"},
		{"ünïcode", "[E_PASSWORD redacted]"},
		{`see a"b\c<d> and {"x":"a\"b\\c<d>"} and {"x":"a\"b\\c\u003cd\u003e"}`, `see [G_SECRET redacted] and {"x":"[G_SECRET redacted]"} and {"x":"[G_SECRET redacted]"}`},
		{"underscore", "[_KEY redacted]"},
		{"a\n" + key + "\nb", "a\n[private key redacted]\nb"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "[private key redacted]"}, // its end is still to come
		{"-----BEGIN OPENSSH PRIVATE KEY-----x-----END OPENSSH PRIVATE KEY----- and " + key, "[private key redacted] and [private key redacted]"},
		{"-----BEGIN PUBLIC KEY-----\nMIIE", "-----BEGIN PUBLIC KEY-----\nMIIE"},
	} {
		if got := r.Text(test.in); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
	if got := (Redactor{}).Text("as it is"); got != "as it is" {
		t.Errorf("the zero redactor made %q", got)
	}
}

// Whoever says a secret, no word of it is left in the input, and the input that was given stays.
func TestInputsAreRedacted(t *testing.T) {
	const secret = "hunter2-hunter2"
	clean := NewRedactor([]string{"A_KEY=" + secret}).Text
	text, quoted := secret, json.RawMessage(`"`+secret+`"`)
	source := protocol.Source{SQL: secret, Query: secret, Command: secret, Output: secret}
	guards := agent.Guards{Watches: []protocol.NewWatch{{Name: secret, Source: source}}}
	facts := []protocol.Fact{{Text: secret, Source: &protocol.FactSource{Tripwire: "t", Expected: secret, Observed: secret}}}
	run := protocol.Run{Checks: []protocol.Check{{Expected: secret, Observed: secret}}}
	for _, in := range []agent.Input{
		agent.Start{Task: secret, Instructions: []agent.Instruction{{Text: secret}}},
		agent.Steer{Text: secret},
		agent.Pause{Reason: secret},
		agent.Decide{Text: secret},
		agent.Replan{Reason: secret, Edits: []protocol.PlanEdit{
			{Op: protocol.EditAdd, Step: &protocol.NewStep{Title: secret, Intent: secret, Verify: &protocol.Verify{Command: secret}}},
			{Op: protocol.EditChange, Title: &text, Intent: &text, Verify: &protocol.Verify{Command: secret}}}},
		agent.Replied{Text: secret, Reasoning: secret, Calls: []agent.ModelCall{{Name: secret, Arguments: secret, Extra: quoted}}},
		agent.AskFailed{Text: secret},
		agent.Outcome{Text: secret, Output: secret, Conflicts: []string{secret}, Findings: []agent.Finding{{Facts: facts}}},
		agent.Start{Task: secret, Guards: guards},
		agent.Configure{Guards: guards},
		agent.AddWatch{Name: secret, Source: source},
		agent.CheckIn{Text: secret},
		agent.AskAside{Question: secret, Facts: []string{secret}},
		agent.Resume{Drift: []string{secret}},
		agent.Evaluated{Baseline: quoted, Findings: []agent.Finding{{Facts: facts}}, Values: []agent.Reading{{Value: secret}, {Error: secret}}},
		agent.Kept{Broken: secret},
		agent.Preceded{Broken: secret, Run: run},
		agent.Reran{Broken: secret, Facts: facts, Values: []agent.Reading{{Value: secret}, {Error: secret}},
			Comparison: protocol.Comparison{Before: run, After: run, Changes: []protocol.Change{{What: secret, Before: secret, After: secret}}}},
		agent.Said{Text: secret},
	} {
		given := encoded(t, in)
		got := encoded(t, redacted(in, clean))
		if strings.Contains(got, secret) || !strings.Contains(got, "[A_KEY redacted]") {
			t.Errorf("%T became %s", in, got)
		}
		if encoded(t, in) != given {
			t.Errorf("%T was changed itself", in)
		}
		if same := encoded(t, redacted(in, nil)); same != given {
			t.Errorf("%T without a redactor became %s", in, same)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUnfinishedSecrets(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=nterX-and-more"})
	for _, test := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"all is well", 0},
		{"it is hun", 3},
		{"it is hunter", 6}, // of both that may begin here, the longer
		{"it is hunter2-hunter2", 0},
		{"it is hunter2-hunter", 14},
		{"hunter2-hunter2-hunter2", 0},
		{"hunter2-hunter2 and h", 1},
		{key + "--", 2},
		{"----", 4},
		{"a\n-----BEGIN ", 11},
		{"a\n-----BEGIN RSA PRIV", 19},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n", 42},
		{key, 0},
		{"-----BEGIN CERTIFICATE-----\nMIIE", 0},
	} {
		if got := r.Unfinished(test.text); got != test.want {
			t.Errorf("%q: %d, want %d", test.text, got, test.want)
		}
	}
}

// However a text is torn on its way, no client is told a part of a secret.
func TestStreamedSecretsAreNotTorn(t *testing.T) {
	const text = "the value is hunter2-hunter2, and hunter\n" + key + "\nend"
	r := NewRedactor([]string{"A_KEY=hunter2-hunter2"})
	play(t, begin, func(t *testing.T, c *scene) {
		c.within(func() { c.Session.opts.Redact, c.Session.opts.Unfinished = r.Text, r.Unfinished })
		e := &ear{}
		c.follow(e, 0)
		answer := c.stage.ask(t)
		for i := range len(text) {
			answer.Said(text[i : i+1])
		}
		answer.reply(text, planCall(), runCall("show it", false))
		run := c.stage.next(t)
		for i := range len(text) {
			run.Said(text[i : i+1])
			time.Sleep(printEvery)
		}
		run.done(text)
		c.stage.ask(t)
		var streamed strings.Builder
		for _, n := range e.told {
			var p protocol.TextParams
			if err := json.Unmarshal(n.params, &p); err != nil {
				t.Fatal(err)
			}
			if n.method == protocol.NoteText {
				streamed.WriteString(p.Delta)
			}
		}
		if got, want := streamed.String(), r.Text(text); got != want {
			t.Errorf("streamed as %q, want %q", got, want)
		}
		if got, want := strings.Join(c.printed(), ""), r.Text(text); !strings.HasPrefix(want, got) || len(got) < len(want)-3 {
			t.Errorf("printed as %q, want %q", got, want)
		}
	})
}

// What an answer had said when it was cut holds no part of a secret either.
func TestCutSecretsAreNotTorn(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=hunter2-hunter2"})
	play(t, begin, func(t *testing.T, c *scene) {
		c.within(func() { c.Session.opts.Redact, c.Session.opts.Unfinished = r.Text, r.Unfinished })
		c.stage.ask(t).Said("the value is hunter2-hun")
		synctest.Wait()
		c.post(agent.Steer{Text: "stop"})
		if m := c.stage.ask(t).messages(); !strings.Contains(m, "the value is") || strings.Contains(m, "hunter2") {
			t.Errorf("the next question bears\n%s", m)
		}
	})
}

// The end of a long output is cut between lines, and a private key is known by its head though
// that was cut off.
func TestTailOfOutput(t *testing.T) {
	var said []byte
	for i := range 5000 {
		said = tail(append(said, fmt.Sprintf("line %d\n", i)...))
		if len(said) > 2*saidTail {
			t.Fatalf("%d bytes are kept", len(said))
		}
	}
	if lines := strings.Split(string(said), "\n"); !strings.HasPrefix(lines[0], "line ") || lines[len(lines)-2] != "line 4999" {
		t.Errorf("the tail is %q … %q", lines[0], lines[len(lines)-2])
	}
	said = tail([]byte("-----BEGIN RSA PRIVATE KEY-----\n"))
	for range 5000 {
		said = tail(append(said, "MIIEpAIB\n"...))
	}
	if got := (Redactor{}).Text(string(said)); got != "[private key redacted]" {
		t.Errorf("of a key is left %.60q", got)
	}
	said = tail(append(said, "-----END RSA PRIVATE KEY-----\nall is well\n"...))
	if got := (Redactor{}).Text(string(said)); got != "[private key redacted]\nall is well\n" {
		t.Errorf("behind a key is left %.60q", got)
	}
	if got := tail([]byte(strings.Repeat("ü", 2*saidTail))); !strings.HasPrefix(string(got), "ü") {
		t.Errorf("it begins in the middle of a letter: %q", got[:4])
	}
}
