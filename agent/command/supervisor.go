//go:build linux || darwin

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tandem/agent/sandbox"
)

// argument is what a supervisor is started with, alone: the command itself comes over a pipe, so that nobody takes
// the supervisor for the command by its arguments.
const argument = "__command"

const (
	// settle is how long what the shell left behind may sleep before it is ended: the last stage of a pipe still
	// has to write what it read. While something in the tree is at work, or waits for a processor on a machine
	// that is busy, it may take up to settleMost in all.
	settle     = 150 * time.Millisecond
	settleMost = time.Second
	// giveUp is how long killed processes are waited for: one that hangs in the kernel does not die.
	giveUp = 2 * time.Second
	// glance is the time between two looks at a tree that is ending.
	glance = 5 * time.Millisecond
	// freezeLimit bounds the stopping of a tree that forks faster than it can be stopped.
	freezeLimit = time.Second

	nameLength = 200
	nameCount  = 50
)

// assignment is the first thing that a supervisor reads. Bytes, as neither a line nor an environment need be UTF-8.
type assignment struct {
	Line, Dir []byte
	Env       [][]byte
	Grace     time.Duration
	Sandbox   sandbox.Policy
}

// Supervise runs a supervisor when this process was started as one, and does not return then. main calls it before
// all else, as does TestMain of a package whose tests start commands.
func Supervise() {
	if len(os.Args) != 2 || os.Args[1] != argument {
		return
	}
	// The shell dies with the thread that started it; this one lives as long as the process.
	runtime.LockOSThread()
	if err := supervise(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "tandem: supervise a command: %v\n", err)
		syscall.Exit(1)
	}
	// Not os.Exit: nothing is left to be written, and what it runs first (a second's wait under the race detector)
	// would hold up every command.
	syscall.Exit(0)
}

// supervise reads an assignment and then orders from in, and writes reports to out. The end of in is an order to stop.
func supervise(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var a assignment
	if err := decoder.Decode(&a); err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	s := &supervisor{
		reports: json.NewEncoder(out), grace: a.Grace,
		orders: make(chan order), deaths: make(chan os.Signal, 1), asked: make(chan os.Signal, 1),
		halted: map[int]bool{}, pressed: map[int]bool{}, named: map[int]bool{},
	}
	signal.Notify(s.deaths, syscall.SIGCHLD)
	signal.Notify(s.asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	// Caught and not ignored: a daemon that is gone must not end its supervisor early, and an ignored signal
	// would be inherited by the command.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	confined, release, err := a.Sandbox.Reserve()
	if err != nil {
		return s.reports.Encode(report{Started: true, Problem: err.Error()})
	}
	a.Sandbox = confined
	defer release()
	if s.shell, err = startShell(a); err != nil {
		return s.reports.Encode(report{Started: true, Problem: err.Error()})
	}
	if a.Sandbox.Mechanism == sandbox.Bubblewrap {
		s.scaffold = commandLine(s.shell)
	}
	if err := s.reports.Encode(report{Started: true}); err != nil {
		s.end()
	}
	go s.listen(decoder)
	s.run()
	release() // before the end is told: whoever looks then finds the workspace as it was left
	return s.reports.Encode(report{Ended: s.ending()})
}

// startShell starts the command with the pipe for the output that came as descriptor 3, and lets go of that pipe.
func startShell(a assignment) (int, error) {
	const output = 3
	defer unix.Close(output)
	keepFrom(output)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	env := make([]string, len(a.Env))
	for i, entry := range a.Env {
		env[i] = string(entry)
	}
	pid, err := a.Sandbox.Start([]string{"/bin/sh", "sh", "-c", "--", string(a.Line)}, &syscall.ProcAttr{
		Dir: string(a.Dir), Env: env, Files: []uintptr{null.Fd(), output, output}, Sys: shellAttributes(),
	})
	if errors.Is(err, syscall.E2BIG) {
		return 0, errors.New("the command line or the environment is too long for the system; put the script into a file")
	}
	if err != nil {
		return 0, fmt.Errorf("start /bin/sh in %s: %w", a.Dir, err)
	}
	return pid, nil
}

// phase is how far a command is on its way to its end; it only grows.
type phase int

const (
	running     phase = iota
	settling          // the shell has ended, the rest may still end by itself
	terminating       // the tree has been told to end
	killing           // what is left is killed
	over
)

// supervisor is the state of the supervising process. The main goroutine owns it.
type supervisor struct {
	shell int
	// scaffold is the command line of the processes that are bubblewrap itself, "" where there are none.
	scaffold string
	grace    time.Duration
	reports  *json.Encoder
	orders   chan order
	deaths   chan os.Signal
	asked    chan os.Signal

	phase     phase
	alarm     <-chan time.Time
	tick      <-chan time.Time
	exited    bool      // the shell has
	settled   time.Time // when settling ends at the latest
	childless bool      // nothing descends from this process
	status    syscall.WaitStatus

	halted  map[int]bool // stopped by freeze, and not before by itself or by others
	pressed map[int]bool // told to end
	naming  bool         // what is told to end was left over
	named   map[int]bool
	names   []string
}

// listen passes orders on until the daemon closes its end, by will or by death.
func (s *supervisor) listen(orders *json.Decoder) {
	defer close(s.orders)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return
		}
		s.orders <- o
	}
}

func (s *supervisor) run() {
	for s.look(); s.phase != over; s.look() {
		select {
		case o, ok := <-s.orders:
			if !ok {
				s.orders = nil
				s.end()
				break
			}
			s.obey(o)
		case <-s.deaths:
		case <-s.asked:
			s.end()
		case <-s.alarm:
			s.escalate()
		case <-s.tick:
			s.tick = time.After(glance)
		}
	}
}

func (s *supervisor) obey(o order) {
	var err error
	switch o {
	case stopOrder:
		s.end()
		return
	case freezeOrder:
		err = s.freeze()
	case thawOrder:
		err = s.thaw()
	default:
		err = fmt.Errorf("the supervisor does not know the order %q", o)
	}
	answer := report{Answer: true}
	if err != nil {
		answer.Problem = err.Error()
	}
	// A daemon that cannot hear this is gone: the end of the orders says so.
	_ = s.reports.Encode(answer)
}

// end begins the end of the tree, unless it has begun.
func (s *supervisor) end() {
	if s.phase < terminating {
		s.enter(terminating, s.grace)
	}
}

func (s *supervisor) enter(p phase, limit time.Duration) {
	s.phase = p
	s.alarm = time.After(limit)
	s.tick = time.After(glance)
}

func (s *supervisor) escalate() {
	switch s.phase {
	case settling:
		s.naming = true
		s.enter(terminating, s.grace)
	case terminating:
		s.naming = true
		s.enter(killing, giveUp)
	case killing:
		s.nameStuck()
		s.phase = over
	}
}

// look takes in who has died and goes on with the end of the tree when it has begun.
func (s *supervisor) look() {
	s.reap()
	if s.phase == running && s.exited {
		s.settled = time.Now().Add(settleMost)
		s.enter(settling, settle)
	}
	if s.phase == running || s.phase == over {
		return
	}
	tree := living(s.shell)
	if s.exited && s.childless && len(tree) == 0 {
		s.phase = over
		return
	}
	switch s.phase {
	case settling:
		if time.Now().Before(s.settled) && slices.ContainsFunc(tree, func(p process) bool { return p.busy }) {
			s.alarm = time.After(settle)
		}
	case terminating:
		s.terminate(tree)
	case killing:
		s.kill(tree)
	}
}

// reap waits for every child that has died, adopted ones too.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			s.childless = true
			return
		case pid == 0:
			s.childless = false
			return
		case pid == s.shell:
			s.exited, s.status = true, status
		}
	}
}

// terminate sends TERM to all that has not had it, and only then lets stopped processes go on: each finds the signal
// waiting before it can run.
func (s *supervisor) terminate(tree []process) {
	for _, p := range tree {
		if !s.pressed[p.pid] && !s.isScaffold(commandLine(p.pid)) { // The scaffold ends with what it holds, and tells how that ended.
			s.pressed[p.pid] = true
			s.name(p.pid)
			_ = syscall.Kill(p.pid, syscall.SIGTERM) // One that is gone needs none.
		}
	}
	for _, p := range tree {
		if p.stopped {
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
		}
	}
}

func (s *supervisor) kill(tree []process) {
	for _, p := range tree {
		s.name(p.pid)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// name notes the command line of a process that had to be ended, once.
func (s *supervisor) name(pid int) {
	if !s.naming || s.named[pid] {
		return
	}
	line := commandLine(pid)
	if s.isScaffold(line) {
		return
	}
	s.named[pid] = true
	if len(s.names) < nameCount {
		s.names = append(s.names, cleanLine(line, nameLength))
	}
}

// isScaffold says whether a command line is that of bubblewrap itself, which has none any more once it is ending.
func (s *supervisor) isScaffold(line string) bool {
	return s.scaffold != "" && (line == s.scaffold || line == "[bwrap]")
}

func (s *supervisor) nameStuck() {
	for _, p := range living(s.shell) {
		s.names = append(s.names, cleanLine(commandLine(p.pid), nameLength)+" (still running, it could not be killed)")
	}
}

// signalled is what bubblewrap, like a shell, adds to the number of the signal that ended what it holds. Only of a
// command that was told to end is it taken for that: any may exit with such a code by itself.
const signalled = 128

func (s *supervisor) ending() *ending {
	e := &ending{ExitCode: -1, Leftovers: s.names}
	if more := len(s.named) - nameCount; more > 0 {
		e.Leftovers = append(e.Leftovers, fmt.Sprintf("and %d more", more))
	}
	switch {
	case s.exited && s.scaffold != "" && s.settled.IsZero() && s.status.ExitStatus() > signalled:
		e.Signal = signalName(syscall.Signal(s.status.ExitStatus() - signalled))
	case s.exited && s.status.Exited():
		e.ExitCode = s.status.ExitStatus()
	case s.exited:
		e.Signal = signalName(s.status.Signal())
	}
	return e
}

// signalName answers with a name such as SIGTERM, or the number where the signal has none.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(sig))
}

// freeze stops the tree. It is done when two looks in a row found every process standing: one alone could have
// missed a child that changed its parent during it.
func (s *supervisor) freeze() error {
	if s.phase != running {
		return errors.New("the command is ending")
	}
	limit := time.Now().Add(freezeLimit)
	seen := map[int]bool{}
	for calm := 0; calm < 2; {
		moving, err := s.stopTree(seen)
		if err != nil {
			return err
		}
		if moving == 0 {
			calm++
			continue
		}
		if calm = 0; time.Now().After(limit) {
			return fmt.Errorf("%d of its processes still run after %v", moving, freezeLimit)
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil
}

// stopTree sends STOP to all that move and answers how many did.
func (s *supervisor) stopTree(seen map[int]bool) (moving int, err error) {
	for _, p := range living(s.shell) {
		known := seen[p.pid]
		seen[p.pid] = true
		if p.stopped || p.standing && known {
			continue
		}
		moving++
		s.halted[p.pid] = true
		err := syscall.Kill(p.pid, syscall.SIGSTOP)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return 0, fmt.Errorf("stop %q: %w", cleanLine(commandLine(p.pid), nameLength), err)
		}
	}
	return moving, nil
}

func (s *supervisor) thaw() error {
	if s.phase != running {
		return errors.New("the command is ending")
	}
	for _, p := range living(s.shell) {
		if s.halted[p.pid] {
			_ = syscall.Kill(p.pid, syscall.SIGCONT) // One that is gone needs none.
		}
	}
	clear(s.halted)
	return nil
}
