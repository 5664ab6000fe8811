package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// Durable before visible, visible before acted upon: as a client is told of an event it is on
// disk and in Now, and as a job begins the clients were told of it.
func TestTheWheelTurnsInOrder(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		told := map[string]bool{}
		e := &ear{hears: func(_ string, params []byte) {
			seq := seqOf(params)
			if disk := onDisk(t, c.path); disk[len(disk)-1].Seq < seq {
				t.Errorf("event %d was told, but the disk ends at %d", seq, disk[len(disk)-1].Seq)
			}
			if now := c.Now().State.Seq; now < seq {
				t.Errorf("event %d was told, but the session stands at %d", seq, now)
			}
			for _, o := range c.Now().View().Operations {
				told[o.ID] = true
			}
		}}
		c.follow(e, 0)
		c.stage.before = func(j Job) {
			if !told[j.ID] {
				t.Errorf("%s began before the client was told of it", j.ID)
			}
		}
		run := c.working(runCall("make", false))[0]
		run.done("made")
		c.stage.ask(t).reply("All is done.")
		synctest.Wait()
		if mode := c.Now().State.Mode; mode != protocol.Waiting {
			t.Errorf("the session is %s at the end of the agent's turn", mode)
		}
	})
}

func TestSteerStopsTheAnswer(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		first := c.stage.ask(t)
		first.Said("I will take the provider")
		synctest.Wait()
		r := c.post(agent.Steer{Text: "use a hook"})
		synctest.Wait()
		if first.ctx.Err() == nil {
			t.Error("the running answer was not cancelled")
		}
		if got := kinds(r.Events); !strings.HasPrefix(got, "steered cut") {
			t.Errorf("the steer led to: %s", got)
		}
		second := c.stage.ask(t)
		if m := second.messages(); !strings.Contains(m, "I will take the provider") || strings.Count(m, "use a hook") != 1 {
			t.Errorf("the next question bears:\n%s", m)
		}
		c.stage.quiet(t) // the old question is not asked again
	})
}

// Words that were under way when the answer was cut belong to nobody.
func TestWordsAfterTheCutAreDropped(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		first := c.stage.ask(t)
		c.post(agent.Steer{Text: "use a hook"})
		first.Said("too late")
		second := c.stage.ask(t)
		second.Said("in time")
		synctest.Wait()
		got := strings.Join(e.lines(), "\n")
		if strings.Contains(got, "too late") || !strings.Contains(got, "in time") {
			t.Errorf("the client was told:\n%s", got)
		}
	})
}

// An answer to a question that nobody asks any more changes nothing.
func TestLateAnswerIsDropped(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		first := c.stage.ask(t)
		c.post(agent.Steer{Text: "use a hook"})
		c.stage.ask(t)
		at := c.Now().State.Seq
		if r := c.post(agent.Replied{Question: first.ID, Text: "late"}); len(r.Events) > 0 || c.Now().State.Seq != at {
			t.Errorf("it led to: %s", kinds(r.Events))
		}
	})
}

// A job that has reported is over, whatever the core made of its report: it is not run twice.
func TestReportedJobIsNotStartedAgain(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", false))[0]
		run.end <- agent.TimePassed{} // a report that closes nothing
		c.post(agent.SetAutonomy{Level: protocol.High})
		c.post(agent.SetAutonomy{Level: protocol.Close})
		c.stage.quiet(t)
		if op := c.op(run.ID); op.Status != protocol.OpRunning {
			t.Errorf("the operation is %s", op.Status)
		}
	})
}

// A cancelled job that has not reported stays: it may still be writing.
func TestCancelledJobIsWaitedFor(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("stubborn", false))[0]
		c.post(agent.Steer{Text: "not that", Scope: &protocol.Scope{OperationID: run.ID}})
		synctest.Wait()
		if run.ctx.Err() == nil {
			t.Error("the command in the steer's scope was not told to end")
		}
		if op := c.op(run.ID); op.Status != protocol.OpRunning {
			t.Errorf("it is %s before it has ended", op.Status)
		}
		c.stage.ask(t) // the next question does not wait for it
		run.end <- agent.Outcome{Op: run.ID, Cancelled: true, Text: "half"}
		synctest.Wait()
		op := c.op(run.ID)
		if op.Status != protocol.OpCancelled || !op.Partial || op.CancelledBy.Kind != protocol.BySteer {
			t.Errorf("it ended as %+v", op)
		}
	})
}

func TestPauseFreezesAndResumeThaws(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", false))[0]
		c.post(agent.Pause{})
		if frozen := <-run.Freeze; !frozen {
			t.Error("the pause thawed it")
		}
		c.post(agent.Resume{})
		if frozen := <-run.Freeze; frozen {
			t.Error("resume froze it")
		}
		c.post(agent.Pause{})
		c.post(agent.Resume{})
		c.post(agent.Pause{})
		if frozen := <-run.Freeze; !frozen {
			t.Error("of what it did not hear in time, the last has to stand")
		}
		select {
		case f := <-run.Freeze:
			t.Errorf("and then %v", f)
		default:
		}
		if run.ctx.Err() != nil {
			t.Error("the pause ended what it froze")
		}
	})
}

func TestPauseWithoutFreezeEndsCommands(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", false))[0]
		c.post(agent.Pause{End: true})
		synctest.Wait()
		if op := c.op(run.ID); op.Status != protocol.OpCancelled || op.CancelledBy.Kind != protocol.ByPause {
			t.Errorf("it ended as %+v", op)
		}
	})
}

// The veto window is ten seconds of time, in which a read goes on and the write behind it waits.
func TestVetoWindowHoldsTheWrite(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		decision := agent.ModelCall{Name: "announce_decision", Arguments: `{"intent":"I choose.","step":"s1","summary":"a hook","rationale":"it is short","alternatives":[{"id":"a","title":"a provider"}],"significance":"major"}`}
		at := time.Now()
		c.stage.ask(t).reply("", planCall(), decision, readCall("a.txt"), writeCall("a.txt"))
		c.stage.next(t).done("read") // the read
		c.stage.quiet(t)
		time.Sleep(9900 * time.Millisecond)
		c.stage.quiet(t)
		write := <-c.stage.began
		if d := time.Since(at); d != 10*time.Second {
			t.Errorf("%s began after %v", write.ID, d)
		}
	})
}

// setClock is a clock whose wall's time can be set; what passes is the bubble's.
type setClock struct{ by atomic.Int64 }

func (c *setClock) read(began time.Time) func() (time.Time, time.Duration) {
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.UTC().Add(time.Duration(c.by.Load())), now.Sub(began)
	}
}

// However the clock is set, or the machine sleeps, a veto window gives the developer the whole of its
// time and no more; a wait for the server does not become longer; and the journal says the time that
// the clock shows.
func TestTheClockIsSetWhileASessionWaits(t *testing.T) {
	for name, by := range map[string]time.Duration{"forward": 8 * time.Hour, "a year forward": 8760 * time.Hour, "back": -8 * time.Hour, "a year back": -8760 * time.Hour, "a little": 600 * time.Millisecond, "a little back": -600 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &setClock{}
				c := &scene{t: t, stage: newStage(), path: filepath.Join(t.TempDir(), "s.jsonl"), logs: new([]string)}
				o := c.options()
				o.Clock = clock.read(time.Now())
				s, _, err := Create(t.Context(), c.path, "", begin, o)
				if err != nil {
					t.Fatal(err)
				}
				c.Session = s
				decision := agent.ModelCall{Name: "announce_decision", Arguments: `{"intent":"I choose.","step":"s1","summary":"a hook","rationale":"it is short","alternatives":[],"significance":"major"}`}
				at := time.Now()
				c.stage.ask(t).reply("", planCall(), decision, writeCall("a.txt"))
				c.stage.quiet(t)
				time.Sleep(4 * time.Second)
				clock.by.Store(int64(by))
				if _, err := c.Post(t.Context(), "", agent.SetAutonomy{Level: begin.Autonomy}); err != nil { // it comes to look at the clock
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				c.stage.quiet(t)
				write := <-c.stage.began
				if d := time.Since(at); (d - 10*time.Second).Abs() > time.Second {
					t.Errorf("the write began after %v", d)
				}
				write.done("written")
				at = time.Now()
				ask := <-c.stage.began
				ask.end <- agent.AskFailed{Question: ask.ID, Why: agent.FailBusy, Text: "the server is busy", Wait: 30 * time.Second}
				synctest.Wait()
				clock.by.Store(-int64(by)) // nobody comes meanwhile
				<-c.stage.began
				if d := time.Since(at); d > 32*time.Second {
					t.Errorf("the model was asked again after %v", d)
				}
				if got, want := c.Now().Updated, time.Now().Add(-by); (got.Sub(want)).Abs() > time.Second {
					t.Errorf("the journal says %v, the clock %v", got, want)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What there was to wait for is the journal's answer to «when».
func TestRetryWaitsAsTold(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		first := c.stage.ask(t)
		at := time.Now()
		first.end <- agent.AskFailed{Question: first.ID, Why: agent.FailBusy, Text: "the server is busy", Wait: 30 * time.Second}
		synctest.Wait()
		if told := strings.Join(e.lines(), "\n"); !strings.Contains(told, "the server is busy") {
			t.Errorf("the wait is not visible:\n%s", told)
		}
		time.Sleep(time.Second)
		c.post(agent.Steer{Text: "use a hook"})
		second := <-c.stage.began
		if d := time.Since(at); d > 30*time.Second {
			t.Errorf("asked again after %v", d)
		}
		if !strings.Contains(second.messages(), "use a hook") {
			t.Error("the steer that came meanwhile is not heard")
		}
	})
}

func TestKeyIsAnsweredOnce(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t)
		first, err := c.Post(t.Context(), "k", agent.Steer{Text: "use a hook"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Post(t.Context(), "k", agent.Steer{Text: "use a hook"})
		if err != nil || !reflect.DeepEqual(first.Events, again.Events) || again.State.Seq != first.State.Seq {
			t.Errorf("again: %s at %d, %v", kinds(again.Events), again.State.Seq, err)
		}
		if n := strings.Count(kinds(events(t, c)), "steered"); n != 1 {
			t.Errorf("the session was steered %d times", n)
		}
		c.reopen()
		later, err := c.Post(t.Context(), "k", agent.Steer{Text: "use a hook"})
		if err != nil || kinds(later.Events) != kinds(first.Events) || later.State.Seq != first.State.Seq {
			t.Errorf("after a restart: %s at %d, %v", kinds(later.Events), later.State.Seq, err)
		}
	})
}

// A request that changed nothing is answered so again, whatever has happened since.
func TestKeyOfARequestWithoutEffect(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		for i, level := range []protocol.Autonomy{protocol.Balanced, protocol.High, protocol.Balanced} {
			key := map[int]string{0: "k", 1: "", 2: "k"}[i]
			if _, err := c.Post(t.Context(), key, agent.SetAutonomy{Level: level}); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Now().State.Autonomy; got != protocol.High {
			t.Errorf("the repeated request set %s", got)
		}
	})
}

func TestKeysInFlight(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		got := make(chan Receipt, 8)
		for range cap(got) {
			go func() {
				r, err := c.Post(context.Background(), "k", agent.Steer{Text: "use a hook"})
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
		}
		first := <-got
		for range cap(got) - 1 {
			if r := <-got; !reflect.DeepEqual(r.Events, first.Events) {
				t.Errorf("one got %s, another %s", kinds(first.Events), kinds(r.Events))
			}
		}
		if n := len(c.Now().State.Steers); n != 1 {
			t.Errorf("the session was steered %d times", n)
		}
	})
}

// A refusal is not an answer to be kept: the same key may be tried again.
func TestRefusalBindsNoKey(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		if _, err := c.Post(t.Context(), "k", agent.Resume{}); err == nil {
			t.Fatal("resumed without a pause")
		}
		c.post(agent.Pause{})
		if r, err := c.Post(t.Context(), "k", agent.Resume{}); err != nil || !strings.HasPrefix(kinds(r.Events), "resumed") {
			t.Errorf("%s, %v", kinds(r.Events), err)
		}
	})
}

func TestFaultEndsItsJobAlone(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", true), readCall("a.txt"))
		c.stage.before = func(Job) { panic("a fault") }
		run[1].done("read")
		synctest.Wait() // the next question panics
		if mode := c.Now().State.Mode; mode != protocol.Waiting {
			t.Errorf("the session is %s", mode)
		}
		if op := c.op(run[0].ID); op.Status != protocol.OpRunning || run[0].ctx.Err() != nil {
			t.Errorf("another job is %s", op.Status)
		}
		if len(*c.logs) != 1 || !strings.Contains((*c.logs)[0], "a fault") {
			t.Errorf("the log has %q", *c.logs)
		}
	})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", false))[0]
		closed := make(chan error, 3)
		for range cap(closed) {
			go func() { closed <- c.Close() }()
		}
		for range cap(closed) {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
		if run.ctx.Err() == nil {
			t.Error("the command was not ended")
		}
		if op := c.op(run.ID); op.Status != protocol.OpCancelled || op.CancelledBy.Kind != protocol.ByPause {
			t.Errorf("the command ended as %+v", op)
		}
		if _, err := c.Post(t.Context(), "", agent.Resume{}); !errors.Is(err, ErrEnded) {
			t.Errorf("a closed session takes requests: %v", err)
		}
		if _, err := c.Attach(t.Context(), &ear{}); !errors.Is(err, ErrEnded) {
			t.Errorf("a closed session is followed: %v", err)
		}
		c.Detach(&ear{})
		at := c.Now().State.Seq
		c.reopen()
		if now := c.Now().State; now.Mode != protocol.Paused || now.Seq != at {
			t.Errorf("it goes on %s at %d, want paused at %d", now.Mode, now.Seq, at)
		}
		c.stage.quiet(t)
	})
}

// What runs in the background of a session that waits is ended and told so too.
func TestCloseOfAWaitingSession(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("serve", true))[0]
		c.stage.ask(t).reply("It serves.")
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if op := c.op(run.ID); op.Status != protocol.OpCancelled || op.CancelledBy.Kind != protocol.ByEnd {
			t.Errorf("it ended as %+v", op)
		}
		if mode := c.Now().State.Mode; mode != protocol.Waiting {
			t.Errorf("the session is %s", mode)
		}
	})
}

// reopen closes the session and opens it again.
func (c *scene) reopen() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
	s, err := Open(c.path, c.options())
	if err != nil {
		c.t.Fatal(err)
	}
	c.Session = s
}

func events(t *testing.T, c *scene) []agent.Event {
	var out []agent.Event
	for _, h := range onDisk(t, c.path) {
		e, err := agent.Decode(h.Kind, h.Data)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestRefusedStartLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	start := begin
	start.Task = ""
	if _, _, err := Create(t.Context(), path, "", start, Options{World: newStage()}); err == nil {
		t.Fatal("a session without a task was started")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCreateOverASessionIsRefused(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		if _, _, err := Create(t.Context(), c.path, "", begin, c.options()); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("while it runs: %v", err)
		}
		if _, err := Open(c.path, c.options()); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("open while it runs: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Create(t.Context(), c.path, "", begin, c.options()); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("when it is closed: %v", err)
		}
		c.reopen() // and it is whole
	})
}
