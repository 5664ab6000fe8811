package scenario

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/protocol"
)

// heap is a store in memory that counts what is put into it.
type heap struct {
	kept map[string][]byte
	puts int
}

func (h *heap) Put(data []byte) (string, error) {
	h.puts++
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	h.kept[digest] = bytes.Clone(data)
	return digest, nil
}

func (h *heap) Get(digest string) ([]byte, error) {
	data, ok := h.kept[digest]
	if !ok {
		return nil, errors.New("it was not kept")
	}
	return data, nil
}

// newPlace is a workspace with files; a command is run by sh.
func newPlace(t testing.TB, files map[string]string) (*Place, *heap) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &heap{kept: map[string][]byte{}}
	p := &Place{Dir: dir, Store: h, Command: shell, Temp: t.TempDir()}
	for name, text := range files {
		p.write(t, name, text)
	}
	return p, h
}

func shell(ctx context.Context, dir, line string) (Ended, error) {
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir = dir
	out, err := c.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return Ended{}, err
	}
	return Ended{c.ProcessState.ExitCode(), string(out)}, nil
}

func needsShell(t testing.TB) {
	if runtime.GOOS == "windows" {
		t.Skip("the command lines here are written for sh")
	}
}

// write writes a file of the workspace, as old as if it had stood there long.
func (p *Place) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour + time.Duration(len(text))*time.Second)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func (p *Place) read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (p *Place) taken(t testing.TB, s Scenario) Snapshot {
	t.Helper()
	snap, err := p.Take(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func (p *Place) ran(t testing.TB, s Scenario, how How) Result {
	t.Helper()
	r, err := p.Run(t.Context(), s, how)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(p.Temp); err != nil || len(left) > 0 {
		t.Errorf("a copy is left: %v, %v", left, err)
	}
	return r
}

func (p *Place) drifted(t testing.TB, s Snapshot) []string {
	t.Helper()
	moved, err := p.Drift(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range moved {
		out = append(out, m.String())
	}
	return out
}

func expect[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var inputs = map[string]string{"data/a.csv": "id,kg\n1,10\n2,20\n", "data/deep/b.jsonl": "{\"n\":1}\n", "list.json": "[1,2]", "notes.txt": "one\n"}

// What moves is told in words that a developer reads, and only what is an input.
func TestDrift(t *testing.T) {
	report := Scenario{Name: "report", Run: "true", Inputs: []string{"data/**", "*.json", "notes.txt"}}
	rows := []struct {
		name string
		move func(t *testing.T, p *Place)
		want []string
	}{
		{"nothing", func(*testing.T, *Place) {}, nil},
		{"touched", func(t *testing.T, p *Place) { p.write(t, "notes.txt", inputs["notes.txt"]) }, nil},
		{"a row more", func(t *testing.T, p *Place) { p.write(t, "data/a.csv", "id,kg\n1,10\n2,20\n3,30\n") }, []string{"data/a.csv: +1 row"}},
		{"two lines less", func(t *testing.T, p *Place) { p.write(t, "data/deep/b.jsonl", "") }, []string{"data/deep/b.jsonl: -1 row"}},
		{"elements", func(t *testing.T, p *Place) { p.write(t, "list.json", "[1,2,3,4]") }, []string{"list.json: +2 rows"}},
		{"a field", func(t *testing.T, p *Place) { p.write(t, "data/a.csv", "id,kg\n1,10\n2,21\n") }, []string{"data/a.csv: changed, still 16 bytes"}},
		{"longer", func(t *testing.T, p *Place) { p.write(t, "notes.txt", strings.Repeat("x", 2048)) }, []string{"notes.txt: 4 bytes → 2 KB"}},
		{"gone", func(t *testing.T, p *Place) { os.Remove(filepath.Join(p.Dir, "notes.txt")) }, []string{"notes.txt: gone"}},
		{"new", func(t *testing.T, p *Place) { p.write(t, "data/c.csv", "x") }, []string{"data/c.csv: new, 1 byte"}},
		{"another file", func(t *testing.T, p *Place) { p.write(t, "other.txt", "x") }, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p, _ := newPlace(t, inputs)
			snap := p.taken(t, report)
			row.move(t, p)
			expect(t, "drift", p.drifted(t, snap), row.want)
			again, err := p.Load(snap.Digest())
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "drift of the snapshot that was loaded", p.drifted(t, again), row.want)
			if changed := p.taken(t, report).Digest() != snap.Digest(); changed != (row.want != nil) {
				t.Errorf("its digest has changed: %v", changed)
			}
		})
	}
}

// What was not touched is not read again.
func TestUnchangedIsNotRead(t *testing.T) {
	p, h := newPlace(t, inputs)
	s := Scenario{Name: "report", Run: "true", Inputs: []string{"**"}}
	p.taken(t, s)
	first := h.puts
	p.taken(t, s)
	if h.puts != first+1 { // the list alone
		t.Errorf("%d contents were put again", h.puts-first-1)
	}
	p.write(t, "notes.txt", "three")
	p.taken(t, s)
	if h.puts != first+3 {
		t.Errorf("after one change %d contents were put", h.puts-first-1)
	}
}

// What cannot be kept is an error that names it.
func TestTakeRefuses(t *testing.T) {
	rows := []struct {
		name   string
		s      Scenario
		limits Limits
		says   string
	}{
		{"no command", Scenario{Inputs: []string{"**"}}, Limits{}, "run is empty"},
		{"outside", Scenario{Run: "x", Inputs: []string{"../a"}}, Limits{}, "leads out of the workspace"},
		{"absolute", Scenario{Run: "x", Inputs: []string{"/etc/passwd"}}, Limits{}, "leads out of the workspace"},
		{"outputs outside", Scenario{Run: "x", Outputs: []string{"a/../../b"}}, Limits{}, "leads out of the workspace"},
		{"no pattern", Scenario{Run: "x", Inputs: []string{"[a"}}, Limits{}, "no pattern of files"},
		{"nothing there", Scenario{Run: "x", Inputs: []string{"order.db"}}, Limits{}, "no file matches order.db"},
		{"large", Scenario{Run: "x", Inputs: []string{"**"}}, Limits{Bytes: 5}, "data/a.csv is too large to keep: 16 bytes, at most 5 bytes"},
		{"large together", Scenario{Run: "x", Inputs: []string{"**"}}, Limits{Total: 20}, "too large to keep: more than 20 bytes"},
		{"many", Scenario{Run: "x", Inputs: []string{"**"}}, Limits{Files: 2}, "more than 2 inputs"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p, _ := newPlace(t, inputs)
			p.Limits = row.limits
			if _, err := p.Take(t.Context(), row.s); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %q", err, row.says)
			}
		})
	}
}

// A link that stays in the workspace is its file; one that leads out is an error; history and what is no
// file are no inputs.
func TestLinks(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, map[string]string{"a.txt": "one", ".git/index": "x"})
	if _, err := shell(t.Context(), p.Dir, "ln -s a.txt in; ln -s nowhere dangling; mkfifo pipe; mkdir d; ln -s d dir"); err != nil {
		t.Fatal(err)
	}
	s := Scenario{Name: "s", Run: "true", Inputs: []string{"**"}}
	snap := p.taken(t, s)
	var names []string
	for _, f := range snap.Files {
		names = append(names, f.Path)
	}
	expect(t, "inputs", names, []string{"a.txt", "in"})
	p.write(t, "a.txt", "changed")
	expect(t, "drift", p.drifted(t, snap), []string{"a.txt: 3 bytes → 7 bytes", "in: 3 bytes → 7 bytes"})
	if err := os.Symlink("/etc/hostname", filepath.Join(p.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Take(t.Context(), s); err == nil || !strings.Contains(err.Error(), "out") {
		t.Errorf("a link that leads out: %v", err)
	}
}

// On unchanged inputs the scenario runs where it lives; when they moved it runs on what was kept, its outputs
// stand in the workspace and the live input is as it was.
func TestRun(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, map[string]string{"orders.txt": "1\n2\n", "count.sh": "wc -l < orders.txt | tr -d ' ' > out/n.txt\nps=$PWD\necho done", "out/n.txt": "?"})
	s := Scenario{Name: "count", Run: "sh count.sh", Inputs: []string{"orders.txt"}, Outputs: []string{"out/*"}}
	snap := p.taken(t, s)
	first := p.ran(t, s, How{Snapshot: &snap})
	if first.Copied || first.Input != snap.Digest() || p.read(t, "out/n.txt") != "2\n" || first.Text != "done\n" || len(first.Stale)+len(first.Moved) > 0 {
		t.Errorf("in the workspace: %+v", first)
	}
	p.write(t, "orders.txt", "1\n2\n3\n")
	p.write(t, "out/n.txt", "?")
	aside := p.ran(t, s, How{Snapshot: &snap, Aside: true})
	if !aside.Copied || aside.Outputs[0] != first.Outputs[0] || p.read(t, "out/n.txt") != "?" {
		t.Errorf("aside: %+v", aside)
	}
	again := p.ran(t, s, How{Snapshot: &snap, Check: func(_ context.Context, dir string) ([]protocol.Check, error) {
		b, err := os.ReadFile(filepath.Join(dir, "orders.txt"))
		return []protocol.Check{{Tripwire: "orders", OK: string(b) == "1\n2\n", Expected: "2", Observed: fmt.Sprint(len(b) / 2)}}, err
	}})
	if !again.Copied || again.Input != snap.Digest() || !again.Checks[0].OK {
		t.Errorf("on the snapshot: %+v", again)
	}
	if p.read(t, "out/n.txt") != "2\n" || p.read(t, "orders.txt") != "1\n2\n3\n" {
		t.Errorf("the output is %q, the input %q", p.read(t, "out/n.txt"), p.read(t, "orders.txt"))
	}
	if len(again.Brought) != 1 || again.Brought[0].Path != "out/n.txt" || again.Brought[0].Before == "" || again.Brought[0].After != first.Outputs[0].Digest {
		t.Errorf("brought: %+v", again.Brought)
	}
	live := p.ran(t, s, How{})
	if live.Copied || live.Input == snap.Digest() || p.read(t, "out/n.txt") != "3\n" {
		t.Errorf("on the live inputs: %+v", live)
	}
}

// A failing command is a result; one that cannot be run is an error. An output that nobody wrote is told.
func TestRunFails(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, map[string]string{"in.txt": "x", "old.txt": "x"})
	s := Scenario{Name: "s", Run: "echo no; exit 3", Inputs: []string{"in.txt"}, Outputs: []string{"*.txt", "none/**"}}
	r := p.ran(t, s, How{})
	if r.ExitCode != 3 || r.Text != "no\n" || len(r.Outputs) != 2 {
		t.Errorf("got %+v", r)
	}
	expect(t, "stale", r.Stale, []string{"in.txt", "old.txt"})
	p.Command = func(context.Context, string, string) (Ended, error) { return Ended{}, errors.New("it took too long") }
	if _, err := p.Run(t.Context(), s, How{}); err == nil || !strings.Contains(err.Error(), "run the scenario s: it took too long") {
		t.Errorf("got %v", err)
	}
	if _, err := p.Run(t.Context(), s, How{Aside: true}); err == nil {
		t.Error("aside it is no error")
	}
	if left, err := os.ReadDir(p.Temp); err != nil || len(left) > 0 {
		t.Errorf("a copy is left: %v, %v", left, err)
	}
	s.Run, p.Command = "echo y >> in.txt", shell
	if r := p.ran(t, s, How{}); len(r.Moved) != 1 || r.Moved[0].Path != "in.txt" {
		t.Errorf("that the command writes its input is not told: %+v", r)
	}
}

// Whatever a command writes in a copy, the live files keep their bytes, but for the outputs.
func TestCopyReachesNoLiveFile(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, map[string]string{"in.txt": "in", "code.sh": "code", "node_modules/.cache/x": "cache", "lib/a": "a", ".git/HEAD": "ref", "ro/x": "x"})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "shared"), []byte("shared"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"rel": "lib", "abs": filepath.Join(p.Dir, "lib"), "out": outside, "lib/up": "../code.sh"} {
		if err := os.Symlink(to, filepath.Join(p.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(p.Dir, "lib/a"), filepath.Join(p.Dir, "hard")); err != nil {
		t.Fatal(err)
	}
	s := Scenario{Name: "s", Inputs: []string{"in.txt"}, Outputs: []string{"made.txt", "in.txt"}, Run: `
		test "$(basename "$PWD")" = "$(basename ` + shellWord(p.Dir) + `)" || exit 9
		test -e .git && exit 8
		test "$(cat out/shared)" = shared || exit 7
		for f in in.txt code.sh node_modules/.cache/x rel/a abs/a lib/up hard; do echo changed > $f; done
		echo made > made.txt; chmod 500 ro`}
	snap := p.taken(t, s)
	before := p.all(t)
	r := p.ran(t, s, How{Snapshot: &snap, Aside: true})
	if r.ExitCode != 0 {
		t.Fatalf("exit code %d: %s", r.ExitCode, r.Text)
	}
	expect(t, "the workspace after a run aside", p.all(t), before)
	p.write(t, "in.txt", "moved")
	before = p.all(t)
	r = p.ran(t, s, How{Snapshot: &snap})
	if r.ExitCode != 0 || len(r.Brought) != 1 || p.read(t, "made.txt") != "made\n" {
		t.Fatalf("got %+v", r)
	}
	if err := os.Remove(filepath.Join(p.Dir, "made.txt")); err != nil {
		t.Fatal(err)
	}
	expect(t, "the workspace after a run", p.all(t), before)
}

// shellWord is a path as one word for sh, whatever folder the tests run in.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// all is every file of the workspace with its content.
func (p *Place) all(t testing.TB) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(p.Dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		out = append(out, name+" "+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A copy has what the workspace has: modes, times, links, empty folders, and no more inputs than there were.
func TestCopyIsWhole(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, map[string]string{"bin/tool": "#!/bin/sh\necho tool", "in/a": "a"})
	if _, err := shell(t.Context(), p.Dir, "chmod 755 bin/tool; mkdir -p empty/deep; chmod 555 empty; touch -d '2001-02-03 04:05:06' bin/tool bin"); err != nil {
		t.Fatal(err)
	}
	s := Scenario{Name: "s", Inputs: []string{"in/*"}, Run: `bin/tool; ls in empty; stat -c '%a %Y' empty bin bin/tool 2>/dev/null || true`}
	snap := p.taken(t, s)
	inPlace := p.ran(t, s, How{Snapshot: &snap})
	p.write(t, "in/b", "b")
	copied := p.ran(t, s, How{Snapshot: &snap})
	if inPlace.Copied || !copied.Copied || inPlace.Text != copied.Text {
		t.Errorf("in the workspace:\n%s\nin the copy:\n%s", inPlace.Text, copied.Text)
	}
	if _, err := shell(t.Context(), p.Dir, "chmod 755 empty"); err != nil {
		t.Fatal(err)
	}
}

// A workspace that is too large to copy is an error in words.
func TestCopyIsBounded(t *testing.T) {
	p, _ := newPlace(t, inputs)
	p.Limits = Limits{CopyFiles: 2}
	_, err := p.Run(t.Context(), Scenario{Name: "s", Run: "true", Inputs: []string{"notes.txt"}}, How{Aside: true})
	if err == nil || !strings.Contains(err.Error(), "too large to run s aside") {
		t.Errorf("got %v", err)
	}
}

// A database is kept with its log, so that what was written last is there; the live one may go on.
func TestDatabase(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, nil)
	db, err := sql.Open("sqlite", filepath.Join(p.Dir, "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			if _, err := db.Exec(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	do("pragma journal_mode=wal", "create table orders(no)", "create table weights(no)", "insert into orders values (1),(2)")
	s := Scenario{Name: "s", Run: "cat orders.db-wal | wc -c | tr -d ' ' > n; cp orders.db out.db; cp orders.db-wal out.db-wal", Inputs: []string{"orders.db"}, Outputs: []string{"n", "out.db*"}}
	snap := p.taken(t, s)
	if len(snap.Files) != 2 || snap.Files[1].Path != "orders.db-wal" {
		t.Fatalf("kept: %+v", snap.Files)
	}
	do("insert into orders values (3)", "insert into weights values (1),(2)")
	expect(t, "drift", p.drifted(t, snap), []string{"orders.db: +1 row in orders, +2 rows in weights"})
	r := p.ran(t, s, How{Snapshot: &snap})
	if !r.Copied || p.read(t, "n") != fmt.Sprintln(snap.Files[1].Size) {
		t.Errorf("%+v; the log in the copy has %q bytes, kept were %d", r, p.read(t, "n"), snap.Files[1].Size)
	}
	do("update orders set no = 4 where no = 1", "delete from weights", "delete from orders where no = 3")
	expect(t, "drift", p.drifted(t, snap), []string{"orders.db: changed in its log, with as many rows"})
	got, ok := sqliteRows([]byte(p.read(t, "out.db")), []byte(p.read(t, "out.db-wal")))
	if !ok || got["orders"] != 2 || got["weights"] != 0 {
		t.Errorf("the copy's database has %v", got)
	}
}

// A log that a database got after the snapshot stays out of the copy: it belongs to other bytes.
func TestLogOfALaterTime(t *testing.T) {
	needsShell(t)
	p, _ := newPlace(t, nil)
	db, err := sql.Open("sqlite", filepath.Join(p.Dir, "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(line string) {
		t.Helper()
		if _, err := db.Exec(line); err != nil {
			t.Fatal(err)
		}
	}
	do("create table orders(no)")
	do("insert into orders values (1)")
	s := Scenario{Name: "s", Run: "ls", Inputs: []string{"orders.db"}}
	snap := p.taken(t, s)
	do("pragma journal_mode=wal")
	do("insert into orders values (2)")
	expect(t, "drift", p.drifted(t, snap), []string{"orders.db: +1 row in orders"})
	if r := p.ran(t, s, How{Snapshot: &snap}); !r.Copied || r.Text != "orders.db\n" {
		t.Errorf("the copy has %q", r.Text)
	}
}

// One file that cannot be read, and is no input, does not void a run.
func TestUnreadable(t *testing.T) {
	needsShell(t)
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	p, _ := newPlace(t, map[string]string{"in.txt": "x", "secret": "x", "closed/x": "x"})
	for _, name := range []string{"secret", "closed"} {
		if err := os.Chmod(filepath.Join(p.Dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(p.Dir, "closed"), 0o700)
	r := p.ran(t, Scenario{Name: "s", Run: "cat in.txt", Inputs: []string{"in.txt"}}, How{Aside: true})
	if r.ExitCode != 0 {
		t.Errorf("got %+v", r)
	}
	expect(t, "left", r.Left, []string{"closed", "secret"})
	if _, err := p.Take(t.Context(), Scenario{Name: "s", Run: "x", Inputs: []string{"secret"}}); err == nil {
		t.Error("an input that cannot be read was kept")
	}
}

// compared are the changes between two contents of one output, as text.
func compared(t testing.TB, name, before, after string) []string {
	t.Helper()
	p, h := newPlace(t, nil)
	run := func(text string) protocol.Run {
		if text == "-" {
			return protocol.Run{}
		}
		digest, err := h.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return protocol.Run{Outputs: []protocol.Output{{Path: name, Digest: digest, Bytes: int64(len(text))}}}
	}
	changes, err := p.Compare(run(before), run(after))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s: %s → %s", c.What, c.Before, c.After))
	}
	return out
}

func TestCompare(t *testing.T) {
	rows := []struct {
		what, name, before, after string
		want                      []string
	}{
		{"a number", "r.json", `{"kg":0,"rows":1}`, `{"kg":1200.0,"rows":1}`, []string{"r.json /kg: 0 → 1200.0"}},
		{"the same number", "r.json", `{"kg":1.0}`, `{"kg":1}`, []string{"r.json: 10 bytes, 9cdc7389 → 8 bytes, 8c5d4d38"}},
		{"the same in other words", "r.json", `{"a":1,"b":2}`, "{\n \"b\": 2, \"a\": 1e0 }", nil},
		{"a field comes and goes", "r.json", `{"a":{"b/c":1}}`, `{"a":{"d":""}}`, []string{"r.json /a/b~1c: 1 → not there", `r.json /a/d: not there → ""`}},
		{"another kind", "r.json", `{"a":"1"}`, `{"a":[1]}`, []string{"r.json /a: 1 → [1]"}},
		{"objects by key", "r.json", `[{"id":1,"kg":1},{"id":2,"kg":2},{"id":3,"kg":3}]`, `[{"id":3,"kg":3},{"id":1,"kg":9},{"id":4,"kg":4}]`,
			[]string{"r.json [id=1]/kg: 1 → 9", `r.json [id=2]: {"id":2,"kg":2} → not there`, `r.json [id=4]: not there → {"id":4,"kg":4}`}},
		{"objects without a key", "r.json", `[{"kg":1.5},{"kg":2.5}]`, `[{"kg":1.5},{"kg":3.5}]`, []string{"r.json /1/kg: 2.5 → 3.5"}},
		{"one inserted", "r.json", `["a","b"]`, `["a","x","b"]`, []string{"r.json /1: not there → x"}},
		{"lines of JSON", "r.jsonl", "{\"name\":\"a\",\"n\":1}\n{\"name\":\"b\",\"n\":1}\n", "{\"name\":\"b\",\"n\":2}\n\n{\"name\":\"a\",\"n\":1}", []string{"r.jsonl [name=b]/n: 1 → 2"}},
		{"no JSON any more", "r.json", `{"a":1}`, "Traceback\n", []string{`r.json line 1: {"a":1} → Traceback`}},
		{"a table by key", "r.csv", "order_no,kg\n1,10\n2,20\n", "order_no,kg\n2,21\n1,10\n3,30\n", []string{"r.csv order_no=2 kg: 20 → 21", "r.csv order_no=3: not there → 3, 30"}},
		{"a key that is not the first", "r.csv", "kind,no\na,1\na,2\n", "kind,no\na,1\nb,2\n", []string{"r.csv no=2 kind: a → b"}},
		{"columns", "r.csv", "no,a,b\n1,x,y\n", "no,b,c\n1,y,z\n", []string{"r.csv column a: there → not there", "r.csv column c: not there → there"}},
		{"semicolons and an empty field", "r.csv", "no;kg\n1;1,5\n", "no;kg\n1;\n", []string{`r.csv no=1 kg: 1,5 → ""`}},
		{"a table without a key", "r.csv", "a\n1\n1\n", "a\n1\n2\n1\n", []string{"r.csv line 3: not there → 2"}},
		{"text", "log.txt", "a\nb\nc\n", "a\nB\nc\nd\n", []string{"log.txt line 2: b → B", "log.txt line 4: not there → d"}},
		{"bytes", "x.bin", "a\x00b", "a\x00bc", []string{"x.bin: 3 bytes, 59b271ff → 4 bytes, c8e0ffc7"}},
		{"came", "x", "-", "abc", []string{"x: not there → 3 bytes"}},
		{"went", "x", "abc", "-", []string{"x: 3 bytes → not there"}},
		{"the same", "x", "abc", "abc", nil},
	}
	for _, row := range rows {
		t.Run(row.what, func(t *testing.T) {
			got := compared(t, row.name, row.before, row.after)
			if row.want == nil && row.before != row.after { // other bytes, the same meaning
				if len(got) != 1 || !strings.Contains(got[0], "bytes, ") {
					t.Errorf("got %q", got)
				}
				return
			}
			for i := range min(len(got), len(row.want)) { // digests are not written out here
				if cut := strings.Index(row.want[i], " bytes, "); cut >= 0 {
					row.want[i], got[i] = row.want[i][:cut], got[i][:min(cut, len(got[i]))]
				}
			}
			expect(t, "changes", got, row.want)
		})
	}
}

// Many changes are bounded, and long values clipped.
func TestCompareIsBounded(t *testing.T) {
	var before, after strings.Builder
	before.WriteString("no,v\n")
	after.WriteString("no,v\n")
	for i := range 100 {
		fmt.Fprintf(&before, "%d,%s\n", i, strings.Repeat("a", 500))
		fmt.Fprintf(&after, "%d,%s\n", i, strings.Repeat("b", 500))
	}
	got := compared(t, "r.csv", before.String(), after.String())
	if len(got) != mostChanges+1 || got[mostChanges] != "60 more changes: … → …" || len([]rune(got[0])) > 300 {
		t.Errorf("%d changes, the last %q, the first %q", len(got), got[len(got)-1], got[0])
	}
	p, _ := newPlace(t, nil)
	huge := func(digest string) protocol.Run {
		return protocol.Run{Outputs: []protocol.Output{{Path: "x", Digest: digest, Bytes: mostCompared + 1}}}
	}
	if c, err := p.Compare(huge("aaaaaaaaaa"), huge("bbbbbbbbbb")); err != nil || len(c) != 1 || c[0].Before != "16 MB, aaaaaaaa" {
		t.Errorf("%v, %v", c, err)
	}
}

// Right behind a snapshot nothing has moved, and a run compared with itself has no changes; what one
// content says against another it says in the other direction too.
func TestProperties(t *testing.T) {
	names := []string{"a.json", "b.csv", "c.jsonl", "d.txt", "deep/e.bin"}
	rapid.Check(t, func(rt *rapid.T) {
		p, h := newPlace(t, nil)
		content := rapid.OneOf(rapid.String(), rapid.StringMatching(`(\[|\{|"|1|,|:|\}|\]|\n){0,12}`), rapid.StringMatching(`a,b\n(1,[12]\n|2,[12]\n){0,3}`))
		var before, after protocol.Run
		for _, name := range names {
			x, y := content.Draw(rt, name), content.Draw(rt, name)
			p.write(t, name, x)
			for text, run := range map[string]*protocol.Run{x: &before, y: &after} {
				digest, err := h.Put([]byte(text))
				if err != nil {
					rt.Fatal(err)
				}
				run.Outputs = append(run.Outputs, protocol.Output{Path: name, Digest: digest, Bytes: int64(len(text))})
			}
		}
		snap, err := p.Take(context.Background(), Scenario{Name: "s", Run: "true", Inputs: []string{"**"}})
		if err != nil {
			rt.Fatal(err)
		}
		if moved, err := p.Drift(context.Background(), snap); err != nil || len(moved) > 0 || len(snap.Files) != len(names) {
			rt.Fatalf("drift %v, %v of %d files", moved, err, len(snap.Files))
		}
		same, err := p.Compare(before, before)
		there, err2 := p.Compare(before, after)
		back, err3 := p.Compare(after, before)
		if err := errors.Join(err, err2, err3); err != nil || len(same) > 0 || (len(there) > 0) != (len(back) > 0) {
			rt.Fatalf("itself %v, there %v, back %v: %v", same, there, back, err)
		}
	})
}

// A snapshot of 10,000 files that did not change reads none of them.
func BenchmarkTakeUnchanged(b *testing.B) {
	p, h := newPlace(b, nil)
	for i := range 10_000 {
		p.write(b, fmt.Sprintf("data/%d/%d.txt", i%100, i), fmt.Sprint(i))
	}
	s := Scenario{Name: "s", Run: "true", Inputs: []string{"data/**"}}
	p.taken(b, s)
	puts := h.puts
	for b.Loop() {
		p.taken(b, s)
	}
	b.StopTimer()
	if h.puts-puts > b.N+1 {
		b.Errorf("%d contents were put again", h.puts-puts)
	}
}

// A copy of a workspace of 2,000 files, and the removal of it.
func BenchmarkRunAside(b *testing.B) {
	needsShell(b)
	p, _ := newPlace(b, map[string]string{"in.txt": "x"})
	for i := range 2_000 {
		p.write(b, fmt.Sprintf("code/%d/%d.txt", i%100, i), strings.Repeat("x", 4096))
	}
	s := Scenario{Name: "s", Run: "true", Inputs: []string{"in.txt"}}
	for b.Loop() {
		p.ran(b, s, How{Aside: true})
	}
}
