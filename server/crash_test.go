package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/agent/session"
	"tandem/protocol"
	"tandem/server/rpc"
)

// The daemon that these tests kill is Tandem itself, built with two methods wrapped: the journal's
// Append and the world's Do. TANDEM_CUT names the point at which the process kills itself;
// TANDEM_POINTS the file in which it notes each point that it passes.
const (
	cutJournal = `package journal

import (
	"fmt"
	"os"
	"syscall"
)

var appends int

// Cut is a point at which the process may die.
func Cut(point string) {
	if point == os.Getenv("TANDEM_CUT") {
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
	if f, err := os.OpenFile(os.Getenv("TANDEM_POINTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, point)
		f.Close()
	}
}

// Append writes a record, or dies before, in or behind it.
func (j *Journal) Append(record []byte) error {
	appends++
	Cut(fmt.Sprintf("record %d before", appends))
	torn := fmt.Sprintf("record %d torn", appends)
	if torn == os.Getenv("TANDEM_CUT") {
		j.file.WriteAt(Line(record)[:len(record)/2+20], j.size)
	}
	Cut(torn)
	err := j.appendWhole(record)
	Cut(fmt.Sprintf("record %d after", appends))
	return err
}
`
	cutWorld = `package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/journal"
)

var works, commands atomic.Int64

// Do does a job, or dies before, in or behind it.
func (w Workplace) Do(ctx context.Context, j Job) agent.Input {
	n := works.Add(1)
	journal.Cut(fmt.Sprintf("work %d before", n))
	var first sync.Once
	said := j.Said
	j.Said = func(text string) {
		first.Do(func() { journal.Cut(fmt.Sprintf("work %d during", n)) })
		said(text)
	}
	in := w.doWhole(ctx, j)
	journal.Cut(fmt.Sprintf("work %d after", n))
	return in
}

func startOrDie(spec command.Spec, said func(string)) (*command.Command, error) {
	c, err := command.Start(spec, said)
	journal.Cut(fmt.Sprintf("command %d started", commands.Add(1)))
	return c, err
}
`
)

// mortal builds the daemon that can be told where to die.
func mortal(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the command lines and the signals here are Unix's")
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	put := func(path, text string) {
		real, err := filepath.Abs(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		replaced[real] = filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(replaced[real], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("agent/journal/journal.go", wrapped(t, "agent/journal/journal.go", "func (j *Journal) Append(", "func (j *Journal) appendWhole("))
	put("agent/journal/cut.go", cutJournal)
	put("agent/session/world.go", wrapped(t, "agent/session/world.go", "func (w Workplace) Do(", "func (w Workplace) doWhole(", "command.Start(", "startOrDie("))
	put("agent/session/cut.go", cutWorld)
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "tandem")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", exe, "tandem/cmd/tandem")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// wrapped is a source file with texts that stand in it once replaced, given as pairs.
func wrapped(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			t.Fatalf("%q stands %d times in %s", pairs[i], n, path)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// TestCrash plays one story once for each point at which the daemon can die: before, in the middle
// of and behind each record of the journal, and before, in and behind each effect. A second daemon
// takes over. No acknowledged word may be missing, nothing may be done twice, what ran is lost and
// the model told so; the session waits in a pause by recovery, or at autonomy high goes on.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts some hundreds of daemons")
	}
	exe := mortal(t)
	points := undisturbed(t, exe)
	t.Logf("%d points", len(points))
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			newFate(t, exe, protocol.Balanced, point).play()
		})
		if !strings.HasPrefix(point, "record") {
			t.Run(point+" high", func(t *testing.T) {
				t.Parallel()
				newFate(t, exe, protocol.High, point).play()
			})
		}
	}
	// The one that recovers dies too.
	for _, twice := range []string{"record 1 before", "record 1 torn", "record 1 after", "record 2 torn", "record 3 after", "work 1 before"} {
		for _, point := range []string{"record 4 after", "command 1 started"} {
			t.Run(point+" then "+twice, func(t *testing.T) {
				t.Parallel()
				newFate(t, exe, protocol.Balanced, point, twice).play()
			})
		}
	}
}

// undisturbed plays the story to its end and gives the points that it passed.
func undisturbed(t *testing.T, exe string) []string {
	f := newFate(t, exe, protocol.Balanced)
	f.play()
	raw, err := os.ReadFile(filepath.Join(f.temp, "points"))
	if err != nil || t.Failed() {
		t.Fatalf("the story without a crash: %v", err)
	}
	return strings.Fields(strings.ReplaceAll(strings.ReplaceAll(string(raw), " ", "_"), "\n", " "))
}

// A fate is the story with a row of daemons, each of which dies at its cut; the last lives.
type fate struct {
	*testing.T
	exe, temp, dir string
	autonomy       protocol.Autonomy
	cuts           []string
	model          *teller

	life  int
	id    string
	sent  map[string]bool
	acked map[string]int    // in which life a word was acknowledged
	lost  []string          // operations that ran when a daemon died
	ended map[string]string // how each ended, in the end
	conn  *rpc.Conn
	moved chan struct{} // something changed
}

func newFate(t *testing.T, exe string, autonomy protocol.Autonomy, cuts ...string) *fate {
	temp, err := os.MkdirTemp("", "t") // t.TempDir is too long for a socket's path on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(temp, "tandem-"+filepath.Base(temp)) // a name by which its processes are found
	if err := os.Link(exe, own); err != nil {
		t.Fatal(err)
	}
	f := &fate{T: t, exe: own, temp: temp, dir: filepath.Join(temp, "ws"), autonomy: autonomy, model: newTeller(t),
		sent: map[string]bool{}, acked: map[string]int{}}
	for _, cut := range cuts {
		f.cuts = append(f.cuts, strings.ReplaceAll(cut, "_", " "))
	}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "tally.txt"), []byte("tally\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fate) play() {
	for _, cut := range f.cuts {
		if f.live(cut) {
			f.Fatalf("it did not die at %s", cut)
		}
	}
	if !f.live("") {
		f.Fatalf("the last daemon died; its log:\n%s", f.log())
	}
	f.checkFiles()
	f.checkWords()
	f.checkNothingRuns()
	for _, fault := range f.model.faults {
		f.Error(fault)
	}
}

func (f *fate) log() string {
	raw, _ := os.ReadFile(filepath.Join(f.temp, "log")) // none is an empty one
	return string(raw)
}

// live runs one daemon until it dies or the story is over, and says whether it is.
func (f *fate) live(cut string) (over bool) {
	f.life++
	f.model.nobodyWaits()
	before := f.onDisk()
	daemon := f.start(cut)
	died := make(chan struct{})
	go func() {
		_ = daemon.Wait() // the status is looked at when it is buried
		close(died)
	}()
	defer f.bury(daemon, died, cut)
	if !f.connect(daemon, died) {
		return false // it recovers by itself as it starts, and may die of that before a client comes
	}
	defer f.conn.Close()
	uri := protocol.DocumentURI("file://" + f.dir)
	trusted := true
	if !f.call(protocol.LSPInitialize, protocol.InitializeParams{RootURI: uri, Options: protocol.InitializationOptions{Tandem: &protocol.TandemOptions{Trusted: &trusted}}}, nil) {
		return false
	}
	return f.enter() && f.checkRecovery(before) && f.sayAgain() && f.work()
}

// bury waits for a daemon's death, which has to be the one that it was told to die.
func (f *fate) bury(daemon *exec.Cmd, died <-chan struct{}, cut string) {
	if cut == "" {
		_ = daemon.Process.Kill() // dead already: then Wait says how
	}
	limit := time.AfterFunc(20*time.Second, func() { _ = daemon.Process.Kill() })
	<-died
	if !limit.Stop() {
		f.Errorf("the daemon did not die at %s", cut)
	}
	if status := daemon.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		f.Errorf("the daemon ended with %v; its log:\n%s", daemon.ProcessState, f.log())
	}
}

func (f *fate) start(cut string) *exec.Cmd {
	f.Helper()
	log, err := os.OpenFile(filepath.Join(f.temp, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(f.exe, "serve", "--workspace", f.dir)
	cmd.Stderr = log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.temp, "XDG_RUNTIME_DIR=" + f.temp, "XDG_STATE_HOME=" + f.temp,
		"XDG_CONFIG_HOME=" + f.temp, "OPENAI_BASE_URL=" + f.model.URL, "TANDEM_MODEL=stand-in",
		"TANDEM_CUT=" + cut, "TANDEM_POINTS=" + filepath.Join(f.temp, "points")}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	return cmd
}

// connect connects to the daemon's socket as soon as it listens, and says whether it lived so long.
func (f *fate) connect(daemon *exec.Cmd, died <-chan struct{}) bool {
	f.Helper()
	limit := time.After(20 * time.Second)
	for {
		paths, _ := filepath.Glob(filepath.Join(f.temp, "tandem", "*.sock")) // the pattern is sound
		if len(paths) == 1 {
			if conn, err := net.Dial("unix", paths[0]); err == nil {
				f.follow(conn)
				return true
			}
		}
		select {
		case <-died:
			return false
		case <-time.After(2 * time.Millisecond):
		case <-limit:
			_ = daemon.Process.Kill()
			f.Fatalf("the daemon does not listen; its log:\n%s", f.log())
		}
	}
}

func (f *fate) follow(conn net.Conn) {
	moved := make(chan struct{}, 1)
	note := func(context.Context, json.RawMessage) (any, error) {
		select {
		case moved <- struct{}{}:
		default:
		}
		return nil, nil
	}
	f.moved = moved
	f.conn = rpc.Serve(context.Background(), conn, rpc.Options{Handlers: func(*rpc.Conn) map[string]rpc.Handler {
		return map[string]rpc.Handler{protocol.NoteModeChanged: note}
	}})
}

// call calls a method that has to be answered while the daemon lives, and says whether it was.
func (f *fate) call(method string, params, result any) bool {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := f.conn.Call(ctx, method, params, result)
	if refused := (*rpc.RefusedError)(nil); errors.As(err, &refused) || ctx.Err() != nil {
		f.Fatalf("%s: %v", method, err)
	}
	return err == nil
}

// enter starts the session, or goes back to it.
func (f *fate) enter() bool {
	var r protocol.SessionResult
	if f.acked["start"] == 0 {
		key := protocol.Request{ClientID: "crash", RequestKey: "start"}
		if !f.call(protocol.MethodStart, protocol.StartParams{Request: key, Task: "Make it, and count it.", Autonomy: f.autonomy}, &r) {
			return false
		}
		f.acked["start"], f.id = f.life, r.Session.ID
		return true
	}
	return f.call(protocol.MethodAttach, protocol.AttachParams{SessionID: f.id}, &r)
}

// view is the session as it is now.
func (f *fate) view() (protocol.Session, bool) {
	var r protocol.ListResult
	if !f.call(protocol.MethodList, protocol.ListParams{}, &r) {
		return protocol.Session{}, false
	}
	if len(r.Sessions) != 1 {
		f.Fatalf("%d sessions are listed; there is one", len(r.Sessions))
	}
	return r.Sessions[0], true
}

// onDisk is the session as the dead daemon left it. A start that it did not live to write leaves
// an empty journal, which is no session.
func (f *fate) onDisk() session.Snapshot {
	paths, _ := filepath.Glob(filepath.Join(f.temp, "tandem", "workspaces", "*", "sessions", "*.jsonl")) // the pattern is sound
	var found []session.Snapshot
	for _, path := range paths {
		now, err := session.Load(path)
		if err != nil {
			f.Fatal(err)
		}
		if now.State.Seq > 0 {
			found = append(found, now)
		}
	}
	if len(found) > 1 {
		f.Fatalf("there are %d sessions: the start was done twice", len(found))
	}
	return append(found, session.Snapshot{})[0]
}

// checkRecovery holds the session against what the dead daemon left.
func (f *fate) checkRecovery(before session.Snapshot) bool {
	if before.State.Seq == 0 {
		return true
	}
	now, ok := f.view()
	if !ok {
		return false
	}
	ends, ok := f.ends()
	if !ok {
		return false
	}
	var ran []string
	for _, c := range before.State.Open {
		was, is := c.Op.Status, ends[c.Op.ID]
		switch {
		case c.Taken: // a plan that stands ends with its verifications
		case was == protocol.OpQueued && is != "cancelled", was != protocol.OpQueued && is != "lost":
			f.Errorf("%s %s was %s when the daemon died, and is now %q", c.Op.ID, c.Op.Tool, was, is)
		case was != protocol.OpQueued:
			ran = append(ran, c.Op.ID)
		}
	}
	f.lost = append(f.lost, ran...)
	if before.State.Mode == protocol.Executing && f.autonomy != protocol.High {
		f.checkPause(now, ran)
	}
	return true
}

// ends is how each operation ended, by the session's history: there each may end but once.
func (f *fate) ends() (map[string]string, bool) {
	var r protocol.HistoryResult
	if !f.call(protocol.MethodHistory, protocol.HistoryParams{SessionID: f.id, Limit: 1000}, &r) {
		return nil, false
	}
	ends := map[string]string{}
	for _, e := range r.Events {
		if !slices.Contains([]string{"returned", "cancelled", "lost"}, e.Kind) {
			continue
		}
		var end struct{ Op string }
		if err := json.Unmarshal(e.Data, &end); err != nil || ends[end.Op] != "" {
			f.Errorf("%s ended as %s and as %s, %v", end.Op, ends[end.Op], e.Kind, err)
		}
		ends[end.Op] = e.Kind
	}
	return ends, true
}

// checkPause wants the pause by recovery, with a fact for each operation that ran.
func (f *fate) checkPause(now protocol.Session, ran []string) {
	if now.Mode != protocol.Paused || now.Pause.By != protocol.PausedByRecovery || now.Pause.Reason == "" {
		f.Errorf("after the crash it is %s, %+v", now.Mode, now.Pause)
		return
	}
	var facts []string
	for _, fact := range now.Pause.Facts {
		facts = append(facts, fact.Source.OperationID)
	}
	if !slices.Equal(facts, ran) {
		f.Errorf("%q ran, and the facts are %+v", ran, now.Pause.Facts)
	}
}

// The developer's words. Each is said with a key; one that was not acknowledged is said again.
const (
	wordSteer  = "Call it tandem, and keep the names."
	wordReason = "The plan is mine too."
	wordAnswer = "green, as ever"
)

// say says a word to the daemon, unless it was acknowledged.
func (f *fate) say(word string) bool {
	if f.acked[word] > 0 {
		return true
	}
	f.sent[word] = true
	now, ok := f.view()
	if !ok {
		return false
	}
	key := protocol.Request{ClientID: "crash", RequestKey: word}
	switch word {
	case "steer":
		ok = f.call(protocol.MethodSteer, protocol.SteerParams{Request: key, SessionID: f.id, Text: wordSteer}, nil)
	case "replan":
		step := &protocol.NewStep{ID: "n1", Title: "Say goodbye", Intent: "Be polite."}
		ok = f.call(protocol.MethodReplan, protocol.ReplanParams{Request: key, SessionID: f.id, BaseRevision: now.Plan.Revision,
			Edits: []protocol.PlanEdit{{Op: protocol.EditAdd, Step: step}}, Reason: wordReason}, nil)
	case "answer":
		ok = f.call(protocol.MethodDecide, protocol.DecideParams{Request: key, SessionID: f.id, QuestionID: "q1", Text: wordAnswer}, nil)
	}
	if ok {
		f.acked[word] = f.life
	}
	return ok
}

// sayAgain says what the dead daemon was told and did not answer.
func (f *fate) sayAgain() bool {
	for _, word := range []string{"steer", "replan", "answer"} {
		if f.sent[word] && !f.say(word) {
			return false
		}
	}
	return true
}

// work does what a developer does until the session is done.
func (f *fate) work() bool {
	limit := time.After(25 * time.Second)
	for {
		now, ok := f.view()
		if !ok {
			return false
		}
		if now.Mode == protocol.Done {
			f.ended, ok = f.ends()
			return ok
		}
		if !f.turn(now) {
			return false
		}
		select {
		case <-f.moved:
		case word := <-f.model.wants:
			if f.acked[word] > 0 && f.acked[word] < f.life {
				f.Errorf("the %s was acknowledged, and after the crash the model was not told of it", word)
			}
			if !f.say(word) {
				return false
			}
		case <-f.conn.Done():
			return false
		case <-limit:
			f.Fatalf("it stands still in mode %s, pause %+v; the model was told\n%s", now.Mode, now.Pause, f.model.tail())
		}
	}
}

// turn takes the developer's turn where it is theirs.
func (f *fate) turn(now protocol.Session) bool {
	switch {
	case now.Mode == protocol.Paused && now.Initiative == protocol.DeveloperInitiative:
		return f.call(protocol.MethodResume, protocol.ResumeParams{SessionID: f.id}, nil)
	case now.Mode == protocol.Waiting && len(now.Questions) > 0:
		return f.say("answer")
	case now.Mode == protocol.Waiting:
		f.Fatalf("it waits without a question; the model was told\n%s", f.model.tail())
	}
	return true
}

// checkFiles wants each effect done once: the files as they shall be, and no command run twice.
func (f *fate) checkFiles() {
	for name, want := range map[string]string{"made.txt": "it is there\n", "tally.txt": "tally I\n"} {
		if got, err := os.ReadFile(filepath.Join(f.dir, name)); err != nil || string(got) != want {
			f.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	marks, err := os.ReadFile(filepath.Join(f.dir, "marks.txt"))
	if err != nil {
		f.Error(err)
	}
	for n, c := range f.model.lastTalk().runs() {
		begun := strings.Count(string(marks), fmt.Sprintf("begin-%d\n", n+1))
		ended := strings.Count(string(marks), fmt.Sprintf("end-%d\n", n+1))
		switch c.fate() {
		case callDone:
			if begun != 1 || ended != 1 {
				f.Errorf("command %d is done, and has begun %d and ended %d times", n+1, begun, ended)
			}
		case callLost:
			if begun > 1 || ended > 1 {
				f.Errorf("command %d is lost, and has begun %d and ended %d times", n+1, begun, ended)
			}
		case callNever:
			if begun+ended > 0 {
				f.Errorf("command %d never began, it is said, and has begun %d times: %s", n+1, begun, c.result)
			}
		}
	}
}

// checkWords wants each word of the developer once in the last conversation, and each operation
// ended once; what was lost the model was told.
func (f *fate) checkWords() {
	talk := f.model.last()
	for word, text := range map[string]string{"steer": wordSteer, "replan": wordReason, "answer": wordAnswer} {
		if n := strings.Count(talk, text); n != 1 || f.acked[word] == 0 {
			f.Errorf("the %s stands %d times in the conversation, acknowledged in life %d:\n%s", word, n, f.acked[word], f.model.tail())
		}
	}
	told, lost := strings.Count(talk, `\"status\":\"lost\"`)+strings.Count(talk, "lost: the outcome is unknown"), 0
	for _, end := range f.ended {
		if end == "lost" {
			lost++
		}
	}
	if told != lost || lost < len(f.lost) {
		f.Errorf("%q ran when a daemon died, %d were lost, and the model was told of %d:\n%s", f.lost, lost, told, f.model.tail())
	}
	f.checkEnds()
}

// checkEnds wants the session done, with an end for each call that the model made.
func (f *fate) checkEnds() {
	now := f.onDisk()
	if n := len(now.State.Open); n > 0 || now.State.Mode != protocol.Done {
		f.Errorf("at the end %d operations are open, in mode %s", n, now.State.Mode)
	}
	for _, c := range f.model.lastTalk().calls {
		if f.ended[c.id] == "" {
			f.Errorf("%s %s has no end", c.id, c.tool)
		}
	}
}

// checkNothingRuns wants no process left of any daemon.
func (f *fate) checkNothingRuns() {
	if runtime.GOOS != "linux" {
		return
	}
	limit := time.After(5 * time.Second)
	for {
		left := processesOf("HOME="+f.temp, f.exe)
		if len(left) == 0 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			f.Errorf("processes are left: %q", left)
			return
		}
	}
}

// processesOf are the command lines of the processes that have a variable in their environment, or
// are a program.
func processesOf(variable, exe string) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is sound
	for _, dir := range dirs {
		is, _ := os.Readlink(dir + "/exe")          // one that is gone, or another user's, has none
		environ, _ := os.ReadFile(dir + "/environ") // nor this
		if is != exe && !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			continue
		}
		if line, err := os.ReadFile(dir + "/cmdline"); err == nil && len(line) > 0 { // a zombie has none
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}
