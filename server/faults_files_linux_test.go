package server

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tandem/protocol"
)

// noFiles takes the descriptors that this process still may have, but for some, and gives them back when
// told.
func noFiles(t *testing.T, but int) (back func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(256, limit.Max), Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, f)
	}
	release := func(n int) {
		for _, f := range taken[:n] {
			f.Close()
		}
		taken = taken[n:]
	}
	release(but)
	return func() { release(len(taken)) }
}

// No descriptor is left: the daemon serves who is there, tells each call that it cannot be made and
// changes nothing half, neither spins nor ends because of who waits to be accepted, and goes on when
// there are descriptors again.
func TestNoDescriptors(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		alone(t, nil)
		return
	}
	waits := make(chan time.Time, 1000)
	h, _ := newRealHouse(t, map[string]string{"a.txt": "old\n", "sub/b.txt": "b\n"})
	h.opts.Log = zap.NewNop().WithOptions(zap.WrapCore(func(zapcore.Core) zapcore.Core {
		return zapcore.RegisterHooks(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(discard{}), zap.WarnLevel), func(e zapcore.Entry) error {
			if strings.Contains(e.Message, "waits to be accepted") {
				waits <- time.Now()
			}
			return nil
		})
	}))
	connect, address := h.served(t)
	h.model.will(says("Hello."))
	p := connect()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, `"waiting"`)

	back := noFiles(t, 1)
	late, err := net.Dial("unix", address) // it has the last one
	if err != nil {
		t.Fatal(err)
	}
	first := <-waits
	for range 4 {
		<-waits
	}
	if took := time.Since(first); took < 4*acceptRetry {
		t.Errorf("it was tried to accept four times within %v", took)
	}
	calls := append(writesFile("a.txt", "new\n"), append(writesFile("sub/b.txt", "new\n"), runs("echo ran > a.txt")...)...)
	calls = append(calls, "read_file", `{"intent":"I read.","step":"s1","path":"sub/b.txt"}`, "delete_file", `{"intent":"I delete.","step":"s1","path":"sub/b.txt"}`)
	h.model.will(work(calls...), says("So it is."))
	p.ok(protocol.MethodSteer, at(id, "text", "begin"), nil)
	if q := h.model.question(2); strings.Count(q, "too many open files") != 5 {
		t.Errorf("the agent is told\n%s", q)
	}
	p.untilHas(protocol.NoteModeChanged, `"waiting"`)
	for _, o := range p.operations(id) {
		if (o.Effect == protocol.EffectWrite || o.Effect == protocol.EffectExecute) && (o.Status != protocol.OpFailed || len(o.Files) > 0) {
			t.Errorf("%s ended %s and changed %q", o.Tool, o.Status, o.Files)
		}
	}
	back()
	if a, b := h.disk("a.txt"), h.disk("sub/b.txt"); a != "old\n" || b != "b\n" {
		t.Errorf("the files read %q and %q", a, b)
	}
	h.nothingLeft()
	q := newPeer(t, late, nil)
	q.initialize(h.dir, true)
	if s := q.session(id); s.Title != "work" {
		t.Errorf("who had to wait is shown %+v", s)
	}
	h.goesOn(p, id)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
