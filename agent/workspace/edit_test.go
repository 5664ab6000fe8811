package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name, before string
		edits        []Edit
		want         string
	}{
		{"several, in any order", "a\nb\nc\n", []Edit{{Old: "c", New: "C"}, {Old: "a", New: "A"}}, "A\nb\nC\n"},
		{"touching, but not overlapping", "ab", []Edit{{Old: "b", New: "B"}, {Old: "a", New: "A"}}, "AB"},
		{"replace all", "x x\nx\n", []Edit{{Old: "x", New: "yy", ReplaceAll: true}}, "yy yy\nyy\n"},
		{"CRLF over lines", "a\r\nb\r\nc\r\n", []Edit{{Old: "a\nb", New: "a\nB"}}, "a\r\nB\r\nc\r\n"},
		{"CRLF, more lines within one", "x\r\ny\r\n", []Edit{{Old: "y", New: "y1\ny2"}}, "x\r\ny1\r\ny2\r\n"},
		{"CRLF, from a line's end on", "a\r\nb\r\nc", []Edit{{Old: "\nb", New: "\nB\nB2"}}, "a\r\nB\r\nB2\r\nc"},
		{"CRLF, replace all", "a\r\nb\r\na\r\nb\r\n", []Edit{{Old: "a\nb\n", New: "c\n", ReplaceAll: true}}, "c\r\nc\r\n"},
		{"carriage returns alone", "a\rb\rc\r", []Edit{{Old: "b\nc\n", New: "b\nx\nc\n"}}, "a\rb\rx\rc\r"},
		{"a carriage return within a line", "a\rb\nc\n", []Edit{{Old: "c", New: "d"}}, "a\rb\nd\n"},
		{"a carriage return within the old text", "a\rb\nc\n", []Edit{{Old: "a\rb", New: "a\rB"}}, "a\rB\nc\n"},
		{"mixed, each line keeps its end", "a\r\nb\nc\r\nd\n", []Edit{{Old: "a\nb\nc\nd\n", New: "a\nx\nb\nc\nD\n"}}, "a\r\nx\r\nb\nc\r\nD\n"},
		{"byte order mark", bom + "#!/bin/sh\n", []Edit{{Old: "#!/bin/sh", New: "#!/bin/bash"}}, bom + "#!/bin/bash\n"},
		{"Latin-1, another line", "$n = \"Jos\xe9\";\nx=1;\n", []Edit{{Old: "x=1", New: "x=2"}}, "$n = \"Jos\xe9\";\nx=2;\n"},
		{"Latin-1, the very line", "$n = \"Jos\xe9\";\n", []Edit{{Old: "José", New: "Zoé"}}, "$n = \"Zo\xe9\";\n"},
		{"UTF-8 with a damaged byte", "é ü ö\n\xff\nx\n", []Edit{{Old: "x", New: "ß"}}, "é ü ö\n\xff\nß\n"},
		{"legacy byte and CRLF", "// \xa9 M\r\nreturn 0;\r\n", []Edit{{Old: "return 0", New: "return 1"}}, "// \xa9 M\r\nreturn 1;\r\n"},
		{"no final newline", "a\nb", []Edit{{Old: "b\n", New: "B\n"}}, "a\nB"},
		{"lines deleted at the end", "a\nb", []Edit{{Old: "b\n", New: ""}}, "a\n"},
		{"whole lines are meant", "ab\nb\nbc\n", []Edit{{Old: "b\n", New: "B\n"}}, "ab\nB\nbc\n"},
		{"tabs given as blanks", "func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n", []Edit{{Old: "    if x {\n        return 1\n", New: "    if x {\n        return 2\n"}}, "func f() {\n\tif x {\n\t\treturn 2\n\t}\n}\n"},
		{"indented less than given", "a:\n  b: 1\n  c: 2\n", []Edit{{Old: "    b: 1\n    c: 2", New: "    b: 1\n    d: 3\n    c: 2"}}, "a:\n  b: 1\n  d: 3\n  c: 2\n"},
		{"blanks at the end kept on lines that stay", "a  \nb\t\nc\n", []Edit{{Old: "a\nb\nc\n", New: "a\nx\nb\nc\n"}}, "a  \nx\nb\t\nc\n"},
		{"an elision that the file has", "// ... the rest of it ...\na\n", []Edit{{Old: "// ... the rest of it ...\na", New: "// ... the rest of it ...\nb"}}, "// ... the rest of it ...\nb\n"},
		{"tabs given as blanks, and shifted", "\tif x {\n\t\ty()\n\t}\n", []Edit{{Old: "if x {\n    y()\n}\n", New: "if x {\n    y()\n    z()\n}\n"}}, "\tif x {\n\t\ty()\n\t\tz()\n\t}\n"},
		{"blanks given as tabs", "if x:\n    y()\n", []Edit{{Old: "if x:\n\ty()\n", New: "if x:\n\tz()\n"}}, "if x:\n    z()\n"},
		{"byte order mark given", bom + "a\nb\n", []Edit{{Old: bom + "a", New: bom + "A"}}, bom + "A\nb\n"},
		{"line numbers", "a\nb\n", []Edit{{Old: "1: a\n2: b\n", New: "1: a\n2: B\n"}}, "a\nB\n"},
		{"line numbers before tabs", "a\n\tb\n", []Edit{{Old: "     2\t\tb", New: "     2\t\tB"}}, "a\n\tB\n"},
		{"entities", "if a < b {\n", []Edit{{Old: "a &lt; b", New: "a &gt; b"}}, "if a > b {\n"},
		{"entities that the file has", "a &lt; b\n", []Edit{{Old: "a &lt; b", New: "a &gt; b"}}, "a &gt; b\n"},
		{"typographic quotes", "say \u201chi\u201d\nbye\n", []Edit{{Old: "say \"hi\"\nbye", New: "say \"hi\"\nBYE"}}, "say \u201chi\u201d\nBYE\n"},
		{"composed and not", "cafe\u0301\n", []Edit{{Old: "caf\u00e9", New: "tea"}}, "tea\n"},
		{"empty lines in a shift", "\ta\n\n\tb\n", []Edit{{Old: "a\n\nb", New: "a\n\nc"}}, "\ta\n\n\tc\n"},
		{"Python's ellipsis", "def f():\n    pass\n", []Edit{{Old: "    pass", New: "    ..."}}, "def f():\n    ...\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := open(t, Options{})
			lay(t, w, map[string]string{"f": c.before})
			r, err := w.Edit(t0, "f", c.edits)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, w, "f"); got != c.want {
				t.Fatalf("got  %q\nwant %q", got, c.want)
			}
			wantImages(t, w, r.Changes, c.before, c.want)
		})
	}
}

// wantImages holds that one change gives back both contents.
func wantImages(t *testing.T, w *Workspace, changes []Change, before, after string) {
	t.Helper()
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	for image, want := range map[*Image]string{changes[0].Before: before, changes[0].After: after} {
		data, err := w.Content(image.Digest)
		if err != nil || string(data) != want || image.Size != int64(len(want)) {
			t.Fatalf("image %+v is %q, want %q (%v)", image, data, want, err)
		}
	}
}

func TestEditRefused(t *testing.T) {
	for _, c := range []struct {
		name, before string
		edits        []Edit
		says         []string
	}{
		{"no edits", "a\n", nil, []string{"no edits"}},
		{"not unique", "a a\n", []Edit{{Old: "a", New: "b"}}, []string{"2 times", "1: a a", "replace_all"}},
		{"a brace", "}\n}\n}\n}\n}\n", []Edit{{Old: "}", New: "x\n}"}}, []string{"5 times"}},
		{"look-alikes at a tolerant tier", "def a():\n\tif p:\n\t\tflush()\n\t\treturn None\n\ndef b():\n\tfor i in p:\n\t\tif i:\n\t\t\tflush()\n\t\t\treturn None\n",
			[]Edit{{Old: "flush()\nreturn None", New: "x"}}, []string{"2 times", "indentation", "3: ", "9: "}},
		{"one of two", "a\nb\n", []Edit{{Old: "a", New: "A"}, {Old: "zzz", New: "Z"}}, []string{"edit 2 of 2", "none was applied"}},
		{"overlap", "abc\n", []Edit{{Old: "ab", New: "x"}, {Old: "bc", New: "y"}}, []string{"overlap", "line 1"}},
		{"built on another", "a\nb\n", []Edit{{Old: "a", New: "first()"}, {Old: "first()", New: "second()"}}, []string{"edit 1 writes"}},
		{"white space only", "f(a,  b)\n", []Edit{{Old: "f(a, b)", New: "f(b)"}}, []string{"only blanks", "1: f(a,  b)"}},
		{"near", "const limit = 10\nconst other = 3\n", []Edit{{Old: "const limit = 11", New: "const limit = 12"}}, []string{"Nearest, from line 1", "const limit = 10"}},
		{"nothing like it", "abc\n", []Edit{{Old: "zzzzzzz", New: "y"}}, []string{"nor anything like it"}},
		{"line ends only", "a\r\nb\r\n", []Edit{{Old: "a\r\nb", New: "a\nb"}}, []string{"equal", "line ends"}},
		{"nothing left to change", "a\n  b\n", []Edit{{Old: "1 | a\n2 |   b", New: "1 | a\n2 |   b "}, {Old: "", New: ""}}, []string{"edit"}},
		{"a number that is no line's", "web\nx\n", []Edit{{Old: "8080: web", New: "8081: web"}}, []string{"does not stand there"}},
		{"numbers that do not run on", "a\nb\n", []Edit{{Old: "1 | a\n7 | b", New: "c"}}, []string{"does not stand there"}},
		{"binary", "a\x00b\n", []Edit{{Old: "a", New: "c"}}, []string{"binary"}},
		{"not in Latin-1", "Jos\xe9 x\n", []Edit{{Old: "x", New: "€"}}, []string{"Latin-1", "U+20AC"}},
		{"bidi", "a\n", []Edit{{Old: "a", New: "a\u202e"}}, []string{"U+202E"}},
		{"elision", "func a() {\n\tone()\n\ttwo()\n}\n", []Edit{{Old: "\tone()\n\ttwo()\n", New: "\t// rest of the code unchanged ...\n\tthree()\n"}}, []string{"leaves code out"}},
		{"indented less than can be taken off", "a:\n  b: 1\n", []Edit{{Old: "    b: 1", New: "b: 2"}}, []string{"only blanks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, home := open(t, Options{})
			lay(t, w, map[string]string{"f": c.before})
			before := tree(t, home)
			r, err := w.Edit(t0, "f", c.edits)
			if err == nil {
				t.Fatalf("taken: %q", read(t, w, "f"))
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("does not say %q: %v", s, err)
				}
			}
			if strings.Join(before, "") != strings.Join(tree(t, home), "") || len(r.Changes) > 0 {
				t.Fatal("refused, and yet something changed")
			}
		})
	}
}

func TestEditThatCreates(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"empty": "", "marked": bom})
	for path, want := range map[string]string{"empty": "x\n", "marked": bom + "x\n", "new/file": "x\n"} {
		if _, err := w.Edit(t0, path, []Edit{{New: "x\n"}}); err != nil || read(t, w, path) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, edits := range [][]Edit{{{Old: "a", New: "b"}}, {{New: ""}}, {{New: "a"}, {New: "b"}}} {
		if _, err := w.Edit(t0, "absent", edits); err == nil {
			t.Errorf("%v was taken for a new file", edits)
		}
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": strings.Repeat("x "+strings.Repeat("é", 2_000)+"\n", 50)})
	for _, old := range []string{"é", strings.Repeat("x "+strings.Repeat("é", 1_999)+"e\n", 40)} {
		_, err := w.Edit(t0, "f", []Edit{{Old: old, New: "y"}})
		if err == nil || len(err.Error()) > 4_000 || !strings.Contains(err.Error(), "bytes more") {
			t.Errorf("%d bytes: %.300v", len(err.Error()), err)
		}
	}
}

func TestEditKeepsModeAndLinks(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"dir/real.sh": "echo a\n"})
	real := filepath.Join(w.Dir(), "dir/real.sh")
	for _, mode := range []os.FileMode{0o755, 0o600, 0o444, 0o755 | os.ModeSetuid} {
		if err := os.Chmod(real, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("dir/real.sh", filepath.Join(w.Dir(), "link")); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		r, err := w.Edit(t0, "link", []Edit{{Old: "echo", New: "echo x;echo"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Changes[0].Path != "dir/real.sh" {
			t.Fatalf("the change is of %s", r.Changes[0].Path)
		}
		if info, _ := os.Lstat(real); info.Mode() != mode {
			t.Fatalf("mode %v became %v", mode, info.Mode())
		}
		if _, err := os.Readlink(filepath.Join(w.Dir(), "link")); err != nil {
			t.Fatal("the link is gone")
		}
		if _, err := w.Edit(t0, "link", []Edit{{Old: "echo x;echo", New: "echo"}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEditAfterAChangeByOthers(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "one\ntwo\n"})
	if _, err := w.Read("f", 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Edit(t0, "f", []Edit{{Old: "one", New: "ONE"}}); err != nil {
		t.Fatalf("after one's own read: %v", err)
	}
	lay(t, w, map[string]string{"f": "ONE\ntwo\nthree\n"})
	_, err := w.Edit(t0, "f", []Edit{{Old: "two", New: "2"}})
	if !errors.Is(err, ErrChanged) {
		t.Fatalf("an edit over a change not seen: %v", err)
	}
	if _, err := w.Edit(t0, "f", []Edit{{Old: "two", New: "2"}}); err != nil || read(t, w, "f") != "ONE\n2\nthree\n" {
		t.Fatalf("after the refusal showed it: %v, %q", err, read(t, w, "f"))
	}
	lay(t, w, map[string]string{"f": "four\n"})
	_, err = w.Edit(t0, "f", []Edit{{Old: "four", New: "4"}})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "+four") || !strings.Contains(err.Error(), "-three") {
		t.Fatalf("the change is not shown, though what the agent saw was kept: %v", err)
	}
	lay(t, w, map[string]string{"f": "four\r\n"})
	if _, err = w.Edit(t0, "f", []Edit{{Old: "four", New: "4"}}); err == nil || !strings.Contains(err.Error(), "only line ends") && !strings.Contains(err.Error(), "What stands there now:\nfour") {
		t.Fatalf("%v", err)
	}
	lay(t, w, map[string]string{"f": "five\n"})
	if err := w.Saw("f"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Edit(t0, "f", []Edit{{Old: "five", New: "5"}}); err != nil {
		t.Fatalf("after it was said to have been seen: %v", err)
	}
}

func TestEditLosesARace(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "a\n"})
	f, err := w.load("f")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{"f": "theirs\n"})
	if _, err := w.replace(f, []byte("mine\n")); !errors.Is(err, ErrChanged) {
		t.Fatalf("a file that changed was replaced: %v", err)
	}
	if read(t, w, "f") != "theirs\n" {
		t.Fatal("their words are lost")
	}
	noTemp(t, w)
	absent, err := w.load("new")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{"new": "theirs\n"})
	if _, err := w.replace(absent, []byte("mine\n")); !errors.Is(err, ErrChanged) || read(t, w, "new") != "theirs\n" {
		t.Fatalf("a file that came into being was replaced: %v", err)
	}
	noTemp(t, w)
}

func noTemp(t *testing.T, w *Workspace) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.Dir(), tempPrefix+"*"))
	if err != nil || len(names) > 0 {
		t.Fatalf("left behind: %v %v", names, err)
	}
}

// Places that overlap are several places: an edit does not choose the first.
func TestPlacesThatOverlap(t *testing.T) {
	for _, c := range []struct{ file, old string }{{"a\na\na\n", "a\na\n"}, {"xxx\n", "xx"}, {"a  \na  \na  \n", "a\na\n"}} {
		_, _, err := rewrite(c.file, []Edit{{Old: c.old, New: "b\n"}})
		if err == nil || !strings.Contains(err.Error(), "stands there 2 times") {
			t.Errorf("%q in %q: %v", c.old, c.file, err)
		}
	}
	if after, _, err := rewrite("xxxxx\n", []Edit{{Old: "xx", New: "y", ReplaceAll: true}}); err != nil || after != "yyx\n" {
		t.Errorf("%q %v", after, err)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\n", "a\n", "c\n", "b", "", false)
	f.Add("    x\n  y", "x\ny", "z", "1 | y", "q\n", true)
	f.Add("\ufeffé\xff", "é", "\u202e", "&lt;", "<", false)
	f.Add("a\rb\r", "\n", "\r\n", "\r", "\n\n", true)
	f.Fuzz(func(t *testing.T, file, old1, new1, old2, new2 string, all bool) {
		if len(file) > 4096 || len(old1) > 512 || len(old2) > 512 {
			return
		}
		edits := []Edit{{Old: old1, New: new1, ReplaceAll: all}, {Old: old2, New: new2}}
		if old2 == "" {
			edits = edits[:1]
		}
		d, err := decode([]byte(file))
		if err != nil {
			return
		}
		if back, err := d.encode(); err != nil || string(back) != file {
			t.Fatalf("%q comes back as %q (%v)", file, back, err)
		}
		after, _, err := rewrite(d.text, edits)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("refused without a word")
			}
			return
		}
		if after == d.text && d.text != "" {
			t.Fatalf("taken, but nothing changed: %+v", edits)
		}
		keepsRest(t, d.text, after, edits)
	})
}

// keepsRest holds that what one exact edit does not name stays byte by byte.
func keepsRest(t *testing.T, before, after string, edits []Edit) {
	e := edits[0]
	if len(edits) != 1 || e.Old == "" || strings.Count(before, e.Old) != 1 || strings.Contains(before+e.Old+e.New, "\r") {
		return
	}
	if want := strings.Replace(before, e.Old, e.New, 1); after != want {
		t.Fatalf("got %q, want %q", after, want)
	}
}

func BenchmarkEdit(b *testing.B) {
	w, _ := open(b, Options{})
	body := strings.Repeat("some line of code that is here()\n", 2_000)
	lay(b, w, map[string]string{"f": body + "value = 0\n"})
	values := []string{"value = 0", "value = 1"}
	for i := 0; b.Loop(); i++ {
		if _, err := w.Edit(t0, "f", []Edit{{Old: values[i%2], New: values[(i+1)%2]}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRewriteMiss(b *testing.B) {
	body := strings.Repeat("some line of code that is here()\n", 10_000)
	for b.Loop() {
		if _, _, err := rewrite(body, []Edit{{Old: "other line\nthat is\nnot here", New: "x"}}); err == nil {
			b.Fatal("found")
		}
	}
}

// FuzzEditFile holds, on the disk, that a refusal changes nothing and that what was taken
// gives back both contents.
func FuzzEditFile(f *testing.F) {
	f.Add("a\r\nb\n", "a\n", "c\n", false)
	f.Add("x x", "x", "y", true)
	f.Add("caf\xe9 x\n", "x", "é", false)
	f.Add("", "", "new\n", false)
	w, home := open(f, Options{})
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		if len(file) > 2048 || len(old) > 256 || len(new) > 256 {
			return
		}
		lay(t, w, map[string]string{"f": file})
		if err := w.Saw("f"); err != nil {
			t.Fatal(err)
		}
		before := tree(t, home)
		r, err := w.Edit(t0, "f", []Edit{{Old: old, New: new, ReplaceAll: all}})
		if err == nil {
			wantImages(t, w, r.Changes, file, read(t, w, "f"))
		} else if strings.Join(before, "") != strings.Join(tree(t, home), "") {
			t.Fatalf("refused (%v), and yet something changed", err)
		}
	})
}
