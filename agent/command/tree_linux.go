package command

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is what a look at /proc told of one. stopped: each thread stands by a stop signal. standing: none can run
// program code once a stop signal has been sent; a thread that sleeps in the kernel without regard to signals is
// such, as it finds the signal before it returns from there. busy: one runs or is about to.
type process struct {
	pid                     int
	stopped, standing, busy bool
}

func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the command's tree: %w", err)
	}
	return nil
}

func shellAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// keepFrom keeps the command from descriptors that the daemon itself was started with, from first on. A kernel that
// is too old for it keeps back the pipe alone.
func keepFrom(first int) {
	if err := unix.CloseRange(uint(first), ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(first)
	}
}

// living answers with what descends from this process and is no zombie. The shell's pid is not needed here: nothing
// gets away from a subreaper.
func living(int) []process { return descendants(os.Getpid()) }

func descendants(pid int) []process {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return descendantsOf(parents(), pid)
	}
	return descend(pid, nil)
}

// descend adds the living descendants of a process to found. A process is looked at before its children are: one
// that stands has no other children later.
func descend(pid int, found []process) []process {
	threads := entries(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread))
		if err != nil {
			continue // The thread is gone; its children are another thread's or the supervisor's by now.
		}
		for _, word := range strings.Fields(string(list)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			if p, alive := inspect(child); alive {
				found = append(found, p)
			}
			found = descend(child, found)
		}
	}
	return found
}

// parents reads the parent of every process there is: for kernels that do not list children.
func parents() map[int][]int {
	children := map[int][]int{}
	for _, name := range entries("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if fields := stat(fmt.Sprintf("/proc/%d/stat", pid)); len(fields) > 1 {
			if parent, err := strconv.Atoi(fields[1]); err == nil {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	return children
}

func descendantsOf(children map[int][]int, pid int) []process {
	var found []process
	for _, child := range children[pid] {
		if p, alive := inspect(child); alive {
			found = append(found, p)
		}
		found = append(found, descendantsOf(children, child)...)
	}
	return found
}

// inspect reads the states of a process's threads. alive is false for a zombie and for one that is gone.
func inspect(pid int) (p process, alive bool) {
	p = process{pid: pid, stopped: true, standing: true}
	for _, thread := range entries(fmt.Sprintf("/proc/%d/task", pid)) {
		fields := stat(fmt.Sprintf("/proc/%d/task/%s/stat", pid, thread))
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "Z", "X":
			continue
		case "T", "t":
		case "D":
			p.stopped, p.busy = false, true
		case "R":
			p.stopped, p.standing, p.busy = false, false, true
		default:
			p.stopped, p.standing = false, false
		}
		alive = true
	}
	return p, alive
}

// stat answers with the fields of a stat file after the name, which may itself hold blanks and brackets: the first
// is the state, the second the parent, the twentieth the time of the start.
func stat(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	rest := string(b[bytes.LastIndexByte(b, ')')+1:])
	return strings.Fields(rest)
}

// entries answers with the names in a folder of /proc; none when what it describes is gone.
func entries(folder string) []string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}

// commandLine answers with the words of a process, or its name in brackets when it has none.
func commandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && len(b) > 0 {
		return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
	}
	b, err = os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("[process %d]", pid)
	}
	return "[" + strings.TrimSpace(string(b)) + "]"
}
