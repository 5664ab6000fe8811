package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// nudges is how often in a row the agent is asked again for what is missing.
const nudges = 2

// vain is how many questions in a row may get no answer before the developer is told.
const vain = 8

// replied takes the model's answer. One to a question that nobody asks any more is dropped.
func (m *moment) replied(in Replied) {
	if m.Question == nil || m.Question.ID != in.Question {
		return
	}
	q := *m.Question
	in.Calls = callables(in.Calls)
	if strings.TrimSpace(in.Text) == "" && len(in.Calls) == 0 {
		m.used(in.Usage)
		m.inVain(AskFailed{Question: q.ID, Why: FailCut, Text: "the model answered with nothing"})
		return
	}
	first := m.counters.ops + 1
	m.say(Answered{Question: q.ID, At: m.at, Text: in.Text, Calls: len(in.Calls), Length: in.Length,
		Message: assistantMessage(in, first)})
	m.used(in.Usage)
	in.Calls = slices.Clone(in.Calls)
	for i, c := range in.Calls {
		in.Calls[i] = meant(c)
	}
	if m.Plan.Revision == 0 && works(in.Calls) && !makesPlan(in.Calls) && m.Mode == protocol.Executing {
		m.unplanned()
	}
	var coming []string // the steps of plans that the answer makes before a call
	for _, c := range in.Calls {
		c.Arguments = undata(c.Arguments)
		m.queue(c, coming)
		coming = append(coming, stepsIn(c)...)
	}
	switch {
	case m.owesPlan() && !makesPlan(in.Calls):
		m.say(Reminded{Of: missingPlan})
	case in.Length && len(in.Calls) == 0 && m.Nudges < nudges:
		m.say(Reminded{Of: missingRest})
	case len(in.Calls) == 0:
		m.turnEnds("")
	}
}

func (m *moment) used(u protocol.Usage) {
	sum := m.Usage
	sum.InputTokens += u.InputTokens
	sum.CachedInputTokens += u.CachedInputTokens
	sum.OutputTokens += u.OutputTokens
	sum.Requests++
	sum.Estimated = sum.Estimated || u.Estimated
	m.say(Used{sum})
}

// nearTheLimit says that the next question may be too long for the model: the last one, with its
// answer, took nine tenths of what the model takes.
func (s State) nearTheLimit() bool {
	return s.Guards.Context > 0 && s.lastTokens > s.Guards.Context*9/10
}

func makesPlan(calls []ModelCall) bool {
	for _, c := range calls {
		if c.Name == toolUpdatePlan {
			return true
		}
	}
	return false
}

// works says that one of the calls reads or changes something: talk needs no plan.
func works(calls []ModelCall) bool {
	return slices.ContainsFunc(calls, func(c ModelCall) bool { return effect(c.Name) != protocol.EffectNone })
}

// stepsIn are the steps that a call makes a plan of; none where it makes none.
func stepsIn(c ModelCall) []string {
	var args planArguments
	if c.Name != toolUpdatePlan || arguments(toolUpdatePlan, c.Arguments, &args) != nil {
		return nil
	}
	var out []string
	for _, t := range args.Steps {
		out = append(out, string(t.ID))
	}
	return out
}

// queue puts a call of the model in the queue. Its step may be one of a plan that comes before it
// in the same answer.
func (m *moment) queue(c ModelCall, coming []string) {
	common := common(c.Arguments)
	step := string(common.Step)
	if _, ok := m.step(step); !ok && (step == "" || !slices.Contains(coming, step)) {
		step = m.activeStep()
	}
	intent := strings.TrimSpace(common.Intent)
	if intent == "" {
		intent = defaultIntent(c.Name, c.Arguments)
	}
	m.say(Called{Arguments: c.Arguments, Background: common.Background && c.Name == toolRunCommand, Op: protocol.Operation{
		ID: m.nextOp(), StepID: step, Kind: protocol.Tool, Tool: c.Name, Intent: clip(intent, 500),
		Effect: effect(c.Name), Target: target(c.Name, c.Arguments), Status: protocol.OpQueued,
	}})
}

// unplanned gives work that came before any plan a step to stand under; the agent is asked
// for a plan with the next question.
func (m *moment) unplanned() {
	t := protocol.Step{ID: unplannedStep, Title: "Unplanned work", Intent: "Work that began before there was a plan.",
		Status: protocol.StepActive, Origin: protocol.Origin{Kind: protocol.OriginAgent}}
	m.say(Planned{Plan: protocol.Plan{Revision: 1, Steps: []protocol.Step{t}, Cause: protocol.Cause{Kind: protocol.CauseAgent}},
		Diff: protocol.Diff{Added: []string{t.ID}}})
	m.say(Reminded{Of: missingFirstPlan})
}

// owesPlan says that the agent has heard a steer and not answered it with a plan. A pause is
// for talking: the plan comes after resume. An agent that was asked often enough is let go on.
func (s State) owesPlan() bool {
	return len(s.Owes) > 0 && s.Mode == protocol.Executing && s.Nudges < nudges
}

// turnEnds is the end of the agent's turn; steers that waited for it are heard instead.
func (m *moment) turnEnds(reason string) {
	if m.Mode == protocol.Paused {
		if m.Initiative == protocol.AgentInitiative {
			m.yield(reason)
		}
		return
	}
	if later := m.ready(true); len(later) > 0 {
		m.hear(later)
		return
	}
	if m.Mode == protocol.Executing {
		m.say(Waited{Reason: reason})
	}
}

// yield ends the agent's say in a pause.
func (m *moment) yield(reason string) {
	if reason == "" && m.canRerun() {
		m.rerun()
		return
	}
	if reason == "" && m.Took && m.Case == nil && len(m.Failing) > 0 {
		reason = fmt.Sprintf("the change is made; nothing ran again, because no scenario belongs to %s (a condition can name one)", strings.Join(m.Failing, ", "))
	}
	m.say(Yielded{Reason: reason})
	m.freeze()
}

// askFailed takes the news that a question got no whole answer.
func (m *moment) askFailed(in AskFailed) {
	if m.Question == nil || m.Question.ID != in.Question {
		return
	}
	m.inVain(in)
}

// inVain asks again what may pass, and tells the developer what will not. It never loops: a
// conversation is compacted once, and questions in vain are counted.
func (m *moment) inVain(in AskFailed) {
	compacted := m.Retry.Compacted
	m.say(AskedInVain{Question: in.Question, At: m.at, Why: in.Why, Text: in.Text})
	switch {
	case in.Why == FailContext && m.cannotShrink():
		m.giveUp(in.Text + "; " + m.shrinkReason())
	case in.Why == FailContext && !compacted:
		m.say(Compacted{Messages: m.brief()})
	case in.Why == FailFinal, in.Why == FailContext, m.Retry.InARow >= vain:
		m.giveUp(in.Text)
	case in.Wait > 0:
		m.say(Deferred{Until: m.at.Add(in.Wait), Why: fmt.Sprintf("%s; it is asked again in %s", in.Text, in.Wait.Round(100*time.Millisecond))})
	}
}

// giveUp hands over to the developer, with the reason.
func (m *moment) giveUp(reason string) {
	if m.Mode == protocol.Paused {
		m.yield(reason)
		return
	}
	m.say(Waited{Reason: reason})
}
