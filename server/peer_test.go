package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tandem/agent/command"
	"tandem/protocol"
)

// TestMain lets this program supervise the commands that tests start, and sees that no
// goroutine is left behind.
func TestMain(m *testing.M) {
	command.Supervise()
	goleak.VerifyTestMain(m)
}

// A house is a daemon in this process: its registry, a workspace and a scripted model.
type house struct {
	*Registry
	t     testing.TB
	model *scripted
	dir   string
	opts  Options
}

// newHouse makes one with files in the workspace; further settings of the environment override.
func newHouse(t testing.TB, files map[string]string, environ ...string) *house {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	m := newScripted(t)
	home := t.TempDir()
	var names []string // what a test gives its commands has to be declared, as by a user
	for _, e := range environ {
		if name, _, _ := strings.Cut(e, "="); !strings.Contains(name, "OPENAI") {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		write(t, home, map[string]string{".config/tandem/config.yaml": "commands: {env: [" + strings.Join(names, ", ") + "]}\n"})
	}
	h := &house{t: t, model: m, dir: dir, opts: Options{State: t.TempDir(), HTTP: m, Environ: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_BASE_URL=http://model.example", "TANDEM_MODEL=scripted"}, environ...)}}
	h.Registry = NewRegistry(h.opts)
	t.Cleanup(h.holdsNoSecrets) // when it is closed
	t.Cleanup(h.close)
	return h
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *house) close() {
	if err := h.Close(); err != nil {
		h.t.Errorf("close the registry: %v", err)
	}
}

// again is the daemon after a restart, on the same state.
func (h *house) again() {
	h.t.Helper()
	h.close()
	h.Registry = NewRegistry(h.opts)
}

// guest connects a client that has not said who it is.
func (h *house) guest() *peer {
	ours, theirs := net.Pipe()
	served := h.Serve(context.Background(), ours)
	return newPeer(h.t, theirs, served.Done())
}

// client connects a client that works in the workspace and trusts it.
func (h *house) client() *peer {
	h.t.Helper()
	p := h.guest()
	p.initialize(h.dir, true)
	return p
}

// A peer is the other end, with frames and no library, as an editor would be.
type peer struct {
	t     testing.TB
	conn  net.Conn
	gone  chan struct{} // closed when nothing more is read
	freed <-chan struct{}

	mu      sync.Mutex
	came    *sync.Cond
	last    int
	answers map[int]answer
	told    []answer // notifications
	from    int      // those before it were taken by until
	order   []string // methods of notifications, and «= ID» for answers
	hung    bool
	sullen  bool                                         // it answers no requests of the daemon
	edits   func(id int, asked protocol.ApplyEditParams) // answers an edit, where it is an editor's
}

// answer is any message that a peer gets.
type answer struct {
	ID     *int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    protocol.ErrorData
	}
}

func newPeer(t testing.TB, conn net.Conn, freed <-chan struct{}) *peer {
	p := &peer{t: t, conn: conn, gone: make(chan struct{}), freed: freed, answers: map[int]answer{}}
	p.came = sync.NewCond(&p.mu)
	go p.listen()
	t.Cleanup(p.hangUp)
	return p
}

// hangUp goes away, as an editor that is closed does.
func (p *peer) hangUp() {
	p.conn.Close()
	<-p.gone
	if p.freed != nil {
		<-p.freed
	}
}

func (p *peer) listen() {
	defer close(p.gone)
	in := bufio.NewReader(p.conn)
	for {
		a, err := readFrame(in)
		p.mu.Lock()
		switch {
		case err != nil:
			p.hung = true
		case a.Method != "":
			p.told = append(p.told, a)
			p.order = append(p.order, a.Method)
		case a.ID != nil:
			p.answers[*a.ID] = a
			p.order = append(p.order, fmt.Sprintf("= %d", *a.ID))
		}
		p.came.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
		switch {
		case a.Method == protocol.LSPApplyEdit && p.edits != nil:
			var asked protocol.ApplyEditParams
			if err := json.Unmarshal(a.Params, &asked); err != nil {
				p.t.Errorf("an edit that cannot be read: %v", err)
			}
			p.edits(*a.ID, asked)
		case a.Method != "" && a.ID != nil && !p.sullen:
			p.obey(*a.ID)
		}
	}
}

// obey answers a request of the daemon with nothing, which is what those of the face ask for.
func (p *peer) obey(id int) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, id)
	// One that has hung up is not heard: the daemon sees that by itself.
	_, _ = fmt.Fprintf(p.conn, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func readFrame(in *bufio.Reader) (answer, error) {
	var a answer
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		return a, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return a, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(in, body); err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

// send sends a request and gives its id.
func (p *peer) send(method string, params any) int {
	p.t.Helper()
	p.mu.Lock()
	p.last++
	id := p.last
	p.mu.Unlock()
	p.frame(fmt.Sprintf(`"id":%d,`, id), method, params)
	return id
}

// post sends a notification.
func (p *peer) post(method string, params any) {
	p.t.Helper()
	p.frame("", method, params)
}

// frame writes a message. Params that are absent are left out.
func (p *peer) frame(id, method string, params any) {
	p.t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":%s}`, id, method, text)
	if params == (absent{}) {
		body = fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q}`, id, method)
	}
	if _, err := fmt.Fprintf(p.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		p.t.Fatalf("send %s: %v", method, err)
	}
}

// answered is the answer to a request, if it has come.
func (p *peer) answered(id int) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.answers[id]
	return a, ok
}

// hasGone says that the connection has ended.
func (p *peer) hasGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hung
}

// answer waits for the answer to a request.
func (p *peer) answer(id int) answer {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if a, ok := p.answers[id]; ok {
			return a
		}
		if p.hung {
			p.t.Fatalf("the connection ended before request %d was answered", id)
		}
		p.came.Wait()
	}
}

func (p *peer) call(method string, params any) answer {
	p.t.Helper()
	return p.answer(p.send(method, params))
}

// ok calls a method that has to be answered, and decodes the answer.
func (p *peer) ok(method string, params, result any) {
	p.t.Helper()
	a := p.call(method, params)
	if a.Error != nil {
		p.t.Fatalf("%s: %d %s", method, a.Error.Code, a.Error.Message)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		p.t.Fatalf("%s: %s: %v", method, a.Result, err)
	}
}

// refused calls a method that has to be refused, in a sentence that says so.
func (p *peer) refused(method string, params any, code int, kind protocol.ErrorKind, says string) {
	p.t.Helper()
	a := p.call(method, params)
	if a.Error == nil {
		p.t.Errorf("%s %v was answered: %.200s", method, params, a.Result)
		return
	}
	if a.Error.Code != code || a.Error.Data.Kind != kind || !strings.Contains(a.Error.Message, says) {
		p.t.Errorf("%s %v: %d %q %q; want %d %q with %q", method, params, a.Error.Code, a.Error.Data.Kind, a.Error.Message, code, kind, says)
	}
}

// until waits for a notification that fits, and takes those up to it.
func (p *peer) until(what string, fits func(method string, params string) bool) answer {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.from < len(p.told) {
			a := p.told[p.from]
			p.from++
			if fits(a.Method, string(a.Params)) {
				return a
			}
		}
		if p.hung {
			p.t.Fatalf("the connection ended while waiting for %s", what)
		}
		p.came.Wait()
	}
}

// untilHas waits for a notification of a method whose params hold a text.
func (p *peer) untilHas(method, text string) answer {
	p.t.Helper()
	return p.until(method+" with "+text, func(m, params string) bool { return m == method && strings.Contains(params, text) })
}

// notes are the durable notifications so far: the words that stream are left out.
func (p *peer) notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.told {
		if a.Method != protocol.NoteText {
			out = append(out, a.Method+" "+string(a.Params))
		}
	}
	return out
}

func fileURI(dir string) string { return folderURI(dir) }

func (p *peer) initialize(dir string, trusted bool) protocol.InitializeResult {
	p.t.Helper()
	var r protocol.InitializeResult
	p.ok(protocol.LSPInitialize, map[string]any{"rootUri": fileURI(dir), "capabilities": map[string]any{},
		"initializationOptions": map[string]any{"tandem": map[string]any{"trusted": trusted, "client": "test"}}}, &r)
	return r
}

// start starts a session.
func (p *peer) start(params map[string]any) protocol.Session {
	p.t.Helper()
	if params["task"] == nil {
		params["task"] = "work"
	}
	var r protocol.SessionResult
	p.ok(protocol.MethodStart, params, &r)
	return r.Session
}

// session is a session as its view says now.
func (p *peer) session(id string) protocol.Session {
	p.t.Helper()
	var r protocol.ListResult
	p.ok(protocol.MethodList, map[string]any{}, &r)
	for _, s := range r.Sessions {
		if s.ID == id {
			return s
		}
	}
	p.t.Fatalf("session %s is not listed", id)
	return protocol.Session{}
}

func needsShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command lines here are written for sh")
	}
}

// configured is the variable of an environment in which the user's configuration is the text.
func configured(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tandem"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tandem", "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "XDG_CONFIG_HOME=" + dir
}
