package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	for _, c := range []struct{ name, before, content, want string }{
		{"as given", "old\n", "new", "new"},
		{"CRLF kept", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"CRLF given for LF", "a\nb\n", "a\r\nc\r\n", "a\nc\n"},
		{"mixed is as given", "a\r\nb\n", "a\r\nc\n", "a\r\nc\n"},
		{"byte order mark kept", bom + "café\n", "café!\n", bom + "café!\n"},
		{"byte order mark not doubled", bom + "a\n", bom + "b\n", bom + "b\n"},
		{"Latin-1 kept", "caf\xe9\n", "café!\n", "caf\xe9!\n"},
		{"binary replaced", "a\x00b", "text\n", "text\n"},
		{"emptied", "a\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := open(t, Options{})
			lay(t, w, map[string]string{"f": c.before})
			r, err := w.Write(t0, "f", c.content)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, w, "f"); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			wantImages(t, w, r.Changes, c.before, c.want)
		})
	}
}

func TestWriteNew(t *testing.T) {
	w, _ := open(t, Options{})
	r, err := w.Write(t0, "a/b/c.txt", "x=1")
	if err != nil || len(r.Changes) != 1 || r.Changes[0].Before != nil || read(t, w, "a/b/c.txt") != "x=1" {
		t.Fatalf("%+v %v", r, err)
	}
	lay(t, w, map[string]string{"usual": ""})
	usual, _ := os.Stat(filepath.Join(w.Dir(), "usual"))
	info, _ := os.Stat(filepath.Join(w.Dir(), "a/b/c.txt"))
	if info.Mode() != usual.Mode() || r.Changes[0].After.Mode != usual.Mode() {
		t.Fatalf("mode %v, usual is %v", info.Mode(), usual.Mode())
	}
	if r, err = w.Write(t0, "a/b/c.txt", "x=1"); err != nil || len(r.Changes) != 0 || len(r.Notes) != 1 {
		t.Fatalf("the same again: %+v %v", r, err)
	}
	if _, err := w.Write(t0, "a/b", "x"); err == nil {
		t.Fatal("a folder was overwritten")
	}
	if _, err := w.Write(t0, "a/b/c.txt/d", "x"); err == nil {
		t.Fatal("a file was taken for a folder")
	}
	noTemp(t, w)
}

func TestWriteOverAChange(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "one\n", "never": "seen\n"})
	if _, err := w.Write(t0, "never", "mine\n"); err != nil {
		t.Fatalf("a file never seen: %v", err)
	}
	if _, err := w.Read("f", 0, 0); err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{"f": "two\n"})
	if _, err := w.Write(t0, "f", "mine\n"); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "changed since you read it") || read(t, w, "f") != "two\n" {
		t.Fatalf("%v, %q", err, read(t, w, "f"))
	}
	if _, err := w.Write(t0, "f", "mine\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.Dir(), "f")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(t0, "f", "again\n"); !errors.Is(err, ErrChanged) {
		t.Fatalf("a file that was deleted meanwhile: %v", err)
	}
	if _, err := w.Write(t0, "f", "again\n"); err != nil {
		t.Fatal(err)
	}
}

func TestWriteRefusesToLeaveOut(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f.go": "package f\n\nfunc a() {}\n"})
	if _, err := w.Write(t0, "f.go", "package f\n\n// ... rest of the file unchanged ...\n"); err == nil || !strings.Contains(err.Error(), "leaves code out") {
		t.Fatal(err)
	}
	if _, err := w.Write(t0, "new.go", "// ... existing code ...\n"); err != nil {
		t.Fatalf("a new file has nothing to leave out: %v", err)
	}
}

func TestMove(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a": "A\n", "b": "B\n", "dir/x": "X\n", "dir/in/y": "Y\n"})
	if err := os.Chmod(filepath.Join(w.Dir(), "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := w.Move(t0, "a", "new/place/a2")
	if err != nil || len(r.Changes) != 2 || r.Changes[0].After != nil || r.Changes[1].Before != nil || r.Changes[1].After.Mode != 0o755 {
		t.Fatalf("%+v %v", r, err)
	}
	if read(t, w, "new/place/a2") != "A\n" {
		t.Fatal("moved without its content")
	}
	for _, c := range []struct{ from, to, says string }{
		{"b", "dir/x", "exists already"}, {"b", "dir", "is a folder that exists"}, {"dir", "dir/in/deeper", "into itself"}, {"nope", "x", "there is no nope"}, {"b", "b", "exists"},
	} {
		if _, err := w.Move(t0, c.from, c.to); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
	r, err = w.Move(t0, "dir", "moved/dir")
	if err != nil || len(r.Changes) != 4 || read(t, w, "moved/dir/in/y") != "Y\n" {
		t.Fatalf("%+v %v", r, err)
	}
	if data, err := w.Content(r.Changes[0].Before.Digest); err != nil || string(data) != "Y\n" {
		t.Fatalf("%q %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(w.Dir(), "dir")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the folder is still there")
	}
}

func TestDelete(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a": "A\n", "dir/x": "X\n"})
	for _, err := range []error{os.Symlink("dir/x", filepath.Join(w.Dir(), "link")), os.Mkdir(filepath.Join(w.Dir(), "empty"), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.Delete(t0, "a")
	if err != nil || len(r.Changes) != 1 || r.Changes[0].After != nil {
		t.Fatalf("%+v %v", r, err)
	}
	if data, err := w.Content(r.Changes[0].Before.Digest); err != nil || string(data) != "A\n" {
		t.Fatalf("what was deleted is lost: %q %v", data, err)
	}
	r, err = w.Delete(t0, "link")
	if err != nil || r.Changes[0].Before.Link != "dir/x" || read(t, w, "dir/x") != "X\n" {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := w.Delete(t0, "empty"); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{"dir": "not empty", ".": "workspace itself", "a": "there is no a", "": "workspace itself"} {
		if _, err := w.Delete(t0, path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := w.Read("dir/x", 0, 0); err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{"dir/x": "theirs\n"})
	if _, err := w.Delete(t0, "dir/x"); !errors.Is(err, ErrChanged) {
		t.Fatalf("deleted over a change: %v", err)
	}
}

func TestSweep(t *testing.T) {
	w, _ := open(t, Options{})
	old, young := "dir/"+tempName(), tempName()
	lay(t, w, map[string]string{old: "x", young: "x", "dir/f": "x", ".git/" + tempName(): "x", tempPrefix + "mine.txt": "x"})
	before := time.Now().Add(-2 * stale)
	for _, name := range []string{old, "dir/f", tempPrefix + "mine.txt"} {
		if err := os.Chtimes(filepath.Join(w.Dir(), name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.Sweep(t0); err != nil || n != 1 {
		t.Fatalf("%d swept, %v", n, err)
	}
	if _, err := os.Lstat(filepath.Join(w.Dir(), old)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("it is still there")
	}
}

// A file that changes between the look and the deed keeps its name.
func TestNoNameIsLostInARace(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "mine\n"})
	image, err := w.taken("f", "f")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{"f": "theirs\n"})
	if err := w.still("f", image); !errors.Is(err, ErrChanged) {
		t.Fatalf("%v", err)
	}
}

// Reads, searches and snapshots go on beside mutations, and each sees whole files only.
func TestSideBySide(t *testing.T) {
	w, _ := open(t, Options{})
	whole := map[string]bool{strings.Repeat("a\n", 5_000): true, strings.Repeat("b\n", 5_000): true}
	lay(t, w, map[string]string{"f": strings.Repeat("a\n", 5_000)})
	done := make(chan error, 4)
	go func() {
		for i := range 20 {
			from, to := "ab"[i%2:i%2+1], "ba"[i%2:i%2+1]
			if _, err := w.Edit(t0, "f", []Edit{{Old: from, New: to, ReplaceAll: true}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 3 {
		go func() {
			for range 20 {
				f, err := w.load("f")
				if err == nil && !whole[string(f.data)] {
					err = errors.New("a half-written file was read")
				}
				_, searched := w.Search(t0, Query{Pattern: "a"})
				_, snapped := w.Snapshot(t0)
				if err := errors.Join(err, searched, snapped); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	digest, err := s.Put([]byte("content"))
	if err != nil || digest != Digest([]byte("content")) || !s.Has(digest) {
		t.Fatal(digest, err)
	}
	if again, err := s.Put([]byte("content")); err != nil || again != digest {
		t.Fatal(again, err)
	}
	if data, err := s.Get(digest); err != nil || string(data) != "content" {
		t.Fatalf("%q %v", data, err)
	}
	private(t, dir)
	for _, d := range []string{"", "x", "../../etc/passwd", Digest(nil)} {
		if _, err := s.Get(d); !errors.Is(err, ErrNotKept) || s.Has(d) {
			t.Errorf("%q: %v", d, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, place(digest)), []byte("altered"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(digest); err == nil {
		t.Fatalf("altered content was given: %q", data)
	}
}

// private holds that nobody else may look, and that one file is all there is.
func private(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", at, info.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != 1 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func TestStoreMustLieOutside(t *testing.T) {
	dir := t.TempDir()
	for _, store := range []string{dir, filepath.Join(dir, "a/b")} {
		if w, err := Open(dir, Options{Store: store}); err == nil {
			w.Close()
			t.Errorf("the store %s was taken", store)
		}
	}
}

func TestWithoutStore(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := w.Write(t0, "f", "x\n")
	if err != nil || r.Changes[0].After.Digest != Digest([]byte("x\n")) {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := w.Content(r.Changes[0].After.Digest); !errors.Is(err, ErrNotKept) {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "f"), Options{}); err == nil {
		t.Fatal("a file was opened as a workspace")
	}
}
