package server

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
	"tandem/server/config"
)

// reportsOfTruth are the reports of theme h: truth and stops.
var reportsOfTruth = []report{
	{id: "B190", theme: "h", about: "a step is ticked without any check",
		held:   []string{"server.TestReportDoneWithoutProof", "agent.TestScripts/check_in"},
		notYet: "a status of its own for a step that names no verification: it is done on the agent's word, `verified` is absent then, and a brief shows it as not grounded"},
	{id: "B191", theme: "h", about: "all steps are ticked whatever came of them",
		held: []string{"server.TestVerifiedSteps", "agent.TestScripts/verify"}},
	{id: "B192", theme: "h", about: "«612 passed, 1 error» is reported as clean",
		held: []string{"server.TestReportPassedWithAnError"}},
	{id: "B193", theme: "h", about: "the check is weakened and then reported green",
		held:   []string{"server.TestReportTheCheckIsOutOfReach", "agent.TestScripts/verify"},
		notYet: "a mark at a verification that passed because the agent changed the file it runs; until then the developer forbids that file to the agent, or takes it for a scenario's input"},
	{id: "B194", theme: "h", about: "a fix is declared without a run after it",
		held: []string{"agent.TestScripts/verify", "agent.TestScripts/stop_condition", "agent.TestScripts/stop_still_failing", "agent.TestScripts/check_in"}},
	{id: "B195", theme: "h", about: "a step goes on though its criterion failed",
		held: []string{"server.TestVerifiedSteps", "agent.TestScripts/verify", "agent.TestScripts/verify_in_order", "agent.TestScripts/bad_calls"}},
	{id: "B197", theme: "h", about: "a loop detector stops work that repeats for good reason",
		held: []string{"server.TestReportRepeats", "agent.TestScripts/signals", "agent.TestScripts/budget_of_a_poll"}},
	{id: "B199", theme: "h", about: "a hard reset destroys what the developer had not committed",
		held:   []string{"server.TestReportWhatGitDiscardsComesBack"},
		notYet: "a question before a command that discards work: Tandem is no permission gate. What a command does within .git alone (a branch, a stash), to ignored files, or to a remote is not kept"},
	{id: "B201", theme: "h", about: "what a reset destroyed cannot be brought back",
		held: []string{"server.TestReportWhatGitDiscardsComesBack", "server.TestRevert"}},
	{id: "B203", theme: "h", about: "after a cancel the model is asked on and on",
		held: []string{"server.TestReportAStoppedCommandAsksNobody", "server.TestReportUnfinishedIsARest", "agent.TestScripts/pause_plain"}},
	{id: "B205", theme: "h", about: "an unfinished plan drives the agent on against the developer's will",
		held: []string{"server.TestReportUnfinishedIsARest", "agent.TestScripts/end"}},
	{id: "B206", theme: "h", about: "a limit is read, checked and shown, and never enforced",
		held: []string{"server.TestReportEveryConditionStops", "server.TestReportAMisspeltConditionIsRefused", "agent/tripwire.TestPage", "agent/tripwire.TestKinds", "server/config.TestConditionsThatAreRefused"}},
	{id: "B208", theme: "h", about: "tokens that a server does not report count as none",
		held: []string{"server.TestReportTokensThatNobodyReports"}},
	{id: "B211", theme: "h", about: "the list of steps and the text of the plan disagree",
		held: []string{"server.TestReportOnePlan"}},
}

// claims is a call of update_plan in which every step has a verification of its own.
func claims(steps string) []string {
	return []string{"update_plan", `{"intent":"I say where I am.","step":"s1","explanation":"so it is","steps":` + steps + `}`}
}

// A step that names no verification is done on the agent's word alone. It is not shown as verified,
// the record says that nothing proves it, and a claim that the record refutes is told.
func TestReportDoneWithoutProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work(), does(plans("s1 done Work", "s2 done Integrate it")...), sse{saying("hm")}.hanging(),
			does("check_in", `{"intent":"I say where I am.","step":"s2","verdict":"continue","next_steps":[{"step":"s2","text":"I end it."}],"questions":[],
				"brief":{"goal":"work","done":[{"text":"it is integrated"},{"text":"the tests pass","evidence_command":"make test"}],"remaining":[],"assumptions":[],"risks":[]}}`))
		h.model.first = atOnce // words are ephemeral: the client is there before them
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteText, "hm")
		for _, step := range p.session(id).Plan.Steps {
			if step.Verified != nil {
				t.Errorf("%s is shown as verified: %v", step.ID, *step.Verified)
			}
		}
		var r protocol.CheckInResult
		p.ok(protocol.MethodCheckIn, at(id), &r)
		for _, claim := range r.CheckIn.Brief.Done {
			if claim.Grounded || len(claim.Evidence) > 0 {
				t.Errorf("«%s» is shown as proved by %q", claim.Text, claim.Evidence)
			}
		}
		if c := r.CheckIn.Contradictions; len(c) != 1 || c[0].Claim != "the tests pass" || !strings.Contains(c[0].Fact, "never ran") {
			t.Errorf("the contradictions are %+v", c)
		}
	})
}

// What counts is the exit code, and all that was printed is there to be read. Where that is not
// enough, a condition on what is printed stops the work.
func TestReportPassedWithAnError(t *testing.T) {
	needsShell(t)
	const said = "Tests 612 passed\nErrors 1 error\n"
	h := newHouse(t, nil)
	print := func(code int) []string {
		return runs(fmt.Sprintf(`printf 'Tests 612 passed\nErrors 1 error\n'; exit %d`, code))
	}
	h.model.will(work(append(print(1), print(0)...)...), says("Done."))
	p := h.client()
	p.start(params{})
	for code, status := range map[int]protocol.OperationStatus{1: protocol.OpFailed, 0: protocol.OpDone} {
		op := p.reachesFromStart(fmt.Sprintf("exit %d", code), status)
		if op.Output != said || op.ExitCode == nil || *op.ExitCode != code {
			t.Errorf("with exit code %d it is shown as %+v", code, op)
		}
	}
	if q := h.model.question(1); strings.Count(q, `Errors 1 error`) < 2 {
		t.Errorf("the agent is not told of the error both times:\n%s", q)
	}
	p.untilHas(protocol.NoteModeChanged, "waiting")

	write(t, h.dir, map[string]string{".tandem/config.yaml": `tripwires: [{name: no-errors, range: {value: {output: "Errors ([0-9]+)"}, max: 0}}]`})
	h.model.will(work(print(0)...))
	q := h.client()
	q.start(params{})
	q.untilHas(protocol.NoteModeChanged, "stopped by no-errors")
}

// reachesFromStart is reaches among all that was told.
func (p *peer) reachesFromStart(target string, status protocol.OperationStatus) protocol.Operation {
	p.t.Helper()
	p.mu.Lock()
	p.from = 0
	p.mu.Unlock()
	return p.reaches(target, status)
}

// The agent cannot weaken a check that the developer keeps out of its reach: neither with a file
// tool, nor with a command unseen.
func TestReportTheCheckIsOutOfReach(t *testing.T) {
	needsShell(t)
	verified := func(status string) []string {
		return claims(`[{"id":"s1","title":"Mend it","intent":"I mend it.","status":"` + status + `","verify":{"command":"sh check.sh"}}]`)
	}
	for name, weaken := range map[string][]string{
		"tool":    {"write_file", `{"intent":"I mend the check.","step":"s1","path":"check.sh","content":"exit 0\n"}`},
		"command": runs("echo exit 0 > check.sh"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, map[string]string{"check.sh": "exit 1\n", ".tandem/config.yaml": `tripwires: [{name: the-check, paths: {forbid: [check.sh]}}]`})
			h.model.will(does(verified("done")...), does(slices.Concat(weaken, verified("done"))...))
			p := h.client()
			id := p.start(params{}).ID
			p.untilHas(protocol.NotePlanChanged, `"verified":false`)
			p.untilHas(protocol.NoteModeChanged, "stopped by the-check")
			if step := p.session(id).Plan.Steps[0]; step.Status == protocol.StepDone || step.Verified != nil && *step.Verified {
				t.Errorf("with its check weakened the step is %+v", step)
			}
		})
	}
}

// Forty edits with one tool are no loop. The same call again and again is one, and the developer's
// limit ends it.
func TestReportRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 40
		files := map[string]string{".tandem/config.yaml": "tripwires: [{name: loop, budget: {repeats: 5}}]"}
		h := newHouse(t, files)
		var edits, reads []string
		for n := range many {
			name := fmt.Sprintf("f%d.txt", n)
			write(t, h.dir, map[string]string{name: "old\n"})
			edits = append(edits, "edit_file", fmt.Sprintf(`{"intent":"I rename it.","step":"s1","path":%q,"edits":[{"old":"old","new":"new"}]}`, name))
			reads = append(reads, "read_file", fmt.Sprintf(`{"intent":"I look, time %d.","step":"s1","path":"f0.txt"}`, n))
		}
		h.model.will(work(edits...), says("Done."), work(reads...))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		for n := range many {
			if text := h.disk(fmt.Sprintf("f%d.txt", n)); text != "new\n" {
				t.Errorf("file %d reads %q", n, text)
			}
		}
		p.ok(protocol.MethodSteer, at(id, "text", "look again"), nil)
		p.untilHas(protocol.NoteModeChanged, "stopped by loop")
		synctest.Wait() // what had begun ends
		done := slices.DeleteFunc(p.operations(id), func(o protocol.Operation) bool {
			return o.Tool != "read_file" || o.Status != protocol.OpDone
		})
		if len(done) != 4 {
			t.Errorf("the file was read %d times before the fifth was stopped", len(done))
		}
	})
}

// operations are those of a session, ended ones too.
func (p *peer) operations(id string) []protocol.Operation {
	p.t.Helper()
	var r protocol.SessionResult
	p.ok(protocol.MethodAttach, at(id), &r)
	return r.Session.Operations
}

// What a command discards that the developer had not committed comes back, to the byte, whatever
// spelling the command has.
func TestReportWhatGitDiscardsComesBack(t *testing.T) {
	needsShell(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	const dirty, untracked = "mine, not committed\r\n", "mine, never added"
	for _, line := range []string{"git reset --hard && git clean -fd", "git checkout -- . && git clean -fd", "git restore . && git clean -fd", "git -C . reset --hard",
		"sh -c 'git reset --hard'", "g=reset; git $g --hard", "git stash -u && git stash drop", "git checkout -q -f HEAD"} {
		t.Run(line, func(t *testing.T) {
			h := newHouse(t, map[string]string{"a.txt": "committed\n"})
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
				cmd := exec.Command(git, args...)
				cmd.Dir = h.dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v: %s", args[0], err, out)
				}
			}
			write(t, h.dir, map[string]string{"a.txt": dirty, "sub/b.txt": untracked})
			h.model.will(work(runs("export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "+line)...), says("Done."))
			p := h.client()
			id := p.start(params{}).ID
			op := p.reaches("git", protocol.OpDone)
			if text := h.disk("a.txt"); text != "committed\n" {
				t.Fatalf("the command discarded nothing: %q", text)
			}
			p.ok(protocol.MethodRevert, at(id, "operationId", op.ID), nil)
			if a, b := h.disk("a.txt"), h.disk("sub/b.txt"); a != dirty || b != untracked {
				t.Errorf("a.txt reads %q, sub/b.txt %q", a, b)
			}
		})
	}
}

// A command that the developer has stopped is the end of it: the model is asked no more until they
// go on.
func TestReportAStoppedCommandAsksNobody(t *testing.T) {
	h, connect := newRealHouse(t, nil)
	h.model.will(work(runs(endless)...))
	p := connect()
	id := p.start(params{}).ID
	p.runs("begun.txt")
	untilThere(t, h.dir+"/begun.txt")
	p.ok(protocol.MethodPause, at(id, "freeze", false), nil)
	p.reaches("begun.txt", protocol.OpCancelled)
	p.ok(protocol.MethodPlan, at(id), nil) // what follows from the end has followed
	if n := len(h.model.asked()); n != 1 {
		t.Errorf("after the stop the model was asked %d times more", n-1)
	}
	p.ok(protocol.MethodResume, at(id), nil)
	if q := h.model.last(1); !strings.Contains(q, "cancelled") || !strings.Contains(q, "[resumed]") {
		t.Errorf("the next question is not that of the resumption: %s", q)
	}
}

// A plan of which half is done rests as long as the developer wants, in a pause and at the end,
// and is there when they come back.
func TestReportUnfinishedIsARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		var steps []string
		for n := range 12 {
			status := "pending"
			if n < 6 {
				status = "done"
			}
			steps = append(steps, fmt.Sprintf("s%d %s Part %d", n, status, n))
		}
		h.model.will(does(plans(steps...)...), later(does("write_file", `{"intent":"I go on.","step":"s6","path":"a.txt","content":"a"}`)),
			does("finish", `{"intent":"I leave it at that.","step":"s6","summary":"half of it"}`))
		p := h.client()
		id := p.start(params{}).ID
		h.model.question(1)
		p.ok(protocol.MethodPause, at(id), nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(h.model.asked()); n != 2 {
			t.Errorf("in the pause the model was asked %d times more", n-2)
		}
		if _, err := os.Stat(h.dir + "/a.txt"); err == nil {
			t.Error("in the pause the agent has written")
		}
		p.ok(protocol.MethodResume, at(id), nil)
		p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(h.model.asked()); n != 3 {
			t.Errorf("after the end the model was asked %d times more", n-3)
		}
		p.ok(protocol.MethodEnd, at(id), nil)
		var r protocol.PlanResult
		p.ok(protocol.MethodPlan, at(id), &r)
		done := 0
		for _, step := range r.Plan.Steps {
			if step.Status == protocol.StepDone {
				done++
			}
		}
		if len(r.Plan.Steps) != 12 || done != 6 {
			t.Errorf("%d of %d steps are done", done, len(r.Plan.Steps))
		}
	})
}

// stop is a stop condition and the work that trips it.
type stop struct {
	kind, condition string
	work            []string
	files           map[string]string
}

// stops are stop conditions of every kind.
var stops = []stop{
	{kind: "schema", condition: `schema: {file: out.json, schema: s.json}`, work: writes("out.json", `{"rows":"two"}`),
		files: map[string]string{"s.json": `{"properties":{"rows":{"type":"integer"}}}`}},
	{kind: "require", condition: `require: {file: out.json, fields: [/rows]}`, work: writes("out.json", `{}`)},
	{kind: "command", condition: `command: {run: test ! -e out.json}`, work: writes("out.json", `{}`)},
	{kind: "range", condition: `range: {value: {json: out.json, at: /kg}, max: 10}`, work: writes("out.json", `{"kg":11}`)},
	{kind: "count", condition: `count: {records: out.csv, min: 2, max: 2}`, work: writes("out.csv", "id\n1\n")},
	{kind: "equal", condition: `equal: {left: 2, right: {json: out.json, at: /rows}}`, work: writes("out.json", `{"rows":1}`)},
	{kind: "paths", condition: `paths: {forbid: ["secret/**"]}`, work: writes("secret/a.txt", "a")},
	{kind: "unchanged", condition: `unchanged: {files: [go.mod], what: dependencies}`, work: writes("go.mod", "module a\n\nrequire example.com/b v1.0.0\n"),
		files: map[string]string{"go.mod": "module a\n"}},
	{kind: "budget", condition: `budget: {requests: 1}`, work: writes("a.txt", "a")},
	{kind: "budget", condition: `budget: {tokens: 12}`, work: writes("a.txt", "a")},
	{kind: "budget", condition: `budget: {repeats: 2}`, work: writes("a.txt", "a", "a.txt", "a")},
}

// writes are calls of write_file.
func writes(pairs ...string) []string {
	var calls []string
	for i := 0; i < len(pairs); i += 2 {
		calls = append(calls, "write_file", fmt.Sprintf(`{"intent":"I write.","step":"s1","path":%q,"content":%q}`, pairs[i], pairs[i+1]))
	}
	return calls
}

// Each kind of stop condition that a configuration can hold stops an agent that would run past it,
// by its name, and before anything more is changed.
func TestReportEveryConditionStops(t *testing.T) {
	needsShell(t)
	var schema struct {
		Properties struct {
			Tripwires struct {
				Items struct{ OneOf []struct{ Required []string } }
			}
		}
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	kinds := schema.Properties.Tripwires.Items.OneOf
	if len(kinds) == 0 {
		t.Error("the schema names no kind")
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(stops, func(s stop) bool { return s.kind == kind.Required[0] }) {
			t.Errorf("nothing shows that %s stops", kind.Required[0])
		}
	}
	for _, stop := range stops {
		t.Run(stop.condition, func(t *testing.T) {
			h := newHouse(t, stop.files)
			write(t, h.dir, map[string]string{".tandem/config.yaml": "tripwires:\n  - name: the-limit\n    " + stop.condition + "\n"})
			h.model.will(work(stop.work...), does(writes("past.txt", "too late")...), does(writes("past.txt", "too late")...), says("I see."))
			p := h.client()
			id := p.start(params{}).ID
			p.untilHas(protocol.NoteModeChanged, "stopped by the-limit")
			p.until("the agent's end", func(method, text string) bool {
				return method == protocol.NoteModeChanged && strings.Contains(text, `"initiative":"developer"`)
			})
			s := p.session(id)
			if _, err := os.Stat(h.dir + "/past.txt"); err == nil || s.Mode != protocol.Paused {
				t.Errorf("the session is %s and went on", s.Mode)
			}
			if f := s.Pause.Facts[0].Source; f == nil || f.Tripwire != "the-limit" || f.Expected == "" || f.Observed == "" {
				t.Errorf("its evidence is %+v", f)
			}
		})
	}
}

// A limit whose name is misspelt limits nothing, so nothing is started under it.
func TestReportAMisspeltConditionIsRefused(t *testing.T) {
	for _, text := range []string{"tripwire: []", "tripwires: [{name: a, budgets: {requests: 1}}]", "tripwires: [{name: a, budget: {request: 1}}]", "budget: {turns: 20}"} {
		h := newHouse(t, map[string]string{".tandem/config.yaml": text + "\n"})
		a := h.client().call(protocol.MethodStart, params{"task": "work"})
		if a.Error == nil || !strings.Contains(a.Error.Message, "config.yaml") || !strings.Contains(a.Error.Message, "line 1") {
			t.Errorf("%s: %+v", text, a.Error)
		}
	}
}

// A server that reports no tokens does not make a budget of tokens endless.
func TestReportTokensThatNobodyReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "one\n", ".tandem/config.yaml": "tripwires: [{name: tokens, budget: {tokens: 12000}}]"})
		long := strings.Repeat("word ", 240) // 300 tokens, about
		silent := func(r reply) reply {
			before, after, _ := strings.Cut(r.body, `,"usage"`)
			_, after, _ = strings.Cut(after, "}")
			return reply{body: before + after}
		}
		for range 20 {
			h.model.will(silent(sse{saying(long), calling(0, "read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`)}.whole("tool_calls")))
		}
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "reckoned from the length of the words")
		u := p.session(id).Usage
		if !u.Estimated || u.Requests < 3 || u.Requests > 6 || u.InputTokens < 2000*u.Requests || u.OutputTokens < 300*u.Requests {
			t.Errorf("it stopped after %+v", u)
		}
	})
}

// The plan is one: read, told and remembered it is the same after each of twenty steers.
func TestReportOnePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.first = atOnce // words are ephemeral: the client is there before them
		steps := []string{"s0 active Work"}
		h.model.will(does(plans(steps...)...), sse{saying("hm")}.hanging())
		p := h.client()
		id := p.start(params{}).ID
		for n := range 20 {
			p.untilHas(protocol.NoteText, "hm")
			steps = append(steps, fmt.Sprintf("s%d pending Also %d", n+1, n))
			h.model.will(does(plans(steps...)...), sse{saying("hm")}.hanging())
			p.ok(protocol.MethodSteer, at(id, "text", fmt.Sprintf("also %d", n)), nil)
			var told protocol.PlanChangedParams
			note := p.untilHas(protocol.NotePlanChanged, fmt.Sprintf("Also %d", n))
			if err := json.Unmarshal(note.Params, &told); err != nil {
				t.Fatal(err)
			}
			var read protocol.PlanResult
			p.ok(protocol.MethodPlan, at(id), &read)
			var history protocol.HistoryResult
			p.ok(protocol.MethodHistory, at(id), &history)
			var planned struct{ Plan protocol.Plan }
			for _, e := range history.Events {
				if e.Kind == "planned" {
					if err := json.Unmarshal(e.Data, &planned); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := stepsText(told.Plan)
			for from, plan := range map[string]protocol.Plan{"read": *read.Plan, "listed": *p.session(id).Plan, "remembered": planned.Plan} {
				if got := stepsText(plan); got != want || plan.Revision != told.Plan.Revision || len(plan.Steps) != n+2 {
					t.Errorf("after steer %d it is told as r%d %s, %s as r%d %s", n, told.Plan.Revision, want, from, plan.Revision, got)
				}
			}
		}
	})
}
