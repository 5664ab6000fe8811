package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// ours is an error unless the process at the other end belongs to the same user. The folder keeps
// others out already; this holds when somebody has opened it.
func ours(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("not a Unix socket")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is at the other end: %w", err)
	}
	var peer *syscall.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		peer, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || asked != nil {
		return fmt.Errorf("ask who is at the other end: %w", errors.Join(err, asked))
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("it belongs to the user %d, not to you", peer.Uid)
	}
	return nil
}
