package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/agent"
	"tandem/protocol"
)

// revert is a job that takes the edits of outcomes back, the newest of them first.
func (p place) revert(byHand bool, of ...agent.Outcome) agent.Outcome {
	p.t.Helper()
	var edits []agent.Past
	for _, o := range of {
		edits = append(edits, agent.Past{Changes: o.Changes})
	}
	return p.outcome(p.t.Context(), Job{Work: agent.Work{ID: "op9", Job: agent.Revert{Edits: edits, ByHand: byHand}}})
}

func statuses(o agent.Outcome) string {
	var out []string
	for _, f := range o.Reverted {
		out = append(out, f.Path+" "+f.Status)
	}
	return strings.Join(out, ", ")
}

func TestRevertTellsWhatBecameOfEachFile(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "one\n"})
	edit := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"ONE"}]}`)
	made := p.do("write_file", `{"path":"new.txt","content":"new\n"}`)
	clash := p.do("write_file", `{"path":"b.txt","content":"mine\n"}`)
	for name, text := range map[string]string{"a.txt": "ONE\ntwo\nthree, by hand\n", "b.txt": "by hand\n"} {
		if err := os.WriteFile(filepath.Join(p.Files.Dir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := p.read("a.txt") + p.read("b.txt") + p.read("new.txt")
	would, err := Preview(t.Context(), p.Files, []agent.Past{{Changes: clash.Changes}, {Changes: made.Changes}, {Changes: edit.Changes}})
	if err != nil || len(would.Files) != 3 || len(would.Conflicts) != 1 || p.read("a.txt")+p.read("b.txt")+p.read("new.txt") != before {
		t.Fatalf("the preview is %+v, %v", would, err)
	}
	o := p.revert(true, clash, made, edit)
	if got := statuses(o); got != "b.txt conflict, new.txt deleted, a.txt restored" || changed(o) != "-new.txt ~a.txt" {
		t.Errorf("it is %q with the changes %q", got, changed(o))
	}
	if len(o.Conflicts) != 1 || !strings.HasPrefix(o.Conflicts[0], "b.txt: ") || p.read("b.txt") != "by hand\n" {
		t.Errorf("conflicts %q, b.txt %q", o.Conflicts, p.read("b.txt"))
	}
	if got := p.read("a.txt"); got != "one\ntwo\nthree, by hand\n" {
		t.Errorf("a.txt is %q", got)
	}
	if again := p.revert(true, o); statuses(again) != "a.txt restored, new.txt created" || p.read("a.txt") != "ONE\ntwo\nthree, by hand\n" {
		t.Errorf("the revert taken back is %q, a.txt %q", statuses(again), p.read("a.txt"))
	}
}

// What the developer took back the agent has not seen: it is shown before the file is edited. What
// the agent took back itself it knows.
func TestRevertByHandIsShownToTheAgent(t *testing.T) {
	for _, test := range []struct {
		byHand bool
		says   string
	}{{true, "changed since you read it"}, {false, ""}} {
		p := newPlace(t, map[string]string{"a.txt": "one\ntwo\n"})
		p.revert(test.byHand, p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"ONE"}]}`))
		o := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"two","new":"TWO"}]}`)
		if o.Failed != test.byHand || !strings.Contains(o.Text, test.says) {
			t.Errorf("by hand %t: failed %t, %s", test.byHand, o.Failed, o.Text)
		}
	}
}

// A command that runs meanwhile is not told to have changed what was taken back.
func TestRevertBesideACommand(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\n"})
	edit := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"ONE"}]}`)
	ended, _ := p.begun(t.Context(), "until [ -e go ]; do sleep 0.01; done; echo made > made.txt")
	if o := p.revert(true, edit); changed(o) != "~a.txt" {
		t.Fatalf("it is %+v", o)
	}
	if err := os.WriteFile(filepath.Join(p.Files.Dir(), "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if o := <-ended; strings.Contains(changed(o), "a.txt") || !strings.Contains(changed(o), "+made.txt") {
		t.Errorf("the command is told to have changed %q", changed(o))
	}
}

// TestPastIsWaitedFor asks for the end of an operation while it runs, when it has ended, and when
// the session ends before it.
func TestPastIsWaitedFor(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t).reply("", readCall("a"))
		read := c.stage.next(t)
		type result struct {
			past agent.Past
			err  error
		}
		got := make(chan result, 1)
		wait := func(op string) {
			p, err := c.Past(t.Context(), op)
			got <- result{p, err}
		}
		go wait(read.ID)
		synctest.Wait()
		if len(got) > 0 {
			t.Fatalf("it did not wait: %+v", <-got)
		}
		read.done("text")
		if r := <-got; r.err != nil || r.past.Op.ID != read.ID || r.past.Op.Status != protocol.OpDone {
			t.Errorf("it is %+v", r)
		}
		wait(read.ID)
		if r := <-got; r.err != nil || r.past.Op.Status != protocol.OpDone {
			t.Errorf("afterwards it is %+v", r)
		}
		go wait("op9999999")
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if r := <-got; !errors.Is(r.err, ErrEnded) {
			t.Errorf("after the end it is %+v", r)
		}
	})
}
