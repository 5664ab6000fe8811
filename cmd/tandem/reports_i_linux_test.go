package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Report B213: the daemon is reached by its socket alone, which is its user's; it listens on no port.
func TestReportNoPortIsOpen(t *testing.T) {
	dir := lastingDesk(t)
	cmd, _ := program(t, "serve", "--workspace", dir)
	ended := make(chan error, 1)
	startAt(t, dir, func() (<-chan error, error) {
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		go func() { ended <- cmd.Wait() }()
		return ended, nil
	})
	childOf(t, dir)
	sockets := socketsOf(t, cmd.Process.Pid)
	if len(sockets) == 0 {
		t.Fatal("the daemon has no sockets at all")
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, line := range rowsOf(t, cmd.Process.Pid, table) {
			const listens, unconnected = "0A", "07"
			if f := strings.Fields(line); len(f) > 9 && sockets[f[9]] && (f[3] == listens || f[3] == unconnected) {
				t.Errorf("the daemon listens on %s %s", table, f[1])
			}
		}
	}
	socket, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "tandem", "*.sock"))
	if err != nil || len(socket) != 1 {
		t.Fatalf("the sockets are %q: %v", socket, err)
	}
	for path, want := range map[string]os.FileMode{socket[0]: 0o600, filepath.Dir(socket[0]): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), want, err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// socketsOf are the sockets that a process has, by their inodes.
func socketsOf(t *testing.T, pid int) map[string]bool {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		if at, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(at, "socket:[") {
			found[strings.Trim(at, "socket:[]")] = true
		}
	}
	return found
}

func rowsOf(t *testing.T, pid int, table string) []string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
	if os.IsNotExist(err) { // a system without IPv6
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}
