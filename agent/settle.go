package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// settle goes on as long as something follows from the state alone.
func (m *moment) settle() {
	for m.alive() && (m.dropPermit() || m.beginNext() || m.endPlan() || m.takeOver() || m.ask() || m.handOver()) {
	}
}

// beginNext begins the first call that may begin, and says whether there was one.
func (m *moment) beginNext() bool {
	for i, c := range m.Open {
		if c.Op.Status == protocol.OpQueued && m.mayBegin(i) {
			m.begin(c)
			return true
		}
	}
	return false
}

// mayBegin says that nothing holds the i-th open call: calls of one reply run in order,
// neighbouring reads side by side; in a pause, and while a decision waits for a word, nothing
// of effect write or execute begins.
func (s State) mayBegin(i int) bool {
	c := s.Open[i]
	if s.awaitsLeave(c.Op.ID) {
		return false
	}
	if c.Reverts != nil {
		return !slices.ContainsFunc(s.Open, writes)
	}
	if s.waitsForRevert(c) || s.holdsForPause(c) || changes(c.Op.Effect) && (s.vetoOpen() || s.awaitsCase()) {
		return false
	}
	if c.Op.Effect != protocol.EffectRead && s.awaitsCheck() {
		return false
	}
	for _, before := range s.Open[:i] {
		if holds(before, c) {
			return false
		}
	}
	return true
}

// holdsForPause says that the pause keeps a call waiting until it ends: in a plain pause all
// but reads, in any pause the daemon's own verifications. Where the agent talks in a pause, its
// calls are refused instead, and after the developer's decision it may change what was decided.
func (s State) holdsForPause(c Call) bool {
	if s.Mode != protocol.Paused || s.Took || c.Op.Effect == protocol.EffectRead {
		return false
	}
	return c.For != "" || s.Pause.By == protocol.PausedByDeveloper && s.Pause.Reason == "" && s.Initiative == protocol.DeveloperInitiative
}

// holds says that an open call keeps a later one waiting.
func holds(before, c Call) bool {
	if before.Late || before.Stop != nil || before.Op.ID == c.For {
		return false
	}
	if (before.For == "") != (c.For == "") { // verifications queue among themselves
		return false
	}
	if before.Background && before.Op.Status != protocol.OpQueued {
		return false
	}
	return before.Op.Effect != protocol.EffectRead || c.Op.Effect != protocol.EffectRead
}

// begin starts a call, or works it at once where the core does that itself.
func (m *moment) begin(c Call) {
	if c.Reverts != nil {
		m.say(Began{Op: c.Op.ID, At: m.at})
		return
	}
	if why := m.refusal(c); why != "" {
		ends := m.endsChange(c)
		m.refuseCall(c, why)
		if ends {
			queued, _ := m.consequences(nil) // what follows is no part of it
			m.makeWay(queued, protocol.CancelledBy{Kind: protocol.ByPause, ID: m.Pause.ID})
			m.yield("")
		}
		return
	}
	if m.stopRepeating(c) {
		return
	}
	switch c.Op.Tool {
	case toolUpdatePlan:
		m.updatePlan(c)
	case toolAnnounce:
		m.announce(c)
	case toolStopCommand:
		m.stopCommand(c)
	case toolCallPause:
		m.callPause(c)
	case toolAskDeveloper:
		m.askDeveloper(c)
	case toolFinish:
		m.finish(c)
	case toolCheckIn:
		m.refuse(c, "check_in answers a check-in, and none is open; go on with the work")
	default:
		m.activate(c.Op.StepID)
		m.say(Began{Op: c.Op.ID, At: m.at})
	}
}

// refusal says why a call is not worked, or nothing.
func (s State) refusal(c Call) string {
	if !known(c.Op.Tool) && c.For == "" && c.Reverts == nil { // the daemon's own have no place among the model's tools

		return fmt.Sprintf("there is no tool %q; the tools are %s", c.Op.Tool, strings.Join(toolNames(), ", "))
	}
	if !isObject(c.Arguments) && c.For == "" {
		return fmt.Sprintf("the arguments of %s are no JSON object%s. A right call: %s", c.Op.Tool, fault(c.Arguments), example(c.Op.Tool))
	}
	if c.Op.Effect == protocol.EffectExecute && !s.Started.Trusted {
		return "the workspace is not trusted, so nothing is executed in it; the developer has to trust it and start another session for that. Go on without running commands."
	}
	if s.endsChange(c) {
		return "refused: paused. What was decided is taken as changed; only the developer resumes."
	}
	if s.Mode == protocol.Paused && !s.inPause(c) {
		return "refused: paused. Only the developer resumes; read and search, and answer with call_pause."
	}
	if why := s.undecided(c); why != "" {
		return why
	}
	if s.owesPlan() && changes(c.Op.Effect) && c.For == "" {
		return "refused: the developer has steered. Call update_plan first, then go on along the new plan."
	}
	return s.outOfOrder(c)
}

// outOfOrder says why a call that changes something is too early: its step builds on one whose
// verification has failed, and nothing was changed for that one since.
func (s State) outOfOrder(c Call) string {
	t, ok := s.step(c.Op.StepID)
	if !ok || !changes(c.Op.Effect) || c.For != "" {
		return ""
	}
	for _, id := range t.DependsOn {
		before, ok := s.step(id)
		if ok && before.Status != protocol.StepDropped && before.Verified != nil && !*before.Verified {
			return fmt.Sprintf("refused: step %s depends on %s, whose verification failed (%s). Mend that first, under its own step; or change the plan where it does not depend on it.", t.ID, id, verifyOf(before))
		}
	}
	return ""
}

// inPause says that a call is taken in a pause.
func (s State) inPause(c Call) bool {
	if s.Took {
		return c.Op.Tool != toolFinish && c.Op.Tool != toolAskDeveloper // options are how it asks
	}
	return c.Op.Effect == protocol.EffectRead || c.Op.Tool == toolCallPause
}

// refuse ends a call that is not worked, with the reason for the model.
func (m *moment) refuse(c Call, why string) {
	m.say(Returned{Op: c.Op.ID, At: m.at, Failed: true, Text: why, Output: why})
}

// refuseCall refuses what the agent asked for. A plan that cannot be taken where one is owed
// counts as one that is missing, so that an agent which cannot make one is not asked for ever.
func (m *moment) refuseCall(c Call, why string) {
	m.refuse(c, why)
	if c.Op.Tool == toolUpdatePlan && m.owesPlan() {
		m.say(Reminded{Of: missingPlan})
	}
}

// answer ends a call that the core has worked.
func (m *moment) answer(c Call, text string) {
	m.say(Returned{Op: c.Op.ID, At: m.at, Text: text})
}

// activate makes the step of a call active where it was still to come.
func (m *moment) activate(step string) {
	if t, ok := m.step(step); ok && t.Status == protocol.StepPending {
		m.say(StepChanged{Step: step, Status: protocol.StepActive, Verified: t.Verified})
	}
}

// endPlan ends a call of update_plan whose verifications have all ended.
func (m *moment) endPlan() bool {
	for _, c := range m.Open {
		waits := slices.ContainsFunc(m.Open, func(v Call) bool { return v.For == c.Op.ID })
		if c.Taken && !waits {
			m.say(Returned{Op: c.Op.ID, At: m.at, Text: m.planResult(c)})
			return true
		}
	}
	return false
}

// ask puts the next question, when it is due.
func (m *moment) ask() bool {
	if !m.due() {
		return false
	}
	if m.stopSpending() || m.stopLooking() || m.stopCircling() { // what follows from that is next
		return true
	}
	if m.nearTheLimit() {
		if m.cannotShrink() && !m.urgent() {
			m.giveUp(m.shrinkReason())
			return true
		}
		m.say(Compacted{Messages: m.brief()})
	}
	m.hear(m.ready(false))
	e := Asked{Question: m.nextThought(), At: m.at}
	if m.owesPlan() {
		e.Force = toolUpdatePlan
	}
	e.Messages = m.unsent()
	m.say(e)
	return true
}

// due says that the model has to be asked now. The next question waits for the calls of the
// last answer; it does not wait for commands in the background, for what was told to stop or
// stands frozen, or for anything once the developer has spoken.
func (m *moment) due() bool {
	if wait := m.Retry.Until.Sub(m.at); m.Question != nil || wait > 0 && wait <= longestDeferral { // the zero time is before every other
		return false
	}
	talks := m.Initiative == protocol.AgentInitiative && (m.Mode == protocol.Executing || m.Mode == protocol.Paused)
	if m.urgent() && m.Mode == protocol.Paused {
		return true
	}
	spoken := m.urgent() || slices.ContainsFunc(m.Unsaid, func(n Note) bool { return n.Now })
	return talks && (spoken || !m.busy() && !m.guardsHold())
}

// guardsHold says that the next question waits for a look behind the last operations, for the
// case as it was before a decision, or for one that runs again.
func (s State) guardsHold() bool {
	return s.reruns() || s.awaitsCase() || len(s.Unchecked) > 0 && s.awaitsCheck()
}

// busy says that a call of the last answer, or a revert by hand, keeps the next question waiting.
func (s State) busy() bool {
	if s.reverting() { // it is short, and the model is told of it first
		return true
	}
	for _, c := range s.Open {
		if c.Late || c.For != "" || c.Stop != nil || c.Frozen || s.turn(c.Op.ID) < 0 {
			continue
		}
		if !c.Background || c.Op.Status == protocol.OpQueued {
			return true
		}
	}
	return false
}

// until is the next time that the session waits for.
func (s State) until() (time.Time, bool) {
	var next time.Time
	for _, d := range s.Decisions {
		if s.Mode != protocol.Paused && d.Status == protocol.DecisionOpen && d.Deadline != nil && (next.IsZero() || d.Deadline.Before(next)) {
			next = *d.Deadline
		}
	}
	for _, b := range s.Guards.Budgets {
		if at := s.spentAt(b); b.Minutes > 0 && s.Mode == protocol.Executing && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if s.mayBeSilent() && (next.IsZero() || s.silentAt().Before(next)) {
		next = s.silentAt()
	}
	talks := (s.Initiative == protocol.AgentInitiative || s.urgent()) && !s.reverting() // then its end is what is waited for
	if talks && s.Question == nil && !s.guardsHold() && !s.Retry.Until.IsZero() && (next.IsZero() || s.Retry.Until.Before(next)) {
		next = s.Retry.Until
	}
	return next, !next.IsZero()
}
