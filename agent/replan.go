package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

// replan takes the developer's own edits of the plan. They are heard like a steer, but they
// are the plan, so none is asked for. Edits of a stale revision change nothing.
func (m *moment) replan(in Replan) error {
	if in.Base != m.Plan.Revision {
		return protocol.Errorf(protocol.StaleRevision,
			"baseRevision: the plan is at revision %d now, not %d; look at it and edit again", m.Plan.Revision, in.Base)
	}
	if len(in.Edits) == 0 {
		return protocol.Errorf(protocol.InvalidParams, "edits: there is no edit")
	}
	steps := standing(m.Plan.Steps)
	for i, edit := range in.Edits {
		var err error
		if steps, err = m.edited(steps, edit); err != nil {
			return fmt.Errorf("edits[%d].%w", i, err)
		}
	}
	e := Planned{Reason: in.Reason, Diff: diff(m.Plan.Steps, steps)}
	e.Plan = protocol.Plan{Revision: m.Plan.Revision + 1, Cause: protocol.Cause{Kind: protocol.CauseDeveloper},
		Steps: append(steps, fallen(m.Plan.Steps, steps)...)}
	e.Cancelled, e.Kept = m.obsoleteBy(e.Diff.Dropped)
	m.say(e)
	m.makeWay(e.Cancelled, protocol.CancelledBy{Kind: protocol.ByReplan, ID: strconv.Itoa(e.Plan.Revision)})
	m.wake()
	return nil
}

// obsoleteBy are the operations that a developer's plan ends: what had not begun, and the
// commands of the steps that it drops.
func (s State) obsoleteBy(dropped []string) (cancelled, kept []string) {
	for _, c := range s.Open {
		switch {
		case c.Reverts != nil: // the developer's own
		case c.Op.Status == protocol.OpQueued,
			c.Stop == nil && c.Op.Effect == protocol.EffectExecute && slices.Contains(dropped, c.Op.StepID):
			cancelled = append(cancelled, c.Op.ID)
		case c.Stop == nil && c.Op.Tool != toolUpdatePlan:
			kept = append(kept, c.Op.ID)
		}
	}
	return cancelled, kept
}

// edited is the steps with one edit made.
func (s State) edited(steps []protocol.Step, e protocol.PlanEdit) ([]protocol.Step, error) {
	at := slices.IndexFunc(steps, func(t protocol.Step) bool { return t.ID == e.StepID })
	if e.Op != protocol.EditAdd && at < 0 {
		return nil, protocol.Errorf(protocol.NoSuchEntity, "stepId: the plan has no step %q", e.StepID)
	}
	switch e.Op {
	case protocol.EditAdd:
		return s.added(steps, e)
	case protocol.EditDrop:
		return slices.Delete(slices.Clone(steps), at, at+1), nil
	case protocol.EditMove:
		t := steps[at]
		return inserted(slices.Delete(slices.Clone(steps), at, at+1), t, e.After, 0)
	case protocol.EditChange:
		steps = slices.Clone(steps)
		return steps, change(&steps[at], e)
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "op: %q is none of add, drop, move, change", e.Op)
}

func (s State) added(steps []protocol.Step, e protocol.PlanEdit) ([]protocol.Step, error) {
	if e.Step == nil || strings.TrimSpace(e.Step.Title) == "" {
		return nil, protocol.Errorf(protocol.InvalidParams, "step.title: a new step needs a title")
	}
	n := *e.Step
	if n.ID == "" {
		for taken := 0; n.ID == "" || lists(steps, n.ID); taken++ {
			n.ID = s.nextStep(taken)
		}
	}
	if lists(steps, n.ID) || lists(s.Plan.Steps, n.ID) {
		return nil, protocol.Errorf(protocol.InvalidParams, "step.id: the plan has a step %q already", n.ID)
	}
	t := protocol.Step{ID: n.ID, Title: n.Title, Intent: n.Intent, Files: n.Files, DependsOn: n.DependsOn, Verify: n.Verify,
		Status: protocol.StepPending, Origin: protocol.Origin{Kind: protocol.OriginDeveloper}}
	if t.Intent == "" {
		t.Intent = t.Title
	}
	return inserted(steps, t, e.After, len(steps))
}

// inserted puts a step behind another, or, without one, at a place.
func inserted(steps []protocol.Step, t protocol.Step, after string, place int) ([]protocol.Step, error) {
	if after != "" {
		i := slices.IndexFunc(steps, func(o protocol.Step) bool { return o.ID == after })
		if i < 0 {
			return nil, protocol.Errorf(protocol.NoSuchEntity, "after: the plan has no step %q", after)
		}
		place = i + 1
	}
	return slices.Insert(slices.Clone(steps), place, t), nil
}

// change makes the edits of one step. Only the developer may take a verification away.
func change(t *protocol.Step, e protocol.PlanEdit) error {
	if e.Title != nil {
		if strings.TrimSpace(*e.Title) == "" {
			return protocol.Errorf(protocol.InvalidParams, "title: a step needs a title")
		}
		t.Title = *e.Title
	}
	if e.Intent != nil {
		t.Intent = *e.Intent
	}
	if e.Files != nil {
		t.Files = *e.Files
	}
	if e.Verify == nil || e.Verify.Command == verifyOf(*t) {
		return nil
	}
	t.Verify, t.Verified = e.Verify, nil
	if e.Verify.Command == "" {
		t.Verify = nil
	}
	if t.Status == protocol.StepDone && t.Verify != nil {
		t.Status = protocol.StepActive
	}
	return nil
}
