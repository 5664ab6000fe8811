package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a workspace whose top is a repository with a commit, and everything in it that git could
// be made to run: each of them sings.
type repository struct {
	*Workspace
	t    *testing.T
	sung string
}

func newRepository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ada <L>\n\temail = ada@example.org\n[commit]\n\tgpgSign = true\n")
	w, _ := open(t, Options{Secret: func(name string) bool { return name == ".env" }, Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}})
	if w.git == "" {
		t.Skip("there is no git")
	}
	r := &repository{w, t, filepath.Join(home, "sung")}
	lay(t, w, files)
	r.git("init", "-q", "-b", "main")
	r.git("add", "-A")
	r.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "first")
	return r
}

// sings lets everything that git may run leave a word.
func (r *repository) sings() {
	song := func(what string) string { return "echo " + what + " >> " + r.sung }
	for _, hook := range []string{"reference-transaction", "post-index-change", "pre-commit", "commit-msg", "post-commit", "pre-auto-gc", "post-rewrite"} {
		at := filepath.Join(r.Dir(), ".git/hooks", hook)
		write(r.t, at, "#!/bin/sh\n"+song(hook)+"\n")
		if err := os.Chmod(at, 0o755); err != nil {
			r.t.Fatal(err)
		}
	}
	for key, what := range map[string]string{"core.fsmonitor": "fsmonitor", "core.pager": "pager", "pager.config": "pager", "filter.x.clean": "clean", "filter.x.process": "process",
		"diff.external": "diff", "gpg.program": "gpg", "core.editor": "editor", "hook.sly.command": "hook", "alias.fast-import": "alias", "alias.update-ref": "alias"} {
		r.git("config", key, "!"+song(what))
	}
	r.git("config", "commit.gpgSign", "true")
	r.git("config", "hook.sly.event", "reference-transaction")
}

// git runs git as the developer does.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.Dir()}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// looks runs git without any of the repository's configuration.
func (r *repository) looks(args ...string) string {
	return r.git(append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
}

// left is a change that left a text at a path.
func (r *repository) left(name, text string) Change {
	r.t.Helper()
	digest, err := r.store.Put([]byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return Change{Path: name, After: &Image{Digest: digest, Size: int64(len(text)), Mode: 0o644}}
}

func (r *repository) commits(c Commit) Committed {
	r.t.Helper()
	c.Branch = "tandem/x"
	done, err := r.Commit(t0, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

// stand is all of the repository and the workspace but objects and the branch.
func (r *repository) stand() []string {
	return slices.DeleteFunc(tree(r.t, r.Dir()), func(line string) bool {
		return strings.Contains(line, ".git/objects") || strings.Contains(line, "refs/heads/tandem")
	})
}

// A commit holds what operations left at their paths and nothing of the developer's; it touches nothing
// but its branch, and runs nothing.
func TestCommit(t *testing.T) {
	r := newRepository(t, map[string]string{"a.txt": "one\n", "old/b.txt": "b\n", "gone.txt": "g\n", "d": "file\n", "run.sh": "x\n"})
	r.sings()
	write(t, filepath.Join(r.Dir(), "a.txt"), "the developer's\n")
	write(t, filepath.Join(r.Dir(), "theirs.txt"), "theirs\n")
	r.looks("add", "theirs.txt")
	_ = os.Remove(r.sung)
	before := r.stand()
	sh := r.left("run.sh", "#!/bin/sh\n")
	sh.After.Mode = 0o755
	name := "new \"q\"\\é\n.txt"
	first := r.commits(Commit{Message: "Title\n\nTandem-Step: s1\n", Changes: []Change{r.left("a.txt", "two\n"), r.left(name, "new\n"), {Path: "gone.txt"}, {Path: "never.txt"},
		{Path: "d"}, r.left("d/e.txt", "e\n"), sh, {Path: "link", After: &Image{Link: "a.txt"}}}})
	second := r.commits(Commit{Tip: first.Commit, Message: "Next\n", Changes: []Change{r.left("old/b.txt", "b2\n")}})
	if now := r.stand(); !slices.Equal(before, now) {
		t.Errorf("it changed:\n%s", strings.Join(now, "\n"))
	}
	if text, err := os.ReadFile(r.sung); err == nil {
		t.Errorf("something was run: %s", text)
	}
	if got := r.looks("log", "--format=%an <%ae>|%cn|%s|%P", "tandem/x"); got != fmt.Sprintf("Ada L <ada@example.org>|Ada L|Next|%s\nAda L <ada@example.org>|Ada L|Title|%s\nx <x>|x|first|", first.Commit, r.looks("rev-parse", "main")) {
		t.Errorf("the log: %s", got)
	}
	var stands []string
	for line := range strings.SplitSeq(strings.TrimSuffix(r.looks("ls-tree", "-r", "-z", second.Commit), "\x00"), "\x00") {
		stands = append(stands, line[:6]+line[strings.Index(line, "\t"):])
	}
	if want := []string{"100644\ta.txt", "100644\td/e.txt", "120000\tlink", "100644\t" + name, "100644\told/b.txt", "100755\trun.sh"}; !slices.Equal(stands, want) {
		t.Errorf("the tree: %q", stands)
	}
	if got := r.looks("show", "tandem/x:a.txt") + r.looks("show", "tandem/x:link") + r.looks("show", "tandem/x:old/b.txt"); got != "twoa.txtb2" {
		t.Errorf("the contents: %q", got)
	}
	r.looks("fsck", "--strict")
}

// Where the daemon died behind a commit it is found, and where nothing differs none is made.
func TestCommitOnce(t *testing.T) {
	r := newRepository(t, map[string]string{"a.txt": "one\n"})
	c := Commit{Message: "Title\n", Changes: []Change{r.left("a.txt", "two\n")}}
	first := r.commits(c)
	if again := r.commits(c); again.Commit != first.Commit {
		t.Errorf("it was made again: %v, %v", first, again)
	}
	next := Commit{Tip: first.Commit, Message: "Next\n", Changes: []Change{r.left("a.txt", "three\n")}}
	second := r.commits(next)
	if again := r.commits(next); again.Commit != second.Commit {
		t.Errorf("it was made again: %v, %v", second, again)
	}
	if same := r.commits(Commit{Tip: second.Commit, Message: "Same\n", Changes: next.Changes}); same.Commit != "" || len(same.LeftOut) > 0 {
		t.Errorf("nothing differs: %v", same)
	}
	if n := r.git("rev-list", "--count", "main..tandem/x"); n != "2" {
		t.Errorf("there are %s commits", n)
	}
}

// What is no work of this repository, or not as git would have it, is left out and named.
func TestCommitLeavesOut(t *testing.T) {
	r := newRepository(t, map[string]string{"a.txt": "one\n", ".gitignore": "*.log\n", ".gitattributes": "*.psd filter=lfs\n*.lf text\n", "kept.log": "k\n"})
	r.git("add", "-f", "kept.log")
	r.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "log")
	write(t, filepath.Join(r.Dir(), "nested/.git/HEAD"), "x")
	if err := os.Symlink("/", filepath.Join(r.Dir(), "way")); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(r.Dir(), ".git/info/exclude"), "local/\n")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",sub")
	r.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "sub")
	done := r.commits(Commit{Message: "m\n", Changes: []Change{r.left("a.txt", "two\n"), r.left(".env", "K=1\n"), r.left("x.log", "l\n"), r.left("kept.log", "k2\n"), r.left("local/x", "x\n"), r.left("nested/x", "x\n"), r.left("sub/x", "x\n"), r.left("way/x", "x\n"),
		r.left("i.psd", "p\n"), r.left("c.lf", "x\r\n"), r.left("d.lf", "x\n"), {Path: "big", After: &Image{Size: 9}}, r.left(".git/config", "x")}})
	want := []string{".env: it holds secrets", "nested/x: it lies in another repository", "sub/x: it lies in another repository",
		"way/x: way is a link now, and git does not look behind it", ".git/config: it belongs to git",
		"i.psd: git would convert it by a filter, and Tandem runs none", "c.lf: git would convert the ends of its lines, and Tandem does not", "big: its content is not known"}
	if !slices.Equal(done.LeftOut, want) {
		t.Errorf("left out: %q", done.LeftOut)
	}
	if got := r.git("diff", "--name-only", "main", "tandem/x"); got != "a.txt\nd.lf\nkept.log" {
		t.Errorf("committed: %s", got)
	}
}

// Where no commit can be made the reason is plain, and nothing is changed.
func TestNoCommit(t *testing.T) {
	for name, test := range map[string]struct {
		lay  func(r *repository) Commit
		want string
	}{
		"no git":        {func(r *repository) Commit { r.Workspace.git = ""; return Commit{} }, "there is no git on the path"},
		"no repository": {func(r *repository) Commit { _ = os.RemoveAll(filepath.Join(r.Dir(), ".git")); return Commit{} }, "is not the top of a git repository"},
		"a file .git": {func(r *repository) Commit {
			other := r.t.TempDir()
			if err := os.Rename(filepath.Join(r.Dir(), ".git"), filepath.Join(other, "elsewhere")); err != nil {
				r.t.Fatal(err)
			}
			write(r.t, filepath.Join(r.Dir(), ".git"), "gitdir: "+filepath.Join(other, "elsewhere")+"\n")
			return Commit{}
		}, "which does not know it as a worktree of its own"},
		"checked out":        {func(r *repository) Commit { r.git("checkout", "-q", "-b", "tandem/x"); return Commit{} }, "is checked out"},
		"moved":              {func(r *repository) Commit { r.git("branch", "tandem/x"); return Commit{} }, "where Tandem has not left it"},
		"moved on":           {func(r *repository) Commit { r.git("branch", "tandem/x"); return Commit{Tip: strings.Repeat("1", 40)} }, "where Tandem has not left it"},
		"deleted":            {func(*repository) Commit { return Commit{Tip: strings.Repeat("1", 40)} }, "is not there any more"},
		"in the way":         {func(r *repository) Commit { r.git("branch", "tandem"); return Commit{} }, "git update-ref: "},
		"in the way, packed": {func(r *repository) Commit { r.git("branch", "tandem"); r.git("pack-refs", "--all"); return Commit{} }, "git update-ref: "},
		"elsewhere":          {func(r *repository) Commit { r.git("config", "core.worktree", "/"); return Commit{} }, "core.worktree"},
		"another form":       {func(r *repository) Commit { r.git("config", "extensions.refStorage", "reftable"); return Commit{} }, "as reftable"},
		"nothing left":       {func(r *repository) Commit { return Commit{Changes: []Change{r.left(".env", "x")}} }, "nothing of it can be committed: .env: it holds secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"a.txt": "one\n"})
			c := test.lay(r)
			c.Branch, c.Message = "tandem/x", "m\n"
			if c.Changes == nil {
				c.Changes = []Change{r.left("a.txt", "two\n")}
			}
			before := r.stand()
			if _, err := r.Commit(t0, c); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it says %v", err)
			}
			if now := r.stand(); !slices.Equal(before, now) {
				t.Errorf("it changed:\n%s", strings.Join(now, "\n"))
			}
		})
	}
}

// A worktree, branches that are packed, a HEAD that is detached, a repository without a commit, and one
// with longer names: each is worked with.
func TestCommitInRepositoriesOfAllKinds(t *testing.T) {
	r := newRepository(t, map[string]string{"a.txt": "one\n"})
	r.git("checkout", "-q", "--detach")
	r.git("pack-refs", "--all")
	if done := r.commits(Commit{Message: "m\n", Changes: []Change{r.left("a.txt", "two\n")}}); r.git("rev-parse", "tandem/x^") != r.git("rev-parse", "HEAD") || done.Commit == "" {
		t.Errorf("with a detached HEAD: %v", done)
	}
	at := filepath.Join(t.TempDir(), "tree")
	r.git("worktree", "add", "-q", "-b", "side", at, "main")
	w, err := Open(at, Options{Store: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	side := &repository{w, t, ""}
	done, err := w.Commit(t0, Commit{Branch: "tandem/y", Message: "m\n", Changes: []Change{side.left("b.txt", "b\n")}})
	if err != nil || r.git("log", "--format=%an %s", "-1", "tandem/y") != "Tandem m" || r.git("rev-parse", "tandem/y^") != r.git("rev-parse", "side") {
		t.Errorf("in a worktree: %v, %v", done, err)
	}
	for _, form := range []string{"sha1", "sha256"} {
		w, _ := open(t, Options{})
		fresh := &repository{w, t, ""}
		fresh.git("init", "-q", "--object-format="+form)
		fresh.commits(Commit{Message: "m\n", Changes: []Change{fresh.left("a.txt", "a\n")}})
		if got := fresh.git("rev-list", "--count", "tandem/x") + fresh.git("ls-tree", "--name-only", "tandem/x"); got != "1a.txt" {
			t.Errorf("without a commit, %s: %s", form, got)
		}
	}
}
