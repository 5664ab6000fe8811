package server

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tandem/protocol"
)

// canaries are secrets of every kind, by where they are planted. Each must be seen nowhere else.
var canaries = map[string]string{
	"environment":         `c4nary"one&two/é`,
	"environment's token": "c4nary-plain-token-value",
	"environment's DSN":   "c4nary-in-url",
	"model key":           "sk-c4nary0123456789abcdefABCDEF",
	"watch's DSN":         "c4nary-watch-pw",
	"tripwire's DSN":      "c4nary-tripwire-pw",
	"GitHub":              "ghp_c4naryABCDEFGHIJKLMNOPQRSTUVWXYZ0123",
	"AWS id":              "AKIAC4NARYC4NARYC4NA",
	"AWS key":             "c4n4ryUtnFEMI/K7MDENG/bPxRfiCYc4n4ry9Kx1",
	"JSON web token":      "eyJhbGciOiJIUzI1NiJ9.eyJjNG5hcnkiOiJjNG5hcnkifQ.c4nary0123456789",
	"private key":         "MIIEpC4NARYkQ0FOQVJZQ0FOQVJZ",
	"assigned":            "C4nary-p4ss!",
	"bearer":              "c4nary0bearer0token",
}

// secretFile holds those that only their looks betray.
func secretFile() string {
	c := canaries
	return fmt.Sprintf("GITHUB=%s\naws_access_key_id = %s\naws_secret_access_key = %s\n{\"jwt\": \"%s\"}\n-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----\npassword: \"%s\"\n",
		c["GitHub"], c["AWS id"], c["AWS key"], c["JSON web token"], c["private key"], c["assigned"]) +
		"Authorization: Bearer " + c["bearer"] + "\nPORT=1\n"
}

// spellings are the ways in which a secret may be found again.
func spellings(text string) map[string]string {
	quoted, _ := json.Marshal(text)
	return map[string]string{"plain": text, "JSON": strings.Trim(string(quoted), `"`), "URL": url.QueryEscape(text), "hex": hex.EncodeToString([]byte(text)),
		"base64": strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "="), "its first half": text[:len(text)/2+1]}
}

// tap is a connection of which all that comes is kept.
type tap struct {
	net.Conn
	mu   sync.Mutex
	came bytes.Buffer
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came.Write(p[:n])
	return n, err
}

func (t *tap) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.came.String()
}

// tapped connects a client of which all that it is told is kept.
func (h *house) tapped() (*peer, *tap) {
	ours, theirs := net.Pipe()
	served := h.Serve(h.t.Context(), ours)
	t := &tap{Conn: theirs}
	p := newPeer(h.t, t, served.Done())
	p.initialize(h.dir, true)
	return p, t
}

// written is all that lies in a folder by the names of the files, but for what is left out.
func written(t testing.TB, dir, leftOut string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == leftOut {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out[path] = path + "\n" + string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// aviary is a daemon with canaries in its environment, its workspace and its configuration, and all
// that can be heard of it.
type aviary struct {
	*house
	p    *peer
	wire *tap
	said *tap // the log
}

func newAviary(t *testing.T, config string) *aviary {
	c := canaries
	a := &aviary{said: &tap{}}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(logTo{a.said}), zapcore.DebugLevel)
	a.house = newHouse(t, map[string]string{"secrets.txt": secretFile(), "AGENTS.md": "The token is " + c["GitHub"] + ".\n", ".tandem/config.yaml": config},
		"DB_PASSWORD="+c["environment"], "SHOP_TOKEN="+c["environment's token"], "DATABASE_URL=postgres://u:"+c["environment's DSN"]+"@h/d", "OPENAI_API_KEY="+c["model key"])
	a.house.close()
	a.opts.Log = zap.New(core)
	a.Registry = NewRegistry(a.opts)
	a.p, a.wire = a.tapped()
	return a
}

// search looks for every canary in all that was written, sent, asked and logged.
func (a *aviary) search(t *testing.T) {
	t.Helper()
	a.house.close()
	all := written(t, a.opts.State, "store")
	all["the log"], all["the client"] = a.said.text(), a.wire.text()
	for i, q := range a.model.asked() {
		all[fmt.Sprintf("question %d", i)] = string(bytes.Join(rawOf(q.Messages), []byte("\n")))
	}
	if len(a.model.asked()) < 2 || !strings.Contains(all["the client"], " redacted]") {
		t.Fatalf("little was said: %d places, %.2000s", len(all), all["the client"])
	}
	for place, text := range all {
		for kind, canary := range canaries {
			for how, spelt := range spellings(canary) {
				if at := strings.Index(text, spelt); at >= 0 {
					t.Errorf("%s: the canary of the %s (%s): …%.200s", place, kind, how, text[max(0, at-80):])
				}
			}
		}
	}
}

// torn is an answer that is torn within a secret.
func torn(text string) reply {
	at := len(text) * 3 / 4
	return sse{saying("It is " + text[:at]), saying(text[at:] + ".")}.whole("stop")
}

// holdsNoSecrets looks through all that a daemon of a test has written, but for the bytes of files,
// for whatever it knows to be secret.
func (h *house) holdsNoSecrets() {
	for path, text := range written(h.t, h.opts.State, "store") {
		if clean := h.secrets.Text(text); clean != text {
			at := 0
			for at < min(len(text), len(clean)) && text[at] == clean[at] {
				at++
			}
			h.t.Errorf("%s holds a secret: …%.120s", path, text[max(0, at-40):])
		}
	}
}

// TestWhatTestsWriteIsLookedThrough sees that the look finds what lies there.
func TestWhatTestsWriteIsLookedThrough(t *testing.T) {
	failed := &failures{TB: t}
	h := newHouse(t, nil, "SHOP_TOKEN="+canaries["environment's token"])
	planted := filepath.Join(h.opts.State, "workspaces", "log.txt")
	write(t, filepath.Dir(planted), map[string]string{"log.txt": "It is " + canaries["environment's token"] + " and " + canaries["GitHub"]})
	looked := &house{Registry: h.Registry, t: failed, opts: h.opts}
	if looked.holdsNoSecrets(); failed.n != 1 {
		t.Errorf("%d files with secrets were found", failed.n)
	}
	if err := os.Remove(planted); err != nil {
		t.Fatal(err)
	}
}

// failures counts what a test would have been told.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Errorf(string, ...any) { f.n++ }

// TestCanaries plants a secret of every kind wherever text comes from, and looks for each in all
// that the daemon writes, sends and asks. In the store lie the bytes of files that were changed:
// without them nothing could be taken back.
func TestCanaries(t *testing.T) {
	needsShell(t)
	c := canaries
	a := newAviary(t, "")
	a.log.Error("an error with "+c["environment"], zap.String("text", c["GitHub"]), zap.Error(fmt.Errorf("said %s", c["model key"])), zap.Any("panic", []string{c["AWS id"]}))
	a.log.With(zap.String("always", c["AWS id"])).Warn("x")
	a.model.will(
		work("read_file", `{"intent":"I read.","step":"s1","path":"secrets.txt"}`,
			"search", `{"intent":"I search `+c["GitHub"]+`.","step":"s1","pattern":"PORT|password|AKIA"}`,
			"run_command", shell(`cat secrets.txt; env; printf %s "$DB_PASSWORD" | base64 -w0; echo; printf %s "$DB_PASSWORD" | od -An -tx1 | tr -d ' \n'; echo; cat secrets.txt >&2`),
			"run_command", shell(`head -c 16366 /dev/zero | tr '\0' '-'; printf %s "$SHOP_TOKEN"; head -c 40000 /dev/zero | tr '\0' '+'`),
			"run_command", shell(`printf 'c4nary"on'; sleep 0.3; printf 'e&two/é\n'; echo 'PORT=2' >> secrets.txt`),
			"edit_file", `{"intent":"I edit.","step":"s1","path":"secrets.txt","edits":[{"old":"PORT=1","new":"PORT=3"}]}`,
			"write_file", `{"intent":"I write.","step":"s1","path":"new.txt","content":"`+c["AWS id"]+`"}`),
		torn(c["environment"]),
		reply{status: 400, body: `{"error":{"message":"bad request with ` + c["model key"] + ` and ` + c["GitHub"] + ` and Bearer ` + c["model key"] + `"}}`},
		reply{status: 400, body: `{"error":{"message":"` + strings.Repeat("y ", 990) + c["environment's token"] + `"}}`}, // cut within it
		torn(c["GitHub"]))
	id := a.p.start(params{"task": "use " + c["GitHub"] + " and password=\"" + c["assigned"] + "\""}).ID
	a.p.untilHas(protocol.NoteModeChanged, "waiting")
	a.p.ok(protocol.MethodSteer, at(id, "text", "not "+c["environment"]+" but "+secretFile()), nil)
	a.p.untilHas(protocol.NoteModeChanged, "refused the request") // with an echo
	a.p.ok(protocol.MethodSteer, at(id, "text", "look"), nil)
	a.p.untilHas(protocol.NoteModeChanged, "y y y y")
	a.p.ok(protocol.MethodSteer, at(id, "text", "but "+c["JSON web token"]), nil)
	a.model.question(5)
	var paused protocol.PauseResult
	a.p.ok(protocol.MethodPause, at(id, "reason", "because of "+c["AWS id"]+" and "+c["GitHub"]), &paused)
	a.p.ok(protocol.MethodDecide, at(id, "pauseId", paused.Pause.ID, "text", "go on with "+c["AWS id"]), nil)
	a.p.call(protocol.MethodResume, at(id))
	a.p.send(protocol.MethodAsk, at(id, "question", "is it "+c["environment"]+"?"))
	a.p.call(protocol.MethodAttach, params{"sessionId": c["GitHub"]})
	a.p.ok(protocol.MethodHistory, at(id), nil)
	a.p.ok(protocol.MethodList, params{}, nil)
	a.p.call(protocol.MethodEnd, at(id))
	a.search(t)
	if got := a.disk("secrets.txt"); !strings.Contains(got, c["AWS key"]) || !strings.Contains(got, "PORT=3") {
		t.Errorf("the file lost its secrets, or was not edited beside them: %s", got)
	}
}

// TestCanariesOfDatabases does it with the names of databases, that watches and conditions hold.
func TestCanariesOfDatabases(t *testing.T) {
	c := canaries
	a := newAviary(t, "watches:\n- name: orders\n  sql: postgres://me:"+c["watch's DSN"]+"@127.0.0.1:1/db\n  query: select 1\n"+
		"tripwires:\n- name: enough\n  range: {value: {sql: 'postgres://me:"+c["tripwire's DSN"]+"@127.0.0.1:1/db', query: select 1}, min: 5}\n")
	a.model.will(work("write_file", `{"intent":"I write.","step":"s1","path":"new.txt","content":"x"}`), says("It is "+c["tripwire's DSN"]+"."))
	id := a.p.start(params{"task": "work"}).ID
	a.p.untilHas(protocol.NoteModeChanged, "paused") // the condition cannot be evaluated
	for _, source := range []params{{"sql": "postgres://a:" + c["watch's DSN"] + "@h/d", "query": "select '" + c["AWS id"] + "'"}, {"sql": "mysql://a:" + c["watch's DSN"] + "@h/d", "query": "x"}} {
		a.p.call(protocol.MethodWatch, at(id, "add", params{"name": "w " + c["GitHub"], "source": source}))
	}
	a.model.question(1)
	a.search(t)
}

func rawOf(messages []json.RawMessage) [][]byte {
	var out [][]byte
	for _, m := range messages {
		out = append(out, m)
	}
	return out
}

// shell are the arguments of a call that runs a line.
func shell(line string) string {
	return fmt.Sprintf(`{"intent":"I run.","step":"s1","command":%s}`, quoted(line))
}

// logTo writes a log into what is kept.
type logTo struct{ *tap }

func (l logTo) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.came.Write(p)
}
