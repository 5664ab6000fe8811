package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent/session"
	"tandem/protocol"
)

func TestStateFolder(t *testing.T) {
	for _, test := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.local/state/tandem"},
		{map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/x"}, "/x/tandem"},
	} {
		if got := StateFolder(func(name string) string { return test.environ[name] }); got != filepath.FromSlash(test.want) {
			t.Errorf("%v: %s", test.environ, got)
		}
	}
}

// Close ends what runs, and what runs is told so; nothing can be begun any more, and a later
// registry goes on where this one ended.
func TestCloseOfTheRegistry(t *testing.T) {
	needsShell(t)
	h := newHouse(t, nil)
	h.model.will(work("run_command", `{"intent":"I serve.","step":"s1","command":"echo up > up.txt; while :; do sleep 0.05; done"}`))
	p := h.client()
	id := p.start(params{}).ID
	p.until("the command to run", func(method, params string) bool {
		return method == protocol.NoteProgress && strings.Contains(params, "run_command") && strings.Contains(params, `"status":"running"`)
	})
	if !h.Live() {
		t.Error("a session at work does not count as live")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	p.refused(protocol.MethodStart, params{"task": "work"}, -32803, "", "this daemon is ending")
	p.refused(protocol.MethodAttach, at(id), -32803, "", "this daemon is ending")
	left, err := session.Load(h.path(h.dir, id))
	if err != nil {
		t.Fatal(err)
	}
	ops := left.View().Operations
	if left.State.Mode != protocol.Paused || ops[len(ops)-1].Status != protocol.OpCancelled {
		t.Errorf("it was left %s with %+v", left.State.Mode, ops[len(ops)-1])
	}
	if h.Live() {
		t.Error("a closed registry counts as live")
	}
	h.again()
	p = h.client()
	var r protocol.SessionResult
	p.ok(protocol.MethodAttach, at(id), &r)
	if r.Session.Mode != protocol.Paused {
		t.Errorf("it goes on %s", r.Session.Mode)
	}
}

// The configuration is read anew for each session, so another address is asked from then on.
func TestClientsOfModelsAreShared(t *testing.T) {
	h := newHouse(t, nil, "OPENAI_BASE_URL=", "XDG_CONFIG_HOME="+t.TempDir())
	config := filepath.Join(h.getenv("XDG_CONFIG_HOME"), "tandem")
	for i, url := range []string{"http://one.example", "http://one.example", "http://two.example"} {
		write(t, config, map[string]string{"config.yaml": "model: {base_url: " + url + "}\n"})
		h.client().start(params{})
		if want := []int{1, 1, 2}[i]; len(h.models) != want {
			t.Errorf("after session %d there are %d clients, want %d", i+1, len(h.models), want)
		}
	}
}

// What a killed daemon left half-way in a workspace is removed when it is opened again.
func TestWorkspaceIsSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{".tandem-HALFWAY.tmp": "", "a.txt": ""})
		then := time.Now().Add(-2 * time.Hour)
		for _, name := range namesIn(h.dir) {
			if err := os.Chtimes(filepath.Join(h.dir, name), then, then); err != nil {
				t.Fatal(err)
			}
		}
		h.client().start(params{})
		synctest.Wait()
		if names := namesIn(h.dir); len(names) != 1 || names[0] != "a.txt" {
			t.Errorf("there are %q", names)
		}
	})
}

func TestSecretsNeverLeave(t *testing.T) {
	needsShell(t)
	const secret = "hunter2-hunter2"
	h := newHouse(t, map[string]string{"env.txt": "PASSWORD=" + secret + "\n"}, "DB_PASSWORD="+secret, "OPENAI_API_KEY=sk-1234567890")
	h.model.will(
		work("read_file", `{"intent":"I read.","step":"s1","path":"env.txt"}`,
			"run_command", `{"intent":"I run.","step":"s1","command":"echo $DB_PASSWORD; echo key=$OPENAI_API_KEY"}`),
		says("It is "+secret+"."))
	p := h.client()
	id := p.start(params{"task": "use " + secret}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	p.ok(protocol.MethodSteer, at(id, "text", "not "+secret), nil)
	h.model.question(2)
	journal, err := os.ReadFile(h.path(h.dir, id))
	if err != nil {
		t.Fatal(err)
	}
	all := string(journal) + strings.Join(p.notes(), "\n")
	for n := range 3 {
		all += h.model.question(n)
	}
	if strings.Contains(all, secret) || strings.Contains(all, "sk-1234567890") {
		t.Errorf("a secret left the daemon: %.200s", all[strings.Index(all, secret):])
	}
	if !strings.Contains(all, "[DB_PASSWORD redacted]") || !strings.Contains(all, "key=\\n") {
		t.Error("nothing was redacted, or the command got the model's key")
	}
}

// line is a listener whose clients come through pipes.
type line struct {
	conns chan net.Conn
	errs  chan error
	done  chan struct{}
	once  sync.Once
}

func newLine() *line {
	return &line{conns: make(chan net.Conn), errs: make(chan error), done: make(chan struct{})}
}

func (l *line) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case err := <-l.errs:
		return nil, err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *line) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *line) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *line) dial(t *testing.T) *peer {
	ours, theirs := net.Pipe()
	l.conns <- ours
	return newPeer(t, theirs, nil)
}

// The daemon ends when nobody is there and nothing runs, and not before.
func TestServeAllEndsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		l := newLine()
		var ended atomic.Bool
		served := make(chan error, 1)
		go func() {
			err := h.ServeAll(t.Context(), l, 10*time.Second, 5*time.Minute)
			ended.Store(true)
			served <- err
		}()
		time.Sleep(4 * time.Minute)
		p := l.dial(t)
		p.initialize(h.dir, true)
		time.Sleep(time.Hour) // a client is there
		h.model.will(reply{status: 503, after: 9 * time.Minute, body: "{}"}, work(), says("Done."))
		p.start(params{})
		p.hangUp()
		time.Sleep(8 * time.Minute) // it waits to ask again
		if ended.Load() {
			t.Fatal("it ended while a session was at work")
		}
		time.Sleep(5*time.Minute - time.Second) // it was at work until four minutes ago, at most
		q := l.dial(t)                          // a short visit between two looks
		q.initialize(h.dir, true)
		q.hangUp()
		time.Sleep(5*time.Minute - 10*time.Second)
		if ended.Load() {
			t.Fatal("it ended soon after a visit")
		}
		time.Sleep(30 * time.Second)
		if !ended.Load() {
			t.Fatal("it does not end")
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// It returns when the last connection has ended; a listener that is out of files is tried again.
func TestServeAllEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		l := newLine()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.ServeAll(ctx, l, time.Minute, time.Hour) }()
		l.errs <- fmt.Errorf("accept: %w", syscall.EMFILE)
		p := l.dial(t)
		p.initialize(h.dir, true)
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		<-p.gone
	})
}

func TestServeAllWithABrokenListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		l := newLine()
		served := make(chan error, 1)
		go func() { served <- h.ServeAll(t.Context(), l, time.Minute, time.Hour) }()
		p := l.dial(t)
		broken := errors.New("broken")
		l.errs <- broken
		if err := <-served; !errors.Is(err, broken) {
			t.Errorf("it ends with %v", err)
		}
		<-p.gone
	})
}

// A list of many sessions reads each journal once.
func TestListIsRemembered(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	id := p.start(params{}).ID
	h.again()
	path := h.path(h.dir, id)
	if n := listed(t, h); n != 1 {
		t.Fatalf("%d are listed", n)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// As long as size and time are the same it is not read: here it could not be.
	if err := errors.Join(os.WriteFile(path, []byte(strings.Repeat("x", len(whole))), 0o600), os.Chtimes(path, time.Time{}, before.ModTime())); err != nil {
		t.Fatal(err)
	}
	if n := listed(t, h); n != 1 {
		t.Errorf("it was read again: %d are listed", n)
	}
	if err := os.Chtimes(path, time.Time{}, before.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if n := listed(t, h); n != 0 {
		t.Errorf("it was not read again: %d are listed", n)
	}
}

// What a list has read is remembered on disk, for the next daemon; a shelf that is broken or of
// another form is made anew.
func TestListIsRememberedOnDisk(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	id := p.start(params{}).ID
	h.again()
	path, kept := h.path(h.dir, id), shelfOf(h.sessionsIn(h.dir))
	if n := listed(t, h); n != 1 {
		t.Fatalf("%d are listed", n)
	}
	shelf, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	h.again()
	// Where size and time are the same the shelf is believed: here the journal could not be read.
	junk := []byte(strings.Repeat("x", int(info.Size())))
	if err := errors.Join(os.WriteFile(path, junk, 0o600), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if n := listed(t, h); n != 1 {
		t.Errorf("the shelf was not read: %d are listed", n)
	}
	for name, broken := range map[string]string{"broken": "{", "of another form": strings.Replace(string(shelf), "tandem", "tandam", 1)} {
		h.again()
		if err := os.WriteFile(kept, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := listed(t, h); n != 0 {
			t.Errorf("a shelf that is %s was believed", name)
		}
	}
}

// A session that rests is given up when nobody follows it, and the next request opens it again.
func TestTidy(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	id := p.start(params{}).ID
	if _, err := h.Find(id); err != nil {
		t.Fatal(err)
	}
	h.Tidy(0)
	if _, open := h.running(id); !open {
		t.Fatal("a session that a client follows was given up")
	}
	p.call(protocol.MethodEnd, params{"sessionId": id})
	p.call(protocol.MethodDetach, params{"sessionId": id})
	for late := time.Now().Add(20 * time.Second); ; runtime.Gosched() { // its question has still to end
		h.Tidy(0)
		if _, open := h.running(id); !open {
			break
		}
		if time.Now().After(late) {
			t.Fatal("a session that rests was kept")
		}
	}
	s, err := h.Find(id)
	if err != nil || s.Now().State.Mode != protocol.Done {
		t.Errorf("opened again: %v", err)
	}
}

func listed(t *testing.T, h *house) int {
	t.Helper()
	sessions, err := h.List("")
	if err != nil {
		t.Fatal(err)
	}
	return len(sessions)
}

// BenchmarkList lists 1,000 small sessions on disk, the first time and from then on.
func BenchmarkList(b *testing.B) {
	state := b.TempDir()
	dir := filepath.Join(state, "workspaces", "w-1", "sessions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	journal := smallJournal(b)
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%04d.jsonl", i)), journal, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	list := func(b *testing.B, r *Registry) {
		if sessions, err := r.List(""); err != nil || len(sessions) != 1000 {
			b.Fatalf("%d sessions, %v", len(sessions), err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			r := NewRegistry(Options{State: state})
			list(b, r)
		}
	})
	b.Run("again", func(b *testing.B) {
		r := NewRegistry(Options{State: state})
		list(b, r)
		for b.Loop() {
			list(b, r)
		}
	})
}

// smallJournal is the journal of a session with a plan and a few operations.
func smallJournal(b *testing.B) []byte {
	b.Helper()
	h := newHouse(b, map[string]string{"a.txt": "one\n"})
	look := []string{"read_file", `{"intent":"I look.","step":"s1","path":"a.txt"}`}
	h.model.will(work(append(look, look...)...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	journal, err := os.ReadFile(h.path(h.dir, id))
	if err != nil {
		b.Fatal(err)
	}
	return journal
}

// TestRecover opens what was at work when a daemon died, and nothing else.
func TestRecover(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	high := p.start(params{"autonomy": "high"}).ID
	balanced := p.start(params{}).ID
	over := p.start(params{}).ID
	p.call(protocol.MethodEnd, params{"sessionId": over})
	var atWork = map[string][]byte{}
	for _, id := range []string{high, balanced, over} {
		raw, err := os.ReadFile(h.path(h.dir, id))
		if err != nil {
			t.Fatal(err)
		}
		atWork[id] = raw
	}
	h.again()
	for id, raw := range atWork { // as they were when the daemon was killed, not as it closed them
		if err := os.WriteFile(h.path(h.dir, id), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Recover(h.dir)
	for id, want := range map[string]protocol.Mode{high: protocol.Executing, balanced: protocol.Paused} {
		s, open := h.running(id)
		if !open || s.Now().State.Mode != want {
			t.Errorf("session %s: open %v, want it %s", id, open, want)
		}
	}
	if _, open := h.running(over); open {
		t.Error("a session that was over was opened")
	}
}

// A daemon that ends has remembered its sessions: the next one lists them without reading a journal.
func TestClosedSessionsAreRemembered(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	ids := []string{p.start(params{}).ID, p.start(params{}).ID}
	h.again()
	for _, id := range ids { // as long as size and time are the same, what is in it does not matter
		path := h.path(h.dir, id)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		junk := []byte(strings.Repeat("x", int(info.Size())))
		if err := errors.Join(os.WriteFile(path, junk, 0o600), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	if n := listed(t, h); n != len(ids) {
		t.Errorf("%d of %d are listed", n, len(ids))
	}
}

// A request that meets a session which is being given up finds it again; a refusal is not repeated.
func TestAGivenUpSessionIsFoundAgain(t *testing.T) {
	h := newHouse(t, nil)
	id := h.client().start(params{}).ID
	c := &client{registry: h.Registry}
	for _, story := range []struct {
		answers []error
		want    error
	}{
		{[]error{nil}, nil},
		{[]error{session.ErrEnded, nil}, nil},
		{[]error{session.ErrEnded, session.ErrEnded}, session.ErrEnded},
		{[]error{errKeyReused}, errKeyReused},
	} {
		calls := 0
		err := c.on(id, func(*running) error { calls++; return story.answers[calls-1] })
		if !errors.Is(err, story.want) || calls != len(story.answers) {
			t.Errorf("%v: %d calls, %v", story.answers, calls, err)
		}
	}
}
