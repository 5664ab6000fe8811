package agent

import (
	"fmt"
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
	m.beginPause(p, in.Reason != "", in.End)
	return nil
}

// beginPause stops everything that changes something: what had not begun waits (or is
// cancelled, where the agent is asked to think anew), what runs is frozen or ended.
func (m *moment) beginPause(p protocol.Pause, asks, end bool) {
	by := protocol.CancelledBy{Kind: protocol.ByPause, ID: p.ID}
	if asks {
		m.cutQuestion(by)
	}
	for _, c := range slices.Clone(m.Open) {
		switch {
		case c.Op.Status == protocol.OpQueued:
			if asks || p.By != protocol.PausedByDeveloper {
				m.cancel(c, by)
			}
		case c.Op.Effect != protocol.EffectExecute || c.Stop != nil:
		case end:
			m.cancel(c, by)
		default:
			p.Frozen = append(p.Frozen, c.Op.ID)
		}
	}
	m.say(Paused{Pause: p, Asks: asks})
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

// resume is always the developer's.
func (m *moment) resume() error {
	if m.Mode != protocol.Paused {
		return &protocol.Error{Kind: protocol.WrongMode, Mode: m.Mode, Text: fmt.Sprintf("resume: the session is not paused, it is %s", m.Mode)}
	}
	if m.Initiative == protocol.AgentInitiative {
		m.dropTheTalk()
	}
	m.say(Resumed{Pause: m.Pause.ID})
	for _, c := range m.Open {
		if c.Frozen {
			m.say(Thawed{c.Op.ID})
		}
	}
	return nil
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
		text = joined(m.Pause.Options[i].Title, text)
	}
	if text == "" {
		return protocol.Errorf(protocol.InvalidParams, "option, text: take an option or say in your words what shall change")
	}
	queued, _ := m.consequences(nil) // what waited was meant before this word
	m.makeWay(queued, protocol.CancelledBy{Kind: protocol.ByPause, ID: in.Pause})
	m.say(Decided{Pause: in.Pause, Option: in.Option, Text: text})
	return nil
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
	words := strings.TrimSpace(in.Text)
	if in.Option == "" && words == "" && !in.Reject {
		if d.Status == protocol.DecisionOpen {
			m.say(Stood{d.ID})
		}
		return nil
	}
	text := fmt.Sprintf("Not «%s».", d.Summary)
	if in.Option != "" {
		i := slices.IndexFunc(d.Alternatives, func(a protocol.Alternative) bool { return a.ID == in.Option })
		if i < 0 {
			return protocol.Errorf(protocol.NoSuchEntity, "option: the decision has no alternative %q", in.Option)
		}
		text = fmt.Sprintf("Not «%s»: take «%s».", d.Summary, d.Alternatives[i].Title)
	}
	m.say(Overridden{Decision: d.ID, Chosen: in.Option})
	return m.steer(Steer{Text: joined(text, words), Scope: &protocol.Scope{DecisionID: d.ID}})
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
