package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/protocol"
)

// TestAnyOrder plays random sessions: a random model, random outcomes, a random developer,
// restarts and time, all driven by the work that the core lists. After each input every promise
// of world holds, and from where it stops a session of good will is finished.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t, world: newWorld()}
		level := rapid.SampledFrom([]protocol.Autonomy{protocol.Close, protocol.Balanced, protocol.High}).Draw(t, "autonomy")
		r.send(Start{ID: "x", Workspace: "file:///w", Task: "Do it", Autonomy: level, Trusted: !r.oneIn(8), Guards: r.guards(), By: "me"})
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			r.send(r.input())
		}
		r.finishes()
	})
}

// TestAnyCut restarts a random session after a random record; it can always be finished.
func TestAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t, world: newWorld()}
		r.send(Start{ID: "x", Workspace: "file:///w", Task: "Do it", Trusted: true, Guards: r.guards()})
		for range rapid.IntRange(1, 25).Draw(t, "inputs") {
			r.send(r.input())
		}
		n := rapid.IntRange(1, len(r.world.records)).Draw(t, "cut")
		r.world = replayed(r.world.records[:n], r.world.now)
		r.send(Reopened{})
		r.finishes()
	})
}

// TestAnyInput sends inputs that make no sense, with ids that may be anybody's: none panics.
func TestAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t, world: newWorld()}
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			if rapid.Bool().Draw(t, "sense") && r.world.state.Seq > 0 {
				r.send(r.input())
			} else {
				r.send(r.nonsense())
			}
		}
	})
}

// TestAnyGap replays journals in which records are missing: nothing panics, and the session can
// be shown, asked for its work and spoken to.
func TestAnyGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &random{T: t, world: newWorld()}
		r.send(Start{ID: "x", Workspace: "file:///w", Task: "Do it", Trusted: true, Guards: r.guards()})
		for range rapid.IntRange(1, 25).Draw(t, "inputs") {
			r.send(r.input())
		}
		var s State
		for _, record := range r.world.records {
			if rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
				continue
			}
			if rapid.IntRange(0, 3).Draw(t, "torn") == 0 {
				record = record[:rapid.IntRange(0, len(record)).Draw(t, "events")]
			}
			for _, e := range record {
				before := s
				s = s.Apply(e)
				if n, ok := s.Notify(before, e); ok {
					encode(n)
				}
			}
			encode(s.View(r.world.now))
			s.Work()
		}
		for _, in := range []Input{Reopened{}, Steer{Text: "hear me"}, Resume{}, TimePassed{}, End{}} {
			events, _ := s.Decide(At{Time: r.world.now, Input: in})
			for _, e := range events {
				s = s.Apply(e)
			}
			encode(s.View(r.world.now))
			s.Work()
		}
	})
}

// random draws inputs that fit the state of its world.
type random struct {
	*rapid.T
	world *world
	said  int // steers so far
}

func (r *random) oneIn(n int) bool { return rapid.IntRange(1, n).Draw(r.T, "one in") == 1 }

func (r *random) among(list ...string) string { return rapid.SampledFrom(list).Draw(r.T, "word") }

// send posts an input; nothing that was promised may break.
func (r *random) send(in Input) {
	r.world.partial = nil
	if q := r.world.state.Question; q != nil && rapid.Bool().Draw(r.T, "saying") {
		r.world.partial = []Partial{{Op: q.ID, Text: r.among("", "I was about", " ")}}
	}
	r.world.now = r.world.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(r.T, "seconds")) * time.Second)
	r.world.post(in)
	if len(r.world.faults) > 0 {
		r.Fatalf("%T %+v: %s", in, in, strings.Join(r.world.faults, "\n"))
	}
}

func (r *random) finishes() {
	if err := r.world.finish(400); err != nil {
		r.Fatal(err)
	}
	if err := r.world.check(); err != nil {
		r.Fatal(err)
	}
}

// input is the next thing that the world says: mostly an answer to work that is listed.
func (r *random) input() Input {
	s := r.world.state
	if r.oneIn(25) {
		by := time.Duration(rapid.SampledFrom([]int{-8760, -8, -1, 1, 8, 8760}).Draw(r.T, "hours")) * time.Hour
		r.world.now = r.world.now.Add(by)
		return ClockSet{By: by}
	}
	var waiting []Work
	for _, w := range s.Work() {
		if !w.Frozen || r.oneIn(4) {
			waiting = append(waiting, w)
		}
	}
	for _, c := range s.Open {
		if c.Stop != nil {
			waiting = append(waiting, Work{ID: c.Op.ID})
		}
	}
	if len(waiting) > 0 && !r.oneIn(3) {
		return r.report(rapid.SampledFrom(waiting).Draw(r.T, "work"))
	}
	return r.developer()
}

func (r *random) report(w Work) Input {
	if in := r.guarding(w); in != nil {
		return in
	}
	switch job := w.Job.(type) {
	case Ask:
		if r.oneIn(6) {
			why := rapid.SampledFrom([]Failure{FailBusy, FailCut, FailUnsupported, FailContext, FailFinal}).Draw(r.T, "why")
			return AskFailed{Question: w.ID, Why: why, Text: "no", Wait: time.Duration(rapid.IntRange(0, 5).Draw(r.T, "wait")) * time.Second}
		}
		if a, ok := r.world.state.aside(w.ID); ok && r.oneIn(2) {
			return asideReply(w.ID, a)
		}
		return r.answer(w.ID, job.Force)
	case Wait:
		if job.Until.After(r.world.now) {
			r.world.now = job.Until
		}
		return TimePassed{}
	}
	out := Outcome{Op: w.ID, Text: r.among("ok", "", "FAIL"), Failed: r.oneIn(4)}
	if needs := r.needs(w.Job); len(needs) > 0 {
		return Outcome{Op: w.ID, Needs: needs}
	}
	if r.oneIn(2) {
		code := rapid.IntRange(0, 1).Draw(r.T, "exit")
		out.ExitCode = &code
	}
	if r.oneIn(2) {
		out.Changes = []Change{{Path: r.among("a.go", "b.go"), Before: &Image{}, After: &Image{}}}
	}
	if c, ok := r.world.state.call(w.ID); ok && (c.Stop != nil && !r.oneIn(3)) {
		out.Cancelled = true
	}
	if r.oneIn(3) {
		out.Conflicts = []string{"a.go"}
	}
	if r.oneIn(2) {
		out.Reverted = []RevertedFile{{"a.go", r.among("restored", "same", revertConflict)}, {"b.go", r.among("deleted", revertConflict)}}
	}
	return out
}

// needs are what a job finds that it has no leave for; none, mostly.
func (r *random) needs(job Job) []Need {
	var leave []Need
	switch job := job.(type) {
	case Run:
		leave = job.Leave
	case Verify:
		leave = job.Leave
	default:
		return nil
	}
	var out []Need
	for _, n := range []Need{{Kind: NeedNetwork}, {Kind: NeedSecret, File: ".env"}, {Kind: NeedSecret, File: "a.key"}, {Kind: NeedStart, File: "a.key"}} {
		if r.oneIn(8) && (!slices.Contains(leave, n) || r.oneIn(20)) {
			out = append(out, n)
		}
	}
	return out
}

// answer is a model's: text, calls in good and in bad form, or nothing at all.
func (r *random) answer(question, force string) Input {
	in := Replied{Question: question, Text: r.among("", "", "I say so."), Length: r.oneIn(10), Usage: protocol.Usage{InputTokens: 1}}
	if force != "" && !r.oneIn(4) {
		in.Calls = append(in.Calls, ModelCall{Name: toolUpdatePlan, Arguments: r.plan()})
	}
	for range rapid.IntRange(0, 4).Draw(r.T, "calls") {
		in.Calls = append(in.Calls, r.call())
	}
	return in
}

func (r *random) call() ModelCall {
	head := fmt.Sprintf(`{"intent":"I do.","step":%q,`, r.among("s1", "s2", "s3", ""))
	switch rapid.IntRange(0, 15).Draw(r.T, "tool") {
	case 0, 1:
		return ModelCall{Name: toolReadFile, Arguments: head + `"path":"a.go"}`}
	case 2, 3:
		return ModelCall{Name: toolEditFile, Arguments: head + `"path":"a.go","edits":[]}`}
	case 4, 5, 13, 14:
		return ModelCall{Name: toolRunCommand, Arguments: head + fmt.Sprintf(`"command":"make","background":%t}`, r.oneIn(2))}
	case 6, 7:
		return ModelCall{Name: toolUpdatePlan, Arguments: r.plan()}
	case 8:
		return ModelCall{Name: toolAnnounce, Arguments: head + fmt.Sprintf(`"summary":"so","significance":%q,"alternatives":["other"]}`, r.among("minor", "notable", "major"))}
	case 9:
		return ModelCall{Name: toolCallPause, Arguments: head + `"facts":["odd"],"likely_cause":"c","options":["this","that"]}`}
	case 10:
		return ModelCall{Name: toolAskDeveloper, Arguments: head + `"questions":["which?","why?"]}`}
	case 11:
		return ModelCall{Name: toolFinish, Arguments: head + `"summary":"done"}`}
	case 12:
		return ModelCall{Name: toolStopCommand, Arguments: head + fmt.Sprintf(`"operation":%q}`, r.anyOp())}
	}
	return ModelCall{Name: r.among("update_plan", "read_file", "finish", "nothing", "check_in"), Arguments: r.among("", "{", "null", "[]", `{"steps":1}`), Extra: json.RawMessage(r.among("", "{}", "{"))}
}

func (r *random) plan() string {
	var steps []string
	for _, id := range []string{"s1", "s2", "s3"} {
		if r.oneIn(4) {
			continue
		}
		verify := ""
		if r.oneIn(2) {
			verify = fmt.Sprintf(`,"verify":%q`, r.among("go test", "go vet", ""))
		}
		steps = append(steps, fmt.Sprintf(`{"id":%q,"title":%q,"status":%q,"files":[%q]%s}`, id, r.among("One", "Two"), r.among("pending", "active", "done", "blocked"), r.among("a.go", "b.go"), verify))
	}
	return fmt.Sprintf(`{"steps":[%s],"explanation":"so","cancel_operations":[%q],"revert_steps":[%q]}`, strings.Join(steps, ","), r.anyOp(), r.among("", "s1", "s2"))
}

func (r *random) anyOp() string {
	return fmt.Sprintf("op%07d", rapid.IntRange(1, 1+r.world.state.counters.ops).Draw(r.T, "op"))
}

// developer is what the developer may say now, and what else can happen at any time.
func (r *random) developer() Input {
	s := r.world.state
	switch rapid.IntRange(0, 15).Draw(r.T, "developer") {
	case 0, 1, 2:
		r.said++
		return Steer{Text: fmt.Sprintf("STEER-%d!", r.said), When: protocol.When(r.among("", "now", "stepEnd", "idle")), Scope: scope(r.among("", "", "s1", r.anyOp())), By: "me"}
	case 3:
		return Withdraw{Steer: fmt.Sprintf("t%d", rapid.IntRange(1, 1+s.counters.steers).Draw(r.T, "steer"))}
	case 4:
		return Replan{Base: s.Plan.Revision, Edits: edits(r.among("drop s1", "add More", "move s2 s1", "verify s2 go build", "title s1 Renamed; move s3"))}
	case 5, 6:
		return Pause{Reason: r.among("", "look"), End: r.oneIn(3)}
	case 7, 8:
		return r.world.looked()
	case 9, 10, 11:
		return r.decide()
	case 12:
		return SetAutonomy{Level: protocol.Autonomy(r.among("close", "balanced", "high"))}
	case 13:
		return Reopened{}
	case 14:
		return TimePassed{}
	}
	switch {
	case r.oneIn(3):
		return revertOf(r.among("s1", "s2", "s3", "t1", r.anyOp(), r.anyOp()))
	case r.oneIn(4):
		return Edited{Path: r.among("a.go", "b.go"), By: "vscode"}
	case r.oneIn(20):
		return End{}
	case r.oneIn(3):
		return r.guard()
	case r.oneIn(2):
		return CheckIn{Text: r.among("", "where are you?")}
	case r.oneIn(2):
		return AskAside{Question: r.among("", "why?")}
	}
	return r.world.looked()
}

func (r *random) decide() Input {
	s := r.world.state
	in := Decide{Text: r.among("", "my words"), Option: r.among("", "", "a1", "o1", "this"), Reject: r.oneIn(4)}
	switch {
	case s.Pause != nil && !r.oneIn(4):
		in.Pause, in.Option = s.Pause.ID, r.among("", "", in.Option)
	case len(s.Questions) > 0:
		in.Question = s.Questions[0].ID
	case len(s.Decisions) > 0:
		in.Decision = rapid.SampledFrom(s.Decisions).Draw(r.T, "decision").ID
	}
	if d, _ := s.decision(in.Decision); d.Kind == protocol.Permission {
		in = Decide{Decision: d.ID, Option: r.among("", allowOnce, allowOnce, allowSession, allowNot, "other"), Reject: r.oneIn(10)}
		if in.Option == "" && r.oneIn(2) {
			in.Text = fmt.Sprintf("not so, %d", len(r.world.records))
		}
		return in
	}
	if in.Decision != "" && !slices.ContainsFunc(r.world.steers, func(t steerSeen) bool { return strings.Contains(t.text, "so") }) {
		in.Text = fmt.Sprintf("because %d", len(r.world.records))
	} else if in.Decision != "" {
		in = Decide{Decision: in.Decision} // one veto a session: its words have to be its own
	}
	return in
}

// nonsense is any input with ids that may be anybody's.
func (r *random) nonsense() Input {
	id := r.among("", "t1", "p1", "d1", "q1", "s1", "op0000002", "th0000001", "op9999999", "é\x00", "[]")
	text := r.among("", "text", strings.Repeat("long ", 900))
	switch rapid.IntRange(0, 15).Draw(r.T, "nonsense") {
	case 0:
		return Start{ID: id, Task: text, Autonomy: protocol.Autonomy(id)}
	case 1:
		seen := int64(rapid.IntRange(-1, 99).Draw(r.T, "seen"))
		r.said++
		return Steer{Text: fmt.Sprintf("STEER-%d!", r.said), Scope: scope(id), When: protocol.When(r.among("", "idle", id)), SeenSeq: &seen}
	case 2:
		return Withdraw{Steer: id}
	case 3:
		return Replan{Base: rapid.IntRange(-1, 3).Draw(r.T, "base"), Edits: []protocol.PlanEdit{{Op: protocol.PlanEditOp(r.among("add", "drop", "move", "change", id)), StepID: id, After: id}}}
	case 4:
		return Pause{Reason: text}
	case 5:
		return Resume{}
	case 6:
		return Decide{Pause: id, Option: id}
	case 7:
		return Decide{Decision: id, Option: id}
	case 8:
		return Decide{Question: id, Text: text}
	case 9:
		return SetAutonomy{Level: protocol.Autonomy(id)}
	case 10:
		return Replied{Question: id, Text: text, Calls: []ModelCall{{Name: id, Arguments: text, Extra: json.RawMessage(text)}}}
	case 11:
		return AskFailed{Question: id, Why: Failure(id), Text: text, Wait: -time.Second}
	case 12:
		out := Outcome{Op: id, Text: text, Cancelled: r.oneIn(2), Changes: []Change{{Path: id}}}
		if r.oneIn(3) {
			out.Needs = []Need{{Kind: NeedKind(text), File: id}}
		}
		return out
	case 13:
		return Reopened{}
	case 14:
		if r.oneIn(2) {
			return RevertOf{Step: id, Operation: r.among("", id), Steer: r.among("", id), Session: r.among("", "all") != ""}
		}
		return nil
	}
	return TimePassed{}
}
