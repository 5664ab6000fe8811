package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/agent/patch"
)

// shelf is files in memory, enough to see what a call asks for and to word what comes back.
type shelf map[string]string

func (s shelf) List(_ context.Context, path, glob string) (Listing, error) {
	var l Listing
	for name := range s {
		if strings.HasPrefix(name, path) {
			l.Entries = append(l.Entries, name)
		}
	}
	return l, nil
}

func (s shelf) Search(_ context.Context, q Query) (Found, error) {
	var f Found
	for name, text := range s {
		for i, l := range strings.Split(text, "\n") {
			if strings.Contains(l, q.Pattern) {
				f.Matches = append(f.Matches, Match{Path: name, Line: i + 1, Text: l})
				f.Files = 1
			}
		}
	}
	return f, nil
}

func (s shelf) Read(path string, first, last int) (Text, error) {
	text, ok := s[path]
	if !ok {
		return Text{}, fmt.Errorf("there is no %s in the workspace", path)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if last == 0 {
		last = len(lines)
	}
	first = max(first, 1)
	if last = min(last, len(lines)); first > last {
		return Text{}, fmt.Errorf("%s has %d lines", path, len(lines))
	}
	return Text{Text: strings.Join(lines[first-1:last], ""), First: first, Last: last, Total: len(lines)}, nil
}

func (s shelf) Edit(_ context.Context, path string, edits []Edit) (Result, error) {
	before := s[path]
	for _, e := range edits {
		n := 1
		if e.ReplaceAll {
			n = -1
		}
		s[path] = strings.Replace(s[path], e.Old, e.New, n)
	}
	return Result{Changes: []Change{{Path: path, Before: &Image{}, After: &Image{}}}, Diff: "--- a\n+++ a\n@@ -1 +1 @@\n-" + before + "+" + s[path]}, nil
}

func (s shelf) Patch(_ context.Context, files []patch.File) (Result, error) {
	var r Result
	for _, f := range files {
		for _, h := range f.Hunks {
			s[f.Path] = strings.Replace(s[f.Path], h.Old, h.New, 1)
		}
		for _, e := range f.Edits {
			s[f.Path] = strings.Replace(s[f.Path], e.Old, e.New, 1)
		}
		if f.Kind == patch.Add {
			s[f.Path] = f.Text
		}
		if f.Kind == patch.Delete {
			delete(s, f.Path)
		}
		r.Changes = append(r.Changes, Change{Path: f.Path, Before: &Image{}, After: &Image{}})
		r.Diff += "--- " + f.Path + "\n+++ " + f.Path + "\n@@ -1 +1 @@\n-old\n+new\n"
	}
	return r, nil
}

func (s shelf) Write(_ context.Context, path, content string) (Result, error) {
	if s[path] == content && content != "" {
		return Result{Notes: []string{"The file reads so already: nothing changed."}}, nil
	}
	if strings.HasPrefix(path, "full/") {
		return Result{Changes: []Change{{Path: path, After: &Image{}}}}, errors.New("sync folder full: disk full")
	}
	s[path] = content
	return Result{Changes: []Change{{Path: path, After: &Image{}}}, Diff: "--- a\n+++ a\n@@ -0,0 +1 @@\n+" + content}, nil
}

func (s shelf) Move(_ context.Context, from, to string) (Result, error) {
	s[to] = s[from]
	delete(s, from)
	return Result{Changes: []Change{{Path: from, Before: &Image{}}, {Path: to, After: &Image{}}}}, nil
}

func (s shelf) Delete(_ context.Context, path string) (Result, error) {
	delete(s, path)
	return Result{Changes: []Change{{Path: path, Before: &Image{}}}}, nil
}

func TestRun(t *testing.T) {
	for _, c := range []struct{ name, args, text, summary string }{
		{ListFiles, `{"path": "a"}`, "a.txt", "1 entry in a"},
		{ListFiles, ``, "a.txt", "1 entry in the workspace"},
		{ListFiles, `{"path": "zz", "glob": "*.go"}`, "There is no file in zz that matches *.go, save what git ignores.", "There is no file in zz that matches *.go"},
		{Search, `{"pattern": "two"}`, "a.txt:2: two\n", "1 match in 1 file"},
		{Search, `{"pattern": "x|y"}`, `No line matches "x|y" as plain text (set regex true for a regular expression).`, `No line matches "x|y" as plain text (set regex true for a regular expression)`},
		{ReadFile, `{"path": "a.txt", "start_line": "2", "end_line": 2.0}`, "a.txt, lines 2 to 2 of 3:\ntwo\n", "a.txt, lines 2 to 2 of 3"},
		{EditFile, `{"path": "a.txt", "edits": [{"old": "one", "new": "1"}]}`, "Edited a.txt.\n@@ -1 +1 @@\n-one\ntwo\nthree\n+1\ntwo\nthree\n", "Edited a.txt (+1 −1)"},
		{WriteFile, `{"path": "b.txt", "content": ""}`, "Wrote b.txt (new, 0 bytes).\n", "Wrote b.txt (+1 −0)"},
		{WriteFile, `{"path": "a.txt", "content": "one\ntwo\nthree\n"}`, "The file reads so already: nothing changed.", "The file reads so already: nothing changed."},
		{MoveFile, `{"from": "a.txt", "to": "b.txt"}`, "Moved a.txt to b.txt.\n", "Moved a.txt to b.txt"},
		{DeleteFile, `{"path": "a.txt"}`, "Deleted a.txt.\n", "Deleted a.txt"},
	} {
		o := Tools{Files: shelf{"a.txt": "one\ntwo\nthree\n"}}.Run(context.Background(), Call{c.name, c.args})
		if o.Failed || o.Text != c.text || o.Summary != c.summary {
			t.Errorf("%s %s: %+v", c.name, c.args, o)
		}
	}
}

func TestEditsInEveryForm(t *testing.T) {
	for _, args := range []string{
		`{"path": "a", "edits": [{"old": "x", "new": "y", "replace_all": true}], "intent": "why", "step": "s1", "unknown": {}}`,
		`{"path": "a", "edits": "[{\"old\": \"x\", \"new\": \"y\", \"replace_all\": \"true\"}]"}`,
		`{"path": "a", "edits": {"old": "x", "new": "y", "replace_all": true}}`,
		`{"path": "a", "edits": "{\"old\": \"x\", \"new\": \"y\", \"replace_all\": true}"}`,
		`{"path": "a", "old": "x", "new": "y", "replace_all": true}`,
		`{"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}`,
		`{"path": "a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": true}]}`,
		`"{\"path\": \"a\", \"edits\": [{\"old\": \"x\", \"new\": \"y\", \"replace_all\": true}]}"`,
	} {
		s := shelf{"a": "x x"}
		if o := (Tools{Files: s}).Run(context.Background(), Call{EditFile, args}); o.Failed || s["a"] != "y y" || len(o.Changes) != 1 {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, args, says string }{
		{"no_such_tool", `{}`, `no tool "no_such_tool"`},
		{ReadFile, `{not json`, "not valid JSON"},
		{EditFile, `[]`, "must be a JSON object, not a list"},
		{ReadFile, `null`, "path is missing"},
		{ReadFile, `{}`, "path is missing"},
		{ReadFile, `{"path": null}`, "path is missing"},
		{ReadFile, `{"path": " "}`, "path is empty"},
		{ReadFile, `{"path": 7}`, "path must be text in quotes, not a number"},
		{ReadFile, `{"path": "a", "start_line": "first"}`, "start_line must be a number, not text"},
		{ReadFile, `{"path": "a", "start_line": [1]}`, "start_line must be a number, not a list"},
		{ReadFile, `{"path": "a", "start_line": -1}`, "start_line must be a whole number from 1 on, not -1"},
		{ReadFile, `{"path": "a", "end_line": 1e99}`, "end_line must be a whole number"},
		{ReadFile, `{"path": "missing"}`, "there is no missing"},
		{Search, `{"pattern": "x", "regex": "perhaps"}`, "regex must be true or false"},
		{Search, `{"path": "x"}`, "pattern is missing"},
		{EditFile, `{"path": "a.txt"}`, "edits is missing"},
		{EditFile, `{"path": "a.txt", "edits": []}`, "edits is empty"},
		{EditFile, `{"path": "a.txt", "edits": "words"}`, "edits must be a list of objects"},
		{EditFile, `{"path": "a.txt", "edits": [null]}`, "number 1 is none"},
		{EditFile, `{"path": "a.txt", "edits": [{"old": "x"}]}`, "edits number 1: new is missing"},
		{EditFile, `{"path": "a.txt", "edits": [{"old": "x", "new": "y"}, {"new": "y"}]}`, "edits number 2: old is missing"},
		{EditFile, `{"path": "a.txt", "content": "x"}`, "for the whole text of a file call write_file"},
		{EditFile, `{"path": "a.txt", "start_line": 1, "end_line": 2, "text": "x"}`, "a place is given by its old text"},
		{EditFile, `{"path": "a.txt", "edits": "s/x/y/"}`, "edits must be a list of objects"},
		{EditFile, `{"path": "a.txt", "edits": [{"path": "b.txt", "old": "x", "new": "y"}]}`, "is for b.txt, but the call is for a.txt"},
		{EditFile, `{"path": "a.txt", "patch": "nothing of the kind"}`, "the patch is none"},
		{EditFile, `{"path": "a.txt", "patch": {"a": 1}}`, "patch must be the text of a patch"},
		{EditFile, `{"path": "a.txt", "patch": "@@\n-x\n+y", "diff": "@@\n-x\n+y"}`, "two patches are given"},
		{EditFile, `{"path": "a.txt", "patch": "@@\n-x\n+y", "edits": [{"old": "x", "new": "y"}]}`, "beside other edits"},
		{EditFile, `{"path": "a.txt", "patch": "@@\n-x\n+y", "old_string": "x", "new": "y"}`, "beside other edits"},
		{EditFile, `{"path": "b.txt", "patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y"}`, "path is b.txt, but the patch changes a.txt"},
		{WriteFile, `{"path": "a.txt", "content": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"}`, "content is a patch of a.txt"},
		{EditFile, `{"path": "a.txt", "edits": [{"old": "x", "new": 3}]}`, "new must be text in quotes, not a number"},
		{WriteFile, `{"path": "a.txt"}`, "content is missing"},
		{WriteFile, `{"path": "a.txt", "content": {"a": 1}}`, "content must be text in quotes, not an object"},
		{MoveFile, `{"from": "a.txt"}`, "to is missing"},
	} {
		s := shelf{"a.txt": "x"}
		o := Tools{Files: s}.Run(context.Background(), Call{c.name, c.args})
		if !o.Failed || !strings.Contains(o.Text, c.says) || o.Summary == "" || s["a.txt"] != "x" || len(s) != 1 {
			t.Errorf("%s %s: %+v", c.name, c.args, o)
		}
		if Takes(c.name) && !strings.Contains(o.Text, "there is no") && !strings.Contains(o.Text, examples[c.name]) {
			t.Errorf("%s %s shows no right call: %s", c.name, c.args, o.Text)
		}
	}
}

// Each example has to be what it is shown as.
func TestExamplesAreRight(t *testing.T) {
	for name, args := range examples {
		if _, err := decode(name, args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACallThatFailedHalfWayTellsItsChanges(t *testing.T) {
	o := Tools{Files: shelf{}}.Run(context.Background(), Call{WriteFile, `{"path": "full/a", "content": "x"}`})
	if !o.Failed || len(o.Changes) != 1 || !strings.Contains(o.Text, "disk full") || !strings.Contains(o.Text, "Wrote full/a, but then") {
		t.Fatalf("%+v", o)
	}
}

func TestACancelledCallDoesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("a steer came"))
	s := shelf{"a": "x"}
	if o := (Tools{Files: s}).Run(ctx, Call{DeleteFile, `{"path": "a"}`}); !o.Failed || len(s) != 1 || !strings.Contains(o.Text, "a steer came") {
		t.Fatalf("%+v", o)
	}
}

func TestLongTextsAreBounded(t *testing.T) {
	long := strings.Repeat("needle é\n", 20_000)
	o := Tools{Files: shelf{"a": long}}.Run(context.Background(), Call{Search, `{"pattern": "needle"}`})
	if len(o.Text) > maxText || !strings.Contains(o.Text, "bytes were cut here") || !strings.HasPrefix(o.Text, "a:1: ") || !strings.Contains(o.Text, "a:20000: ") {
		t.Fatalf("%d bytes", len(o.Text))
	}
	o = Tools{Files: shelf{"a": long}}.Run(context.Background(), Call{EditFile, `{"path": "a", "edits": [{"old": "needle", "new": "pin"}]}`})
	if len(o.Text) > maxDiff+200 || !strings.Contains(o.Text, "bytes were cut here") {
		t.Fatalf("%d bytes", len(o.Text))
	}
	for size := range 200 {
		if s := bound(strings.Repeat("é", 300), 100+size); len(s) > 100+size || strings.Contains(s, "\ufffd") {
			t.Fatalf("%d: %q", size, s)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ name, args, paths string }{
		{ReadFile, `{"path": "a/b.go"}`, "a/b.go"},
		{ReadFile, `{"file_path": "a/b.go"}`, "a/b.go"},
		{Search, `{"pattern": "x y", "path": "src", "glob": "*.go"}`, "src"},
		{ListFiles, `{}`, ""},
		{MoveFile, `{"from": "a", "to": "b"}`, "a b"},
		{"run_command", `{"command": "make\ntest"}`, ""},
		{"update_plan", `{"steps": []}`, ""},
		{ReadFile, `{not json`, ""},
		{ReadFile, `{"path": 7}`, ""},
		{EditFile, `{"patch": "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n--- a/y.go\n+++ b/y.go\n@@ -1 +1 @@\n-a\n+b\n"}`, "x.go y.go"},
		{EditFile, `{"path": "m/x.go", "diff": "--- x.go\n+++ x.go\n@@ -1 +1 @@\n-a\n+b\n"}`, "m/x.go"},
		{EditFile, `{"path": "x.go", "edits": "*** Begin Patch\n*** Update File: x.go\n*** Move to: y.go\n*** Delete File: z.go\n*** End Patch"}`, "x.go y.go z.go"},
		{EditFile, `{"path": "x.go", "input": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\ny.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"}`, "x.go y.go"},
	} {
		if got := strings.Join(Paths(c.name, c.args), " "); got != c.paths {
			t.Errorf("paths of %s %s: %q", c.name, c.args, got)
		}
	}
}

// A patch is understood in whichever field it comes.
func TestPatchesInEveryForm(t *testing.T) {
	const diff = `--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n`
	const block = `<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n`
	for _, args := range []string{
		`{"patch": "` + diff + `"}`,
		`{"path": "a.go", "patch": "` + diff + `"}`,
		`{"path": "/home/someone/w/a.go", "patch": "` + diff + `"}`,
		`{"path": ".", "diff": "` + diff + `", "edits": null}`,
		`{"path": "a.go", "edits": "` + diff + `"}`,
		`{"path": "a.go", "old": "", "new": "` + diff + `"}`,
		`{"path": "a.go", "old": "` + diff + `", "new": ""}`,
		`{"path": "a.go", "edits": [{"old": "", "new": "` + diff + `"}]}`,
		`{"path": "a.go", "edits": [{"old_string": "@@ -1 +1 @@\n-x\n+y", "new_string": ""}]}`,
		`{"path": "a.go", "diff": "@@ -1 +1 @@\n-x\n+y"}`,
		`{"input": "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch"}`,
		`{"path": "a.go", "patch": "` + block + `"}`,
		`{"path": "a.go", "old": "", "new": "` + block + `"}`,
	} {
		s := shelf{"a.go": "x\n", "/home/someone/w/a.go": "x\n"}
		o := Tools{Files: s}.Run(context.Background(), Call{EditFile, args})
		if o.Failed || s["a.go"]+s["/home/someone/w/a.go"] != "y\nx\n" && s["a.go"]+s["/home/someone/w/a.go"] != "x\ny\n" || !strings.HasPrefix(o.Summary, "Edited ") {
			t.Errorf("%s: %+v", args, o)
		}
	}
	s := shelf{"a.go": "x\n", "b.go": "x\n"}
	o := Tools{Files: s}.Run(context.Background(), Call{EditFile, `{"patch": "` + diff + `diff --git a/b.go b/b.go\ndeleted file mode 100644\n"}`})
	if o.Failed || o.Summary != "Edited a.go, Deleted b.go (+2 −2)" || !strings.Contains(o.Text, "--- b.go") {
		t.Errorf("%+v", o)
	}
}

// A patch that stands in a file as text is text: of another file, or in a file of patches.
func TestPatchesThatAreText(t *testing.T) {
	for _, c := range []struct{ name, path, text string }{
		{EditFile, "fix.patch", `--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n`},
		{EditFile, "README.md", `Say so:\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-x\n+y\n`},
		{WriteFile, "fix.patch", `--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-x\n+y\n`},
		{WriteFile, "list.md", `--- not\n--- a patch\n`},
	} {
		s := shelf{}
		args := `{"path": "` + c.path + `", "old": "", "new": "` + c.text + `", "content": "` + c.text + `"}`
		o := Tools{Files: s}.Run(context.Background(), Call{c.name, args})
		if want := strings.ReplaceAll(c.text, `\n`, "\n"); o.Failed || c.name == WriteFile && s[c.path] != want || strings.Contains(s["a.go"], "y") {
			t.Errorf("%s: %+v %q", c.path, o, s)
		}
	}
}

func FuzzRun(f *testing.F) {
	for name, args := range examples {
		f.Add(name, args)
	}
	f.Add(EditFile, `{"path": "a", "edits": "[{\"old\": \"x\", \"new\": \"y\"}]"}`)
	f.Add(EditFile, `{"path": "a", "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`)
	f.Add(EditFile, `{"path": "b/x", "input": "*** Begin Patch\n*** Add File: x\n+a\n*** End Patch"}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		o := Tools{Files: shelf{"a": "x\n"}}.Run(context.Background(), Call{name, args})
		if o.Text == "" || o.Summary == "" || strings.Contains(o.Summary, "\n") {
			t.Fatalf("%q %q: %+v", name, args, o)
		}
		a, err := decode(name, args)
		if err != nil || o.Failed {
			return
		}
		told := Paths(name, args)
		for _, touched := range append(patch.Names(a.patch), a.path, a.from, a.to) {
			if touched != "" && !slices.Contains(told, touched) {
				t.Fatalf("%q %q touches %q, which is not told", name, args, touched)
			}
		}
	})
}
