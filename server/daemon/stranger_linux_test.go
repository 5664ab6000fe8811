package daemon

import (
	"net"
	"runtime"
	"syscall"
	"testing"
)

// asStranger dials as another user. Only this thread changes its user, so it is given up after.
func asStranger(t *testing.T, dial func() (net.Conn, error)) net.Conn {
	t.Helper()
	type result struct {
		conn net.Conn
		err  error
	}
	dialled := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 12345, ^uintptr(0)); errno != 0 {
			dialled <- result{nil, errno}
			return
		}
		conn, err := dial()
		dialled <- result{conn, err}
	}()
	r := <-dialled
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.conn
}
