package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ready is what the first thing inside of a sandbox says: until then whatever is said is bubblewrap's complaint.
const ready = "\x01ready\n"

// inside says ready, joins the errors to the output and becomes the command.
const inside = `printf '\001ready\n' >&2; exec "$@" 2>&1`

// bubblewrapProgram is where bubblewrap is, "" for nowhere. The places of the system come first: PATH may name folders
// that commands can write to.
func bubblewrapProgram() string { return systemProgram("bwrap") }

func systemProgram(name string) string {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/run/wrappers/bin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// keptCapabilities are what a root user keeps: workspaces in containers often belong to another user.
var keptCapabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID"}

// bubblewrapArguments are the words of bubblewrap's command line before the command.
func (p Policy) bubblewrapArguments(rules []rule, sockets []string, dir string, filter int) []string {
	args := []string{"--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
	var seal []string      // last: what is below has to be mounted before
	if os.Geteuid() == 0 { // Another user has none, and gets none.
		args = append(args, "--cap-drop", "ALL")
		for _, c := range keptCapabilities {
			args = append(args, "--cap-add", c)
		}
		seal = append(seal, "--remount-ro", "/proc") // the kernel's settings belong to root
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	for _, r := range rules {
		switch {
		case r.right == write:
			args = append(args, "--bind", r.path, r.path)
		case r.right == readOnly:
			args = append(args, "--ro-bind", r.path, r.path)
		case r.folder:
			args = append(args, "--tmpfs", r.path)
			seal = append(seal, "--remount-ro", r.path)
		default:
			args = append(args, "--ro-bind", os.DevNull, r.path)
		}
	}
	for _, s := range sockets {
		args = append(args, "--ro-bind", os.DevNull, s)
	}
	args = append(args, seal...)
	if filter >= 0 {
		args = append(args, "--seccomp", strconv.Itoa(filter))
	}
	return append(args, "--chdir", dir, "--")
}

// tries is how often a sandbox is set up anew because a socket that was to be covered has gone meanwhile.
const tries = 10

// startBubblewrap starts words in the sandbox, with the descriptors 0 to 2 of attr, and answers when they run.
func (p Policy) startBubblewrap(words []string, attr *syscall.ProcAttr) (pid int, err error) {
	rules := p.rules()
	for range tries {
		sockets := p.sockets(rules)
		pid, err = p.tryBubblewrap(rules, sockets, words, attr)
		gone := sockets[:0:0]
		for _, s := range sockets {
			if info, err := os.Lstat(s); err != nil || info.Mode()&os.ModeSocket == 0 {
				gone = append(gone, s)
			}
		}
		for _, s := range gone { // bubblewrap makes what it is to cover: an empty file
			if info, err := os.Lstat(s); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
				_ = os.Remove(s) // Where it may not be written, bubblewrap could not make it.
			}
		}
		if err == nil || len(gone) == 0 {
			break
		}
	}
	return pid, err
}

func (p Policy) tryBubblewrap(rules []rule, sockets, words []string, attr *syscall.ProcAttr) (pid int, err error) {
	said, says, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer said.Close()
	filter, err := filterFile(p.families())
	if err != nil {
		says.Close()
		return 0, err
	}
	files := []uintptr{attr.Files[0], attr.Files[1], says.Fd()}
	at := -1
	if filter != nil {
		defer filter.Close()
		at = len(files)
		files = append(files, filter.Fd())
	}
	argv := slices.Concat([]string{"bwrap"}, p.bubblewrapArguments(rules, sockets, attr.Dir, at), []string{"/bin/sh", "-c", inside, "sh"}, words)
	pid, err = syscall.ForkExec(bubblewrapProgram(), argv, &syscall.ProcAttr{Dir: "/", Env: attr.Env, Files: files, Sys: attr.Sys})
	says.Close()
	if err != nil {
		return 0, fmt.Errorf("start bubblewrap: %w", err)
	}
	return pid, awaitReady(said, pid)
}

// awaitReady waits until the command in a sandbox runs. Where the sandbox could not be set up it says why, and the
// process is gone.
func awaitReady(said io.Reader, pid int) error {
	var heard []byte
	for in := bufio.NewReader(said); ; {
		line, err := in.ReadBytes('\n')
		if bytes.HasSuffix(line, []byte(ready)) {
			return nil
		}
		heard = append(heard, line...)
		if err != nil {
			break
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // It closed the pipe, and may be on its way out.
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return fmt.Errorf("set up the sandbox: %s", strings.TrimSpace(string(heard)))
}

// sockets are the Unix sockets of this system that stand in the file system: through one a command would reach a
// program that is not confined. Those of the workspace are its own affair.
func (p Policy) sockets(rules []rule) []string {
	b, err := os.ReadFile("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		_, path, found := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		path = filepath.Clean("/" + path)
		if !found || p.Root != "" && within(path, p.Root) || hidesIn(rules, path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || slices.Contains(out, real) {
			continue
		}
		if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSocket != 0 {
			out = append(out, real)
		}
	}
	return out
}

// hidesIn says whether a path lies in what is hidden already.
func hidesIn(rules []rule, path string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.right == hidden && within(path, r.path) })
}

// families are the kinds of sockets that a command may make.
func (p Policy) families() []int {
	switch {
	case p.Mechanism == Bubblewrap: // What they reach, its namespaces limit.
		return []int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	case p.Network:
		return []int{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return nil
}
