package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func snap(t testing.TB, w *Workspace) *Snapshot {
	t.Helper()
	s, err := w.Snapshot(t0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshotSeesWhatACommandDid(t *testing.T) {
	w, _ := open(t, Options{})
	large := strings.Repeat("x", keptFile+1)
	lay(t, w, map[string]string{
		"same": "same\n", "edited": "before\n", "gone": "gone\n", "touched": "touched\n", "mode": "m\n", ".gitignore": "*.o\n", "x.o": "1", "large": large, "to file": "",
	})
	if err := os.Symlink("same", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	before := snap(t, w)
	lay(t, w, map[string]string{"edited": "after!\n", "new/file": "new\n", "x.o": "2", "large": large + "y", ".git/index": "x", "node_modules/a": "x"})
	at := func(name string) string { return filepath.Join(w.Dir(), name) }
	now := time.Now()
	for _, err := range []error{os.Remove(at("gone")), os.Chtimes(at("touched"), now, now), os.Chmod(at("mode"), 0o755), os.Remove(at("link")), os.Symlink("edited", at("link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	changes := w.Diff(t0, before, snap(t, w)).Changes
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s", c.Path, w.told(c.Before), w.told(c.After)))
	}
	want := []string{
		"edited before after!", "gone gone -", "large ? ?", "link →same →edited", "mode m m", "new/file - new",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if none := w.Diff(t0, before, before).Changes; len(none) != 0 {
		t.Fatalf("nothing changed: %v", none)
	}
}

// told is an image in a word: its content, its link, «-» for none and «?» for unknown.
func (w *Workspace) told(i *Image) string {
	switch {
	case i == nil:
		return "-"
	case i.Link != "":
		return "→" + i.Link
	}
	data, err := w.Content(i.Digest)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(data))
}

func TestSnapshotOfFurtherPaths(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{".gitignore": "out/\n", "out/report.json": "1", "out/other": "1", "f": "1"})
	also := []string{"out/report.json", "not/there", "f"}
	take := func() *Snapshot {
		s, err := w.Snapshot(t0, also...)
		if err != nil || s.Len() != 3 {
			t.Fatalf("%d files, %v", s.Len(), err)
		}
		return s
	}
	before := take()
	lay(t, w, map[string]string{"out/report.json": "2", "out/other": "2"})
	if changes := w.Diff(t0, before, take()).Changes; len(changes) != 1 || changes[0].Path != "out/report.json" {
		t.Fatalf("%v", changes)
	}
	if _, err := w.Snapshot(t0, "../x"); err == nil {
		t.Fatal("a snapshot of what lies outside")
	}
}

// A change within the grain of the system's clock leaves size and times as they were.
func TestSnapshotDoesNotTrustAYoungStamp(t *testing.T) {
	w, _ := open(t, Options{})
	for i := range 50 {
		lay(t, w, map[string]string{"f": "old"})
		before := snap(t, w)
		lay(t, w, map[string]string{"f": "new"})
		if changes := w.Diff(t0, before, snap(t, w)).Changes; len(changes) != 1 {
			t.Fatalf("round %d: %v", i, changes)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	w, _ := open(b, Options{})
	files := map[string]string{".gitignore": "*.o\n/dist\nnode_modules/\n*.log\n"}
	for i := range 5_000 {
		files[fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%100, i)] = fmt.Sprintf("package d%d\n", i)
	}
	lay(b, w, files)
	start := time.Now()
	snap(b, w)
	first := time.Since(start)
	for b.Loop() {
		if s := snap(b, w); s.Len() != len(files) {
			b.Fatal(s.Len())
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first")
}

// What git has is not copied, and comes from git when a command has changed it: also where the command
// has committed the change. A file that git knows otherwise is copied as any other.
func TestSnapshotTakesFromGitWhatGitHas(t *testing.T) {
	w, home := open(t, Options{Store: filepath.Join(t.TempDir(), "kept")})
	lay(t, w, map[string]string{"clean": "clean\n", "committed": "before\n", "gone": "gone\n", "dir/mode": "m\n", "dirty": "1\n", "touched": "same\n"})
	gitIn(t, w.Dir(), "init", "-q")
	gitIn(t, w.Dir(), "add", "-A")
	gitIn(t, w.Dir(), "commit", "-q", "-m", "all")
	settle(t, w)
	lay(t, w, map[string]string{"dirty": "2\n", "untracked": "u\n"})
	dotGit := tree(t, filepath.Join(home, "ws", ".git"))
	before := snap(t, w)
	if kept := len(keptIn(t, w)); kept != 2 {
		t.Fatalf("%d contents were copied, want the two that git has not", kept)
	}
	if now := tree(t, filepath.Join(home, "ws", ".git")); !slices.Equal(now, dotGit) {
		t.Error("a snapshot changed .git")
	}
	lay(t, w, map[string]string{"committed": "after\n", "dirty": "3\n", "touched": "same\n"})
	if err := errors.Join(os.Remove(filepath.Join(w.Dir(), "gone")), os.Chmod(filepath.Join(w.Dir(), "dir/mode"), 0o755)); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.Dir(), "commit", "-q", "-a", "-m", "more")
	dotGit = tree(t, filepath.Join(home, "ws", ".git"))
	want := "committed before after, dir/mode m m, dirty 2 3, gone gone -"
	if got := w.toldAll(w.Diff(t0, before, snap(t, w)).Changes); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if now := tree(t, filepath.Join(home, "ws", ".git")); !slices.Equal(now, dotGit) {
		t.Error("a look at what changed has changed .git")
	}
}

// What a repository's configuration names is run by nothing that Tandem asks git for, though git is asked.
func TestGitRunsNothingOfARepository(t *testing.T) {
	w, home := open(t, Options{Store: filepath.Join(t.TempDir(), "kept")})
	lay(t, w, map[string]string{"a": "before\n", "hooks/post-index-change": "#!/bin/sh\necho hook >> ../sung\n"})
	gitIn(t, w.Dir(), "init", "-q")
	gitIn(t, w.Dir(), "add", "-A")
	gitIn(t, w.Dir(), "commit", "-q", "-m", "all")
	settle(t, w)
	sung := filepath.Join(home, "sung")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "diff.external", "pager.cat-file",
		"credential.helper", "gpg.program", "uploadpack.packObjectsHook"} {
		gitIn(t, w.Dir(), "config", key, "echo "+key+" >> "+sung)
	}
	gitIn(t, w.Dir(), "config", "alias.cat-file", "!echo alias >> "+sung)
	gitIn(t, w.Dir(), "config", "core.hooksPath", "hooks")
	if err := os.Chmod(filepath.Join(w.Dir(), "hooks", "post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	before := snap(t, w)
	lay(t, w, map[string]string{"a": "after\n"})
	if got := w.toldAll(w.Diff(t0, before, snap(t, w)).Changes); got != "a before after" {
		t.Fatalf("git was not asked, or not heard: %s", got)
	}
	if text, err := os.ReadFile(sung); err == nil {
		t.Errorf("something was run: %s", text)
	}
	gitIn(t, w.Dir(), "status")
	if _, err := os.Stat(sung); err != nil {
		t.Errorf("a plain git status ran nothing either: %v", err)
	}
}

// settle makes git's index younger than all files, as it is where somebody has
// looked at the status a moment after the last change.
func settle(t testing.TB, w *Workspace) {
	t.Helper()
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(filepath.Join(w.Dir(), ".git", "index"), later, later); err != nil {
		t.Fatal(err)
	}
}

func (w *Workspace) toldAll(changes []Change) string {
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s", c.Path, w.told(c.Before), w.told(c.After)))
	}
	return strings.Join(got, ", ")
}

// keptIn are the contents of a store.
func keptIn(t testing.TB, w *Workspace) (kept []string) {
	t.Helper()
	err := filepath.WalkDir(w.store.dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && place(filepath.Base(filepath.Dir(at))+d.Name()) != "" {
			kept = append(kept, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// An index that is torn, or of a kind that is not read, is as none; a file that git was told not to
// look at is copied.
func TestSnapshotDoesNotTrustAnyIndex(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a": "a\n", "b": "b\n"})
	gitIn(t, w.Dir(), "init", "-q")
	gitIn(t, w.Dir(), "add", "-A")
	good := []byte(read(t, w, ".git/index"))
	files, err := parseIndex(good)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if _, err := parseIndex(bad); err == nil {
			t.Fatalf("byte %d was altered", i)
		}
		if _, err := parseIndex(good[:i]); err == nil {
			t.Fatalf("the first %d bytes are taken for an index", i)
		}
	}
	gitIn(t, w.Dir(), "update-index", "--assume-unchanged", "b")
	if files, err = parseIndex([]byte(read(t, w, ".git/index"))); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	gitIn(t, w.Dir(), "update-index", "--no-assume-unchanged", "--index-version", "4")
	if _, err = parseIndex([]byte(read(t, w, ".git/index"))); err == nil {
		t.Error("version 4 is taken for one that is read")
	}
	if before := snap(t, w); before.Len() != 2 || len(keptIn(t, w)) != 2 {
		t.Errorf("%d contents were kept of %d files", len(keptIn(t, w)), before.Len())
	}
}

// A file whose stamp git's index has, but which may have changed behind it, is read.
func TestSnapshotReadsWhatIsAsYoungAsTheIndex(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "f\n"})
	gitIn(t, w.Dir(), "init", "-q")
	gitIn(t, w.Dir(), "add", "-A")
	info, err := os.Stat(filepath.Join(w.Dir(), "f"))
	if err == nil {
		err = os.Chtimes(filepath.Join(w.Dir(), ".git", "index"), info.ModTime(), info.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	if snap(t, w); len(keptIn(t, w)) != 1 {
		t.Error("it was not copied")
	}
}

// What a bound leaves out is told, and is no change; what one snapshot did not copy the next one does.
func TestSnapshotTellsWhatItDidNotSee(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a/1": "1", "a/2": "2", "b/1": "1", "b/deep/1": "1"})
	few := func(b bounds) *Snapshot {
		s, err := w.snapshot(t0, b, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bound := usualBounds
	bound.most = 3
	whole, part := few(usualBounds), few(bound)
	d := w.Diff(t0, whole, part)
	if len(d.Changes) != 0 || len(d.Unseen) == 0 || part.Len() >= whole.Len() {
		t.Errorf("with %d of %d files: %+v", part.Len(), whole.Len(), d)
	}
	bound = usualBounds
	bound.look = 0
	if d := w.Diff(t0, whole, few(bound)); len(d.Changes) != 0 || !slices.Equal(d.Unseen, []string{"."}) {
		t.Errorf("without time: %+v", d)
	}
	again := few(usualBounds)
	if d := w.Diff(t0, whole, again); len(d.Changes)+len(d.Unseen) != 0 {
		t.Errorf("whole again: %+v", d)
	}
}

func TestSnapshotGoesOnKeepingWhereItHadNoRoom(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"a": "aaaa", "b": "bbbb", "c": "cccccc"})
	bound := usualBounds
	bound.total, bound.perFile = 5, 5
	for i, want := range []int{1, 2, 2} {
		s, err := w.snapshot(t0, bound, nil, false)
		if err != nil || len(keptIn(t, w)) != want {
			t.Errorf("look %d: %d contents, want %d, %v", i, len(keptIn(t, w)), want, err)
		}
		s.settled = math.MaxInt64 // as if the files had been written long before
	}
}

// A folder that cannot be read any more is no folder whose files were deleted.
func TestSnapshotOfAFolderThatMayNotBeRead(t *testing.T) {
	d := &difference{}
	open := &folder{entries: []entry{{name: "f", image: &Image{}}}}
	d.folder("x", open, &folder{shut: denied}, 0)
	d.folder("y", &folder{shut: denied}, &folder{shut: denied}, 0)
	if len(d.pairs) != 0 || !slices.Equal(d.unseen, []string{"x"}) {
		t.Errorf("%v, unseen %q", d.pairs, d.unseen)
	}
}

// Folders that were made for a file are counted from it upwards.
func TestDiffCountsTheFoldersThatWereMade(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"old/f": "1"})
	before := snap(t, w)
	lay(t, w, map[string]string{"old/g": "1", "old/new/f": "1", "a/b/c/f": "1"})
	for _, c := range w.Diff(t0, before, snap(t, w)).Changes {
		if want := map[string]int{"old/g": 0, "old/new/f": 1, "a/b/c/f": 3}[c.Path]; c.Made != want {
			t.Errorf("%s: %d, want %d", c.Path, c.Made, want)
		}
	}
}

// Where git converts what it keeps, files are copied; what it gives in another size is not taken for
// what stood there.
func TestSnapshotCopiesWhatGitConverts(t *testing.T) {
	for _, attributes := range []string{".gitattributes", ".git/info/attributes", "elsewhere"} {
		w, home := open(t, Options{})
		gitIn(t, w.Dir(), "init", "-q")
		at := filepath.Join(w.Dir(), attributes)
		if attributes == "elsewhere" {
			at = filepath.Join(home, "attributes")
			gitIn(t, w.Dir(), "config", "core.attributesFile", at)
		}
		write(t, at, "f filter=short\n")
		gitIn(t, w.Dir(), "config", "filter.short.clean", "cut -c 1")
		lay(t, w, map[string]string{"f": "long\n"})
		gitIn(t, w.Dir(), "add", "-A")
		settle(t, w)
		before := snap(t, w)
		lay(t, w, map[string]string{"f": "other\n"})
		want := "f long other"
		if attributes == "elsewhere" {
			want = "f ? other"
		}
		if got := w.toldAll(w.Diff(t0, before, snap(t, w)).Changes); got != want {
			t.Errorf("%s: got %s, want %s", attributes, got, want)
		}
	}
}

// A stamp is trusted only where it is older than the clock for files is coarse.
func TestSnapshotTrustsOldStampsAlone(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "f\n"})
	for _, old := range []bool{false, true} {
		s := snap(t, w)
		image := *s.trees[0].root.find("f").image
		image.Size = 77 // no look at the file gives this
		s.trees[0].root.find("f").image = &image
		if old {
			s.settled = math.MaxInt64
		}
		if trusts := snap(t, w).trees[0].root.find("f").image.Size == 77; trusts != old {
			t.Errorf("an old stamp: %t, trusted: %t", old, trusts)
		}
	}
}

// What is ignored is found out anew where any rule above has changed.
func TestSnapshotHearsOfNewRules(t *testing.T) {
	w, _ := open(t, Options{})
	for i, step := range []struct {
		files map[string]string
		want  int
	}{
		{map[string]string{".gitignore": "*.o\n", "a/.gitignore": "x\n", "a/b/.gitignore": "y\n", "a/b/f.o": "1", "a/b/x": "1", "a/b/y": "1", "a/b/z": "1"}, 4},
		{map[string]string{".gitignore": "*.p\n"}, 5},
		{map[string]string{"a/.gitignore": "z\n"}, 5},
		{map[string]string{"a/b/.gitignore": "!z\n"}, 7},
		{map[string]string{".git/info/exclude": "x\n"}, 6},
		{map[string]string{".git/info/exclude": ""}, 7},
	} {
		lay(t, w, step.files)
		s := snap(t, w)
		if s.settled = math.MaxInt64; s.Len() != step.want {
			t.Errorf("step %d: %d files, want %d", i, s.Len(), step.want)
		}
	}
}

// What a command changed takes at most twice its size of the disk: what stood there before, and after.
func TestSnapshotKeepsAtMostTwiceWhatChanged(t *testing.T) {
	w, _ := open(t, Options{})
	text := strings.Repeat("a line\n", 1000)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprintf("%s%03d\n", text, i)
	}
	lay(t, w, files)
	gitIn(t, w.Dir(), "init", "-q")
	gitIn(t, w.Dir(), "add", "-A")
	settle(t, w)
	before := snap(t, w)
	changed := map[string]string{}
	for i := range 10 {
		changed[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprintf("%s%03d\n", text, i+500)
	}
	lay(t, w, changed)
	if c := w.Diff(t0, before, snap(t, w)).Changes; len(c) != 10 {
		t.Fatalf("%d changes", len(c))
	}
	var size int64
	for _, at := range keptIn(t, w) {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if most := int64(2 * 10 * (len(text) + 4)); size > most {
		t.Errorf("%d bytes are kept, at most %d were wanted", size, most)
	}
}
