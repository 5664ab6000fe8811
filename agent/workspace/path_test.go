//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/patch"
)

// Each way out is tried with each tool; what lies outside must neither be told nor changed.
func TestNoWayOut(t *testing.T) {
	w, home := open(t, Options{})
	write(t, filepath.Join(home, "out/secret.txt"), "TOP-SECRET")
	lay(t, w, map[string]string{"in.txt": "in\n", "sub/in.txt": "in\n"})
	for name, target := range map[string]string{
		"link": "../out", "abs": filepath.Join(home, "out"), "file": "../out/secret.txt", "chain": "link", "sub/up": "../../out",
		"dangling": "../out/new.txt", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, filepath.Join(home, "out"))
	for _, path := range []string{
		"../out/secret.txt", "sub/../../out/secret.txt", filepath.Join(home, "out/secret.txt"), "/etc/passwd", "link/secret.txt", "abs/secret.txt",
		"file", "chain/secret.txt", "sub/up/secret.txt", "dangling", "link/new.txt", "loop/x", "..", "/", "file:///etc/passwd", "a\x00b",
		w.Dir() + "/../out/secret.txt", w.Dir() + "x", "./../ws/../out/secret.txt",
	} {
		for name, call := range everyTool(w, path) {
			text, err := call()
			if err == nil && !(path == "file" || path == "dangling") || strings.Contains(text, "SECRET") {
				t.Errorf("%s %s was taken: %q", name, path, text)
			}
			if err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s %s tells: %v", name, path, err)
			}
		}
	}
	if after := tree(t, filepath.Join(home, "out")); strings.Join(before, "") != strings.Join(after, "") {
		t.Fatalf("something outside changed: %q", after)
	}
}

// everyTool calls each tool on a path. A link itself may be moved or deleted, so those are
// left out where they would only take the link.
func everyTool(w *Workspace, path string) map[string]func() (string, error) {
	calls := map[string]func() (string, error){
		"read": func() (string, error) { r, err := w.Read(path, 0, 0); return r.Text, err },
		"edit": func() (string, error) {
			r, err := w.Edit(t0, path, []Edit{{Old: "TOP", New: "x"}})
			return r.Diff, err
		},
		"write": func() (string, error) { r, err := w.Write(t0, path, "x"); return r.Diff, err },
		"fill":  func() (string, error) { r, err := w.Edit(t0, path, []Edit{{New: "x"}}); return r.Diff, err },
		"list": func() (string, error) {
			l, err := w.List(t0, path, "")
			return strings.Join(l.Entries, " "), err
		},
		"search": func() (string, error) {
			f, err := w.Search(t0, Query{Pattern: "TOP", Path: path})
			if len(f.Matches) > 0 {
				return f.Matches[0].Text, err
			}
			return "", err
		},
		"move to": func() (string, error) { _, err := w.Move(t0, "in.txt", path); return "", err },
		"patch": func() (string, error) {
			return "", patches(w, patch.File{Path: path, Hunks: []patch.Hunk{{Old: "TOP\n", New: "x\n"}}})
		},
		"patch that adds":     func() (string, error) { return "", patches(w, patch.File{Kind: patch.Add, Path: path, Text: "x\n"}) },
		"patch that moves to": func() (string, error) { return "", patches(w, patch.File{Path: "in.txt", To: path}) },
	}
	if path != "file" && path != "dangling" {
		calls["move"] = func() (string, error) { _, err := w.Move(t0, path, "moved"); return "", err }
		calls["delete"] = func() (string, error) { _, err := w.Delete(t0, path); return "", err }
		calls["patch that moves"] = func() (string, error) { return "", patches(w, patch.File{Path: path, To: "moved"}) }
		calls["patch that deletes"] = func() (string, error) { return "", patches(w, patch.File{Kind: patch.Delete, Path: path}) }
	}
	return calls
}

// patches tries a patch of a file, with a file beside it that could be changed.
func patches(w *Workspace, f patch.File) error {
	_, err := w.Patch(t0, []patch.File{{Kind: patch.Add, Path: "beside", Text: "x\n"}, f})
	return err
}

// A link that is swapped between the look and the deed meets the root itself.
func TestLinkSwappedInBetween(t *testing.T) {
	w, home := open(t, Options{})
	write(t, filepath.Join(home, "out/f"), "outside\n")
	lay(t, w, map[string]string{"dir/f": "inside\n"})
	f, err := w.load("dir/f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.Dir(), "dir"), filepath.Join(w.Dir(), "was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../out", filepath.Join(w.Dir(), "dir")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, filepath.Join(home, "out"))
	if _, err := w.replace(f, []byte("mine\n")); !errors.Is(err, ErrOutside) {
		t.Fatalf("written through the link: %v", err)
	}
	if _, err := w.fetch("dir/f"); !errors.Is(err, ErrOutside) {
		t.Fatalf("read through the link: %v", err)
	}
	if strings.Join(before, "") != strings.Join(tree(t, filepath.Join(home, "out")), "") {
		t.Fatal("something outside changed")
	}
}

func TestNames(t *testing.T) {
	w, home := open(t, Options{})
	lay(t, w, map[string]string{"a/f": "x\n"})
	if err := os.Symlink("ws", filepath.Join(home, "other")); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"inner": "a", "absolute": filepath.Join(w.Dir(), "a"), "a/back": "../a/f"} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, given := range []string{
		"a/f", "./a/f", "a//f", "a/../a/f", w.Dir() + "/a/f", home + "/other/a/f", "file://" + w.Dir() + "/a/f", "inner/f", "absolute/f", "a/back", "inner/../a/back",
	} {
		if name, err := w.Name(given); err != nil || name != "a/f" {
			t.Errorf("%s is %s (%v)", given, name, err)
		}
		if text, err := w.Read(given, 0, 0); err != nil || text.Text != "x\n" {
			t.Errorf("read %s: %q (%v)", given, text.Text, err)
		}
	}
}

func TestGitIsNotWritten(t *testing.T) {
	w, home := open(t, Options{})
	lay(t, w, map[string]string{".git/config": "[core]\n", "sub/.git/HEAD": "ref\n", "f": "x\n", ".gitignore": "*.o\n"})
	if err := os.Symlink(".git", filepath.Join(w.Dir(), "innocent")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, home)
	for _, path := range []string{".git/config", ".git", ".GIT/config", "sub/.git/HEAD", ".git/hooks/pre-commit", "innocent/config", ".git ./config"} {
		for name, call := range everyTool(w, path) {
			if name == "read" || name == "list" || name == "search" {
				continue
			}
			if path == "innocent/config" || !strings.HasPrefix(name, "move to") {
				if _, err := call(); err == nil {
					t.Errorf("%s %s was taken", name, path)
				}
			}
		}
	}
	if strings.Join(before, "") != strings.Join(tree(t, home), "") {
		t.Fatal("something changed")
	}
	if _, err := w.Edit(t0, ".gitignore", []Edit{{Old: "*.o", New: "*.a"}}); err != nil {
		t.Fatal(err)
	}
}

func TestMissingNamesSimilar(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"src/file.ts": "", "docs/readme.md": "", "src/other.go": ""})
	for given, want := range map[string]string{`src\file_ts`: "src/file.ts", "src/fil.ts": "src/file.ts", "readme.md": "docs/readme.md", "a/src/other.go": "src/other.go"} {
		_, err := w.Read(given, 0, 0)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
	if _, err := w.Read("nothing/like/this.rs", 0, 0); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%v", err)
	}
}

func TestSpecialFilesAreLeftAlone(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"dir/f": "x\n"})
	makePipe(t, filepath.Join(w.Dir(), "pipe"))
	for _, path := range []string{"pipe", "dir", "."} {
		for name, call := range everyTool(w, path) {
			if name == "list" || name == "search" || name == "move" {
				continue
			}
			if _, err := call(); err == nil {
				t.Errorf("%s %s was taken", name, path)
			}
		}
	}
}

// TestGone tells a folder that was replaced from the one that was opened.
func TestGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Gone() {
		t.Error("gone from the start")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if !w.Gone() {
		t.Error("not gone when removed")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !w.Gone() {
		t.Error("not gone when replaced")
	}
}

// What the agent itself is held by is not the agent's to change, by whatever name.
func TestTandemsConfigurationIsNotWritten(t *testing.T) {
	w, home := open(t, Options{})
	lay(t, w, map[string]string{".tandem/config.yaml": "tripwires: []\n", "sub/in/.tandem/config.yaml": "x\n", "new/config.yaml": "tripwires: []\n", "in.txt": "x\n"})
	if err := os.Symlink(".tandem", filepath.Join(w.Dir(), "innocent")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, home)
	for _, path := range []string{".tandem/config.yaml", ".tandem", ".TANDEM/new.yaml", ".tandem./new.yaml", "tandem~1/new.yaml", "sub/in/.tandem/config.yaml", "innocent/config.yaml", "innocent/new.yaml", "a/../.tandem/new.yaml"} {
		for name, call := range everyTool(w, path) {
			if name == "read" || name == "list" || name == "search" {
				continue
			}
			if _, err := call(); err == nil {
				t.Errorf("%s %s was taken", name, path)
			}
		}
	}
	for _, c := range [][2]string{{"sub", "sub2"}, {"sub/in", "top"}, {"new", ".tandem/deep"}, {"innocent", ".tandem2/../.tandem"}} {
		if _, err := w.Move(t0, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "only the developer") {
			t.Errorf("move %s to %s: %v", c[0], c[1], err)
		}
	}
	if strings.Join(before, "") != strings.Join(tree(t, home), "") {
		t.Fatal("something changed")
	}
	if text, err := w.Read(".tandem/config.yaml", 0, 0); err != nil || text.Text == "" {
		t.Errorf("it cannot be read: %v", err)
	}
}
