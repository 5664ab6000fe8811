package face

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

const file = "file:///w/a.go"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// lines is a range of lines.
func lines(first, last uint32) protocol.Range {
	return protocol.Range{Start: protocol.Position{Line: first}, End: protocol.Position{Line: last, Character: 3}}
}

func act(method, title string, ask bool) protocol.Action {
	a := protocol.Action{Title: title, Method: method, Params: protocol.ActionParams{SessionID: "s"}}
	if ask {
		a.Ask = &protocol.ActionAsk{Param: "text", Prompt: "What?"}
	}
	return a
}

// working is a session in a mode, with a plan of two steps and the actions of its mode.
func working(mode protocol.Mode, id, title string) Session {
	s := Session{Session: protocol.Session{ID: id, Title: title, Mode: mode, Initiative: protocol.AgentInitiative, Seq: 7,
		Plan: &protocol.Plan{Revision: 1, Steps: []protocol.Step{
			{ID: "s1", Title: "Read", Status: protocol.StepDone},
			{ID: "s2", Title: "Write  it", Intent: "I put it in.", Status: protocol.StepActive, Files: []string{file}}}},
		Actions: []protocol.Action{act(protocol.MethodSteer, "Steer…", true), act(protocol.MethodEnd, "End the session", false)}}}
	turn := act(protocol.MethodPause, "Pause", false)
	if mode == protocol.Paused {
		turn = act(protocol.MethodResume, "Resume", false)
	}
	if mode != protocol.Done {
		s.Actions = append(s.Actions, turn)
	}
	return s
}

func can(methods ...string) func(string) bool {
	return func(m string) bool {
		for _, not := range methods {
			if m == not {
				return false
			}
		}
		return strings.HasPrefix(m, "tandem/")
	}
}

func titles(list []protocol.CodeAction) string {
	var out []string
	for _, a := range list {
		out = append(out, strings.TrimPrefix(a.Title, prefix))
	}
	return strings.Join(out, " | ")
}

func TestActions(t *testing.T) {
	comment := Place{URI: file, Text: "package a\n\n// tandem: no panic here\nfunc f() {}\n", Range: lines(2, 2), Units: func(s string) int { return len(s) }}
	words := Place{URI: file, Text: "a\nb c\n", Range: lines(1, 1), Selected: "b c", Units: comment.Units}
	plain := Place{URI: file, Text: "a\n", Units: comment.Units}
	open := working(protocol.Executing, "1", "Auth")
	open.Decisions = []protocol.Decision{{ID: "d1", Summary: "Extend it", Status: protocol.DecisionOpen, Location: &protocol.Location{URI: file, Range: &protocol.Range{}},
		Actions: []protocol.Action{act(protocol.MethodDecide, "Keep", false), act(protocol.MethodDecide, "Take Hook", false), act(protocol.MethodDecide, "Say otherwise…", true)}}}
	nowhere := working(protocol.Executing, "1", "Auth")
	leave := working(protocol.Waiting, "1", "Auth")
	leave.Decisions = []protocol.Decision{{ID: "d1", Kind: protocol.Permission, Summary: "Read .env", Status: protocol.DecisionOpen, Location: &protocol.Location{URI: "file:///w/.env", Range: &protocol.Range{}},
		Actions: []protocol.Action{act(protocol.MethodDecide, "Allow once", false)}}}
	nowhere.Decisions = []protocol.Decision{{ID: "d1", Summary: "Extend it", Status: protocol.DecisionOpen, Actions: []protocol.Action{act(protocol.MethodDecide, "Keep", false)}}}
	paused := working(protocol.Paused, "1", "Auth")
	paused.Pause = &protocol.Pause{Actions: []protocol.Action{act(protocol.MethodDecide, "Take: Join on order_no", false), act(protocol.MethodResume, "Resume", false)}}
	asks := working(protocol.Waiting, "1", "Auth")
	asks.Questions = []protocol.Question{{Text: "Which format?", Actions: []protocol.Action{act(protocol.MethodDecide, "json", false)}}}
	changed := working(protocol.Executing, "1", "Auth")
	changed.Plan.Steps[1].Actions = []protocol.Action{act(protocol.MethodSteer, "Steer this step…", true), act(protocol.MethodRevert, "Revert this step", false)}
	changed.Operations = []protocol.Operation{{ID: "o4", Intent: "I put it in.", EndedAt: &noon, Actions: []protocol.Action{act(protocol.MethodRevert, "Revert this change", false)}}}
	atChange := plain
	atChange.Lines = []Line{{BlamedLines: protocol.BlamedLines{OperationID: "o4", StepID: "s2", Range: lines(0, 2)}}, {BlamedLines: protocol.BlamedLines{OperationID: "o4", StepID: "s2", Range: lines(5, 6)}}}
	runs := working(protocol.Executing, "1", "Auth")
	runs.Operations = []protocol.Operation{{ID: "o5", Target: "npm test", Actions: []protocol.Action{act(protocol.MethodSteer, "End this command…", true)}}}
	compared := working(protocol.Paused, "1", "Auth")
	compared.Pause = &protocol.Pause{Comparison: &protocol.Comparison{Actions: []protocol.Action{act(protocol.MethodScenarioRun, "Run it again", false)}}}
	ended := working(protocol.Done, "0", "Old")
	ended.Actions = nil

	for _, row := range []struct {
		name     string
		sessions []Session
		place    Place
		asks     bool
		without  string
		want     string
	}{
		{"a comment steers", []Session{working(protocol.Executing, "1", "Auth")}, comment, false, "", "Steer: no panic here | End the session | Pause | Check In"},
		{"a selection steers", []Session{working(protocol.Executing, "1", "Auth")}, words, false, "", "Steer: b c | End the session | Pause | Check In"},
		{"no words", []Session{working(protocol.Executing, "1", "Auth")}, plain, false, "", "End the session | Pause | Check In"},
		{"a client that asks", []Session{working(protocol.Executing, "1", "Auth")}, plain, true, "", "Steer… | End the session | Pause | Check In"},
		{"no check-in here", []Session{working(protocol.Executing, "1", "Auth")}, plain, false, protocol.MethodCheckIn, "End the session | Pause"},
		{"paused", []Session{paused}, plain, false, "", "Take: Join on order_no | End the session | Resume | Check In"},
		{"asked", []Session{asks}, plain, false, "", "Answer «Which format?»: json | End the session | Pause | Check In"},
		{"a decision here", []Session{open}, plain, false, protocol.MethodCheckIn, "Keep · «Extend it» | Take Hook · «Extend it» | Why? · «Extend it» | End the session | Pause"},
		{"a decision here, typed", []Session{open}, plain, true, protocol.MethodAsk, "Keep · «Extend it» | Take Hook · «Extend it» | Say otherwise… · «Extend it» | Steer… | End the session | Pause | Check In"},
		{"a decision elsewhere", []Session{open}, words, false, protocol.MethodCheckIn, "Steer: b c | End the session | Pause"},
		{"leave that is asked for", []Session{leave}, words, false, protocol.MethodAsk, "Steer: b c | Allow once · «Read .env» | End the session | Pause | Check In"},
		{"a decision nowhere", []Session{nowhere}, words, false, protocol.MethodAsk, "Steer: b c | Keep · «Extend it» | End the session | Pause | Check In"},
		{"a change", []Session{changed}, atChange, false, "", "Revert this change | Revert this step · «Write it» | Why this change? | End the session | Pause | Check In"},
		{"a command runs", []Session{runs}, plain, true, "", "End this command… · npm test | Steer… | End the session | Pause | Check In"},
		{"a command runs, not typed", []Session{runs}, plain, false, "", "End the session | Pause | Check In"},
		{"compared", []Session{compared}, plain, false, "", "Run it again | End the session | Resume | Check In"},
		{"two sessions", []Session{working(protocol.Executing, "2", "Docs"), working(protocol.Paused, "1", "Auth")}, words, false, protocol.MethodCheckIn,
			"Steer (Docs): b c | Steer (Auth): b c | End the session (Docs) | Pause (Docs) | End the session (Auth) | Resume (Auth)"},
		{"none", nil, words, false, "", "Start: b c"},
		{"none, no words", nil, plain, true, "", ""},
		{"an ended one", []Session{ended}, words, false, "", "Start: b c"},
		{"a done one", []Session{working(protocol.Done, "1", "Auth")}, words, false, "", "Start: b c | Steer: b c | End the session"},
		{"a done one beside one that lives", []Session{working(protocol.Done, "2", "Docs"), working(protocol.Executing, "1", "Auth")}, words, false, protocol.MethodCheckIn,
			"Steer: b c | End the session (Docs) | End the session | Pause"},
	} {
		v := View{Sessions: row.sessions, Can: can(row.without), Asks: row.asks, Now: noon}
		if got := titles(Actions(v, row.place)); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.name, got, row.want)
		}
	}
}

// What a steer from the code bears: the words, the place in whole lines, and what was seen.
func TestSteerParams(t *testing.T) {
	p := Place{URI: file, Text: "\t# tandem: say é 😀\nx\n", Range: lines(0, 0), Units: func(s string) int { return len([]rune(s)) }}
	a := Actions(View{Sessions: []Session{working(protocol.Executing, "1", "Auth")}, Can: can()}, p)[0]
	got, err := json.Marshal(a.Command)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"title":"Tandem: Steer: say é 😀","command":"tandem.do","arguments":[{"title":"Steer","method":"tandem/steer","params":{"sessionId":"1","text":"say é 😀",` +
		`"scope":{"location":{"uri":"file:///w/a.go","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":18}}}},"seenSeq":7}}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A client that wants some kinds of actions gets those alone.
func TestKinds(t *testing.T) {
	p := Place{URI: file, Text: "a\n", Selected: "a", Units: func(s string) int { return len(s) }}
	v := View{Sessions: []Session{working(protocol.Executing, "1", "Auth")}, Can: can()}
	for only, want := range map[protocol.CodeActionKind]string{"": "Steer: a | End the session | Pause | Check In", "quickfix": "Steer: a",
		"refactor": "End the session | Pause | Check In", "refactor.extract": "", "source.fixAll": ""} {
		p.Only = []protocol.CodeActionKind{only}
		if got := titles(Actions(v, p)); got != want {
			t.Errorf("%q: %s", only, got)
		}
	}
}

func TestReadRequest(t *testing.T) {
	for in, says := range map[string]string{
		`[{"title":"Pause","method":"tandem/pause","params":{"sessionId":"1"}}]`: "",
		`[]`:                         "takes one",
		`[1]`:                        "arguments[0]",
		`[{"method":"initialize"}]`:  "no request of tandem/",
		`[{"method":""}]`:            "no request of tandem/",
		`[{"method":"exit"},{}]`:     "takes one",
		`[{"method":"workspace/x"}]`: "no request of tandem/",
	} {
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(in), &args); err != nil {
			t.Fatal(err)
		}
		_, err := ReadRequest(args)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestComments(t *testing.T) {
	for _, row := range []struct {
		text string
		line int
		want string // text first–last, or nothing
	}{
		{"// tandem: do it", 0, "do it 0–0"},
		{"//tandem:do it", 0, "do it 0–0"},
		{"// tandem: do it 👩\u200d👧", 0, "do it 👩\u200d👧 0–0"},
		{"// tandem: do it\U000e0061\U000e0062", 0, ""},
		{"// tandem: do \u202eit", 0, ""},
		{"// tandem: do\u2028it", 0, ""},
		{"// tandem: do it\n// \u2066and more", 1, ""},
		{"/* tandem: do \u200bit */", 0, ""},
		{"  # Tandem: do it  ", 0, "do it 0–0"},
		{"/// TANDEM: do it", 0, "do it 0–0"},
		{"-- tandem: do it", 0, "do it 0–0"},
		{"; tandem: do it", 0, "do it 0–0"},
		{"% tandem: do it", 0, "do it 0–0"},
		{`" tandem: do it`, 0, "do it 0–0"},
		{"' tandem: do it", 0, "do it 0–0"},
		{"REM tandem: do it", 0, "do it 0–0"},
		{"/* tandem: do it */", 0, "do it 0–0"},
		{"<!-- tandem: do it -->", 0, "do it 0–0"},
		{"(* tandem: do it *)", 0, "do it 0–0"},
		{"{- tandem: do it -}", 0, "do it 0–0"},
		{"--[[ tandem: do it ]]", 0, "do it 0–0"},
		{"<p>{/* tandem: do it */}</p>", 0, "do it 0–0"},
		{"x = 1 # tandem: do it\n# more", 0, "do it 0–0"},
		{"x = 1 # tandem: do it\n# more", 1, ""},
		{"f(a, // tandem: do it", 0, "do it 0–0"},
		{"\t// tandem: do it\r\n\t// all of it\r\n\tx", 1, "do it all of it 0–1"},
		{"// tandem: do it\n//\n// not this", 2, ""},
		{"// tandem: one\n// tandem: two", 1, "two 1–1"},
		{"// tandem: one\n// tandem: two", 0, "one 0–0"},
		{"/*\n * tandem: do it\n * all of it\n */\nx", 2, "do it all of it 1–2"},
		{"/* tandem: do it\n   all of it */\nx", 1, "do it all of it 0–1"},
		{"/* tandem: do it\n   all of it */\nx", 2, ""},
		{"def f():\n  \"\"\"\n  tandem: do it\n  \"\"\"", 2, "do it 2–2"},
		{"<!--\ntandem: do it\n-->", 1, "do it 1–1"},
		{"/* a */\ntandem: do it", 1, ""},
		{"tandem: do it", 0, ""},
		{"see http://tandem:80/x", 0, ""},
		{`s := "tandem: do it"`, 0, ""},
		{"my-tandem: x", 0, ""},
		{"# tandem:", 0, ""},
		{"# tandem:\n# do it", 1, "do it 0–1"},
		{"# a\nx", 0, ""},
		{"# tandem: a", 7, ""},
		{"# tandem: a", -1, ""},
		{"", 0, ""},
	} {
		got := ""
		if c, ok := CommentAt(row.text, row.line); ok {
			got = fmt.Sprintf("%s %d–%d", c.Text, c.First, c.Last)
		}
		if got != row.want {
			t.Errorf("%q line %d: %q, want %q", row.text, row.line, got, row.want)
		}
	}
}

func FuzzCommentAt(f *testing.F) {
	f.Add("/* tandem: a\n */ x\n# tandem: b", 1)
	f.Fuzz(func(t *testing.T, text string, line int) {
		c, ok := CommentAt(text, line)
		if ok && (c.Text == "" || c.First > line || c.Last < line || c.Last >= len(strings.Split(text, "\n"))) {
			t.Errorf("%q line %d: %+v", text, line, c)
		}
	})
}

func TestLenses(t *testing.T) {
	deadline := noon.Add(8 * time.Second)
	s := working(protocol.Executing, "1", "Auth")
	s.Decisions = []protocol.Decision{
		{ID: "d1", Summary: "Name it\nAuthSource", Status: protocol.DecisionOpen, Deadline: &deadline, Location: &protocol.Location{URI: file, Range: &protocol.Range{Start: protocol.Position{Line: 4}}},
			Actions: []protocol.Action{act(protocol.MethodDecide, "Keep", false), act(protocol.MethodDecide, "Say otherwise…", true)}},
		{ID: "d2", Summary: "Old", Status: protocol.DecisionStanding, Location: &protocol.Location{URI: file}},
		{ID: "d3", Summary: "Elsewhere", Status: protocol.DecisionOpen, Location: &protocol.Location{URI: "file:///w/b.go"}},
		{ID: "d4", Summary: "Whole file", Status: protocol.DecisionOpen, Location: &protocol.Location{URI: file}}}
	mine := []Line{{BlamedLines: protocol.BlamedLines{OperationID: "o4", StepID: "s2", Range: lines(9, 11)}}, {BlamedLines: protocol.BlamedLines{OperationID: "o5", Range: lines(2, 2)}}}
	var got []string
	for _, l := range Lenses(View{Sessions: []Session{s}, Can: can(), Now: noon}, file, mine) {
		got = append(got, fmt.Sprintf("%d %s [%s]", l.Range.Start.Line, l.Command.Title, l.Command.Command))
	}
	want := `0 ▶ step 2 «Write it» — I put it in. []
4 ◆ Name it AuthSource · 8 s left []
4 Keep [tandem.do]
4 Why? [tandem.do]
0 ◆ Whole file · waits for your word []
0 Why? [tandem.do]
9 agent changed 3 lines · step 2 «Write it» [tandem.look]
2 agent changed 1 line [tandem.look]`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if d := NextLens(View{Sessions: []Session{s}}); d != time.Second {
		t.Errorf("a window that runs is drawn again after %s", d)
	}
	if d := NextLens(View{Sessions: []Session{working(protocol.Executing, "1", "Auth")}}); d != 0 {
		t.Errorf("nothing runs, and is drawn again after %s", d)
	}
}

func TestHover(t *testing.T) {
	s := working(protocol.Executing, "1", "Auth")
	s.Operations = []protocol.Operation{{ID: "o4", Intent: "I write\nthe hook."}}
	s.Decisions = []protocol.Decision{{ID: "d1", Summary: "Name it AuthSource", Rationale: "it is short"}}
	s.Steers = map[string]string{"t1": "a hook,\nplease"}
	for _, row := range []struct {
		line Line
		want string
	}{
		{Line{BlamedLines: protocol.BlamedLines{OperationID: "o4", StepID: "s2", DecisionID: "d1", SteerID: "t1"}},
			"Tandem · step 2 «Write it»\nI write the hook.\n◆ Name it AuthSource: it is short\nfrom your steer «a hook, please»"},
		{Line{BlamedLines: protocol.BlamedLines{OperationID: "o9", StepID: "s2", SteerID: "t9"}}, "Tandem · step 2 «Write it»\nI put it in.\nfrom your steer"},
		{Line{BlamedLines: protocol.BlamedLines{OperationID: "o9", StepID: "gone", DecisionID: "d9"}}, "Tandem · step gone"},
	} {
		h := Hover(View{Sessions: []Session{s}}, row.line)
		if h.Contents.Value != row.want || h.Contents.Kind != protocol.PlainText {
			t.Errorf("got %q as %s, want %q", h.Contents.Value, h.Contents.Kind, row.want)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	s := working(protocol.Paused, "1", "Auth")
	place := lines(3, 3)
	s.Pause = &protocol.Pause{Facts: []protocol.Fact{
		{Text: "No rows", Source: &protocol.FactSource{Tripwire: "every-order", Expected: "120", Observed: "0"}},
		{Text: "It joins ids", Source: &protocol.FactSource{URI: "file:///w/b.go", Range: &place}},
		{Text: "It failed", Source: &protocol.FactSource{OperationID: "o4"}},
		{Text: "I think so"},
	}}
	s.Conflicts = []string{"b.go moved on", "Conflicts with the task"}
	s.Plan.Steps[0].Files = []string{"file:///w/b.go"}
	got, err := json.Marshal(Diagnostics(View{Sessions: []Session{s}}))
	if err != nil {
		t.Fatal(err)
	}
	none := `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}`
	want := `{"file:///w/a.go":[{` + none + `,"severity":1,"code":"every-order","source":"tandem","message":"No rows — expected 120, observed 0"},` +
		`{` + none + `,"severity":3,"source":"tandem","message":"Conflicts with the task"}],` +
		`"file:///w/b.go":[{"range":{"start":{"line":3,"character":0},"end":{"line":3,"character":3}},"severity":1,"source":"tandem","message":"It joins ids"},` +
		`{` + none + `,"severity":3,"source":"tandem","message":"b.go moved on"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Mode, s.Conflicts, s.Pause = protocol.Executing, nil, nil
	if d := Diagnostics(View{Sessions: []Session{s}}); len(d) > 0 {
		t.Errorf("the pause has ended, and there is still %v", d)
	}
}

func TestProgress(t *testing.T) {
	s := working(protocol.Executing, "1", "Auth")
	ended := noon
	s.Operations = []protocol.Operation{{Kind: protocol.Tool, Intent: "I run the tests."}, {Kind: protocol.Tool, Intent: "Old.", EndedAt: &ended}, {Kind: protocol.Think, Intent: "I think."}}
	if m, ok := Progress(s); !ok || m != "I run the tests." {
		t.Errorf("at work: %q, %v", m, ok)
	}
	s.Operations = nil
	if m, ok := Progress(s); !ok || m != "step 2 «Write it»" {
		t.Errorf("between operations: %q, %v", m, ok)
	}
	s.Plan = nil
	if m, ok := Progress(s); !ok || m == "" {
		t.Errorf("without a plan: %q, %v", m, ok)
	}
	for mode, want := range map[protocol.Mode]string{protocol.Paused: "Paused: it is your turn.", protocol.Waiting: "It is your turn.", protocol.Done: "Done."} {
		if m, ok := Progress(working(mode, "1", "Auth")); ok || m != "" || ProgressEnd(working(mode, "1", "Auth")) != want {
			t.Errorf("%s: %q, %v, ends with %q", mode, m, ok, ProgressEnd(working(mode, "1", "Auth")))
		}
	}
}

func TestTurn(t *testing.T) {
	mine := func(mode protocol.Mode) Session {
		s := working(mode, "1", "Auth")
		s.Initiative = protocol.DeveloperInitiative
		return s
	}
	asks, tripped, own := mine(protocol.Waiting), mine(protocol.Paused), mine(protocol.Paused)
	asks.Questions = []protocol.Question{{Text: "Which format?"}}
	tripped.Pause = &protocol.Pause{By: protocol.PausedByTripwire, Reason: "every-order tripped", LikelyCause: "The join.",
		Facts: []protocol.Fact{{Text: "No rows", Source: &protocol.FactSource{Tripwire: "every-order", Expected: "120", Observed: "0"}}, {Text: "Two keys"}}}
	own.Pause = &protocol.Pause{By: protocol.PausedByDeveloper}
	for _, row := range []struct {
		s    Session
		want string
	}{
		{working(protocol.Executing, "1", "Auth"), ""},
		{asks, "Tandem: Auth: Which format?"},
		{own, ""},
		{tripped, "Tandem: Auth paused: every-order tripped — every-order: No rows — expected 120, observed 0 — Two keys Likely cause: The join."},
		{mine(protocol.Done), "Tandem: Auth is done."},
		{mine(protocol.Waiting), "Tandem: Auth waits for you."},
	} {
		if got, ok := Turn(row.s); got != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q, %v, want %q", row.s.Mode, got, ok, row.want)
		}
	}
}

func TestResult(t *testing.T) {
	for _, row := range []struct {
		result any
		want   string
	}{
		{protocol.AskResult{Answer: "Since it is short.\n"}, "Tandem: Since it is short."},
		{protocol.RevertResult{}, "Tandem: there is nothing to revert."},
		{protocol.RevertResult{Files: []protocol.RevertedFile{{URI: file}}, Conflicts: []string{"b.go: it moved on"}}, "Tandem: reverted 1 file.\n! b.go: it moved on"},
		{protocol.CheckInResult{CheckIn: protocol.CheckIn{Verdict: protocol.Clarify, Questions: []protocol.Question{{Text: "Which?"}},
			Contradictions: []protocol.Contradiction{{Claim: "tests pass", Fact: "they never ran"}}}}, "Tandem: checked in: the agent asks.\nasks: Which?\n! said «tests pass», but they never ran"},
		{protocol.CheckInResult{CheckIn: protocol.CheckIn{Verdict: protocol.Continue, NextSteps: []protocol.NextStep{{Text: "Write it"}}}}, "Tandem: checked in: the agent goes on.\nnext: Write it"},
		{protocol.ResumeResult{Drift: []string{"orders.db +1 row"}}, "Tandem: resumed; since the pause began: orders.db +1 row"},
		{protocol.ResumeResult{}, ""},
		{protocol.SteerResult{}, ""},
		{nil, ""},
	} {
		if got := Result(row.result); got != row.want {
			t.Errorf("%T: %q, want %q", row.result, got, row.want)
		}
	}
}

// A run of lines that ends before the next one's first character has none of it.
func TestHolds(t *testing.T) {
	for _, row := range []struct {
		start, end  protocol.Position
		first, last uint32
	}{
		{protocol.Position{Line: 2}, protocol.Position{Line: 4}, 2, 3},
		{protocol.Position{Line: 2}, protocol.Position{Line: 4, Character: 1}, 2, 4},
		{protocol.Position{Line: 2}, protocol.Position{Line: 2}, 2, 2},
	} {
		l := Line{BlamedLines: protocol.BlamedLines{Range: protocol.Range{Start: row.start, End: row.end}}}
		for n := range uint32(7) {
			if got := l.Holds(n); got != (row.first <= n && n <= row.last) {
				t.Errorf("%v–%v holds %d: %v", row.start, row.end, n, got)
			}
		}
	}
}

// What the model writes stands on one line and is bounded, whatever it is.
func TestClip(t *testing.T) {
	for in, want := range map[string]string{"a\n b\t\x1b[31mc": "a b [31mc", "äöüäöü": "äöüä…", "aa  bb cc": "aa b…", "": ""} {
		if got := clip(in, 5); got != want && in != "a\n b\t\x1b[31mc" {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := oneLine("a\n b\t\x1b[31mc"); got != "a b [31mc" {
		t.Errorf("got %q", got)
	}
}
