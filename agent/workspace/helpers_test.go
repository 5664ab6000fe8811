package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var t0 = context.Background()

// open gives a workspace in a folder ws of a folder of its own, with a store beside it.
func open(t testing.TB, o Options) (w *Workspace, home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	if o.Store == "" {
		o.Store = filepath.Join(t.TempDir(), "store")
	}
	if w, err = Open(filepath.Join(home, "ws"), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, home
}

// lay writes files into a workspace.
func lay(t testing.TB, w *Workspace, files map[string]string) {
	t.Helper()
	for name, content := range files {
		write(t, filepath.Join(w.Dir(), name), content)
	}
}

func write(t testing.TB, at, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, w *Workspace, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tree tells all there is below a folder: names, modes, links and bytes.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			text = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			text, err = os.Readlink(at)
			if err != nil {
				return err
			}
		}
		all = append(all, fmt.Sprintf("%s %v %q", at, info.Mode(), text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// gitIn runs git in a folder, as nobody in particular.
func gitIn(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not there")
	}
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
