package agent

import (
	"time"

	"tandem/protocol"
)

// shownOutput bounds the output that an operation shows, in bytes; the model may see more.
const shownOutput = 4 << 10

// think is a question as the operation that it was. A journal with a gap may know of none.
func think(q *Question, status protocol.OperationStatus, at time.Time, by *protocol.CancelledBy) protocol.Operation {
	op := protocol.Operation{Kind: protocol.Think, Effect: protocol.EffectNone, Status: status, EndedAt: &at, CancelledBy: by}
	if q != nil {
		op.ID, op.StartedAt, op.Intent = q.ID, &q.Started, thought(*q)
	}
	op.Partial = by != nil
	return op
}

// thinking is the open question as an operation.
func thinking(q Question) protocol.Operation {
	return protocol.Operation{ID: q.ID, Kind: protocol.Think, Effect: protocol.EffectNone, Status: protocol.OpRunning,
		StartedAt: &q.Started, Intent: thought(q)}
}

func thought(q Question) string {
	if q.Force == toolUpdatePlan {
		return "I think about what your words change in the plan."
	}
	return "I think about the next step."
}

func inVain(q *Question, e AskedInVain) protocol.Operation {
	op := think(q, protocol.OpFailed, e.At, nil)
	op.Output = clip(e.Text, shownOutput)
	return op
}

func returned(e Returned) func(protocol.Operation) protocol.Operation {
	return func(op protocol.Operation) protocol.Operation {
		op.Status, op.EndedAt, op.ExitCode = protocol.OpDone, &e.At, e.ExitCode
		op.Output = clip(e.Output, shownOutput)
		if e.Failed {
			op.Status = protocol.OpFailed
		}
		return op
	}
}

func cancelled(e Cancelled) func(protocol.Operation) protocol.Operation {
	return func(op protocol.Operation) protocol.Operation {
		op.Status, op.EndedAt, op.CancelledBy, op.Partial = protocol.OpCancelled, &e.At, &e.By, e.Partial
		op.Output, op.ExitCode = clip(e.Output, shownOutput), e.ExitCode
		return op
	}
}

func lost(e Lost) func(protocol.Operation) protocol.Operation {
	return func(op protocol.Operation) protocol.Operation {
		op.Status, op.EndedAt = protocol.OpLost, &e.At
		return op
	}
}

// verification is how a verification ended, for the result of the plan that caused it.
func verification(s *State, c Call, op protocol.Operation) Verification {
	v := Verification{Steps: c.Steps, Command: op.Target, Exit: op.ExitCode, Output: op.Output}
	switch {
	case op.Status == protocol.OpCancelled:
		v.Note = "cancelled before it ended"
	case op.Status == protocol.OpLost:
		v.Note = "lost: the outcome is unknown"
	case c.Began > 0 && staleProof(s, c):
		v.Note = "the step was changed while it ran, so it proves nothing"
	default:
		v.Passed = op.Status == protocol.OpDone && op.ExitCode != nil && *op.ExitCode == 0
	}
	return v
}

func staleProof(s *State, c Call) bool {
	for _, id := range c.Steps {
		if s.lastTouch(id) > c.Began {
			return true
		}
	}
	return false
}
