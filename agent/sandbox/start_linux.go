package sandbox

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Start starts the program words[0] with its arguments, of which the first is its name, confined, and answers when it
// runs. attr names the descriptors 0, 1 and 2; 2 has to be the same as 1. It fails rather than start without what the
// policy says.
func (p Policy) Start(words []string, attr *syscall.ProcAttr) (pid int, err error) {
	switch p.Mechanism {
	case None:
		return syscall.ForkExec(words[0], words[1:], attr)
	case Bubblewrap, Landlock:
	default:
		return 0, errors.New("set up the sandbox: there is no " + string(p.Mechanism) + " on this system")
	}
	lasting := attr.Sys != nil && attr.Sys.Pdeathsig != 0
	if p.Mechanism == Bubblewrap {
		return onThread(scopeThread, func() (int, error) { return p.startBubblewrap(slices.Concat(words[:1], words[2:]), attr) }, lasting)
	}
	if attr, err = p.temporary(attr); err != nil {
		return 0, err
	}
	return onThread(p.confineThread, func() (int, error) { return syscall.ForkExec(words[0], words[1:], attr) }, lasting)
}

// temporary names the folder for temporary files in the environment, and makes it, where the system's is not granted.
func (p Policy) temporary(attr *syscall.ProcAttr) (*syscall.ProcAttr, error) {
	const name = "TMPDIR="
	folder, with := "/tmp", *attr
	with.Env = nil
	for _, entry := range attr.Env {
		if value, ok := strings.CutPrefix(entry, name); ok && value != "" {
			folder = value
		} else {
			with.Env = append(with.Env, entry)
		}
	}
	if p.Scratch == "" || !p.divided(folder) {
		return attr, nil
	}
	if err := os.MkdirAll(p.Scratch, 0o700); err != nil {
		return nil, err
	}
	with.Env = append(with.Env, name+p.Scratch)
	return &with, nil
}
