package agent

import (
	"slices"
	"strings"
	"testing"

	"tandem/protocol"
)

// played is a session in which a model has given answers, each with its calls.
func played(t *testing.T, level protocol.Autonomy, replies ...[]ModelCall) *world {
	t.Helper()
	w := newWorld()
	post(t, w, Start{ID: "x", Workspace: "file:///w", Task: "Do it\nwell", Autonomy: level, Trusted: true,
		Context:      []protocol.Location{{URI: "file:///w/dir%20a/b.go", Range: &protocol.Range{Start: protocol.Position{Line: 4}, End: protocol.Position{Line: 6}}}},
		Instructions: []Instruction{{Path: "AGENTS.md", Text: "Be brief."}}})
	for _, calls := range replies {
		post(t, w, Replied{Question: w.state.Question.ID, Calls: calls})
	}
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
	return w
}

func call(tool, arguments string) ModelCall { return ModelCall{Name: tool, Arguments: arguments} }

func titles(actions []protocol.Action) string {
	var out []string
	for _, a := range actions {
		title := a.Title
		if a.Ask != nil {
			title += "(" + a.Ask.Param + ")"
		}
		if a.Kind != "" {
			title += "!" + string(a.Kind)
		}
		out = append(out, title)
	}
	return strings.Join(out, ", ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// What can be done with an entity comes with it, as the protocol promises.
func TestActions(t *testing.T) {
	plan := call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"One","status":"active"}]}`)
	w := played(t, protocol.Close, []ModelCall{plan}, []ModelCall{
		call(toolRunCommand, `{"command":"serve","background":true}`),
		call(toolAnnounce, `{"summary":"JSON","alternatives":["CSV"],"significance":"major","path":"dir a/b.go","line":7}`)})
	v := w.state.View(w.now)
	expect(t, "title", v.Title, "Do it")
	expect(t, "session", titles(v.Actions), "Steer…(text)!primary, Pause, Check in, End the session!danger")
	expect(t, "step", titles(v.Plan.Steps[0].Actions), "Steer this step…(text)")
	expect(t, "decision", titles(v.Decisions[0].Actions), "Keep!primary, Take CSV, Say otherwise…(text)")
	expect(t, "place", v.Decisions[0].Location.URI, "file:///w/dir%20a/b.go")
	if l := v.Decisions[0].Location.Range.Start.Line; l != 6 {
		t.Errorf("line 7 of the model is line %d on the wire", l)
	}
	running := v.Operations[slices.IndexFunc(v.Operations, func(o protocol.Operation) bool { return o.Status == protocol.OpRunning && o.Kind == protocol.Tool })]
	expect(t, "running command", titles(running.Actions), "End this command…(text)!danger")
	if p := running.Actions[0].Params; p.Scope.OperationID != running.ID || p.SessionID != "x" {
		t.Errorf("the action that ends a command has the params %+v", p)
	}
	post(t, w, Decide{Decision: "d1", Option: "a1"})
	expect(t, "overridden decision", titles(w.state.View(w.now).Decisions[0].Actions), "")
	post(t, w, End{})
	v = w.state.View(w.now)
	expect(t, "ended session", titles(v.Actions)+titles(v.Plan.Steps[0].Actions), "")
}

func TestActionsOfPausesAndQuestions(t *testing.T) {
	plan := call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"One","status":"active"}]}`)
	w := played(t, "", []ModelCall{plan, call(toolCallPause, `{"intent":"Odd.","facts":["f"],"options":[{"title":"This","touches":["code","business_rule","nonsense"],"files":["a.go"]}]}`)})
	v := w.state.View(w.now)
	expect(t, "paused session", titles(v.Actions), "Steer…(text)!primary, Resume!primary, Check in, End the session!danger")
	expect(t, "pause", titles(v.Pause.Actions), "Take: This, Say what shall change…(text), Resume!primary")
	expect(t, "option's file", v.Pause.Options[0].Files[0], "file:///w/a.go")
	if got := v.Pause.Options[0].Touches; !slices.Equal(got, []protocol.Touch{protocol.TouchCode, protocol.TouchBusinessRule}) {
		t.Errorf("the option touches %v", got)
	}
	w = played(t, "", []ModelCall{plan, call(toolAskDeveloper, `{"questions":[{"text":"Which?","options":["a","b"]},{"text":" "},"Why?"]}`)})
	v = w.state.View(w.now)
	if len(v.Questions) != 2 {
		t.Fatalf("the questions are %+v", v.Questions)
	}
	expect(t, "question", titles(v.Questions[0].Actions), "a, b, Answer in my words…(text)")
	post(t, w, Decide{Question: "q2", Text: "because"})
	if w.state.Mode != protocol.Waiting {
		t.Error("one of two answers set the work going")
	}
	post(t, w, Decide{Question: "q1", Option: "a"})
	if w.state.Question == nil {
		t.Error("both answers are there, and the model is not asked")
	}
}

// The task's words bear where it points and what the workspace says, as data.
func TestTaskWords(t *testing.T) {
	w := played(t, "")
	task := heardText(texts(w.state.Conversation()))
	for _, want := range []string{"Do it\nwell", "It points at: dir a/b.go lines 5–7", "[instructions of the workspace, from AGENTS.md]\n| Be brief."} {
		if !strings.Contains(task, want) {
			t.Errorf("%q is not in %q", want, task)
		}
	}
}

func TestPlansOfOldRevisionsAreKept(t *testing.T) {
	w := played(t, "",
		[]ModelCall{call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"One","status":"active"}]}`)},
		[]ModelCall{call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"One","status":"done"}]}`)},
		[]ModelCall{call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"Two","status":"done"}]}`)})
	old, ok := w.state.PlanAt(1)
	if !ok || old.Steps[0].Title != "One" || old.Steps[0].Status != protocol.StepDone {
		t.Errorf("revision 1 is %+v %v", old, ok)
	}
	if now, ok := w.state.PlanAt(2); !ok || now.Steps[0].Title != "Two" {
		t.Errorf("revision 2 is %+v %v", now, ok)
	}
	for _, n := range []int{0, 3, -1} {
		if p, ok := w.state.PlanAt(n); ok {
			t.Errorf("there is a revision %d: %+v", n, p)
		}
	}
}

// Files that an operation changed are told with what became of each.
func TestChangedFiles(t *testing.T) {
	w := played(t, "", []ModelCall{call(toolUpdatePlan, `{"steps":[{"id":"s1","title":"One","status":"active"}]}`)}, []ModelCall{call(toolMoveFile, `{"from":"a b.go","to":"c.go"}`)})
	op := w.state.Open[0].Op
	expect(t, "target", op.Target, "a b.go → c.go")
	post(t, w, Outcome{Op: op.ID, Changes: []Change{{Path: "a b.go", Before: &Image{Digest: "1"}}, {Path: "c.go", After: &Image{Digest: "1"}}, {Path: "d.go", Before: &Image{}, After: &Image{}}}})
	i := slices.IndexFunc(w.notes, func(n string) bool { return strings.HasPrefix(n, protocol.NoteFilesChanged) })
	if i < 0 {
		t.Fatal("nobody was told of the files")
	}
	for _, want := range []string{`"uri":"file:///w/a%20b.go","change":"deleted"`, `"uri":"file:///w/c.go","change":"created"`, `"uri":"file:///w/d.go","change":"changed"`} {
		if !strings.Contains(w.notes[i], want) {
			t.Errorf("%s is not in %s", want, w.notes[i])
		}
	}
}

// A text is cut at whole runes, with what was cut said.
func TestClip(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, most := range []int{0, 1, 5, 199, 200, 201, 999, 1001, 1999, 2000, 3000} {
		got := clip(long, most)
		if strings.ToValidUTF8(got, "") != got {
			t.Errorf("clip at %d breaks a rune", most)
		}
		if (got == long) != (most >= len(long)) {
			t.Errorf("clip at %d gives %d bytes of %d", most, len(got), len(long))
		}
		if most >= 200 && most < len(long) && !strings.Contains(got, "bytes cut") || len(got) > most+60 {
			t.Errorf("clip at %d gives %d bytes: %s", most, len(got), got)
		}
	}
}

// Weak models give a list of one as the one, a number as an id, a title as the whole: it is
// understood; what cannot be is refused with a word on what is wrong.
func TestArgumentsOfWeakModels(t *testing.T) {
	rows := []struct{ tool, arguments, want string }{
		{toolUpdatePlan, `{"steps":[{"id":7,"title":"T","status":"in progress","files":"a.go","depends_on":[1,"2"],"verify":"make"}],"consequences":"more work"}`, "done"},
		{toolUpdatePlan, `{"steps":[{"id":"s1","title":"T","verify":{"command":""},"files":null}]}`, "done"},
		{toolUpdatePlan, `{"steps":[{"id":"s1","title":" "}]}`, "steps[0]: a step needs a title"},
		{toolUpdatePlan, `{"steps":[{"id":{},"title":"T"}]}`, "want a string, got {}"},
		{toolUpdatePlan, `{"steps":[{"id":"s1","title":"T","verify":7}]}`, `want {"command": …}, got 7`},
		{toolUpdatePlan, `{"steps":[{"id":"s1","title":"T","files":{"a":1}}]}`, "want a list of strings"},
		{toolCallPause, `{"facts":"one","options":["this"]}`, "Paused."},
		{toolCallPause, `{"facts":[]}`, "facts: say what was observed"},
		{toolAskDeveloper, `{"questions":[]}`, "questions: there is none"},
		{toolAskDeveloper, `{"questions":"Which?"}`, "questions: got a JSON string"},
		{toolAnnounce, `{"summary":"So","alternatives":["this",{"title":"that"}],"significance":"huge"}`, "announced and stands"},
		{toolStopCommand, `{"operation":12}`, `no command "12" runs`},
		{toolFinish, `{"summary":"done","evidence":["a","b"]}`, "Finished."},
		{toolFinish, `{"summary":["done"]}`, "summary: got a JSON array"},
	}
	for _, row := range rows {
		w := played(t, "", []ModelCall{call(row.tool, row.arguments)})
		ops := w.state.Ops()
		var said string
		for _, r := range w.records {
			for _, e := range r {
				if e, ok := e.(Returned); ok && e.Op == ops[len(ops)-1].Op.ID {
					said = e.Text
				}
			}
		}
		if !strings.Contains(said, row.want) {
			t.Errorf("%s %s: %s", row.tool, row.arguments, said)
		}
	}
}
