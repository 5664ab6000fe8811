package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent/rehearsal"
	"tandem/protocol"
)

// theirs is what the recorded agent says, and apiKey what opens the model's server.
const (
	theirs = "tok-9f8e7d6c5b"
	apiKey = "sk-not-to-be-written"
)

// studio is a workspace whose sessions are recorded, with the model's server that they ask.
type studio struct {
	t         *testing.T
	dir, file string
	model     *rehearsal.Server
}

func newStudio(t *testing.T, script string) *studio {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := rehearsal.Parse(script, archive)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	st := &studio{t: t, dir: filepath.Join(temp, "ws"), file: filepath.Join(temp, "session.txtar")}
	if err := s.Unpack(st.dir); err != nil {
		t.Fatal(err)
	}
	if st.model, err = rehearsal.Serve(t.Context(), s, rehearsal.Options{Steers: steersIn}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.model.Close() })
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": temp, "XDG_STATE_HOME": temp, "XDG_CONFIG_HOME": temp, "NO_COLOR": "",
		"OPENAI_BASE_URL": st.model.URL, "OPENAI_API_KEY": apiKey, "TANDEM_MODEL": "rehearsal", "SERVICE_TOKEN": theirs, "TMPDIR": temp} {
		t.Setenv(name, value)
	}
	return st
}

// record records a session; when one of the texts has been written, its line comes from stdin.
func (st *studio) record(lines map[string]string, args ...string) (int, string, string) {
	st.t.Helper()
	said := make(chan string, len(lines))
	in, typing := io.Pipe()
	c := &console{seen: map[string]func(){}}
	for text, line := range lines {
		c.seen[text] = func() { said <- line + "\n" }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for line := range said {
			io.WriteString(typing, line)
		}
	}()
	args = append([]string{"run", "--workspace", st.dir, "--record", st.file}, args...)
	code := run(args, std{in: in, out: c, err: &c.err, getenv: os.Getenv})
	in.Close()
	close(said)
	<-ended
	return code, c.text(), c.err.String()
}

// play plays the recording by itself and gives the folder in which it did.
func (st *studio) play(file string, more ...string) (code int, out, errs, dir string) {
	st.t.Helper()
	dir = filepath.Join(st.t.TempDir(), "kept")
	c := &console{}
	code = run(append([]string{"demo", "--fast", "--keep", dir, file}, more...), std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv})
	return code, c.text(), c.err.String(), dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// outline is what two plans have to share.
func outline(t *testing.T, plan *protocol.Plan) string {
	t.Helper()
	if plan == nil {
		t.Fatal("there is no plan")
	}
	var b strings.Builder
	for _, s := range plan.Steps {
		b.WriteString(s.ID + " " + s.Title + " " + string(s.Status) + "\n")
	}
	return b.String()
}

func TestARecordedSessionPlaysAgain(t *testing.T) {
	st := newStudio(t, "record.txtar")
	write(t, st.dir, map[string]string{".env": "PASSWORD=hunter2\n", "api.key": "abc\n", "ignored.txt": "ignored\n", "picture.bin": "\x00\x01",
		"settings.txt": "token " + theirs, "script.txtar": "-- a --\n"})
	code, out, errs := st.record(map[string]string{`first."`: "Write it in capitals.", `looking\n`: "That is enough."}, "--json", "Write the list.", theirs)
	if code != exitDone || errs != "" {
		t.Fatalf("run --record: exit code %d, %s\n%s", code, errs, out)
	}
	archive, err := os.ReadFile(st.file)
	if err != nil {
		t.Fatal(err)
	}
	tape := string(archive)
	for _, never := range []string{theirs, apiKey, "hunter2", "abc\n", "ignored\n", "\x00"} {
		if strings.Contains(tape, never) {
			t.Errorf("%q stands in the recording:\n%s", never, tape)
		}
	}
	contains(t, tape, "-- task --\nWrite the list. [SERVICE_TOKEN redacted]\n", "-- workspace/list.txt --\none\n", "  .env: its name", "  api.key: its name", "  picture.bin: it is no text",
		"  script.txtar: a line of it", "  settings.txt: a secret was taken out", "  settings.txt: a final newline", "on steer\n  Write it in capitals.\n",
		"on steer\n  That is enough.\ncancelled 3\nrunning 2\n")
	if info, err := os.Stat(st.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}

	code, again, errs, dir := st.play(st.file, "--json")
	if code != exitDone || errs != "" {
		t.Fatalf("demo: exit code %d, %s\n%s", code, errs, again)
	}
	var first protocol.SessionResult
	var second struct{ Before, After *protocol.Plan }
	decodeLast(t, out, &first)
	decodeLast(t, again, &second)
	if a, b := outline(t, first.Session.Plan), outline(t, second.After); a != b {
		t.Errorf("the plan was\n%s, then\n%s", a, b)
	}
	was, is := files(t, st.dir), files(t, dir)
	for _, left := range []string{".env", "api.key", "ignored.txt", "picture.bin", "script.txtar", "settings.txt"} {
		delete(was, left)
	}
	delete(is, "settings.txt")
	if !maps.Equal(was, is) {
		t.Errorf("the files were %q, then %q", was, is)
	}
	if _, wanted := is["unwanted.txt"]; wanted || !strings.HasPrefix(is["list.txt"], "ONE\nTWO\n") {
		t.Errorf("the files are %q", is)
	}
}

// files are those of a folder, secrets taken out: in a replay there are none.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all, err := contents(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range all {
		all[name] = strings.ReplaceAll(text, theirs, "[SERVICE_TOKEN redacted]")
	}
	return all
}

func decodeLast(t *testing.T, out string, into any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("the last line is %s: %v", lines[len(lines)-1], err)
	}
}

func TestASteerAfterTheEndIsPlayedToo(t *testing.T) {
	st := newStudio(t, "record.txtar")
	file := filepath.Join(t.TempDir(), "after.txtar")
	write(t, filepath.Dir(file), map[string]string{"after.txtar": `rehearsal 1

-- task --
Do nothing.
-- workspace/a.txt --
a
-- beats/010-finish --
call finish
  intent: It is done.
  step: ""
  summary: Nothing is done.
-- beats/020-replan --
on steer
  Do something.
call update_plan
  intent: Do as you say.
  explanation: Something.
  steps:
    - {id: s1, title: Do it, intent: You want it., status: active}
-- beats/030-write --
call write_file
  intent: Do it.
  step: s1
  path: a.txt
  content: "b\n"
-- beats/040-wait --
say
  I wait.
hold
`})
	code, out, errs, _ := st.play(file)
	if code != exitWaiting || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	contains(t, out, "REPLAY  ", "Nothing is done.", "› Do something.", "PLAN  revision 1", "The story waits for a developer here", "WHAT CHANGED IN THE FILES", "  +b")
	if strings.Contains(out, "The last command that passed") || strings.Contains(out, "NOW WITH YOUR OWN MODEL") {
		t.Errorf("more is said than happened:\n%s", out)
	}
}

func TestWhatCannotBeRecorded(t *testing.T) {
	st := newStudio(t, "record.txtar")
	write(t, filepath.Dir(st.file), map[string]string{"session.txtar": "mine"})
	if code, _, errs := st.record(nil, "x"); code != exitFailed || !strings.Contains(errs, "is there already; name a new one") {
		t.Errorf("a file that is there: exit code %d, %s", code, errs)
	}
	st.file = filepath.Join(st.dir, "session.txtar")
	if code, _, errs := st.record(nil, "x"); code != exitFailed || !strings.Contains(errs, "lies in the workspace") {
		t.Errorf("a file in the workspace: exit code %d, %s", code, errs)
	}
	st.file = filepath.Join(filepath.Dir(st.dir), "new.txtar")
	if code, _, errs := st.record(nil, "--session", "20261130-030000-abcdef", "x"); code != exitUsage || !strings.Contains(errs, "can't be used together") {
		t.Errorf("--record with --session: exit code %d, %s", code, errs)
	}
	t.Setenv("TANDEM_MODEL", "")
	if code, _, errs := st.record(nil, "x"); code != exitFailed || !strings.Contains(errs, "no model is named") {
		t.Errorf("without a model: exit code %d, %s", code, errs)
	}
	if _, err := os.Stat(st.file); err == nil {
		t.Error("a file was made for nothing")
	}
	if code, _, errs, _ := st.play(st.file); code != exitFailed || !strings.Contains(errs, "there is no file") {
		t.Errorf("demo of no file: exit code %d, %s", code, errs)
	}
}

func TestAWorkspaceIsPackedWithinBounds(t *testing.T) {
	dir := t.TempDir()
	for i := range 450 {
		name := filepath.Join("many", string(rune('a'+i%26)), strings.Repeat("x", 1+i/26)+".txt")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, map[string]string{name: "text\n"})
	}
	write(t, dir, map[string]string{"large.txt": strings.Repeat("0123456789abcde\n", mostPacked/16), "last.txt": "z\n"})
	p, err := pack(t.Context(), dir, func(text string) string { return text })
	if err != nil {
		t.Fatal(err)
	}
	if len(p.files) != 451 || !slices.Equal(p.leftOut, []string{"large.txt: it does not fit into the 2 MB that a recording takes along"}) {
		t.Errorf("packed are %d files; left out are %q", len(p.files), p.leftOut)
	}
}

func TestTheSteersInAMessage(t *testing.T) {
	for text, want := range map[string][]string{
		"[task]\nsteer it": nil,
		"[steer t1] The developer says:\nkeep\nthe name\nAnswer with update_plan first.":                                                                                                 {"keep\nthe name"},
		"[op1] ended\n\n[steer t1] The developer says:\na\nIt is about step s1 «x».\nAnswer with update_plan first.\n\n[steer t2] The developer says:\nb\nThe session is paused: answer": {"a", "b"},
	} {
		if got := steersIn(text); !slices.Equal(got, want) {
			t.Errorf("in %q are %q, want %q", text, got, want)
		}
	}
}

func TestARecordingEndsWithItsCaller(t *testing.T) {
	st := newStudio(t, "record.txtar")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c := &console{seen: map[string]func(){"PLAN  revision 1": stop}}
	err := (&runCommand{place: place{Workspace: st.dir}, Record: st.file, Task: []string{"x"}}).Run(ctx, std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv})
	if e := (*exitError)(nil); !errors.As(err, &e) || e.code != exitWaiting {
		t.Errorf("it ended with %v", err)
	}
	archive, readErr := os.ReadFile(st.file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if _, err := rehearsal.Parse("session.txtar", archive); err != nil {
		t.Error(err)
	}
	contains(t, c.text(), "The session stops with this window", "Recorded in ")
}
