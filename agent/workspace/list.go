package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxListed bounds the entries of one listing.
const maxListed = 400

// Listing is what stands in a folder: paths of files, and folders with a slash and the
// number of files below them. More counts the entries that were left out. Folded tells that
// there were too many files, so that folders stand for theirs.
type Listing = struct {
	Entries []string
	More    int
	Folded  bool
}

// List gives the files below a folder that git does not ignore, in order, down to the last
// when they are at most 400; else the folder's own entries. Folders named node_modules are left
// out unless path leads into one. With a glob it gives the files that match it: a glob
// without a slash matches the file's name, else its path from the folder or the workspace.
func (w *Workspace) List(ctx context.Context, given, glob string) (Listing, error) {
	dir, match, err := w.scope(given, glob)
	if err != nil {
		return Listing{}, err
	}
	var names []string
	err = w.walk(ctx, dir, func(name string, d fs.DirEntry) error {
		if match(name) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Entries: names}
	if len(names) > maxListed && glob == "" {
		l.Entries, l.Folded = fold(names, dir), true
	}
	if l.More = len(l.Entries) - maxListed; l.More > 0 {
		l.Entries = l.Entries[:maxListed]
	}
	l.More = max(l.More, 0)
	return l, nil
}

// scope makes the arguments of a search or listing into a folder or file that exists, with
// links followed, and the test that a name has to pass.
func (w *Workspace) scope(given, glob string) (dir string, match func(string) bool, err error) {
	name, err := w.name(given)
	if err != nil {
		return "", nil, err
	}
	if dir, err = w.resolve(name); err != nil {
		return "", nil, err
	}
	if _, err := w.root.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil, w.missing(given)
	} else if err != nil {
		return "", nil, w.confined(given, err)
	}
	if glob == "" {
		return dir, func(string) bool { return true }, nil
	}
	glob = strings.TrimPrefix(path.Clean(glob), "/")
	if !doublestar.ValidatePattern(glob) {
		return "", nil, fmt.Errorf("the glob %q is not valid: an example is **/*.go", glob)
	}
	return dir, func(name string) bool {
		if !strings.Contains(glob, "/") {
			return doublestar.MatchUnvalidated(glob, path.Base(name))
		}
		return doublestar.MatchUnvalidated(glob, name) || doublestar.MatchUnvalidated(glob, strings.TrimPrefix(name, dir+"/"))
	}, nil
}

// fold puts, for each folder right below dir, one entry in place of its files.
func fold(names []string, dir string) []string {
	var entries []string
	counts := map[string]int{}
	for _, name := range names {
		rest := strings.TrimPrefix(name, dir+"/")
		first, _, deep := strings.Cut(rest, "/")
		if !deep {
			entries = append(entries, name)
			continue
		}
		counts[path.Join(dir, first)]++
	}
	for folder, n := range counts {
		entries = append(entries, fmt.Sprintf("%s/ (%d files)", folder, n))
	}
	slices.Sort(entries)
	return entries
}

// similarLooked bounds the files among which similar names are looked for.
const similarLooked = 20_000

// similar finds up to three paths that a wrong one may have meant: the same name elsewhere,
// or a name that differs in a few characters.
func (w *Workspace) similar(given string) []string {
	type candidate struct {
		name string
		far  int
	}
	want := strings.ToLower(path.Clean(strings.ReplaceAll(given, `\`, "/")))
	var found []candidate
	looked := 0
	err := w.walk(context.Background(), ".", func(name string, d fs.DirEntry) error {
		if looked++; looked > similarLooked {
			return errEnough
		}
		low := strings.ToLower(name)
		far := distance(want, low)
		if path.Base(low) == path.Base(want) {
			far = min(far, 1)
		}
		if far <= 1+len(want)/6 {
			found = append(found, candidate{name, far})
		}
		return nil
	})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range found[:min(len(found), 3)] {
		names = append(names, c.name)
	}
	return names
}

// distance counts the characters to insert, drop or change between two paths. It gives up
// where their lengths alone say that they are far apart.
func distance(a, b string) int {
	if d := len(a) - len(b); d > len(a)/6+1 || -d > len(a)/6+1 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
