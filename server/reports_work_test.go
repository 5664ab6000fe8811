package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/protocol"
)

// The tests here hold public reports against a whole daemon; the table in reports_test.go says
// which report each is for.

// TestReportScenarios plays the scenarios that hold public reports, as TestScenarios does.
func TestReportScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/reports/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { playScenario(t, path, archive) })
		})
	}
}

// spoken is a message as a strict server reads it.
type spoken struct {
	Role       string
	Content    *string
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// strictly fails where a strict server would refuse one of the requests: it begins with the only
// message of the system's, no message is empty, the arguments of each call are an object, and
// each call is followed by its one result.
func strictly(t *testing.T, requests []request) {
	t.Helper()
	for i, q := range requests {
		if err := refusedByAServer(q.Messages); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func refusedByAServer(messages []json.RawMessage) error {
	var due []string
	for i, raw := range messages {
		var m spoken
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		if (m.Role == "system") != (i == 0) {
			return fmt.Errorf("message %d is of the %s", i, m.Role)
		}
		if len(m.ToolCalls) == 0 && (m.Content == nil || strings.TrimSpace(*m.Content) == "") {
			return fmt.Errorf("message %d is empty", i)
		}
		switch {
		case m.Role == "tool" && (len(due) == 0 || due[0] != m.ToolCallID):
			return fmt.Errorf("message %d is a result of %s, due are %q", i, m.ToolCallID, due)
		case m.Role == "tool":
			due = due[1:]
		case len(due) > 0:
			return fmt.Errorf("message %d comes before the results of %q", i, due)
		}
		for _, c := range m.ToolCalls {
			if err := json.Unmarshal([]byte(c.Function.Arguments), &map[string]any{}); err != nil {
				return fmt.Errorf("message %d: the arguments of %s: %w", i, c.ID, err)
			}
			due = append(due, c.ID)
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("there is no result of %q", due)
	}
	return nil
}

// The strict server of these tests refuses what real ones do.
func TestAStrictServerRefuses(t *testing.T) {
	const system, user = `{"role":"system","content":"s"}`, `{"role":"user","content":"u"}`
	call := func(arguments string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"n","arguments":%q}}]}`, arguments)
	}
	const result = `{"role":"tool","tool_call_id":"c","content":"r"}`
	for says, messages := range map[string][]string{
		"is of the user":   {user},
		"is of the system": {system, user, system},
		"is empty":         {system, `{"role":"assistant","content":" "}`},
		"a result of c":    {system, user, result},
		"comes before":     {system, call("{}"), user},
		"no result":        {system, user, call("{}")},
		"the arguments":    {system, user, call(`{"pat`), result},
	} {
		var raw []json.RawMessage
		for _, m := range messages {
			raw = append(raw, json.RawMessage(m))
		}
		if err := refusedByAServer(raw); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", messages, err)
		}
	}
}

// The developer speaks while a command runs that counts and has left a mark in a file. The command
// ends; what was read and edited before stays in the conversation, what it had printed is told as
// the developer saw it, that it was ended and may have done something is said, and it is not run
// again.
func TestReportSteerIntoACommand(t *testing.T) {
	const line = "echo x >> effects.log; i=1; while :; do echo count $i; i=$((i+1)); sleep 0.02; done"
	h, connect := newRealHouse(t, map[string]string{"a.txt": "text of a\n", "b.txt": "text of b\n"})
	read := func(path string) []string {
		return []string{"read_file", fmt.Sprintf(`{"intent":"I read.","step":"s1","path":%q}`, path)}
	}
	edit := []string{"edit_file", `{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"text","new":"words"}]}`}
	h.model.will(work(slices.Concat(read("a.txt"), read("b.txt"), edit)...), does(runs(line)...),
		does(plans("s2 active Only the page")...), says("So I do the page."))
	p := connect()
	id := p.start(params{}).ID
	op := p.runs("effects.log")
	p.until("its output", func(method, text string) bool {
		return method == protocol.NoteProgress && strings.Contains(text, "count 5\\n")
	})
	p.ok(protocol.MethodSteer, at(id, "text", "instead, only update the page", "scope", params{"stepId": "s1"}), nil)
	q := h.model.question(2)
	for _, has := range []string{"text of a", "text of b", "Edited a.txt", "count 1", "count 5", `\"status\":\"cancelled\"`, `\"kind\":\"steer\"`, "instead, only"} {
		if !strings.Contains(q, has) {
			t.Errorf("%q is not in the question:\n%s", has, q)
		}
	}
	ended := p.reaches("effects.log", protocol.OpCancelled)
	if ended.ID != op.ID || !ended.Partial || !slices.Contains(ended.Files, fileURI(h.dir)+"/effects.log") {
		t.Errorf("it ended as %+v", ended)
	}
	if p.session(id).Mode != protocol.Waiting { // the agent was faster than the command's end
		p.untilHas(protocol.NoteModeChanged, "waiting")
	}
	p.ok(protocol.MethodSteer, at(id, "text", "and now?"), nil)
	q = h.model.question(4)
	for _, has := range []string{"it was ended while it ran; look at what it did", "effects.log (new)", lastLine(ended.Output, "count ")} {
		if !strings.Contains(q, has) {
			t.Errorf("%q is not in the next question:\n%s", has, q)
		}
	}
	strictly(t, h.model.asked())
	if b, err := os.ReadFile(filepath.Join(h.dir, "effects.log")); err != nil || string(b) != "x\n" {
		t.Errorf("the effect is there as %q, %v", b, err)
	}
}

// lastLine is the last whole line of a text that begins so.
func lastLine(text, begin string) string {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines[:len(lines)-1]) {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	return "no line that begins with " + begin
}

// Steps that are done stay done when the daemon ends because the model's quota is used up: the
// first request of the next daemon bears them with their evidence, and nothing is run again.
func TestReportDoneStepsStayDone(t *testing.T) {
	needsShell(t)
	h := newHouse(t, nil)
	mark := func(n int) []string { return runs(fmt.Sprintf("echo step %d | tee -a effects.log", n)) }
	h.model.will(
		does(append(plans("s1 active A", "s2 pending B", "s3 pending C", "s4 pending D", "s5 pending E"), mark(1)...)...),
		does(append(plans("s1 done A", "s2 active B", "s3 pending C", "s4 pending D", "s5 pending E"), mark(2)...)...),
		does(append(plans("s1 done A", "s2 done B", "s3 active C", "s4 pending D", "s5 pending E"), mark(3)...)...),
		does(plans("s1 done A", "s2 done B", "s3 done C", "s4 active D", "s5 pending E")...),
		reply{status: 429, after: time.Hour, body: `{"error":{"message":"the quota is used up for an hour"}}`})
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "the quota is used up")
	asked := h.model.asked()
	h.again()
	h.model.will(says("I go on with D."))
	p = h.client()
	var r protocol.SessionResult
	p.ok(protocol.MethodAttach, at(id, "since", r.Session.Seq), &r)
	if n := len(h.model.asked()); n != len(asked) {
		t.Errorf("before the developer spoke the model was asked %d times more", n-len(asked))
	}
	p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
	q := h.model.question(len(asked))
	for n, step := range []string{"s1", "s2", "s3"} {
		if done := fmt.Sprintf(`{\"id\":\"%s\",\"intent\":\"I do it.\",\"status\":\"done\"`, step); !strings.Contains(q, done) || !strings.Contains(q, fmt.Sprintf("step %d\\n", n+1)) {
			t.Errorf("%s and its evidence are not in the first question:\n%s", step, q)
		}
	}
	all := h.model.asked()
	strictly(t, all)
	before, after := asked[len(asked)-1].Messages, all[len(asked)].Messages
	if !slices.EqualFunc(before, after[:len(before)], func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Error("the conversation was begun anew")
	}
	if b, err := os.ReadFile(filepath.Join(h.dir, "effects.log")); err != nil || string(b) != "step 1\nstep 2\nstep 3\n" {
		t.Errorf("the effects are %q, %v", b, err)
	}
}

// A word that comes while the server asks to wait is received at once and heard only with the
// question that bears it, and the word for the agent's end stays where it is until then.
func TestReportReceivedThenHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work(), reply{status: 503, after: 10 * time.Second, body: `{"error":{"message":"wait"}}`},
			does(plans("s1 active Work with B")...), says("That is all."), does(plans("s1 active Work with B and A")...), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "wait")
		p.ok(protocol.MethodSteer, at(id, "text", "A", "when", "idle"), nil)
		began := time.Now()
		p.ok(protocol.MethodSteer, at(id, "text", "B"), nil)
		p.untilHas(protocol.NoteSteered, `"text":"B"`)
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("it was received after %v", took)
		}
		synctest.Wait()
		if asked, heard := len(h.model.asked()), strings.Join(p.notes(), " "); asked != 2 || strings.Contains(heard, `"heard"`) {
			t.Errorf("before it was asked, %d times, the developer was told %s", asked, heard)
		}
		p.untilHas(protocol.NoteSteered, `"heard"`)
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("the server was asked after %v", took)
		}
		if q := h.model.question(2); !strings.Contains(q, `The developer says:\nB`) || strings.Contains(q, `says:\nA`) {
			t.Errorf("the question bears not the one word alone:\n%s", q)
		}
		p.untilHas(protocol.NoteModeChanged, "waiting")
		if q := h.model.question(4); !strings.Contains(q, `The developer says:\nA`) {
			t.Errorf("at the agent's end the other is not heard:\n%s", q)
		}
	})
}

// The developer refuses a change that was announced, with words. The agent sees in one request
// what it had proposed, that it was refused, and the words.
func TestReportRefusedWithWords(t *testing.T) {
	h := newHouse(t, nil)
	h.model.will(
		work("announce_decision", `{"intent":"I choose.","step":"s1","summary":"write the token","rationale":"it is asked for","alternatives":[],"significance":"major"}`,
			"write_file", `{"intent":"I write it.","step":"s1","path":"token.txt","content":"tq7x"}`),
		does(append(plans("s1 active Work in upper case"), "write_file", `{"intent":"I write it.","step":"s1","path":"token.txt","content":"TQ7X"}`)...),
		says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteDecision, `"open"`)
	p.ok(protocol.MethodDecide, at(id, "decisionId", "d1", "text", "same but upper case"), nil)
	q := h.model.question(1)
	for _, has := range []string{`\"content\":\"tq7x\"`, `{\"status\":\"cancelled\",\"by\":{\"kind\":\"steer\",\"id\":\"t1\"}`, "Not «write the token». same but upper case"} {
		if !strings.Contains(q, has) {
			t.Errorf("%s is not in the question:\n%s", has, q)
		}
	}
	p.untilHas(protocol.NoteModeChanged, "waiting")
	strictly(t, h.model.asked())
	if b, err := os.ReadFile(filepath.Join(h.dir, "token.txt")); err != nil || string(b) != "TQ7X" {
		t.Errorf("the file reads %q, %v", b, err)
	}
}

// talkers is a model's server that talks in many sessions at once, to each of its own file.
type talkers struct {
	turns int
	mu    sync.Mutex
	heard map[string][]string // what each session's requests bore
}

func (m *talkers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	_, task, ok := strings.Cut(string(body), "work on ")
	if !ok || len(task) < 5 {
		return nil, errors.New("there is no task")
	}
	name := task[:5]
	m.mu.Lock()
	m.heard[name] = append(m.heard[name], string(body))
	turn := len(m.heard[name])
	m.mu.Unlock()
	next := says("Done.")
	if turn <= m.turns {
		next = does(append(plans("s1 active Work"),
			"write_file", fmt.Sprintf(`{"intent":"I write.","step":"s1","path":"%s.%d","content":"of %s, %d\n"}`, name, turn, name, turn),
			"read_file", fmt.Sprintf(`{"intent":"I read.","step":"s1","path":"%s.%d"}`, name, turn))...)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(next.body))}, nil
}

// Two sessions work in one folder at once: none gets a word of the other's, and each file holds
// what its own session wrote.
func TestReportTwoSessionsStayApart(t *testing.T) {
	h := newHouse(t, nil)
	m := &talkers{turns: 40, heard: map[string][]string{}}
	h.opts.HTTP = m
	h.Registry = NewRegistry(h.opts)
	names := []string{"alpha", "gamma"}
	peers := []*peer{h.client(), h.client()}
	for i, name := range names {
		peers[i].start(params{"task": "work on " + name})
	}
	for _, p := range peers {
		p.untilHas(protocol.NoteModeChanged, "waiting")
	}
	for i, name := range names {
		if n := len(m.heard[name]); n != m.turns+1 {
			t.Errorf("%s was asked about %d times, want %d", name, n, m.turns+1)
		}
		last := m.heard[name][len(m.heard[name])-1]
		if other := names[1-i]; strings.Contains(last, other) {
			t.Errorf("%s was told of %s:\n%s", name, other, last)
		}
		for turn := range m.turns {
			want := fmt.Sprintf("of %s, %d\n", name, turn+1)
			b, err := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("%s.%d", name, turn+1)))
			if err != nil || string(b) != want || !strings.Contains(last, strings.TrimSpace(want)) {
				t.Errorf("%s, turn %d: the file reads %q, %v", name, turn+1, b, err)
			}
		}
	}
}

// A journal that a crash, a full disk or a bad sector has damaged hides no session: not its own,
// and not the others.
func TestReportDamagedSessionsAreListed(t *testing.T) {
	h := newHouse(t, nil)
	damages := map[string]func(lines [][]byte) [][]byte{
		"whole": func(lines [][]byte) [][]byte { return lines },
		"torn tail": func(lines [][]byte) [][]byte {
			last := len(lines) - 1
			return append(lines[:last:last], lines[last][:len(lines[last])/2])
		},
		"half a record, then the whole": func(lines [][]byte) [][]byte {
			last := len(lines) - 1
			return append(lines[:last:last], lines[last][:len(lines[last])/2], lines[last])
		},
		"bad in the middle": func(lines [][]byte) [][]byte { lines[1] = []byte("{\"x\":\n"); return lines },
		"zeros at the end":  func(lines [][]byte) [][]byte { return append(lines, make([]byte, 4096)) },
	}
	ids := map[string]string{}
	for name := range damages {
		h.model.will(work(), says("Done."))
		p := h.client()
		ids[name] = p.start(params{"task": name}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
	}
	h.close()
	for name, damage := range damages {
		path := h.path(h.dir, ids[name])
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
		if err := os.WriteFile(path, bytes.Join(damage(lines), nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.again()
	p := h.client()
	var list protocol.ListResult
	p.ok(protocol.MethodList, params{}, &list)
	if len(list.Sessions) != len(damages) {
		t.Errorf("%d sessions are listed", len(list.Sessions))
	}
	for name, id := range ids {
		p.ok(protocol.MethodSteer, at(id, "text", "and now?"), nil) // each goes on
		if s := p.session(id); s.Title != name {
			t.Errorf("%s is listed as %+v", name, s)
		}
	}
}

// The position encoding is one that the client offers, bytes where it can count them, and UTF-16
// where it offers none that we have.
func TestReportPositionEncodings(t *testing.T) {
	h := newHouse(t, nil)
	for _, offered := range [][]string{nil, {}, {"utf-16"}, {"utf-16", "utf-8"}, {"utf-8"}, {"utf-99"}, {"utf-32"}} {
		general, want := params{}, protocol.UTF16
		if offered != nil {
			general["positionEncodings"] = offered
		}
		if slices.Contains(offered, "utf-8") {
			want = protocol.UTF8
		}
		var r protocol.InitializeResult
		h.guest().ok(protocol.LSPInitialize, params{"rootUri": fileURI(h.dir), "capabilities": params{"general": general}}, &r)
		if got := r.Capabilities.PositionEncoding; got != want {
			t.Errorf("offered %v: %q", offered, got)
		}
	}
}

// However a client spells a workspace, it is the one folder.
func TestReportSpellingsOfAWorkspace(t *testing.T) {
	h := newHouse(t, map[string]string{"sub/a b#%.txt": ""})
	dir := filepath.Join(h.dir, "sub")
	link := filepath.Join(h.dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skipf("there are no links here: %v", err)
	}
	p := h.guest()
	p.initialize(dir, true)
	id := p.start(params{}).ID
	escaped := strings.Replace(fileURI(dir), "/sub", "/%73%75b", 1)
	for _, spelled := range []string{fileURI(dir), fileURI(dir) + "/", fileURI(h.dir) + "/x/../sub", fileURI(h.dir) + "/./sub/.", fileURI(link),
		escaped, strings.Replace(fileURI(dir), "file://", "FILE://", 1), strings.Replace(fileURI(dir), "file:///", "file://localhost/", 1)} {
		q := h.guest()
		q.ok(protocol.LSPInitialize, params{"rootUri": spelled, "capabilities": params{}}, nil)
		var list protocol.ListResult
		q.ok(protocol.MethodList, params{"workspace": spelled}, &list)
		if len(list.Sessions) != 1 || list.Sessions[0].ID != id || list.Sessions[0].Workspace != fileURI(dir) {
			t.Errorf("%s: %+v", spelled, list.Sessions)
		}
	}
	if u, err := url.Parse(fileURI(filepath.Join(dir, "a b#%.txt"))); err != nil || u.Path != filepath.ToSlash(filepath.Join(dir, "a b#%.txt")) || u.Fragment != "" {
		t.Errorf("the file is named %v, %v", u, err)
	}
}

// A session whose workspace is not there any more is listed all the same; what cannot be done with
// it is refused with the name of the folder, and nobody else is troubled.
func TestReportAWorkspaceThatIsGone(t *testing.T) {
	h := newHouse(t, map[string]string{"gone/a.txt": "", "here/a.txt": ""})
	ids := map[string]string{}
	for _, name := range []string{"gone", "here"} {
		h.model.will(work(), says("Done."))
		p := h.guest()
		p.initialize(filepath.Join(h.dir, name), true)
		ids[name] = p.start(params{"task": name}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
	}
	h.again()
	if err := os.RemoveAll(filepath.Join(h.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	p := h.guest()
	p.initialize(filepath.Join(h.dir, "here"), true)
	for name, id := range ids {
		if s := p.session(id); s.Title != name || s.Workspace != fileURI(filepath.Join(h.dir, name)) {
			t.Errorf("%s is listed as %+v", name, s)
		}
	}
	a := p.call(protocol.MethodAttach, at(ids["gone"]))
	if a.Error == nil || !strings.Contains(a.Error.Message, filepath.Join(h.dir, "gone")) {
		t.Errorf("attach to it: %+v", a)
	}
	p.ok(protocol.MethodAttach, at(ids["here"]), nil)
}
