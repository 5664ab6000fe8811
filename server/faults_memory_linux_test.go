package server

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// mostMemory gives by how much the memory of this process has grown at its most since it was called.
func mostMemory(t *testing.T) func() int64 {
	t.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the most is counted anew
		t.Logf("the most memory is that of the whole process: %v", err)
	}
	before := statusOf(t, "VmRSS")
	return func() int64 { return max(0, statusOf(t, "VmHWM")-before) }
}

// statusOf is a line of this process's status, in bytes.
func statusOf(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := bytes.Cut(text, []byte(name+":"))
	var kb int64
	if _, err := fmt.Sscanf(string(line), "%d", &kb); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return kb << 10
}
