package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

// updatePlan works a call of update_plan: edits are taken back first, where it says so, then
// the plan stands, then what it calls done is verified, and only then the call has ended.
func (m *moment) updatePlan(c Call) {
	var args planArguments
	if err := arguments(toolUpdatePlan, c.Arguments, &args); err != nil {
		m.refuseCall(c, err.Error())
		return
	}
	if _, err := m.propose(args, m.Owes); err != nil {
		m.refuseCall(c, err.Error())
		return
	}
	m.say(Began{Op: c.Op.ID, At: m.at})
	if len(m.planReverts(args)) == 0 {
		m.takePlan(c.Op.ID, args, Outcome{})
	}
}

// revertsEnded goes on with a plan whose edits were taken back. A newer plan is not undone by it.
func (m *moment) revertsEnded(c Call, in Outcome) {
	var args planArguments
	if err := arguments(toolUpdatePlan, c.Arguments, &args); err != nil || c.Stop != nil {
		by := m.byEnd()
		if c.Stop != nil {
			by = *c.Stop
		}
		m.say(Cancelled{Op: c.Op.ID, At: m.at, By: by, Partial: true})
		return
	}
	conflicts := in.Conflicts
	if in.Failed {
		conflicts = append(conflicts, "the edits could not be taken back: "+in.Text)
	}
	if m.Plan.Revision != c.Base {
		why := strings.Join(append([]string{fmt.Sprintf("the plan became revision %d while edits were taken back, and stands as it is", m.Plan.Revision)}, conflicts...), "\n")
		m.say(Returned{Op: c.Op.ID, At: m.at, Failed: true, Text: why, Output: why, Reverted: in.Reverted})
		return
	}
	in.Conflicts = conflicts
	m.takePlan(c.Op.ID, args, in)
}

// planReverts are the operations whose edits a plan takes back: those of the steps it names. What
// was itself taken back by a plan stays taken back.
func (s State) planReverts(args planArguments) []Past {
	var out []Past
	if len(args.RevertSteps) == 0 {
		return nil
	}
	for p := range s.done.newest {
		if slices.Contains(args.RevertSteps, p.Op.StepID) && changes(p.Op.Effect) && len(p.Changes) > 0 {
			out = append(out, *p)
		}
	}
	return out
}

// takePlan makes the agent's plan stand; back says how the edits that it takes back were.
func (m *moment) takePlan(op string, args planArguments, back Outcome) {
	c, _ := m.call(op)
	e, err := m.propose(args, c.Answers)
	if err != nil {
		m.refuse(c, err.Error())
		return
	}
	e.Conflicts = append(e.Conflicts, back.Conflicts...)
	for _, id := range args.RevertSteps {
		if slices.ContainsFunc(m.planReverts(args), func(p Past) bool { return p.Op.StepID == id }) {
			e.Diff.Reverted = append(e.Diff.Reverted, id)
		}
	}
	e.Cancelled, e.Kept = m.obsolete(args.CancelOperations)
	if e.Plan.Revision > m.Plan.Revision || len(c.Answers) > 0 {
		m.say(e)
	} else {
		m.progress(e.Plan)
	}
	m.say(Taken{Op: op, Conflicts: back.Conflicts, Cancelled: e.Cancelled, Reverted: back.Reverted})
	for _, id := range e.Cancelled {
		if c, ok := m.call(id); ok {
			m.cancel(c, protocol.CancelledBy{Kind: protocol.ByReplan, ID: strconv.Itoa(e.Plan.Revision)})
		}
	}
	for _, id := range c.Answers {
		if _, ok := m.steering(id); ok {
			m.say(Applied{Steer: id, Revision: e.Plan.Revision})
		}
	}
	m.proposeTripwires(c.Op.StepID, args.Tripwires)
	m.verify(op, e.Claims)
}

// obsolete are the running operations that the agent names as useless, and those that run on.
func (s State) obsolete(named []string) (cancelled, kept []string) {
	for _, c := range s.Open {
		if c.Op.Status == protocol.OpQueued || c.Stop != nil || c.Op.Tool == toolUpdatePlan || c.Reverts != nil {
			continue
		}
		if slices.Contains(named, c.Op.ID) {
			cancelled = append(cancelled, c.Op.ID)
		} else {
			kept = append(kept, c.Op.ID)
		}
	}
	return cancelled, kept
}

// progress tells each step whose status or proof changed within the revision.
func (m *moment) progress(p protocol.Plan) {
	for _, after := range p.Steps {
		before, ok := m.step(after.ID)
		if ok && (before.Status != after.Status || !equalBool(before.Verified, after.Verified)) {
			m.say(StepChanged{Step: after.ID, Status: after.Status, Verified: after.Verified})
		}
	}
}

// verify runs what has to pass before steps are done, each command once.
func (m *moment) verify(by string, claims []string) {
	if !m.Started.Trusted {
		return
	}
	var commands []string
	for _, id := range claims {
		t, _ := m.step(id)
		if !slices.Contains(commands, verifyOf(t)) {
			commands = append(commands, verifyOf(t))
		}
	}
	for _, command := range commands {
		steps := slices.DeleteFunc(slices.Clone(claims), func(id string) bool {
			t, _ := m.step(id)
			return verifyOf(t) != command
		})
		m.say(Called{For: by, Steps: steps, Op: protocol.Operation{
			ID: m.nextOp(), StepID: steps[0], Kind: protocol.Tool, Tool: toolVerify, Effect: protocol.EffectExecute,
			Intent: m.verifyIntent(steps), Target: command, Status: protocol.OpQueued,
		}})
	}
}

// verifyIntent says in the titles of steps what a verification is for.
func (s State) verifyIntent(steps []string) string {
	var titles []string
	for _, id := range steps {
		t, _ := s.step(id)
		titles = append(titles, "«"+t.Title+"»")
	}
	if len(titles) == 1 {
		return "I verify " + titles[0] + " before I call it done."
	}
	return "I verify " + strings.Join(titles, " and ") + " before I call them done."
}

// propose is the plan that the arguments make of the present one. Steps that they do not list
// are dropped; what a step does not say stays as it was; a verification cannot be dropped.
func (s State) propose(args planArguments, answers []string) (Planned, error) {
	if err := soundSteps(args.Steps); err != nil {
		return Planned{}, err
	}
	cause := s.cause(answers)
	e := Planned{Explanation: args.Explanation, Consequences: args.Consequences, Conflicts: args.Conflicts}
	var steps []protocol.Step
	for _, a := range args.Steps {
		if a.ID == "" {
			a.ID = word(s.nextStep(len(steps)))
		}
		before, known := s.step(string(a.ID))
		t := merged(before, a)
		if !known {
			t.Origin = origin(cause)
		}
		if t.Status == protocol.StepDone && t.Verify != nil && (t.Verified == nil || !*t.Verified) {
			e.Claims = append(e.Claims, t.ID)
			t.Status = protocol.StepActive
		}
		steps = append(steps, t)
	}
	e.Diff = diff(s.Plan.Steps, steps)
	e.Plan = protocol.Plan{Revision: s.Plan.Revision, Steps: append(steps, fallen(s.Plan.Steps, steps)...), Cause: s.Plan.Cause}
	if s.Plan.Revision == 0 || moved(s.Plan.Steps, e.Plan.Steps) || len(e.Diff.Changed) > 0 {
		e.Plan.Revision, e.Plan.Cause = s.Plan.Revision+1, cause
	}
	return e, nil
}

// soundSteps says what is wrong with the steps of a plan, in words for the model.
func soundSteps(steps []stepArgument) error {
	if len(steps) == 0 {
		return errors.New("steps: give the whole plan, at least one step. A right call: " + example(toolUpdatePlan))
	}
	for i, t := range steps {
		if strings.TrimSpace(t.Title) == "" {
			return fmt.Errorf("steps[%d]: a step needs a title", i)
		}
		if t.ID != "" && slices.ContainsFunc(steps[:i], func(o stepArgument) bool { return o.ID == t.ID }) {
			return fmt.Errorf("steps[%d]: two steps have the id %q", i, t.ID)
		}
	}
	return nil
}

// cause is what a plan of the agent answers.
func (s State) cause(answers []string) protocol.Cause {
	switch {
	case len(answers) > 0:
		return protocol.Cause{Kind: protocol.CauseSteer, ID: answers[len(answers)-1]}
	case s.Plan.Revision == 0:
		return protocol.Cause{Kind: protocol.CauseTask}
	case s.Pause != nil:
		return protocol.Cause{Kind: protocol.CausePause, ID: s.Pause.ID}
	}
	return protocol.Cause{Kind: protocol.CauseAgent}
}

func origin(c protocol.Cause) protocol.Origin {
	if c.Kind == protocol.CauseSteer {
		return protocol.Origin{Kind: protocol.OriginSteer, ID: c.ID}
	}
	return protocol.Origin{Kind: protocol.OriginAgent}
}

// merged is a step as it was with what the agent says of it now.
func merged(t protocol.Step, a stepArgument) protocol.Step {
	t.ID, t.Title = string(a.ID), a.Title
	t.Intent = cmp.Or(strings.TrimSpace(a.Intent), t.Intent, a.Title)
	t.Status = stepStatus(a.Status)
	if a.Files != nil {
		t.Files = protocol.List[string](*a.Files)
	}
	if a.DependsOn != nil {
		t.DependsOn = protocol.List[string](*a.DependsOn)
	}
	if a.Verify != nil && strings.TrimSpace(a.Verify.Command) != "" && a.Verify.Command != verifyOf(t) {
		t.Verify, t.Verified = &protocol.Verify{Command: a.Verify.Command}, nil
	}
	return t
}

// stepStatus reads a status in the words that models use for it.
func stepStatus(s string) protocol.StepStatus {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s)) {
	case "active", "inprogress", "running", "started", "current":
		return protocol.StepActive
	case "done", "completed", "complete", "finished":
		return protocol.StepDone
	case "blocked":
		return protocol.StepBlocked
	case "dropped", "cancelled", "canceled", "skipped":
		return protocol.StepDropped
	}
	return protocol.StepPending
}

// fallen are the steps of the plan as it was that are not listed any more. What had fallen
// before stands in the earlier revisions.
func fallen(before, after []protocol.Step) []protocol.Step {
	var out []protocol.Step
	for _, t := range before {
		if t.Status != protocol.StepDropped && !lists(after, t.ID) {
			t.Status = protocol.StepDropped
			out = append(out, t)
		}
	}
	return out
}

func lists(steps []protocol.Step, id string) bool {
	return slices.ContainsFunc(steps, func(t protocol.Step) bool { return t.ID == id })
}

// standing are the steps that are not dropped.
func standing(steps []protocol.Step) []protocol.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(t protocol.Step) bool { return t.Status == protocol.StepDropped })
}

// moved says that steps were added, dropped or put in another order.
func moved(before, after []protocol.Step) bool {
	return !slices.EqualFunc(standing(before), standing(after), func(a, b protocol.Step) bool { return a.ID == b.ID })
}

// PlanDiff is what became of the steps of a plan from one revision to another, earlier or later
// one. Dropped steps count as not there; status and proof are not part of it.
func PlanDiff(before, after []protocol.Step) protocol.Diff { return diff(before, after) }

// diff is what became of the plan's steps. The statuses are not part of it.
func diff(before, after []protocol.Step) protocol.Diff {
	var d protocol.Diff
	before, after = standing(before), standing(after)
	for _, t := range after {
		i := slices.IndexFunc(before, func(b protocol.Step) bool { return b.ID == t.ID })
		switch {
		case i < 0:
			d.Added = append(d.Added, t.ID)
		case same(before[i], t):
			d.Kept = append(d.Kept, t.ID)
		default:
			d.Changed = append(d.Changed, protocol.StepChange{Before: before[i], After: t})
		}
	}
	for _, b := range before {
		if !lists(after, b.ID) {
			d.Dropped = append(d.Dropped, b.ID)
		}
	}
	return d
}

// same says that two versions of a step differ in nothing but status and proof.
func same(a, b protocol.Step) bool {
	return a.Title == b.Title && a.Intent == b.Intent && slices.Equal(a.Files, b.Files) &&
		slices.Equal(a.DependsOn, b.DependsOn) && verifyOf(a) == verifyOf(b)
}

func verifyOf(t protocol.Step) string {
	if t.Verify == nil {
		return ""
	}
	return t.Verify.Command
}

// touches says that one of the files is one that the step is about.
func touches(t protocol.Step, files []Change) bool {
	return slices.ContainsFunc(files, func(f Change) bool { return slices.Contains(t.Files, f.Path) })
}

// affects says that a call which changed the files has changed a step. What a verification
// leaves behind is no change of the steps that it verifies: else one that writes a cache could
// never pass.
func affects(c Call, t protocol.Step, files []Change) bool {
	if slices.Contains(c.Steps, t.ID) {
		return false
	}
	return changes(c.Op.Effect) && t.ID == c.Op.StepID || touches(t, files) || slices.Contains(revertedBy(c), t.ID)
}

// revertedBy are the steps whose edits a call takes back: a revert by hand, or update_plan.
func revertedBy(c Call) []string {
	if c.Reverts != nil {
		return c.Reverts.Steps
	}
	var args planArguments
	if c.Op.Tool != toolUpdatePlan || arguments(toolUpdatePlan, c.Arguments, &args) != nil {
		return nil
	}
	return args.RevertSteps
}

func equalBool(a, b *bool) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
