package agent

import (
	"fmt"
	"time"

	"tandem/protocol"
)

// clockSet keeps what is measured as it was measured: a veto window that has begun gives the developer
// the whole of its time, whatever the clock says meanwhile, and no wait becomes longer. A wait for the
// model's server may end early: its time passes there.
func (m *moment) clockSet(in ClockSet) {
	if !m.alive() {
		return
	}
	m.say(ClockMoved{At: m.at, By: in.By})
	for _, d := range m.Decisions {
		if d.Status == protocol.DecisionOpen && d.Deadline != nil {
			m.say(Prolonged{Decision: d.ID, Until: d.Deadline.Add(in.By)})
		}
	}
	if until := m.Retry.Until; in.By < 0 && until.After(m.at) { // it has moved with the clock
		m.say(Deferred{Until: until, Why: fmt.Sprintf("the clock was set back; the model is asked again in %s", until.Sub(m.at).Round(100*time.Millisecond))})
	}
}

func (s State) clockMoved(e ClockMoved) State {
	for _, t := range []*time.Time{&s.portion.at, &s.pausedAt} {
		if !t.IsZero() {
			*t = t.Add(e.By)
		}
	}
	if s.Question != nil {
		q := *s.Question
		q.Started = q.Started.Add(e.By)
		s.Question = &q
	}
	if e.By < 0 && !s.Retry.Until.IsZero() {
		s.Retry.Until = s.Retry.Until.Add(e.By)
	}
	return s
}

func clockWords(by time.Duration) string {
	if by < 0 {
		return fmt.Sprintf("the clock was set back by %s; what waits keeps its time", -by.Round(time.Second))
	}
	return fmt.Sprintf("the clock was set forward by %s, or the machine slept; what waits keeps its time", by.Round(time.Second))
}
