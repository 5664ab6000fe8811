package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/protocol"
)

// The tests here have disks that are full or read-only, for one thing at a time. Each time nothing is
// acknowledged that is not kept, nothing is changed whose former content is not kept, the agent or the
// developer is told what is wrong, and the session goes on when there is room.

// small mounts a disk of 1 MB on a folder, which is made.
func small(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// roomIn makes room again on a disk that fill has filled.
func roomIn(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
}

const bigLine = "one line of a file that is written anew, and long enough to need a block of its own\n"

func writesFile(path, content string) []string {
	return []string{"write_file", `{"intent":"I write it.","step":"s1","path":` + quoted(path) + `,"content":` + quoted(content) + `}`}
}

// goesOn steers a session that rests, and has it end.
func (h *house) goesOn(p *peer, id string) {
	h.t.Helper()
	h.model.will(does(append(plans("s1 active Work"), append(writesFile("a.txt", "new\n"), "finish", `{"intent":"I end it.","step":"s1","summary":"done","evidence":[]}`)...)...))
	p.ok(protocol.MethodSteer, at(id, "text", "there is room again"), nil)
	p.untilHas(protocol.NoteModeChanged, `"done"`)
	if text := h.disk("a.txt"); text != "new\n" {
		h.t.Errorf("with room again the file reads %.80q", text)
	}
}

// nothingLeft fails where a mutation has left a file of its own.
func (h *house) nothingLeft() {
	h.t.Helper()
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".tandem-") {
			h.t.Errorf("%s was left behind", e.Name())
		}
	}
}

// A disk is full, or read-only, below one of the folders that a session writes to.
func TestAFullDiskInOnePlace(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		inside(t)
		return
	}
	old, long := "old\n", strings.Repeat(bigLine, 200)
	edit := []string{"edit_file", `{"intent":"I edit it.","step":"s1","path":"a.txt","edits":[{"old":"old","new":` + quoted(long) + `}]}`}
	for name, test := range map[string]struct {
		place func(h *house) string // the folder that has no room
		calls []string
		says  string // to the model
		ok    bool   // the calls work all the same
	}{
		"write in the workspace":  {func(h *house) string { return h.dir }, writesFile("a.txt", long), "no space left on device", false},
		"edit in the workspace":   {func(h *house) string { return h.dir }, edit, "no space left on device", false},
		"new in the workspace":    {func(h *house) string { return h.dir }, writesFile("b.txt", long), "no space left on device", false},
		"command there":           {func(h *house) string { return h.dir }, runs("head -c 100000 /dev/zero > b.bin"), "o space left on device", false},
		"write without its image": {func(h *house) string { return h.folder(h.dir) + "/store" }, writesFile("a.txt", long), "no space left on device", false},
		"delete without an image": {func(h *house) string { return h.folder(h.dir) + "/store" }, []string{"delete_file", `{"intent":"I delete it.","step":"s1","path":"a.txt"}`}, "no space left on device", false},
		"move without an image":   {func(h *house) string { return h.folder(h.dir) + "/store" }, []string{"move_file", `{"intent":"I move it.","step":"s1","from":"a.txt","to":"c.txt"}`}, "no space left on device", false},
		"command without images":  {func(h *house) string { return h.folder(h.dir) + "/store" }, runs("echo ran >> a.txt"), "no space left on device", false},
		"output of a command":     {func(h *house) string { return h.folder(h.dir) + "/output" }, runs("seq 100000"), "the full output could not be kept on disk: no space left on device", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			dir := test.place(h)
			small(t, dir)
			p := h.client()
			h.model.will(says("Hello."))
			id := p.start(params{}).ID
			p.untilHas(protocol.NoteModeChanged, `"waiting"`)
			write(t, h.dir, map[string]string{"a.txt": old})
			fill(t, dir)
			h.model.will(work(test.calls...), says("So it is."))
			p.ok(protocol.MethodSteer, at(id, "text", "begin"), nil)
			if q := h.model.question(2); !strings.Contains(q, test.says) {
				t.Errorf("the agent is told\n%s", q)
			}
			p.untilHas(protocol.NoteModeChanged, `"waiting"`)
			ops := p.operations(id)
			if last := ops[len(ops)-2]; (last.Status == protocol.OpDone) != test.ok || last.Tool != test.calls[0] {
				t.Errorf("the call ended as %+v", last)
			}
			if text := h.disk("a.txt"); text != old {
				t.Errorf("the file reads %.80q", text)
			}
			h.nothingLeft()
			roomIn(t, dir)
			h.goesOn(p, id)
			h.close()
			h.Registry = NewRegistry(h.opts) // what the cleanup closes
		})
	}
}

// The folder of the state can only be read: what is there is shown, what would have to be kept is
// refused with the reason, and afterwards all goes on.
func TestAReadOnlyDisk(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		inside(t)
		return
	}
	state := t.TempDir()
	small(t, state)
	h := newHouse(t, map[string]string{"a.txt": "old\n"})
	h.opts.State = state
	h.Registry = NewRegistry(h.opts)
	h.model.will(says("Hello."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, `"waiting"`)
	p.hangUp()
	h.close()
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", state, "tmpfs", syscall.MS_REMOUNT|flags, "size=1m"); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	h.Registry = NewRegistry(h.opts)
	p = h.client()
	if s := p.session(id); s.Title != "work" {
		t.Errorf("it is listed as %+v", s)
	}
	for method, ps := range map[string]params{protocol.MethodStart: {"task": "more"}, protocol.MethodSteer: at(id, "text", "go on"), protocol.MethodAttach: at(id)} {
		if a := p.call(method, ps); a.Error == nil || !strings.Contains(a.Error.Message, "read-only file system") || !strings.Contains(a.Error.Message, state) {
			t.Errorf("%s: %s, %+v", method, a.Result, a.Error)
		}
	}
	remount(0)
	p.ok(protocol.MethodAttach, at(id), nil)
	h.goesOn(p, id)
}

// The state's folder is taken away while the daemon runs: nothing is acknowledged that nobody would
// find. Where it is put back the session goes on, and where it is not a new one does.
func TestTheStateIsTakenAway(t *testing.T) {
	for name, deleted := range map[string]bool{"moved": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, map[string]string{"a.txt": "old\n"})
			h.model.will(says("Hello."))
			p := h.client()
			id := p.start(params{}).ID
			p.untilHas(protocol.NoteModeChanged, `"waiting"`)
			away := h.opts.State + ".away"
			if err := os.Rename(h.opts.State, away); err != nil {
				t.Fatal(err)
			}
			if a := p.call(protocol.MethodSteer, at(id, "text", "lost")); a.Error == nil || !strings.Contains(a.Error.Message, "was removed or replaced while the session ran; put it back") {
				t.Errorf("a steer into nowhere: %s, %+v", a.Result, a.Error)
			}
			if deleted {
				if err := os.RemoveAll(away); err != nil {
					t.Fatal(err)
				}
				h.model.will(says("Hello again."))
				id = p.start(params{}).ID
				h.model.question(1) // what answers the steer is not taken for an answer to this
			} else if err := os.Rename(away, h.opts.State); err != nil {
				t.Fatal(err)
			}
			h.goesOn(p, id)
			if q := h.model.asked(); strings.Contains(string(q[len(q)-1].Messages[len(q[len(q)-1].Messages)-1]), "lost") {
				t.Error("a steer that was refused is heard")
			}
			h.again()
			if s := h.client().session(id); s.Mode != protocol.Done {
				t.Errorf("the next daemon shows %+v", s)
			}
		})
	}
}

// The workspace's folder is taken away while the agent works: each call says so and touches nothing of
// what stands there instead; when it is back, the work goes on.
func TestTheWorkspaceIsTakenAway(t *testing.T) {
	h := newHouse(t, map[string]string{"a.txt": "old\n"})
	h.model.will(says("Hello."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, `"waiting"`)
	away := h.dir + ".away"
	if err := errors.Join(os.Rename(h.dir, away), os.Mkdir(h.dir, 0o755), os.WriteFile(filepath.Join(h.dir, "a.txt"), []byte("another\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	calls := append(writesFile("a.txt", "new\n"), append(runs("echo ran > a.txt"), "read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`)...)
	h.model.will(work(calls...), says("So it is."))
	p.ok(protocol.MethodSteer, at(id, "text", "begin"), nil)
	if q := h.model.question(2); strings.Count(q, "was removed or replaced while the session was open") != 3 {
		t.Errorf("the agent is told\n%s", q)
	}
	p.untilHas(protocol.NoteModeChanged, `"waiting"`)
	if text := h.disk("a.txt"); text != "another\n" {
		t.Errorf("what stands there instead reads %q", text)
	}
	if err := errors.Join(os.RemoveAll(h.dir), os.Rename(away, h.dir)); err != nil {
		t.Fatal(err)
	}
	if text := h.disk("a.txt"); text != "old\n" {
		t.Errorf("the file reads %q", text)
	}
	h.goesOn(p, id)
}
