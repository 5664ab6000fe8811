package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrRunning is Listen's error when another daemon holds the socket. It is no failure of the one
// that gets it, whose process ends with status 0: the client has its daemon.
var ErrRunning = errors.New("a daemon for this workspace runs already")

// Listen takes the place of the daemon at path, which Path gave, and holds it until Close. Of
// several callers, in any processes, one gets it, the others ErrRunning. Accept gives connections
// of the same user only.
func Listen(path string) (net.Listener, error) {
	if err := private(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	mine, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	if !mine {
		return nil, ErrRunning
	}
	l, err := bind(path)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &listener{Listener: l, lock: lock}, nil
}

// bind makes the socket. The lock is held, so one that is there has nobody behind it.
func bind(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("look for a stale socket: %w", err)
	case info.Mode().IsRegular() || info.IsDir():
		return nil, fmt.Errorf("%s is not a socket; move it away", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the stale socket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("close the socket to others: %w", err), l.Close())
	}
	return l, nil
}

type listener struct {
	net.Listener
	lock *flock.Flock
}

// Accept waits for a connection of the same user; another's is closed and not told of. It rides
// out a lack of descriptors, which ends when connections do.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil && ours(conn) == nil:
			return conn, nil
		case err == nil:
			_ = conn.Close() // what a stranger's end of it thinks does not matter
		case passes(err):
			time.Sleep(50 * time.Millisecond)
		default:
			return nil, err
		}
	}
}

func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// Close takes the socket away and then the lock, so nobody finds one without the other. The lock's
// file stays: to remove it could part two daemons that each hold a lock of that name.
func (l *listener) Close() error {
	return errors.Join(l.Listener.Close(), l.lock.Unlock())
}

// Dial connects to the daemon at path, when one runs there and is the user's own.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if err := isPrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the daemon: %w", err)
	}
	if err := ours(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("the daemon at %s: %w", path, err), conn.Close())
	}
	return conn, nil
}
