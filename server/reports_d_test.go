package server

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
)

// reportsOfUndo are the reports of theme d: undo.
var reportsOfUndo = []report{
	{id: "B092", theme: "d", about: "a restore puts the old .gitignore back, then deletes what it used to protect",
		held: []string{"server.TestReportARevertKeepsToItsFiles"}},
	{id: "B094", theme: "d", about: "a restore moves the branch and loses later commits",
		held: []string{"server.TestReportARevertKeepsToItsFiles"}},
	{id: "B096", theme: "d", about: "checkpoints grow beyond 100 GB, and a restore that failed is called a success",
		held: []string{"server.TestReportCheckpointsStaySmall", "server.TestRevert", "agent/workspace.TestRevert"}},
	{id: "B097", theme: "d", about: "a restore in a large repository deletes nearly all files",
		held: []string{"server.TestReportARevertKeepsToItsFiles"}},
	{id: "B098", theme: "d", about: "after a snapshot that failed a restore writes back what stood there long before",
		held: []string{"server.TestReportWhatTheDeveloperWroteBetweenStays"}},
	{id: "B099", theme: "d", about: "one odd file name empties the snapshot, and only the words are taken back",
		held: []string{"server.TestReportOddFilesVoidNothing"}},
	{id: "B103", theme: "d", about: "what commands changed is not taken back, and that is hidden",
		held: []string{"server.TestReportCommandsAreTakenBack", "server.TestReportWhatGitDiscardsComesBack"}},
	{id: "B104", theme: "d", about: "a restore drops what the developer wrote after the agent",
		held: []string{"server.TestReportLaterWordsAreKept", "server.TestRevert"}},
	{id: "B107", theme: "d", about: "when the agent ends by itself its finished edits are taken back",
		held: []string{"server.TestReportAnEndKeepsWhatIsDone"}},
}

// git runs git in the workspace, as a developer does.
func (h *house) git(args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = h.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return string(out)
}

// all are the files of the workspace with their texts; git's own are left out.
func (h *house) all() map[string]string {
	h.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, h.dir+"/")] = string(data)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

// Reports B092, B094, B097: a revert changes the files that its operations changed and nothing else, in a
// repository of many files, with an uncommitted .gitignore and what that protects, after a commit, and
// when it is asked for twice. Neither branch nor index moves.
func TestReportARevertKeepsToItsFiles(t *testing.T) {
	needsShell(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	files := map[string]string{"a.go": "package a\n", "b.go": "package a\n", ".gitignore": "*.o\n"}
	for i := range 2000 {
		files[fmt.Sprintf("many/%d/%d.txt", i%20, i)] = "text\n"
	}
	h := newHouse(t, files)
	h.git("init", "-q")
	h.git("add", ".")
	h.git("commit", "-qm", "first")
	write(t, h.dir, map[string]string{".gitignore": "*.o\ndata/\n", "data/big.bin": "mine\x00", "x.o": "o", "loose.txt": "never added\n"})
	h.model.will(work(slices.Concat(runs("echo r > r.txt"), writes("r.txt", "r2\n", "a.go", "package b\n"))...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	h.git("commit", "-qam", "the developer's, with what the agent did")
	write(t, h.dir, map[string]string{"b.go": "package mine\n"})
	h.git("add", "b.go")
	head, index := h.git("rev-parse", "HEAD"), h.git("diff", "--cached")
	want := h.all()
	want["a.go"] = "package a\n"
	delete(want, "r.txt")
	for round := range 2 {
		p.ok(protocol.MethodRevert, at(id, "stepId", "s1"), nil)
		if got := h.all(); fmt.Sprint(got) != fmt.Sprint(want) {
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("round %d: %s is %q, not %q", round, name, got[name], want[name])
				}
			}
			t.Errorf("round %d: %d files, not %d", round, len(got), len(want))
		}
	}
	if h.git("rev-parse", "HEAD") != head || h.git("diff", "--cached") != index {
		t.Errorf("git is moved: %s%s", h.git("log", "--oneline"), h.git("diff", "--cached"))
	}
}

// Report B096: beside files of 20 GB fifty edits of a small one keep fifty small contents, and a command's
// checkpoint copies no large file.
func TestReportCheckpointsStaySmall(t *testing.T) {
	needsShell(t)
	line := strings.Repeat("x", 99) + "\n"
	h := newHouse(t, map[string]string{"a.txt": strings.Repeat(line, 100) + "0\n"})
	for i := range 10 {
		at := filepath.Join(h.dir, fmt.Sprintf("large%d", i))
		write(t, h.dir, map[string]string{filepath.Base(at): ""})
		if err := os.Truncate(at, 2<<30); err != nil {
			t.Skipf("no file of 2 GB can be made here: %v", err)
		}
	}
	calls := runs("echo c > c.txt")
	for i := range 50 {
		calls = append(calls, "edit_file", fmt.Sprintf(`{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"\n%d\n","new":"\n%d\n"}]}`, i, i+1))
	}
	h.model.will(work(calls...), says("Done."))
	p := h.client()
	began := time.Now()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	t.Logf("a command and 50 edits took %s", time.Since(began))
	if !strings.HasSuffix(h.disk("a.txt"), "\n50\n") {
		t.Fatal("the edits were not made")
	}
	var kept int64
	err := filepath.WalkDir(h.opts.State, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			kept += info.Size()
		}
		return err
	})
	if err != nil || kept > 2<<20 {
		t.Errorf("%d bytes are kept, %v", kept, err)
	}
	p.ok(protocol.MethodRevert, at(id, "stepId", "s1"), nil)
	if text := h.disk("a.txt"); !strings.HasSuffix(text, "\n0\n") {
		t.Errorf("a.txt ends with %q", text[len(text)-10:])
	}
}

// Report B098: what the developer wrote between two operations is no part of either; a repository without
// a commit in the workspace does not change that.
func TestReportWhatTheDeveloperWroteBetweenStays(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"f": "v1\n"})
	h.model.will(work(runs("echo 1 > one; until [ -e go ]; do sleep 0.02; done")...), work(runs("mkdir sub; git init -q sub || mkdir sub/.git; echo 2 > two; echo s > sub/s")...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	untilThere(t, filepath.Join(h.dir, "one"))
	write(t, h.dir, map[string]string{"f": "v2\n", "go": ""})
	op := p.reaches("mkdir sub", protocol.OpDone)
	p.ok(protocol.MethodRevert, at(id, "operationId", op.ID), nil)
	if h.disk("f") != "v2\n" {
		t.Errorf("f is %q", h.disk("f"))
	}
	if _, err := os.Lstat(filepath.Join(h.dir, "two")); err == nil {
		t.Error("what the command made stays")
	}
}

// Report B103: what a command changed is taken back like an edit, and the preview says so before.
func TestReportCommandsAreTakenBack(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"f.txt": "a a\r\nb", "d/g.txt": "g\n"})
	h.model.will(work(runs("sed s/a/b/ f.txt > t; mv t f.txt; rm -r d; echo n > n.txt")...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "waiting")
	before := h.all()
	var r protocol.RevertResult
	p.ok(protocol.MethodRevert, at(id, "stepId", "s1", "dryRun", true), &r)
	if got := h.shown(r); got != "d/g.txt created, f.txt restored, n.txt deleted" || fmt.Sprint(h.all()) != fmt.Sprint(before) {
		t.Errorf("the preview says %q", got)
	}
	p.ok(protocol.MethodRevert, at(id, "stepId", "s1"), &r)
	if got := h.all(); fmt.Sprint(got) != fmt.Sprint(map[string]string{"f.txt": "a a\r\nb", "d/g.txt": "g\n"}) {
		t.Errorf("there are %q", got)
	}
}

// Report B104: what the developer wrote over the agent's text stays and is told; what they wrote beside it
// stays, too; and a revert is taken back by a revert.
func TestReportLaterWordsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"same": "v1\n", "beside": "1\n2\n3\n4\n5\n"})
		h.model.will(work(writes("same", "v2\n", "beside", "one\n2\n3\n4\n5\n")...), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		write(t, h.dir, map[string]string{"same": "v3\n", "beside": "one\n2\n3\n4\nfive\n"})
		var r protocol.RevertResult
		p.ok(protocol.MethodRevert, at(id, "stepId", "s1"), &r)
		if got := h.shown(r); !strings.HasPrefix(got, "beside restored, same conflict, ") || h.disk("same") != "v3\n" || h.disk("beside") != "1\n2\n3\n4\nfive\n" {
			t.Errorf("%s; same is %q, beside %q", got, h.disk("same"), h.disk("beside"))
		}
		var s protocol.SessionResult
		p.ok(protocol.MethodAttach, at(id), &s)
		for _, op := range s.Session.Operations {
			if action := revertOf(op.Actions); op.Tool == "revert" && action != nil {
				p.ok(action.Method, action.Params, nil)
			}
		}
		if h.disk("beside") != "one\n2\n3\n4\nfive\n" || h.disk("same") != "v3\n" {
			t.Errorf("the revert taken back: same is %q, beside %q", h.disk("same"), h.disk("beside"))
		}
	})
}

// Report B107: the model's server is gone for good after two edits. They stay, and can be taken back.
func TestReportAnEndKeepsWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work(writes("a.txt", "a\n", "b.txt", "b\n")...), reply{status: 401, body: `{"error":{"message":"this account is closed"}}`})
		p := h.client()
		id := p.start(params{}).ID
		m := p.untilHas(protocol.NoteModeChanged, "this account is closed")
		if h.disk("a.txt") != "a\n" || h.disk("b.txt") != "b\n" {
			t.Errorf("a.txt is %q, b.txt %q after %s", h.disk("a.txt"), h.disk("b.txt"), m.Params)
		}
		h.again()
		q := h.client()
		var s protocol.SessionResult
		q.ok(protocol.MethodAttach, at(id), &s)
		if revertOf(s.Session.Plan.Steps[0].Actions) == nil {
			t.Errorf("the step can %+v", s.Session.Plan.Steps[0].Actions)
		}
		var r protocol.RevertResult
		q.ok(protocol.MethodRevert, at(id, "stepId", "s1"), &r)
		if got := h.shown(r); got != "a.txt deleted, b.txt deleted" {
			t.Error(got)
		}
	})
}
