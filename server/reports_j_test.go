package server

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
)

// reportsOfWishes are the reports of theme j: wishes.
var reportsOfWishes = []report{
	{id: "B236", theme: "j", about: "a message that waits rejects what waits for approval",
		held: []string{"server.TestReportADecisionAndAWord", "agent.TestScripts/decisions"}},
	{id: "B237", theme: "j", about: "wish: words with a yes or a no",
		held:   []string{"server.TestReportRefusedWithWords", "server.TestReportADecisionAndAWord"},
		notYet: "words in the same request that keeps a decision: words there override it, so a yes with words is two requests, `decide` and a steer"},
	{id: "B238", theme: "j", about: "«don't ask again» is not remembered",
		cannot: "nothing is asked before a command or an edit, so there is no answer to remember; the window of a kind of decision that the developer lets stand grows shorter by itself (agent.TestScripts/adaptive)"},
	{id: "B239", theme: "j", about: "it is unclear what was authorised",
		cannot: "nothing is authorised, so there is no rule with a width; what is forbidden stands in the configuration as globs and is checked on the file that is meant (server.TestScenarios/stop_condition, agent/tripwire.TestForbiddenPaths)"},
	{id: "B244", theme: "j", about: "the agent goes on before the developer has chosen",
		held: []string{"server.TestReportWhatWaitsIsHeld", "server.TestScenarios/veto_window"}},
	{id: "B246", theme: "j", about: "wish: take a finished change back while the agent works",
		held: []string{"agent.TestScripts/revert_by_hand", "agent/session.TestRevertBesideACommand", "agent/session.TestRevertByHandIsShownToTheAgent", "server.TestRevert"}},
	{id: "B247", theme: "j", about: "wish: take one waiting message back without stopping the work",
		held: []string{"server.TestReportOneOfThreeIsTakenBack", "agent.TestScripts/steer_later"}},
	{id: "B248", theme: "j", about: "wish: a note on a particular change, without an interruption",
		held: []string{"server.TestReportANoteAtAPlace", "server.TestSteerFromTheCode"}},
	{id: "B249", theme: "j", about: "wish: steer a wrong proposal instead of cancelling it",
		held: []string{"server.TestReportAProposalIsSteered", "server.TestReportRefusedWithWords"}},
	{id: "B250", theme: "j", about: "wish: a pause that is no stop, and a premise that falls in it",
		held: []string{"server.TestReportAPauseWithAnotherPremise", "agent.TestScripts/pause_plain", "agent.TestScripts/steer_in_pause"}},
	{id: "B251", theme: "j", about: "wish: pause, edit by hand, go on with the edits noticed",
		held:   []string{"server.TestReportEditsInAPause", "server.TestEditsByHandAreTold", "agent/workspace.TestEditAfterAChangeByOthers"},
		notYet: "the difference itself in the word to the agent, which is told to read the file again; and a word about an edit past the editor, which is seen only when the agent next touches the file"},
	{id: "B252", theme: "j", about: "wish: a pause has no time limit, and what waits stays to be answered",
		held: []string{"server.TestReportAPauseOfAnHour"}},
	{id: "B253", theme: "j", about: "wish: a pause after the present thought",
		held: []string{"server.TestReportAPauseWithAnotherPremise", "server.TestScenarios/pause_and_resume", "agent.TestScripts/pause_plain"}},
	{id: "B254", theme: "j", about: "wish: a word that is used at the next question and aborts nothing",
		held: []string{"server.TestSteerLetsTheCommandRunOn", "agent.TestScripts/steer_lets_run", "agent.TestScripts/steer_later"}},
	{id: "B256", theme: "j", about: "wish: the input is always open",
		held: []string{"server.TestReportASteerInEveryState", "server.TestReportOneOfThreeIsTakenBack", "agent.TestScripts/compact_in_pause"}},
	{id: "B257", theme: "j", about: "steering cancels the running tool, or lets it finish",
		held: []string{"server.TestReportTheReceiptNamesWhatEnds", "agent.TestScripts/steer_scoped", "agent.TestScripts/steer_later"}},
	{id: "B258", theme: "j", about: "wish: an interruption with more instructions in place of a restart",
		held: []string{"server.TestReportAWrongPathIsLeft", "agent.TestScripts/steer_while_running"}},
}

// announces is a call of announce_decision.
func announces(summary, significance string) []string {
	return []string{"announce_decision", fmt.Sprintf(`{"intent":"I choose.","step":"s1","summary":%q,"rationale":"so it is","alternatives":[{"id":"b","title":"the other"}],"significance":%q}`, summary, significance)}
}

// idle waits until the agent has handed over.
func (p *peer) idle() {
	p.t.Helper()
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
}

// A word for later leaves open what waits for a word now. That is kept then, is done once, and the
// word is heard.
func TestReportADecisionAndAWord(t *testing.T) {
	needsShell(t)
	h := newHouse(t, nil)
	h.model.will(work(slices.Concat(announces("make ok", "major"), runs("echo made >> ok"))...), says("It is made."),
		does(plans("s1 active Work", "s2 pending Build")...), says("Done."))
	p := h.client()
	id := p.start(params{"autonomy": "close"}).ID
	p.untilHas(protocol.NoteDecision, `"open"`)
	var r protocol.SteerResult
	p.ok(protocol.MethodSteer, at(id, "text", "and after that build, with -v", "when", "stepEnd"), &r)
	if d := p.session(id).Decisions[0]; d.Status != protocol.DecisionOpen || len(d.Holds) != 1 || len(r.Cancelled) > 0 {
		t.Errorf("after the word the decision is %+v, the receipt %+v", d, r)
	}
	p.ok(protocol.MethodDecide, at(id, "decisionId", "d1"), nil)
	if q := h.model.question(2); !strings.Contains(q, "and after that build, with -v") {
		t.Errorf("the word is not heard:\n%s", q)
	}
	p.idle()
	if text := h.disk("ok"); text != "made\n" {
		t.Errorf("the command has made %q", text)
	}
	strictly(t, h.model.asked())
}

// What waits for a word is held as long as no word comes, and nothing behind it begins.
func TestReportWhatWaitsIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "a"})
		h.model.will(work(slices.Concat(announces("write it so", "notable"), writes("b.txt", "b"), []string{"read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`})...))
		p := h.client()
		id := p.start(params{"autonomy": "close"}).ID
		p.untilHas(protocol.NoteDecision, `"open"`)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		s := p.session(id)
		if _, err := os.Stat(h.dir + "/b.txt"); err == nil || len(h.model.asked()) != 1 || s.Decisions[0].Status != protocol.DecisionOpen {
			t.Errorf("after a day without a word: %v, asked %d times, the decision is %s", err, len(h.model.asked()), s.Decisions[0].Status)
		}
		held := slices.IndexFunc(p.operations(id), func(o protocol.Operation) bool { return o.ID == s.Decisions[0].Holds[0] })
		if op := p.operations(id)[held]; op.Status != protocol.OpQueued || op.Tool != "write_file" {
			t.Errorf("what it holds is %+v", op)
		}
	})
}

// Of three words for later one is taken back and one said anew; the first and the new one are
// heard, in order, and nothing was stopped.
func TestReportOneOfThreeIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work(), later(says("So far.")), does(plans("s1 active Work and more")...), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		h.model.question(1)
		say := func(text string) string {
			var r protocol.SteerResult
			p.ok(protocol.MethodSteer, at(id, "text", text, "when", "idle"), &r)
			if len(r.Cancelled) > 0 {
				t.Errorf("«%s» has cancelled %q", text, r.Cancelled)
			}
			return r.SteerID
		}
		say("word one")
		second, third := say("word two"), say("word three")
		for _, steer := range []string{second, third} {
			var r protocol.WithdrawResult
			p.ok(protocol.MethodWithdraw, at(id, "steerId", steer), &r)
			if !r.Withdrawn {
				t.Errorf("%s is not taken back", steer)
			}
		}
		say("word new")
		q := h.model.last(2)
		one, anew := strings.Index(q, "word one"), strings.Index(q, "word new")
		if one < 0 || anew < one || strings.Contains(q, "word two") || strings.Contains(q, "word three") {
			t.Errorf("the agent hears: %s", q)
		}
		p.idle()
		var late protocol.WithdrawResult
		p.ok(protocol.MethodWithdraw, at(id, "steerId", "t1"), &late)
		if last := h.model.question(3); late.Withdrawn || strings.Contains(last, "word two") || strings.Contains(last, "word three") {
			t.Errorf("taken back when it was heard: %v; the last question:\n%s", late.Withdrawn, last)
		}
	})
}

// A note on lines of a file waits for the end of the step, is heard with its place, and leaves the
// other steps as they are.
func TestReportANoteAtAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		all := []string{"s1 done One", "s2 done Two", "s3 active Three", "s4 pending Four"}
		ended := []string{"s1 done One", "s2 done Two", "s3 done Three", "s4 active Four"}
		h.model.will(does(plans(all...)...), later(does(plans(ended...)...)), does(plans(append(ended, "s5 pending Rename")...)...), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		h.model.question(1)
		where := params{"uri": h.uri("a.go"), "range": params{"start": params{"line": 9, "character": 0}, "end": params{"line": 11, "character": 0}}}
		p.ok(protocol.MethodSteer, at(id, "text", "rename this", "when", "stepEnd", "scope", params{"location": where}), nil)
		q := h.model.last(2)
		if !strings.Contains(q, `"done`) || !strings.Contains(q, "rename this") || !strings.Contains(q, "It is about a.go lines 10–12") {
			t.Errorf("the agent hears: %s", q)
		}
		changed := p.untilHas(protocol.NotePlanChanged, "Rename")
		var told protocol.PlanChangedParams
		if err := json.Unmarshal(changed.Params, &told); err != nil {
			t.Fatal(err)
		}
		if got := diffText(told.Diff); got != "=s1 =s2 =s3 =s4 +s5" {
			t.Errorf("the plan has become %s", got)
		}
	})
}

// A proposal that is turned down with words stays in the conversation, with what was done before
// it; the new plan says what it keeps, drops and adds, and why.
func TestReportAProposalIsSteered(t *testing.T) {
	h := newHouse(t, nil)
	h.model.will(
		does(slices.Concat(plans("s1 done Look", "s2 active Put it into pkg/a", "s3 pending Test it"), writes("seen.txt", "seen"),
			announces("it goes into pkg/a", "major"), writes("pkg/a/a.go", "package a"))...),
		does("update_plan", `{"intent":"I take pkg/b.","step":"s1","explanation":"pkg/b is where its users are","consequences":["pkg/a stays as it is"],"steps":[
			{"id":"s1","title":"Look","intent":"I do it.","status":"done"},{"id":"s3","title":"Test it","intent":"I do it.","status":"pending"},
			{"id":"s4","title":"Put it into pkg/b","intent":"I do it.","status":"active"}]}`),
		says("Done."))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteDecision, `"open"`)
	p.ok(protocol.MethodDecide, at(id, "decisionId", "d1", "reject", true, "text", "wrong module, use pkg/b"), nil)
	q := h.model.question(1)
	for _, has := range []string{"it goes into pkg/a", "Wrote seen.txt", "wrong module, use pkg/b", `{\"status\":\"cancelled\"`} {
		if !strings.Contains(q, has) {
			t.Errorf("%s is not in the question:\n%s", has, q)
		}
	}
	var told protocol.PlanChangedParams
	if err := json.Unmarshal(p.untilHas(protocol.NotePlanChanged, "pkg/b").Params, &told); err != nil {
		t.Fatal(err)
	}
	if got := diffText(told.Diff); got != "=s1 =s3 +s4 -s2" || len(told.Consequences) != 1 || told.Plan.Cause.Kind != protocol.CauseSteer {
		t.Errorf("the plan is told as %+v", told)
	}
	p.idle()
	if _, err := os.Stat(h.dir + "/pkg"); err == nil {
		t.Error("what was turned down was done")
	}
}

// A plain pause lets the present thought end and begins nothing of it. Where the developer then
// takes back the premise, what was thought on it is never done.
func TestReportAPauseWithAnotherPremise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		thought := sse{saying("I write the whole of it."), calling(0, "write_file", `{"intent":"I write.","step":"s1","path":"old.txt","content":"old"}`)}.whole("tool_calls")
		begun := sse{saying("First: ")}
		h.model.will(work(), reply{body: begun.hanging().body, slow: time.Minute, rest: thought.body},
			says("I see."), does(append(plans("s1 active Otherwise"), writes("new.txt", "new")...)...), says("Done."))
		h.model.first = atOnce // words are ephemeral: the client is there before them
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteText, "First: ")
		p.ok(protocol.MethodPause, at(id), nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(h.model.asked()); n != 2 {
			t.Errorf("in the pause the model was asked %d times more", n-2)
		}
		p.ok(protocol.MethodSteer, at(id, "text", "the premise has gone"), nil)
		if q := h.model.question(2); !strings.Contains(q, "First: I write the whole of it.") || !strings.Contains(q, `{\"status\":\"cancelled\"`) {
			t.Errorf("the thought is not whole, or its call not closed:\n%s", q)
		}
		synctest.Wait()
		for _, op := range p.operations(id) {
			if op.Effect == protocol.EffectWrite && op.Status != protocol.OpCancelled {
				t.Errorf("in the pause %s is %s", op.ID, op.Status)
			}
		}
		p.ok(protocol.MethodResume, at(id), nil)
		p.idle()
		if _, err := os.Stat(h.dir + "/old.txt"); err == nil || h.disk("new.txt") != "new" {
			t.Error("what was thought on the old premise was done")
		}
		strictly(t, h.model.asked())
	})
}

// What the developer edits in a pause is told with the first question after it, and no step that
// is done is done again.
func TestReportEditsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n"})
		edit := []string{"edit_file", `{"intent":"I edit.","step":"s1","path":"a.go","edits":[{"old":"one","new":"two"}]}`}
		read := []string{"read_file", `{"intent":"I read.","step":"s2","path":"a.go"}`}
		h.model.will(does(append(plans("s1 active One", "s2 pending Two"), edit...)...), later(does(append(plans("s1 done One", "s2 active Two"), read...)...)), says("Done."))
		e := h.edits("vim")
		e.opens(h.uri("a.go"), "one\n")
		id := e.start(params{}).ID
		h.model.question(1)
		e.ok(protocol.MethodPause, at(id), nil)
		e.types(h.uri("a.go"), "two", "two, and mine")
		time.Sleep(time.Hour)
		e.ok(protocol.MethodResume, at(id), nil)
		q := h.model.last(2)
		if !strings.Contains(q, "[edited] The text of a.go was changed in vim") || !strings.Contains(q, "two, and mine") {
			t.Errorf("after the pause the agent is told: %s", q)
		}
		e.idle()
		if s := e.session(id); s.Plan.Steps[0].Status != protocol.StepDone || len(h.model.asked()) != 3 {
			t.Errorf("the plan is %s, asked %d times", stepsText(*s.Plan), len(h.model.asked()))
		}
	})
}

// In an hour's pause nothing runs out: what waits for a word waits on, what the pause holds stays
// held though its window has closed, and both can be answered.
func TestReportAPauseOfAnHour(t *testing.T) {
	for _, level := range []string{"close", "balanced"} {
		t.Run(level, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.model.will(work(slices.Concat(announces("write it so", "major"), writes("b.txt", "b"))...),
					says("I see."), does(plans("s1 active Otherwise")...), says("Done."))
				p := h.client()
				id := p.start(params{"autonomy": level}).ID
				p.untilHas(protocol.NoteDecision, `"open"`)
				p.ok(protocol.MethodPause, at(id), nil)
				time.Sleep(time.Hour)
				synctest.Wait()
				s := p.session(id)
				if s.Mode != protocol.Paused || len(h.model.asked()) != 1 || level == "close" && s.Decisions[0].Status != protocol.DecisionOpen {
					t.Errorf("after an hour the session is %s, the decision %s, asked %d times", s.Mode, s.Decisions[0].Status, len(h.model.asked()))
				}
				p.ok(protocol.MethodDecide, at(id, "decisionId", "d1", "option", "b"), nil)
				p.ok(protocol.MethodResume, at(id), nil)
				p.idle()
				if _, err := os.Stat(h.dir + "/b.txt"); err == nil {
					t.Error("what was answered with no was done")
				}
			})
		})
	}
}

// states are the states in which a session can be, each with the way there.
var states = map[string]struct {
	replies []reply
	reach   func(h *house, p *peer, id string)
}{
	"the first byte is awaited": {[]reply{work(), {hangs: true}}, func(h *house, p *peer, id string) { h.model.question(1) }},
	"words stream": {[]reply{work(runs("until [ -e go ]; do sleep 0.02; done")...), sse{saying("hm")}.hanging()}, func(h *house, p *peer, id string) {
		p.runs("-e go") // words are ephemeral: the client is there before them
		write(p.t, h.dir, map[string]string{"go": ""})
		p.untilHas(protocol.NoteText, "hm")
	}},
	"a command runs": {[]reply{work(runs("echo begun > begun.txt; until [ -e go ]; do sleep 0.02; done")...)}, func(h *house, p *peer, id string) {
		p.runs("begun.txt")
	}},
	"a decision waits": {[]reply{work(slices.Concat(announces("so", "major"), writes("b.txt", "b"))...)}, func(h *house, p *peer, id string) {
		p.untilHas(protocol.NoteDecision, `"open"`)
	}},
	"leave is awaited": {[]reply{work("read_file", `{"intent":"I read.","step":"s1","path":".env"}`)}, func(h *house, p *peer, id string) { p.asksLeave(id) }},
	"a refusal waits for its time": {[]reply{work(), {status: 429, after: time.Second, body: `{"error":{"message":"slow down"}}`}}, func(h *house, p *peer, id string) {
		p.untilHas(protocol.NoteModeChanged, "slow down")
	}},
	"it is paused": {[]reply{work(), {hangs: true}}, func(h *house, p *peer, id string) {
		h.model.question(1)
		p.ok(protocol.MethodPause, at(id, "reason", "look"), nil)
		h.model.question(2)
	}},
	"the agent has handed over": {[]reply{work(), says("Your turn.")}, func(h *house, p *peer, id string) { p.idle() }},
	"it is done": {[]reply{work("finish", `{"intent":"I end it.","step":"s1","summary":"done"}`)}, func(h *house, p *peer, id string) {
		p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	}},
}

// A word is taken whatever the session does, and stands in the next question once. (A compaction
// takes no time in which one could come.)
func TestReportASteerInEveryState(t *testing.T) {
	needsShell(t)
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.model.will(state.replies...)
			p := h.client()
			id := p.start(params{}).ID
			state.reach(h, p, id)
			before := len(h.model.asked())
			var r protocol.SteerResult
			p.ok(protocol.MethodSteer, at(id, "text", "the new word"), &r)
			if q := h.model.question(before); strings.Count(q, "the new word") != 1 {
				t.Errorf("the next question has it %d times:\n%s", strings.Count(q, "the new word"), q)
			}
			strictly(t, h.model.asked())
		})
	}
}

// What a steer cancels depends on its moment and its scope, and the receipt names all of it.
func TestReportTheReceiptNamesWhatEnds(t *testing.T) {
	needsShell(t)
	for name, c := range map[string]struct {
		with      []any
		cancelled []string // by tool
	}{
		"now":         {with: nil, cancelled: []string{"write_file"}},
		"now, scoped": {with: []any{"scope", params{"stepId": "s1"}}, cancelled: []string{"run_command", "write_file"}},
		"step end":    {with: []any{"when", "stepEnd"}},
		"idle":        {with: []any{"when", "idle"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.model.will(work(slices.Concat(runs(endless), writes("b.txt", "b"))...))
			p := h.client()
			id := p.start(params{}).ID
			p.runs("begun.txt")
			tools := map[string]string{}
			for _, op := range p.operations(id) {
				tools[op.ID] = op.Tool
			}
			var r protocol.SteerResult
			p.ok(protocol.MethodSteer, at(id, append([]any{"text", "otherwise"}, c.with...)...), &r)
			var got []string
			for _, id := range r.Cancelled {
				got = append(got, tools[id])
			}
			if !slices.Equal(got, c.cancelled) {
				t.Errorf("the receipt names %q as cancelled, want %q", got, c.cancelled)
			}
			for _, id := range r.Cancelled {
				if tools[id] == "run_command" {
					p.reachesFromStart("begun.txt", protocol.OpCancelled)
				}
			}
			for _, op := range p.operations(id) {
				ended := op.Status == protocol.OpCancelled
				if op.Kind == protocol.Tool && ended != slices.Contains(r.Cancelled, op.ID) {
					t.Errorf("%s is %s, the receipt names %q", op.Tool, op.Status, r.Cancelled)
				}
			}
		})
	}
}

// A path of five steps turns out wrong at the second. What was done stays done and is not done
// again; the session is the same, and ends where the developer wanted it.
func TestReportAWrongPathIsLeft(t *testing.T) {
	needsShell(t)
	h := newHouse(t, nil)
	mark := func(step, text string) []string {
		return []string{"run_command", fmt.Sprintf(`{"intent":"I do it.","step":%q,"command":"echo %s >> effects.log"}`, step, text)}
	}
	h.model.will(
		does(slices.Concat(plans("s1 active One", "s2 pending Two", "s3 pending Three", "s4 pending Four", "s5 pending Five"), mark("s1", "one"))...),
		does(slices.Concat(plans("s1 done One", "s2 active Two", "s3 pending Three", "s4 pending Four", "s5 pending Five"), mark("s2", "two"))...),
		sse{saying("Now the third")}.hanging(),
		does(slices.Concat(plans("s1 done One", "s2 done Two", "s6 active Six"), mark("s6", "six"))...),
		does("finish", `{"intent":"I end it.","step":"s6","summary":"done"}`))
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteText, "Now the third")
	p.ok(protocol.MethodSteer, at(id, "text", "not that way: six"), nil)
	p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	if text := h.disk("effects.log"); text != "one\ntwo\nsix\n" {
		t.Errorf("the effects are %q", text)
	}
	if got := h.only(p); got != id {
		t.Errorf("the session is %s, it was %s", got, id)
	}
	strictly(t, h.model.asked())
}
