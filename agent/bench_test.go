package agent

import (
	"fmt"
	"testing"
	"time"
)

// worked is a session after a number of steps, each a question, its answer with a call, and the
// call's outcome; and all of its events.
func worked(tb testing.TB, steps int) (State, []Event) {
	s, events := turn(tb, State{}, Start{ID: "x", Workspace: "file:///w", Task: "go", Trusted: true})
	plan := ModelCall{Name: toolUpdatePlan, Arguments: example(toolUpdatePlan)}
	s, more := turn(tb, s, Replied{Question: s.Question.ID, Calls: []ModelCall{plan}})
	events = append(events, more...)
	for range steps {
		s, more = oneStep(tb, s)
		events = append(events, more...)
	}
	return s, events
}

// turn decides and applies one input, as a session does.
func turn(tb testing.TB, s State, in Input) (State, []Event) {
	events, err := s.Decide(At{Time: morning, Input: in})
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range events {
		s = s.Apply(e)
	}
	return s, events
}

// oneStep is an answer with one call, and its outcome, which leads to the next question.
func oneStep(tb testing.TB, s State) (State, []Event) {
	s, first := turn(tb, s, Replied{Question: s.Question.ID, Text: "I read it.", Calls: []ModelCall{{Name: toolReadFile, Arguments: example(toolReadFile)}}})
	s, second := turn(tb, s, Outcome{Op: s.Open[0].Op.ID, Text: "package a"})
	if s.Question == nil {
		tb.Fatalf("the next question is not asked: %+v", s.Work())
	}
	return s, append(first, second...)
}

// BenchmarkStep is the core's own cost of one step. It does not grow with the session.
func BenchmarkStep(b *testing.B) {
	for _, steps := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("after=%d", steps), func(b *testing.B) {
			start, _ := worked(b, steps)
			b.ReportAllocs()
			for b.Loop() {
				oneStep(b, start)
			}
		})
	}
}

// TestStepDoesNotGrow holds the same with a wide margin: allocations do not depend on the machine.
func TestStepDoesNotGrow(t *testing.T) {
	allocs := func(steps int) float64 {
		s, _ := worked(t, steps)
		return testing.AllocsPerRun(20, func() { oneStep(t, s) })
	}
	if few, many := allocs(10), allocs(3000); many > few*1.2 {
		t.Errorf("one step takes %.0f allocations after 10 steps and %.0f after 3000", few, many)
	}
}

// BenchmarkView is what showing a whole session costs.
func BenchmarkView(b *testing.B) {
	s, _ := worked(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		s.View(morning.Add(time.Hour))
	}
}

// BenchmarkReplay is what 100,000 events cost when a session is opened.
func BenchmarkReplay(b *testing.B) {
	_, events := worked(b, 17000)
	events = events[:100_000]
	b.ReportAllocs()
	for b.Loop() {
		Replay(events)
	}
}
