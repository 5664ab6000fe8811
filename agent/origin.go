package agent

import (
	"time"

	"tandem/protocol"
)

// Write is an operation that changed files, with what led to it.
type Write struct {
	Session, Op, Step string
	Decision          string // the last one announced in the step before it, unless it was overridden
	Steer             string // the one that the step came from
	Ended             time.Time
	Restores          bool // it put back what had stood there: it is a revert
	Changes           []Change
}

// Writes are the operations that changed files, in the order in which they ended.
func (s State) Writes() []Write {
	var out []Write
	step, steer := "", "" // the last one looked for
	for p := range s.done.oldest {
		if len(p.Changes) == 0 {
			continue
		}
		if p.Op.StepID != step {
			step, steer = p.Op.StepID, s.steerOf(p.Op.StepID)
		}
		w := Write{Session: s.Started.ID, Op: p.Op.ID, Step: step, Steer: steer, Decision: s.decisionBehind(*p),
			Restores: p.Op.Tool == toolRevert || p.Op.Tool == toolUpdatePlan, Changes: p.Changes}
		if p.Op.EndedAt != nil {
			w.Ended = *p.Op.EndedAt
		}
		out = append(out, w)
	}
	return out
}

// steerOf is the steer that a step came from, or "".
func (s State) steerOf(step string) string {
	t, ok := s.everStep(step)
	if !ok || t.Origin.Kind != protocol.OriginSteer {
		return ""
	}
	return t.Origin.ID
}

// decisionBehind is the decision that an operation was made under.
func (s State) decisionBehind(p Past) string {
	if p.Op.StepID == "" {
		return ""
	}
	found := ""
	for i, d := range s.Decisions {
		if d.StepID == p.Op.StepID && d.Status != protocol.DecisionOverridden && s.announced[i] < p.Began {
			found = d.ID
		}
	}
	return found
}
