package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// Budget bounds what a session may use before the developer has to look. 0 is no bound. What was
// used counts anew when the developer resumes after it; minutes count anew after every pause and wait.
type Budget struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests,omitempty"`
	Tokens   int64  `json:"tokens,omitempty"` // in and out
	Minutes  int64  `json:"minutes,omitempty"`
	Repeats  int64  `json:"repeats,omitempty"` // like calls in a row
}

// spent is what a session had used when a portion began.
type spent struct {
	usage protocol.Usage
	at    time.Time
}

// overspent is the first budget that is used up, with what was expected and observed.
func (s State) overspent(now time.Time) (protocol.Fact, bool) {
	requests := s.Usage.Requests - s.portion.usage.Requests
	tokens := s.Usage.InputTokens + s.Usage.OutputTokens - s.portion.usage.InputTokens - s.portion.usage.OutputTokens
	for _, b := range s.Guards.Budgets {
		switch {
		case b.Requests > 0 && requests >= b.Requests:
			return budgetFact(b.Name, fmt.Sprintf("at most %d requests to the model", b.Requests), fmt.Sprint(requests)), true
		case b.Tokens > 0 && tokens >= b.Tokens:
			return budgetFact(b.Name, fmt.Sprintf("at most %d tokens", b.Tokens), s.reckoned(tokens)), true
		case b.Minutes > 0 && !now.Before(s.spentAt(b)):
			return budgetFact(b.Name, fmt.Sprintf("at most %d minutes", b.Minutes), now.Sub(s.portion.at).Round(time.Second).String()), true
		}
	}
	return protocol.Fact{}, false
}

// reckoned is a number of tokens, and whether anybody has counted them.
func (s State) reckoned(tokens int64) string {
	if s.Usage.Estimated {
		return fmt.Sprintf("about %d: the model's server reports none, so they are reckoned from the length of the words", tokens)
	}
	return fmt.Sprint(tokens)
}

// spendsFrom counts minutes anew: what a pause or a wait for the developer took is nobody's time, and
// they have looked.
func (s *State) spendsFrom(at time.Time) {
	if !at.IsZero() {
		s.portion.at = at
	}
}

func (s State) spentAt(b Budget) time.Time {
	return s.portion.at.Add(time.Duration(b.Minutes) * time.Minute)
}

func budgetFact(name, expected, observed string) protocol.Fact {
	return protocol.Fact{Text: fmt.Sprintf("%s: expected %s, observed %s.", name, expected, observed),
		Source: &protocol.FactSource{Tripwire: name, Expected: expected, Observed: observed}}
}

// stopSpending pauses a session that works and whose budget is used up.
func (m *moment) stopSpending() bool {
	if m.Mode != protocol.Executing {
		return false
	}
	fact, over := m.overspent(m.at)
	if over {
		m.pauseByBudget(fact)
	}
	return over
}

func (m *moment) pauseByBudget(fact protocol.Fact) {
	m.beginPause(Paused{Pause: protocol.Pause{ID: m.nextPause(), By: protocol.PausedByBudget,
		Reason: "stopped by " + fact.Source.Tripwire, Facts: []protocol.Fact{fact}}, Asks: true}, false)
}

// stopRepeating pauses a session whose agent makes the same call over and over.
func (m *moment) stopRepeating(c Call) bool {
	if m.Mode != protocol.Executing || c.Like == 0 {
		return false
	}
	for _, b := range m.Guards.Budgets {
		if b.Repeats > 0 && int64(c.Like) >= b.Repeats {
			m.pauseByBudget(budgetFact(b.Name, fmt.Sprintf("fewer than %d like calls in a row", b.Repeats),
				fmt.Sprintf("%s, %d times in a row", strings.TrimSpace(c.Op.Tool+" "+clip(c.Op.Target, 120)), c.Like)))
			return true
		}
	}
	return false
}

// like counts how often in a row this call was made, its intent and step aside; 0 where no budget
// counts it.
func (s *State) like(c Called) int {
	counts := slices.ContainsFunc(s.Guards.Budgets, func(b Budget) bool { return b.Repeats > 0 })
	if !counts || c.For != "" || c.Op.Effect == protocol.EffectNone {
		return 0
	}
	key := c.Op.Tool + " " + essence(c.Arguments)
	if key != s.lastLike.key {
		s.lastLike = likes{key: key}
	}
	s.lastLike.times++
	s.lastLike.op = c.Op.ID
	return s.lastLike.times
}

// likes is the last call and how often it was made in a row with the same outcome.
type likes struct {
	key   string
	times int
	op    string // its newest operation
	came  string // what came of the last one that has ended; "" is nothing yet
}

// outcomeOf counts anew where the same call had another outcome: who waits for something by asking
// again does not turn in a circle.
func (s *State) outcomeOf(op protocol.Operation, text string) {
	if op.ID != s.lastLike.op {
		return
	}
	came := fmt.Sprintf("%s %s", op.Status, text)
	if op.Effect == protocol.EffectExecute { // its text tells how long it took
		came = fmt.Sprintf("%s%s %s", op.Status, exitWords(op.ExitCode), op.Output)
	}
	if s.lastLike.came != "" && s.lastLike.came != came {
		s.lastLike.times = 1
	}
	s.lastLike.came = came
}

// essence is a call's arguments without what only tells of it, in a fixed order; the text itself
// where it is no object.
func essence(args string) string {
	d := json.NewDecoder(strings.NewReader(args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return args
	}
	var parts []string
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return args
		}
		var compact bytes.Buffer
		if key == "intent" || key == "step" || json.Compact(&compact, value) != nil {
			continue
		}
		parts = append(parts, fmt.Sprintf("%q:%s", key, compact.String()))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
