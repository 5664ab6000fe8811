package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tandem/protocol"
)

// pause is the developer's brake. With a reason the agent is asked for facts; without one it
// is not asked, and what it wants to change waits.
func (m *moment) pause(in Pause) error {
	if m.Mode == protocol.Paused {
		return &protocol.Error{Kind: protocol.WrongMode, Mode: m.Mode, Text: "pause: the session is paused already"}
	}
	if m.Mode == protocol.Done {
		return &protocol.Error{Kind: protocol.WrongMode, Mode: m.Mode, Text: "pause: the session is done; there is nothing to pause"}
	}
	p := protocol.Pause{ID: m.nextPause(), By: protocol.PausedByDeveloper, Reason: in.Reason}
	if in.Closed {
		p.By, p.Reason = protocol.PausedByRecovery, closedReason
	}
	e := Paused{Pause: p, Asks: in.Reason != ""}
	if e.Asks {
		e.Scenario = m.soleScenario()
	}
	m.beginPause(e, in.End)
	return nil
}

// beginPause stops everything that changes something: what had not begun waits (or is
// cancelled, where the agent is asked to think anew), what runs is frozen or ended.
func (m *moment) beginPause(e Paused, end bool) {
	p := &e.Pause
	by := protocol.CancelledBy{Kind: protocol.ByPause, ID: p.ID}
	if e.Asks {
		m.cutQuestion(by)
	}
	for _, c := range slices.Clone(m.Open) {
		switch {
		case c.Reverts != nil && p.By != protocol.PausedByRecovery: // the developer's own
		case c.Op.Status == protocol.OpQueued:
			if e.Asks || p.By != protocol.PausedByDeveloper {
				m.cancel(c, by)
			}
		case c.Op.Effect != protocol.EffectExecute || c.Stop != nil:
		case end:
			m.cancel(c, by)
		default:
			p.Frozen = append(p.Frozen, c.Op.ID)
		}
	}
	for _, w := range slices.Clone(m.Wanted) { // a scenario that runs by hand would write behind the stop
		m.say(Uncompared{ID: w.ID, Broken: "the session was paused before it was over; run it again"})
	}
	e.At = m.at
	m.say(e)
	for _, id := range p.Frozen {
		m.say(Froze{id})
	}
}

// freeze stops the commands that began while what was decided was changed: now that this is
// over, nothing of their kind runs in the pause.
func (m *moment) freeze() {
	for _, c := range m.Open {
		if c.Op.Status == protocol.OpRunning && c.Op.Effect == protocol.EffectExecute && c.Stop == nil {
			m.say(Froze{c.Op.ID})
		}
	}
}

// resume is always the developer's. It is free to them while a condition fails; that live inputs
// have moved since the snapshot they have to acknowledge.
func (m *moment) resume(in Resume) error {
	if m.Mode != protocol.Paused {
		return &protocol.Error{Kind: protocol.WrongMode, Mode: m.Mode, Text: fmt.Sprintf("resume: the session is not paused, it is %s", m.Mode)}
	}
	if len(in.Drift) > 0 && in.Pause == m.Pause.ID && !in.Acknowledged {
		return protocol.Errorf(protocol.DriftUnacknowledged, "resume: the live inputs have moved since the pause began: %s; look first, or resume with acknowledgeDrift", strings.Join(in.Drift, "; "))
	}
	if m.Pause.Snapshot != "" && in.Pause != m.Pause.ID && !in.Acknowledged {
		return protocol.Errorf(protocol.DriftUnacknowledged, "resume: the inputs of this pause were kept only now, so nobody has looked whether they moved; resume again")
	}
	if m.Initiative == protocol.AgentInitiative {
		m.dropTheTalk()
	}
	m.prolong()
	m.say(Resumed{Pause: m.Pause.ID, At: m.at, Drift: in.Drift, Failing: m.Failing})
	for _, c := range m.Open {
		if c.Frozen {
			m.say(Thawed{c.Op.ID})
		}
	}
	return nil
}

// prolong gives each open decision the time that it had left when the pause began, and never more
// than a whole window: the clock may have been set since.
func (m *moment) prolong() {
	for _, d := range m.Decisions {
		if d.Status == protocol.DecisionOpen && d.Deadline != nil && !m.pausedAt.IsZero() {
			m.say(Prolonged{Decision: d.ID, Until: m.at.Add(min(max(0, d.Deadline.Sub(m.pausedAt)), vetoWindow))})
		}
	}
}

// dropTheTalk stops an answer that the agent gives to the pause, which is over: its end would
// end the agent's turn, or begin another pause. A change that was decided goes on.
func (m *moment) dropTheTalk() {
	var queued []string
	if !m.Took {
		queued, _ = m.consequences(nil)
	}
	m.makeWay(queued, protocol.CancelledBy{Kind: protocol.ByPause, ID: m.Pause.ID})
}

// decide answers a pause, a decision or a question.
func (m *moment) decide(in Decide) error {
	given := 0
	for _, id := range []string{in.Pause, in.Decision, in.Question} {
		if id != "" {
			given++
		}
	}
	if given != 1 {
		return protocol.Errorf(protocol.InvalidParams, "pauseId, decisionId, questionId: give exactly one of them")
	}
	switch {
	case in.Pause != "":
		return m.decidePause(in)
	case in.Decision != "":
		return m.decideDecision(in)
	}
	return m.decideQuestion(in)
}

func (m *moment) decidePause(in Decide) error {
	if m.Pause == nil || m.Pause.ID != in.Pause {
		return protocol.Errorf(protocol.NoSuchEntity, "pauseId: no pause %q is open", in.Pause)
	}
	text := strings.TrimSpace(in.Text)
	if in.Option != "" {
		i := slices.IndexFunc(m.Pause.Options, func(o protocol.Option) bool { return o.ID == in.Option })
		if i < 0 {
			return protocol.Errorf(protocol.NoSuchEntity, "option: the pause has no option %q", in.Option)
		}
		text = joined(inline(m.Pause.Options[i].Title), text)
	}
	if text == "" {
		return protocol.Errorf(protocol.InvalidParams, "option, text: take an option or say in your words what shall change")
	}
	queued, _ := m.consequences(nil) // what waited was meant before this word
	m.makeWay(queued, protocol.CancelledBy{Kind: protocol.ByPause, ID: in.Pause})
	m.say(Decided{Pause: in.Pause, Option: in.Option, Text: text})
	return nil
}

// decidedFiles are the files that an option names, as paths of the workspace.
func (s State) decidedFiles(option string) []string {
	if s.Pause == nil || option == "" {
		return nil
	}
	i := slices.IndexFunc(s.Pause.Options, func(o protocol.Option) bool { return o.ID == option })
	if i < 0 {
		return nil
	}
	return s.Paths(s.Pause.Options[i].Files)
}

// undecided says why a call that changes a file goes beyond what the developer decided; "" where it
// does not. A decision that names no file leaves that to the agent.
func (s State) undecided(c Call) string {
	if !s.Took || len(s.Decided) == 0 || c.Op.Effect != protocol.EffectWrite {
		return ""
	}
	for _, file := range filesIn(c.Arguments) {
		name := s.path(path.Clean(file))
		if !slices.ContainsFunc(s.Decided, func(d string) bool { return name == d || strings.HasPrefix(name, strings.TrimSuffix(d, "/")+"/") }) {
			return fmt.Sprintf("refused: the developer decided to change %s, not %s. Change what was decided; where more is needed, say so with call_pause and an option that names it.", strings.Join(s.Decided, ", "), file)
		}
	}
	return ""
}

// endsChange says that a call means the end of the change that was decided: an agent which is done
// calls finish by habit.
func (s State) endsChange(c Call) bool {
	return s.Mode == protocol.Paused && s.Took && c.Op.Tool == toolFinish
}

// mostLooks is how many answers in a row an agent may give in a pause before its account is there.
const mostLooks = 20

// stopLooking makes it the developer's turn where the agent does not come to its account: one that
// only calls what a pause refuses would be asked for ever, and no budget bounds a pause.
func (m *moment) stopLooking() bool {
	if m.Mode != protocol.Paused || m.Took || m.urgent() || m.looks < mostLooks {
		return false
	}
	m.yield(fmt.Sprintf("the agent was asked %d times and gave no account; decide, or resume", m.looks))
	return true
}

// decideDecision keeps a decision, or overrides it: then it is a steer with that decision as its scope.
func (m *moment) decideDecision(in Decide) error {
	d, ok := m.State.decision(in.Decision)
	if !ok {
		return protocol.Errorf(protocol.NoSuchEntity, "decisionId: there is no decision %q", in.Decision)
	}
	if d.Status == protocol.DecisionOverridden {
		return protocol.Errorf(protocol.WrongMode, "decisionId: %q is overridden already; steer instead", d.Summary)
	}
	if m.proposal(d.ID) {
		return m.decideProposal(d, in)
	}
	if p, ok := m.permit(d.ID); ok {
		return m.decidePermit(d, p, in)
	}
	words := strings.TrimSpace(in.Text)
	if in.Option == "" && words == "" && !in.Reject {
		if d.Status == protocol.DecisionOpen {
			m.say(Stood{Decision: d.ID})
		}
		return nil
	}
	text := fmt.Sprintf("Not «%s».", inline(d.Summary))
	if in.Option != "" {
		i := slices.IndexFunc(d.Alternatives, func(a protocol.Alternative) bool { return a.ID == in.Option })
		if i < 0 {
			return protocol.Errorf(protocol.NoSuchEntity, "option: the decision has no alternative %q", in.Option)
		}
		text = fmt.Sprintf("Not «%s»: take «%s».", inline(d.Summary), inline(d.Alternatives[i].Title))
	}
	m.say(Overridden{Decision: d.ID, Chosen: in.Option})
	return m.steer(Steer{Text: joined(text, words), Scope: &protocol.Scope{DecisionID: d.ID}, By: in.By})
}

func (m *moment) decideQuestion(in Decide) error {
	i := slices.IndexFunc(m.Questions, func(q protocol.Question) bool { return q.ID == in.Question })
	if i < 0 {
		return protocol.Errorf(protocol.NoSuchEntity, "questionId: no question %q is open", in.Question)
	}
	if in.Option != "" && !slices.Contains(m.Questions[i].Options, in.Option) {
		return protocol.Errorf(protocol.NoSuchEntity, "option: the question has no option %q", in.Option)
	}
	if in.Option == "" && strings.TrimSpace(in.Text) == "" {
		return protocol.Errorf(protocol.InvalidParams, "option, text: take an option or answer in your words")
	}
	m.say(QuestionAnswered{Question: in.Question, Option: in.Option, Text: in.Text})
	if len(m.Questions) == 0 {
		m.wake()
	}
	return nil
}

func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }
