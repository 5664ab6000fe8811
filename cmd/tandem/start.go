package main

import (
	"runtime/debug"
	"time"
)

// How long the first collection of garbage waits, and the heap beyond which it does not.
const (
	quietStart = time.Second
	startHeap  = 20 << 20
)

// startQuietly spares the start the first collection of garbage: it would come at four megabytes,
// which what the libraries set up reaches just before an editor is answered.
func startQuietly() {
	limit := debug.SetMemoryLimit(startHeap)
	percent := debug.SetGCPercent(-1)
	time.AfterFunc(quietStart, func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}
