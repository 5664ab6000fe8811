package main

import (
	"os"
	"testing"

	"tandem/protocol"
)

// sit follows a new session as a developer at a terminal of 80 columns does. When one of the
// texts has been drawn, its keys are pressed.
func (d *desk) sit(task string, keys map[string]string) (int, string) {
	d.t.Helper()
	conn, err := dial(d.t.Context(), d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	c, err := connect(d.t.Context(), conn, d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.close()
	inputs := make(chan input, len(keys))
	con := &console{seen: map[string]func(){}}
	for text, pressed := range keys {
		con.seen[text] = func() { inputs <- input{bytes: []byte(pressed)} }
	}
	started, err := ask[protocol.SessionResult](d.t.Context(), c, protocol.MethodStart, protocol.StartParams{Task: task})
	if err != nil {
		d.t.Fatal(err)
	}
	scr := &screen{out: con, size: func() (int, int) { return 80, 24 }, live: true}
	f := &follower{std: std{out: con, getenv: os.Getenv}, c: c, session: started.Session, scr: scr, mine: true}
	f.open()
	code, err := f.loop(d.t.Context(), inputs, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	f.settle()
	return code, con.text()
}

func TestADeveloperSteersAndAnswers(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out := d.sit("Greet the world.", map[string]string{
		"steer › ":             "let it fail no\x7f\x7f\x7f\r",
		"1–2, or your words ›": "2\r",
	})
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "› let it fail  ", "✗ failed · exit 3", "Whom shall I greet?", "› the moon\r\n", "The moon is greeted.")
}

func TestADeveloperBrakesAndLeaves(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out := d.sit("Greet the world.", map[string]string{
		"steer › ":       "please wait\r",
		"I wait for you": "\x03",
		"PAUSED BY YOU":  "/resume\r",
		"▶ Resumed":      "/nonsense\r/help\r/plan\r/status\r\x03\x03",
	})
	if code != exitWaiting {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "Pausing. /resume goes on; Ctrl-C again leaves.", "There is no command /nonsense", "Alt+Enter", "requests · ", "1  Wait")
	if code, out, _ := d.tandem("", "status"); code != exitDone {
		t.Errorf("status: exit code %d", code)
	} else {
		contains(t, out, "PAUSED BY YOU")
	}
}

func TestWhatIsTypedIsNotLostWhenTheSessionIsDone(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out := d.sit("Greet the world.", map[string]string{
		"steer › ":             "let it ",
		"Ctrl-C leaves":        "fail\r",
		"1–2, or your words ›": "the moon\r",
	})
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "The world is greeted.", "› let it fail  ", "The moon is greeted.")
}
