package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks bounds how many links are followed on the way to one file, as the system does.
const maxLinks = 40

// name makes a path as a model gives it relative to the workspace, slash-separated and
// clean. It refuses what leaves the workspace by its words alone; links are resolve's part.
func (w *Workspace) name(given string) (string, error) {
	if given == "" {
		return ".", nil
	}
	if strings.ContainsRune(given, 0) {
		return "", fmt.Errorf("the path %q holds a NUL character", given)
	}
	name := strings.TrimPrefix(given, "file://")
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(w.dir, w.physical(name))
		if err != nil {
			return "", w.outside(given)
		}
		name = rel
	}
	name = path.Clean(filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", w.outside(given)
	}
	return name, nil
}

// Name gives the path of the file that a given path means, relative to the workspace,
// slash-separated and with links followed: what a rule about paths has to be held against.
func (w *Workspace) Name(given string) (string, error) {
	name, err := w.name(given)
	if err != nil {
		return "", err
	}
	return w.resolve(name)
}

// physical resolves the links of an absolute path as far as it exists, since the workspace
// may be named by a path that goes through a link.
func (w *Workspace) physical(name string) string {
	rest := ""
	for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
		if dir == w.dir {
			return filepath.Join(dir, rest)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real == w.dir {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return name
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func (w *Workspace) outside(given string) error {
	return refuse(ErrOutside, "the path %s leads outside the workspace %s: give a path relative to the workspace", given, w.dir)
}

// resolve follows the links of a clean relative name, so that the result names the file
// itself. What does not exist yet is taken as it is written. A link out is refused here with
// a sentence; the root refuses it again, should the link be swapped in between.
func (w *Workspace) resolve(name string) (string, error) {
	done, ahead := ".", strings.Split(name, "/")
	for links := 0; len(ahead) > 0; {
		part := ahead[0]
		ahead = ahead[1:]
		next := path.Join(done, part)
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", w.outside(name)
		}
		target, err := w.root.Readlink(next)
		if err != nil {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("the path %s goes through more than %d links", name, maxLinks)
		}
		parts, absolute, err := w.target(name, target)
		if err != nil {
			return "", err
		}
		if absolute {
			done = "."
		}
		ahead = append(parts, ahead...)
	}
	return done, nil
}

// target splits what a link points to. An absolute target counts from the workspace.
func (w *Workspace) target(name, target string) (parts []string, absolute bool, err error) {
	if !filepath.IsAbs(target) {
		return strings.Split(filepath.ToSlash(target), "/"), false, nil
	}
	rel, err := filepath.Rel(w.dir, filepath.Clean(target))
	if err != nil || !filepath.IsLocal(rel) {
		return nil, false, refuse(ErrOutside, "the path %s goes through a link that leads outside the workspace %s", name, w.dir)
	}
	return strings.Split(filepath.ToSlash(rel), "/"), true, nil
}

// inGit tells whether a name lies in git's own folder, on any file system.
func inGit(name string) bool { return below(name, ".git", "git~1") }

// inTandem tells whether a name lies in a folder with Tandem's own configuration.
func inTandem(name string) bool { return below(name, ".tandem", "tandem~1") }

// below tells whether a name is, or lies in, a folder of a name, which file systems know by others too.
func below(name, folder, short string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(strings.TrimRight(part, ". "), folder) || strings.EqualFold(part, short) {
			return true
		}
	}
	return false
}

// errOurs refuses what would let an agent choose its own stop conditions, or what it may do.
func errOurs(given string) error {
	return fmt.Errorf("%s belongs to Tandem's configuration, which says what the agent may do and what stops it: only the developer changes it. Tell them what it should say", given)
}

// agents makes a given path into the name of a file that the agent may change: writable, and not
// what the agent itself is held by.
func (w *Workspace) agents(given string, follow bool) (string, error) {
	name, err := w.writable(given, follow)
	if err != nil {
		return "", err
	}
	if said, err := w.name(given); err != nil || inTandem(said) || inTandem(name) {
		return "", errOurs(given)
	}
	return name, nil
}

// writable makes a given path into the name of the file that a mutation may change.
// With follow the result is what a link points to, else the link itself.
func (w *Workspace) writable(given string, follow bool) (string, error) {
	name, err := w.name(given)
	if err != nil {
		return "", err
	}
	real, err := w.resolve(name)
	if err != nil {
		return "", err
	}
	if name == "." || real == "." {
		return "", errors.New("the path names the workspace itself: name a file in it")
	}
	if inGit(name) || inGit(real) {
		return "", fmt.Errorf("%s belongs to git, whose own files are not changed by hand: run git instead", given)
	}
	if follow {
		return real, nil
	}
	dir, err := w.resolve(path.Dir(name))
	return path.Join(dir, path.Base(name)), err
}

// missing makes the error of a path that is not there: it names similar paths.
func (w *Workspace) missing(given string) error {
	similar := w.similar(given)
	if len(similar) == 0 {
		return refuse(fs.ErrNotExist, "there is no %s in the workspace: list_files shows what there is", given)
	}
	return refuse(fs.ErrNotExist, "there is no %s in the workspace; did you mean %s?", given, strings.Join(similar, " or "))
}
