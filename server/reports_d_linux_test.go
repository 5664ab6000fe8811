package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/protocol"
)

// Report B099: what cannot be read, and what must not be waited for, voids nothing of the rest: a command
// is looked at, and what it changed can be taken back.
func TestReportOddFilesVoidNothing(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"a.txt": "a\n", "closed": "c\n"})
	at := func(name string) string { return filepath.Join(h.dir, name) }
	l, err := net.Listen("unix", at("sock"))
	if err := errors.Join(err, os.Chmod(at("closed"), 0), syscall.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h.model.will(work(append(runs("echo b > a.txt"), "write_file", `{"intent":"I write.","step":"s1","path":"new.txt","content":"n\n"}`)...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	var r protocol.RevertResult
	p.ok(protocol.MethodRevert, params{"sessionId": id, "stepId": "s1"}, &r)
	if got := h.shown(r); got != "a.txt restored, new.txt deleted" || h.disk("a.txt") != "a\n" {
		t.Errorf("%q; a.txt is %q", got, h.disk("a.txt"))
	}
	for _, name := range []string{"closed", "pipe", "sock"} {
		if _, err := os.Lstat(at(name)); err != nil || strings.Contains(h.shown(r), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
