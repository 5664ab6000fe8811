package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/protocol"
)

const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nqqqq\n-----END RSA PRIVATE KEY-----"

func TestRedactor(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=hunter2", "c_secret=lowercase", "D_PASSWORD=short",
		"E_PASSWORD=ünïcode", "PLAIN=visible", "F_KEY", "_KEY=underscore"})
	for _, test := range []struct{ in, want string }{
		{"nothing to hide", "nothing to hide"},
		{"see hunter2-hunter2.", "see [A_KEY redacted]."}, // the longest first
		{"hunter2", "[B_TOKEN redacted]"},
		{"lowercase and visible", "[c_secret redacted] and visible"},
		{"short stays: it stands in any text", "short stays: it stands in any text"},
		{"ünïcode", "[E_PASSWORD redacted]"},
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
	text := secret
	for _, in := range []agent.Input{
		agent.Start{Task: secret, Instructions: []agent.Instruction{{Text: secret}}},
		agent.Steer{Text: secret},
		agent.Pause{Reason: secret},
		agent.Decide{Text: secret},
		agent.Replan{Reason: secret, Edits: []protocol.PlanEdit{
			{Op: protocol.EditAdd, Step: &protocol.NewStep{Title: secret, Intent: secret, Verify: &protocol.Verify{Command: secret}}},
			{Op: protocol.EditChange, Title: &text, Intent: &text, Verify: &protocol.Verify{Command: secret}}}},
		agent.Replied{Text: secret, Reasoning: secret, Calls: []agent.ModelCall{{Arguments: secret}}},
		agent.AskFailed{Text: secret},
		agent.Outcome{Text: secret, Output: secret},
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
