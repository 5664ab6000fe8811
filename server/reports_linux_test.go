package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/protocol"
)

// insideVariable says that this process is the one in which a small disk can be mounted, or a limit set.
const insideVariable = "TANDEM_TEST_SMALL_DISK"

// A disk is full while a session works, and is still full when the next daemon starts: nobody
// hangs or dies, nothing is done that is not on disk, everybody is told why, and when there is
// room again it goes on.
func TestReportFullDisk(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		inside(t)
		return
	}
	state := t.TempDir()
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	h := newHouse(t, map[string]string{"a.txt": "one\n"})
	h.opts.State = state
	h.Registry = NewRegistry(h.opts)
	h.model.will(work("read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`), sse{saying("hm")}.hanging())
	p := h.client()
	id := p.start(params{}).ID
	h.model.question(1)

	fill(t, state)
	full := func(method string, ps params) {
		t.Helper()
		if a := p.call(method, ps); a.Error == nil || !strings.Contains(a.Error.Message, "no space left on device") {
			t.Errorf("%s on a full disk: %s, %+v", method, a.Result, a.Error)
		}
	}
	full(protocol.MethodSteer, at(id, "text", strings.Repeat("no room for this ", 1000)))
	h.again()
	p = h.client()
	if s := p.session(id); s.Title != "work" {
		t.Errorf("it is listed as %+v", s)
	}
	full(protocol.MethodStart, params{"task": strings.Repeat("nor for this ", 1000)})
	asked := len(h.model.asked())

	if err := os.Remove(filepath.Join(state, "filler")); err != nil {
		t.Fatal(err)
	}
	p.ok(protocol.MethodAttach, at(id), nil)
	h.model.will(says("I go on."))
	if s := p.session(id); s.Mode == protocol.Paused {
		p.ok(protocol.MethodResume, at(id), nil)
	}
	p.untilHas(protocol.NoteModeChanged, "waiting")
	strictly(t, h.model.asked()[asked:])
	if !strings.Contains(h.model.question(asked), "a.txt, lines 1 to 1") {
		t.Error("what was done before is not known any more")
	}
}

// inside runs this test again in a process with mounts of its own.
func inside(t *testing.T) {
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	alone(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: self, GidMappings: group})
}

// alone runs this test again in a process of its own.
func alone(t *testing.T, attr *syscall.SysProcAttr) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=30s")
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("no such process can be started here: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
}

// fill writes to a folder until its disk takes no more.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
