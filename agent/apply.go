package agent

import (
	"encoding/json"
	"slices"
	"time"

	"tandem/protocol"
)

// Apply is the state with the fact e in it. It is total: a fact has happened, it cannot fail.
func (s State) Apply(e Event) State {
	s.Seq++
	switch e := e.(type) {
	case Started:
		s.Started, s.Autonomy = e, e.Autonomy
		s.Mode, s.Initiative = protocol.Executing, protocol.AgentInitiative
		s.portion.at, s.letStand = e.At, e.Habits
	case Woke:
		s.Mode, s.Initiative = protocol.Executing, protocol.AgentInitiative
		s.spendsFrom(e.At)
		s.Retry = Retry{}
		s.lookedAt()
	case Waited:
		s.Mode, s.Initiative = protocol.Waiting, protocol.DeveloperInitiative
	case Finished:
		s.Mode, s.Initiative = protocol.Done, protocol.DeveloperInitiative
	case Ended:
		s.Mode, s.Initiative, s.Ended = protocol.Done, protocol.DeveloperInitiative, true
		s.Pause, s.Questions, s.Case, s.Failing = nil, nil, nil, nil
	case FileEdited:
		s.noteEdited(e)
	case AutonomySet:
		s.Autonomy = e.Level
		s.note(autonomyNote(e.Level))
	case Asked:
		s = s.asked(e)
	case Answered:
		s = s.answered(e)
	case Cut:
		s.talk = s.talk.add(e.Message)
		s.endQuestion(think(s.Question, protocol.OpCancelled, e.At, &e.By))
	case AskedInVain:
		s.endQuestion(inVain(s.Question, e))
		s.Retry.InARow++
	case Deferred:
		s.Retry.Until = e.Until
	case Used:
		s.lastTokens = e.Usage.InputTokens + e.Usage.OutputTokens - s.Usage.InputTokens - s.Usage.OutputTokens
		s.Usage = e.Usage
	case Compacted:
		s = s.compacted(e)
	case Reminded:
		s.Nudges++
		s.Missing = e.Of
	case Called:
		s = s.called(e)
	case Began:
		s.edit(e.Op, func(c *Call) {
			c.Op.Status, c.Op.StartedAt, c.Began = protocol.OpRunning, &e.At, s.Seq
			c.Answers, c.Base = s.Owes, s.Plan.Revision
		})
	case Changed:
		s = s.changed(e)
	case Printed:
		s.edit(e.Op, func(c *Call) { c.Op.Output = clip(c.Op.Output+e.Text, shownOutput) })
	case Withheld:
		s = s.withheld(e)
	case Returned:
		s.revertEnded(e)
		s.failedAgain(e)
		s.end(e.Op, returned(e), e.Text)
	case Stopping:
		s.edit(e.Op, func(c *Call) { c.Stop = &e.By })
	case Cancelled:
		s.end(e.Op, cancelled(e), cancelledText(e))
	case Lost:
		if c, ok := s.call(e.Op); ok && c.Reverts != nil {
			s.noteRevert(s.lostRevert(c))
		}
		s.end(e.Op, lost(e), s.lostText(e.Op))
	case Froze:
		s.edit(e.Op, func(c *Call) { c.Op.Status, c.Frozen = protocol.OpFrozen, true })
		s.editPause(func(p *protocol.Pause) {
			if !slices.Contains(p.Frozen, e.Op) {
				p.Frozen = append(slices.Clone(p.Frozen), e.Op)
			}
		})
	case Thawed:
		s.edit(e.Op, func(c *Call) { c.Op.Status, c.Frozen = protocol.OpRunning, false })
	case Planned:
		s = s.planned(e).stepsEnded(s.Plan)
	case Taken:
		s.edit(e.Op, func(c *Call) {
			c.Taken, c.Conflicts, c.Obsolete, c.Reverted = true, e.Conflicts, e.Cancelled, e.Reverted
		})
	case StepChanged:
		before := s.Plan
		s.editStep(e.Step, func(t *protocol.Step) { t.Status, t.Verified = e.Status, e.Verified })
		s.sinceCheckIn.reads = 0
		s = s.stepsEnded(before)
	case Steered:
		s.Steers = append(slices.Clone(s.Steers), Steering{Steer: e.Steer, Context: e.Context, Unseen: e.Unseen, Waits: e.Waits})
		s.counters.steers++
	case Heard:
		s = s.heard(e)
	case Applied:
		s.dropSteer(e.Steer)
	case Withdrawn:
		s.dropSteer(e.Steer)
	case Announced:
		s = s.announcedState(e).askedLeave(e)
	case Stood:
		s.editDecision(e.Decision, func(d *protocol.Decision) {
			d.Status, d.Chosen = protocol.DecisionStanding, e.Chosen
		})
		s = s.proposalDecided(e.Decision, true).decidedKind(e.Decision, true)
	case Overridden:
		s.editDecision(e.Decision, func(d *protocol.Decision) {
			d.Status, d.Chosen = protocol.DecisionOverridden, e.Chosen
		})
		s = s.proposalDecided(e.Decision, false).decidedKind(e.Decision, false)
	case ClockMoved:
		s = s.clockMoved(e)
	case Prolonged:
		s.editDecision(e.Decision, func(d *protocol.Decision) { d.Deadline = &e.Until })
	case Questioned:
		s.Questions = append(slices.Clone(s.Questions), e.Questions...)
		s.counters.questions += len(e.Questions)
		s.Mode, s.Initiative = protocol.Waiting, protocol.DeveloperInitiative
	case QuestionAnswered:
		s = s.questionAnswered(e)
	case Paused:
		s = s.paused(e)
	case Informed:
		s = s.informed(e)
	case Yielded:
		s.Initiative, s.Took = protocol.DeveloperInitiative, false
		s.Retry = Retry{}
	case Decided:
		s.Initiative, s.Took, s.looks = protocol.AgentInitiative, true, 0
		s.Decided = s.decidedFiles(e.Option)
		s.editCase(func(c *Case) { c.Running = false })
		s.editPause(func(p *protocol.Pause) { p.Decision = e.Text })
		s.words = s.words.add(e.Text)
		s.note(decidedNote(e))
	case Resumed:
		s = s.resumed(e)
	case Guarded:
		s = s.guarded(e)
	case Checked:
		s = s.checked(e)
	case Watched:
		s = s.watched(e)
	case Unwatched:
		s = s.unwatched(e)
	case Tripped:
		s = s.tripped(e.Facts)
	case InputsKept:
		s = s.inputsKept(e)
	case RanBefore:
		s = s.ranBefore(e)
	case Rerunning:
		s.Took, s.Initiative = false, protocol.AgentInitiative
		s.editCase(func(c *Case) { c.Running = true; c.Runs++ })
	case ScenarioWanted:
		s.counters.runs++
		s.Wanted = append(slices.Clone(s.Wanted), e.Wanted)
	case Compared:
		s = s.compared(e)
	case Uncompared:
		s = s.uncompared(e)
	case StillFailed:
		s = s.stillFailed(e)
	case AskedAside:
		s = s.askedAside(e)
	case AskedAsideAgain:
		s = s.askedAsideAgain(e)
	case CheckedIn:
		s = s.checkedInState(e)
	case AnsweredAside:
		s = s.asideOver(SideAnswer{ID: e.ID, Answer: e.Answer})
	case AsideFailed:
		s = s.asideOver(SideAnswer{ID: e.ID, Failed: e.Text})
	case Signalled:
		s = s.signalled(e)
	case Committed:
		s = s.committed(e)
	}
	return s
}

// Replay folds events into the state that they describe.
func Replay(events []Event) State {
	var s State
	for _, e := range events {
		s = s.Apply(e)
	}
	return s
}

func (s State) asked(e Asked) State {
	for _, m := range e.Messages {
		s.talk = s.talk.add(m)
	}
	for _, t := range s.Turn {
		if !t.Ended {
			s.edit(t.Op, func(c *Call) { c.Late = true })
		}
	}
	s.Turn, s.Unsaid, s.Missing = nil, nil, ""
	s.Question = &Question{ID: e.Question, Force: e.Force, Silent: e.Silent, Started: e.At, Seq: s.Seq}
	s.Retry.Until = time.Time{}
	s.counters.ops++
	s.looks++
	return s
}

func (s State) answered(e Answered) State {
	s.talk = s.talk.add(e.Message)
	op := think(s.Question, protocol.OpDone, e.At, nil)
	op.Output = clip(e.Text, shownOutput)
	s.endQuestion(op)
	s.Retry = Retry{}
	s.circle.answers++
	s.Turn = nil
	if len(s.Owes) == 0 && !e.Length {
		s.Nudges = 0
	}
	return s
}

func (s State) compacted(e Compacted) State {
	s.talk = chain[json.RawMessage]{}
	for _, m := range e.Messages {
		s.talk = s.talk.add(m)
	}
	for _, t := range s.Turn {
		if !t.Ended {
			s.edit(t.Op, func(c *Call) { c.Late = true })
		}
	}
	s.Turn, s.Unsaid = nil, nil
	s.Retry.Compacted, s.lastTokens = true, 0
	s.begunAnew()
	return s
}

func (s State) called(e Called) State {
	s.Open = append(slices.Clone(s.Open), Call{
		Op: e.Op, Arguments: e.Arguments, Background: e.Background, For: e.For, Steps: e.Steps, Like: s.like(e), Reverts: e.Reverts,
	})
	if e.For == "" && e.Reverts == nil {
		s.Turn = append(slices.Clone(s.Turn), TurnCall{Op: e.Op.ID})
	}
	s.counters.ops++
	return s
}

func (s State) changed(e Changed) State {
	c, _ := s.call(e.Op)
	s.edit(e.Op, func(c *Call) {
		c.Touched, c.Unlisted = append(slices.Clone(c.Touched), e.Files...), c.Unlisted || e.Unlisted
		for _, f := range e.Files {
			if !slices.Contains(c.Op.Files, f.Path) {
				c.Op.Files = append(slices.Clone(c.Op.Files), f.Path)
			}
		}
	})
	for _, t := range s.Plan.Steps {
		if affects(c, t, e.Files) {
			s.touch(t.ID)
		}
	}
	return s
}

func (s State) planned(e Planned) State {
	if s.Plan.Revision > 0 && s.Plan.Revision != e.Plan.Revision {
		s.plans = s.plans.add(s.Plan) // as it stood at its end
	}
	if doneSteps(e.Plan) > doneSteps(s.Plan) {
		s.sinceCheckIn.reads = 0
	}
	s.Plan = e.Plan
	s.Nudges = 0
	for _, t := range e.Plan.Steps {
		s.counters.steps = max(s.counters.steps, stepNumber(t.ID))
	}
	for _, c := range e.Diff.Changed { // another verification is no proof of the old one's
		if verifyOf(c.Before) != verifyOf(c.After) {
			s.touch(c.After.ID)
		}
	}
	if e.Plan.Cause.Kind == protocol.CauseDeveloper {
		s.note(developersPlanNote(e))
		s.Unsaid[len(s.Unsaid)-1].Now = s.Mode == protocol.Executing // a pause is not ended by it
	}
	return s
}

func (s State) heard(e Heard) State {
	i := slices.IndexFunc(s.Steers, func(t Steering) bool { return t.Steer.ID == e.Steer })
	if i < 0 {
		return s
	}
	s.Steers = slices.Clone(s.Steers)
	s.Steers[i].Steer.Status = protocol.SteerHeard
	s.Owes = append(slices.Clone(s.Owes), e.Steer)
	s.words = s.words.add(s.Steers[i].Steer.Text)
	s.Unsaid = append(slices.Clone(s.Unsaid), Note{Steer: e.Steer, Text: steerNote(s, s.Steers[i])})
	s.Nudges = 0
	if s.Mode == protocol.Paused {
		s.Initiative, s.looks = protocol.AgentInitiative, 0
	}
	return s
}

func (s State) questionAnswered(e QuestionAnswered) State {
	i := slices.IndexFunc(s.Questions, func(q protocol.Question) bool { return q.ID == e.Question })
	if i < 0 {
		return s
	}
	s.note(answerNote(s.Questions[i], e))
	s.words = s.words.add(joined(e.Option, e.Text) + " (asked: " + s.Questions[i].Text + ")")
	s.Questions = slices.Delete(slices.Clone(s.Questions), i, i+1)
	return s
}

func (s State) paused(e Paused) State {
	s.Mode, s.Initiative, s.Took, s.looks = protocol.Paused, protocol.DeveloperInitiative, false, 0
	p := e.Pause
	s.Pause = &p
	s.pausedAt = e.At
	s.Case, s.Failing = nil, nil
	if p.By != protocol.PausedByBudget { // what is used up counts anew after resume
		s.Failing = tripwires(p.Facts)
	}
	if e.Scenario != "" {
		s.Case = &Case{Scenario: e.Scenario, After: e.After}
	}
	s.counters.pauses++
	s.counters.options += len(p.Options)
	if e.Asks {
		s.Initiative = protocol.AgentInitiative
		s.note(pauseNote(p))
	}
	return s
}

// resumed ends the pause: the agent goes on, and a budget that was used up counts anew.
func (s State) resumed(e Resumed) State {
	if s.Pause != nil && s.Pause.By == protocol.PausedByBudget {
		s.portion, s.lastLike = spent{usage: s.Usage}, likes{}
	}
	s.spendsFrom(e.At)
	s.lookedAt()
	s.Mode, s.Initiative, s.Pause, s.Took = protocol.Executing, protocol.AgentInitiative, nil, false
	s.Case, s.Failing = nil, nil
	s.note(resumedNote(e))
	return s
}

// looksBehind says that a call which ends could have touched what is looked after.
func (s State) looksBehind(c Call) bool {
	began := c.Op.Status != protocol.OpQueued
	return began && (changes(c.Op.Effect) || len(c.Touched) > 0) && (s.tripwired() || len(s.Watches) > 0)
}

func (s State) informed(e Informed) State {
	s.Initiative, s.Took = protocol.DeveloperInitiative, false
	s.counters.options += len(e.Options)
	s.editPause(func(p *protocol.Pause) {
		p.Facts = append(slices.Clone(p.Facts), e.Facts...)
		p.LikelyCause, p.Options = e.LikelyCause, e.Options
	})
	return s
}

// end closes an open call: it becomes past, and the model is told what came of it.
func (s *State) end(id string, ended func(protocol.Operation) protocol.Operation, text string) {
	i := slices.IndexFunc(s.Open, func(c Call) bool { return c.Op.ID == id })
	if i < 0 {
		return
	}
	c := s.Open[i]
	s.Open = slices.Delete(slices.Clone(s.Open), i, i+1)
	op := ended(c.Op)
	p := Past{Op: op, Seq: s.Seq, Began: c.Began, Changes: c.Touched, Unlisted: c.Unlisted, Reverted: c.Reverted, Conflicts: c.Conflicts}
	s.done = s.done.add(&p)
	s.countReverts(c, p)
	s.countCommits(p)
	s.lulled(op)
	s.outcomeOf(op, text)
	if s.looksBehind(c) {
		s.Unchecked = append(slices.Clone(s.Unchecked), id)
	}
	if c.For != "" {
		s.edit(c.For, func(by *Call) { by.Verified = append(slices.Clone(by.Verified), verification(s, c, op)) })
		return
	}
	if j := s.turn(id); j >= 0 {
		s.Turn = slices.Clone(s.Turn)
		s.Turn[j].Result, s.Turn[j].Ended = text, true
	} else if c.Late {
		s.note(lateNote(op, text))
	}
}

// endQuestion closes the question that is open as the past operation op.
func (s *State) endQuestion(op protocol.Operation) {
	if s.Question == nil {
		return
	}
	s.done = s.done.add(&Past{Op: op, Seq: s.Seq})
	s.Question = nil
}

func (s *State) note(text string) { s.Unsaid = append(slices.Clone(s.Unsaid), Note{Text: text}) }

func (s *State) edit(op string, change func(*Call)) {
	i := slices.IndexFunc(s.Open, func(c Call) bool { return c.Op.ID == op })
	if i < 0 {
		return
	}
	s.Open = slices.Clone(s.Open)
	change(&s.Open[i])
}

func (s *State) editStep(id string, change func(*protocol.Step)) {
	i := slices.IndexFunc(s.Plan.Steps, func(t protocol.Step) bool { return t.ID == id })
	if i < 0 {
		return
	}
	s.Plan.Steps = slices.Clone(s.Plan.Steps)
	change(&s.Plan.Steps[i])
}

func (s *State) editDecision(id string, change func(*protocol.Decision)) {
	i := slices.IndexFunc(s.Decisions, func(d protocol.Decision) bool { return d.ID == id })
	if i < 0 {
		return
	}
	s.Decisions = slices.Clone(s.Decisions)
	change(&s.Decisions[i])
}

func (s *State) editPause(change func(*protocol.Pause)) {
	if s.Pause == nil {
		return
	}
	p := *s.Pause
	change(&p)
	s.Pause = &p
}

func (s *State) dropSteer(id string) {
	s.Steers = slices.DeleteFunc(slices.Clone(s.Steers), func(t Steering) bool { return t.Steer.ID == id })
	s.Owes = slices.DeleteFunc(slices.Clone(s.Owes), func(o string) bool { return o == id })
}

func (s *State) touch(step string) {
	s.Touched = slices.DeleteFunc(slices.Clone(s.Touched), func(t touch) bool { return t.step == step })
	s.Touched = append(s.Touched, touch{step, s.Seq})
}
