package command

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The states of a process in the kernel's table.
const (
	stateStopped = 4
	stateZombie  = 5
)

// process is what the kernel's table told of one. Stopped and standing are the same here, and the table does not say
// who is busy.
type process struct {
	pid                     int
	stopped, standing, busy bool
}

// adoptOrphans has nothing to ask for: the system has no subreapers.
func adoptOrphans() error { return nil }

func shellAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepFrom keeps the command from the pipe for its output but as its own output.
func keepFrom(first int) { unix.CloseOnExec(first) }

// living answers with what descends from this process or is in the shell's process group, and is no zombie.
func living(shell int) []process { return below(os.Getpid(), shell) }

// below answers with what descends from a process or is in a process group (0 for none), and is no zombie.
func below(root, group int) []process {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	ours := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for _, k := range table {
			pid := int(k.Proc.P_pid)
			if !ours[pid] && (ours[int(k.Eproc.Ppid)] || group > 0 && int(k.Eproc.Pgid) == group) {
				ours[pid], grown = true, true
			}
		}
	}
	var found []process
	for _, k := range table {
		pid := int(k.Proc.P_pid)
		if ours[pid] && pid != root && k.Proc.P_stat != stateZombie {
			stopped := k.Proc.P_stat == stateStopped
			found = append(found, process{pid: pid, stopped: stopped, standing: stopped})
		}
	}
	return found
}

// commandLine answers with the name of a process in brackets: its words are not readable in a simple way.
func commandLine(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return fmt.Sprintf("[process %d]", pid)
	}
	return "[" + strings.TrimRight(unix.ByteSliceToString(k.Proc.P_comm[:]), "\x00") + "]"
}
