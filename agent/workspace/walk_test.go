package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ignoreTree is a tree with ignore files of many kinds.
var ignoreTree = map[string]string{
	".gitignore": "# comment\n\n*.log\n!keep.log\n/root-only\nbuild/\ndoc/*.txt\n**/deep/x\na/**\n!a/keep\nb/**/c\nsp ace\ntrail   \n\\#hash\n[!abc].q\nst**ar\n",
	"x.log":      "", "keep.log": "", "sub/y.log": "", "sub/keep.log": "", "root-only": "", "sub/root-only": "", "build/out": "", "sub/build/out": "",
	"doc/a.txt": "", "doc/b/a.txt": "", "sub/doc/a.txt": "", "p/deep/x": "", "deep/x": "", "a/one": "", "a/keep": "", "a/two/three": "", "b/c": "", "b/1/2/c": "", "b/d": "",
	"sp ace": "", "trail": "", "#hash": "", "d.q": "", "a.q": "", "st--ar": "", "star": "",
	"sub/.gitignore": "/only-here\n!*.log\nz/\n",
	"sub/only-here":  "", "sub/in/only-here": "", "sub/z/f": "", "z/f": "",
	"sub/in/.gitignore": "*\n!.gitignore\n!*.go\n",
	"sub/in/f.go":       "", "sub/in/f.c": "", "sub/in/deep/f.go": "",
	"plain.txt": "", ".hidden": "", ".github/workflow": "",
}

func TestIgnoreIsGits(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed, and it is the judge here")
	}
	w, _ := open(t, Options{})
	run := func(args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = w.Dir()
		cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	lay(t, w, ignoreTree)
	lay(t, w, map[string]string{".git/info/exclude": "plain.*\n"})
	want := strings.Split(strings.TrimRight(run("ls-files", "-z", "-co", "--exclude-standard"), "\x00"), "\x00")
	slices.Sort(want)
	got := listing(t, w, "", "")
	slices.Sort(got)
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("git ignores %s", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("git does not ignore %s", name)
		}
	}
	if len(got) < 10 {
		t.Fatalf("only %d files", len(got))
	}
}

func listing(t *testing.T, w *Workspace, path, glob string) []string {
	t.Helper()
	l, err := w.List(t0, path, glob)
	if err != nil {
		t.Fatal(err)
	}
	return l.Entries
}

func TestList(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{
		"a.go": "", "b.md": "", "src/c.go": "", "src/in/d.go": "", "src/in/e.txt": "", "node_modules/m/i.js": "", "out/o.go": "", ".gitignore": "out/\n",
		tempName(): "", ".git/HEAD": "",
	})
	if err := os.Symlink("src", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, glob, want string }{
		{"", "", ".gitignore a.go b.md link src/c.go src/in/d.go src/in/e.txt"},
		{"src", "", "src/c.go src/in/d.go src/in/e.txt"},
		{"link", "", "src/c.go src/in/d.go src/in/e.txt"},
		{".", "*.go", "a.go src/c.go src/in/d.go"},
		{".", "**/*.go", "a.go src/c.go src/in/d.go"},
		{"", "src/*.go", "src/c.go"},
		{"src", "in/*", "src/in/d.go src/in/e.txt"},
		{"", "*.{md,txt}", "b.md src/in/e.txt"},
		{"out", "", "out/o.go"},
		{"node_modules", "", "node_modules/m/i.js"},
		{"a.go", "", "a.go"},
		{"", "*.rs", ""},
	} {
		if got := strings.Join(listing(t, w, c.path, c.glob), " "); got != c.want {
			t.Errorf("list %q %q: %s, want %s", c.path, c.glob, got, c.want)
		}
	}
	if _, err := w.List(t0, "", "[a"); err == nil {
		t.Error("a glob that is not valid was taken")
	}
	if _, err := w.List(t0, "nope", ""); err == nil {
		t.Error("a folder that is not there was listed")
	}
}

func TestListFoldsManyFiles(t *testing.T) {
	w, _ := open(t, Options{})
	for i := range maxListed + 1 {
		lay(t, w, map[string]string{fmt.Sprintf("many/%04d", i): ""})
	}
	lay(t, w, map[string]string{"z": ""})
	l, err := w.List(t0, "", "")
	if err != nil || !l.Folded || strings.Join(l.Entries, " ") != fmt.Sprintf("many/ (%d files) z", maxListed+1) {
		t.Fatalf("%+v %v", l, err)
	}
	l, err = w.List(t0, "many", "0*")
	if err != nil || len(l.Entries) != maxListed || l.More != 1 {
		t.Fatalf("%d entries, %d more, %v", len(l.Entries), l.More, err)
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t0)
	cancel()
	_, listed := w.List(ctx, "", "")
	_, searched := w.Search(ctx, Query{Pattern: "x"})
	_, snapped := w.Snapshot(ctx)
	for _, err := range []error{listed, searched, snapped} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}
