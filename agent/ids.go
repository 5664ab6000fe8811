package agent

import "fmt"

// Ids are counted in the state, so that a replay gives the same ones. The id of an operation
// is also the id of its call in the conversation; nine letters and digits are what the
// strictest servers take there.

func (s State) nextOp() string       { return fmt.Sprintf("op%07d", s.counters.ops+1) }
func (s State) nextThought() string  { return fmt.Sprintf("th%07d", s.counters.ops+1) }
func (s State) nextSteer() string    { return fmt.Sprintf("t%d", s.counters.steers+1) }
func (s State) nextDecision() string { return fmt.Sprintf("d%d", s.counters.decisions+1) }
func (s State) nextPause() string    { return fmt.Sprintf("p%d", s.counters.pauses+1) }
func (s State) nextCheckIn() string  { return fmt.Sprintf("c%d", s.counters.asides+1) }
func (s State) nextAside() string    { return fmt.Sprintf("a%d", s.counters.asides+1) }

// nextStep is an id for a step that came without one; it is free in the whole history of the plan.
func (s State) nextStep(taken int) string { return fmt.Sprintf("s%d", s.counters.steps+1+taken) }

// stepNumber is the number in a step's id of our own form, else 0.
func stepNumber(id string) int {
	var n int
	if _, err := fmt.Sscanf(id, "s%d", &n); err != nil || fmt.Sprintf("s%d", n) != id {
		return 0
	}
	return n
}
