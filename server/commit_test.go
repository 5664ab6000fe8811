package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/protocol"
)

// committed are the commits of a session, made or not, as its history tells them.
func (p *peer) committed(id string) []agent.Committed {
	p.t.Helper()
	var history protocol.HistoryResult
	p.ok(protocol.MethodHistory, at(id), &history)
	var out []agent.Committed
	for _, e := range history.Events {
		if fact, err := agent.Decode(e.Kind, e.Data); err == nil {
			if c, ok := fact.(agent.Committed); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// sings has hooks, filters and a monitor in a repository leave a file when they are run.
func (h *house) sings() (sung string) {
	h.t.Helper()
	sung = filepath.Join(h.t.TempDir(), "sung")
	script := "#!/bin/sh\necho \"$0\" >> " + sung + "\n"
	for _, hook := range []string{"reference-transaction", "post-index-change", "pre-commit", "post-commit"} {
		write(h.t, h.dir, map[string]string{".git/hooks/" + hook: script})
		if err := os.Chmod(filepath.Join(h.dir, ".git/hooks", hook), 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, key := range []string{"core.fsmonitor", "filter.x.clean", "filter.x.process", "gpg.program", "core.pager"} {
		h.git("config", key, filepath.Join(h.dir, ".git/hooks/pre-commit"))
	}
	write(h.t, h.dir, map[string]string{".gitattributes": "*.x filter=x\n"})
	return sung
}

// Where it is asked for each finished step stands in a commit of a branch of the session's own, also
// across a restart, and nothing else of the repository is touched or run.
func TestStepsAreCommitted(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	h := newHouse(t, map[string]string{".tandem/config.yaml": "commits: {steps: true}\n", "a.txt": "one\n", "mine.txt": "mine\n"})
	h.git("init", "-q", "-b", "main")
	h.git("add", "a.txt", "mine.txt")
	h.git("commit", "-q", "-m", "first")
	sung := h.sings()
	write(t, h.dir, map[string]string{"mine.txt": "the developer's\n"})
	index, err := os.ReadFile(filepath.Join(h.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	h.model.will(work(writes("b.txt", "b\n", "c.x", "x\n")...), does(plans("s1 done Work")...), says("Done."),
		does(append(plans("s1 done Work", "s2 active More"), call("write_file", params{"path": "b.txt", "content": "b2\n"})...)...), does(plans("s1 done Work", "s2 done More")...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "step s1 is committed as")
	h.again()
	p = h.client()
	p.ok(protocol.MethodAttach, at(id), nil)
	p.ok(protocol.MethodSteer, at(id, "text", "more"), nil)
	p.untilHas(protocol.NoteModeChanged, "step s2 is committed as")
	made := p.committed(id)
	if len(made) != 2 || made[0].Branch != "tandem/"+id || strings.Join(made[0].LeftOut, "") != "c.x: git would convert it by a filter, and Tandem runs none" {
		t.Fatalf("committed: %+v", made)
	}
	if text, err := os.ReadFile(sung); err == nil {
		t.Errorf("something was run: %s", text)
	}
	if now, err := os.ReadFile(filepath.Join(h.dir, ".git/index")); err != nil || string(now) != string(index) {
		t.Errorf("the index was changed: %v", err)
	}
	quiet := func(args ...string) string {
		return h.git(append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.pager=cat"}, args...)...)
	}
	if got := quiet("log", "--format=%H %s", "tandem/"+id, "^main"); got != made[1].Commit+" More\n"+made[0].Commit+" Work\n" {
		t.Errorf("the branch: %s", got)
	}
	if got := quiet("diff", "--name-only", "main", "tandem/"+id) + quiet("show", "tandem/"+id+":b.txt"); got != "b.txt\nb2\n" {
		t.Errorf("the commits hold %q", got)
	}
	if got := quiet("rev-parse", "--abbrev-ref", "HEAD"); got != "main\n" {
		t.Errorf("HEAD is on %s", got)
	}
}

// Where no commit can be made the work goes on, and the developer is told once.
func TestStepsThatCannotBeCommitted(t *testing.T) {
	h := newHouse(t, map[string]string{".tandem/config.yaml": "commits: {steps: true}\n"})
	h.model.will(work(writes("a.txt", "a\n")...), does(plans("s1 done Work")...), does(append(plans("s1 done Work", "s2 active More"), call("write_file", params{"path": "b.txt", "content": "b\n"})...)...),
		says("Hm."), does(plans("s1 done Work", "s2 done More")...), says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "step s1 is not committed: the workspace is not the top of a git repository")
	p.idle()
	p.ok(protocol.MethodSteer, at(id, "text", "more"), nil)
	p.idle()
	for len(p.committed(id)) < 2 { // of the second nobody is told
	}
	if n := strings.Count(strings.Join(p.notes(), "\n"), "is not committed"); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}
