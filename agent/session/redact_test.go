package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/agent/secret"
	"tandem/protocol"
)

const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nqqqq\n-----END RSA PRIVATE KEY-----"

// Whoever says a secret, no word of it is left in the input, and the input that was given stays.
func TestInputsAreRedacted(t *testing.T) {
	const word = "hunter2-hunter2"
	clean := secret.New([]string{"A_KEY=" + word}).Text
	text, quoted := word, json.RawMessage(`"`+word+`"`)
	source := protocol.Source{SQL: word, Query: word, Command: word, Output: word}
	guards := agent.Guards{Watches: []protocol.NewWatch{{Name: word, Source: source}}}
	facts := []protocol.Fact{{Text: word, Source: &protocol.FactSource{Tripwire: "t", Expected: word, Observed: word}}}
	run := protocol.Run{Checks: []protocol.Check{{Expected: word, Observed: word}}}
	for _, in := range []agent.Input{
		agent.Start{Task: word, Instructions: []agent.Instruction{{Text: word}}},
		agent.Steer{Text: word},
		agent.Pause{Reason: word},
		agent.Decide{Text: word},
		agent.Replan{Reason: word, Edits: []protocol.PlanEdit{
			{Op: protocol.EditAdd, Step: &protocol.NewStep{Title: word, Intent: word, Verify: &protocol.Verify{Command: word}}},
			{Op: protocol.EditChange, Title: &text, Intent: &text, Verify: &protocol.Verify{Command: word}}}},
		agent.Replied{Text: word, Reasoning: word, Calls: []agent.ModelCall{{Name: word, Arguments: word, Extra: quoted}}},
		agent.AskFailed{Text: word},
		agent.Outcome{Text: word, Output: word, Conflicts: []string{word}, Findings: []agent.Finding{{Facts: facts}}},
		agent.Start{Task: word, Guards: guards},
		agent.Configure{Guards: guards},
		agent.AddWatch{Name: word, Source: source},
		agent.CheckIn{Text: word},
		agent.AskAside{Question: word, Facts: []string{word}},
		agent.Resume{Drift: []string{word}},
		agent.Evaluated{Baseline: quoted, Findings: []agent.Finding{{Facts: facts}}, Values: []agent.Reading{{Value: word}, {Error: word}}},
		agent.Kept{Broken: word},
		agent.Preceded{Broken: word, Run: run},
		agent.Reran{Broken: word, Facts: facts, Values: []agent.Reading{{Value: word}, {Error: word}},
			Comparison: protocol.Comparison{Before: run, After: run, Changes: []protocol.Change{{What: word, Before: word, After: word}}}},
		agent.Said{Text: word},
	} {
		given := encoded(t, in)
		got := encoded(t, redacted(in, clean))
		if strings.Contains(got, word) || !strings.Contains(got, "[A_KEY redacted]") {
			t.Errorf("%T became %s", in, got)
		}
		if encoded(t, in) != given {
			t.Errorf("%T was changed itself", in)
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

// knows has a scene's session take these secrets out of what is said, also by what runs already.
func (c *scene) knows(r *secret.Redactor) {
	c.within(func() {
		c.Session.opts.Secrets = r
		for _, j := range c.Session.running {
			j.words = r.Stream()
		}
	})
}

// However a text is torn on its way, no client is told a part of a secret.
func TestStreamedSecretsAreNotTorn(t *testing.T) {
	const text = "the value is hunter2-hunter2, and hunter\n" + key + "\nend"
	r := secret.New([]string{"A_KEY=hunter2-hunter2"})
	play(t, begin, func(t *testing.T, c *scene) {
		c.knows(r)
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
	r := secret.New([]string{"A_KEY=hunter2-hunter2"})
	play(t, begin, func(t *testing.T, c *scene) {
		c.knows(r)
		c.stage.ask(t).Said("the value is hunter2-hun")
		synctest.Wait()
		c.post(agent.Steer{Text: "stop"})
		if m := c.stage.ask(t).messages(); !strings.Contains(m, "the value is") || strings.Contains(m, "hunter2") {
			t.Errorf("the next question bears\n%s", m)
		}
	})
}

// The end of a long output is cut between lines.
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
	if got := tail([]byte(strings.Repeat("ü", 2*saidTail))); !strings.HasPrefix(string(got), "ü") {
		t.Errorf("it begins in the middle of a letter: %q", got[:4])
	}
}
