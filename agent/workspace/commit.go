package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A commit of a session's own is made without the repository's configuration: git works in a folder of
// ours, which has its own, and which borrows the repository's objects and branches. So no hook, filter,
// alias, pager or signature of the repository's or the user's can run, and no index is there to be
// changed. What becomes of the repository: new objects, and the one branch.

// Commit is a commit of images on a branch of the session's own.
type Commit = struct {
	Branch  string // below refs/heads
	Tip     string // where the branch has to be; "" where it is not there yet, and grows from HEAD
	Message string // of this commit alone: by it the commit is known again after a crash
	Changes []Change
}

// Committed is a commit that was made. Commit is "" where nothing differs from the one before.
type Committed = struct {
	Commit  string
	LeftOut []string // sentences that name a path
}

// commitTime bounds how long a commit may take.
const commitTime = time.Minute

// Commit puts the images of changes on a branch: each path as it was left by the change, whatever stands
// in the workspace now. It never moves HEAD or another branch, and never writes an index or a file of the
// workspace. Files with secrets, what git ignores, what lies in another repository, and what git would
// convert are left out. A commit that was made before, by this very message, is found and not made twice.
func (w *Workspace) Commit(ctx context.Context, c Commit) (Committed, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	b, err := w.bench(ctx)
	if err != nil {
		return Committed{}, err
	}
	done, err := b.commit(ctx, c)
	return done, errors.Join(err, os.RemoveAll(b.dir))
}

func (b *bench) commit(ctx context.Context, c Commit) (Committed, error) {
	ref := "refs/heads/" + c.Branch
	if b.checkedOut(ref) {
		return Committed{}, fmt.Errorf("the branch %s is checked out, so it is left where it is; check out another", c.Branch)
	}
	tip, err := b.tip(ctx, ref)
	if err != nil {
		return Committed{}, err
	}
	if tip != c.Tip {
		return b.found(ctx, tip, c)
	}
	from := tip
	if from == "" {
		if from, err = b.tip(ctx, "HEAD"); err != nil {
			return Committed{}, err
		}
	}
	made, err := b.build(ctx, from, c)
	if err != nil || made.Commit == "" {
		return made, err
	}
	_, err = b.git(ctx, b.refs(), nil, "update-ref", ref, made.Commit, orZeros(tip, made.Commit))
	if err != nil {
		return Committed{}, err
	}
	return made, nil
}

// orZeros is the name of no commit, as long as others are, where there is none.
func orZeros(commit, like string) string {
	if commit == "" {
		return strings.Repeat("0", len(like))
	}
	return commit
}

// found is the commit that was made before the daemon died. A branch that stands elsewhere is not ours to
// move.
func (b *bench) found(ctx context.Context, tip string, c Commit) (Committed, error) {
	if tip == "" {
		return Committed{}, fmt.Errorf("the branch %s is not there any more, so nothing is added to it; start another session for another branch", c.Branch)
	}
	there, err := b.read(ctx, tip)
	if err != nil {
		return Committed{}, err
	}
	if there.message != c.Message || c.Tip != "" && !slices.Contains(there.parents, c.Tip) {
		return Committed{}, fmt.Errorf("the branch %s stands at %.10s, where Tandem has not left it; it stays there", c.Branch, tip)
	}
	return Committed{Commit: tip}, nil
}

// build makes the objects of a commit, which no branch leads to yet.
func (b *bench) build(ctx context.Context, from string, c Commit) (Committed, error) {
	entries, out, err := b.entries(ctx, from, c.Changes)
	if err != nil {
		return Committed{}, err
	}
	stream, err := os.Create(filepath.Join(b.dir, "stream"))
	if err != nil {
		return Committed{}, fmt.Errorf("commit: %w", err)
	}
	defer stream.Close()
	b.head(stream, from, c.Message)
	left, n, err := b.body(stream, entries)
	out = append(out, left...)
	if err == nil && n == 0 && len(out) > 0 {
		err = fmt.Errorf("nothing of it can be committed: %s", strings.Join(out, "; "))
	}
	if err != nil || n == 0 {
		return Committed{}, err
	}
	if _, err = io.WriteString(stream, "\nget-mark :1\n"); err == nil {
		_, err = stream.Seek(0, io.SeekStart)
	}
	if err != nil {
		return Committed{}, fmt.Errorf("commit: %w", err)
	}
	id, err := b.git(ctx, b.own(), stream, "fast-import", "--quiet", "--date-format=raw")
	if err != nil {
		return Committed{}, err
	}
	return b.unlessSame(ctx, from, Committed{strings.TrimSpace(string(id)), out})
}

// unlessSame is a commit where it holds anything that the one before does not.
func (b *bench) unlessSame(ctx context.Context, from string, made Committed) (Committed, error) {
	if from == "" {
		return made, nil
	}
	now, err := b.read(ctx, made.Commit)
	if err != nil {
		return Committed{}, err
	}
	before, err := b.read(ctx, from)
	if err == nil && now.tree == before.tree {
		made.Commit = ""
	}
	return made, err
}

// head is the beginning of the stream by which git is given a commit.
func (b *bench) head(stream io.Writer, from, message string) {
	fmt.Fprintf(stream, "commit refs/heads/made\nmark :1\ncommitter %s %d +0000\ndata %d\n%s\n", b.author(), time.Now().Unix(), len(message), message)
	if from != "" {
		fmt.Fprintf(stream, "from %s\n", from)
	}
}

// body writes what becomes of the paths, what goes first, and says how many of them that are.
func (b *bench) body(stream io.Writer, entries []entered) (out []string, n int, err error) {
	for _, e := range entries {
		if e.after == nil {
			fmt.Fprintf(stream, "D %s\n", quotedPath(e.path))
			n++
		}
	}
	for _, e := range entries {
		if e.after == nil {
			continue
		}
		data, why := b.content(e)
		if why != "" {
			out = append(out, e.path+": "+why)
			continue
		}
		n++
		fmt.Fprintf(stream, "M %s inline %s\ndata %d\n", mode(e.after), quotedPath(e.path), len(data))
		if _, err := stream.Write(append(data, '\n')); err != nil {
			return out, n, fmt.Errorf("commit: %w", err)
		}
	}
	return out, n, nil
}

// content is what a path holds in a commit, or why it is not in it.
func (b *bench) content(e entered) (data []byte, why string) {
	if e.after.Link != "" {
		return []byte(e.after.Link), ""
	}
	if e.after.Digest == "" {
		return nil, "its content is not known"
	}
	data, err := b.w.store.Get(e.after.Digest)
	if err != nil {
		return nil, err.Error()
	}
	if bytes.Contains(data, []byte("\r\n")) && bytes.IndexByte(data, 0) < 0 && b.endsLines(e.path) {
		return nil, "git would convert the ends of its lines, and Tandem does not"
	}
	return data, ""
}

// mode is how git writes what an image is.
func mode(i *Image) string {
	switch {
	case i.Link != "":
		return "120000"
	case i.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// quotedPath is a path as the stream has it.
func quotedPath(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// entered is a path of a commit; after is nil where it goes.
type entered struct {
	path  string
	after *Image
}

// entries are the paths that may stand in a commit, and why others may not.
func (b *bench) entries(ctx context.Context, from string, changes []Change) (in []entered, out []string, err error) {
	modes, err := b.modes(ctx, from, changes)
	if err != nil {
		return nil, nil, err
	}
	var ask []string // what has to be asked of git
	for _, c := range changes {
		if why := b.foreign(c.Path, modes); why != "" {
			out = append(out, c.Path+": "+why)
			continue
		}
		in = append(in, entered{c.Path, c.After})
		if c.After != nil {
			ask = append(ask, c.Path)
		}
	}
	if err := b.askAbout(ctx, ask); err != nil {
		return nil, nil, err
	}
	in = slices.DeleteFunc(in, func(e entered) bool {
		why := ""
		switch {
		case e.after == nil:
			return modes[e.path] == "" // it never stood in git
		case b.ignored[e.path] && modes[e.path] == "":
			return true // as in any commit
		case b.converted(e.path):
			why = "git would convert it by a filter, and Tandem runs none"
			out = append(out, e.path+": "+why)
		}
		return why != ""
	})
	return in, out, nil
}

// gitlink is how git writes another repository that stands in a folder.
const gitlink = "160000"

// foreign says why a path is not for a commit of this repository.
func (b *bench) foreign(name string, modes map[string]string) string {
	if inGit(name) {
		return "it belongs to git"
	}
	if b.w.holdsSecrets(name) {
		return "it holds secrets"
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := b.w.root.Lstat(dir + "/.git"); err == nil || modes[dir] == gitlink {
			return "it lies in another repository"
		}
	}
	if modes[name] == gitlink {
		return "another repository stands there"
	}
	if above := b.w.above(name); above != "" {
		if _, err := b.w.root.Readlink(above); err == nil {
			return above + " is a link now, and git does not look behind it"
		}
	}
	return ""
}

// modes are what stands at paths, and in the place of the folders above them, in a commit; what does not
// is missing.
func (b *bench) modes(ctx context.Context, from string, changes []Change) (map[string]string, error) {
	modes := map[string]string{}
	if from == "" {
		return modes, nil
	}
	var names []string
	var questions bytes.Buffer
	for _, c := range changes {
		for name := c.Path; name != "."; name = path.Dir(name) {
			if _, asked := modes[name]; !asked {
				modes[name] = ""
				names = append(names, name)
				fmt.Fprintf(&questions, "ls %s %s\n", from, quotedPath(name))
			}
		}
	}
	answers, err := b.git(ctx, b.own(), &questions, "fast-import", "--quiet")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(answers), "\n"), "\n")
	if len(lines) != len(names) {
		return nil, fmt.Errorf("git told of %d paths and was asked for %d", len(lines), len(names))
	}
	for i, line := range lines {
		if kind, _, ok := strings.Cut(line, " "); ok && kind != "missing" {
			modes[names[i]] = kind
		}
	}
	return modes, nil
}

// commitObject is what a commit says of itself.
type commitObject struct {
	tree    string
	parents []string
	message string
}

func (b *bench) read(ctx context.Context, id string) (commitObject, error) {
	var c commitObject
	raw, err := b.git(ctx, b.refs(), nil, "cat-file", "commit", id)
	if err != nil {
		return c, err
	}
	head, message, _ := strings.Cut(string(raw), "\n\n")
	c.message = message
	for line := range strings.SplitSeq(head, "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		}
	}
	return c, nil
}

// tip is the commit that a name leads to; "" where there is none yet.
func (b *bench) tip(ctx context.Context, name string) (string, error) {
	if _, err := b.git(ctx, b.refs(), nil, "show-ref", "--verify", "--quiet", b.resolve(name)); err != nil {
		var e *gitError
		if errors.As(err, &e) && e.code == 1 {
			return "", nil
		}
		return "", err
	}
	id, err := b.git(ctx, b.refs(), nil, "rev-parse", "--verify", name+"^{commit}")
	return strings.TrimSpace(string(id)), err
}

// regular reads a plain file of a repository, without a blank at its ends.
func regular(at string) (string, error) {
	info, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "", &fs.PathError{Op: "read", Path: at, Err: errors.New("it is no small file")}
	}
	data, err := os.ReadFile(at)
	return strings.TrimSpace(string(data)), err
}
