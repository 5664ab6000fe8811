package main

import "os"

// terminalSignals are what a terminal tells; of another size the tick takes notice.
var terminalSignals = []os.Signal{os.Interrupt}

func goesOn(os.Signal) bool { return false }

// stop does nothing: this system has no shell that could let a stopped program go on.
func stop() {}
