package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"tandem/agent/patch"
)

// patched reads a patch and makes its changes.
func patched(w *Workspace, text string) (Result, error) {
	files, err := patch.Parse(text, "")
	if err != nil {
		return Result{}, err
	}
	return w.Patch(t0, files)
}

// A patch of several files is made whole, and its result tells all of it: each path once, with what
// stood there first and what stands there last.
func TestPatchOfManyFiles(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a.go": "a\n", "old/b.sh": "\xef\xbb\xbfb\r\nc\r\n", "gone": "g\n"})
	if err := os.Chmod(filepath.Join(w.Dir(), "old/b.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := patched(w, "*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+A\n*** Update File: old/b.sh\n*** Move to: new/dir/b.sh\n@@\n-b\n+B\n*** Add File: n/e/w\n+new\n*** Delete File: gone\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.Changes {
		got = append(got, fmt.Sprintf("%s %s→%s", c.Path, kept(t, w, c.Before), kept(t, w, c.After)))
	}
	want := []string{"a.go a\n→A\n", "old/b.sh \ufeffb\r\nc\r\n→", "new/dir/b.sh →\ufeffB\r\nc\r\n", "n/e/w →new\n", "gone g\n→"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(w.Dir(), "new/dir/b.sh")); err != nil || info.Mode().Perm() != 0o755 || read(t, w, "new/dir/b.sh") != "\ufeffB\r\nc\r\n" {
		t.Errorf("%v %v", info, err)
	}
	if strings.Count(r.Diff, "--- ") != 3 {
		t.Errorf("the diff is\n%s", r.Diff)
	}
	reverted, err := w.Revert(t0, newest(r.Changes), false)
	if err != nil || len(reverted.Conflicts) > 0 || read(t, w, "old/b.sh") != "\ufeffb\r\nc\r\n" || read(t, w, "gone") != "g\n" || read(t, w, "a.go") != "a\n" {
		t.Errorf("%+v %v", reverted, err)
	}
}

func newest(changes []Change) []Change {
	changes = slices.Clone(changes)
	slices.Reverse(changes)
	return changes
}

// kept is the content of an image, "" of none.
func kept(t testing.TB, w *Workspace, i *Image) string {
	t.Helper()
	if i == nil {
		return ""
	}
	data, err := w.Content(i.Digest)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// What fails late is taken back: here the editor does not make its part, after files were written,
// made in new folders, moved and deleted.
func TestPatchThatFailsLate(t *testing.T) {
	b := buffers{"z.go": {"z\n", 1}}
	refuse := func(context.Context, string, int32, string, string) (string, error) {
		return "", errors.New("applied: false")
	}
	w, home := open(t, Options{Buffers: b, Apply: refuse})
	lay(t, w, map[string]string{"a.sh": "a\r\n", "b.go": "b\n", "gone": "g\n", "z.go": "z\n"})
	if err := os.Chmod(filepath.Join(w.Dir(), "a.sh"), 0o711); err != nil {
		t.Fatal(err)
	}
	before := tree(t, home)
	r, err := patched(w, "*** Begin Patch\n*** Update File: a.sh\n@@\n-a\n+A\n*** Update File: b.go\n*** Move to: c/d/b.go\n@@\n-b\n+B\n*** Add File: n/e/w\n+new\n*** Delete File: gone\n*** Update File: z.go\n@@\n-z\n+Z\n*** End Patch")
	if err == nil || !strings.Contains(err.Error(), "applied: false") || !strings.Contains(err.Error(), "a.sh, b.go, c/d/b.go, n/e/w, gone) was taken back") || len(r.Changes) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	if after := tree(t, home); !slices.Equal(before, after) {
		t.Errorf("before %q\nafter  %q", before, after)
	}
}

// What cannot be taken back is told, not passed over.
func TestPatchThatCannotBeTakenBack(t *testing.T) {
	b := buffers{"z.go": {"z\n", 1}}
	var w *Workspace
	refuse := func(context.Context, string, int32, string, string) (string, error) {
		write(t, filepath.Join(w.Dir(), "a.go"), "the developer's\n")
		return "", errors.New("applied: false")
	}
	w, _ = open(t, Options{Buffers: b, Apply: refuse})
	lay(t, w, map[string]string{"a.go": "a\n", "b.go": "b\n", "z.go": "z\n"})
	r, err := patched(w, "*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+A\n*** Update File: b.go\n@@\n-b\n+B\n*** Update File: z.go\n@@\n-z\n+Z\n*** End Patch")
	if err == nil || !strings.Contains(err.Error(), "could not all be taken back, look at a.go") || len(r.Changes) != 1 || r.Changes[0].Path != "a.go" {
		t.Errorf("%+v %v", r, err)
	}
	if read(t, w, "a.go") != "the developer's\n" || read(t, w, "b.go") != "b\n" {
		t.Errorf("%q %q", read(t, w, "a.go"), read(t, w, "b.go"))
	}
}

func TestPatchRefused(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: a\n*** End Patch", "changes a twice"},
		{"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Update File: link\n@@\n-x\n+y\n*** End Patch", "changes link twice (as a too)"},
		{"*** Begin Patch\n*** Update File: link\n*** Move to: b\n@@\n-x\n+y\n*** End Patch", "link is a link"},
		{"*** Begin Patch\n*** Update File: a\n*** Move to: m\n*** End Patch", "m exists already"},
		{"*** Begin Patch\n*** Add File: dir\n+x\n*** End Patch", "dir is a folder"},
		{"*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch", "belongs to git"},
		{"*** Begin Patch\n*** Update File: dir\n*** Move to: other\n*** End Patch", "dir is a folder"},
		{"*** Begin Patch\n*** Update File: m\n@@ nowhere\n+y\n*** End Patch", `no line of the file is "nowhere"`},
		{"*** Begin Patch\n*** Update File: m\n@@\n+y\n*** End Patch", "does not say where"},
		{"*** Begin Patch\n*** Update File: m\n@@ }\n+y\n*** End Patch", "stand there 2 times"},
		{"*** Begin Patch\n*** Update File: m\n@@ func b() {\n-func a() {\n+func c() {\n*** End Patch", "which is before"},
		{"*** Begin Patch\n*** Update File: m\n@@ func a() {\n@@ func b() {\n-\tx\n+\ty\n*** End Patch", "no line of the file"},
		{"*** Begin Patch\n*** Update File: m\n@@\n-func a() {\n+func c() {\n*** End of File\n*** End Patch", "reaches the end of the file"},
		{"*** Begin Patch\n*** Update File: m\n@@\n-func a()\n+func c()\n*** End Patch", "does not stand there"},
		{"*** Begin Patch\n*** Update File: m\n@@\n-func a() {\n+// ... existing code ...\n*** End Patch", "leaves code out"},
		{"*** Begin Patch\n*** Update File: m\n@@\n-func a() {\n+func a() { // \u202e\n*** End Patch", "bidirectional"},
		{"--- a/m\n+++ b/m\n@@ -2 +2 @@\n-\tx\n+\ty\n", "2 times"},
		{"--- a/m\n+++ b/m\n@@ -1 +1 @@\n-func a() {\n+func A() {\n@@ -4 +4 @@\n-nothing\n+y\n", "hunk 2 of 2 is refused"},
		{"--- a/nope\n+++ b/nope\n@@ -0,0 +5 @@\n+y\n", "there is no nope"},
		{"*** Begin Patch\n*** Add File: n/x\n+x\n*** Update File: nope\n@@\n-x\n+y\n*** End Patch", "nothing of the patch was applied: there is no nope"},
	} {
		w, home := open(t, Options{})
		lay(t, w, map[string]string{"a": "x\n", "dir/f": "f\n", "m": "func a() {\n\tx\n}\n\nfunc b() {\n\tx\n}\n"})
		if err := os.Symlink("a", filepath.Join(w.Dir(), "link")); err != nil {
			t.Fatal(err)
		}
		before := tree(t, home)
		_, err := patched(w, c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.text, err)
		}
		if after := tree(t, home); !slices.Equal(before, after) {
			t.Errorf("%q changed %q to %q", c.text, before, after)
		}
	}
}

func TestHunksFindTheirPlace(t *testing.T) {
	const code = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"behind a line", "func main() {\n}\n\nfunc b() {\n}\n", "*** Begin Patch\n*** Update File: f\n@@ func main() {\n+\tlog.Println(\"x\")\n*** End Patch", "func main() {\n\tlog.Println(\"x\")\n}\n\nfunc b() {\n}\n"},
		{"in the block of a line", code, "*** Begin Patch\n*** Update File: f\n@@ class A:\n-        return 1\n+        return 2\n*** End Patch", strings.Replace(code, "return 1", "return 2", 1)},
		{"whole lines only", "ab\nb\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+c\n", "ab\nc\n"},
		{"at the end", "a\nb", "*** Begin Patch\n*** Update File: f\n@@\n+c\n*** End of File\n*** End Patch", "a\nb\nc"},
		{"a final newline is added", "a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n"},
		{"a final newline is taken away", "a\r\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a"},
		{"a final newline that the patch does not know of", "a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc\n"},
		{"the same, and the patch would add it", "a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n"},
		{"hunks with common context", "1\n2\n3\n", "--- a/f\n+++ b/f\n@@\n-1\n+one\n 2\n@@\n 2\n-3\n+three\n", "one\n2\nthree\n"},
		{"hunks out of order", "1\n2\n3\n4\n", "--- a/f\n+++ b/f\n@@ -4 +4 @@\n-4\n+four\n@@ -1 +1 @@\n-1\n+one\n", "one\n2\n3\nfour\n"},
		{"trailing blanks of a line that stays", "a  \r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a  \r\nc\r\n"},
		{"Latin-1", "\xe9\nx\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n é\n-x\n+ü\n", "\xe9\n\xfc\n"},
		{"tabs that are blanks in the patch", "if a {\n\tb()\n}\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n if a {\n-    b()\n+    c()\n }\n", "if a {\n\tc()\n}\n"},
		{"all lines deleted", "a\n", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n", ""},
	} {
		w, _ := open(t, Options{})
		lay(t, w, map[string]string{"f": c.file})
		if _, err := patched(w, c.text); err != nil || read(t, w, "f") != c.want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", c.name, err, read(t, w, "f"), c.want)
		}
	}
}

// someLines are lines of which many are alike, and some look like parts of a patch.
var someLines = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "}", "", "-- d", "++ e", "@@ f", "*** g", "--- h", "+++ i", " j", "# k"}), 0, 24)

// twoTexts are a text and what it becomes, with line feeds.
func twoTexts(t *rapid.T) (before, after string) {
	lines := someLines.Draw(t, "lines")
	changed := slices.Clone(lines)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		at := rapid.IntRange(0, len(changed)).Draw(t, "at")
		end := min(len(changed), at+rapid.IntRange(0, 2).Draw(t, "gone"))
		changed = slices.Replace(changed, at, end, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "}", "", "new", "-- d"}), 0, 2).Draw(t, "new")...)
	}
	join := func(lines []string, end bool) string {
		if len(lines) == 0 {
			return ""
		}
		text := strings.Join(lines, "\n")
		if end || lines[len(lines)-1] == "" {
			text += "\n"
		}
		return text
	}
	return join(lines, rapid.Bool().Draw(t, "ended before")), join(changed, rapid.Bool().Draw(t, "ended after"))
}

// after is what a patch makes of a text: what stands in the file then, and whether it was refused.
func afterPatch(t *rapid.T, w *Workspace, file, text string) (now string, refusal error) {
	at := filepath.Join(w.Dir(), "f")
	if err := os.WriteFile(at, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Saw("f"); err != nil {
		t.Fatal(err)
	}
	_, refusal = patched(w, text)
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if refusal != nil && string(data) != file {
		t.Fatalf("refused (%v), and yet the file changed\npatch %q\nfile %q\nnow  %q", refusal, text, file, data)
	}
	return string(data), refusal
}

// What a real diff says is made to the byte, whatever the file's line ends and mark, however many
// places are alike.
func TestRealDiffs(t *testing.T) {
	w, _ := open(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		before, after := twoTexts(t)
		if before == after {
			return
		}
		text := udiff.Unified("a/f", "b/f", before, after)
		form := func(s string) string { return s }
		if before != "" { // an empty file has no form to keep
			end, mark := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"), rapid.SampledFrom([]string{"", bom}).Draw(t, "mark")
			if !strings.Contains(before, "\n") {
				end = "\n"
			}
			form = func(s string) string { return mark + withEnds(s, end) }
		}
		if now, err := afterPatch(t, w, form(before), text); err != nil || now != form(after) {
			t.Fatalf("%v\npatch\n%s\nfile %q\ngot  %q\nwant %q", err, text, form(before), now, form(after))
		}
	})
}

var hunkHead = regexp.MustCompile(`(?m)^@@ -(\d+)((?:,\d+)?) \+(\d+(?:,\d+)?) @@$`)

// spoilt are ways in which models get a diff wrong. What it says stays the same; so it is made, or
// refused, never made elsewhere.
var spoilt = map[string]func(*rapid.T, string) string{
	"no numbers": func(_ *rapid.T, s string) string { return hunkHead.ReplaceAllString(s, "@@ ... @@") },
	"a wrong first line": func(t *rapid.T, s string) string {
		return hunkHead.ReplaceAllString(s, fmt.Sprintf("@@ -%d$2 +$3 @@", rapid.IntRange(0, 30).Draw(t, "line")))
	},
	"wrong counts": func(t *rapid.T, s string) string {
		return hunkHead.ReplaceAllString(s, fmt.Sprintf("@@ -$1,%d +$3 @@", rapid.IntRange(0, 30).Draw(t, "count")))
	},
	"blank lines without blank": func(_ *rapid.T, s string) string { return regexp.MustCompile(`(?m)^ $`).ReplaceAllString(s, "") },
	"other line ends":           func(_ *rapid.T, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"a fence":                   func(_ *rapid.T, s string) string { return "```diff\n" + s + "```\n" },
	"an envelope": func(_ *rapid.T, s string) string {
		_, body, _ := strings.Cut(s, "@@")
		return "*** Begin Patch\n*** Update File: f\n@@" + body + "*** End Patch\n"
	},
}

func TestSpoiltDiffs(t *testing.T) {
	w, _ := open(t, Options{})
	made := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		before, after := twoTexts(t)
		if before == after {
			return
		}
		how := rapid.SampledFrom(slices.Sorted(maps.Keys(spoilt))).Draw(t, "how")
		text := spoilt[how](t, udiff.Unified("a/f", "b/f", before, after))
		now, err := afterPatch(t, w, before, text)
		if err == nil && now != after {
			t.Fatalf("%s\npatch\n%s\nfile %q\ngot  %q\nwant %q", how, text, before, now, after)
		}
		if err == nil {
			made[how]++
		}
	})
	for how := range spoilt {
		if made[how] == 0 {
			t.Errorf("%s: every diff was refused", how)
		}
	}
}

// A diff that speaks of a line which is not there is refused.
func TestStaleDiffs(t *testing.T) {
	w, _ := open(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		before, after := twoTexts(t)
		lines := strings.Split(udiff.Unified("a/f", "b/f", before, after), "\n")
		var old []int
		for i, l := range lines {
			if i > 1 && l != "" && (l[0] == ' ' || l[0] == '-') {
				old = append(old, i)
			}
		}
		if len(old) == 0 {
			return
		}
		i := rapid.SampledFrom(old).Draw(t, "line")
		lines[i] = lines[i][:1] + "a line that is nowhere"
		if now, err := afterPatch(t, w, before, strings.Join(lines, "\n")); err == nil {
			t.Fatalf("patch\n%s\nfile %q\ngot  %q", strings.Join(lines, "\n"), before, now)
		}
	})
}

// What git itself writes is read: with more context than ours and with less. With less than three
// lines of it a place may be refused as one of several, but none is taken for another.
func TestDiffsOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w, home := open(t, Options{})
	chance := rand.New(rand.NewSource(7))
	some := func() []byte {
		var b bytes.Buffer
		for range chance.Intn(20) + 1 {
			fmt.Fprintf(&b, "%c\n", 'a'+chance.Intn(5))
		}
		return b.Bytes()
	}
	refused := 0
	for round := range 40 {
		before, context := some(), round%6
		after := slices.Concat(before[:len(before)/4*2], some(), before[len(before)/4*2:])
		write(t, filepath.Join(home, "a", "f"), string(before))
		write(t, filepath.Join(home, "b", "f"), string(after))
		cmd := exec.Command("git", "diff", "--no-index", "--no-prefix", fmt.Sprintf("-U%d", context), "a/f", "b/f")
		cmd.Dir = home
		text, _ := cmd.Output() // it fails where files differ
		write(t, filepath.Join(w.Dir(), "f"), string(before))
		if err := w.Saw("f"); err != nil {
			t.Fatal(err)
		}
		_, err := patched(w, string(text))
		now := read(t, w, "f")
		if err != nil {
			refused++
		}
		if err != nil && (context >= 3 || now != string(before)) || err == nil && now != string(after) {
			t.Fatalf("with %d lines of context: %v\n%s\nfile %q\ngot  %q\nwant %q", context, err, text, before, now, after)
		}
	}
	if refused == 40 {
		t.Error("every diff was refused")
	}
}

// FuzzPatch holds that whatever a patch is, it is made with images that are true, or refused with
// nothing changed.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
	f.Add("a\r\n", "*** Begin Patch\n*** Update File: f\n*** Move to: g/h\n@@ a\n+b\n*** Add File: i\n+x\n*** End Patch")
	f.Add("x", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")
	f.Add("x\n", "diff --git a/f b/../f\nrename from f\nrename to ../f\n")
	w, home := open(f, Options{})
	f.Fuzz(func(t *testing.T, file, text string) {
		if len(file) > 2048 || len(text) > 2048 {
			return
		}
		lay(t, w, map[string]string{"f": file})
		if err := w.Saw("f"); err != nil {
			t.Fatal(err)
		}
		before := tree(t, home)
		files, err := patch.Parse(text, "f")
		var r Result
		if err == nil {
			r, err = w.Patch(t0, files)
		}
		if err != nil && !slices.Equal(before, tree(t, home)) {
			t.Fatalf("refused (%v), and yet something changed", err)
		}
		for _, c := range r.Changes {
			if !slices.Contains(patch.Names(files), c.Path) && !slices.ContainsFunc(patch.Names(files), func(n string) bool { name, err := w.Name(n); return err == nil && name == c.Path }) {
				t.Fatalf("%s was changed, which the patch does not name", c.Path)
			}
			if c.After != nil && read(t, w, c.Path) != kept(t, w, c.After) {
				t.Fatalf("the image of %s is not what stands there", c.Path)
			}
		}
		entries, err := os.ReadDir(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(w.Dir(), e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	})
}
