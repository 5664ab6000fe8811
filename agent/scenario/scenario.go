package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Scenario is one case that can run again.
type Scenario struct {
	Name string
	// Run is a line for the shell, run in the workspace's folder.
	Run string
	// Inputs and Outputs are globs of files below the workspace, with / between folders; ** crosses them.
	Inputs, Outputs []string
}

// Check says what is wrong with a scenario, in words that name the pattern.
func (s Scenario) Check() error {
	if strings.TrimSpace(s.Run) == "" {
		return fmt.Errorf("scenario %q: run is empty; give it the command line", s.Name)
	}
	for _, p := range slices.Concat(s.Inputs, s.Outputs) {
		switch {
		case p == "" || !doublestar.ValidatePattern(p):
			return fmt.Errorf("scenario %q: %q is no pattern of files", s.Name, p)
		case !fs.ValidPath(path.Clean(p)) || path.IsAbs(p):
			return fmt.Errorf("scenario %q: %q leads out of the workspace; inputs and outputs are paths below it", s.Name, p)
		}
	}
	return nil
}

// matches says that a path is one of those that patterns mean.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(path.Clean(p), name) })
}

// inGit says that a path stands in a repository's own folder.
func inGit(name string) bool { return slices.Contains(strings.Split(name, "/"), ".git") }

// find gives the files below a root that patterns mean, sorted, links to files among them. Folders, and
// what is neither file nor link, are left out.
func find(ctx context.Context, root *os.Root, patterns []string) ([]string, error) {
	found := map[string]bool{}
	for _, p := range patterns {
		err := doublestar.GlobWalk(root.FS(), path.Clean(p), func(name string, d fs.DirEntry) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !inGit(name) && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) {
				found[name] = true
			}
			return nil
		}, doublestar.WithFailOnIOErrors())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("find %s: %w", p, err)
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
