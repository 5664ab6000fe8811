//go:build soak && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tandem/protocol"
	"tandem/server/rpc"
)

// The bounds of the soak.
const (
	soakTime       = 3 * time.Minute
	soakSessions   = 100
	soakWorkspaces = 4 // the daemon of the first is never killed, so that it can be measured
	soakClients    = 5 // of each workspace
	soakSeed       = 20

	killClientEvery = 700 * time.Millisecond
	killDaemonEvery = 9 * time.Second
)

// A soak is a hundred sessions at once, under everything that can happen to them: steers, pauses,
// killed clients and killed daemons.
type soak struct {
	*testing.T
	exe, temp string
	model     *soakModel
	dirs      []string
	clients   []*soakClient
	sessions  []*soakSession

	stop  chan struct{} // closed when the clients shall leave
	over  chan struct{} // closed when nothing more shall happen
	count struct{ steers, again, pauses, resumes, clients, daemons atomic.Int64 }
}

// TestSoak runs for three minutes, or for the time in SOAK. In the end no acknowledged steer may be
// missing or stand twice, every request was a valid conversation, no process is left, and the
// daemon that was not killed has not grown.
func TestSoak(t *testing.T) {
	length := soakTime
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	s := newSoak(t)
	var clients, busy sync.WaitGroup
	for _, c := range s.clients {
		clients.Go(c.run)
	}
	for i, one := range s.sessions {
		busy.Go(func() { one.drive(rand.New(rand.NewPCG(soakSeed, uint64(i)))) })
	}
	busy.Go(s.killClients)
	busy.Go(s.killDaemons)
	growth := s.watch(length)
	close(s.over)
	busy.Wait()
	s.settle()
	goroutines := s.quit()
	close(s.stop)
	clients.Wait()
	s.checkSteers()
	s.endDaemons()
	s.checkProcesses()
	s.checkLogs()
	for _, fault := range s.model.faults {
		t.Error(fault)
	}
	t.Logf("seed %d, %v: %d sessions, %d requests, %d steers (%d sent again), %d pauses, %d resumes, %d clients and %d daemons killed; the daemon that lived: %s, %d goroutines in the end",
		soakSeed, length, len(s.sessions), s.model.requests, s.count.steers.Load(), s.count.again.Load(), s.count.pauses.Load(), s.count.resumes.Load(),
		s.count.clients.Load(), s.count.daemons.Load(), growth, goroutines)
}

func newSoak(t *testing.T) *soak {
	temp, err := os.MkdirTemp("", "soak") // t.TempDir is too long for a socket's path on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	s := &soak{T: t, exe: filepath.Join(temp, "bin", "tandem"), temp: temp, model: newSoakModel(t, soakSeed), stop: make(chan struct{}), over: make(chan struct{})}
	if out, err := exec.Command("go", "build", "-o", s.exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for i := range soakWorkspaces {
		dir := filepath.Join(temp, fmt.Sprintf("ws%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("a line\n", 20)), 0o644); err != nil {
			t.Fatal(err)
		}
		s.dirs = append(s.dirs, dir)
		for range soakClients {
			s.clients = append(s.clients, &soakClient{soak: s, dir: dir, up: make(chan struct{})})
		}
	}
	for i := range soakSessions {
		one := &soakSession{client: s.clients[i%len(s.clients)], name: strconv.Itoa(i), autonomy: protocol.High}
		if i%3 == 0 {
			one.autonomy = protocol.Balanced
		}
		one.client.sessions = append(one.client.sessions, one)
		s.sessions = append(s.sessions, one)
	}
	return s
}

// environ bears a mark by which the run's processes are found: its home.
func (s *soak) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.temp, "XDG_RUNTIME_DIR=" + s.temp, "XDG_STATE_HOME=" + s.temp,
		"XDG_CONFIG_HOME=" + s.temp, "OPENAI_BASE_URL=" + s.model.URL, "TANDEM_MODEL=stand-in", "GOTRACEBACK=all"}
}

// A soakClient is one editor: a real `tandem lsp`, started again whenever it was killed.
type soakClient struct {
	*soak
	dir      string
	sessions []*soakSession

	mu   sync.Mutex
	cmd  *exec.Cmd
	conn *rpc.Conn
	up   chan struct{} // closed while there is a connection
}

func (c *soakClient) run() {
	for {
		c.visit()
		select {
		case <-c.stop:
			return
		default:
		}
	}
}

// visit is one life of the client.
func (c *soakClient) visit() {
	cmd := exec.Command(c.exe, "lsp")
	cmd.Dir, cmd.Env = c.dir, c.environ()
	if log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		defer log.Close()
		cmd.Stderr = log
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		c.Error(err)
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		c.Error(err)
		return
	}
	conn := rpc.Serve(context.Background(), pipes{out, in}, rpc.Options{})
	if c.enter(conn) {
		c.show(cmd, conn)
		select {
		case <-conn.Done():
		case <-c.stop:
		}
		c.hide()
	}
	conn.Close()
	<-conn.Done()
	_ = cmd.Wait() // it was killed, or left with its daemon
}

func (c *soakClient) log() string { return filepath.Join(c.temp, "clients.log") }

// pipes are a child's stdout and stdin as one connection.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.in.Close(), p.ReadCloser.Close()) }

// enter says hello and goes to the client's sessions, and says whether it could.
func (c *soakClient) enter(conn *rpc.Conn) bool {
	trusted := true
	err := c.ask(conn, protocol.LSPInitialize, protocol.InitializeParams{RootURI: protocol.DocumentURI("file://" + c.dir),
		Options: protocol.InitializationOptions{Tandem: &protocol.TandemOptions{Trusted: &trusted}}}, nil)
	for _, one := range c.sessions {
		if err == nil {
			err = one.enter(conn)
		}
	}
	return err == nil
}

// ask calls a method. Only a refusal is a fault here: the other side may be killed at any time.
func (c *soakClient) ask(conn *rpc.Conn, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := conn.Call(ctx, method, params, result)
	if ctx.Err() != nil {
		c.Errorf("%s was not answered in 30 s", method)
		conn.Close()
	}
	return err
}

func (c *soakClient) show(cmd *exec.Cmd, conn *rpc.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.conn = cmd, conn
	close(c.up)
}

func (c *soakClient) hide() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.conn = nil, nil
	c.up = make(chan struct{})
}

// connection waits until the client is connected. One that never is stops the soak.
func (c *soakClient) connection() *rpc.Conn {
	limit := time.After(time.Minute)
	for {
		c.mu.Lock()
		conn, up := c.conn, c.up
		c.mu.Unlock()
		if conn != nil {
			return conn
		}
		select {
		case <-up:
		case <-limit:
			panic(fmt.Sprintf("a client of %s could not connect in a minute; its log is in %s", c.dir, c.log()))
		}
	}
}

// kill kills the client, if it is there.
func (c *soakClient) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil && c.cmd.Process.Kill() == nil {
		c.count.clients.Add(1)
	}
}

// A soakSession is one session and the developer who drives it.
type soakSession struct {
	client   *soakClient
	name     string
	autonomy protocol.Autonomy
	id       string   // belongs to the client until it is connected
	steers   []string // acknowledged, in order
}

// enter starts the session once, or attaches to it.
func (one *soakSession) enter(conn *rpc.Conn) error {
	if one.id != "" {
		return one.client.ask(conn, protocol.MethodAttach, protocol.AttachParams{SessionID: one.id}, nil)
	}
	var r protocol.SessionResult
	err := one.client.ask(conn, protocol.MethodStart, protocol.StartParams{Request: one.key("start"), Autonomy: one.autonomy,
		Task: fmt.Sprintf("This is the task of session %s.", one.name)}, &r)
	one.id = r.Session.ID
	return err
}

func (one *soakSession) key(word string) protocol.Request {
	return protocol.Request{ClientID: "soak", RequestKey: one.name + " " + word}
}

// say sends a request until it is answered, over one connection after another.
func (one *soakSession) say(method string, params, result any) error {
	for {
		conn := one.client.connection()
		err := one.client.ask(conn, method, params, result)
		if refused := (*rpc.RefusedError)(nil); err == nil || errors.As(err, &refused) {
			return err
		}
		one.client.count.again.Add(1)
		<-conn.Done() // it is gone: the client makes another
	}
}

// drive does what a developer does, at random.
func (one *soakSession) drive(r *rand.Rand) {
	one.client.connection() // the session is there when its client is
	for {
		select {
		case <-time.After(time.Duration(r.ExpFloat64() * float64(3*time.Second))):
		case <-one.client.over:
			return
		}
		switch n := r.IntN(10); {
		case n < 5:
			one.steer(r.IntN(4) == 0)
		case n < 6:
			one.pause(r.IntN(3) == 0)
		default:
			one.resume()
		}
	}
}

// steer says a text that nothing else says; with a scope it ends what the step runs.
func (one *soakSession) steer(scoped bool) {
	text := fmt.Sprintf("«%s.%d» keep the names", one.name, len(one.steers))
	p := protocol.SteerParams{Request: one.key(text), SessionID: one.id, Text: text}
	if scoped {
		p.Scope = &protocol.Scope{StepID: "s1"}
	}
	err := one.say(protocol.MethodSteer, p, nil)
	if scoped && err != nil { // there is no plan yet
		p.Scope, p.Request = nil, one.key(text+" again")
		err = one.say(protocol.MethodSteer, p, nil)
	}
	if err != nil {
		one.client.Errorf("session %s: a steer was refused: %v", one.name, err)
		return
	}
	one.steers = append(one.steers, text)
	one.client.count.steers.Add(1)
}

// pause is refused in a pause and when the session is done; so is resume where there is no pause.
func (one *soakSession) pause(reason bool) {
	p := protocol.PauseParams{SessionID: one.id}
	if reason {
		p.Reason = "the numbers disagree"
	}
	if one.say(protocol.MethodPause, p, nil) == nil {
		one.client.count.pauses.Add(1)
	}
}

func (one *soakSession) resume() {
	if one.say(protocol.MethodResume, protocol.ResumeParams{SessionID: one.id}, nil) == nil {
		one.client.count.resumes.Add(1)
	}
}

// every does something again and again, until the soak is over.
func (s *soak) every(interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-s.over:
			return
		}
	}
}

func (s *soak) killClients() {
	r := rand.New(rand.NewPCG(soakSeed, 1000))
	s.every(killClientEvery, func() { s.clients[r.IntN(len(s.clients))].kill() })
}

// killDaemons kills the daemons of all workspaces but the first.
func (s *soak) killDaemons() {
	r := rand.New(rand.NewPCG(soakSeed, 1001))
	s.every(killDaemonEvery, func() {
		if pid := s.daemon(s.dirs[1+r.IntN(len(s.dirs)-1)]); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			s.count.daemons.Add(1)
		}
	})
}

// daemon is the process of a workspace's daemon; 0 when there is none.
func (s *soak) daemon(dir string) int {
	for pid, line := range s.processes() {
		if strings.HasPrefix(line, s.exe+" serve ") && strings.HasSuffix(line, " "+dir) {
			return pid
		}
	}
	return 0
}

// processes are the command lines of the run's processes: they are its program, or bear its home.
func (s *soak) processes() map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is sound
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe")         // one that is gone, or another user's, has none
		environ, _ := os.ReadFile(dir + "/environ") // nor this
		if exe != s.exe && !slices.Contains(strings.Split(string(environ), "\x00"), "HOME="+s.temp) {
			continue
		}
		line, err := os.ReadFile(dir + "/cmdline")
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern lets digits through alone
		if err == nil && len(line) > 0 {           // a zombie has none
			found[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// A figure is what a daemon takes of the machine.
type figure struct{ files, threads, mb int }

// watch measures the daemon that is not killed, and wants the last third no larger than the first.
func (s *soak) watch(length time.Duration) string {
	var all []figure
	over := time.After(length)
	tick := time.NewTicker(max(length/90, 100*time.Millisecond))
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			if f, ok := s.figure(s.daemon(s.dirs[0])); ok {
				all = append(all, f)
			}
		case <-over:
			running = false
		}
	}
	if len(all) < 9 {
		s.Errorf("it could be measured only %d times", len(all))
		return "not measured"
	}
	third := len(all) / 3
	first, last := middle(all[third/2:third]), middle(all[len(all)-third:]) // the sessions have begun by then
	// Commands that run at the moment have files too. A leak of one with each command or client would be hundreds.
	if last.files > first.files+40 || last.threads > first.threads+8 || last.mb > first.mb*2+64 {
		s.Errorf("the daemon grew from %+v to %+v", first, last)
	}
	return fmt.Sprintf("files %d → %d, threads %d → %d, MB %d → %d", first.files, last.files, first.threads, last.threads, first.mb, last.mb)
}

// middle is the median of each figure.
func middle(all []figure) figure {
	of := func(get func(figure) int) int {
		var list []int
		for _, f := range all {
			list = append(list, get(f))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return figure{of(func(f figure) int { return f.files }), of(func(f figure) int { return f.threads }), of(func(f figure) int { return f.mb })}
}

func (s *soak) figure(pid int) (figure, bool) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return figure{}, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return figure{}, false
	}
	f := figure{files: len(files)}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.Fields(value + " 0")[0]) // others are no numbers
		switch name {
		case "Threads":
			f.threads = n
		case "VmRSS":
			f.mb = n / 1024
		}
	}
	return f, true
}

// settle says a last word in each session and waits until the model has been told it.
func (s *soak) settle() {
	var all sync.WaitGroup
	for _, one := range s.sessions {
		all.Go(func() {
			one.resume()
			one.steer(false)
			s.told(one)
		})
	}
	all.Wait()
}

func (s *soak) told(one *soakSession) {
	limit := time.After(time.Minute)
	for {
		if strings.Contains(s.model.talk(one.name), one.steers[len(one.steers)-1]) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			s.Errorf("session %s: the model was not told the last steer in a minute", one.name)
			return
		}
	}
}

// checkSteers wants each acknowledged steer once in the conversation, in order.
func (s *soak) checkSteers() {
	for _, one := range s.sessions {
		talk, at := s.model.talk(one.name), 0
		for _, text := range one.steers {
			if n := strings.Count(talk, text); n != 1 {
				s.Errorf("session %s: the steer %q stands %d times in the conversation", one.name, text, n)
				continue
			}
			if i := strings.Index(talk, text); i < at {
				s.Errorf("session %s: the steer %q stands before the one that was said before it", one.name, text)
			} else {
				at = i
			}
		}
	}
}

// quit pauses the sessions of the daemon that was not killed and has it write the stack of each
// goroutine, which ends it. It gives how many there were.
func (s *soak) quit() int {
	var all sync.WaitGroup
	mine := 0
	for _, one := range s.sessions {
		if one.client.dir == s.dirs[0] {
			mine++
			all.Go(func() { _ = one.say(protocol.MethodEnd, protocol.SessionParams{SessionID: one.id}, nil) }) // counted below
		}
	}
	all.Wait()
	log := filepath.Join(s.temp, "tandem", "log", filepath.Base(s.dirs[0])+".log")
	if err := syscall.Kill(s.daemon(s.dirs[0]), syscall.SIGQUIT); err != nil {
		s.Error(err)
	}
	raw := s.untilWritten(log)
	n := strings.Count(raw, "\ngoroutine ")
	if most := 3*mine + 8*soakClients + 30; n == 0 || n > most {
		s.Errorf("%d goroutines with %d sessions and %d clients; want at most %d; the log is\n%.20000s", n, mine, soakClients, most, raw)
	}
	return n
}

// untilWritten waits until the daemon that was told to quit is gone, and gives its log.
func (s *soak) untilWritten(log string) string {
	limit := time.After(20 * time.Second)
	for {
		raw, err := os.ReadFile(log)
		if err == nil && strings.Contains(string(raw), "SIGQUIT: quit") && strings.Contains(string(raw), "\nrax ") || strings.Contains(string(raw), "\nr0 ") {
			return string(raw)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			s.Errorf("the daemon did not quit: %v; its log is\n%.3000s", err, raw)
			return string(raw)
		}
	}
}

// endDaemons tells the daemons to end, as a system does that shuts down.
func (s *soak) endDaemons() {
	for _, dir := range s.dirs {
		if pid := s.daemon(dir); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended by now
		}
	}
}

// checkLogs wants no fault of ours in what the daemons and clients wrote. With GOFLAGS=-race that
// includes what the race detector found.
func (s *soak) checkLogs() {
	paths, _ := filepath.Glob(filepath.Join(s.temp, "tandem", "log", "*.log")) // the pattern is sound
	for _, path := range append(paths, filepath.Join(s.temp, "clients.log")) {
		raw, err := os.ReadFile(path)
		if err != nil {
			s.Error(err)
		}
		for _, fault := range []string{"DATA RACE", "panicked", "\npanic: ", "fatal error: "} {
			if at := strings.Index(string(raw), fault); at >= 0 {
				s.Errorf("%s holds: %.3000s", filepath.Base(path), raw[at:])
			}
		}
	}
}

// checkProcesses wants nothing of the run to be left.
func (s *soak) checkProcesses() {
	limit := time.After(20 * time.Second)
	for left := s.processes(); len(left) > 0; left = s.processes() {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			s.Errorf("processes are left: %v", left)
			for pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
			}
			return
		}
	}
}
