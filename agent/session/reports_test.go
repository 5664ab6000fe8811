package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// The tests here hold public reports of faults in coding agents, as the table in package server
// lists them.

// Report B003: a tool ends in the moment in which the developer speaks, two hundred times. In
// what is sent each result has its call before it, and each call its result.
func TestReportOutcomeAndSteerAtOnce(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		chance := rand.New(rand.NewSource(3))
		c.stage.ask(t).reply("", planCall())
		for round := range 200 {
			c.wanted(t).reply("", readCall(fmt.Sprintf("%d.txt", round)))
			read := c.wanted(t)
			spoken := make(chan error, 1)
			go func(after time.Duration) {
				time.Sleep(after)
				_, err := c.Post(t.Context(), "", agent.Steer{Text: fmt.Sprintf("word %d.", round)})
				spoken <- err
			}(time.Duration(chance.Intn(3)) * time.Millisecond)
			time.Sleep(time.Duration(chance.Intn(3)) * time.Millisecond)
			read.done(fmt.Sprintf("text %d.", round))
			if err := <-spoken; err != nil {
				t.Fatal(err)
			}
			c.wanted(t).reply("", planCall())
		}
		paired(t, c.wanted(t))
	})
}

// wanted is the next job that is still wanted: a question that the outcome led to may have been
// put and cut before the developer's word was heard.
func (c *scene) wanted(t *testing.T) *act {
	t.Helper()
	for {
		if a := c.stage.next(t); a.ctx.Err() == nil {
			return a
		}
	}
}

// paired fails unless in what a question bears each call is followed by its one result, and each
// result has its call; each word and each outcome stands there once.
func paired(t *testing.T, question *act) {
	t.Helper()
	var due []string
	for raw := range question.Job.Job.(agent.Ask).All {
		var m struct {
			Role       string
			ToolCallID string                `json:"tool_call_id"`
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Role == "tool" && (len(due) == 0 || due[0] != m.ToolCallID):
			t.Errorf("a result of %s, due are %q", m.ToolCallID, due)
		case m.Role == "tool":
			due = due[1:]
		case len(due) > 0:
			t.Errorf("no result of %q", due)
		}
		for _, call := range m.ToolCalls {
			due = append(due, call.ID)
		}
	}
	text := question.messages()
	for round := range 200 {
		for _, once := range []string{fmt.Sprintf("word %d.", round), fmt.Sprintf("text %d.", round)} {
			if n := strings.Count(text, once); n != 1 {
				t.Errorf("%q is told %d times", once, n)
			}
		}
	}
}

// Report B030: what a daemon that ends has stopped is not laid at the developer's door.
func TestReportWhoHasStoppedIt(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t).reply("", planCall(), runCall("make", false), writeCall("behind.txt"))
		c.stage.next(t)
		c.reopen()
		p := c.Now().View().Pause
		if p == nil || p.By != protocol.PausedByRecovery || !strings.Contains(p.Reason, "daemon") {
			t.Fatalf("the pause is %+v", p)
		}
		c.post(agent.Resume{})
		m := c.stage.ask(t).messages()
		if !strings.Contains(m, `\"by\":{\"kind\":\"pause\",\"id\":\"`+p.ID+`\"}`) || strings.Contains(m, "the developer spoke") {
			t.Errorf("the agent is told:\n%s", m)
		}
	})
}

// Report B017: whatever ends a session, each word that was taken is on disk with what became of
// it: it was heard, or withdrawn, or the session lives and it waits.
func TestReportNoWordIsDropped(t *testing.T) {
	for name, close := range map[string]func(c *scene){
		"ended":  func(c *scene) { c.post(agent.End{}) },
		"closed": func(*scene) {},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, begin, func(t *testing.T, c *scene) {
				c.working(runCall("make", false))
				for i, when := range []protocol.When{protocol.Idle, protocol.StepEnd, protocol.Now, protocol.Idle, protocol.StepEnd} {
					c.post(agent.Steer{Text: fmt.Sprintf("word %d", i), When: when})
				}
				close(c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				fates := fatesOf(t, c.path)
				want := []string{"withdrawn", "withdrawn", "heard", "withdrawn", "withdrawn"}
				if name == "closed" {
					want = []string{"waits", "waits", "heard", "waits", "waits"}
				}
				if !slices.Equal(fates, want) {
					t.Errorf("of the words became %q, want %q", fates, want)
				}
			})
		})
	}
}

// fatesOf says what a journal holds of each steer, in the order in which they came.
func fatesOf(t *testing.T, path string) []string {
	t.Helper()
	var ids []string
	fates := map[string]string{}
	for _, h := range onDisk(t, path) {
		e, err := agent.Decode(h.Kind, h.Data)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case agent.Steered:
			ids, fates[e.Steer.ID] = append(ids, e.Steer.ID), "waits"
		case agent.Heard:
			fates[e.Steer] = "heard"
		case agent.Withdrawn:
			fates[e.Steer] = "withdrawn"
		}
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fates[id]
	}
	return out
}

// Report B114: separators of lines that are no line feed are text like any other.
func TestReportSeparatorsInWords(t *testing.T) {
	const words = "a\u2028b\u2029c\u0085d\r\ne\vf"
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t)
		c.post(agent.Steer{Text: words})
		c.reopen()
		var said []string
		for _, h := range onDisk(t, c.path) {
			if e, err := agent.Decode(h.Kind, h.Data); err != nil {
				t.Fatal(err)
			} else if e, ok := e.(agent.Steered); ok {
				said = append(said, e.Steer.Text)
			}
		}
		if !slices.Equal(said, []string{words}) {
			t.Errorf("on disk stands %q", said)
		}
	})
}

// Report B114: what it takes to load a journal is in proportion to its length, also where one
// record is long.
func TestReportALongJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t)
		b, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	const part = 1 << 20
	var took []uint64
	for range 2 {
		seq := lengthen(t, path, part)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		now, err := Load(path)
		runtime.ReadMemStats(&after)
		if err != nil || now.State.Seq != seq {
			t.Fatalf("it stands at %d, want %d: %v", now.State.Seq, seq, err)
		}
		took = append(took, after.TotalAlloc-before.TotalAlloc)
	}
	if took[0] > 10*part || took[1] > 2*took[0]+part {
		t.Errorf("to load %d and %d bytes took %d bytes of memory", part, 2*part, took)
	}
}

// lengthen adds steers to a journal up to a length, and gives the number of the last event.
func lengthen(t *testing.T, path string, length int64) int64 {
	t.Helper()
	now, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seq, written := now.State.Seq, int64(0)
	for n := 0; written < length; n++ {
		size := 8 << 10
		if n == 7 {
			size = 256 << 10
		}
		id := fmt.Sprintf("t%d", n+1)
		events := []agent.Event{agent.Steered{Steer: protocol.Steer{ID: id, Text: strings.Repeat("x", size), When: protocol.Idle,
			Status: protocol.SteerReceived}}, agent.Withdrawn{Steer: id}}
		record, err := encode(seq+1, now.Updated, "", events)
		if err != nil {
			t.Fatal(err)
		}
		wrote, err := f.Write(journal.Line(record))
		if err != nil {
			t.Fatal(err)
		}
		seq, written = seq+int64(len(events)), written+int64(wrote)
	}
	return seq
}

// Report B113: the first write of a record stops half-way, the second succeeds. The record is
// there once, and whoever asked is told of the first.
func TestReportAHalfWrittenRecord(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t)
		c.within(func() { c.journal = &stutter{Journal: c.journal, path: c.path} })
		if _, err := c.Post(t.Context(), "k", agent.Steer{Text: "once"}); err == nil || !strings.Contains(err.Error(), "input/output") {
			t.Errorf("the write error is told as %v", err)
		}
		c.post(agent.Steer{Text: "once"})
		c.reopen()
		n := 0
		for _, h := range onDisk(t, c.path) {
			if h.Kind == "steered" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the record is there %d times", n)
		}
		synctest.Wait()
	})
}

// stutter is a disk that takes half of one record, says so, and takes everything after it.
type stutter struct {
	Journal
	path string
	done bool
}

func (s *stutter) Append(record []byte) error {
	if s.done {
		return s.Journal.Append(record)
	}
	s.done = true
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	line := journal.Line(record)
	_, err = f.Write(line[:len(line)/2])
	if err == nil {
		err = errors.New("input/output error")
	}
	if closed := f.Close(); closed != nil {
		return closed
	}
	return err
}
