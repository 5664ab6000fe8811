package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func hush(name string) bool { return name == ".env" }

// A file with secrets is in no search, also where it is asked for by its name or by a link, or is open
// in an editor; how many were passed over is said.
func TestSearchPassesSecretsOver(t *testing.T) {
	w, _ := open(t, Options{Secret: hush, Buffers: buffers{".env": {text: "TOKEN=unsaved\n"}}})
	lay(t, w, map[string]string{".env": "TOKEN=kept\n", "a.go": "TOKEN\n"})
	if err := os.Symlink(".env", filepath.Join(w.Dir(), "notes.txt")); err != nil {
		t.Skip(err)
	}
	for given, want := range map[string]int{"": 1, ".env": 0, "notes.txt": 0} {
		found, err := w.Search(t0, Query{Pattern: "TOKEN", Path: given})
		if err != nil || len(found.Matches) != want || found.Secret != 1 {
			t.Errorf("in %q it found %+v, %v", given, found, err)
		}
	}
	if l, err := w.List(t0, "", ""); err != nil || !slices.Contains(l.Entries, ".env") {
		t.Errorf("the listing is %q, %v", l.Entries, err)
	}
}

// Of a file with secrets a snapshot keeps no content, but sees each change; what a command did to it
// cannot be taken back, which is said.
func TestSnapshotKeepsNoSecrets(t *testing.T) {
	w, _ := open(t, Options{Secret: hush})
	lay(t, w, map[string]string{".env": "TOKEN=a\n", "b.txt": "b\n"})
	before := snap(t, w)
	lay(t, w, map[string]string{".env": "TOKEN=longer\n"})
	changes := w.Diff(t0, before, snap(t, w)).Changes
	if len(changes) != 1 || changes[0].Path != ".env" || changes[0].Before.Digest != "" || changes[0].After.Digest != "" {
		t.Fatalf("the changes are %+v", changes)
	}
	for _, text := range []string{"TOKEN=a\n", "TOKEN=longer\n"} {
		if _, err := w.Content(Digest([]byte(text))); err == nil {
			t.Errorf("%q is kept", text)
		}
	}
	if _, err := w.Content(Digest([]byte("b\n"))); err != nil {
		t.Errorf("b.txt is not kept: %v", err)
	}
	r, err := w.Revert(t0, changes, false)
	if err != nil || len(r.Conflicts) != 1 || !strings.Contains(r.Conflicts[0], ".env") || read(t, w, ".env") != "TOKEN=longer\n" {
		t.Errorf("taken back: %+v, %v", r, err)
	}
}

// Instructions that are a link to secrets are not read: they would be the first that a model is told.
func TestInstructionsAreNoSecrets(t *testing.T) {
	w, _ := open(t, Options{Secret: hush})
	lay(t, w, map[string]string{".env": "TOKEN=a\n"})
	if err := os.Symlink(".env", filepath.Join(w.Dir(), "AGENTS.md")); err != nil {
		t.Skip(err)
	}
	if all, err := w.Instructions(t0, "."); err == nil || !strings.Contains(err.Error(), "AGENTS.md is a link to .env") {
		t.Errorf("%+v, %v", all, err)
	}
}
