package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

type params = map[string]any

// at adds fields to the params of a session's request.
func at(id string, pairs ...any) params {
	p := params{"sessionId": id}
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i].(string)] = pairs[i+1]
	}
	return p
}

func TestInitialize(t *testing.T) {
	h := newHouse(t, nil)
	r := h.guest().initialize(h.dir, true)
	if r.Capabilities.Experimental.Tandem.Version != protocol.Version || r.ServerInfo.Name != "tandem" {
		t.Errorf("it answers %+v", r)
	}
	for _, root := range []string{"untitled:x", "file:///no/such/folder", "http://host/x"} {
		h.guest().refused(protocol.LSPInitialize, params{"rootUri": root, "capabilities": params{}}, -32602, protocol.InvalidParams, "rootUri")
	}
	h.guest().ok(protocol.LSPInitialize, params{"rootUri": nil, "capabilities": params{}}, nil)
}

// asking is a session with a plan of two steps and an open question.
func asking(t *testing.T) (*house, *peer, protocol.Session) {
	t.Helper()
	h := newHouse(t, map[string]string{"a.txt": "one\n"})
	h.model.will(
		does(append(plans("s1 active First", "s2 pending Second"),
			"ask_developer", `{"intent":"I ask.","step":"s1","questions":[{"text":"Which name?","options":["left","right"]}]}`)...),
		sse{saying("hm")}.hanging())
	p := h.client()
	s := p.start(params{"task": "work\nand more"})
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	return h, p, s
}

func TestStartDecideSteerWithdraw(t *testing.T) {
	h, p, s := asking(t)
	if s.Title != "work" || s.Model != "scripted" || s.Workspace != fileURI(h.dir) || s.Autonomy != protocol.Balanced || s.Seq == 0 {
		t.Errorf("started as %+v", s)
	}
	var decided protocol.SessionResult
	p.ok(protocol.MethodDecide, at(s.ID, "questionId", "q1", "option", "left"), &decided)
	if decided.Session.Mode != protocol.Executing || len(decided.Session.Questions) != 0 {
		t.Errorf("after the answer: %s, %+v", decided.Session.Mode, decided.Session.Questions)
	}
	p.untilHas(protocol.NoteText, "hm")

	var steered protocol.SteerResult
	p.ok(protocol.MethodSteer, at(s.ID, "text", "call it right", "when", "idle", "seenSeq", 0), &steered)
	if steered.SteerID == "" || steered.Seq <= s.Seq {
		t.Errorf("the receipt is %+v", steered)
	}
	var withdrawn protocol.WithdrawResult
	p.ok(protocol.MethodWithdraw, at(s.ID, "steerId", steered.SteerID), &withdrawn)
	if !withdrawn.Withdrawn {
		t.Error("the steer was not withdrawn")
	}
	p.ok(protocol.MethodWithdraw, at(s.ID, "steerId", steered.SteerID), &withdrawn)
	if withdrawn.Withdrawn {
		t.Error("it was withdrawn twice")
	}
}

func TestPlanAndReplan(t *testing.T) {
	h, p, s := asking(t)
	var plan protocol.PlanResult
	p.ok(protocol.MethodPlan, at(s.ID), &plan)
	if plan.Plan == nil || len(plan.Plan.Steps) != 2 {
		t.Fatalf("the plan is %+v", plan.Plan)
	}
	var replanned protocol.ReplanResult
	p.ok(protocol.MethodReplan, at(s.ID, "baseRevision", 1, "reason", "no need", "edits", []params{
		{"op": "drop", "stepId": "s2"}, {"op": "add", "step": params{"title": "Third", "files": []string{fileURI(h.dir) + "/a.txt"}}}}), &replanned)
	if replanned.Plan.Revision != 2 || !slices.Equal(replanned.Diff.Dropped, []string{"s2"}) || len(replanned.Diff.Added) != 1 {
		t.Errorf("replanned to %+v", replanned)
	}
	third := slices.IndexFunc(replanned.Plan.Steps, func(s protocol.Step) bool { return s.Title == "Third" })
	if files := replanned.Plan.Steps[third].Files; !slices.Equal(files, []string{fileURI(h.dir) + "/a.txt"}) {
		t.Errorf("the files of the new step are %q", files)
	}
	p.ok(protocol.MethodPlan, at(s.ID, "revision", 1), &plan)
	if plan.Plan.Revision != 1 || len(plan.Plan.Steps) != 2 {
		t.Errorf("the plan before is %+v", plan.Plan)
	}
	var none protocol.PlanResult
	p.ok(protocol.MethodPlan, at(p.start(params{}).ID), &none)
	if none.Plan != nil {
		t.Errorf("a session that has just begun has the plan %+v", none.Plan)
	}
}

func TestPauseResumeAutonomyHistoryEnd(t *testing.T) {
	_, p, s := asking(t)
	var paused protocol.PauseResult
	p.ok(protocol.MethodPause, at(s.ID), &paused)
	if paused.Pause.By != protocol.PausedByDeveloper || paused.Pause.ID == "" {
		t.Errorf("the pause is %+v", paused.Pause)
	}
	var resumed protocol.ResumeResult
	p.ok(protocol.MethodResume, at(s.ID), &resumed)
	if resumed.Session.Mode != protocol.Executing {
		t.Errorf("resumed to %s", resumed.Session.Mode)
	}
	var result protocol.SessionResult
	p.ok(protocol.MethodAutonomy, at(s.ID, "level", "close"), &result)
	if result.Session.Autonomy != protocol.Close {
		t.Errorf("the autonomy is %s", result.Session.Autonomy)
	}
	var history protocol.HistoryResult
	p.ok(protocol.MethodHistory, at(s.ID, "limit", 5), &history)
	if len(history.Events) != 5 || !history.More || history.Events[0].Kind != "started" {
		t.Errorf("the history begins %+v", history)
	}
	p.ok(protocol.MethodHistory, at(s.ID), &history)
	if history.More || history.Events[len(history.Events)-1].Kind != "autonomySet" {
		t.Errorf("the history is %d events, more %v", len(history.Events), history.More)
	}
	p.ok(protocol.MethodEnd, at(s.ID), &result)
	if result.Session.Mode != protocol.Done {
		t.Errorf("ended as %s", result.Session.Mode)
	}
	p.untilHas(protocol.NoteModeChanged, "ended by the developer")
	p.refused(protocol.MethodSteer, at(s.ID, "text", "go on"), -32002, protocol.WrongMode, "steer: this session has ended")
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, nil)
	h.model.will(work())
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NotePlanChanged, `"revision":1`)
	const (
		bad, noSession, mode, noEntity, stale = -32602, -32001, -32002, -32003, -32801
	)
	for _, r := range []struct {
		method string
		params any
		code   int
		kind   protocol.ErrorKind
		says   string
	}{
		{protocol.MethodStart, params{"task": " "}, bad, protocol.InvalidParams, "task"},
		{protocol.MethodStart, params{}, bad, protocol.InvalidParams, "task"},
		{protocol.MethodStart, params{"task": 7}, bad, protocol.InvalidParams, "task"},
		{protocol.MethodStart, params{"task": "t", "autonomy": "wild"}, bad, protocol.InvalidParams, "autonomy"},
		{protocol.MethodStart, params{"task": "t", "workspace": "untitled:1"}, bad, protocol.InvalidParams, "workspace"},
		{protocol.MethodStart, params{"task": "t", "workspace": "file:///no/such/folder"}, bad, protocol.InvalidParams, "workspace"},
		{protocol.MethodList, params{"workspace": "nowhere"}, bad, protocol.InvalidParams, "workspace"},
		{protocol.MethodAttach, at(id, "since", -1), bad, protocol.InvalidParams, "since"},
		{protocol.MethodAttach, at("no"), noSession, protocol.NoSuchSession, `"no"`},
		{protocol.MethodAttach, params{}, bad, protocol.InvalidParams, "sessionId"},
		{protocol.MethodAttach, at("../sessions/" + id), noSession, protocol.NoSuchSession, "sessionId"},
		{protocol.MethodAttach, at("*"), noSession, protocol.NoSuchSession, "sessionId"},
		{protocol.MethodDetach, at("no"), noSession, protocol.NoSuchSession, `"no"`},
		{protocol.MethodPlan, at(id, "revision", 9), noEntity, protocol.NoSuchEntity, "revision"},
		{protocol.MethodPlan, at(id, "revision", -1), noEntity, protocol.NoSuchEntity, "revision"},
		{protocol.MethodSteer, at(id), bad, protocol.InvalidParams, "text"},
		{protocol.MethodSteer, at(id, "text", "x", "when", "later"), bad, protocol.InvalidParams, "when"},
		{protocol.MethodSteer, at(id, "text", "x", "scope", params{"stepId": "s1", "decisionId": "d1"}), bad, protocol.InvalidParams, "scope"},
		{protocol.MethodSteer, at(id, "text", "x", "scope", params{"stepId": "s9"}), noEntity, protocol.NoSuchEntity, "scope.stepId"},
		{protocol.MethodSteer, at(id, "text", "x", "scope", params{"operationId": "op9"}), noEntity, protocol.NoSuchEntity, "scope.operationId"},
		{protocol.MethodWithdraw, at(id, "steerId", "st9"), noEntity, protocol.NoSuchEntity, "steerId"},
		{protocol.MethodReplan, at(id, "baseRevision", 7, "edits", []params{{"op": "drop", "stepId": "s1"}}), stale, protocol.StaleRevision, "7"},
		{protocol.MethodReplan, at(id, "baseRevision", 1, "edits", []params{{"op": "drop", "stepId": "s9"}}), noEntity, protocol.NoSuchEntity, "s9"},
		{protocol.MethodDecide, at(id), bad, protocol.InvalidParams, "pauseId"},
		{protocol.MethodDecide, at(id, "pauseId", "p9", "text", "x"), noEntity, protocol.NoSuchEntity, "pauseId"},
		{protocol.MethodDecide, at(id, "decisionId", "d9"), noEntity, protocol.NoSuchEntity, "decisionId"},
		{protocol.MethodDecide, at(id, "questionId", "q9", "text", "x"), noEntity, protocol.NoSuchEntity, "questionId"},
		{protocol.MethodResume, at(id), mode, protocol.WrongMode, "resume: the session is not paused"},
		{protocol.MethodAutonomy, at(id, "level", "wild"), bad, protocol.InvalidParams, "autonomy"},
		{protocol.MethodHistory, at(id, "since", -1), bad, protocol.InvalidParams, "since"},
		{protocol.MethodHistory, at(id, "limit", -1), bad, protocol.InvalidParams, "limit"},
	} {
		p.refused(r.method, r.params, r.code, r.kind, r.says)
	}
	a := p.call(protocol.MethodResume, at(id))
	if a.Error == nil || a.Error.Data.Mode != protocol.Executing {
		t.Errorf("data.mode of a wrong mode: %+v", a.Error)
	}
	if names := journalsIn(h.sessionsIn(h.dir)); len(names) != 1 {
		t.Errorf("refused starts left %q", names)
	}
}

// What this version does not offer is an unknown method, never an empty answer.
func TestMethodsThatAreNotThere(t *testing.T) {
	p := newHouse(t, nil).client()
	for _, m := range []string{"tandem/nothing", "textDocument/definition"} {
		p.refused(m, params{"sessionId": "s"}, -32601, "", m)
	}
}

func TestModelNotSet(t *testing.T) {
	for _, test := range []struct{ name, environ, says string }{
		{"no model", "TANDEM_MODEL=", "TANDEM_MODEL"},
		{"no server", "OPENAI_BASE_URL=", "OPENAI_API_KEY"},
		{"no address", "OPENAI_BASE_URL=localhost:1234", "OPENAI_BASE_URL"},
		{"a key that is none", "OPENAI_API_KEY=sk-\x01", "OPENAI_API_KEY"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, nil, test.environ)
			p := h.client()
			p.refused(protocol.MethodStart, params{"task": "work"}, -32004, protocol.ModelUnavailable, test.says)
			if names := journalsIn(h.sessionsIn(h.dir)); len(names) > 0 {
				t.Errorf("it left %q", names)
			}
		})
	}
	h := newHouse(t, nil, "TANDEM_MODEL=")
	if s := h.client().start(params{"model": "another"}); s.Model != "another" {
		t.Errorf("the request's own model became %q", s.Model)
	}
}

func TestConfigurationThatIsWrong(t *testing.T) {
	h := newHouse(t, map[string]string{".tandem/config.yaml": "autonomy: close\ntripwires: [{name: x}]\n"})
	a := h.client().call(protocol.MethodStart, params{"task": "work"})
	if a.Error == nil || !strings.Contains(a.Error.Message, "line 2") {
		t.Errorf("it answers %+v", a)
	}
}

// The result comes first, then the events from the first on; two clients see the same.
func TestStartsResultComesBeforeItsEvents(t *testing.T) {
	h := newHouse(t, map[string]string{"a.txt": "one\n"})
	h.model.will(work("read_file", `{"intent":"I look.","step":"s1","path":"a.txt"}`), says("Done."))
	p := h.client()
	s := p.start(params{})
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	p.mu.Lock()
	order := slices.Clone(p.order)
	p.mu.Unlock()
	if order[0] != "= 1" || order[1] != "= 2" || len(order) < 5 {
		t.Errorf("it came in the order %q", order)
	}
	other := h.client()
	other.ok(protocol.MethodAttach, at(s.ID, "since", 0), nil)
	p.ok(protocol.MethodSteer, at(s.ID, "text", "once more"), nil)
	other.untilHas(protocol.NoteSteered, "heard")
	p.untilHas(protocol.NoteSteered, "heard")
	p.ok(protocol.MethodPause, at(s.ID), nil)
	other.untilHas(protocol.NoteModeChanged, "paused")
	p.untilHas(protocol.NoteModeChanged, "paused")
	if mine, theirs := p.notes(), other.notes(); !slices.Equal(mine, theirs) {
		t.Errorf("one client got\n%q\nthe other\n%q", mine, theirs)
	}
	for i, note := range p.notes() {
		var e protocol.Event
		_, raw, _ := strings.Cut(note, " ")
		if err := json.Unmarshal([]byte(raw), &e); err != nil || e.SessionID != s.ID || e.Seq == 0 {
			t.Errorf("notification %d bears %+v, %v", i, e, err)
		}
	}
}

func TestAttachSince(t *testing.T) {
	h := newHouse(t, nil)
	h.model.will(work())
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NotePlanChanged, "s1")
	p.ok(protocol.MethodPause, at(id), nil)
	p.untilHas(protocol.NoteModeChanged, "paused")
	all := p.notes()
	for since := range int64(4) {
		c := h.client()
		var r protocol.SessionResult
		c.ok(protocol.MethodAttach, at(id, "since", since), &r)
		c.untilHas(protocol.NoteModeChanged, "paused")
		var want []string
		for _, note := range all {
			var e protocol.Event
			_, raw, _ := strings.Cut(note, " ")
			if err := json.Unmarshal([]byte(raw), &e); err != nil {
				t.Fatal(err)
			}
			if e.Seq > since {
				want = append(want, note)
			}
		}
		if got := c.notes(); !slices.Equal(got, want) || r.Session.Mode != protocol.Paused {
			t.Errorf("since %d: %s, %q", since, r.Session.Mode, got)
		}
	}
	c := h.client()
	c.ok(protocol.MethodAttach, at(id), nil)
	p.ok(protocol.MethodAutonomy, at(id, "level", "high"), nil)
	p.ok(protocol.MethodResume, at(id), nil)
	c.untilHas(protocol.NoteModeChanged, "executing")
	if got := c.notes(); len(got) != 1 {
		t.Errorf("without since: %q", got)
	}
	c.ok(protocol.MethodDetach, at(id), nil)
	p.ok(protocol.MethodPause, at(id), nil)
	c.ok(protocol.MethodList, params{}, nil)
	if got := c.notes(); len(got) != 1 {
		t.Errorf("detached it is told %q", got[1:])
	}
}

// A start that is repeated has the same answer, and what was told already is not told again.
func TestARepeatedStartTellsNothingTwice(t *testing.T) {
	h := newHouse(t, nil)
	h.model.will(work(), says("Done."))
	p := h.client()
	start := params{"clientId": "c", "requestKey": "k", "task": "work"}
	var first, again protocol.SessionResult
	p.ok(protocol.MethodStart, start, &first)
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	before := p.notes()
	p.ok(protocol.MethodStart, start, &again)
	p.ok(protocol.MethodPause, at(first.Session.ID), nil) // what the repetition led to is told before
	p.untilHas(protocol.NoteModeChanged, `"mode":"paused"`)
	if more := p.notes()[len(before):]; len(more) != 1 || again.Session.ID != first.Session.ID {
		t.Errorf("the repetition has told %q", more)
	}
	p.ok(protocol.MethodDetach, at(first.Session.ID), nil)
	p.ok(protocol.MethodStart, start, nil)
	p.ok(protocol.MethodEnd, at(first.Session.ID), nil)
	p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	if all := p.notes(); len(all) < 2*len(before) {
		t.Errorf("who has left and starts again is told %q", all[len(before):])
	}
}

func TestRequestKeys(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	keyed := func(key string, pairs ...any) params {
		q := params{"clientId": "c", "requestKey": key}
		for i := 0; i < len(pairs); i += 2 {
			q[pairs[i].(string)] = pairs[i+1]
		}
		return q
	}
	same := func(what string, a, b answer) {
		t.Helper()
		if a.Error != nil || string(a.Result) != string(b.Result) {
			t.Errorf("%s: first %s, then %s %+v", what, a.Result, b.Result, b.Error)
		}
	}
	start := keyed("k1", "task", "work")
	two := []int{p.send(protocol.MethodStart, start), p.send(protocol.MethodStart, start)}
	first := p.answer(two[0])
	same("two starts in flight", first, p.answer(two[1]))
	other := h.client()
	same("the start of another connection", first, other.call(protocol.MethodStart, start))
	var r protocol.SessionResult
	if err := json.Unmarshal(first.Result, &r); err != nil {
		t.Fatal(err)
	}
	id := r.Session.ID
	steer := keyed("k2", "sessionId", id, "text", "once")
	steers := []int{p.send(protocol.MethodSteer, steer), p.send(protocol.MethodSteer, steer)}
	steered := p.answer(steers[0])
	same("two steers in flight", steered, p.answer(steers[1]))
	pause := keyed("k3", "sessionId", id)
	paused := p.call(protocol.MethodPause, pause)
	same("pause", paused, p.call(protocol.MethodPause, pause))
	for _, method := range []string{protocol.MethodResume, protocol.MethodEnd, protocol.MethodPause, protocol.MethodWithdraw} {
		p.refused(method, keyed("k2", "sessionId", id, "steerId", "st1"), -32602, protocol.InvalidParams, "requestKey")
	}
	p.refused(protocol.MethodDecide, keyed("k2", "sessionId", id, "pauseId", "p1", "text", "x"), -32602, protocol.InvalidParams, "requestKey")
	p.refused(protocol.MethodReplan, keyed("k2", "sessionId", id, "baseRevision", 0), -32602, protocol.InvalidParams, "requestKey")
	p.refused(protocol.MethodSteer, keyed("k3", "sessionId", id, "text", "x"), -32602, protocol.InvalidParams, "requestKey")

	h.again()
	p = h.client()
	var again protocol.SessionResult
	p.ok(protocol.MethodStart, start, &again)
	if again.Session.ID != id || len(journalsIn(h.sessionsIn(h.dir))) != 1 {
		t.Errorf("after a restart the start led to %s, want %s", again.Session.ID, id)
	}
	same("the steer after a restart", steered, p.call(protocol.MethodSteer, steer))
	if key := requestKey(protocol.Request{ClientID: "c"}) + requestKey(protocol.Request{RequestKey: "k"}); key != "" {
		t.Errorf("half a key counts as %q", key)
	}
}

func TestListFromDiskAndRunning(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	var ids []string
	for i := range 3 {
		ids = append(ids, p.start(params{"task": fmt.Sprintf("task %d", i)}).ID)
	}
	elsewhere := t.TempDir()
	far := p.start(params{"task": "elsewhere", "workspace": fileURI(elsewhere)}).ID
	listed := func(workspace string) []string {
		t.Helper()
		q := params{}
		if workspace != "" {
			q["workspace"] = fileURI(workspace)
		}
		var r protocol.ListResult
		p.ok(protocol.MethodList, q, &r)
		var out []string
		for _, s := range r.Sessions {
			out = append(out, s.ID)
		}
		slices.Sort(out)
		return out
	}
	check := func() {
		t.Helper()
		all := append(slices.Clone(ids), far)
		slices.Sort(ids)
		slices.Sort(all)
		if got := listed(""); !slices.Equal(got, all) {
			t.Errorf("all are %q, want %q", got, all)
		}
		if got := listed(h.dir); !slices.Equal(got, ids) {
			t.Errorf("here are %q, want %q", got, ids)
		}
		if got := listed(elsewhere); !slices.Equal(got, []string{far}) {
			t.Errorf("elsewhere are %q, want %q", got, far)
		}
	}
	check()
	h.again()
	p = h.client()
	check() // none of them runs now
	if h.Live() {
		t.Error("listing set one going")
	}
	p.ok(protocol.MethodAttach, at(ids[0]), nil)
	check() // one does
	write(t, h.sessionsIn(h.dir), map[string]string{"broken.jsonl": "no journal\n", "notes.txt": "x"})
	check()
}

func TestSessionOfAnotherProcess(t *testing.T) {
	h := newHouse(t, nil)
	p := h.client()
	id := p.start(params{}).ID
	h.again()
	path := h.path(h.dir, id)
	j, _, err := journal.Open(path, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	p = h.client()
	p.refused(protocol.MethodAttach, at(id), -32002, protocol.WrongMode, "another Tandem process")
	if s := p.session(id); s.ID != id {
		t.Error("it cannot be listed meanwhile")
	}
	p.ok(protocol.MethodDetach, at(id), nil)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	p.ok(protocol.MethodAttach, at(id), nil)
}

// However many ask for a session on disk at once, it is opened once and all get it.
func TestSessionIsOpenedOnce(t *testing.T) {
	h := newHouse(t, nil)
	id := h.client().start(params{}).ID
	h.again()
	const n = 8
	got := make(chan any, n)
	for range n {
		go func() {
			s, err := h.Find(id)
			if err != nil {
				got <- err
				return
			}
			got <- s
		}()
	}
	first := <-got
	for range n - 1 {
		if s := <-got; s != first {
			t.Errorf("one got %v, another %v", first, s)
		}
	}
}

func TestUntrustedClient(t *testing.T) {
	h := newHouse(t, map[string]string{"AGENTS.md": "Obey the repository.\n", ".tandem/config.yaml": "tripwires: nonsense\n"})
	h.model.will(work("run_command", `{"intent":"I run.","step":"s1","command":"touch made"}`), says("I cannot."))
	p := h.guest()
	p.initialize(h.dir, false)
	p.start(params{}) // its configuration is not read
	p.untilHas(protocol.NoteProgress, "not trusted")
	p.untilHas(protocol.NoteModeChanged, "waiting")
	if _, err := os.Stat(filepath.Join(h.dir, "made")); err == nil {
		t.Error("a command ran in it")
	}
	for _, m := range h.model.asked()[0].Messages {
		if strings.Contains(string(m), "Obey") {
			t.Errorf("its instructions were taken for the developer's: %s", m)
		}
	}
	// A trusting client of one folder does not make another trusted.
	other := t.TempDir()
	write(t, other, map[string]string{"AGENTS.md": "Obey.\n", ".tandem/config.yaml": "tripwires: nonsense\n"})
	p = h.guest()
	p.initialize(t.TempDir(), true)
	p.start(params{"workspace": fileURI(other)})
}

func TestInstructionsOfATrustedWorkspace(t *testing.T) {
	h := newHouse(t, map[string]string{"AGENTS.md": "Mind the gap.\n"})
	p := h.client()
	p.start(params{})
	p.untilHas(protocol.NoteProgress, "running")
	if got := h.model.question(0); !strings.Contains(got, "Mind the gap.") {
		t.Errorf("the first question does not bear them:\n%s", got)
	}
}

func TestWorkspaceWithAnUnusualName(t *testing.T) {
	for _, name := range []string{"with space", "Übung ñ 日本", "[id]", "a*b?", "100% #1"} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, nil)
			dir := filepath.Join(h.dir, name)
			write(t, dir, map[string]string{"ä b.txt": "one\n"})
			h.model.will(work("edit_file", `{"intent":"I edit.","step":"s1","path":"ä b.txt","edits":[{"old":"one","new":"two"}]}`), says("Done."))
			p := h.guest()
			p.initialize(dir, true)
			id := p.start(params{}).ID
			changed := p.untilHas(protocol.NoteFilesChanged, "changed")
			var f protocol.FilesChangedParams
			if err := json.Unmarshal(changed.Params, &f); err != nil {
				t.Fatal(err)
			}
			if at, err := folderPath(f.Files[0].URI); err == nil || at != "" { // it is a file, not a folder
				t.Errorf("the URI %s names a folder", f.Files[0].URI)
			}
			p.untilHas(protocol.NoteModeChanged, "waiting")
			h.again()
			p = h.guest()
			p.initialize(dir, true)
			var r protocol.ListResult
			p.ok(protocol.MethodList, params{"workspace": fileURI(dir)}, &r)
			if len(r.Sessions) != 1 || r.Sessions[0].ID != id {
				t.Errorf("listed are %+v", r.Sessions)
			}
			p.ok(protocol.MethodAttach, at(id), nil)
		})
	}
}

// A session outlives its clients: it works on, and who comes back gets what they missed.
func TestSessionSurvivesItsClient(t *testing.T) {
	h := newHouse(t, map[string]string{"a.txt": "one\n"})
	p := h.client()
	s := p.start(params{})
	p.untilHas(protocol.NoteProgress, "running")
	p.hangUp()
	run, err := h.Find(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Post(t.Context(), "", agent.Steer{Text: "said meanwhile"}); err != nil {
		t.Fatal(err)
	}
	back := h.client()
	var r protocol.SessionResult
	back.ok(protocol.MethodAttach, at(s.ID, "since", s.Seq), &r)
	back.untilHas(protocol.NoteSteered, "said meanwhile")
	if r.Session.Mode != protocol.Executing {
		t.Errorf("without its client it is %s", r.Session.Mode)
	}
}

// A connection that ends follows nothing any more, whether it said who it is or not.
func TestLeavingEndsWhatIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, untold := observer.New(zap.DebugLevel)
		h := newHouse(t, nil)
		h.Registry.log = zap.New(log)
		p := h.client()
		id := p.start(params{}).ID
		for _, named := range []bool{true, false} {
			c := h.guest()
			if named {
				c.initialize(h.dir, true)
			}
			c.ok(protocol.MethodAttach, at(id), nil)
			c.ok(protocol.MethodAttach, at(id), nil)
			c.hangUp()
			synctest.Wait()
			p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
			if n := untold.Len(); n > 0 {
				t.Errorf("named %v: after it left: %v", named, untold.All()[0])
			}
		}
		p.ok(protocol.LSPShutdown, params{}, nil)
		p.send(protocol.LSPExit, params{})
		<-p.freed
	})
}
