package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// The tests here have real sockets on both sides, and real commands.

// newRealHouse is a daemon on a socket, with a model's server on another.
func newRealHouse(t *testing.T, files map[string]string) (*house, func() *peer) {
	t.Helper()
	needsShell(t)
	h := newHouse(t, files)
	server := httptest.NewServer(http.HandlerFunc(h.model.serve))
	t.Cleanup(server.Close)
	h.opts.HTTP, h.opts.Environ = nil, append(h.opts.Environ, "OPENAI_BASE_URL="+server.URL)
	connect, _ := h.served(t)
	return h, connect
}

// served serves the house anew on a socket, and gives what connects a client, and the socket's address.
func (h *house) served(t *testing.T) (connect func() *peer, address string) {
	t.Helper()
	registry := NewRegistry(h.opts)
	h.Registry = registry
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- registry.ServeAll(ctx, l, time.Minute, time.Hour) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		h.close()
	})
	return func() *peer {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(t, conn, nil)
		p.initialize(h.dir, true)
		return p
	}, l.Addr().String()
}

// serve answers as RoundTrip does, over HTTP.
func (m *scripted) serve(w http.ResponseWriter, r *http.Request) {
	resp, err := m.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	part := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(part)
		if _, gone := w.Write(part[:n]); gone != nil || errors.Is(err, io.EOF) {
			return
		}
		w.(http.Flusher).Flush()
		if err != nil {
			panic(http.ErrAbortHandler) // the connection breaks
		}
	}
}

// runs waits until an operation with a target runs.
func (p *peer) runs(target string) protocol.Operation {
	p.t.Helper()
	return p.reaches(target, protocol.OpRunning)
}

// reaches waits until an operation with a target has a status.
func (p *peer) reaches(target string, status protocol.OperationStatus) protocol.Operation {
	p.t.Helper()
	var o protocol.ProgressParams
	p.until(target+" to be "+string(status), func(method, params string) bool {
		o = protocol.ProgressParams{}
		if method != protocol.NoteProgress {
			return false
		}
		if err := json.Unmarshal([]byte(params), &o); err != nil {
			p.t.Fatal(err)
		}
		return strings.Contains(o.Operation.Target, target) && o.Operation.Status == status
	})
	return o.Operation
}

func runs(line string) []string {
	arguments, err := json.Marshal(params{"intent": "I run it.", "step": "s1", "command": line})
	if err != nil {
		panic(err)
	}
	return []string{"run_command", string(arguments)}
}

const endless = "echo begun > begun.txt; while :; do sleep 0.05; done"

// A steer that names the running command ends it: partly done, with the files it had touched.
// The next question does not wait for that, and what came of it follows.
func TestSteerEndsTheCommandInItsScope(t *testing.T) {
	h, connect := newRealHouse(t, nil)
	h.model.will(work(runs(endless)...), does(plans("s1 active Otherwise")...), says("Done."))
	p := connect()
	id := p.start(params{}).ID
	op := p.runs("begun.txt")
	untilThere(t, filepath.Join(h.dir, "begun.txt"))
	var r protocol.SteerResult
	p.ok(protocol.MethodSteer, at(id, "text", "not that", "scope", params{"operationId": op.ID}), &r)
	if !slices.Equal(r.Cancelled, []string{op.ID}) || len(r.Running) > 0 {
		t.Errorf("the receipt is %+v", r)
	}
	h.model.question(1)
	ended := p.reaches("begun.txt", protocol.OpCancelled)
	if !ended.Partial || ended.CancelledBy.ID != r.SteerID || !slices.Equal(ended.Files, []string{fileURI(h.dir) + "/begun.txt"}) {
		t.Errorf("it ended as %+v", ended)
	}
	p.ok(protocol.MethodSteer, at(id, "text", "and now?"), nil)
	if q := h.model.question(3); !strings.Contains(q, "begun.txt (new)") {
		t.Errorf("what it had done is not in the next question:\n%s", q)
	}
}

// untilThere waits for a file: the command that makes it runs beside us.
func untilThere(t *testing.T, path string) {
	t.Helper()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s was not made", path)
		case <-time.After(time.Millisecond):
		}
	}
}

// A steer without a scope lets the command run on: the agent is told that it runs, and its
// outcome follows.
func TestSteerLetsTheCommandRunOn(t *testing.T) {
	h, connect := newRealHouse(t, nil)
	h.model.will(
		work(runs("while [ ! -e go.txt ]; do sleep 0.02; done; echo it is over")...),
		does(append(plans("s1 active Otherwise"), "write_file", `{"intent":"I let it go.","step":"s1","path":"go.txt","content":"go"}`)...),
		sse{saying("I wait.")}.hanging())
	p := connect()
	id := p.start(params{}).ID
	op := p.runs("go.txt")
	var r protocol.SteerResult
	p.ok(protocol.MethodSteer, at(id, "text", "with care"), &r)
	if !slices.Equal(r.Running, []string{op.ID}) || len(r.Cancelled) > 0 {
		t.Errorf("the receipt is %+v", r)
	}
	if q := h.model.question(1); !strings.Contains(q, `\"status\":\"running\"`) {
		t.Errorf("the agent is not told that it runs:\n%s", q)
	}
	ended := p.reaches("go.txt", protocol.OpDone)
	if ended.ID != op.ID && ended.Tool == "run_command" {
		t.Errorf("another operation ended: %+v", ended)
	}
	if ended.Tool != "run_command" {
		ended = p.reaches("go.txt", protocol.OpDone)
	}
	if len(ended.Files) > 0 { // the agent's own write beside it is not its doing
		t.Errorf("it is told to have changed %q", ended.Files)
	}
	p.ok(protocol.MethodSteer, at(id, "text", "and now?"), nil)
	if q := h.model.question(3); !strings.Contains(q, "it is over") {
		t.Errorf("the outcome is not in the next question:\n%s", q)
	}
}

// A step is done when its verification passes, and not before.
func TestVerifiedSteps(t *testing.T) {
	h, connect := newRealHouse(t, nil)
	write := []string{"write_file", `{"intent":"I write.","step":"s1","path":"made.txt","content":"made"}`}
	claim := []string{"update_plan", `{"intent":"It is done.","step":"s1","explanation":"","steps":[{"id":"s1","title":"Make it","intent":"I make it.","status":"done","verify":{"command":"test -e made.txt"}}]}`}
	h.model.will(does(claim...), does(append(write, claim...)...), says("Done."))
	p := connect()
	id := p.start(params{}).ID
	p.untilHas(protocol.NotePlanChanged, `"verified":false`)
	if q := h.model.question(1); !strings.Contains(q, "did not pass") {
		t.Errorf("the agent is not told that it failed:\n%s", q)
	}
	p.untilHas(protocol.NotePlanChanged, `"verified":true`)
	p.untilHas(protocol.NoteModeChanged, "waiting")
	if step := p.session(id).Plan.Steps[0]; step.Status != protocol.StepDone || step.Verified == nil || !*step.Verified {
		t.Errorf("the step is %+v", step)
	}
}

// A pause freezes a real command, and resume lets it go on to its end.
func TestPauseFreezesARealCommand(t *testing.T) {
	h, connect := newRealHouse(t, nil)
	outside := t.TempDir()
	h.model.will(work(runs("cd "+shellWord(outside)+"; touch begun; while [ ! -e go ]; do sleep 0.02; done; echo it is over")...), says("Done."))
	p := connect()
	id := p.start(params{}).ID
	op := p.runs(outside)
	untilThere(t, filepath.Join(outside, "begun"))
	var paused protocol.PauseResult
	p.ok(protocol.MethodPause, at(id), &paused)
	if !slices.Equal(paused.Pause.Frozen, []string{op.ID}) {
		t.Errorf("frozen are %q", paused.Pause.Frozen)
	}
	p.reaches(outside, protocol.OpFrozen)
	if err := os.WriteFile(filepath.Join(outside, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.ok(protocol.MethodResume, at(id), nil)
	p.reaches(outside, protocol.OpRunning)
	if ended := p.reaches(outside, protocol.OpDone); !strings.Contains(ended.Output, "it is over") {
		t.Errorf("it ended as %+v", ended)
	}
	p.untilHas(protocol.NoteModeChanged, "waiting")
}

// The session outlives its client; another one on the socket gets everything once, in order.
func TestAnotherClientOnTheSocket(t *testing.T) {
	h, connect := newRealHouse(t, map[string]string{"a.txt": "one\n"})
	h.model.will(work("edit_file", `{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"one","new":"two"}]}`), says("Done."))
	p := connect()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	p.hangUp()
	q := connect()
	q.ok(protocol.MethodAttach, at(id, "since", 0), nil)
	q.untilHas(protocol.NoteModeChanged, "waiting")
	if first, second := p.notes(), q.notes(); !slices.Equal(first, second) {
		t.Errorf("the first got\n%q\nthe second\n%q", first, second)
	}
	if b, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("the file reads %q, %v", b, err)
	}
}
