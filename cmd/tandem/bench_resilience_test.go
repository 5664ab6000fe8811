package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/agent/journal"
	"tandem/protocol"
)

// A lodge is a workspace with the real daemon, started by hand.
type lodge struct {
	*testing.B
	exe, temp, dir string
	model          *httptest.Server
	daemon         *exec.Cmd
	conn           net.Conn
	in             *bufio.Reader
	id             int
}

// newLodge has a model that does the same number of steps in each session and then finishes.
func newLodge(b *testing.B, steps int) *lodge {
	if runtime.GOOS == "windows" {
		b.Skip("the socket is dialled as on Unix")
	}
	temp, err := os.MkdirTemp("", "t") // b.TempDir is too long for a socket's path on some systems
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(temp) })
	l := &lodge{B: b, exe: built(b), temp: temp, dir: filepath.Join(temp, "ws")}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "a.txt"), []byte(strings.Repeat("a line of text\n", 10)), 0o644); err != nil {
		b.Fatal(err)
	}
	l.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, reply(bytes.Count(body, []byte(`"role":"assistant"`))+1, steps))
	}))
	b.Cleanup(l.model.Close)
	b.Cleanup(l.end)
	return l
}

// start starts the daemon and connects to it.
func (l *lodge) start() {
	l.Helper()
	l.daemon = exec.Command(l.exe, "serve", "--workspace", l.dir)
	l.daemon.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.temp, "XDG_RUNTIME_DIR=" + l.temp, "XDG_STATE_HOME=" + l.temp,
		"XDG_CONFIG_HOME=" + l.temp, "OPENAI_BASE_URL=" + l.model.URL, "TANDEM_MODEL=stand-in"}
	if err := l.daemon.Start(); err != nil {
		l.Fatal(err)
	}
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(500 * time.Microsecond) {
		paths, _ := filepath.Glob(filepath.Join(l.temp, "tandem", "*.sock")) // the pattern is sound
		if len(paths) == 1 {
			if conn, err := net.Dial("unix", paths[0]); err == nil {
				l.conn, l.in = conn, bufio.NewReader(conn)
				break
			}
		}
		if time.Now().After(limit) {
			l.Fatal("the daemon does not listen")
		}
	}
	trusted := true
	l.call(protocol.LSPInitialize, protocol.InitializeParams{RootURI: protocol.DocumentURI("file://" + l.dir),
		Options: protocol.InitializationOptions{Tandem: &protocol.TandemOptions{Trusted: &trusted}}})
}

// call calls a method and gives the frame of the answer as it came. There is no library here: its
// time is not the daemon's.
func (l *lodge) call(method string, params any) []byte {
	l.Helper()
	l.id++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.id, "method": method, "params": params})
	if err != nil {
		l.Fatal(err)
	}
	if _, err := fmt.Fprintf(l.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		l.Fatal(err)
	}
	mine := fmt.Sprintf(`"id":%d,`, l.id)
	for {
		header, err := textproto.NewReader(l.in).ReadMIMEHeader()
		if err != nil {
			l.Fatal(err)
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			l.Fatal(err)
		}
		frame := make([]byte, n)
		if _, err := io.ReadFull(l.in, frame); err != nil {
			l.Fatal(err)
		}
		if begin := frame[:min(n, 60)]; bytes.Contains(begin, []byte(mine)) && !bytes.Contains(begin, []byte(`"method"`)) {
			return frame
		}
	}
}

// result decodes the result of an answer.
func (l *lodge) result(frame []byte, result any) {
	l.Helper()
	answer := struct{ Result, Error json.RawMessage }{}
	if err := json.Unmarshal(frame, &answer); err != nil || answer.Error != nil {
		l.Fatalf("%s, %v", frame, err)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		l.Fatal(err)
	}
}

// kill ends the daemon as a crash would.
func (l *lodge) kill() {
	l.conn.Close()
	_ = l.daemon.Process.Kill() // it may have ended by itself
	_ = l.daemon.Wait()         // it was killed
	l.daemon = nil
}

func (l *lodge) end() {
	if l.daemon != nil {
		l.kill()
	}
}

// done starts a session, waits until it is done and gives its id.
func (l *lodge) done() string {
	var r protocol.SessionResult
	l.result(l.call(protocol.MethodStart, protocol.StartParams{Task: "work", Autonomy: protocol.High}), &r)
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-time.After(2 * time.Millisecond) {
		for _, s := range l.list() {
			if s.ID == r.Session.ID && s.Mode == protocol.Done {
				return s.ID
			}
		}
	}
	l.Fatal("the session is not done in 30 s")
	return ""
}

// askList asks for the list and gives the answer's frame.
func (l *lodge) askList() []byte {
	return l.call(protocol.MethodList, protocol.ListParams{Workspace: "file://" + l.dir})
}

func (l *lodge) list() []protocol.Session {
	var r protocol.ListResult
	l.result(l.askList(), &r)
	return r.Sessions
}

// shelve makes so many sessions on disk of one that is done, and gives the size of one.
func (l *lodge) shelve(id string, many int) int {
	paths, _ := filepath.Glob(filepath.Join(l.temp, "tandem", "workspaces", "*", "sessions", id+".jsonl")) // the pattern is sound
	if len(paths) != 1 {
		l.Fatalf("the session's journal is in %q", paths)
	}
	size := 0
	for i := 1; i < many; i++ {
		other := id[:len(id)-6] + fmt.Sprintf("%06d", i)
		var copied []byte
		if _, err := journal.Read(paths[0], func(record []byte) error {
			copied = append(copied, journal.Line(bytes.ReplaceAll(record, []byte(id), []byte(other)))...)
			return nil
		}); err != nil {
			l.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(paths[0]), other+".jsonl"), copied, 0o600); err != nil {
			l.Fatal(err)
		}
		size = len(copied)
	}
	return size
}

// BenchmarkRestartToListed measures from the start of a daemon that finds a thousand sessions on
// disk to the answer of session/list: where they were listed before, and for the first time.
func BenchmarkRestartToListed(b *testing.B) {
	for _, steps := range []int{1, 10, 40} {
		b.Run(fmt.Sprintf("%dsteps", steps), func(b *testing.B) { benchmarkRestart(b, steps, false) })
		b.Run(fmt.Sprintf("%dsteps-first", steps), func(b *testing.B) { benchmarkRestart(b, steps, true) })
	}
}

func benchmarkRestart(b *testing.B, steps int, first bool) {
	const many = 1000
	l := newLodge(b, steps)
	l.start()
	size := l.shelve(l.done(), many)
	l.list()
	l.kill()
	var listens, listed []time.Duration
	for b.Loop() {
		if first {
			l.forget()
		}
		begin := time.Now()
		l.start()
		listens = append(listens, time.Since(begin))
		answer := l.askList()
		listed = append(listed, time.Since(begin))
		var r protocol.ListResult
		if l.result(answer, &r); len(r.Sessions) != many {
			b.Fatalf("%d sessions are listed", len(r.Sessions))
		}
		l.kill()
	}
	b.ReportMetric(float64(size)/1024, "KB-a-session")
	medianOf(b, "ms-to-initialized", listens)
	medianOf(b, "ms-to-listed", listed)
}

// forget removes what daemons remember of the sessions on disk.
func (l *lodge) forget() {
	paths, _ := filepath.Glob(filepath.Join(l.temp, "tandem", "workspaces", "*", "listed.json")) // the pattern is sound
	if len(paths) != 1 {
		l.Fatalf("what is remembered is in %q", paths)
	}
	if err := os.Remove(paths[0]); err != nil {
		l.Fatal(err)
	}
}

func medianOf(b *testing.B, what string, d []time.Duration) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, what)
}

// BenchmarkIdleSessions reports the memory of a daemon in which a thousand sessions are open: each
// has done its work, and a client follows it.
func BenchmarkIdleSessions(b *testing.B) {
	const many = 1000
	for b.Loop() {
		l := newLodge(b, 5)
		l.start()
		before := resident(b, l.daemon.Process.Pid)
		for range many {
			l.call(protocol.MethodStart, protocol.StartParams{Task: "work", Autonomy: protocol.High})
		}
		open := l.untilAllDone()
		b.ReportMetric(float64(open), "sessions")
		b.ReportMetric(before, "MB-without")
		b.ReportMetric(resident(b, l.daemon.Process.Pid), "MB-with")
		l.kill()
	}
}

// untilAllDone waits until no session works, and gives how many there are.
func (l *lodge) untilAllDone() int {
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); <-time.After(100 * time.Millisecond) {
		all := l.list()
		if !slices.ContainsFunc(all, func(s protocol.Session) bool { return s.Mode != protocol.Done }) {
			return len(all)
		}
	}
	l.Fatal("the sessions are not done in a minute")
	return 0
}

// resident is the memory that a process holds now, in MB.
func resident(b *testing.B, pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skipf("memory is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kb) / 1024
		}
	}
	b.Fatal("no VmRSS in /proc")
	return 0
}
