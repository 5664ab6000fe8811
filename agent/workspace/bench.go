package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// bench is where git works on a repository without its configuration: a folder of ours. In its folder
// refs the branches of the repository are seen, in own none of them.
type bench struct {
	w       *Workspace
	dir     string
	common  string // the repository, where its objects and branches are
	onHead  string // what HEAD says
	config  map[string]string
	ignored map[string]bool
	attrs   map[string]map[string]string // by path and name
}

func (b *bench) own() string  { return filepath.Join(b.dir, "own") }
func (b *bench) refs() string { return filepath.Join(b.dir, "refs") }

// bench finds the repository of the workspace and lays out what git needs. An error says plainly why no
// commit can be made.
func (w *Workspace) bench(ctx context.Context) (_ *bench, err error) {
	if w.git == "" {
		return nil, errors.New("there is no git on the path; install it, or set commits.steps to false")
	}
	if w.store == nil {
		return nil, errors.New("the contents of files are not kept here")
	}
	b := &bench{w: w}
	gitDir, err := b.find()
	if err != nil {
		return nil, err
	}
	if b.onHead, err = regular(filepath.Join(gitDir, "HEAD")); err != nil {
		return nil, fmt.Errorf("the repository cannot be read: %w", err)
	}
	if b.dir, err = os.MkdirTemp("", "tandem-commit-"); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if err := b.lay(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	return b, nil
}

// find finds the repository whose top the workspace is: a folder .git, or that of a worktree which the
// repository knows as its own. A file .git alone is only text of the workspace, and may lead anywhere.
func (b *bench) find() (gitDir string, err error) {
	at := filepath.Join(b.w.dir, ".git")
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("the workspace is not the top of a git repository")
	case err != nil:
		return "", fmt.Errorf("the repository cannot be read: %w", err)
	case info.IsDir():
		b.common = at
		return at, nil
	}
	text, err := regular(at)
	gitDir, ok := strings.CutPrefix(text, "gitdir: ")
	if err != nil || !ok {
		return "", errors.New("the workspace's .git is neither a folder nor leads to one")
	}
	gitDir = absoluteFrom(b.w.dir, gitDir)
	common, err := regular(filepath.Join(gitDir, "commondir"))
	back, err2 := regular(filepath.Join(gitDir, "gitdir"))
	if err != nil || err2 != nil || !sameFile(absoluteFrom(gitDir, back), at) {
		return "", fmt.Errorf("the workspace's .git leads to %s, which does not know it as a worktree of its own, such as where it is a submodule", gitDir)
	}
	b.common = absoluteFrom(gitDir, common)
	return gitDir, nil
}

func absoluteFrom(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	two, err2 := os.Lstat(b)
	return err == nil && err2 == nil && os.SameFile(one, two)
}

// lay makes the two folders of git's, with a configuration of ours.
func (b *bench) lay(ctx context.Context) error {
	for dir, head := range map[string]string{b.own(): "ref: refs/heads/made", b.refs(): b.onHead} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head+"\n"), 0o600), os.WriteFile(filepath.Join(dir, "config"), nil, 0o600)); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	if err := os.Mkdir(filepath.Join(b.own(), "refs"), 0o700); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for link, at := range map[string]string{
		filepath.Join(b.refs(), "refs"): "refs", filepath.Join(b.refs(), "packed-refs"): "packed-refs", filepath.Join(b.own(), "info"): "info",
	} {
		if _, err := os.Lstat(filepath.Join(b.common, at)); err != nil {
			continue
		}
		if err := os.Symlink(filepath.Join(b.common, at), link); err != nil {
			return fmt.Errorf("commit: this system makes no links for it: %w", err)
		}
	}
	return b.configure(ctx)
}

// settings are those that count for a commit: of what form the repository is, and who commits.
const settings = `^(extensions\.(objectformat|refstorage)|core\.(sharedrepository|worktree|autocrlf|excludesfile)|user\.(name|email))$`

var plainWord = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// configure reads what counts of the user's configuration and the repository's, and writes ours.
func (b *bench) configure(ctx context.Context) error {
	b.config = map[string]string{}
	files := [][]string{{"--file", filepath.Join(b.common, "config"), "--no-includes"}}
	if b.w.env("HOME") != "" {
		files = slices.Insert(files, 0, []string{"--global", "--includes"})
	}
	for _, file := range files {
		list, err := b.git(ctx, b.own(), nil, append(append([]string{"config"}, file...), "-z", "--get-regexp", settings)...)
		var e *gitError
		if err != nil && !(errors.As(err, &e) && e.code == 1) { // 1 is that nothing is set
			return err
		}
		for entry := range strings.SplitSeq(string(list), "\x00") {
			if key, value, ok := strings.Cut(entry, "\n"); ok {
				b.config[key] = value
			}
		}
	}
	if b.config["core.worktree"] != "" {
		return errors.New("the repository's files lie elsewhere, by its core.worktree")
	}
	if s := b.config["extensions.refstorage"]; s != "" && s != "files" {
		return fmt.Errorf("the repository keeps its branches as %s, which Tandem does not write", s)
	}
	text := "[core]\n\trepositoryformatversion = 1\n\tlogAllRefUpdates = false\n"
	if s := b.config["core.sharedrepository"]; plainWord.MatchString(s) {
		text += "\tsharedRepository = " + s + "\n"
	}
	if s := b.config["extensions.objectformat"]; plainWord.MatchString(s) {
		text += "[extensions]\n\tobjectFormat = " + s + "\n"
	}
	return errors.Join(os.WriteFile(filepath.Join(b.own(), "config"), []byte(text), 0o600), os.WriteFile(filepath.Join(b.refs(), "config"), []byte(text), 0o600))
}

// author is who commits: as git is told, else Tandem.
func (b *bench) author() string {
	plain := func(s string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == '<' || r == '>' {
				return -1
			}
			return r
		}, s))
	}
	name, email := plain(b.config["user.name"]), plain(b.config["user.email"])
	if name == "" || email == "" {
		return "Tandem <tandem@localhost>"
	}
	return name + " <" + email + ">"
}

// resolve is the branch behind HEAD, where it is on one.
func (b *bench) resolve(name string) string {
	if on, ok := strings.CutPrefix(b.onHead, "ref: "); ok && name == "HEAD" {
		return on
	}
	return name
}

// checkedOut says that a worktree of the repository is on a branch.
func (b *bench) checkedOut(ref string) bool {
	heads, err := filepath.Glob(filepath.Join(escapedGlob(b.common), "worktrees", "*", "HEAD"))
	for _, at := range append(heads, filepath.Join(b.common, "HEAD")) {
		if text, e := regular(at); e == nil && text == "ref: "+ref {
			return true
		}
	}
	return err != nil || b.onHead == "ref: "+ref
}

func escapedGlob(dir string) string {
	if filepath.Separator == '\\' {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// attributes by which git holds another content than the file does.
var attributes = []string{"filter", "ident", "working-tree-encoding", "text", "eol"}

// askAbout asks git which paths it ignores, and what it would do to their contents. It answers from the
// files of the workspace, and runs nothing.
func (b *bench) askAbout(ctx context.Context, names []string) error {
	b.ignored, b.attrs = map[string]bool{}, map[string]map[string]string{}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names, "\x00") + "\x00"
	ignored, err := b.git(ctx, b.own(), strings.NewReader(list), "--work-tree="+b.w.dir, "-c", "core.excludesFile="+b.excludes(), "check-ignore", "--no-index", "--stdin", "-z")
	var e *gitError
	if err != nil && !(errors.As(err, &e) && e.code == 1) { // 1 is that none is
		return err
	}
	for name := range strings.SplitSeq(string(ignored), "\x00") {
		b.ignored[name] = true
	}
	found, err := b.git(ctx, b.own(), strings.NewReader(list), append([]string{"--work-tree=" + b.w.dir, "check-attr", "--stdin", "-z"}, attributes...)...)
	if err != nil {
		return err
	}
	words := strings.Split(string(found), "\x00")
	for i := 0; i+2 < len(words); i += 3 {
		if b.attrs[words[i]] == nil {
			b.attrs[words[i]] = map[string]string{}
		}
		b.attrs[words[i]][words[i+1]] = words[i+2]
	}
	return nil
}

// excludes is the file in which the user says what git ignores everywhere.
func (b *bench) excludes() string {
	home, config := b.w.env("HOME"), b.w.env("XDG_CONFIG_HOME")
	if at := b.config["core.excludesfile"]; at != "" {
		if rest, ok := strings.CutPrefix(at, "~/"); ok {
			at = filepath.Join(home, rest)
		}
		return at
	}
	if home == "" && config == "" {
		return os.DevNull
	}
	return filepath.Join(cmp.Or(config, filepath.Join(home, ".config")), "git", "ignore")
}

func (b *bench) isSet(name, attribute string) bool {
	value := b.attrs[name][attribute]
	return value != "" && value != "unset" && value != "unspecified"
}

// converted says that git would put the content of a path through a filter, or change its words.
func (b *bench) converted(name string) bool {
	return b.isSet(name, "filter") || b.isSet(name, "ident") || b.isSet(name, "working-tree-encoding")
}

// endsLines says that git would change CRLF at a path into LF.
func (b *bench) endsLines(name string) bool {
	if b.isSet(name, "text") || b.isSet(name, "eol") {
		return true
	}
	auto := strings.ToLower(b.config["core.autocrlf"])
	return b.attrs[name]["text"] != "unset" && auto != "" && auto != "false"
}

// gitError is what git says of a failure.
type gitError struct {
	what, text string
	code       int
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %s", e.what, cmp.Or(e.text, fmt.Sprintf("exit code %d", e.code)))
}

// git runs git on one of our folders. Of the environment it gets only where the user's own configuration
// lies, and that is read by config alone.
func (b *bench) git(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.w.git, append([]string{"--no-replace-objects", "--no-pager", "--git-dir=" + dir}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = b.w.dir, in, time.Second
	cmd.Env = []string{"LC_ALL=C", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(b.common, "objects")}
	if args[0] == "config" {
		for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
			if value := b.w.env(name); value != "" {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
	} else {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull)
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", subcommand(args), ctx.Err())
	case errors.As(err, &exit):
		text, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return out.Bytes(), &gitError{subcommand(args), text, exit.ExitCode()}
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", subcommand(args), err)
	}
	return out.Bytes(), nil
}

// subcommand is the word of a command line that says what git does.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}
