package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// disk is a journal on a disk that may be full.
type disk struct {
	Journal
	full bool
}

var errFull = errors.New("no space left on device")

func (d *disk) Append(record []byte) error {
	if d.full {
		return errFull
	}
	return d.Journal.Append(record)
}

// within has something done in the session's goroutine.
func (c *scene) within(f func()) {
	c.t.Helper()
	done := make(chan struct{})
	if err := c.send(c.t.Context(), message{do: func(_ context.Context) { f(); close(done) }}); err != nil {
		c.t.Fatal(err)
	}
	<-done
}

// fills puts the session on a disk that can be full.
func (c *scene) fills() *disk {
	d := &disk{}
	c.within(func() { d.Journal, c.journal = c.journal, d })
	return d
}

func TestFullDiskRefusesRequests(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		ask := c.stage.ask(t)
		d, at, told := c.fills(), c.Now().State.Seq, len(e.lines())
		c.within(func() { d.full = true })
		for _, in := range []agent.Input{agent.Steer{Text: "use a hook"}, agent.Pause{}, agent.End{}} {
			r, err := c.Post(t.Context(), "k", in)
			if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "nothing was changed") || len(r.Events) > 0 {
				t.Errorf("%T: %s, %v", in, kinds(r.Events), err)
			}
		}
		synctest.Wait()
		if now := c.Now().State; now.Seq != at || now.Mode != protocol.Executing || ask.ctx.Err() != nil || len(e.lines()) != told {
			t.Errorf("something changed: %s at %d, %q", now.Mode, now.Seq, e.lines()[told:])
		}
		c.within(func() { d.full = false })
		if r, err := c.Post(t.Context(), "k", agent.Steer{Text: "use a hook"}); err != nil || len(r.Events) == 0 {
			t.Errorf("with room again: %v", err)
		}
		c.stage.ask(t)
	})
}

func TestFullDiskKeepsOutcomes(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		reads := c.working(readCall("a.txt"), readCall("b.txt"))
		d, at, told := c.fills(), c.Now().State.Seq, len(e.lines())
		c.within(func() { d.full = true })
		reads[0].done("text of a")
		synctest.Wait()
		reads[1].done("text of b")
		c.stage.quiet(t) // nothing new begins
		if _, err := c.Post(t.Context(), "", agent.Steer{Text: "use a hook"}); !errors.Is(err, errFull) {
			t.Errorf("a steer meanwhile: %v", err)
		}
		lines := e.lines()[told:]
		if len(lines) != 1 || !strings.Contains(lines[0], "no space left") || !strings.Contains(lines[0], `"mode":"paused"`) {
			t.Errorf("the clients are told %q", lines)
		}
		if c.Now().State.Seq != at {
			t.Error("the session went on without its journal")
		}
		c.within(func() { d.full = false })
		next := <-c.stage.began // by itself, after a while
		for _, text := range []string{"text of a", "text of b"} {
			if !strings.Contains(next.messages(), text) {
				t.Errorf("%q was lost", text)
			}
		}
		synctest.Wait()
		last := e.lines()[len(e.lines())-1]
		if !strings.Contains(last, "can be written again") || !strings.Contains(last, `"mode":"executing"`) {
			t.Errorf("the last word to the clients is %s", last)
		}
		if got, want := kinds(events(t, c)), "returned returned asked"; !strings.HasSuffix(got, want) {
			t.Errorf("the journal ends with %s", got)
		}
	})
}

// A pause that was there before stands again when there is room.
func TestFullDiskInAPause(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		read := c.working(readCall("a.txt"))[0]
		c.post(agent.Pause{})
		c.follow(e, -1)
		d := c.fills()
		c.within(func() { d.full = true })
		read.done("text of a")
		synctest.Wait()
		c.within(func() { d.full = false })
		time.Sleep(2 * unsavedRetry)
		last := e.lines()[len(e.lines())-1]
		if !strings.Contains(last, `"mode":"paused"`) || !strings.Contains(last, `"id":"`+c.Now().State.Pause.ID+`"`) {
			t.Errorf("the last word to the clients is %s", last)
		}
	})
}

// What could not be kept when the session was closed is lost, and said to be so.
func TestFullDiskAtTheEnd(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("make", false))[0]
		d := c.fills()
		c.within(func() { d.full = true })
		c.reopen()
		if op := c.op(run.ID); op.Status != protocol.OpLost {
			t.Errorf("the command is %s", op.Status)
		}
		if now := c.Now().State; now.Mode != protocol.Paused || now.Pause.By != protocol.PausedByRecovery {
			t.Errorf("the session is %s", now.Mode)
		}
	})
}

// crashed is the session as it goes on from what is on disk now, as after kill -9.
func (c *scene) crashed(change func(journal []byte) []byte) (*scene, error) {
	c.t.Helper()
	b, err := os.ReadFile(c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	if change != nil {
		b = change(b)
	}
	after := &scene{t: c.t, stage: newStage(), path: filepath.Join(c.t.TempDir(), "s.jsonl"), logs: new([]string)}
	if err := os.WriteFile(after.path, b, 0o600); err != nil {
		c.t.Fatal(err)
	}
	s, err := Open(after.path, after.options())
	if err != nil {
		return after, err
	}
	after.Session = s
	c.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return after, nil
}

func TestCrashWhileACommandRuns(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		run := c.working(runCall("migrate", false))[0]
		after, err := c.crashed(nil)
		if err != nil {
			t.Fatal(err)
		}
		after.stage.quiet(t)
		now := after.Now()
		if now.State.Mode != protocol.Paused || now.State.Pause.By != protocol.PausedByRecovery {
			t.Fatalf("it goes on %s", now.State.Mode)
		}
		if op := after.op(run.ID); op.Status != protocol.OpLost {
			t.Errorf("the command is %s", op.Status)
		}
		if facts := now.State.Pause.Facts; len(facts) != 1 || !strings.Contains(facts[0].Text, "migrate") {
			t.Errorf("the facts are %+v", facts)
		}
		after.post(agent.Resume{})
		next := after.stage.ask(t)
		if !strings.Contains(next.messages(), `\"status\":\"lost\"`) {
			t.Errorf("the agent is told:\n%s", next.messages())
		}
		after.stage.quiet(t)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// At autonomy high it goes on by itself, and still runs nothing twice.
func TestCrashAtAutonomyHigh(t *testing.T) {
	start := begin
	start.Autonomy = protocol.High
	play(t, start, func(t *testing.T, c *scene) {
		run := c.working(runCall("migrate", false))[0]
		after, err := c.crashed(nil)
		if err != nil {
			t.Fatal(err)
		}
		after.stage.ask(t)
		after.stage.quiet(t)
		if op := after.op(run.ID); op.Status != protocol.OpLost {
			t.Errorf("the command is %s", op.Status)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A crash after any record loses no acknowledged word and can be gone on from.
func TestCrashAfterAnyRecord(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.lively()
		whole := onDisk(t, c.path)
		b, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		for n := 1; n < len(lines); n++ {
			torn := lines[n][:len(lines[n])/2]
			after, err := c.crashed(func([]byte) []byte { return append(bytes.Join(lines[:n], nil), torn...) })
			if err != nil {
				t.Fatalf("after record %d: %v", n, err)
			}
			got := onDisk(t, after.path)
			for i, e := range got {
				if e.Seq != int64(i)+1 {
					t.Fatalf("after record %d: event %d bears %d", n, i+1, e.Seq)
				}
				if i < len(whole) && e.Kind != whole[i].Kind {
					break // what the crash led to
				}
			}
			if torn := len(torn) > 0; torn != (len(*after.logs) == 1) {
				t.Errorf("after record %d the log has %q", n, *after.logs)
			}
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A record that the disk has damaged is passed over with a word; the numbers of the events that
// clients know stay.
func TestDamagedRecordInTheMiddle(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		there := &ear{}
		c.follow(there, 0)
		c.lively()
		head := c.Now().State.Seq
		var cut, next int64
		after, err := c.crashed(func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			at := len(lines) / 2
			cut, next = seqInLine(t, lines[at]), seqInLine(t, lines[at+1])
			lines[at] = bytes.Replace(lines[at], []byte(`"events"`), []byte(`"evens!"`), 1)
			return bytes.Join(lines, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(*after.logs) != 1 || !strings.Contains((*after.logs)[0], "1 bad records skipped") {
			t.Errorf("the log has %q", *after.logs)
		}
		if now := after.Now().State.Seq; now < head {
			t.Errorf("it stands at %d, clients know %d", now, head)
		}
		e := &ear{}
		after.follow(e, 0)
		for _, n := range e.told {
			if seq := seqOf(n.params); seq >= cut && seq < next {
				t.Errorf("event %d stands in the damaged record", seq)
			}
		}
		last := e.told[len(e.told)-1]
		if seqOf(last.params) <= head {
			t.Errorf("the recovery was told as event %d", seqOf(last.params))
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func seqInLine(t *testing.T, line []byte) int64 {
	_, record, ok := bytes.Cut(line, []byte(`"record":`))
	if !ok {
		t.Fatalf("no record: %s", line)
	}
	r, err := decodeRecord(bytes.TrimSuffix(record, []byte("}\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// Facts of another version are not acted upon in part. They can still be looked at.
func TestUnknownFactsAreNotActedUpon(t *testing.T) {
	for name, record := range map[string]string{
		"kind":   `{"seq":%d,"at":"2026-01-02T03:04:05Z","events":[{"kind":"woke","data":{}},{"kind":"blessed","data":{}}]}`,
		"shape":  `{"seq":%d,"at":"2026-01-02T03:04:05Z","events":[{"kind":"steered","data":{"steer":[]}}]}`,
		"record": `{"seq":"%d"}`,
		"twice":  `{"seq":1,"at":"2026-01-02T03:04:05Z","events":[{"kind":"woke","data":{}}],"x":%d}`,
	} {
		t.Run(name, func(t *testing.T) {
			play(t, begin, func(t *testing.T, c *scene) {
				c.stage.ask(t)
				head := c.Now().State.Seq
				after, err := c.crashed(func(b []byte) []byte {
					return append(b, journal.Line(fmt.Appendf(nil, record, head+1))...)
				})
				if err == nil || !strings.Contains(err.Error(), "another version of Tandem") {
					t.Errorf("it was opened: %v", err)
				}
				if now, err := Load(after.path); err != nil || now.State.Started.Task != "work" {
					t.Errorf("it cannot be looked at: %v", err)
				}
				if b, err := os.ReadFile(after.path); err != nil || !bytes.HasSuffix(b, []byte("}\n")) || bytes.Count(b, []byte("\n")) != 2 {
					t.Errorf("its journal was changed: %s", b)
				}
			})
		})
	}
}

func TestOpenOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{World: newStage()}); err == nil || !strings.Contains(err.Error(), "holds no session") {
		t.Errorf("an empty journal was opened: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no journal was loaded: %v", err)
	}
}

func TestStartKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		s, _, err := Create(t.Context(), path, "k", begin, Options{World: newStage()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Post(t.Context(), "other", agent.Pause{}); err != nil {
			t.Fatal(err)
		}
		if got := StartKey(path); got != "k" {
			t.Errorf("the key is %q", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := StartKey(path + "x"); got != "" {
			t.Errorf("the key of nothing is %q", got)
		}
	})
}
