package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogOfOneOutput shows the whole output of a command, without what would move a terminal, and
// says what is wrong where there is none.
func TestLogOfOneOutput(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "tandem", "workspaces", "w-1", "output", "s1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "op0000004.log"), []byte("line 1\n\x1b[31mline 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := std{out: &out, getenv: func(name string) string {
		if name == "XDG_STATE_HOME" {
			return home
		}
		return ""
	}}
	if err := (&logCommand{Output: "op0000004"}).showOutput(s, "s1"); err != nil || out.String() != "line 1\nline 2\n" {
		t.Errorf("shows %q, %v", out.String(), err)
	}
	for _, wrong := range []string{"op0000005", "../op0000004", "*"} {
		if err := (&logCommand{Output: wrong}).showOutput(s, "s1"); err == nil || !strings.Contains(err.Error(), "s1") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
