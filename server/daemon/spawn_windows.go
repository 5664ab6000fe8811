package daemon

import "syscall"

const (
	detachedProcess = 0x00000008
	newProcessGroup = 0x00000200
)

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: detachedProcess | newProcessGroup, HideWindow: true}
}

// keepOwnFiles has nothing to do: a child gets the handles that are named to it, and no others.
func keepOwnFiles() {}
