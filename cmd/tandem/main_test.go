package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tandem/agent/command"
	"tandem/agent/rehearsal"
	"tandem/agent/secret"
	"tandem/protocol"
	"tandem/server"
	"tandem/server/daemon"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	command.Supervise() // commands of a session are this program, started again
	goleak.VerifyTestMain(m)
}

// console is a terminal's other end: what was written, and what is typed line by line.
type console struct {
	mu       sync.Mutex
	out, err bytes.Buffer
	seen     map[string]func() // done once, when the text has been written
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Write(b)
	for text, do := range c.seen {
		if strings.Contains(c.out.String(), text) {
			delete(c.seen, text)
			do()
		}
	}
	return len(b), nil
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// desk is a workspace with a daemon and a model of its own.
type desk struct {
	t   *testing.T
	dir string
}

// newDesk plays a script to a daemon that listens where the workspace's daemon is looked for. The
// variables in unset are not set for it.
func newDesk(t *testing.T, script string, unset ...string) *desk {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	s, err := rehearsal.Parse(script, archive)
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("", "t") // t.TempDir is too long for a socket's path on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	d := &desk{t: t, dir: filepath.Join(temp, "ws")}
	if err := s.Unpack(d.dir); err != nil {
		t.Fatal(err)
	}
	model, err := rehearsal.Serve(t.Context(), s, rehearsal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": temp, "XDG_STATE_HOME": temp, "XDG_CONFIG_HOME": temp,
		"OPENAI_BASE_URL": model.URL, "OPENAI_API_KEY": "", "TANDEM_MODEL": "rehearsal", "NO_COLOR": ""} {
		t.Setenv(name, value)
	}
	for _, name := range unset {
		t.Setenv(name, "")
	}
	t.Cleanup(func() { holdsNoSecrets(t, server.StateFolder(os.Getenv)) }) // when it is closed
	d.serve()
	return d
}

func (d *desk) serve() {
	d.t.Helper()
	build, err := daemon.Build()
	if err != nil {
		d.t.Fatal(err)
	}
	path, err := daemon.Path(d.dir, build)
	if err != nil {
		d.t.Fatal(err)
	}
	l, err := daemon.Listen(path)
	if err != nil {
		d.t.Fatal(err)
	}
	registry := server.NewRegistry(server.Options{State: server.StateFolder(os.Getenv), Environ: os.Environ()})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- registry.ServeAll(ctx, l, time.Hour, time.Hour) }()
	d.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			d.t.Error(err)
		}
		if err := registry.Close(); err != nil {
			d.t.Error(err)
		}
	})
}

// holdsNoSecrets looks through all that a daemon has written, but for the bytes of files, for what
// the environment and its look betray as a secret.
func holdsNoSecrets(t *testing.T, dir string) {
	secrets := secret.New(os.Environ())
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && e.Name() == "store" {
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && secrets.Text(string(text)) != string(text) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// tandem runs a command in the workspace and gives its exit code and what it wrote.
func (d *desk) tandem(stdin string, args ...string) (int, string, string) {
	d.t.Helper()
	return d.tandemAt(&console{}, stdin, args...)
}

func (d *desk) tandemAt(c *console, stdin string, args ...string) (int, string, string) {
	d.t.Helper()
	args = append([]string{args[0], "--workspace", d.dir}, args[1:]...)
	code := run(args, std{in: strings.NewReader(stdin), out: c, err: &c.err, getenv: os.Getenv})
	return code, c.text(), c.err.String()
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not stand in:\n%s", w, text)
		}
	}
}

func TestRunShowsTheWorkAsLines(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out, errs := d.tandem("", "run", "Greet", "the", "world.")
	if code != exitDone || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	contains(t, out, "● Working · balanced · model rehearsal", "I greet the world in two steps.", "PLAN  revision 1",
		"▶ 1  Write the greeting  · active · hello.txt", "· Write the greeting.  · hello.txt", "~ changed hello.txt  +1 −1",
		"· Read it aloud.  · cat hello.txt", "✓ passed · exit 0", "✓ DONE\n  The world is greeted.", "tandem run --session ")
	if strings.Contains(out, "\x1b") {
		t.Errorf("there are escapes in a pipe:\n%q", out)
	}
	if b, err := os.ReadFile(filepath.Join(d.dir, "hello.txt")); err != nil || string(b) != "hello world\n" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestRunAsJSON(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out, errs := d.tandem("", "run", "--json", "Greet the world.")
	if code != exitDone || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := int64(0)
	methods := map[string]int{}
	for _, text := range lines[:len(lines)-1] {
		var n struct {
			Method string
			Params protocol.Event
		}
		if err := json.Unmarshal([]byte(text), &n); err != nil || n.Params.Seq < last || n.Params.SessionID == "" {
			t.Fatalf("line %s: %v", text, err)
		}
		last = n.Params.Seq
		methods[n.Method]++
	}
	// Words are ephemeral: this story may have said its own before the client is there.
	if methods[protocol.NotePlanChanged] == 0 || methods[protocol.NoteProgress] == 0 || methods[protocol.NoteFilesChanged] != 1 {
		t.Errorf("the notifications are %v", methods)
	}
	var end protocol.SessionResult
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Session.Mode != protocol.Done {
		t.Errorf("the last line is %s, %v", lines[len(lines)-1], err)
	}
}

func TestAPipeSteersAndAWaitingRunEndsWithThree(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	code, out, _ := d.tandem("let it fail\n", "run", "Greet the world.")
	if code != exitWaiting {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "› let it fail  · steer received", "steer applied in revision", "! Nothing good comes of it.",
		"✗ failed · exit 3", "      so it ends", "? QUESTION · your turn\n  Whom shall I greet?\n  1 the world\n  2 the moon",
		"The session stays, waiting for you.")

	code, out, _ = d.tandem("", "decide")
	contains(t, out, "Whom shall I greet?")
	if code != exitDone {
		t.Errorf("decide without an answer: exit code %d", code)
	}
	if code, _, errs := d.tandem("", "decide", "7"); code != exitFailed || !strings.Contains(errs, "there is no option 7") {
		t.Errorf("decide 7: exit code %d, %s", code, errs)
	}
	if code, out, errs := d.tandem("", "decide", "2"); code != exitDone {
		t.Errorf("decide 2: exit code %d, %s%s", code, out, errs)
	}
	// The session goes on by itself, and the log tells to the end.
	code, out, _ = d.tandem("", "log", "-f")
	if code != exitDone {
		t.Errorf("log: exit code %d", code)
	}
	contains(t, out, "started          Greet the world.", " let it fail\n", "questionAnswered q1 the moon\n",
		"finished         The moon is greeted.")
}

func TestInterruptPausesAndEndsAPipe(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	c := &console{seen: map[string]func(){`"delta":"stop `: func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if err != nil {
			t.Error(err)
		}
	}}}
	code, out, _ := d.tandemAt(c, "wait\n", "run", "--json", "Greet the world.")
	if code != exitWaiting {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, `"mode":"paused"`)

	if code, out, errs := d.tandem("", "resume"); code != exitDone {
		t.Errorf("resume: exit code %d, %s%s", code, out, errs)
	}
	_, out, _ = d.tandem("", "status")
	contains(t, out, "● Working", "Greet the world.")
	code, out, _ = d.tandem("", "pause", "--json")
	contains(t, out, `"by":"developer"`)
	if code != exitDone {
		t.Errorf("pause: exit code %d", code)
	}
	_, out, _ = d.tandem("", "sessions")
	contains(t, out, "Greet the world.  · Paused · your turn")
	if code, _, errs := d.tandem("", "end"); code != exitDone {
		t.Errorf("end: exit code %d, %s", code, errs)
	}
	if code, _, errs := d.tandem("", "steer", "once more"); code != exitFailed || !strings.Contains(errs, "every session of this workspace has ended") {
		t.Errorf("steer after the end: exit code %d, %s", code, errs)
	}
}

func TestASessionIsSteeredFromAnotherWindow(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	if code, _, errs := d.tandem("", "run", "Greet the world."); code != exitDone {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	code, out, _ := d.tandem("", "plan")
	contains(t, out, "PLAN  revision 1", "1  Write the greeting", "2  Read it aloud")
	if code != exitDone {
		t.Errorf("plan: exit code %d", code)
	}
	if code, _, errs := d.tandem("", "steer", "--step", "7", "no"); code != exitFailed || !strings.Contains(errs, "the plan has no such step") {
		t.Errorf("steer an unknown step: exit code %d, %s", code, errs)
	}
	code, out, errs := d.tandem("", "steer", "--json", "--step", "2", "let it fail")
	if code != exitDone {
		t.Fatalf("steer: exit code %d, %s", code, errs)
	}
	var r protocol.SteerResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.SteerID == "" || r.Seq == 0 {
		t.Errorf("the receipt is %s, %v", out, err)
	}
	var list protocol.ListResult
	_, out, _ = d.tandem("", "sessions", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Sessions) != 1 {
		t.Fatalf("the sessions are %s, %v", out, err)
	}
	code, out, _ = d.tandem("", "run", "--session", list.Sessions[0].ID)
	contains(t, out, "QUESTION", "Whom shall I greet?")
	if code != exitWaiting {
		t.Errorf("run --session: exit code %d", code)
	}
	_, out, _ = d.tandem("", "plan", "--revision", "1")
	contains(t, out, "Write the greeting")
}

func TestARunWithoutAModelSaysWhatToDo(t *testing.T) {
	d := newDesk(t, "greet.txtar", "TANDEM_MODEL")
	code, _, errs := d.tandem("", "run", "Greet the world.")
	contains(t, errs, "no model is named: set TANDEM_MODEL", "tandem demo", "tandem doctor")
	if code != exitFailed {
		t.Errorf("run: exit code %d", code)
	}
	code, out, _ := d.tandem("", "doctor")
	contains(t, out, "✗ model      missing  no model is named", "sandbox    ", "✓ state      ok", "/v1 answers")
	if code != exitFailed {
		t.Errorf("doctor: exit code %d", code)
	}
}

func TestTheDoctor(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	t.Setenv("OPENAI_API_KEY", "sk-not-to-be-shown")
	code, out, _ := d.tandem("", "doctor")
	contains(t, out, "OPENAI_API_KEY is set", "answers, and knows rehearsal", "runs for this workspace")
	if code != exitDone || strings.Contains(out, "sk-not") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	code, out, _ = d.tandem("", "doctor", "--json")
	var found struct{ Checks []check }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	i := slices.IndexFunc(found.Checks, func(c check) bool { return c.Name == "server" })
	if code != exitFailed || i < 0 || found.Checks[i].State != checkMissing || !strings.Contains(found.Checks[i].Text, "does not answer: connection refused") {
		t.Errorf("exit code %d: %+v", code, found.Checks)
	}
	for status, want := range map[int]string{401: checkMissing, 404: checkNote, 500: checkNote, 200: checkOK} {
		if got := serverCheck("http://x", "m", status, nil); got.State != want {
			t.Errorf("status %d: %+v", status, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"nonsense"}, {"run", "--autonomy", "wild", "x"}, {"steer"}} {
		c := &console{}
		if code := run(args, std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}); code != exitUsage || c.err.Len() == 0 {
			t.Errorf("tandem %v: exit code %d, %s", args, code, c.err.String())
		}
	}
	for _, args := range [][]string{{}, {"--help"}, {"run", "--help"}, {"version"}, {"version", "--json"}} {
		c := &console{}
		if code := run(args, std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}); code != exitDone || c.out.Len() == 0 {
			t.Errorf("tandem %v: exit code %d, %s", args, code, c.err.String())
		}
	}
}

// What the program says of its failures, and of the setup, is shown to others who shall help.
func TestWordsHoldNoSecrets(t *testing.T) {
	const word = "c4nary-plain-token-value"
	t.Setenv("SHOP_TOKEN", word)
	for _, err := range []error{errors.New("said " + word), &exitError{exitFailed, "said " + word}} {
		c := &console{}
		if exitCode(std{err: c}, err); c.text() != "tandem: said [SHOP_TOKEN redacted]\n" {
			t.Errorf("%T: %q", err, c.text())
		}
	}
	temp := t.TempDir()
	for name, value := range map[string]string{"TANDEM_MODEL": word, "OPENAI_BASE_URL": "http://127.0.0.1:1", "XDG_STATE_HOME": temp, "XDG_CONFIG_HOME": temp, "XDG_RUNTIME_DIR": temp} {
		t.Setenv(name, value)
	}
	c := &console{}
	run([]string{"doctor", "--workspace", temp}, std{out: c, err: c, getenv: os.Getenv})
	if text := c.text(); strings.Contains(text, word) || !strings.Contains(text, "[SHOP_TOKEN redacted]") {
		t.Errorf("doctor says %s", text)
	}
}
