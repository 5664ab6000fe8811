package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"

	"tandem/protocol"
	"tandem/server/rpc"
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

// The answer to what ends a pause may be read before the notification that tells of its end; who
// follows in a pipe must not take the pause that they still see for one that waits for them.
func TestAnAnswerAheadOfItsNewsIsNoEnd(t *testing.T) {
	t.Parallel()
	resumed := sessionIn(protocol.Executing)
	resumed.Seq = 8
	here, there := net.Pipe()
	answer := func(context.Context, json.RawMessage) (any, error) {
		return map[string]any{"session": resumed}, nil
	}
	daemon := rpc.Serve(t.Context(), there, rpc.Options{Handlers: func(*rpc.Conn) map[string]rpc.Handler {
		return map[string]rpc.Handler{protocol.LSPInitialize: answer, protocol.MethodResume: answer, protocol.MethodDecide: answer}
	}})
	c, err := connect(t.Context(), here, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.close(); <-daemon.Done() }()
	for name, send := range map[string]func(f *follower){
		"resume":  func(f *follower) { f.resume(t.Context(), true) },
		"resumes": func(f *follower) { f.resume(t.Context(), false) },
		"decide":  func(f *follower) { f.act(t.Context(), answering(protocol.MethodDecide, "1", "One", nil), "") },
	} {
		paused := sessionIn(protocol.Paused)
		paused.Seq, paused.Initiative = 7, protocol.DeveloperInitiative
		f := &follower{c: c, session: paused, scr: &screen{out: &console{}, size: func() (int, int) { return 80, 24 }}}
		f.open()
		send(f)
		if err := f.answered(<-f.results); err != nil {
			t.Fatal(err)
		}
		if code, over := f.over(); over {
			t.Errorf("%s: over with %d, though what it led to is still to be told", name, code)
		}
	}
}

// Leave is asked for on the screen, and given or refused by a number.
func TestADeveloperGivesLeave(t *testing.T) {
	d := newDesk(t, "leave.txtar")
	code, out := d.sit("Show me the mode.", map[string]string{
		"may I? Read .env":               "1\r",
		"may I? Run «echo fetched» with": "3\r",
	})
	if code != exitDone {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "MAY I?  Read .env", "By its name .env holds secrets", "1 Allow once", "2 Allow for this session", "3 No", "Allowed: Read .env",
		"MAY I?  Run «echo fetched» with the network", "A command is kept off the network unless you allow it.", "Not allowed: Run «echo fetched» with the network", "The mode is quiet.")
	code, out, _ = d.tandem("", "brief")
	if code != exitDone {
		t.Errorf("brief: exit code %d", code)
	}
	contains(t, out, "Read .env", "the developer: allow once")
}

// In a pipe nobody can be asked: what waits for leave is left waiting, with the code that says so, and
// another window answers.
func TestLeaveInAPipe(t *testing.T) {
	d := newDesk(t, "leave.txtar")
	code, out, _ := d.tandem("", "run", "Show me the mode.")
	if code != exitWaiting {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "MAY I?  Read .env", "WAITING · your turn", "may I? Read .env")
	if code, out, _ := d.tandem("", "decide"); code != exitDone {
		t.Errorf("decide: exit code %d", code)
	} else {
		contains(t, out, "1 Allow once", "may I? Read .env")
	}
	if code, out, errors := d.tandem("", "decide", "1"); code != exitDone {
		t.Errorf("decide 1: exit code %d, %s%s", code, out, errors)
	}
}
