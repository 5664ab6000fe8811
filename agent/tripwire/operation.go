package tripwire

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// Operation is what an operation did, or is about to do, as far as conditions care.
type Operation struct {
	Effect protocol.Effect
	// Wrote are the paths that it changed, made or removed: slash-separated, relative to the
	// workspace, with links followed.
	Wrote []string
	// Unknown says that it may have changed files that conditions read and Wrote does not tell.
	Unknown bool
	// Unseen says that it may have written where it must not without Wrote telling it, because
	// the workspace holds more files than can be looked at. Conditions on paths then have tripped.
	Unseen bool
}

// wrote says whether the operation may have changed what a pattern of ours picks.
func (o Operation) wrote(picks func(path string) bool) bool {
	return o.Unknown || o.Unseen || slices.ContainsFunc(o.Wrote, picks)
}

// acted says whether the operation could change something at all.
func (o Operation) acted() bool {
	return o.Effect == protocol.EffectExecute || o.Effect == protocol.EffectWrite || o.Unknown || o.Unseen || len(o.Wrote) > 0
}

// Env is the world in which conditions are evaluated.
type Env struct {
	// Dir is the workspace's folder, absolute. Files are its files, confined to it.
	Dir   string
	Files fs.FS
	// Home is the workspace that Dir is a copy of: places in facts point there; "" is Dir.
	Home string
	// Run runs a command line in Dir and returns when it has ended, at the latest soon after ctx
	// has. An error says why it could not be run, or did not end by itself.
	Run func(ctx context.Context, line string) (Ran, error)
	// Output is what the last command of the session printed; nil when there was none.
	Output *string
	// Baseline is how things were when the session started.
	Baseline Baseline
	// Whole says that everything has to be there now: a missing file is not one to come.
	Whole bool
	// Bound is the longest that the query or command of a value may take; 0 is 30 seconds. The
	// command of a condition has a bound of its own.
	Bound time.Duration
}

// Ran is how a command ended. Code is its exit code, Output what it printed, bounded.
type Ran struct {
	Code   int
	Output string
}

// defaultBound bounds the query or command of a value.
const defaultBound = 30 * time.Second

func (e Env) bound() time.Duration {
	if e.Bound > 0 {
		return e.Bound
	}
	return defaultBound
}

// path is where a file of the workspace, or one with an absolute path, lies on disk.
func (e Env) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, filepath.FromSlash(name))
}

func (e Env) stat(name string) (fs.FileInfo, error) {
	if filepath.IsAbs(name) {
		return os.Stat(name)
	}
	return fs.Stat(e.Files, name)
}

// Look is how watched files stood at one time, by what the system says of them.
type Look map[string]stamp

type stamp struct {
	info     fs.FileInfo // nil when it is not there
	size     int64
	modified time.Time
}

// Look looks at files, those of Condition.Files or Value.Files.
func (e Env) Look(files []string) Look {
	l := Look{}
	for _, f := range files {
		l[f] = stamp{}
		if info, err := e.stat(f); err == nil {
			l[f] = stamp{info, info.Size(), info.ModTime()}
		}
	}
	return l
}

// Since names, in order, the files that changed between an earlier look and this one. It belongs
// into Operation.Wrote: links are followed, and files are seen that a scan of the workspace skips.
func (l Look) Since(earlier Look) []string {
	var changed []string
	for _, f := range slices.Sorted(maps.Keys(l)) {
		if was, ok := earlier[f]; ok && !l[f].same(was) {
			changed = append(changed, f)
		}
	}
	return changed
}

func (s stamp) same(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return s.size == o.size && s.modified.Equal(o.modified) && os.SameFile(s.info, o.info)
}

// clean is a path as it is compared: with slashes, without what means nothing.
func clean(name string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Clean(filepath.FromSlash(name))), "./")
}
