package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func snap(t testing.TB, w *Workspace) *Snapshot {
	t.Helper()
	s, err := w.Snapshot(t0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshotSeesWhatACommandDid(t *testing.T) {
	w, _ := open(t, Options{})
	large := strings.Repeat("x", keptFile+1)
	lay(t, w, map[string]string{
		"same": "same\n", "edited": "before\n", "gone": "gone\n", "touched": "touched\n", "mode": "m\n", ".gitignore": "*.o\n", "x.o": "1", "large": large, "to file": "",
	})
	if err := os.Symlink("same", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	before := snap(t, w)
	lay(t, w, map[string]string{"edited": "after!\n", "new/file": "new\n", "x.o": "2", "large": large + "y", ".git/index": "x", "node_modules/a": "x"})
	at := func(name string) string { return filepath.Join(w.Dir(), name) }
	now := time.Now()
	for _, err := range []error{os.Remove(at("gone")), os.Chtimes(at("touched"), now, now), os.Chmod(at("mode"), 0o755), os.Remove(at("link")), os.Symlink("edited", at("link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	changes := w.Diff(before, snap(t, w))
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s", c.Path, w.told(c.Before), w.told(c.After)))
	}
	want := []string{
		"edited before after!", "gone gone -", "large ? ?", "link →same →edited", "mode m m", "new/file - new",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if none := w.Diff(before, before); len(none) != 0 {
		t.Fatalf("nothing changed: %v", none)
	}
}

// told is an image in a word: its content, its link, «-» for none and «?» for unknown.
func (w *Workspace) told(i *Image) string {
	switch {
	case i == nil:
		return "-"
	case i.Link != "":
		return "→" + i.Link
	}
	data, err := w.Content(i.Digest)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(data))
}

func TestSnapshotOfFurtherPaths(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{".gitignore": "out/\n", "out/report.json": "1", "out/other": "1", "f": "1"})
	also := []string{"out/report.json", "not/there", "f"}
	take := func() *Snapshot {
		s, err := w.Snapshot(t0, also...)
		if err != nil || s.Len() != 3 {
			t.Fatalf("%d files, %v", s.Len(), err)
		}
		return s
	}
	before := take()
	lay(t, w, map[string]string{"out/report.json": "2", "out/other": "2"})
	if changes := w.Diff(before, take()); len(changes) != 1 || changes[0].Path != "out/report.json" {
		t.Fatalf("%v", changes)
	}
	if _, err := w.Snapshot(t0, "../x"); err == nil {
		t.Fatal("a snapshot of what lies outside")
	}
}

// A change within the grain of the system's clock leaves size and times as they were.
func TestSnapshotDoesNotTrustAYoungStamp(t *testing.T) {
	w, _ := open(t, Options{})
	for i := range 50 {
		lay(t, w, map[string]string{"f": "old"})
		before := snap(t, w)
		lay(t, w, map[string]string{"f": "new"})
		if changes := w.Diff(before, snap(t, w)); len(changes) != 1 {
			t.Fatalf("round %d: %v", i, changes)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	w, _ := open(b, Options{})
	files := map[string]string{".gitignore": "*.o\n/dist\nnode_modules/\n*.log\n"}
	for i := range 5_000 {
		files[fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%100, i)] = fmt.Sprintf("package d%d\n", i)
	}
	lay(b, w, files)
	start := time.Now()
	snap(b, w)
	first := time.Since(start)
	for b.Loop() {
		if s := snap(b, w); s.Len() != len(files) {
			b.Fatal(s.Len())
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first")
}
