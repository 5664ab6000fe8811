package session

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// stage is a world whose work ends when the test says so, or when it is cancelled.
type stage struct {
	began  chan *act
	before func(j Job) // is called as a job begins
}

// act is one job on the stage.
type act struct {
	Job
	ctx context.Context
	end chan agent.Input
}

func newStage() *stage { return &stage{began: make(chan *act, 100)} }

func (st *stage) Do(ctx context.Context, j Job) agent.Input {
	if st.before != nil {
		st.before(j)
	}
	a := &act{Job: j, ctx: ctx, end: make(chan agent.Input, 1)}
	st.began <- a
	if run, ok := j.Job.(agent.Run); ok && strings.Contains(run.Arguments, "stubborn") {
		return <-a.end
	}
	select {
	case in := <-a.end:
		return in
	case <-ctx.Done():
	}
	if _, asks := j.Job.(agent.Ask); asks {
		return agent.AskFailed{Question: j.ID, Why: agent.FailCut, Text: "cancelled"}
	}
	return agent.Outcome{Op: j.ID, Cancelled: true, Text: "ended"}
}

// next is the next job that has begun.
func (st *stage) next(t *testing.T) *act {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-st.began:
		return a
	default:
		t.Fatal("nothing has begun")
		return nil
	}
}

// ask is the next job, which has to be a question.
func (st *stage) ask(t *testing.T) *act {
	t.Helper()
	a := st.next(t)
	if _, ok := a.Job.Job.(agent.Ask); !ok {
		t.Fatalf("%s began as %T, want a question", a.ID, a.Job.Job)
	}
	return a
}

// quiet fails when something has begun.
func (st *stage) quiet(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-st.began:
		t.Fatalf("%s began as %T", a.ID, a.Job.Job)
	default:
	}
}

// reply answers a question with calls, or with words where there are none.
func (a *act) reply(text string, calls ...agent.ModelCall) {
	a.end <- agent.Replied{Question: a.ID, Text: text, Calls: calls}
}

func (a *act) done(text string) { a.end <- agent.Outcome{Op: a.ID, Text: text, Output: text} }

// messages are the conversation that a question bears, as one text.
func (a *act) messages() string {
	var b strings.Builder
	for m := range a.Job.Job.(agent.Ask).All {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}

func planCall() agent.ModelCall {
	return agent.ModelCall{Name: "update_plan", Arguments: `{"intent":"I lay out the work.","step":"","explanation":"one step","steps":[{"id":"s1","title":"Work","intent":"I work.","status":"active"}]}`}
}

func runCall(line string, background bool) agent.ModelCall {
	return agent.ModelCall{Name: "run_command", Arguments: fmt.Sprintf(`{"intent":"I run it.","step":"s1","command":%q,"background":%v}`, line, background)}
}

func readCall(path string) agent.ModelCall {
	return agent.ModelCall{Name: "read_file", Arguments: fmt.Sprintf(`{"intent":"I look.","step":"s1","path":%q}`, path)}
}

func writeCall(path string) agent.ModelCall {
	return agent.ModelCall{Name: "write_file", Arguments: fmt.Sprintf(`{"intent":"I write.","step":"s1","path":%q,"content":"x"}`, path)}
}

// a scene is a session on a stage.
type scene struct {
	*Session
	t     *testing.T
	stage *stage
	path  string
	logs  *[]string
}

var begin = agent.Start{ID: "s", Workspace: "file:///w", Task: "work", Model: "m", Trusted: true}

// play has f play a scene in a bubble of time; the session is closed behind it.
func play(t *testing.T, start agent.Start, f func(t *testing.T, c *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &scene{t: t, stage: newStage(), path: filepath.Join(t.TempDir(), "s.jsonl"), logs: new([]string)}
		s, _, err := Create(t.Context(), c.path, "", start, c.options())
		if err != nil {
			t.Fatal(err)
		}
		c.Session = s
		defer func() {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		f(t, c)
	})
}

func (c *scene) options() Options {
	var mu sync.Mutex
	return Options{World: c.stage, Log: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		*c.logs = append(*c.logs, text)
	}}
}

func (c *scene) post(in agent.Input) Receipt {
	c.t.Helper()
	r, err := c.Post(c.t.Context(), "", in)
	if err != nil {
		c.t.Fatalf("%T: %v", in, err)
	}
	return r
}

// working brings the session to where a plan stands and calls run; it gives these, in order.
// What else has begun is still there to be taken.
func (c *scene) working(calls ...agent.ModelCall) []*act {
	c.t.Helper()
	c.stage.ask(c.t).reply("", append([]agent.ModelCall{planCall()}, calls...)...)
	var out, asks []*act
	for len(out) < len(calls) {
		a := c.stage.next(c.t)
		if _, ok := a.Job.Job.(agent.Run); ok {
			out = append(out, a)
		} else {
			asks = append(asks, a)
		}
	}
	for _, a := range asks {
		c.stage.began <- a
	}
	slices.SortFunc(out, func(a, b *act) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// op is an operation of the session as it stands.
func (c *scene) op(id string) protocol.Operation {
	c.t.Helper()
	for _, o := range c.Now().View().Operations {
		if o.ID == id {
			return o
		}
	}
	c.t.Fatalf("there is no operation %s", id)
	return protocol.Operation{}
}

// kinds are the names of events.
func kinds(events []agent.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, agent.Kind(e))
	}
	return strings.Join(out, " ")
}

// ear is a client that keeps what it is told.
type ear struct {
	mu    sync.Mutex
	told  []note
	hears func(method string, params []byte) // is called first
}

func (e *ear) Notify(method string, params []byte) {
	if e.hears != nil {
		e.hears(method, params)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, note{method, params})
}

// lines are what it was told, one line each.
func (e *ear) lines() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]string, len(e.told))
	for i, n := range e.told {
		out[i] = n.method + " " + string(n.params)
	}
	return out
}

func seqOf(params []byte) int64 {
	var p protocol.Event
	if err := json.Unmarshal(params, &p); err != nil {
		panic(err)
	}
	return p.Seq
}

// follow makes a client follow the session; since -1 is from now on.
func (c *scene) follow(e Client, since int64) {
	c.t.Helper()
	now, err := c.Attach(c.t.Context(), e)
	if err != nil {
		c.t.Fatal(err)
	}
	if since < 0 {
		since = now.State.Seq
	}
	if err := c.Follow(c.t.Context(), e, since, now); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

// onDisk are the events that a journal holds.
func onDisk(t *testing.T, path string) []protocol.HistoryEvent {
	t.Helper()
	var out []protocol.HistoryEvent
	_, err := journal.Read(path, func(line []byte) error {
		r, err := decodeRecord(line)
		out = append(out, r.history()...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
