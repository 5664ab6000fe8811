package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent/workspace"
	"tandem/protocol"
)

const tenLines = "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n"

// edited is a session that is done: s1 edited a.txt and made new.txt, s2, which a steer led to,
// edited a.txt again.
func edited(t *testing.T) (h *house, p *peer, id, steer string) {
	t.Helper()
	h = newHouse(t, map[string]string{"a.txt": tenLines})
	h.model.will(
		does(append(plans("s1 active First"),
			"edit_file", `{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"line 3","new":"LINE 3"}]}`,
			"write_file", `{"intent":"I write.","step":"s1","path":"new.txt","content":"new\n"}`)...),
		sse{saying("hm")}.hanging(),
		does(append(plans("s1 done First", "s2 active Second"),
			"announce_decision", `{"intent":"I say it.","step":"s2","summary":"Shout","rationale":"louder","alternatives":[],"significance":"minor"}`,
			"edit_file", `{"intent":"I edit.","step":"s2","path":"a.txt","edits":[{"old":"line 8\n","new":"LINE 8\nLINE 8b\n"}]}`)...),
		does("finish", `{"intent":"It is done.","step":"","summary":"done"}`))
	p = h.client()
	id = p.start(params{"autonomy": "high"}).ID
	p.untilHas(protocol.NoteText, "hm")
	var steered protocol.SteerResult
	p.ok(protocol.MethodSteer, at(id, "text", "make line 8 loud"), &steered)
	p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	return h, p, id, steered.SteerID
}

// byHand is the developer's own edit on disk.
func (h *house) byHand(name, old, new string) {
	h.t.Helper()
	write(h.t, h.dir, map[string]string{name: strings.Replace(h.disk(name), old, new, 1)})
}

func (h *house) shown(r protocol.RevertResult) string {
	var out []string
	for _, f := range r.Files {
		out = append(out, strings.TrimPrefix(f.URI, fileURI(h.dir)+"/")+" "+f.Status)
	}
	slices.Sort(out)
	return strings.Join(append(out, r.Conflicts...), ", ")
}

func TestRevert(t *testing.T) {
	h, p, id, steer := edited(t)
	h.byHand("a.txt", "line 10", "mine 10")
	before, seq := h.disk("a.txt"), p.session(id).Seq

	var r protocol.RevertResult
	p.ok(protocol.MethodRevert, at(id, "stepId", "s1", "dryRun", true), &r)
	if got := h.shown(r); got != "a.txt restored, new.txt deleted" {
		t.Errorf("the dry run says %q", got)
	}
	if h.disk("a.txt") != before || h.disk("new.txt") != "new\n" || p.session(id).Seq != seq {
		t.Error("the dry run changed something")
	}

	p.ok(protocol.MethodRevert, at(id, "stepId", "s1", "clientId", "c", "requestKey", "k"), &r)
	if got := h.shown(r); got != "a.txt restored, new.txt deleted" {
		t.Errorf("it says %q", got)
	}
	changed := p.untilHas(protocol.NoteFilesChanged, "new.txt")
	op := p.untilHas(protocol.NoteProgress, `"tool":"revert"`)
	if !strings.Contains(string(changed.Params), `"change":"deleted"`) || !strings.Contains(string(op.Params), `"effect":"write"`) {
		t.Errorf("clients are told %s, %s", changed.Params, op.Params)
	}
	after := strings.Replace(before, "LINE 3", "line 3", 1)
	if h.disk("a.txt") != after {
		t.Errorf("a.txt is %q", h.disk("a.txt"))
	}
	h.byHand("a.txt", "line 1\n", "mine 1\n")
	var again protocol.RevertResult
	p.ok(protocol.MethodRevert, at(id, "stepId", "s1", "clientId", "c", "requestKey", "k"), &again)
	if h.shown(again) != h.shown(r) {
		t.Errorf("the same request again is answered %q", h.shown(again))
	}
	p.refused(protocol.MethodRevert, at(id, "stepId", "s1", "clientId", "c", "requestKey", "k2", "steerId", steer), -32602, protocol.InvalidParams, "stepId")

	h.byHand("a.txt", "LINE 8\n", "my own 8\n")
	p.ok(protocol.MethodRevert, at(id, "steerId", steer), &r)
	if got := h.shown(r); !strings.HasPrefix(got, "a.txt conflict, a.txt: ") || !strings.Contains(h.disk("a.txt"), "my own 8\nLINE 8b\n") {
		t.Errorf("the clash is told as %q, a.txt %q", got, h.disk("a.txt"))
	}
	h.byHand("a.txt", "my own 8\n", "LINE 8\n")
	p.ok(protocol.MethodRevert, at(id, "steerId", steer), &r)
	if got := h.shown(r); got != "a.txt restored" || !strings.Contains(h.disk("a.txt"), "line 7\nline 8\nline 9\n") {
		t.Errorf("tried again it says %q, a.txt %q", got, h.disk("a.txt"))
	}
	p.ok(protocol.MethodRevert, at(id, "steerId", steer), &r)
	if len(r.Files)+len(r.Conflicts) != 0 {
		t.Errorf("with nothing left it says %q", h.shown(r))
	}
}

// revertOf is the action of a step or an operation that takes it back.
func revertOf(actions []protocol.Action) *protocol.Action {
	i := slices.IndexFunc(actions, func(a protocol.Action) bool { return a.Method == protocol.MethodRevert })
	if i < 0 {
		return nil
	}
	return &actions[i]
}

func TestRevertByItsAction(t *testing.T) {
	h, p, id, _ := edited(t)
	whole := func() protocol.Session {
		var r protocol.SessionResult
		p.ok(protocol.MethodAttach, at(id), &r)
		return r.Session
	}
	steps := whole().Plan.Steps
	first, second := revertOf(steps[0].Actions), revertOf(steps[1].Actions)
	if first == nil || second == nil || first.Kind != protocol.Danger {
		t.Fatalf("the steps can %+v and %+v", first, second)
	}
	var r protocol.RevertResult
	p.ok(first.Method, first.Params, &r)
	if h.shown(r) != "a.txt restored, new.txt deleted" {
		t.Errorf("sent back it says %q", h.shown(r))
	}
	p.untilHas(protocol.NotePlanChanged, `"stepId":"s2"`)
	now := whole()
	if revertOf(now.Plan.Steps[0].Actions) != nil || revertOf(now.Plan.Steps[1].Actions) == nil {
		t.Errorf("afterwards the steps can %+v and %+v", now.Plan.Steps[0].Actions, now.Plan.Steps[1].Actions)
	}
	for _, op := range now.Operations {
		action := revertOf(op.Actions)
		if can := op.Tool == "revert" || op.StepID == "s2" && op.Tool == "edit_file"; can != (action != nil) {
			t.Errorf("%s %s of %s can %+v", op.ID, op.Tool, op.StepID, op.Actions)
		}
		if op.Tool == "revert" {
			p.ok(action.Method, action.Params, &r)
		}
	}
	if h.shown(r) != "a.txt restored, new.txt created" || h.disk("new.txt") != "new\n" || !strings.Contains(h.disk("a.txt"), "LINE 3\n") {
		t.Errorf("the revert taken back is %q, a.txt %q", h.shown(r), h.disk("a.txt"))
	}
	if revertOf(whole().Plan.Steps[0].Actions) == nil {
		t.Error("the step that stands again cannot be taken back")
	}
}

func TestRevertRefusals(t *testing.T) {
	h, p, id, steer := edited(t)
	for _, dry := range []bool{false, true} {
		for _, test := range []struct {
			params params
			code   int
			kind   protocol.ErrorKind
			says   string
		}{
			{at(id), -32602, protocol.InvalidParams, "stepId, operationId, steerId, session"},
			{at(id, "stepId", "s1", "operationId", "op0000002"), -32602, protocol.InvalidParams, "stepId, operationId, steerId, session"},
			{at(id, "stepId", "s1", "session", true), -32602, protocol.InvalidParams, "stepId, operationId, steerId, session"},
			{at(id, "stepId", "s9"), -32003, protocol.NoSuchEntity, `stepId: the plan never had a step "s9"`},
			{at(id, "operationId", "op0000099"), -32003, protocol.NoSuchEntity, "operationId"},
			{at(id, "steerId", steer+"0"), -32003, protocol.NoSuchEntity, "steerId"},
			{at("nobody", "stepId", "s1"), -32001, protocol.NoSuchSession, "nobody"},
			{at("", "stepId", "s1"), -32602, protocol.InvalidParams, "sessionId"},
		} {
			test.params["dryRun"] = dry
			p.refused(protocol.MethodRevert, test.params, test.code, test.kind, test.says)
		}
	}
	p.ok(protocol.MethodEnd, at(id), nil)
	p.refused(protocol.MethodRevert, at(id, "stepId", "s1"), -32002, protocol.WrongMode, "this session has ended")
	if !strings.Contains(h.disk("a.txt"), "LINE 3") {
		t.Error("a refused revert changed something")
	}
}

// After a restart the same can be taken back, and the agent is told when it is asked again.
func TestRevertAfterARestart(t *testing.T) {
	h, p, id, _ := edited(t)
	p.hangUp()
	h.again()
	p = h.client()
	var r protocol.RevertResult
	p.ok(protocol.MethodRevert, at(id, "operationId", "op0000003"), &r)
	if h.shown(r) != "a.txt restored" {
		t.Errorf("it says %q", h.shown(r))
	}
	h.model.will(does("finish", `{"intent":"It is done.","step":"","summary":"done"}`))
	asked := len(h.model.asked())
	p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
	if told := h.model.question(asked); !strings.Contains(told, "The developer took back operation op0000003") || !strings.Contains(told, "a.txt: restored") {
		t.Errorf("the agent is told %s", told)
	}
}

// All of a session is taken back at once, and stands again when that is.
func TestRevertOfTheWholeSession(t *testing.T) {
	h, p, id, _ := edited(t)
	h.byHand("a.txt", "line 10", "mine 10")
	before := h.disk("a.txt")
	var r protocol.RevertResult
	p.ok(protocol.MethodRevert, at(id, "session", true, "dryRun", true), &r)
	if h.shown(r) != "a.txt restored, new.txt deleted" || h.disk("a.txt") != before {
		t.Errorf("the dry run says %q", h.shown(r))
	}
	p.ok(protocol.MethodRevert, at(id, "session", true), &r)
	if want := strings.Replace(tenLines, "line 10", "mine 10", 1); h.shown(r) != "a.txt restored, new.txt deleted" || h.disk("a.txt") != want {
		t.Errorf("it says %q, a.txt is %q", h.shown(r), h.disk("a.txt"))
	}
	var attached protocol.SessionResult
	p.ok(protocol.MethodAttach, at(id), &attached)
	for _, step := range attached.Session.Plan.Steps {
		if revertOf(step.Actions) != nil {
			t.Errorf("step %s can be taken back again", step.ID)
		}
	}
	p.ok(protocol.MethodRevert, at(id, "session", true), &r)
	if len(r.Files)+len(r.Conflicts) > 0 {
		t.Errorf("once more it takes back %q", h.shown(r))
	}
	ops := attached.Session.Operations
	p.ok(protocol.MethodRevert, at(id, "operationId", ops[slices.IndexFunc(ops, func(o protocol.Operation) bool { return o.Tool == "revert" })].ID), &r)
	if h.disk("a.txt") != before || h.disk("new.txt") != "new\n" {
		t.Errorf("taken back itself it says %q, a.txt is %q", h.shown(r), h.disk("a.txt"))
	}
}

// At the daemon's end contents go that no session names; what a session of any age can take back stays.
func TestTheStoreIsPrunedAtTheEnd(t *testing.T) {
	h, p, id, _ := edited(t)
	old := time.Now().Add(-90 * 24 * time.Hour)
	digest := workspace.Digest([]byte("nobody's"))
	write(t, h.store(h.dir), map[string]string{digest[:2] + "/" + digest[2:]: "nobody's"})
	err := filepath.WalkDir(h.folder(h.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	p.hangUp()
	h.again()
	if _, err := os.Stat(filepath.Join(h.store(h.dir), digest[:2], digest[2:])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what nobody names is there: %v", err)
	}
	var r protocol.RevertResult
	h.client().ok(protocol.MethodRevert, at(id, "session", true), &r)
	if h.shown(r) != "a.txt restored, new.txt deleted" || h.disk("a.txt") != tenLines {
		t.Errorf("it says %q", h.shown(r))
	}
}

// What commands change in a folder that git ignores is taken back where the configuration says so, and
// said to be unknown nowhere else.
func TestRevertOfIgnoredFoldersByChoice(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		files := map[string]string{".gitignore": "out/\n", "out/report": "before\n", "a": "before\n"}
		if chosen {
			files[".tandem/config.yaml"] = "checkpoints: {also: [out]}\n"
		}
		h := newHouse(t, files)
		h.model.will(does(append(plans("s1 active First"),
			"run_command", `{"intent":"I run.","step":"s1","command":"echo after > out/report; echo after > a"}`)...),
			does("finish", `{"intent":"It is done.","step":"","summary":"done"}`))
		p := h.client()
		id := p.start(params{"autonomy": "high"}).ID
		p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
		var r protocol.RevertResult
		p.ok(protocol.MethodRevert, at(id, "session", true), &r)
		want := map[bool]string{false: "after\n", true: "before\n"}[chosen]
		if h.disk("out/report") != want || h.disk("a") != "before\n" {
			t.Errorf("chosen %t: %q, the report is %q", chosen, h.shown(r), h.disk("out/report"))
		}
	}
}
