package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func find() Found {
	f := Found{ABI: landlockABI()}
	var why []string
	for _, m := range []Mechanism{Bubblewrap, Landlock} {
		lacks := missing(m)
		if lacks == "" {
			f.Mechanism = m
			break
		}
		why = append(why, lacks)
	}
	f.Why = strings.Join(why, "; ")
	return f
}

func missing(m Mechanism) string {
	switch m {
	case Bubblewrap:
		if err := bubblewrapFails(); err != nil {
			return err.Error()
		}
		return ""
	case Landlock:
		return landlockMissing(landlockABI())
	}
	return "there is no " + string(m) + " on this system"
}

// landlockMissing says why Landlock cannot be used, "" where it can.
func landlockMissing(abi int) string {
	switch {
	case abi == 0:
		return "the kernel has no Landlock, or it is switched off"
	case abi < leastABI:
		return fmt.Sprintf("the kernel's Landlock (ABI %d) cannot keep files from being emptied; ABI %d can", abi, leastABI)
	case !canFilter() || unix.Prctl(unix.PR_GET_SECCOMP, 0, 0, 0, 0) != nil:
		return "system calls cannot be filtered here, so that Landlock alone would leave the network open"
	}
	return ""
}

// bubblewrapFails starts a shell that does nothing.
func bubblewrapFails() error {
	if bubblewrapProgram() == "" {
		return errors.New("bubblewrap is not installed")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	pid, err := Policy{Mechanism: Bubblewrap}.Start([]string{"/bin/sh", "sh", "-c", ":"},
		&syscall.ProcAttr{Dir: "/", Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("bubblewrap does not work here: %w", err)
	}
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil && status.ExitStatus() != 0 {
		err = fmt.Errorf("bubblewrap does not work here: it ended with %d", status.ExitStatus())
	}
	return err
}
