package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const cancelledResult = `{"status":"cancelled","by":{"kind":"steer"},"note":"it never began"}`

// recordSteers records a session with two steers in a row while a call runs, which keep the next
// from beginning.
func recordSteers(t *testing.T, o Options) string {
	t.Helper()
	var tape bytes.Buffer
	real := start(t, parse(t, head+"-- beats/010-work --\nsay\n  The word is swordfish.\ncall run\n  command: \"make \\\"swordfish\\\"\"\ncall edit\n  path: a\n"+
		"-- beats/110-plan --\non steer\ncall plan\n  steps: []\n"), Options{})
	recorder := record(t, real.URL, &tape, o)
	p := newPerson(t, recorder.URL, "Do this.")
	p.hear(p.ask("", nil), `{"status":"running","operation":"op1"}`, cancelledResult)
	p.steer("First this.")
	p.steer("-- then --\n\n  that: swordfish")
	p.hear(p.ask("plan", nil))
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	return tape.String()
}

func TestSteersAreRecordedWithTheirWords(t *testing.T) {
	clean := func(text string) string { return strings.ReplaceAll(text, "swordfish", "[a word]") }
	tape := recordSteers(t, Options{Redact: clean, Head: Head("About.", "Do this.", []File{{Path: "a", Data: []byte("x")}})})
	want := `rehearsal 1

About.
-- task --
Do this.
-- workspace/a --
x
-- beats/00001-run --
say at once
  The word is [a word].
call run raw
  {"command":"make \"[a word]\""}
call edit raw
  {"path":"a"}
-- beats/00002-hold --
on steer
  First this.
cancelled 2
running 1
hold
-- beats/00003-plan --
on steer
  -- then --
  
    that: [a word]
call plan raw
  {"steps":[]}
`
	lines := slices.DeleteFunc(strings.Split(tape, "\n"), func(l string) bool { return strings.HasPrefix(l, "delay ") })
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("recorded is\n%s, want\n%s", got, want)
	}
}

func TestARecordedSteerIsWaitedFor(t *testing.T) {
	s := parse(t, recordSteers(t, Options{}))
	awaits := make(chan string, 1)
	server := start(t, s, Options{Awaits: func(_ context.Context, words string) { awaits <- words }})
	p := newPerson(t, server.URL, s.Task)
	work := p.ask("", nil)
	if len(work.Calls) != 1 || work.Calls[0].Name != "run" {
		t.Fatalf("a call that never began is made: %+v", work)
	}
	if got := server.AwaitedDuring("make trouble"); got != "" {
		t.Errorf("another call is taken for the one that ran: %q", got)
	}
	if got := server.AwaitedDuring("make"); got != "First this." {
		t.Errorf("while the call runs %q is awaited", got)
	}
	if got := server.Awaited(); got != "" {
		t.Errorf("the same steer is given twice: %q", got)
	}
	p.hear(work)
	// Nobody steers, so the next request is held; the one who hangs up has something to say.
	held := make(chan reply, 1)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() { held <- p.askWithin(ctx, "") }()
	if got := <-awaits; got != "First this." {
		t.Errorf("held with %q", got)
	}
	hangUp()
	if r := <-held; r.Broken == nil {
		t.Errorf("the held request is answered: %+v", r)
	}
	p.steer("Anything else.")
	ctx, hangUp = context.WithCancel(t.Context())
	go func() { held <- p.askWithin(ctx, "plan") }()
	if got := <-awaits; got != "-- then --\n\n  that: swordfish" {
		t.Errorf("held with %q", got)
	}
	hangUp()
	<-held
	p.steer("And more.")
	if r := p.ask("plan", nil); len(r.Calls) != 1 || r.Calls[0].Name != "plan" {
		t.Errorf("the answer is %+v", r)
	}
}

func TestTwoSteersInOneMessageAreBothHeard(t *testing.T) {
	s := parse(t, recordSteers(t, Options{}))
	two := func(text string) []string {
		words := strings.Split(text, "steer: ")
		return words[1:]
	}
	p := newPerson(t, start(t, s, Options{Steers: two}).URL, s.Task)
	p.hear(p.ask("", nil))
	p.add(map[string]any{"role": "user", "content": "steer: one steer: two"})
	if r := p.ask("plan", nil); len(r.Calls) != 1 || r.Calls[0].Name != "plan" {
		t.Errorf("the answer is %+v", r)
	}
}

func TestWhatARecordedSteerCannotSay(t *testing.T) {
	for text, want := range map[string]string{
		"on message has \"x\"\n  words\nsay\n  a\n":           "words below stand with",
		"on steer quoted\n  words\nsay\n  a\n":                "not one text in double quotes",
		"on steer\ncancelled 1\nsay\n  a\n":                   "stands behind «on steer» with the steer's words",
		"on steer\n  words\ncancelled x\nsay\n  a\n":          "want the numbers of calls",
		"on steer\n  words\nrunning\nsay\n  a\n":              "want the numbers of calls",
		"on steer\n  words\ncancelled 1\nsay\n  a\n":          "names a call that the beat before does not make",
		"say\n  a\non steer\n  words\n":                       "stands before the answer",
		"on steer\n  words\nrunning 1\ncall finish\n  a: 1\n": "names a call that the beat before does not make",
	} {
		if _, err := Parse("x.txtar", []byte(head+"-- beats/010-a --\n"+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

func TestUnfitFiles(t *testing.T) {
	for _, c := range []struct {
		name, data string
		fits       bool
	}{
		{"a/b.txt", "text\r\n", true}, {"a b", "", true}, {"../a", "", false}, {"/a", "", false}, {"a//b", "", false}, {" a", "", false}, {"a\nb", "", false},
		{"a", "\x00", false}, {"a", "\xff", false}, {"a", "x\n-- y --\n", false}, {"a", "  -- y --\n", true},
	} {
		f := File{Path: c.name, Data: []byte(c.data)}
		if why := Unfit(f); (why == "") != c.fits {
			t.Errorf("%q with %q: %q", c.name, c.data, why)
		}
		if !c.fits {
			continue
		}
		s := parse(t, string(Head("About.", "The task.", []File{f}))+"-- beats/010-a --\nsay\n  a\n")
		if len(s.Files) != 1 || s.Files[0].Path != c.name || string(s.Files[0].Data) != c.data || s.Task != "The task." {
			t.Errorf("%+v came back as %+v", f, s.Files)
		}
	}
}

func TestSecretsAreFoundBehindEscapes(t *testing.T) {
	clean := func(text string) string { return strings.ReplaceAll(text, "a\"b\nc", "[it]") }
	for _, c := range []struct{ text, want string }{
		{`{"x":"say a\"b\nc twice"}`, `{"x":"say [it] twice"}`}, {`{"x":"<y>"}`, `{"x":"<y>"}`}, {"no JSON: a\"b\nc", "no JSON: [it]"},
	} {
		if got := redactedJSON(c.text, clean); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.text, got, c.want)
		}
	}
	b := beat{fail: &failure{body: `{"error":"a\"b\nc"}`}, parts: []part{{kind: sayPart, text: "a\"b\nc"}}}
	b.redact(clean)
	if encoded, err := json.Marshal(b.fail.body); err != nil || strings.Contains(string(encoded), "b") || b.parts[0].text != "[it]" {
		t.Errorf("left is %s, %q, %v", b.fail.body, b.parts[0].text, err)
	}
}
