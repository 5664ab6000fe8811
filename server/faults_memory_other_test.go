//go:build !linux

package server

import (
	"runtime"
	"testing"
)

// mostMemory gives by how much the memory of this process has grown since it was called.
func mostMemory(t *testing.T) func() int64 {
	t.Helper()
	before := held()
	return func() int64 { return max(0, held()-before) }
}

func held() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
