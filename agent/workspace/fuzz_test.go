package workspace

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beside finds two stars beside something else. git's documentation takes them for one, and git itself,
// which first goes past what stands before them, does not always.
var beside = regexp.MustCompile(`[^/\n!]\*\*|\*\*[^/\n]`)

// classesAlike are the classes that git and the library read alike. Of others each knows kinds that the other does not.
var classesAlike = regexp.MustCompile(`\[[!^]?\]?(a-c|[abc])+\]`)

// FuzzIgnore holds the rules of ignore files against git's own reading of them.
func FuzzIgnore(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("git is not installed, and it is the judge here")
	}
	for _, s := range []string{"*.log\n!keep.log\n", "/a\nb/\n", "**/x\nx/**\na/**/b\n", "\\#a\n\\!b\na\\ \n", "[a-c]\n[!a]\n", "[]a]", "[!]a]", "[^]a]", "*\n!*/\n!*.go\n", "a/b/\n!a/b/c\n", "\ufeffa\r\nb \n", "a*b\n?\n", "\\\n/\n!\n", "a\x00b\n\x00\n"} {
		f.Add(s)
	}
	w, _ := open(f, Options{})
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c", "#a", "!b", "x.log", "keep.log", "d/a", "d/b", "d/x.log", "d/e/a", "d/e/f.go", "x/a", "x/y/b", "ab", "a b", "g.go"} {
		files["tree/"+name] = ""
	}
	delete(files, "tree/x")
	lay(f, w, files)
	run := func(t testing.TB, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = w.Dir()
		cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=" + w.Dir()}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run(f, "init", "-q")
	f.Fuzz(func(t *testing.T, rules string) {
		if len(rules) > 100 || beside.MatchString(rules) || strings.Contains(classesAlike.ReplaceAllString(rules, ""), "[") {
			return
		}
		lay(t, w, map[string]string{"tree/.gitignore": rules})
		want := strings.FieldsFunc(run(t, "ls-files", "-z", "-co", "--exclude-standard", "tree"), func(r rune) bool { return r == 0 })
		l, err := w.List(t0, "", "")
		if err != nil {
			t.Fatal(err)
		}
		got := l.Entries
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("with %q\ngit has %q\nwe have %q", rules, want, got)
		}
	})
}

// FuzzRevert takes an agent's change back from a file that a developer has changed since: alone it
// comes back byte by byte; else no line that the developer wrote is lost, or the file stays as it is.
// A preview says the same and changes nothing.
func FuzzRevert(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n")
	f.Add("a\r\nb\r\n", "a\r\n", "x\r\na\r\n")
	f.Add("a", "a\nb", "z\na\nb")
	f.Add("", "new\n", "new\nmine\n")
	f.Add("\ufeffa\nb\nc\nd\n", "\ufeffa\nc\nd\n", "\ufeffa\nc\nD\n")
	f.Add("a\nb\n", "b\na\n", "b\na\n")
	f.Add("a\r", "a\r\n", "x\r\na\r\n")
	w, _ := open(f, Options{})
	f.Fuzz(func(t *testing.T, before, after, now string) {
		if len(before)+len(after)+len(now) > 4096 || before == after {
			return
		}
		lay(t, w, map[string]string{"f": before})
		if err := w.Saw("f"); err != nil {
			t.Fatal(err)
		}
		wrote, err := w.Write(t0, "f", after)
		if err != nil || len(wrote.Changes) == 0 {
			return // it is no text, or the same but for line ends, which stay as they were
		}
		after = read(t, w, "f")
		if now == "" {
			now = after
		}
		lay(t, w, map[string]string{"f": now})
		would, err := w.Revert(t0, wrote.Changes, true)
		if err != nil || read(t, w, "f") != now {
			t.Fatalf("a preview: %v, and the file is %q", err, read(t, w, "f"))
		}
		did, err := w.Revert(t0, wrote.Changes, false)
		if err != nil || !slices.Equal(would.Files, did.Files) || len(did.Files) != 1 {
			t.Fatalf("foretold %+v, done %+v, %v", would.Files, did.Files, err)
		}
		got := read(t, w, "f")
		switch status := did.Files[0].Status; {
		case now == after && after != before && got != before:
			t.Errorf("%q is back as %q", before, got)
		case (status == "conflict" || status == "same") && got != now:
			t.Errorf("%s, and %q became %q", status, now, got)
		default:
			keepsLines(t, after, now, got)
		}
	})
}

// keepsLines holds that each line that is in now and not in after is in got.
func keepsLines(t *testing.T, after, now, got string) {
	t.Helper()
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	}
	had, has := split(after), split(got)
	for _, line := range split(now) {
		if !slices.Contains(had, line) && !slices.ContainsFunc(has, func(l string) bool { return strings.Contains(l, line) }) {
			t.Errorf("%q is lost: %q became %q", line, now, got)
		}
	}
}
