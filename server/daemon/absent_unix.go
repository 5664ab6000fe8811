//go:build unix

package daemon

import (
	"errors"
	"io/fs"
	"syscall"
)

// absent tells whether nobody listens.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// busy tells whether the daemon has more waiting than it has taken yet.
func busy(err error) bool { return errors.Is(err, syscall.EAGAIN) }
