package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// seatbeltProgram is where macOS has it.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// Start starts the program words[0] with its arguments, of which the first is its name, confined. It fails rather than
// start without what the policy says.
func (p Policy) Start(words []string, attr *syscall.ProcAttr) (pid int, err error) {
	switch p.Mechanism {
	case None:
		return syscall.ForkExec(words[0], words[1:], attr)
	case Seatbelt:
		argv := slices.Concat([]string{"sandbox-exec", "-p", p.seatbeltProfile(), words[0]}, words[2:])
		return syscall.ForkExec(seatbeltProgram, argv, attr)
	}
	return 0, errors.New("set up the sandbox: there is no " + string(p.Mechanism) + " on this system")
}

// Reserve has nothing to do: a profile names what is not there, too.
func (p Policy) Reserve() (with Policy, release func(), err error) { return p, func() {}, nil }

// tryLimit bounds the try of a mechanism.
const tryLimit = 5 * time.Second

func find() Found {
	if why := missing(Seatbelt); why != "" {
		return Found{Why: why}
	}
	return Found{Mechanism: Seatbelt}
}

func missing(m Mechanism) string {
	if m != Seatbelt {
		return "there is no " + string(m) + " on this system"
	}
	ctx, cancel := context.WithTimeout(context.Background(), tryLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, seatbeltProgram, "-p", Policy{Mechanism: Seatbelt}.seatbeltProfile(), "/usr/bin/true").CombinedOutput()
	if err != nil {
		return "sandbox-exec does not work here: " + err.Error() + " " + string(out)
	}
	return ""
}
