package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// rule is one line of an ignore file. A line without a slash speaks of names at any depth,
// one with a slash of paths from its folder.
type rule struct {
	pattern gitignore.Pattern
	domain  []string
	pathy   bool
}

// rules are in order of their weight: the last one that speaks of a path decides.
type rules []rule

// parseRules reads an ignore file that lies in a folder; "." is the workspace.
func parseRules(data []byte, dir string) rules {
	domain := elements(dir)
	var all rules
	for l := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		text, _, _ := strings.Cut(strings.TrimRight(string(l), "\r\n"), "\x00") // git reads no further
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		text = asGit(text)
		pathy := strings.Contains(strings.TrimSuffix(strings.TrimPrefix(text, "!"), "/"), "/")
		all = append(all, rule{pattern: gitignore.ParsePattern(text, domain), domain: domain, pathy: pathy})
	}
	return all
}

// asGit words a line so that the library reads it as git does: a class is negated by «!»
// too, a bracket at its beginning stands for itself, two stars within a name are as one, and what ends in /** leaves the folder itself be.
func asGit(text string) string {
	parts := strings.Split(classes.Replace(text), "/")
	for i, p := range parts {
		if p != "**" {
			for strings.Contains(p, "**") {
				p = strings.ReplaceAll(p, "**", "*")
			}
			parts[i] = p
		}
	}
	if n := len(parts); n > 1 && parts[n-1] == "**" {
		parts[n-1] = "*"
	}
	return strings.Join(parts, "/")
}

var classes = strings.NewReplacer("[!]", `[^\]`, "[^]", `[^\]`, "[]", `[\]`, "[!", "[^")

// elements splits a clean name.
func elements(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// ignore tells whether the rules leave a path out, given that they leave its folder in.
func (r rules) ignore(name string, dir bool) bool {
	full := elements(name)
	for _, rule := range slices.Backward(r) {
		at := full
		if !rule.pathy && len(full) > len(rule.domain) {
			at = append(slices.Clone(rule.domain), full[len(full)-1])
			if !slices.Equal(full[:len(rule.domain)], rule.domain) {
				continue
			}
		}
		switch rule.pattern.Match(at, dir) {
		case gitignore.Exclude:
			return true
		case gitignore.Include:
			return false
		}
	}
	return false
}

// never are names that no walk enters unless it starts there.
func never(base string) bool {
	return strings.EqualFold(base, ".git") || base == "node_modules" || isTemp(base)
}

// rulesAt collects the rules that hold in a folder before its own ignore file is read. A
// folder that is itself left out was asked for by name, so nothing is left out below it.
func (w *Workspace) rulesAt(dir string) (all rules, within bool, err error) {
	exclude, err := w.ignoreRules(".git/info/exclude", ".", ignoreFile{})
	if err != nil || dir == "." {
		return exclude.rules, false, err
	}
	all = exclude.rules
	at := "."
	for _, part := range elements(dir) {
		more, err := w.ignoreRules(path.Join(at, ".gitignore"), at, ignoreFile{})
		if err != nil {
			return nil, false, err
		}
		all = append(all, more.rules...)
		at = path.Join(at, part)
		if never(part) || all.ignore(at, true) {
			return nil, true, nil
		}
	}
	return all, false, nil
}

// ignoreText is what an ignore file says; one that is not there, or no plain file, says nothing.
func (w *Workspace) ignoreText(name string) ([]byte, error) {
	if info, err := w.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	data, err := w.root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read ignore rules %s: %w", name, err)
	}
	return data, nil
}

// is tells that rules are the very same value. It says nothing of rules that only read alike.
func (r rules) is(o rules) bool {
	return len(r) == len(o) && (len(r) == 0 || &r[0] == &o[0])
}

// walker goes through the files below a folder in the order of their names, without
// following links, and leaves out what git ignores.
type walker struct {
	w     *Workspace
	visit func(name string, d fs.DirEntry) error
	all   bool
}

// walk visits each file below start, or start itself when it is a file. A folder that may
// not be read, or vanishes, is left out.
func (w *Workspace) walk(ctx context.Context, start string, visit func(string, fs.DirEntry) error) error {
	info, err := w.root.Stat(start)
	if err != nil {
		return w.confined(start, err)
	}
	if !info.IsDir() {
		return visit(start, fs.FileInfoToDirEntry(info))
	}
	rules, within, err := w.rulesAt(start)
	if err != nil {
		return err
	}
	err = (&walker{w: w, visit: visit, all: within}).folder(ctx, start, rules)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (k *walker) folder(ctx context.Context, dir string, above rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := k.w.entries(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	here, err := k.rules(dir, entries, above)
	if err != nil {
		return err
	}
	for _, d := range entries {
		name := path.Join(dir, d.Name())
		if never(d.Name()) || here.ignore(name, d.IsDir()) {
			continue
		}
		if d.IsDir() {
			err = k.folder(ctx, name, here)
		} else {
			err = k.visit(name, d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries are what stands in a folder, in order. One that has vanished is empty; one that may not
// be read is fs.ErrPermission.
func (w *Workspace) entries(dir string) ([]fs.DirEntry, error) {
	return w.entriesOf(dir, func(*os.File) {})
}

// entriesOf is entries, with a look at the open folder before they are read.
func (w *Workspace) entriesOf(dir string, opened func(*os.File)) ([]fs.DirEntry, error) {
	f, err := w.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, w.confined(dir, err)
	}
	defer f.Close()
	opened(f)
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// rules adds a folder's own ignore file to those above it.
func (k *walker) rules(dir string, entries []fs.DirEntry, above rules) (rules, error) {
	own := slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return d.Name() == ".gitignore" && d.Type().IsRegular() })
	if k.all || !own {
		return above, nil
	}
	more, err := k.w.ignoreRules(path.Join(dir, ".gitignore"), dir, ignoreFile{})
	return append(slices.Clip(above), more.rules...), err
}
