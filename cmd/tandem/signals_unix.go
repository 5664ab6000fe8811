//go:build unix

package main

import (
	"os"
	"syscall"
)

// terminalSignals are what a terminal tells: Ctrl-C where it is no key, another size, and that
// the program goes on after it was stopped.
var terminalSignals = []os.Signal{os.Interrupt, syscall.SIGWINCH, syscall.SIGCONT}

func goesOn(s os.Signal) bool { return s == syscall.SIGCONT }

// stop stops the program and what runs with it in its pipeline, as Ctrl-Z does where it is no key.
func stop() { _ = syscall.Kill(0, syscall.SIGTSTP) } // where it cannot be stopped it just goes on
