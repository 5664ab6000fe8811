package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRevert takes the changes of a small story back, after the developer has changed more.
func TestRevert(t *testing.T) {
	start := map[string]string{"a.txt": lines("one", "two", "three", "four", "five", "six", "seven"), "gone.sh": "#!/bin/sh\n"}
	for _, tc := range []struct {
		name      string
		developer func(t *testing.T, dir string)
		want      map[string]string // "" is no file
		conflicts []string
	}{
		{name: "nothing changed since", want: start},
		{name: "another line changed since",
			developer: developerRewrites("a.txt", "seven", "SEVEN"),
			want:      map[string]string{"a.txt": strings.Replace(start["a.txt"], "seven", "SEVEN", 1), "gone.sh": start["gone.sh"], "new.txt": ""}},
		{name: "the same line changed since",
			developer: developerRewrites("a.txt", "TWO", "mine"),
			want:      map[string]string{"a.txt": strings.Replace(start["a.txt"], "two", "mine", 1), "gone.sh": start["gone.sh"]},
			conflicts: []string{"a.txt"}},
		{name: "the new file changed since",
			developer: developerRewrites("new.txt", "new", "mine"),
			want:      map[string]string{"a.txt": start["a.txt"], "new.txt": "mine\n"},
			conflicts: []string{"new.txt"}},
		{name: "the deleted file is there again",
			developer: func(t *testing.T, dir string) { put(t, dir, "gone.sh", "mine\n") },
			want:      map[string]string{"gone.sh": "mine\n", "a.txt": start["a.txt"]},
			conflicts: []string{"gone.sh"}},
		{name: "the changed file was deleted since",
			developer: func(t *testing.T, dir string) { remove(t, dir, "a.txt") },
			want:      map[string]string{"a.txt": "", "gone.sh": start["gone.sh"]},
			conflicts: []string{"a.txt"}},
	} {
		t.Run(tc.name, func(t *testing.T) { revertStory(t, start, tc.developer, tc.want, tc.conflicts) })
	}
}

func revertStory(t *testing.T, start map[string]string, developer func(*testing.T, string), want map[string]string, conflicts []string) {
	dir := t.TempDir()
	for name, text := range start {
		put(t, dir, name, text)
	}
	if err := os.Chmod(filepath.Join(dir, "gone.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir, Options{Store: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	changes := agentsWork(t, w)
	if developer != nil {
		developer(t, dir)
	}
	before := pictured(t, dir)
	dry, err := w.Revert(t.Context(), changes, true)
	if err != nil || len(dry.Files) != 3 || len(dry.Changes) != 0 {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if got := pictured(t, dir); got != before {
		t.Fatalf("a dry run changed the workspace:\n%s\nwas\n%s", got, before)
	}
	done, err := w.Revert(t.Context(), changes, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range conflicts {
		if i >= len(done.Conflicts) || !strings.HasPrefix(done.Conflicts[i], c+":") {
			t.Errorf("conflicts %q, want %q", done.Conflicts, conflicts)
		}
	}
	if len(done.Conflicts) != len(conflicts) {
		t.Errorf("conflicts %q, want %q", done.Conflicts, conflicts)
	}
	for name, text := range want {
		if got := content(t, dir, name); got != text {
			t.Errorf("%s holds %q, want %q", name, got, text)
		}
	}
	if want["gone.sh"] == start["gone.sh"] {
		if info, err := os.Stat(filepath.Join(dir, "gone.sh")); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("the script did not come back with its mode: %v", err)
		}
	}
	// The revert is revertible itself.
	if _, err := w.Revert(t.Context(), done.Changes, false); err != nil {
		t.Fatal(err)
	}
	if got := pictured(t, dir); got != before {
		t.Errorf("the revert of the revert gives\n%s\nwant\n%s", got, before)
	}
}

// agentsWork changes a line, makes a file and deletes one; its changes, the newest first.
func agentsWork(t *testing.T, w *Workspace) []Change {
	t.Helper()
	edited, err := w.Edit(t.Context(), "a.txt", []Edit{{Old: "two", New: "TWO"}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.Write(t.Context(), "new.txt", "new\n")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := w.Delete(t.Context(), "gone.sh")
	if err != nil {
		t.Fatal(err)
	}
	return append(append(gone.Changes, made.Changes...), edited.Changes...)
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func developerRewrites(name, old, new string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		put(t, dir, name, strings.Replace(content(t, dir, name), old, new, 1))
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pictured is every file of a folder with its mode and text.
func pictured(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Name() + " " + info.Mode().String() + " " + content(t, dir, e.Name()) + "\n")
	}
	return b.String()
}

// A file that is open in an editor is taken back there, also where the editor shows it in another
// form; what its editor does not change stays, and is told.
func TestRevertOfOpenDocuments(t *testing.T) {
	const marked = bom + "one\r\ntwo\r\nthree\r\n"
	for _, test := range []struct {
		name, typed, want string
		refuses           bool
		status            string
	}{
		{"as it was left", "ONE\r\ntwo\r\nthree\r\n", "one\r\ntwo\r\nthree\r\n", false, "restored"},
		{"typed below", "ONE\r\ntwo\r\nthree, typed\r\n", "one\r\ntwo\r\nthree, typed\r\n", false, "restored"},
		{"taken back by hand", "one\r\ntwo\r\nthree\r\n", "one\r\ntwo\r\nthree\r\n", false, "same"},
		{"typed over", "mine\r\ntwo\r\nthree\r\n", "mine\r\ntwo\r\nthree\r\n", false, "conflict"},
		{"an editor that refuses", "ONE\r\ntwo\r\nthree\r\n", "ONE\r\ntwo\r\nthree\r\n", true, "conflict"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := buffers{}
			refuses := false
			w, _ := open(t, Options{Buffers: b, Apply: func(ctx context.Context, path string, version int32, old, new string) (string, error) {
				if refuses {
					return "", errors.New("applied: false")
				}
				return b.apply(ctx, path, version, old, new)
			}})
			lay(t, w, map[string]string{"a.go": marked, "b.go": "b\n"})
			edit, err := w.Edit(t0, "a.go", []Edit{{Old: "one", New: "ONE"}})
			if err != nil {
				t.Fatal(err)
			}
			other, err := w.Edit(t0, "b.go", []Edit{{Old: "b", New: "B"}})
			if err != nil {
				t.Fatal(err)
			}
			b["a.go"] = struct {
				text    string
				version int32
			}{test.typed, 1}
			refuses = test.refuses
			done, err := w.Revert(t0, append(edit.Changes, other.Changes...), false)
			if err != nil || len(done.Files) != 2 || done.Files[0].Status != test.status || done.Files[1].Status != "restored" {
				t.Fatalf("%+v %v", done, err)
			}
			if b["a.go"].text != test.want || (test.status == "conflict") != (len(done.Conflicts) == 1) || read(t, w, "b.go") != "b\n" {
				t.Errorf("the document is %q, conflicts %q", b["a.go"].text, done.Conflicts)
			}
		})
	}
}
