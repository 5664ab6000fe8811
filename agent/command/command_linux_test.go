package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// daemonVariable turns the test binary into a daemon that runs the line in it and waits to be killed.
const daemonVariable = "COMMAND_TEST_DAEMON"

func TestMain(m *testing.M) {
	Supervise()
	if line := os.Getenv(daemonVariable); line != "" {
		playDaemon(line)
	}
	goleak.VerifyTestMain(m)
}

// playDaemon starts the line, says that it did, and lasts until the command is over or the daemon is killed.
func playDaemon(line string) {
	c, err := Start(Spec{Line: line, Dir: os.TempDir(), Env: Environment(os.Environ(), nil, false)}, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	<-c.Done()
	os.Exit(0)
}

// deadline is how long a test waits for what must happen; it is long as the machine may be busy.
const deadline = 20 * time.Second

// watched are the tests at whose end, after all other cleaning up, it is checked that nothing is left.
var watched = map[testing.TB]bool{}

// start starts a command in a folder of its own and sees to it that nothing of it is left when the test ends.
func start(t testing.TB, spec Spec, said func(string)) *Command {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	if spec.Env == nil {
		spec.Env = Environment(os.Environ(), nil, false)
	}
	if !watched[t] {
		watched[t] = true
		t.Cleanup(func() { delete(watched, t); noneLeft(t) })
	}
	c, err := Start(spec, said)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop()
		await(t, c)
	})
	return c
}

// daemons are this process and those that it started as daemons.
var daemons = map[string]bool{strconv.Itoa(os.Getpid()): true}

// noneLeft fails when a process that one of our daemons marked is alive.
func noneLeft(t testing.TB) {
	t.Helper()
	ours := func(id string) bool {
		parts := strings.Split(id, "-")
		return len(parts) == 4 && parts[0] == namespace() && daemons[parts[1]]
	}
	for _, pid := range marked(ours) {
		t.Errorf("left behind: %d %s", pid, commandLine(pid))
	}
	for _, p := range descendants(os.Getpid()) {
		t.Errorf("still a child: %d %s", p.pid, commandLine(p.pid))
	}
}

func await(t testing.TB, c *Command) Result {
	t.Helper()
	select {
	case <-c.Done():
		return c.Result()
	case <-time.After(deadline):
		t.Fatalf("the command does not end; output so far %q", c.Output())
		panic("unreachable")
	}
}

func run(t testing.TB, line string) Result {
	t.Helper()
	return await(t, start(t, Spec{Line: line}, nil))
}

// until waits for a condition of the system that nothing announces.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("does not come true: %s", what)
		}
	}
}

// fifo makes a named pipe that commands write words to, and answers with a function that waits for the next word.
func fifo(t testing.TB, dir string) func() string {
	t.Helper()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	lines := bufio.NewReader(f)
	return func() string {
		t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(deadline)); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("no word from the command: %v", err)
		}
		return strings.TrimSpace(line)
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func gone(pid int) bool {
	_, alive := inspect(pid)
	return !alive
}

// allGone waits until processes that were killed by others than their parent are gone: one that is on its way out
// has no environment any more, but still a state.
func allGone(t testing.TB, pids []int) {
	t.Helper()
	until(t, fmt.Sprintf("%v are gone", pids), func() bool { return !slices.ContainsFunc(pids, func(pid int) bool { return !gone(pid) }) })
}

func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		exit       int
		signal     string
		output     string
	}{
		{"says what it says", "echo out; echo err >&2", 0, "", "out\nerr\n"},
		{"exit code", "exit 7", 7, "", ""},
		{"not found", "no-such-program-anywhere 2>/dev/null", 127, "", ""},
		{"ended by a signal without a name", "kill -40 $$", -1, "signal 40", ""},
		{"ended by a signal", "kill -9 $$", -1, "SIGKILL", ""},
		{"exec chain", "exec sh -c 'exec sh -c \"echo deep; exit 3\"'", 3, "", "deep\n"},
		{"a line like an option", "-x", 127, "", ""},
		{"stdin is at its end", "cat; read x; echo got-$x", 0, "", "got-\n"},
		{"no terminal", "sh -c ': < /dev/tty' 2>/dev/null || echo none", 0, "", "none\n"},
		{"own session", "ps -o sid= -p $$ | tr -d ' ' | grep -qx $$ && echo own", 0, "", "own\n"},
		{"pipe ends in order", "seq 1 3 | tee /dev/null", 0, "", "1\n2\n3\n"},
		{"process substitution", `bash -c 'exec > >(cat; sleep 600) 2>&1 && echo done'`, 0, "", "done\n"},
		{"last stage still writes", `bash -c 'echo late > >(cat)'`, 0, "", "late\n"},
		{"its own time limit", `timeout 0.2 sh -c 'for i in 1 2 3; do setsid sleep 300 & done; sleep 100'`, 124, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, tc.line)
			if tc.name == "a line like an option" {
				r.Output = ""
			}
			if r.ExitCode != tc.exit || r.Signal != tc.signal || r.Output != tc.output || r.TimedOut {
				t.Errorf("%+v", r)
			}
			if r.Duration > 4*time.Second {
				t.Errorf("took %v", r.Duration)
			}
		})
	}
}

func TestLeftBehind(t *testing.T) {
	for _, tc := range []struct{ name, line, word string }{
		{"in the background", "sleep 300.1 & echo FG", "sleep 300.1"},
		{"in a session of its own", "setsid sleep 300.2 & echo FG", "sleep 300.2"},
		{"forked twice", "(setsid sh -c 'sleep 300.3 & sleep 300.4' &); echo FG", "sleep 300.3"},
		{"deaf to TERM", "sh -c 'trap \"\" TERM; echo deaf > ready; while :; do sleep 300.5; done' & until [ -s ready ]; do :; done; echo FG", "trap"},
		{"keeps writing", "while :; do echo x; sleep 0.05; done & sleep 0.2; echo FG", "sleep 0.2; echo FG"},
		{"job control that is off", "sleep 300.6 & sleep 0; kill %1 2>/dev/null; echo FG", "sleep 300.6"},
		{"never sleeps", "yes >/dev/null & echo FG", "yes"},
		{"stopped", "sleep 300.7 & kill -STOP $!; echo FG", "sleep 300.7"},
		{"nohup and no environment", "nohup env -i sleep 300.8 >/dev/null 2>&1 & sleep 0.1; echo FG", "sleep 300.8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := await(t, start(t, Spec{Line: tc.line, Grace: 200 * time.Millisecond}, nil))
			if r.ExitCode != 0 || !strings.Contains(r.Output, "FG\n") {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(strings.Join(r.Leftovers, "\n"), tc.word) {
				t.Errorf("leftovers %q do not name %q", r.Leftovers, tc.word)
			}
			if r.Duration > 4*time.Second {
				t.Errorf("took %v", r.Duration)
			}
		})
	}
}

// tree is a command with a process in the foreground, one in the background, one in a session of its own and one
// forked twice; each says its pid when it is there.
const tree = `f() { echo $$ > fifo; exec sleep 300; }
sh -c 'echo $$ > fifo; exec sleep 300' &
setsid sh -c 'echo $$ > fifo; exec sleep 300' &
(setsid sh -c '(echo $(exec sh -c "echo \$PPID") > fifo; exec sleep 300) &' &)
sh -c 'echo $$ > fifo; exec sleep 300'; true`

func startTree(t testing.TB, line string, n int) (*Command, []int) {
	t.Helper()
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: line, Dir: dir}, nil)
	pids := make([]int, n)
	for i := range pids {
		pids[i] = atoi(t, word())
	}
	return c, pids
}

func TestStop(t *testing.T) {
	c, pids := startTree(t, tree, 4)
	begun := time.Now()
	c.Stop()
	c.Stop()
	r := await(t, c)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("took %v", took)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("%d lives", pid)
		}
	}
	if r.ExitCode != -1 || r.Signal != "SIGTERM" || r.TimedOut || len(r.Leftovers) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestStopOfTheDeaf(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: `trap "" TERM INT HUP; echo $$ > fifo; while :; do sleep 300.9; done`, Dir: dir, Grace: 100 * time.Millisecond}, nil)
	word()
	c.Stop()
	r := await(t, c)
	if r.Signal != "SIGKILL" || !strings.Contains(strings.Join(r.Leftovers, "\n"), "trap") {
		t.Errorf("%+v", r)
	}
}

func TestStopIsHeardByTheCommand(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: `trap "echo bye; exit 5" TERM; echo up > fifo; sleep 300 & wait`, Dir: dir}, nil)
	word()
	c.Stop()
	if r := await(t, c); r.ExitCode != 5 || r.Output != "bye\n" {
		t.Errorf("%+v", r)
	}
}

func TestTimeLimit(t *testing.T) {
	for _, line := range []string{"echo begun; setsid sleep 600 & sleep 100", "echo begun; sh -c 'sleep 600 & sleep 100'", "echo begun; yes >/dev/null"} {
		begun := time.Now()
		r := await(t, start(t, Spec{Line: line, Timeout: 300 * time.Millisecond}, nil))
		took := time.Since(begun)
		if !r.TimedOut || r.Output != "begun\n" || took < 300*time.Millisecond || took > 3*time.Second {
			t.Errorf("%q: %v, %+v", line, took, r)
		}
		if off := took - r.Duration; off < -100*time.Millisecond || off > 100*time.Millisecond {
			t.Errorf("told %v, took %v", r.Duration, took)
		}
	}
}

// states answers with the states of the threads that lead processes, as one word.
func states(pids []int) string {
	var word strings.Builder
	for _, pid := range pids {
		fields := stat(fmt.Sprintf("/proc/%d/stat", pid))
		if len(fields) == 0 {
			word.WriteByte('-')
			continue
		}
		word.WriteString(fields[0])
	}
	return word.String()
}

func TestFreezeStopsTheWholeTree(t *testing.T) {
	c, pids := startTree(t, tree, 4)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	if got := states(pids); got != "TTTT" {
		t.Errorf("frozen: %s", got)
	}
	if err := c.Freeze(); err != nil {
		t.Errorf("a second freeze: %v", err)
	}
	if err := c.Thaw(); err != nil {
		t.Fatal(err)
	}
	until(t, "all sleep again", func() bool { return states(pids) == "SSSS" })
}

func TestFreezeHoldsACounterAndThawLetsItGoOn(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: `sh -c 'i=0; while :; do i=$((i+1)); echo $i >> n; echo $i > fifo; done' & wait`, Dir: dir}, nil)
	for i := 1; i <= 3; i++ {
		word()
	}
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "n"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := read()
	if out := run(t, "sleep 0.3; echo ok").Output; out != "ok\n" { // Time passes, measured by another command.
		t.Errorf("another command while one is frozen: %q", out)
	}
	if read() != before {
		t.Error("the counter ran while it was frozen")
	}
	if err := c.Thaw(); err != nil {
		t.Fatal(err)
	}
	until(t, "the counter goes on", func() bool { word(); return len(read()) > len(before) })
}

func TestFreezeOfWhatForksAllTheTime(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: `f() { while :; do /bin/true; (setsid /bin/true &); done; }; f & f & echo up > fifo; wait`, Dir: dir}, nil)
	word()
	for range 5 {
		if err := c.Freeze(); err != nil {
			t.Fatal(err)
		}
		supervisor := children(t)
		for _, p := range descendants(supervisor) {
			if !p.standing {
				t.Errorf("runs: %d %s", p.pid, states([]int{p.pid}))
			}
		}
		if err := c.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
}

// children answers with the only child of this process, the supervisor.
func children(t *testing.T) int {
	t.Helper()
	all := parents()[os.Getpid()]
	if len(all) != 1 {
		t.Fatalf("children %v, expected one supervisor", all)
	}
	return all[0]
}

func TestThawLeavesWhatWasStoppedBefore(t *testing.T) {
	c, pids := startTree(t, `sleep 300 & kill -STOP $!; echo $! > fifo; echo $$ > fifo; wait`, 2)
	until(t, "the first is stopped", func() bool { return states(pids)[0] == 'T' })
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := c.Thaw(); err != nil {
		t.Fatal(err)
	}
	until(t, "the second goes on", func() bool { return states(pids)[1] == 'S' })
	if got := states(pids); got != "TS" {
		t.Errorf("states %s", got)
	}
}

func TestStopWhileFrozen(t *testing.T) {
	c, pids := startTree(t, tree, 4)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	c.Stop()
	if r := await(t, c); r.Signal != "SIGTERM" || len(r.Leftovers) != 0 || time.Since(begun) > time.Second {
		t.Errorf("%v, %+v", time.Since(begun), r)
	}
	if got := strings.Trim(states(pids), "-"); got != "" {
		t.Errorf("states %s", got)
	}
}

func TestTheTimeLimitStandsStillWhileFrozen(t *testing.T) {
	c := start(t, Spec{Line: "sleep 0.1; echo done", Timeout: 600 * time.Millisecond}, nil)
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	run(t, "sleep 0.8")
	if err := c.Thaw(); err != nil {
		t.Fatal(err)
	}
	if r := await(t, c); r.TimedOut || r.Output != "done\n" || r.Duration < 800*time.Millisecond {
		t.Errorf("%+v", r)
	}
}

func TestFreezeOfWhatIsOver(t *testing.T) {
	c := start(t, Spec{Line: "true"}, nil)
	await(t, c)
	if err := c.Freeze(); !errors.Is(err, ErrEnded) {
		t.Errorf("freeze: %v", err)
	}
	if err := c.Thaw(); !errors.Is(err, ErrEnded) {
		t.Errorf("thaw: %v", err)
	}
	c.Stop()
	if c.Output() != "" {
		t.Errorf("output %q", c.Output())
	}
}

// daemon starts this test binary as a daemon that runs a line and answers when it says that it does.
func daemon(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), daemonVariable+"="+line)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	daemons[strconv.Itoa(cmd.Process.Pid)] = true
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "started\n" {
		t.Fatalf("the daemon says %q, %v", said, err)
	}
	return cmd
}

func kill9(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the daemon ended with %v", err)
	}
}

// shellWord is a path as one word for sh, whatever folder the tests run in.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func daemonTree(t *testing.T) (*exec.Cmd, []int) {
	t.Helper()
	dir := t.TempDir()
	word := fifo(t, dir)
	d := daemon(t, "cd "+shellWord(dir)+"\n"+tree)
	pids := make([]int, 4)
	for i := range pids {
		pids[i] = atoi(t, word())
	}
	return d, pids
}

func TestTheDeathOfTheDaemonEndsTheTree(t *testing.T) {
	d, pids := daemonTree(t)
	supervisor := parents()[d.Process.Pid]
	kill9(t, d)
	for _, pid := range append(pids, supervisor...) {
		until(t, fmt.Sprintf("%d is gone", pid), func() bool { return gone(pid) })
	}
	noneLeft(t)
}

func TestTheDeathOfBothIsMendedAtTheNextStart(t *testing.T) {
	d, pids := daemonTree(t)
	other := start(t, Spec{Line: "sleep 300"}, nil)
	for _, pid := range parents()[d.Process.Pid] {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	kill9(t, d)
	EndLost()
	allGone(t, pids)
	if err := other.Freeze(); err != nil {
		t.Errorf("the command of a living daemon was ended: %v", err)
	}
}

func TestTheDeathOfTheSupervisorEndsTheTree(t *testing.T) {
	c, pids := startTree(t, tree, 4)
	if err := syscall.Kill(children(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := await(t, c)
	allGone(t, pids)
	if r.ExitCode != -1 || r.Signal != "SIGKILL" || !strings.Contains(r.Output, "supervisor") {
		t.Errorf("%+v", r)
	}
}

// The shell here has no mark by which it could be found.
func TestTheDeathOfTheSupervisorEndsAShellWithoutEnvironment(t *testing.T) {
	_, pids := startTree(t, `exec env -i sh -c 'echo $$ > fifo; exec sleep 300'`, 1)
	if err := syscall.Kill(children(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the shell is gone", func() bool { return gone(pids[0]) })
}

func TestDescriptorsOfTheDaemonStayWithIt(t *testing.T) {
	fd, err := syscall.Dup(0) // Without close-on-exec, as what a daemon was started with.
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if out := run(t, "ls /proc/self/fd | wc -l").Output; out != "4\n" { // The fourth is the folder that ls reads.
		t.Errorf("descriptors: %q", out)
	}
}

func TestASupervisorThatIsToldToEndEndsItsTree(t *testing.T) {
	c, _ := startTree(t, tree, 4)
	if err := syscall.Kill(children(t), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := await(t, c); r.Signal != "SIGTERM" {
		t.Errorf("%+v", r)
	}
}

func TestASupervisorThatStandsIsAbandoned(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: tree, Dir: dir, Grace: 50 * time.Millisecond}, nil)
	pids := []int{atoi(t, word()), atoi(t, word()), atoi(t, word()), atoi(t, word())}
	supervisor := children(t)
	if err := syscall.Kill(supervisor, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.Stop()
	r := await(t, c)
	if r.Signal != "SIGKILL" || r.Duration > 10*time.Second {
		t.Errorf("%+v", r)
	}
	allGone(t, pids)
}

func TestStartSaysWhyItCannot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		spec Spec
		says string
	}{
		{"empty", Spec{Line: "  ", Dir: dir}, "empty"},
		{"NUL", Spec{Line: "echo \x00", Dir: dir}, "NUL"},
		{"relative", Spec{Line: "true", Dir: "here"}, "not an absolute path"},
		{"missing", Spec{Line: "true", Dir: filepath.Join(dir, "none")}, "no such file"},
		{"no folder", Spec{Line: "true", Dir: file}, "not a folder"},
		{"spool is there", Spec{Line: "true", Dir: dir, Spool: file}, "file exists"},
		{"too long", Spec{Line: ": " + strings.Repeat("x", 1<<20), Dir: dir, Spool: filepath.Join(dir, "spool")}, "too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Start(tc.spec, nil)
			if err == nil {
				c.Stop()
				<-c.Done()
				t.Fatal("it was started")
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("in the folder stand %v, %v", left, err)
			}
			noneLeft(t)
		})
	}
}

func TestNothingOfTheDaemonsEnvironmentIsReadable(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	r := run(t, `echo key-$OPENAI_API_KEY; tr '\0' '\n' < /proc/$PPID/environ; tr '\0' ' ' < /proc/$PPID/cmdline; echo; echo "$PAGER $TERM"`)
	if r.Output != "key-\ntandem __command \ncat dumb\n" {
		t.Errorf("%q", r.Output)
	}
}

func TestLoginPromptsFailQuickly(t *testing.T) {
	r := run(t, "ssh -V 2>/dev/null; git -c credential.helper= credential fill <<E\nprotocol=https\nhost=h.invalid\nE")
	if r.ExitCode == 0 || !strings.Contains(r.Output, "terminal prompts disabled") || r.Duration > 5*time.Second {
		t.Errorf("%+v", r)
	}
}

func TestMuchOutput(t *testing.T) {
	spool := filepath.Join(t.TempDir(), "spool")
	c := start(t, Spec{Line: "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end", Spool: spool, SpoolCap: 1 << 20}, nil)
	r := await(t, c)
	if r.Bytes != 50000005 || len(r.Output) > 32<<10 || !strings.HasSuffix(r.Output, "x\nend\n") || !strings.Contains(r.Output, "bytes of output are left out here") {
		t.Errorf("%d bytes, output %d: %q", r.Bytes, len(r.Output), r.Output[max(0, len(r.Output)-200):])
	}
	info, err := os.Stat(spool)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 || info.Size() < 1<<20 || info.Size() > 1<<20+100 {
		t.Errorf("spool %v, %d bytes", info.Mode(), info.Size())
	}
}

func TestOutputSoFarAndSaid(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	heard := make(chan string, 100)
	c := start(t, Spec{Line: `printf 'one\nPassword: '; echo up > fifo; sleep 300`, Dir: dir}, func(s string) { heard <- s })
	word()
	until(t, "the output so far", func() bool { return c.Output() == "one\nPassword: " })
	var all string
	for all != "one\nPassword: " {
		select {
		case s := <-heard:
			all += s
		case <-time.After(deadline):
			t.Fatalf("heard %q", all)
		}
	}
}

func TestSaidIsBoundedInRateAndMisses(t *testing.T) {
	var calls, size int
	var last string
	c := start(t, Spec{Line: "timeout 0.5 yes 0123456789; echo end"}, func(s string) { calls++; size += len(s); last = s })
	r := await(t, c)
	if r.Bytes < 1<<20 {
		t.Fatalf("only %d bytes", r.Bytes)
	}
	limit := int(r.Duration/sayEvery) + 3
	most := sayRate + int(r.Duration.Seconds()+1.1)*sayRate + calls*100
	if calls > limit || size > most || !strings.HasSuffix(last, "end\n") {
		t.Errorf("%d calls of at most %d, %d bytes of at most %d in %v; last %q", calls, limit, size, most, r.Duration, last[max(0, len(last)-50):])
	}
}

// TestThePipeHeldFromOutside: a process outside of the tree that holds the pipe does not hold the command.
func TestThePipeHeldFromOutside(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: "echo said; echo $$ > fifo; sleep 300", Dir: dir}, nil)
	held, err := os.OpenFile("/proc/"+word()+"/fd/2", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c.Stop()
	if r := await(t, c); r.Output != "said\n" || r.Duration > 5*time.Second {
		t.Errorf("%+v", r)
	}
}

func TestBothWaysToFindChildrenAgree(t *testing.T) {
	_, pids := startTree(t, tree, 4)
	a, b := map[int]bool{}, map[int]bool{}
	for _, p := range descend(os.Getpid(), nil) {
		a[p.pid] = true
	}
	for _, p := range descendantsOf(parents(), os.Getpid()) {
		b[p.pid] = true
	}
	for _, pid := range pids {
		if !a[pid] || !b[pid] {
			t.Errorf("%d: by lists of children %v, by parents %v", pid, a[pid], b[pid])
		}
	}
}

func TestMarksOfOthersAreLeftAlone(t *testing.T) {
	own := identity(1)
	dead := fmt.Sprintf("%s-%d-%s-1", namespace(), os.Getpid(), "1")
	for id, want := range map[string]bool{
		own: false, dead: true, "": false, "x": false, "1-2-3-4": false,
		namespace() + "-0-1-1": false, namespace() + "--1-1": false, namespace() + "-1--1": false,
	} {
		if orphaned(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

func BenchmarkTrue(b *testing.B) {
	env := Environment(os.Environ(), nil, false)
	for b.Loop() {
		c, err := Start(Spec{Line: "true", Dir: "/", Env: env}, nil)
		if err != nil {
			b.Fatal(err)
		}
		<-c.Done()
	}
}

const smallTree = `sleep 300 & setsid sleep 300 & echo up > fifo; sleep 300; true`

// eachTree runs f on a new command with three sleeping processes each time, and reports the median of its times.
func eachTree(b *testing.B, f func(*Command) time.Duration) {
	var all []time.Duration
	for b.Loop() {
		dir := b.TempDir()
		word := fifo(b, dir)
		c, err := Start(Spec{Line: smallTree, Dir: dir, Env: Environment(os.Environ(), nil, false)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		word()
		all = append(all, f(c))
		c.Stop()
		<-c.Done()
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(all[len(all)-1].Microseconds()), "µs-max")
}

func BenchmarkStop(b *testing.B) {
	eachTree(b, func(c *Command) time.Duration {
		begun := time.Now()
		c.Stop()
		<-c.Done()
		return time.Since(begun)
	})
}

func BenchmarkFreeze(b *testing.B) {
	eachTree(b, func(c *Command) time.Duration {
		begun := time.Now()
		if err := c.Freeze(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begun)
	})
}

func BenchmarkOutput200MB(b *testing.B) {
	for b.Loop() {
		c, err := Start(Spec{Line: "yes 0123456789abcdef | head -c 200000000", Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if r := c.Result(); r.Bytes != 200000000 {
			b.Fatalf("%+v", r)
		}
	}
}
