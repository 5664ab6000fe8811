//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/agent/command"
	"tandem/agent/rehearsal"
	"tandem/protocol"
	"tandem/server"
	"tandem/server/daemon"
)

// The tests here hold public reports of faults in coding agents, as the table in package server
// lists them.

// asTandem turns the test's program into tandem itself, so that it can be sent signals.
const asTandem = "TANDEM_TEST_AS_TANDEM"

// This runs before TestMain, which knows nothing of it.
func init() {
	if os.Getenv(asTandem) == "" {
		return
	}
	command.Supervise()
	os.Exit(run(os.Args[1:], std{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}))
}

// program is this program as tandem.
func program(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asTandem+"=1")
	errs := &bytes.Buffer{}
	cmd.Stderr = errs
	return cmd, errs
}

const lasting = `rehearsal 1

A command that does not end by itself.
-- task --
Last.
-- beats/010-plan --
call update_plan
  intent: Lay out the work.
  explanation: One step.
  steps:
    - {id: s1, title: Last, intent: To be ended., status: active}
call run_command
  intent: I last.
  step: s1
  command: "echo x >> effects; sleep 300 & echo $! > child.tmp; mv child.tmp child; wait"
`

// Report B037: whichever signal ends the daemon, the command's child ends with it, and the journal
// says so: the session is closed, with its command cancelled.
func TestReportSignalsEndTheDaemonAndItsCommands(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := lastingDesk(t)
			cmd, errs := program(t, "serve", "--workspace", dir)
			ended := make(chan error, 1)
			id := startAt(t, dir, func() (<-chan error, error) {
				if err := cmd.Start(); err != nil {
					return nil, err
				}
				go func() { ended <- cmd.Wait() }()
				return ended, nil
			})
			child := childOf(t, dir)
			told := time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("the daemon ended with %v\n%s", err, errs)
			}
			for syscall.Kill(child, 0) == nil && time.Since(told) < 3*time.Second {
				<-time.After(5 * time.Millisecond)
			}
			if took := time.Since(told); took >= 3*time.Second {
				t.Errorf("after %v the child lives", took)
			}
			closedAs(t, dir, id)
		})
	}
}

// lastingDesk is a workspace for a daemon that is a process of its own, with a model.
func lastingDesk(t *testing.T) string {
	t.Helper()
	s, err := rehearsal.Parse("lasting", []byte(lasting))
	if err != nil {
		t.Fatal(err)
	}
	model, err := rehearsal.Serve(t.Context(), s, rehearsal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	temp, err := os.MkdirTemp("", "t") // t.TempDir is too long for a socket's path on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": temp, "XDG_STATE_HOME": temp, "XDG_CONFIG_HOME": temp,
		"OPENAI_BASE_URL": model.URL, "OPENAI_API_KEY": "", "TANDEM_MODEL": "rehearsal"} {
		t.Setenv(name, value)
	}
	dir := filepath.Join(temp, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startAt starts a session at the daemon of dir, which spawn starts.
func startAt(t *testing.T, dir string, spawn daemon.Start) string {
	t.Helper()
	build, err := daemon.Build()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := daemon.Connect(t.Context(), dir, build, spawn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect(context.Background(), conn, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	r, err := ask[protocol.SessionResult](t.Context(), c, protocol.MethodStart, protocol.StartParams{Task: "Last."})
	if err != nil {
		t.Fatal(err)
	}
	return r.Session.ID
}

// childOf waits until the command has said which process it has started.
func childOf(t *testing.T, dir string) int {
	t.Helper()
	for {
		b, err := os.ReadFile(filepath.Join(dir, "child"))
		if err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return fromOutside(pid, dir)
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the command has not begun")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// fromOutside is the pid by which a process that works in a folder is known here: a sandbox gives it another.
func fromOutside(pid int, dir string) int {
	found, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range found {
		status, err := os.ReadFile(filepath.Join(filepath.Dir(link), "status"))
		at, gone := os.Readlink(link)
		if err != nil || gone != nil || at != dir {
			continue
		}
		_, pids, _ := strings.Cut(string(status), "NSpid:")
		pids, _, _ = strings.Cut(pids, "\n")
		names := strings.Fields(pids)
		if len(names) > 1 && names[len(names)-1] == strconv.Itoa(pid) {
			if outer, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				return outer
			}
		}
	}
	return pid
}

// closedAs sees that a session lies on disk as one that a daemon has closed.
func closedAs(t *testing.T, dir, id string) {
	t.Helper()
	registry := server.NewRegistry(server.Options{State: server.StateFolder(os.Getenv), Environ: os.Environ()})
	list, err := registry.List("")
	if err := errors.Join(err, registry.Close()); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].ID != id {
		t.Fatalf("listed are %+v", list)
	}
	var s protocol.Session
	if err := json.Unmarshal(list[0].View, &s); err != nil {
		t.Fatal(err)
	}
	if s.Mode != protocol.Paused || s.Pause == nil || s.Pause.By != protocol.PausedByRecovery || len(s.Operations) > 0 {
		t.Errorf("it was left %s, %+v, with %+v", s.Mode, s.Pause, s.Operations)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "effects")); err != nil || string(b) != "x\n" {
		t.Errorf("the effect is there as %q, %v", b, err)
	}
}

// Report B176: a client that frames its messages otherwise is told so at once, and the program
// ends with a failure.
func TestReportAMessageWithoutAHeader(t *testing.T) {
	cmd, errs := program(t, "lsp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || time.Since(began) > 2*time.Second {
		t.Errorf("it ended with %v after %v", err, time.Since(began))
	}
	if !strings.Contains(errs.String(), "without a header") {
		t.Errorf("it said %q", errs)
	}
}
