package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// folders makes folders below a new one and answers with its path.
func folders(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// What is said of a path below goes before what is said above; of one path the stricter.
func TestRules(t *testing.T) {
	root := folders(t, "a/b/c", "d")
	if err := os.Symlink(filepath.Join(root, "a/b"), filepath.Join(root, "link")); err != nil {
		t.Skip("no links can be made here")
	}
	at := func(name string) string { return filepath.Join(root, name) }
	p := Policy{Mechanism: Bubblewrap, Write: []string{at("a"), at("a/b/c"), at("d"), at("missing")}, ReadOnly: []string{at("link")}, Secret: []string{at("d")}}
	want := []rule{{at("a"), write, true}, {at("a/b"), readOnly, true}, {at("a/b/c"), write, true}, {at("d"), hidden, true}}
	if got := p.rules(); !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	p.Network = true
	want[3].right = write
	if got := p.rules(); !slices.Equal(got, want) {
		t.Errorf("with the network: %+v, not %+v", got, want)
	}
}

// A policy without paths to write, and one that has some, in Seatbelt's words.
func TestSeatbeltProfile(t *testing.T) {
	root := folders(t, `work "x"/.tandem`, "state")
	work := filepath.Join(root, `work "x"`)
	p := Policy{Mechanism: Seatbelt, Root: work, Write: []string{work}, Reserved: []string{filepath.Join(work, ".tandem")}, Hidden: []string{filepath.Join(root, "state")}}
	text := p.seatbeltProfile()
	at := -1
	for _, line := range []string{
		"(version 1)\n(allow default)\n(deny file-write*)\n",
		`(deny file-read* file-write* (subpath "` + root + `/state"))`,
		`(allow file-write* (subpath "` + root + `/work \"x\""))`,
		`(deny file-write* (subpath "` + root + `/work \"x\"/.tandem"))`,
		"(deny signal)\n(allow signal (target same-sandbox))",
		"(deny network*)\n(allow network* (local ip",
	} {
		next := strings.Index(text, line)
		if next <= at {
			t.Errorf("%q does not stand behind what goes before it:\n%s", line, text)
		}
		at = next
	}
	p.Network = true
	if strings.Contains(p.seatbeltProfile(), "(deny network*)") {
		t.Error("the network is refused though it is allowed")
	}
}

// Caches that a tool would make are made; those of tools that are not there are not.
func TestCaches(t *testing.T) {
	home := folders(t)
	getenv := func(name string) string {
		return map[string]string{"HOME": home, "GOPATH": filepath.Join(home, "gp"), "PIP_CACHE_DIR": filepath.Join(home, "pips")}[name]
	}
	got := Caches(getenv)
	want := filepath.Join(home, ".cache")
	if runtime.GOOS != "darwin" && !slices.Contains(got, want) {
		t.Errorf("without %s: %q", want, got)
	}
	if installed("go") && !slices.Contains(got, filepath.Join(home, "gp/pkg/mod")) {
		t.Errorf("without the module cache: %q", got)
	}
	for _, path := range []string{home, filepath.Join(home, "pips"), filepath.Join(home, ".ccache")} {
		if slices.Contains(got, path) {
			t.Errorf("%s is among %q", path, got)
		}
	}
	if got := Caches(func(string) string { return "" }); len(got) != 0 {
		t.Errorf("without a home: %q", got)
	}
}

func TestMechanismsOfOtherSystems(t *testing.T) {
	for _, m := range []Mechanism{Seatbelt, "none such"} {
		if why := Missing(m); why == "" && runtime.GOOS != "darwin" {
			t.Errorf("%s works here", m)
		}
	}
}
