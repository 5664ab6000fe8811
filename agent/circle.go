package agent

import (
	"fmt"
	"strings"
	"time"
)

// sameFailures is how often in a row one call may fail in one way before the developer is told: a
// model that sends it again and again spends tokens and gets nowhere.
const sameFailures = 5

// mostAnew is how often in a row a conversation is begun anew with at most one answer in between.
const mostAnew = 2

// circle is what turns without anything getting done.
type circle struct {
	failure string // the last call that failed, and how
	told    string // the same in a sentence
	times   int    // how often in a row it did
	anew    int    // how often in a row the conversation was begun anew
	answers int    // since it was
}

// failedAgain counts a call that has returned. A command that ran is none of it: it may look for
// something that is still to come.
func (s *State) failedAgain(e Returned) {
	c, ok := s.call(e.Op)
	if !ok || c.For != "" || c.Reverts != nil {
		return
	}
	if !e.Failed || e.ExitCode != nil {
		s.circle.failure, s.circle.times = "", 0
		return
	}
	failure := c.Op.Tool + " " + essence(c.Arguments) + " " + e.Text
	if failure != s.circle.failure {
		s.circle.times = 0
	}
	s.circle.failure, s.circle.told = failure, clip(strings.TrimSpace(c.Op.Tool+" "+c.Op.Target), 120)+": "+clip(e.Text, 300)
	s.circle.times++
}

// begunAnew counts the beginnings of a conversation that could hold hardly an answer in between.
func (s *State) begunAnew() {
	if s.circle.answers > 1 {
		s.circle.anew = 0
	}
	s.circle.anew++
	s.circle.answers = 0
}

// stopCircling hands over when the agent makes one call that fails again and again.
func (m *moment) stopCircling() bool {
	if m.circle.times < sameFailures || m.urgent() {
		return false
	}
	m.giveUp(fmt.Sprintf("repeated_invalid_call: the agent made the same call %d times in a row and it failed the same way each time (%s); say how it shall go on", m.circle.times, m.circle.told))
	return true
}

// cannotShrink says that to begin the conversation anew again would help as little as it did before.
func (s State) cannotShrink() bool { return s.circle.anew >= mostAnew && s.circle.answers <= 1 }

// circles says that the developer was handed over to because nothing gets done, and has not spoken yet.
func (s State) circles() bool {
	return s.circle.times >= sameFailures || s.nearTheLimit() && s.cannotShrink()
}

// shrinkReason is why such a session stands still.
func (s State) shrinkReason() string {
	limit := "the model takes"
	if s.Guards.Context > 0 {
		limit = fmt.Sprintf("the model takes (model.context is %d tokens)", s.Guards.Context)
	}
	return fmt.Sprintf("context_cannot_shrink: the conversation was begun anew %d times in a row and is as long as %s again; take a model that takes more, or steer the agent to smaller reads", s.circle.anew, limit)
}

// lookedAt begins to count anew: the developer has spoken.
func (s *State) lookedAt() { s.circle = circle{} }

// callable is a tool's name as every server takes it in a conversation, whatever the model called.
func callable(name string) string {
	if known(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), longestName)]
}

// longestName is how long the name of a tool may be where servers are strict.
const longestName = 64

// callables are the calls of an answer with names that can be sent back.
func callables(calls []ModelCall) []ModelCall {
	out := make([]ModelCall, len(calls))
	for i, c := range calls {
		c.Name = callable(c.Name)
		out[i] = c
	}
	return out
}

// longestDeferral is longer than any wait that is sat out: a later time is that of a clock which was
// set since.
const longestDeferral = 15 * time.Minute
