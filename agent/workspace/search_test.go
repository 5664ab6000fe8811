package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// searchTree makes enough files that ripgrep is asked, of every kind that could set the two
// ways apart.
func searchTree(t testing.TB, w *Workspace) {
	t.Helper()
	files := map[string]string{
		".gitignore": "*.log\n", "ignored.log": "needle\n", "crlf.txt": "one needle\r\ntwo\r\nneedle", "mac.txt": "a\rneedle\rb", "bom.txt": bom + "needle first\n",
		"latin.txt": "caf\xe9 needle\nna\xefve\n", "utf8.txt": "café needle\nNEEDLE\nnaïve İ ſtraße K\n", "binary.bin": "needle\x00\n", "utf16.txt": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00",
		"odd name.txt": "needle\n", "-dash.txt": "needle\n", "dir/deep/x.go": "func needle() {}\n\treturn needles\n", "empty": "", "long.txt": strings.Repeat("y", 5_000) + " needle\n",
		"damaged.txt": "é é é \xff needle\n", "late.bin": strings.Repeat("x\n", 40_000) + "needle\n\x00",
	}
	words := []string{"alpha", "beta", "Gamma", "needle", "x1", "foo_bar", "Kelvin"}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 120 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			fmt.Fprintf(&b, "%s %s\n", words[r.IntN(len(words))], words[r.IntN(len(words))])
		}
		files[fmt.Sprintf("many/%d/%d.txt", i%7, i)] = b.String()
	}
	lay(t, w, files)
}

func TestSearchIsTheSameWithRipgrep(t *testing.T) {
	w, _ := open(t, Options{})
	if w.rg == "" {
		t.Skip("ripgrep is not installed, so there is nothing to compare with")
	}
	searchTree(t, w)
	own := *w.copyWithout()
	for _, q := range []Query{
		{Pattern: "needle"}, {Pattern: "NEEDLE"}, {Pattern: "needle", Path: "many"}, {Pattern: "needle", Glob: "*.go"}, {Pattern: "café"}, {Pattern: "naïve"}, {Pattern: ".needle"},
		{Pattern: `(?i)needle`, Regex: true}, {Pattern: `(?i)kelvin`, Regex: true}, {Pattern: `(?i)stra`, Regex: true}, {Pattern: `^needle$`, Regex: true}, {Pattern: `\bneedle\b`, Regex: true},
		{Pattern: `needle|alpha`, Regex: true}, {Pattern: `n.+dles?\b`, Regex: true}, {Pattern: `caf. needle`, Regex: true}, {Pattern: `\W needle`, Regex: true}, {Pattern: `(Gamma) (alpha|beta)`, Regex: true},
		{Pattern: `[^a-z]needle`, Regex: true}, {Pattern: `x\d foo`, Regex: true}, {Pattern: `needle$`, Regex: true}, {Pattern: `^`, Regex: true}, {Pattern: "nowhere at all"}, {Pattern: "-e"}, {Pattern: `\x{e9} needle`, Regex: true},
	} {
		with, err := w.Search(t0, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		without, err := own.Search(t0, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%+v: with ripgrep %d+%d in %d files, without %d+%d in %d", q, len(with.Matches), with.More, with.Files, len(without.Matches), without.More, without.Files)
		}
	}
}

// copyWithout is the same workspace where there is no ripgrep.
func (w *Workspace) copyWithout() *Workspace {
	return &Workspace{dir: w.dir, root: w.root, store: w.store, buffers: w.buffers}
}

func TestRipgrepLeavesFilesOut(t *testing.T) {
	w, _ := open(t, Options{})
	if w.rg == "" {
		t.Skip("ripgrep is not installed")
	}
	searchTree(t, w)
	names := listing(t, w, "", "")
	left, err := w.likely(t0, names, "odd.*func needle")
	if err != nil || len(left) != 1 || left[0] != "dir/deep/x.go" {
		t.Fatalf("%v %v", left, err)
	}
}

func TestRipgrepOfTheRepositoryIsNotRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bin/rg"), "#!/bin/sh\ntouch ran\n")
	if err := os.Chmod(filepath.Join(dir, "bin/rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.rg != "" {
		t.Fatalf("%s would be run", w.rg)
	}
}

// A ripgrep that fails must not make files vanish from a search.
func TestRipgrepThatFails(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "rg"), "#!/bin/sh\nexit 2\n")
	if err := os.Chmod(filepath.Join(bin, "rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	w, _ := open(t, Options{})
	searchTree(t, w)
	if found, err := w.Search(t0, Query{Pattern: "func needle"}); w.rg == "" || err != nil || len(found.Matches) != 1 {
		t.Fatalf("%s: %+v %v", w.rg, found, err)
	}
}

func TestBatches(t *testing.T) {
	names := []string{"aaaa", "b", "cccccccccccccccccccc", "d", "e"}
	var got []string
	for b := range batches(names, 12) {
		got = append(got, strings.Join(b, " "))
	}
	if strings.Join(got, "|") != "aaaa b|cccccccccccccccccccc|d e" {
		t.Fatalf("%q", got)
	}
}

func TestSearch(t *testing.T) {
	w, _ := open(t, Options{Buffers: buffers{"open.txt": {"unsaved needle\n", 3}}})
	searchTree(t, w)
	lay(t, w, map[string]string{"open.txt": "saved words\n", "mac.txt": "a\rneedle\rb"})
	for pattern, want := range map[string]string{
		"func needle":    "dir/deep/x.go:1: func needle() {}",
		"needle first":   "bom.txt:1: needle first",
		"unsaved needle": "open.txt:1: unsaved needle",
		"café needle":    "latin.txt:1: café needle\nutf8.txt:1: café needle",
		"saved words":    "",
	} {
		found, err := w.Search(t0, Query{Pattern: pattern})
		var lines []string
		for _, m := range found.Matches {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, m.Text))
		}
		if got := strings.Join(lines, "\n"); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", pattern, got, want, err)
		}
	}
	found, err := w.Search(t0, Query{Pattern: "needle", Path: "mac.txt"})
	if err != nil || len(found.Matches) != 1 || found.Matches[0].Line != 2 {
		t.Errorf("%+v %v", found, err)
	}
	found, err = w.Search(t0, Query{Pattern: "y needle"})
	if err != nil || len(found.Matches) != 1 || len(found.Matches[0].Text) > 2*maxShown || !strings.Contains(found.Matches[0].Text, "bytes more") {
		t.Errorf("a long line is not cut: %+v %v", found, err)
	}
}

func TestSearchIsBounded(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": strings.Repeat("needle\n", maxMatches+7)})
	found, err := w.Search(t0, Query{Pattern: "needle"})
	if err != nil || len(found.Matches) != maxMatches || found.More != 7 || found.Files != 1 {
		t.Fatalf("%d matches, %d more, %v", len(found.Matches), found.More, err)
	}
}

func TestSearchRefuses(t *testing.T) {
	w, _ := open(t, Options{})
	for pattern, says := range map[string]string{"a(b": "does not parse", "(?<=a)b": "RE2", "": "empty", "a\nb": "one line"} {
		_, err := w.Search(t0, Query{Pattern: pattern, Regex: true})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if _, err := w.Search(t0, Query{Pattern: "a(b"}); err != nil {
		t.Errorf("plain text need not parse: %v", err)
	}
}

func BenchmarkSearch(b *testing.B) {
	w, _ := open(b, Options{})
	files := map[string]string{}
	body := strings.Repeat("some line of code that is here()\n", 200)
	for i := range 3_000 {
		files[fmt.Sprintf("d%d/f%d.go", i%60, i)] = body
	}
	files["d3/hit.go"] = "the needle\n"
	lay(b, w, files)
	for name, w := range map[string]*Workspace{"ripgrep": w, "own": w.copyWithout()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if found, err := w.Search(t0, Query{Pattern: "the needle"}); err != nil || len(found.Matches) != 1 {
					b.Fatalf("%+v %v", found, err)
				}
			}
		})
	}
}
