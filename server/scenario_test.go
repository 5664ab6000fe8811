package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/protocol"
)

var update = flag.Bool("update", false, "rewrite what the scenarios of testdata expect")

// TestScenarios plays each scenario of testdata against a whole daemon through a pipe, in fake
// time. A scenario is an archive: the workspace's files below files/, the model's answers, and
// the developer's lines with what the client then gets. Lines at column 0 go in, what is indented
// comes out; with -update what comes out is rewritten: read the difference.
//
//	-- files/a.txt --
//	-- model --
//	say I look at it.          words; the lines up to the next empty one are one answer
//	plan s1 active First       a step of a call of update_plan
//	call read_file {"path":…}  any call
//	slow 5s                    the rest of the answer comes later
//	hang                       nothing more comes until the client hangs up
//	cut                        the connection breaks
//	fail 429 7                 a refusal, with the seconds of Retry-After
//	-- script --
//	start {"task":"…"}         a request of tandem/session/start; sessionId is filled in
//	wait 7s                    time passes
//	disk a.txt                 shows a file
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
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

// partsOf are the parts of a scenario: the workspace's files, the model's answers, and the place of
// the script.
func partsOf(t *testing.T, a *txtar.Archive) (files map[string]string, replies []reply, script int) {
	t.Helper()
	files, script = map[string]string{}, -1
	for i, f := range a.Files {
		name, isFile := strings.CutPrefix(f.Name, "files/")
		switch {
		case isFile:
			files[name] = string(f.Data)
		case f.Name == "model":
			replies = repliesOf(t, string(f.Data))
		case f.Name == "script":
			script = i
		default:
			t.Fatalf("nobody knows the part %s", f.Name)
		}
	}
	if script < 0 {
		t.Fatal("there is no script")
	}
	return files, replies, script
}

func playScenario(t *testing.T, path string, a *txtar.Archive) {
	files, replies, script := partsOf(t, a)
	h := newHouse(t, files)
	h.model.will(replies...)
	h.model.first = atOnce / 2 // words are ephemeral: the client is there before the first of them
	s := &stagePlay{t: t, house: h, peer: h.client()}
	s.play(string(a.Files[script].Data))
	if len(h.model.replies) > 0 {
		t.Errorf("the model was not asked for %d of its answers", len(h.model.replies))
	}
	if got := s.out.String(); got != string(a.Files[script].Data) {
		if !*update {
			t.Errorf("%s, got:\n%s", path, got)
			return
		}
		a.Files[script].Data = []byte(got)
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// atOnce is the time in which that happens which follows at once.
const atOnce = 20 * time.Millisecond

// repliesOf reads the model's part: answers, with an empty line between them.
func repliesOf(t *testing.T, text string) []reply {
	t.Helper()
	var out []reply
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		out = append(out, replyOf(t, block))
	}
	return out
}

// An answerText is one answer of the model while it is read.
type answerText struct {
	t         *testing.T
	lines     sse
	steps     []string // of the plan that is being read
	calls     int
	hang, cut bool
	begun     sse // what comes before the rest is slow
	slow      time.Duration
	refusal   *reply
}

func replyOf(t *testing.T, block string) reply {
	t.Helper()
	a := &answerText{t: t}
	for line := range strings.Lines(block) {
		verb, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if verb != "plan" {
			a.endPlan()
		}
		a.add(verb, rest)
	}
	a.endPlan()
	return a.reply()
}

func (a *answerText) add(verb, rest string) {
	a.t.Helper()
	switch verb {
	case "plan":
		a.steps = append(a.steps, rest)
	case "say":
		a.lines = append(a.lines, saying(rest))
	case "call":
		tool, arguments, _ := strings.Cut(rest, " ")
		a.call(tool, arguments)
	case "slow":
		d, err := time.ParseDuration(rest)
		if err != nil {
			a.t.Fatal(err)
		}
		a.begun, a.slow, a.lines = a.lines, d, nil
	case "hang":
		a.hang = true
	case "cut":
		a.cut = true
	case "fail":
		status, after, _ := strings.Cut(rest, " ")
		a.refusal = &reply{status: number(a.t, status), after: time.Duration(number(a.t, after)) * time.Second, body: `{"error":{"message":"slow down"}}`}
	default:
		a.t.Fatalf("the model cannot %q", verb)
	}
}

func (a *answerText) call(tool, arguments string) {
	a.lines = append(a.lines, calling(a.calls, tool, arguments))
	a.calls++
}

func (a *answerText) endPlan() {
	if len(a.steps) > 0 {
		a.call("update_plan", planArguments(a.steps...))
		a.steps = nil
	}
}

func (a *answerText) reply() reply {
	finish := "stop"
	if a.calls > 0 {
		finish = "tool_calls"
	}
	switch {
	case a.refusal != nil:
		return *a.refusal
	case a.hang:
		return a.lines.hanging()
	case a.cut:
		return reply{body: a.lines.hanging().body, cut: true}
	case a.slow > 0:
		return reply{body: a.begun.hanging().body, slow: a.slow, rest: a.lines.whole(finish).body}
	}
	return a.lines.whole(finish)
}

func number(t *testing.T, text string) int {
	t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A stagePlay plays one script and writes down what comes of it.
type stagePlay struct {
	t     *testing.T
	house *house
	peer  *peer
	id    string
	out   strings.Builder
	told  int // notifications that were written down
	asked int // questions
	said  int // messages of the last question
}

var methods = map[string]string{
	"start": protocol.MethodStart, "steer": protocol.MethodSteer, "withdraw": protocol.MethodWithdraw, "replan": protocol.MethodReplan,
	"pause": protocol.MethodPause, "resume": protocol.MethodResume, "decide": protocol.MethodDecide, "autonomy": protocol.MethodAutonomy,
	"end": protocol.MethodEnd,
}

func (s *stagePlay) play(script string) {
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " ") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				s.t.Fatal(err)
			}
			time.Sleep(d)
		case "disk":
			b, err := os.ReadFile(filepath.Join(s.house.dir, rest))
			if err != nil {
				s.t.Fatal(err)
			}
			s.line("%q", b)
		default:
			s.request(verb, rest)
		}
		time.Sleep(atOnce)
		synctest.Wait()
		s.notifications()
		s.questions()
	}
}

func (s *stagePlay) line(format string, args ...any) {
	fmt.Fprintf(&s.out, "    "+format+"\n", args...)
}

func (s *stagePlay) request(verb, raw string) {
	method, ok := methods[verb]
	if !ok {
		s.t.Fatalf("a developer cannot %q", verb)
	}
	p := params{}
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			s.t.Fatalf("%s: %v", raw, err)
		}
	}
	if s.id != "" {
		p["sessionId"] = s.id
	}
	a := s.peer.call(method, p)
	switch {
	case a.Error != nil:
		s.line("= %d %s: %s", a.Error.Code, a.Error.Data.Kind, a.Error.Message)
	case verb == "start":
		var r protocol.SessionResult
		s.decode(a.Result, &r)
		s.id = r.Session.ID
		s.line("= %s", r.Session.Mode)
	case verb == "steer":
		var r protocol.SteerResult
		s.decode(a.Result, &r)
		s.line("= %s cancelled %q running %q unseen %d", r.SteerID, r.Cancelled, r.Running, len(r.Unseen))
	case verb == "replan":
		var r protocol.ReplanResult
		s.decode(a.Result, &r)
		s.line("= r%d %s", r.Plan.Revision, diffText(r.Diff))
	case verb == "withdraw":
		s.line("= %s", a.Result)
	default:
		s.line("= ok")
	}
}

func (s *stagePlay) decode(raw []byte, v any) {
	s.t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		s.t.Fatalf("%s: %v", raw, err)
	}
}

// notifications writes down what the client was told since.
func (s *stagePlay) notifications() {
	s.peer.mu.Lock()
	told := s.peer.told[s.told:]
	s.told += len(told)
	s.peer.mu.Unlock()
	for _, a := range told {
		var e protocol.Event
		s.decode(a.Params, &e)
		if text := s.show(a); text != "" {
			s.line("%-3d %s", e.Seq, text)
		}
	}
}

func (s *stagePlay) show(a answer) string {
	switch a.Method {
	case protocol.NoteProgress:
		return s.showOp(a.Params)
	case protocol.NoteText:
		var p protocol.TextParams
		s.decode(a.Params, &p)
		return fmt.Sprintf("%s says %q", p.OperationID, p.Delta)
	case protocol.NotePlanChanged:
		var p protocol.PlanChangedParams
		s.decode(a.Params, &p)
		return fmt.Sprintf("plan r%d for %s %s: %s", p.Plan.Revision, p.Plan.Cause.Kind, stepsText(p.Plan), diffText(p.Diff))
	case protocol.NoteSteered:
		var p protocol.SteeredParams
		s.decode(a.Params, &p)
		return fmt.Sprintf("%s %s %q", p.Steer.ID, p.Steer.Status, p.Steer.Text)
	case protocol.NoteDecision:
		var p protocol.DecisionParams
		s.decode(a.Params, &p)
		return fmt.Sprintf("%s %s %q holds %q", p.Decision.ID, p.Decision.Status, p.Decision.Summary, p.Decision.Holds)
	case protocol.NoteModeChanged:
		return s.showMode(a.Params)
	case protocol.NoteFilesChanged:
		var p protocol.FilesChangedParams
		s.decode(a.Params, &p)
		var files []string
		for _, f := range p.Files {
			files = append(files, fmt.Sprintf("%s %s %v", f.Change, strings.TrimPrefix(f.URI, fileURI(s.house.dir)+"/"), f.Hunks))
		}
		return fmt.Sprintf("%s changed: %s", p.OperationID, strings.Join(files, ", "))
	case protocol.NoteUsage:
		return "" // said by every answer
	}
	return a.Method + " " + string(a.Params)
}

func (s *stagePlay) showOp(raw []byte) string {
	var p protocol.ProgressParams
	s.decode(raw, &p)
	o := p.Operation
	text := fmt.Sprintf("%s %s %s", o.ID, o.Tool, o.Status)
	if o.Kind == protocol.Think {
		text = fmt.Sprintf("%s think %s", o.ID, o.Status)
	}
	if o.CancelledBy != nil {
		text += fmt.Sprintf(" by %s %s", o.CancelledBy.Kind, strings.ReplaceAll(o.CancelledBy.ID, s.id, "ID"))
	}
	switch {
	case o.Status == protocol.OpFailed:
		text += fmt.Sprintf(" %q", first(o.Output, 100))
	case o.Status == protocol.OpQueued:
		text += fmt.Sprintf(" %q", o.Intent)
	}
	return text
}

func (s *stagePlay) showMode(raw []byte) string {
	var p protocol.ModeChangedParams
	s.decode(raw, &p)
	text := fmt.Sprintf("%s, it is the %s's turn", p.Mode, p.Initiative)
	if p.Pause != nil {
		text += fmt.Sprintf("; %s by %s frozen %q", p.Pause.ID, p.Pause.By, p.Pause.Frozen)
		for _, f := range p.Pause.Facts {
			text += fmt.Sprintf(" fact %q", f.Text)
		}
		for _, o := range p.Pause.Options {
			text += fmt.Sprintf(" option %s %q", o.ID, o.Title)
		}
	}
	for _, q := range p.Questions {
		text += fmt.Sprintf("; %s %q %q", q.ID, q.Text, q.Options)
	}
	if p.Reason != "" {
		text += fmt.Sprintf("; %q", jittered.ReplaceAllString(p.Reason, "asked again in …"))
	}
	return text
}

func stepsText(p protocol.Plan) string {
	var out []string
	for _, s := range p.Steps {
		text := fmt.Sprintf("%s %s", s.ID, s.Status)
		if s.Verified != nil {
			text += fmt.Sprintf(" verified %v", *s.Verified)
		}
		out = append(out, text)
	}
	return "(" + strings.Join(out, ", ") + ")"
}

func diffText(d protocol.Diff) string {
	var out []string
	add := func(mark string, ids []string) {
		for _, id := range ids {
			out = append(out, mark+id)
		}
	}
	add("=", d.Kept)
	add("+", d.Added)
	add("-", d.Dropped)
	for _, c := range d.Changed {
		out = append(out, "~"+c.After.ID)
	}
	if len(out) == 0 {
		return "as it was"
	}
	return strings.Join(out, " ")
}

// questions writes down what the model was asked since: the messages that each question added.
func (s *stagePlay) questions() {
	for _, q := range s.house.model.asked()[s.asked:] {
		s.asked++
		force := ""
		if f := strings.TrimSpace(string(q.ToolChoice)); f != "" && f != `"auto"` {
			force = " " + f
		}
		s.line("the model is asked%s", force)
		if s.said > len(q.Messages) {
			s.said = 0 // it was compacted
		}
		for _, raw := range q.Messages[s.said:] {
			s.line("  %s", s.message(raw))
		}
		s.said = len(q.Messages)
	}
}

func (s *stagePlay) message(raw json.RawMessage) string {
	var m struct {
		Role       string
		Content    string
		ToolCalls  []struct{ Function struct{ Name string } } `json:"tool_calls"`
		ToolCallID string                                     `json:"tool_call_id"`
	}
	s.decode(bytes.TrimSpace(raw), &m)
	switch {
	case m.Role == "system":
		return "system …"
	case len(m.ToolCalls) > 0:
		var names []string
		for _, c := range m.ToolCalls {
			names = append(names, c.Function.Name)
		}
		return fmt.Sprintf("assistant %q calls %s", m.Content, strings.Join(names, ", "))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %q", m.Role, m.ToolCallID, first(strings.ReplaceAll(m.Content, s.house.dir, "DIR"), 160)))
}

// first is the beginning of a text.
func first(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// jittered is a wait that a little chance lengthens, so that many clients do not come back as one.
var jittered = regexp.MustCompile(`asked again in [0-9.]+m?s`)
