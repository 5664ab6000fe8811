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
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Report B119: two who write one file at once, each as a process of its own would, publish whole
// files only: what stands there in the end is one writer's, and nothing is left beside it.
func TestReportWritersPublishWholeFiles(t *testing.T) {
	first, _ := open(t, Options{})
	second, err := Open(first.Dir(), Options{Store: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	text := func(letter string) string { return strings.Repeat(letter+"\n", 500) }
	whole := map[string]bool{text("a"): true, text("b"): true}
	lay(t, first, map[string]string{"f": text("a")})
	var all sync.WaitGroup
	for letter, w := range map[string]*Workspace{"a": first, "b": second} {
		all.Go(func() {
			for range 25 {
				_, err := w.Read("f", 0, 0)
				if err == nil {
					_, err = w.Write(t0, "f", text(letter))
				}
				if err != nil && !errors.Is(err, ErrChanged) { // the other was faster, and this one is told so
					t.Error(err)
				}
				if f, err := w.load("f"); err != nil || !whole[string(f.data)] {
					t.Errorf("a half-written file was read, %v", err)
				}
			}
		})
	}
	all.Wait()
	noTemp(t, first)
}

// callOf is a change that a model asks for.
type callOf func(w *Workspace) (Result, error)

func replaces(path, old, new string) callOf {
	return func(w *Workspace) (Result, error) { return w.Edit(t0, path, []Edit{{Old: old, New: new}}) }
}

func putsPatch(text string) callOf {
	return func(w *Workspace) (Result, error) { return patched(w, text) }
}

// Reports about edits of files, each with its smallest input: what stands there in the end, to the
// byte, and what a refusal says. In each the diff that is shown is that of the bytes.
func TestReportEdits(t *testing.T) {
	twins := "def a():\n\tif p:\n\t\tflush()\n\t\treturn None\n\ndef b():\n\tfor i in p:\n\t\tif i:\n\t\t\tflush()\n\t\t\treturn None\n"
	latin := "if a < b\n"
	for i := range 300 {
		latin += fmt.Sprintf("// caf\xe9 %d\n", i)
	}
	saves := strings.Repeat("\n", 303) + "a();\nSaveChanges();\nb();\n\n\n\n\nc();\nSaveChanges();\nd();\n"
	for _, c := range []struct {
		id     string
		files  map[string]string
		call   callOf
		want   map[string]string // the files that are otherwise in the end
		refuse string
	}{
		{"B057", map[string]string{"f": "a\r\nb\r\nc\r\n"}, replaces("f", "a\nb", "a\nB"), map[string]string{"f": "a\r\nB\r\nc\r\n"}, ""},
		{"B058", map[string]string{"f": "x\r\ny\r\n"}, replaces("f", "y", "y1\ny2"), map[string]string{"f": "x\r\ny1\r\ny2\r\n"}, ""},
		{"B060", map[string]string{"f": "x\r\ny\r\n"}, replaces("f", "x\ny\n", "x1\ny1\n"), map[string]string{"f": "x1\r\ny1\r\n"}, ""},
		{"B063", map[string]string{"f": "\xef\xbb\xbfcaf\u00e9\n"}, func(w *Workspace) (Result, error) { return w.Write(t0, "f", "caf\u00e9!\n") },
			map[string]string{"f": "\xef\xbb\xbfcaf\u00e9!\n"}, ""},
		{"B064", map[string]string{"f": "\xef\xbb\xbf#!/bin/sh\n"}, replaces("f", "#!/bin/sh", "#!/bin/bash"), map[string]string{"f": "\xef\xbb\xbf#!/bin/bash\n"}, ""},
		{"B065", map[string]string{"f": "// Copyright \xa9 M\r\nint main(){return 0;}\r\n"}, replaces("f", "return 0", "return 1"),
			map[string]string{"f": "// Copyright \xa9 M\r\nint main(){return 1;}\r\n"}, ""},
		{"B066", map[string]string{"f": "$n = \"Jos\xe9\";\nx=1;\n"}, replaces("f", "x=1", "x=2"), map[string]string{"f": "$n = \"Jos\xe9\";\nx=2;\n"}, ""},
		{"B067", map[string]string{"f": latin}, replaces("f", "if a < b", "if a <= b"), map[string]string{"f": strings.Replace(latin, "<", "<=", 1)}, ""},
		{"B068", map[string]string{"f": twins}, replaces("f", "flush()\nreturn None", "flush()\nreturn 1"), nil, "there 2 times (matched with the indentation shifted): " + moreLines + ", or set replace_all. The places:\n3: \t\tflush()\n9: \t\t\tflush()"},
		{"B068 as a patch", map[string]string{"f": twins}, putsPatch("--- f\n+++ f\n@@ -3,2 +3,2 @@\n flush()\n-return None\n+return 1\n"), nil, "there 2 times"},
		{"B069", map[string]string{"f": strings.Repeat("}\n", 5)}, replaces("f", "}", "x\n}"), nil, "there 5 times"},
		{"B070", map[string]string{"f": saves}, putsPatch("--- f\n+++ f\n@@ -304,3 +304,3 @@\n c();\n-SaveChanges();\n+SaveAll();\n d();\n"),
			map[string]string{"f": strings.Replace(saves, "c();\nSaveChanges", "c();\nSaveAll", 1)}, ""},
		{"B070 without context", map[string]string{"f": saves}, putsPatch("--- f\n+++ f\n@@ -305 +305 @@\n-SaveChanges();\n+SaveAll();\n"), nil, "there 2 times"},
		{"B072", map[string]string{"f": "func main() {\n}\n\nfunc b() {\n}\n"}, putsPatch("*** Begin Patch\n*** Update File: f\n@@ func main() {\n+\tlog.Println(\"x\")\n*** End Patch"),
			map[string]string{"f": "func main() {\n\tlog.Println(\"x\")\n}\n\nfunc b() {\n}\n"}, ""},
		{"B074", map[string]string{"first.txt": "1\n", "second.txt": "2\n"}, putsPatch("*** Begin Patch\n*** Delete File: first.txt\n*** Update File: second.txt\n@@\n-stale\n+new\n*** End Patch"),
			nil, "nothing of the patch was applied: edit second.txt: the old text does not stand there"},
		{"B075 made", map[string]string{"exists.txt": "original\n"}, putsPatch("*** Begin Patch\n*** Add File: exists.txt\n+replacement\n*** End Patch"), nil, "exists.txt exists already"},
		{"B075 moved", map[string]string{"exists.txt": "original\n", "a": "a\n"}, putsPatch("*** Begin Patch\n*** Update File: a\n*** Move to: exists.txt\n*** End Patch"), nil, "exists.txt exists already"},
		{"B075 one of several", map[string]string{"a": "a\n"}, putsPatch("*** Begin Patch\n*** Update File: a\n@@\n-a\n+A\n*** Update File: missing\n@@\n-a\n+b\n*** Add File: c\n+c\n*** End Patch"), nil, "there is no missing"},
		{"B085 made", nil, func(w *Workspace) (Result, error) { return w.Write(t0, "new", "x=1") }, map[string]string{"new": "x=1"}, ""},
		{"B085", map[string]string{"f": "a\nb"}, replaces("f", "b", "c"), map[string]string{"f": "a\nc"}, ""},
		{"B086", map[string]string{"f": "func f() {\n\treturn 1\n}\n"}, replaces("f", "    return 1", "    return 2"), map[string]string{"f": "func f() {\n\treturn 2\n}\n"}, ""},
	} {
		w, home := open(t, Options{})
		lay(t, w, c.files)
		before := tree(t, home)
		r, err := c.call(w)
		if c.refuse != "" {
			if after := tree(t, home); err == nil || !strings.Contains(err.Error(), c.refuse) || strings.Join(after, "") != strings.Join(before, "") {
				t.Errorf("%s: %v; %q", c.id, err, after)
			}
			continue
		}
		want, got := maps.Clone(c.want), map[string]string{}
		for name := range want {
			got[name] = read(t, w, name)
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v\ngot  %q\nwant %q", c.id, err, got, want)
			continue
		}
		for _, change := range r.Changes {
			if after := read(t, w, change.Path); kept(t, w, change.After) != after || r.Diff != diff(change.Path, []byte(c.files[change.Path]), []byte(after)) || r.Diff == "" {
				t.Errorf("%s: shown is\n%s", c.id, r.Diff)
			}
		}
	}
}

// Report B074, where the second file is in a folder that takes no change: the first comes back.
func TestReportPatchInAFolderThatTakesNoChange(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing refuses the superuser; TestPatchThatFailsLate is the same by another way")
	}
	w, home := open(t, Options{})
	lay(t, w, map[string]string{"first.txt": "1\n", "dir/second.txt": "2\n"})
	at := filepath.Join(w.Dir(), "dir")
	for _, step := range []error{os.Chmod(filepath.Join(at, "second.txt"), 0o444), os.Chmod(at, 0o555)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(at, 0o755) })
	before := tree(t, home)
	_, err := patched(w, "*** Begin Patch\n*** Delete File: first.txt\n*** Update File: dir/second.txt\n@@\n-2\n+3\n*** End Patch")
	if err == nil || !strings.Contains(err.Error(), "(first.txt) was taken back") || strings.Join(before, "") != strings.Join(tree(t, home), "") {
		t.Errorf("%v\n%q", err, tree(t, home))
	}
}

// Report B088: a line longer than a read takes is cut at a character, and it is said how to see more.
func TestReportOneLineOfFiveMegabytes(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": strings.Repeat("x", 5<<20)})
	text, err := w.Read("f", 0, 0)
	if err != nil || len(text.Text) > maxText || !strings.Contains(text.Note, fmt.Sprintf("tail -c +%d", len(text.Text)+1)) {
		t.Errorf("%d bytes, %q, %v", len(text.Text), text.Note, err)
	}
}

// Report B090: an editor that formats what it saves. Its text is what is known from then on, so the
// next edit fits.
func TestReportFormatOnSave(t *testing.T) {
	b := buffers{"a.go": {"a\n", 1}}
	var w *Workspace
	w, _ = open(t, Options{Buffers: b, Apply: func(ctx context.Context, path string, version int32, old, new string) (string, error) {
		formatted := strings.ReplaceAll(new, "\n", " \n")
		lay(t, w, map[string]string{"a.go": formatted})
		return b.apply(ctx, path, version, old, formatted)
	}})
	lay(t, w, map[string]string{"a.go": "a\n"})
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "a", New: "b"}})
	if err != nil || read(t, w, "a.go") != "b \n" || b["a.go"].text != "b \n" || r.Changes[0].After.Digest != Digest([]byte("b \n")) {
		t.Fatalf("%+v %v, disk %q", r, err, read(t, w, "a.go"))
	}
	if _, err := w.Edit(t0, "a.go", []Edit{{Old: "b", New: "c"}}); err != nil || !strings.HasPrefix(read(t, w, "a.go"), "c") {
		t.Errorf("%v, disk %q", err, read(t, w, "a.go"))
	}
}

// Report B084: a process is killed while it writes a large file, at any moment. The file is the old
// one or the new one, whole, and what was left half-way is swept away.
func TestReportKilledWhileWriting(t *testing.T) {
	const size = 4 << 20
	if dir := os.Getenv("TANDEM_TEST_WRITES"); dir != "" {
		w, err := Open(dir, Options{Store: os.Getenv("TANDEM_TEST_STORE")})
		if err == nil {
			fmt.Println("begins")
			var f *file
			if f, err = w.load("f"); err == nil {
				_, err = w.replace(f, []byte(strings.Repeat("n", size)+"\n"))
			}
		}
		t.Fatal(err) // it was to be killed before; nobody reads this
	}
	w, _ := open(t, Options{})
	chance := rand.New(rand.NewSource(84))
	old, whole := strings.Repeat("o", 1<<20)+"\n", strings.Repeat("n", size)+"\n"
	lay(t, w, map[string]string{"f": old})
	took, fresh := writesAndIsKilled(t, w, time.Hour), 0
	if read(t, w, "f") != whole {
		t.Fatal("it writes nothing when nobody kills it")
	}
	for range 6 {
		lay(t, w, map[string]string{"f": old})
		writesAndIsKilled(t, w, time.Duration(chance.Int63n(int64(took))))
		switch got := read(t, w, "f"); got {
		case old:
		case whole:
			fresh++
		default:
			t.Fatalf("the file has %d bytes, which are neither the old ones nor the new", len(got))
		}
	}
	t.Logf("%d of 6 had written it, of %s that it takes", fresh, took)
	left, err := filepath.Glob(filepath.Join(w.Dir(), tempPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * stale)
	for _, name := range left {
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if swept, err := w.Sweep(t0); err != nil || swept != len(left) {
		t.Errorf("%d of %d were swept away: %v", swept, len(left), err)
	}
	noTemp(t, w)
}

// writesAndIsKilled has a process write the file and kills it some time after it began. It says how
// long the process went on.
func writesAndIsKilled(t *testing.T, w *Workspace, after time.Duration) time.Duration {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestReportKilledWhileWriting$")
	cmd.Env = append(os.Environ(), "TANDEM_TEST_WRITES="+w.Dir(), "TANDEM_TEST_STORE="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // it was killed, or has failed its test as it says
	return time.Since(began)
}

// Report B082: on its way a file is never more open than it was; here it is looked at while the
// process that writes it has no more to do than to give it its name.
func TestReportModeOnTheWay(t *testing.T) {
	w, _ := open(t, Options{})
	for _, mode := range []os.FileMode{0o600, 0o755, 0o755 | os.ModeSetuid} {
		lay(t, w, map[string]string{"f": "a\n"})
		if err := os.Chmod(filepath.Join(w.Dir(), "f"), mode); err != nil {
			t.Fatal(err)
		}
		f, err := w.load("f")
		if err != nil {
			t.Fatal(err)
		}
		if err := writeNew(w.root, "temp", []byte("b\n"), 0o600, false); err != nil {
			t.Fatal(err)
		}
		if info, err := w.root.Lstat("temp"); err != nil || info.Mode()&^mode != 0 {
			t.Errorf("on its way it has %v, then %v: %v", info.Mode(), mode, err)
		}
		if _, err := w.swap("temp", f, []byte("b\n")); err != nil {
			t.Fatal(err)
		}
		if info, err := w.root.Lstat("f"); err != nil || info.Mode() != mode {
			t.Errorf("%v became %v: %v", mode, info.Mode(), err)
		}
	}
}

// Report B076: what another program wrote since the agent read is not overwritten, and shown.
func TestReportWrittenByAnother(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "one\ntwo\n"})
	for name, call := range map[string]callOf{
		"an edit":    replaces("f", "one", "1"),
		"a patch":    putsPatch("--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\n"),
		"a write":    func(w *Workspace) (Result, error) { return w.Write(t0, "f", "1\n") },
		"a deletion": putsPatch("--- f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"),
	} {
		lay(t, w, map[string]string{"f": "one\ntwo\n"})
		if _, err := w.Read("f", 0, 0); err != nil {
			t.Fatal(err)
		}
		lay(t, w, map[string]string{"f": "one\ntwo\nthe developer's\n"})
		if _, err := call(w); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "the developer's") {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, w, "f"); !bytes.HasSuffix([]byte(got), []byte("the developer's\n")) {
			t.Errorf("%s: %q", name, got)
		}
		if _, err := w.Edit(t0, "f", []Edit{{Old: "two", New: "2"}}); err != nil {
			t.Errorf("%s: the next edit: %v", name, err)
		}
	}
}

// Report B224: a folder that becomes a link to the outside and back, again and again while a file in
// it is written, never leads a byte out.
func TestReportALinkThatIsSwapped(t *testing.T) {
	w, home := open(t, Options{})
	out := filepath.Join(home, "out")
	write(t, filepath.Join(out, "f"), "outside\n")
	lay(t, w, map[string]string{"d/f": "inside\n"})
	before := tree(t, out)
	dir, aside, link := filepath.Join(w.Dir(), "d"), filepath.Join(w.Dir(), "aside"), filepath.Join(w.Dir(), "link")
	if err := os.Symlink(out, link); err != nil {
		t.Skip(err)
	}
	enough, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for { // a step that loses to a write is made up for by the next round
			_ = os.Rename(dir, aside)
			_ = os.Rename(link, dir)
			runtime.Gosched()
			_ = os.Rename(dir, link)
			_ = os.Rename(aside, dir)
			select {
			case <-enough:
				return
			default:
			}
		}
	}()
	written, refused := 0, 0
	for round := 0; round < 50 || round < 2000 && (written == 0 || refused == 0); round++ {
		for _, name := range []string{"d/f", fmt.Sprintf("d/new%d", round%7)} {
			if _, err := w.Write(t0, name, fmt.Sprintf("mine %d\n", round)); err == nil {
				written++
			} else {
				refused++
			}
		}
	}
	close(enough)
	<-over
	if after := tree(t, out); strings.Join(before, "") != strings.Join(after, "") {
		t.Errorf("outside there is now %q", after)
	}
	t.Logf("%d writes, %d refusals", written, refused)
}
