//go:build unix

package daemon

import (
	"os"
	"strconv"
	"syscall"
)

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepOwnFiles keeps the descriptors that an editor left open in us from our children: one end of
// its pipe in a daemon, and the editor waits for that pipe for ever. Ours are marked already.
func keepOwnFiles() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // without such a folder there is no list; what Go opened is marked anyway
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
