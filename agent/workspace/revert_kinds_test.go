package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ran is what a command does to a workspace, as the changes of an operation, the newest first.
func ran(t testing.TB, w *Workspace, command func(at func(name string) string) error) []Change {
	t.Helper()
	before := snap(t, w)
	if err := command(func(name string) string { return filepath.Join(w.Dir(), filepath.FromSlash(name)) }); err != nil {
		t.Fatal(err)
	}
	changes := w.Diff(t0, before, snap(t, w)).Changes
	slices.Reverse(changes)
	return changes
}

func revertAll(t testing.TB, w *Workspace, changes []Change) Reverted {
	t.Helper()
	done, err := w.Revert(t0, changes, false)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func inFile(name, text string) func(at func(string) string) error {
	return func(at func(string) string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(text), 0o644))
	}
}

func all(steps ...func(at func(string) string) error) func(at func(string) string) error {
	return func(at func(string) string) error {
		for _, s := range steps {
			if err := s(at); err != nil {
				return err
			}
		}
		return nil
	}
}

func renamed(from, to string) func(at func(string) string) error {
	return func(at func(string) string) error { return os.Rename(at(from), at(to)) }
}

func removed(name string) func(at func(string) string) error {
	return func(at func(string) string) error { return os.RemoveAll(at(name)) }
}

func linked(to, name string) func(at func(string) string) error {
	return func(at func(string) string) error {
		return errors.Join(os.RemoveAll(at(name)), os.Symlink(to, at(name)))
	}
}

func moded(name string, mode os.FileMode) func(at func(string) string) error {
	return func(at func(string) string) error { return os.Chmod(at(name), mode) }
}

// Whatever a command has done to the tree is taken back to the last bit, without a conflict, and the
// revert is taken back to what the command had left. Nothing of git's is touched by either.
func TestRevertOfWhatACommandDid(t *testing.T) {
	for name, command := range map[string]func(at func(string) string) error{
		"mode bits":             all(moded("script", 0o755), moded("data", 0o600)),
		"mode bits and content": all(inFile("script", "#!/bin/bash\n"), moded("script", 0o700)),
		"a deletion":            removed("script"),
		"a folder deleted":      removed("dir"),
		"a file renamed":        renamed("script", "other"),
		"a folder renamed":      renamed("dir", "new/../moved"),
		"into a new folder":     all(inFile("made/deep/x", ""), renamed("script", "made/deep/script")),
		"new folders":           all(inFile("a/b/c/d", "d\n"), inFile("a/e", "e\n"), inFile("dir/more/f", "f\n")),
		"a link retargeted":     linked("data", "link"),
		"a link made":           linked("script", "another"),
		"a link out":            linked("/etc/passwd", "link"),
		"a link removed":        removed("link"),
		"a link into a file":    all(removed("link"), inFile("link", "text\n")),
		"a file into a link":    linked("data", "script"),
		"a folder into a link":  linked("data", "dir"),
		"binary":                inFile("bin", "\x00\x01\xff"),
		"binary into text":      inFile("bin", "text\n"),
		"emptied":               inFile("script", ""),
		"filled":                inFile("empty", "text\n"),
		"an empty file made":    inFile("none", ""),
		"an empty file deleted": removed("empty"),
		"another case":          renamed("script", "Script"),
		"a folder's case":       renamed("dir", "Dir"),
		"a file into a folder":  all(removed("script"), inFile("script/a/b", "b\n"), inFile("script/c", "c\n")),
		"a folder into a file":  all(removed("dir"), inFile("dir", "text\n")),
		"a nested repository":   all(inFile("nested/f", "changed\n"), inFile("nested/new", "new\n")),
		"a submodule":           inFile("sub/f", "changed\n"),
		"all at once":           all(moded("script", 0o755), removed("dir"), inFile("dir", "file\n"), linked("bin", "link"), inFile("nested/x/y", "y\n"), renamed("data", "Data")),
	} {
		t.Run(name, func(t *testing.T) {
			w := variety(t)
			start := tree(t, w.Dir())
			changes := ran(t, w, command)
			left := tree(t, w.Dir())
			if len(changes) == 0 || slices.Equal(start, left) {
				t.Fatal("the command did nothing")
			}
			dry, err := w.Revert(t0, changes, true)
			if err != nil || !slices.Equal(tree(t, w.Dir()), left) {
				t.Fatalf("a dry run changed something, %v", err)
			}
			done := revertAll(t, w, changes)
			if len(done.Conflicts) > 0 || !slices.Equal(dry.Files, done.Files) {
				t.Errorf("%+v\nthe dry run said %+v", done, dry)
			}
			sameTree(t, "after the revert", tree(t, w.Dir()), start)
			again := revertAll(t, w, newest(done.Changes))
			if len(again.Conflicts) > 0 {
				t.Errorf("the revert of the revert: %+v", again)
			}
			sameTree(t, "after the revert of the revert", tree(t, w.Dir()), left)
			if third := revertAll(t, w, newest(again.Changes)); len(third.Conflicts) > 0 {
				t.Errorf("the third: %+v", third)
			}
			sameTree(t, "after the third", tree(t, w.Dir()), start)
		})
	}
}

// variety is a workspace with one of everything, in a repository.
func variety(t *testing.T) *Workspace {
	w, _ := open(t, Options{})
	gitIn(t, w.Dir(), "init", "-q")
	lay(t, w, map[string]string{"script": "#!/bin/sh\n", "data": "1\n2\n3\n", "dir/a": "a\n", "dir/deep/b": "b\n", "bin": "\x00\xff\x00", "empty": "",
		"nested/f": "f\n", "sub/f": "f\n", "sub/.git": "gitdir: ../.git/modules/sub\n"})
	if err := os.Symlink("script", filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, filepath.Join(w.Dir(), "nested"), "init", "-q")
	gitIn(t, w.Dir(), "add", "script", "data", "dir", "bin", "empty")
	gitIn(t, w.Dir(), "commit", "-q", "-m", "all")
	return w
}

func sameTree(t *testing.T, when string, got, want []string) {
	t.Helper()
	for _, l := range got {
		if !slices.Contains(want, l) {
			t.Errorf("%s there is %s", when, l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			t.Errorf("%s there is no %s", when, l)
		}
	}
}

// What the developer has done since stays in every case, and the conflict shows it beside what the
// revert would have put there.
func TestRevertConflictsShowBothSides(t *testing.T) {
	for _, tc := range []struct {
		name             string
		agent, developer func(at func(string) string) error
		path             string
		says             []string
	}{
		{"the same line", inFile("data", "1\nTWO\n3\n"), inFile("data", "0\n1\nmine\n3\n"), "data", []string{"from line 3", "| mine", "| 2"}},
		{"a new file", inFile("new", "n\n"), inFile("new", "mine\n"), "new", []string{"| mine", "(no file)"}},
		{"deleted and there again", removed("data"), inFile("data", "1\nmine\n3\n"), "data", []string{"from line 2", "| mine", "| 2"}},
		{"changed and deleted", inFile("data", "1\n"), removed("data"), "data", []string{"(no file)", "| 3"}},
		{"binary", inFile("bin", "\x00a"), inFile("bin", "\x00mine"), "bin", []string{"(no text, 5 bytes)", "(no text, 3 bytes)"}},
		{"a link", linked("data", "link"), linked("bin", "link"), "link", []string{"(a link to bin)", "(a link to script)"}},
		{"a folder in its place", inFile("script", "x\n"), all(removed("script"), inFile("script/mine", "m\n")), "script", []string{"a folder stands there now"}},
		{"a folder with more", all(removed("script"), inFile("script/a", "a\n")), inFile("script/mine", "m\n"), "script", []string{"with script/mine in it"}},
		{"a file above", removed("dir"), inFile("dir", "mine\n"), "dir/a", []string{"dir is no folder now"}},
		{"the mode", moded("script", 0o755), moded("script", 0o700), "script", []string{"-rwx------ now"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := variety(t)
			changes := ran(t, w, tc.agent)
			ran(t, w, tc.developer)
			left := tree(t, w.Dir())
			dry, err := w.Revert(t0, changes, true)
			if err != nil {
				t.Fatal(err)
			}
			done := revertAll(t, w, changes)
			i := slices.IndexFunc(done.Conflicts, func(c string) bool { return strings.HasPrefix(c, tc.path+": ") })
			if i < 0 || !slices.Equal(dry.Conflicts, done.Conflicts) || !slices.Contains(done.Files, RevertedFile{tc.path, "conflict"}) {
				t.Fatalf("%+v\nthe dry run says %q", done, dry.Conflicts)
			}
			for _, s := range tc.says {
				if !strings.Contains(done.Conflicts[i], s) {
					t.Errorf("it does not say %q: %s", s, done.Conflicts[i])
				}
			}
			if len(done.Changes) == 0 {
				sameTree(t, "after the conflict", tree(t, w.Dir()), left)
			}
		})
	}
}

func TestAConflictIsBounded(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 1000)+"\n", 100)
	c := &clash{"it stays", slices.Repeat([]sides{{1, long, long}}, 10)}
	if text := c.Error(); len(text) > 10_000 || !strings.Contains(text, "and 94 more lines") || !strings.Contains(text, "7 more places") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// On systems where the case of names does not count, two spellings are one file. Two names of one file
// are as that.
func TestRevertOfACaseOnlyRenameWhereCaseDoesNotCount(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"Readme": "text\n"})
	if err := os.Link(filepath.Join(w.Dir(), "Readme"), filepath.Join(w.Dir(), "README")); err != nil {
		t.Skip(err)
	}
	image := &Image{Digest: Digest([]byte("text\n")), Size: 5, Mode: 0o644}
	if _, err := w.store.Put([]byte("text\n")); err != nil {
		t.Fatal(err)
	}
	r := reversal{w: w}
	changes := []Change{{Path: "Readme", Before: image}, {Path: "README", After: image}}
	for _, name := range pathsOf(changes) {
		r.paths = append(r.paths, w.undo(name, changes))
	}
	r.makeRoom()
	if r.paths[0].status != "created" || r.paths[1].status != "deleted" {
		t.Errorf("Readme is %s and README %s", r.paths[0].status, r.paths[1].status)
	}
}

// A path that has become git's, or leads out, is a conflict of its own; the others are taken back.
func TestRevertLeavesAloneWhatItMayNotReach(t *testing.T) {
	w, home := open(t, Options{})
	lay(t, w, map[string]string{"a": "a\n", "dir/f": "f\n"})
	changes := ran(t, w, all(inFile("a", "b\n"), inFile("dir/f", "g\n")))
	write(t, filepath.Join(home, "out", "f"), "g\n")
	if err := errors.Join(os.RemoveAll(filepath.Join(w.Dir(), "dir")), os.Symlink(filepath.Join(home, "out"), filepath.Join(w.Dir(), "dir"))); err != nil {
		t.Fatal(err)
	}
	lay(t, w, map[string]string{".git/config": "b\n"})
	git := Change{Path: ".git/config", Before: changes[1].Before, After: changes[1].After}
	done := revertAll(t, w, append(changes, git))
	if len(done.Conflicts) != 2 || read(t, w, "a") != "a\n" || read(t, w, ".git/config") != "b\n" {
		t.Errorf("%+v", done)
	}
	if data, err := os.ReadFile(filepath.Join(home, "out", "f")); err != nil || string(data) != "g\n" {
		t.Errorf("outside there is %q, %v", data, err)
	}
}

// A document whose file has been deleted stands in the editor alone, and is taken back there.
func TestRevertOfAnOpenDocumentWithoutAFile(t *testing.T) {
	b := buffers{}
	w, _ := open(t, Options{Buffers: b, Apply: func(ctx context.Context, path string, version int32, old, new string) (string, error) {
		return b.apply(ctx, path, version, old, new)
	}})
	lay(t, w, map[string]string{"a": "one\ntwo\n"})
	changes := ran(t, w, inFile("a", "ONE\ntwo\n"))
	b["a"] = struct {
		text    string
		version int32
	}{"ONE\ntwo\nmine\n", 1}
	if err := os.Remove(filepath.Join(w.Dir(), "a")); err != nil {
		t.Fatal(err)
	}
	if done := revertAll(t, w, changes); len(done.Conflicts) != 0 && b["a"].text != "ONE\ntwo\nmine\n" || len(done.Conflicts) == 0 && b["a"].text != "one\ntwo\nmine\n" {
		t.Errorf("%+v, the document is %q", done, b["a"].text)
	}
}

// The file tools' new folders go with their last file, and no folder that was there before.
func TestRevertRemovesTheFoldersThatTheToolsMade(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"old/f": "f\n", "mv/in/x": "x\n"})
	start := tree(t, w.Dir())
	var changes []Change
	for _, do := range []func() (Result, error){
		func() (Result, error) { return w.Write(t0, "old/new/g", "g\n") },
		func() (Result, error) { return w.Write(t0, "a/b/c", "c\n") },
		func() (Result, error) { return w.Move(t0, "old/f", "p/q/f") },
		func() (Result, error) { return w.Move(t0, "mv", "a/mv") },
	} {
		r, err := do()
		if err != nil {
			t.Fatal(err)
		}
		changes = append(newest(r.Changes), changes...)
	}
	done := revertAll(t, w, changes)
	if len(done.Conflicts) > 0 {
		t.Errorf("%q", done.Conflicts)
	}
	sameTree(t, "after the revert", tree(t, w.Dir()), start)
}

// A conflict shows no secret, nor a part of one.
func TestAConflictShowsNoSecret(t *testing.T) {
	secret := strings.Repeat("s3cret", 100)
	w, _ := open(t, Options{Clean: func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }})
	lay(t, w, map[string]string{"a": "1\n"})
	changes := ran(t, w, inFile("a", "2\n"))
	made := ran(t, w, inFile("new", "1\n"))
	ran(t, w, all(inFile("a", "key "+secret+"\n"), inFile("new", "key "+secret+"\n")))
	for _, c := range append(revertAll(t, w, changes).Conflicts, revertAll(t, w, made).Conflicts...) {
		if strings.Contains(c, "s3cret") || !strings.Contains(c, "| key [redacted]") {
			t.Errorf("it shows %s", c)
		}
	}
}

// A file that reads like the one that the agent made, in bytes of another form, goes with them kept.
func TestRevertKeepsWhatItRemoves(t *testing.T) {
	w, _ := open(t, Options{})
	changes := ran(t, w, inFile("new", "text\n"))
	lay(t, w, map[string]string{"new": bom + "text\r\n"})
	if done := revertAll(t, w, changes); len(done.Conflicts) > 0 || done.Files[0].Status != "deleted" {
		t.Fatalf("%+v", done)
	}
	if kept, err := w.Content(Digest([]byte(bom + "text\r\n"))); err != nil || string(kept) != bom+"text\r\n" {
		t.Errorf("there is kept %q, %v", kept, err)
	}
}

// What changed between the look and the act stays.
func TestRevertActsOnWhatItLookedAt(t *testing.T) {
	w := variety(t)
	at := func(name string) form {
		f, err := w.formNow(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	link, script, data := at("link"), at("script"), at("data")
	left := tree(t, w.Dir())
	for name, act := range map[string]func() (Change, error){
		"relink": func() (Change, error) { return w.relink("link", data, link) },
		"remode": func() (Change, error) { return w.remode("script", data, script) },
		"vanish": func() (Change, error) { return w.vanish(&undone{name: "script", now: data}) },
		"unlink": func() (Change, error) {
			return w.vanish(&undone{name: "link", now: form{image: &Image{Mode: link.image.Mode, Link: "data"}}})
		},
		"become": func() (Change, error) {
			return w.become(t0, &undone{name: "script", now: data, then: at("bin"), status: "restored"})
		},
	} {
		if c, err := act(); !errors.Is(err, ErrChanged) || c.Path != "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	sameTree(t, "afterwards", tree(t, w.Dir()), left)
}
