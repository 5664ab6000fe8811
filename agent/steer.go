package agent

import (
	"slices"
	"strings"

	"tandem/protocol"
)

// steer hears the developer: at once the running answer is stopped and what had not begun is
// cancelled; a steer for later cancels nothing.
func (m *moment) steer(in Steer) error {
	if strings.TrimSpace(in.Text) == "" {
		return protocol.Errorf(protocol.InvalidParams, "text: say in a sentence what shall be different")
	}
	when, err := moments(in.When)
	if err != nil {
		return err
	}
	if err := m.knownScope(in.Scope); err != nil {
		return err
	}
	st := protocol.Steer{ID: m.nextSteer(), Text: in.Text, Scope: in.Scope, When: when, By: in.By, Status: protocol.SteerReceived}
	e := Steered{Steer: st, Context: in.Context, Unseen: m.unseen(in.SeenSeq)}
	if when == protocol.StepEnd {
		e.Waits = m.activeStep()
	}
	if when == protocol.Now {
		e.Cancelled, e.Running = m.consequences(in.Scope)
	} else {
		e.Running = m.runningCommands()
	}
	m.say(e)
	if when == protocol.Now {
		m.makeWay(e.Cancelled, protocol.CancelledBy{Kind: protocol.BySteer, ID: st.ID})
	}
	m.wake()
	return nil
}

func moments(w protocol.When) (protocol.When, error) {
	switch w {
	case "":
		return protocol.Now, nil
	case protocol.Now, protocol.StepEnd, protocol.Idle:
		return w, nil
	}
	return "", protocol.Errorf(protocol.InvalidParams, "when: %q is none of now, stepEnd, idle", w)
}

func (m *moment) knownScope(sc *protocol.Scope) error {
	if sc == nil {
		return nil
	}
	if sc.StepID != "" {
		if !m.everPlanned(sc.StepID) { // a step that has just fallen away is still something to speak about
			return protocol.Errorf(protocol.NoSuchEntity, "scope.stepId: the plan has no step %q", sc.StepID)
		}
	}
	if sc.DecisionID != "" {
		if _, ok := m.decision(sc.DecisionID); !ok {
			return protocol.Errorf(protocol.NoSuchEntity, "scope.decisionId: there is no decision %q", sc.DecisionID)
		}
	}
	if sc.OperationID != "" && !m.knownOp(sc.OperationID) {
		return protocol.Errorf(protocol.NoSuchEntity, "scope.operationId: there is no operation %q", sc.OperationID)
	}
	return nil
}

func (s State) everPlanned(step string) bool {
	_, ok := s.everStep(step)
	return ok
}

func (s State) knownOp(id string) bool {
	if _, ok := s.call(id); ok || s.Question != nil && s.Question.ID == id {
		return true
	}
	for p := range s.done.newest {
		if p.Op.ID == id {
			return true
		}
	}
	return false
}

// consequences says what a steer at once ends (what had not begun, and running commands in its
// scope), and what runs on.
func (s State) consequences(sc *protocol.Scope) (cancelled, running []string) {
	for _, c := range s.Open {
		switch {
		case c.Reverts != nil: // the developer's own
		case c.Op.Status == protocol.OpQueued, c.Stop == nil && names(sc, c):
			cancelled = append(cancelled, c.Op.ID)
		case c.Stop == nil && c.Op.Tool != toolUpdatePlan:
			running = append(running, c.Op.ID)
		}
	}
	return cancelled, running
}

// names says that the scope names a running command.
func names(sc *protocol.Scope, c Call) bool {
	if sc == nil || c.Op.Effect != protocol.EffectExecute {
		return false
	}
	return sc.OperationID == c.Op.ID || sc.StepID != "" && sc.StepID == c.Op.StepID
}

func (s State) runningCommands() []string {
	var ids []string
	for _, c := range s.Open {
		if c.Op.Status != protocol.OpQueued && c.Stop == nil && c.Op.Effect == protocol.EffectExecute {
			ids = append(ids, c.Op.ID)
		}
	}
	return ids
}

// unseen are operations with an effect that ended after what the developer had seen.
func (s State) unseen(seen *int64) []Unseen {
	if seen == nil {
		return nil
	}
	var out []Unseen
	for p := range s.done.newest {
		if p.Seq <= *seen {
			break
		}
		if changes(p.Op.Effect) && p.Op.StartedAt != nil {
			out = append(out, Unseen{Op: p.Op.ID, Files: p.Op.Files})
		}
	}
	slices.Reverse(out)
	return out
}

// makeWay stops the running answer and ends the calls that are named.
func (m *moment) makeWay(ids []string, by protocol.CancelledBy) {
	m.cutQuestion(by)
	for _, id := range ids {
		if c, ok := m.call(id); ok {
			m.cancel(c, by)
		}
	}
}

// wake sets a session going again that waited or was done; there is no later moment to wait
// for, so every steer is heard. A pause only the developer ends: there the agent hears the
// steer and answers in words.
func (m *moment) wake() {
	if m.Mode != protocol.Waiting && m.Mode != protocol.Done {
		return
	}
	m.say(Woke{At: m.at})
	m.hear(m.ready(true))
}

func (m *moment) hear(steers []string) {
	for _, id := range steers {
		m.say(Heard{id})
	}
}

func (m *moment) withdraw(in Withdraw) error {
	st, ok := m.steering(in.Steer)
	if n := number(in.Steer); !ok && (n < 1 || n > m.counters.steers) {
		return protocol.Errorf(protocol.NoSuchEntity, "steerId: there is no steer %q", in.Steer)
	}
	if ok && st.Steer.Status == protocol.SteerReceived {
		m.say(Withdrawn(in))
	}
	return nil
}

// ready are the steers that the next question bears; idle says that the agent's turn would end.
func (s State) ready(idle bool) []string {
	var ids []string
	for _, t := range s.Steers {
		if t.Steer.Status != protocol.SteerReceived {
			continue
		}
		if idle || t.Steer.When == protocol.Now || t.Steer.When == protocol.StepEnd && s.stepEnded(t.Waits) {
			ids = append(ids, t.Steer.ID)
		}
	}
	return ids
}

func (s State) stepEnded(id string) bool {
	t, ok := s.step(id)
	return !ok || t.Status == protocol.StepDone || t.Status == protocol.StepDropped || t.Status == protocol.StepBlocked
}

// urgent says that the developer has spoken and was not heard yet.
func (s State) urgent() bool {
	return slices.ContainsFunc(s.Steers, func(t Steering) bool {
		return t.Steer.Status == protocol.SteerReceived && t.Steer.When == protocol.Now
	})
}
