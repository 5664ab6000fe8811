package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

const home = "file:///home/ada/desk"

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// told is a notification as a daemon would send it.
func telling(t *testing.T, method string, params any) note {
	t.Helper()
	b, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return note{method, b}
}

func sessionIn(mode protocol.Mode) protocol.Session {
	return protocol.Session{ID: "20260504-120000-abcdef", Workspace: home, Task: "Join the orders.", Mode: mode, Autonomy: protocol.Balanced,
		Model: "m", Actions: []protocol.Action{{Title: "Steer…"}}}
}

func step(id, title string, status protocol.StepStatus) protocol.Step {
	return protocol.Step{ID: id, Title: title, Intent: title + ".", Status: status, Files: []string{home + "/src/" + id + ".go"}}
}

func plan(revision int, cause protocol.Cause, steps ...protocol.Step) protocol.Plan {
	return protocol.Plan{Revision: revision, Cause: cause, Steps: steps}
}

func operation(id string, status protocol.OperationStatus, more func(*protocol.Operation)) protocol.ProgressParams {
	op := protocol.Operation{ID: id, Kind: protocol.Tool, Tool: "run_command", Effect: protocol.EffectExecute, Intent: "I run the tests.",
		Target: "go test ./...", Status: status, StartedAt: &noon}
	if more != nil {
		more(&op)
	}
	return protocol.ProgressParams{Operation: op}
}

func answering(method, option, title string, ask *protocol.ActionAsk) protocol.Action {
	return protocol.Action{Title: title, Method: method, Params: protocol.ActionParams{SessionID: "s", PauseID: "p1", Option: option}, Ask: ask}
}

var own = &protocol.ActionAsk{Param: "text", Prompt: "What shall change?"}

// story is what the picture is shown, step by step.
type story struct {
	name    string
	session protocol.Session
	notes   func(t *testing.T) []note
}

var stories = []story{
	{"steer", sessionIn(protocol.Executing), steerStory},
	{"commands", sessionIn(protocol.Executing), commandStory},
	{"pause", sessionIn(protocol.Executing), pauseStory},
	{"questions", sessionIn(protocol.Executing), questionStory},
	{"decisions", sessionIn(protocol.Executing), decisionStory},
	{"leave", sessionIn(protocol.Executing), leaveStory},
	{"waits", sessionIn(protocol.Executing), waitStory},
}

func steerStory(t *testing.T) []note {
	before := plan(1, protocol.Cause{Kind: protocol.CauseTask}, step("s1", "Read how the state flows", protocol.StepActive),
		step("s2", "Extend the provider", protocol.StepPending), step("s3", "Menu asks the provider", protocol.StepPending))
	done := step("s1", "Read how the state flows", protocol.StepDone)
	yes := true
	done.Verify, done.Verified = &protocol.Verify{Command: "go vet ./..."}, &yes
	after := plan(2, protocol.Cause{Kind: protocol.CauseSteer, ID: "st1"}, done, step("s4", "Put the logic into a hook", protocol.StepActive),
		step("s3", "Menu takes a hook", protocol.StepPending), step("s2", "Extend the provider", protocol.StepDropped))
	st := protocol.Steer{ID: "st1", Text: "Move this into a reusable hook.", When: protocol.Now, Status: protocol.SteerReceived}
	heard, applied := st, st
	heard.Status, applied.Status, applied.PlanRevision = protocol.SteerHeard, protocol.SteerApplied, 2
	active := before
	active.Steps = append(protocol.List[protocol.Step]{done}, before.Steps[1:]...)
	return []note{
		telling(t, protocol.NotePlanChanged, protocol.PlanChangedParams{Plan: before, Diff: protocol.Diff{Added: []string{"s1", "s2", "s3"}}}),
		telling(t, protocol.NoteText, protocol.TextParams{OperationID: "op1", Delta: "I found that the state lives in the provider.\n\nI ext"}),
		telling(t, protocol.NoteText, protocol.TextParams{OperationID: "op1", Delta: "end"}),
		telling(t, protocol.NotePlanChanged, protocol.PlanChangedParams{Plan: active}),
		telling(t, protocol.NoteText, protocol.TextParams{OperationID: "op2", Delta: "Then I"}),
		telling(t, protocol.NoteSteered, protocol.SteeredParams{Steer: st}),
		telling(t, protocol.NoteSteered, protocol.SteeredParams{Steer: heard}),
		telling(t, protocol.NotePlanChanged, protocol.PlanChangedParams{Plan: after,
			Diff: protocol.Diff{Kept: []string{"s1"}, Changed: []protocol.StepChange{{Before: before.Steps[2], After: after.Steps[2]}},
				Added: []string{"s4"}, Dropped: []string{"s2"}, Reverted: []string{"s2"}},
			Consequences: []string{"A hook bound to the provider would be hard to reuse, so an interface goes between the two of them, and every caller has to name it."},
			Conflicts:    []string{"The task says «use the existing architecture»."}}),
		telling(t, protocol.NoteSteered, protocol.SteeredParams{Steer: applied}),
	}
}

func commandStory(t *testing.T) []note {
	three := 3
	later := noon.Add(12 * time.Second)
	ended := func(op *protocol.Operation) {
		op.ExitCode, op.EndedAt = &three, &later
		op.Output = strings.Repeat("a line of output\n", 12) + "\tpanic: \x1b[31mred\x1b[0m\a\n"
	}
	edit := func(op *protocol.Operation) {
		op.ID, op.Tool, op.Effect, op.Intent, op.Target = "op4", "edit_file", protocol.EffectWrite, "I mend the join.", "src/join.go"
	}
	return []note{
		telling(t, protocol.NoteProgress, operation("op3", protocol.OpQueued, nil)),
		telling(t, protocol.NoteProgress, operation("op3", protocol.OpRunning, nil)),
		telling(t, protocol.NoteProgress, operation("op3", protocol.OpFailed, ended)),
		telling(t, protocol.NoteProgress, operation("op4", protocol.OpRunning, edit)),
		telling(t, protocol.NoteFilesChanged, protocol.FilesChangedParams{OperationID: "op4", Files: []protocol.FileChange{
			{URI: home + "/src/j%C3%B6in.go", Change: protocol.Changed, Hunks: []protocol.Hunk{{OldLines: 3, NewLines: 5}, {OldLines: 1}}}}}),
		telling(t, protocol.NoteProgress, operation("op4", protocol.OpDone, edit)),
		telling(t, protocol.NoteProgress, operation("op5", protocol.OpRunning, nil)),
		telling(t, protocol.NoteProgress, operation("op5", protocol.OpFrozen, nil)),
		telling(t, protocol.NoteProgress, operation("op5", protocol.OpRunning, nil)),
		telling(t, protocol.NoteProgress, operation("op5", protocol.OpCancelled, func(op *protocol.Operation) {
			op.CancelledBy, op.Partial = &protocol.CancelledBy{Kind: protocol.BySteer, ID: "st1"}, true
		})),
		telling(t, protocol.NoteProgress, operation("op6", protocol.OpCancelled, func(op *protocol.Operation) {
			op.CancelledBy, op.StartedAt = &protocol.CancelledBy{Kind: protocol.ByReplan}, nil
		})),
		telling(t, protocol.NoteProgress, operation("op7", protocol.OpLost, nil)),
	}
}

func pauseStory(t *testing.T) []note {
	resume := answering(protocol.MethodResume, "", "Resume", nil)
	first := protocol.Pause{ID: "p1", By: protocol.PausedByTripwire, Reason: "every-order does not hold.",
		Facts: []protocol.Fact{{Text: "The report misses orders.", Source: &protocol.FactSource{URI: home + "/analyse.py",
			Range: &protocol.Range{Start: protocol.Position{Line: 2}}, Tripwire: "every-order", Expected: "120", Observed: "0"}}},
		Actions: []protocol.Action{answering(protocol.MethodDecide, "", "Say what shall change…", own), resume}}
	told := first
	told.LikelyCause = "The join uses row ids where weights has order numbers."
	told.Options = []protocol.Option{{ID: "o1", Title: "Join on order_no", Detail: "One line.", Touches: []protocol.Touch{protocol.TouchCode}, Files: []string{home + "/analyse.py"}},
		{ID: "o2", Title: "Rename the field", Touches: []protocol.Touch{protocol.TouchData}}}
	told.Actions = []protocol.Action{answering(protocol.MethodDecide, "o1", "Take: Join on order_no", nil),
		answering(protocol.MethodDecide, "o2", "Take: Rename the field", nil), answering(protocol.MethodDecide, "", "Say what shall change…", own), resume}
	decided := told
	decided.Decision = "Join on order_no"
	comparison := protocol.Comparison{Scenario: "analysis", Input: protocol.Input{Same: true},
		Before:  protocol.Run{Checks: []protocol.Check{{Tripwire: "every-order", Expected: "120", Observed: "0"}}},
		After:   protocol.Run{Checks: []protocol.Check{{Tripwire: "every-order", OK: true, Expected: "120", Observed: "120"}}},
		Changes: []protocol.Change{{What: "report.json /kg", Before: "0", After: "1200.0"}}}
	ran := decided
	ran.Comparison = &comparison
	again := protocol.ModeChangedParams{Mode: protocol.Paused, Initiative: protocol.DeveloperInitiative, Pause: &ran, Reason: "the same case ran again"}
	mode := func(p *protocol.Pause, who protocol.Initiative, m protocol.Mode) note {
		return telling(t, protocol.NoteModeChanged, protocol.ModeChangedParams{Mode: m, Initiative: who, Pause: p})
	}
	return []note{
		mode(&first, protocol.AgentInitiative, protocol.Paused),
		mode(&told, protocol.DeveloperInitiative, protocol.Paused),
		mode(&decided, protocol.AgentInitiative, protocol.Paused),
		telling(t, protocol.NoteScenarioRan, protocol.ScenarioRanParams{Comparison: comparison}),
		telling(t, protocol.NoteModeChanged, again),
		mode(nil, protocol.AgentInitiative, protocol.Executing),
	}
}

func questionStory(t *testing.T) []note {
	ask := func(id, text string, options ...string) protocol.Question {
		q := protocol.Question{ID: id, Text: text, Options: options}
		for _, o := range options {
			q.Actions = append(q.Actions, protocol.Action{Title: o, Method: protocol.MethodDecide, Params: protocol.ActionParams{QuestionID: id, Option: o}})
		}
		q.Actions = append(q.Actions, protocol.Action{Title: "Answer in my words…", Method: protocol.MethodDecide,
			Params: protocol.ActionParams{QuestionID: id}, Ask: &protocol.ActionAsk{Param: "text", Prompt: text}})
		return q
	}
	both := []protocol.Question{ask("q1", "Which database?", "sqlite", "postgres"), ask("q2", "What is the table's name?")}
	mode := func(m protocol.Mode, q []protocol.Question, reason string) note {
		return telling(t, protocol.NoteModeChanged, protocol.ModeChangedParams{Mode: m, Initiative: protocol.DeveloperInitiative, Questions: q, Reason: reason})
	}
	return []note{mode(protocol.Waiting, both, ""), mode(protocol.Waiting, both[1:], ""), mode(protocol.Executing, nil, ""),
		mode(protocol.Waiting, nil, ""), mode(protocol.Done, nil, "The orders are joined.")}
}

func decisionStory(t *testing.T) []note {
	soon := noon.Add(10 * time.Second)
	d := protocol.Decision{ID: "d1", Summary: "The interface is named AuthSource.", Rationale: "It says what it is.", Significance: protocol.Major,
		Status: protocol.DecisionOpen, Deadline: &soon, Alternatives: []protocol.Alternative{{ID: "port", Title: "AuthPort", Consequence: "One more word."}},
		Location: &protocol.Location{URI: home + "/auth.go", Range: &protocol.Range{Start: protocol.Position{Line: 17}}},
		Actions:  []protocol.Action{answering(protocol.MethodDecide, "", "Keep", nil), answering(protocol.MethodDecide, "port", "Take AuthPort", nil), answering(protocol.MethodDecide, "", "Say otherwise…", own)}}
	stood, other, gone := d, d, d
	stood.Status = protocol.DecisionStanding
	other.ID, other.Status, other.Deadline = "d2", protocol.DecisionStanding, nil
	gone.ID, gone.Status, gone.Chosen = "d2", protocol.DecisionOverridden, "port"
	return []note{telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: d}), telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: stood}),
		telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: other}), telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: gone})}
}

func leaveStory(t *testing.T) []note {
	d := protocol.Decision{ID: "d1", Kind: protocol.Permission, Summary: "Read .env", Rationale: "I look at the mode. By its name .env holds secrets.", Significance: protocol.Major,
		Status: protocol.DecisionOpen, Location: &protocol.Location{URI: home + "/.env"}, Alternatives: []protocol.Alternative{
			{ID: "once", Title: "allow once", Consequence: "this operation alone"}, {ID: "no", Title: "no", Consequence: "the agent is told to go on without it"}},
		Actions: []protocol.Action{answering(protocol.MethodDecide, "once", "Allow once", nil), answering(protocol.MethodDecide, "no", "No", nil), answering(protocol.MethodDecide, "", "No, and say why…", own)}}
	allowed, refused, moot := d, d, d
	allowed.Status, allowed.Chosen = protocol.DecisionStanding, "once"
	refused.Status, refused.Chosen = protocol.DecisionOverridden, "no"
	moot.Status = protocol.DecisionOverridden
	var out []note
	for _, after := range []protocol.Decision{allowed, refused, moot} {
		before := d
		before.ID = fmt.Sprintf("d%d", len(out))
		after.ID = before.ID
		out = append(out, telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: before}), telling(t, protocol.NoteDecision, protocol.DecisionParams{Decision: after}))
	}
	return out
}

// Leave that the agent needs in a pause, to look into it or to change what was decided, is answered
// before the pause is; where it is the developer's turn the pause is.
func TestLeaveInAPause(t *testing.T) {
	p := newPicture(sessionIn(protocol.Paused))
	p.session.Pause = &protocol.Pause{Actions: []protocol.Action{answering(protocol.MethodResume, "", "Resume", nil)}}
	p.choices["d1"] = protocol.Decision{ID: "d1", Kind: protocol.Permission, Actions: []protocol.Action{answering(protocol.MethodDecide, "once", "Allow once", nil)}}
	for turn, want := range map[protocol.Initiative]string{protocol.AgentInitiative: "Allow once", protocol.DeveloperInitiative: "Resume"} {
		p.session.Initiative = turn
		if got := p.turnActions(); len(got) != 1 || got[0].Title != want {
			t.Errorf("in a pause, at the turn of the %s, there is %+v", turn, got)
		}
	}
}

func waitStory(t *testing.T) []note {
	busy := "the model is busy (429); asking again in 3 s"
	think := func(id string, status protocol.OperationStatus, output string) note {
		return telling(t, protocol.NoteProgress, protocol.ProgressParams{Operation: protocol.Operation{ID: id, Kind: protocol.Think, Status: status, Output: output, StartedAt: &noon}})
	}
	return []note{
		think("op1", protocol.OpRunning, ""), think("op1", protocol.OpFailed, busy),
		telling(t, protocol.NoteModeChanged, protocol.ModeChangedParams{Mode: protocol.Executing, Initiative: protocol.AgentInitiative, Reason: busy}),
		think("op2", protocol.OpRunning, ""), think("op2", protocol.OpDone, "Said before you came."),
		telling(t, protocol.NoteModeChanged, protocol.ModeChangedParams{Mode: protocol.Executing, Initiative: protocol.AgentInitiative, Reason: "the conversation begins anew with a brief"}),
		telling(t, protocol.NoteWatched, protocol.WatchedParams{Watch: protocol.Watch{Name: "orders", Value: 121, Previous: 120}}),
	}
}

// TestPictures holds each story against its golden file: in a pipe, and on a narrow screen in colours.
func TestPictures(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			p := newPicture(s.session)
			lines := p.header()
			for _, n := range s.notes(t) {
				more, err := p.show(n)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, more...)
			}
			var out strings.Builder
			for _, on := range []paper{{}, {width: 60, colour: true}} {
				out.WriteString("== a pipe\n")
				if on.width > 0 {
					out.WriteString("== 60 columns in colours\n")
				}
				for _, l := range lines {
					for _, row := range on.rows(l) {
						if on.width > 0 && visible(row) >= on.width {
							t.Errorf("the row is %d columns wide: %q", visible(row), row)
						}
						out.WriteString(strings.ReplaceAll(row, "\x1b", "␛") + "\n")
					}
				}
			}
			golden(t, s.name+".golden", strings.Replace(out.String(), "== a pipe\n== 60", "== 60", 1))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "pictures", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -run %s -update writes it anew):\n%s", path, t.Name(), got)
	}
}

func TestWhatHappensNow(t *testing.T) {
	p := newPicture(sessionIn(protocol.Executing))
	show := func(n note) {
		t.Helper()
		if _, err := p.show(n); err != nil {
			t.Fatal(err)
		}
	}
	want := func(at time.Duration, text string) {
		t.Helper()
		if got := p.now(noon.Add(at)); got != text {
			t.Errorf("after %s it says %q, want %q", at, got, text)
		}
	}
	want(0, "● working")
	show(telling(t, protocol.NoteProgress, protocol.ProgressParams{Operation: protocol.Operation{ID: "op1", Kind: protocol.Think, Status: protocol.OpRunning, StartedAt: &noon}}))
	want(time.Second, "● working · thinking")
	want(14*time.Second, "● working · thinking · 14 s")
	show(telling(t, protocol.NoteProgress, operation("op2", protocol.OpRunning, nil)))
	want(3*time.Second, "● working · go test ./... · 3 s")
	said := map[string]time.Duration{}
	for _, at := range []struct {
		after time.Duration
		lines int
	}{{29, 0}, {30, 2}, {45, 0}, {60, 2}, {61, 0}, {121, 2}} {
		if got := p.overdue(noon.Add(at.after*time.Second), said); len(got) != at.lines {
			t.Errorf("after %d s it says %v", at.after, got)
		}
	}
	for _, n := range decisionStory(t)[:1] {
		show(n)
	}
	want(4*time.Second, "● working · go test ./... · 4 s · the decision stands in 6 s")
	for _, n := range pauseStory(t)[:2] {
		show(n)
	}
	want(0, "⏸ paused · your turn")
}

func TestReceipt(t *testing.T) {
	p := newPicture(sessionIn(protocol.Executing))
	if _, err := p.show(telling(t, protocol.NoteProgress, operation("op2", protocol.OpRunning, nil))); err != nil {
		t.Fatal(err)
	}
	got := p.receipt(protocol.SteerResult{SteerID: "st1", Cancelled: []string{"op3", "op4"}, Running: []string{"op2"},
		Unseen: []protocol.Unseen{{OperationID: "op1", Files: []string{home + "/a.go"}}}})
	want := "cancelled 2 that had not begun or that you named · runs on: go test ./... · had already changed: a.go"
	if len(got) != 1 || got[0].text != want {
		t.Errorf("the receipt is %v", got)
	}
	if got := p.receipt(protocol.SteerResult{SteerID: "st2"}); got != nil {
		t.Errorf("a steer that cost nothing says %v", got)
	}
}

// That nobody counts the tokens is said, and once.
func TestAnEstimateIsSaidOnce(t *testing.T) {
	p := newPicture(sessionIn(protocol.Executing))
	said := 0
	for seq := range int64(3) {
		u := protocol.Usage{InputTokens: 100 * seq, Requests: seq, Estimated: seq > 0}
		lines, err := p.show(telling(t, protocol.NoteUsage, protocol.UsageParams{Event: protocol.Event{SessionID: p.session.ID, Seq: seq + 1}, Usage: u}))
		if err != nil {
			t.Fatal(err)
		}
		said += len(lines)
	}
	if said != 1 || tokens(p.session.Usage) != "2 requests · about 200 tokens in, 0 out" {
		t.Errorf("%d lines; %s", said, tokens(p.session.Usage))
	}
}
