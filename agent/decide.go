package agent

import (
	"fmt"
	"time"

	"tandem/protocol"
)

// Decide says which facts an input makes true. It changes nothing: the facts are true once
// they are applied. An error is a refusal, a sentence for the developer; no facts come with it.
func (s State) Decide(in Input) ([]Event, error) {
	at, ok := in.(At)
	if !ok {
		return nil, fmt.Errorf("input %T came without its time", in)
	}
	m := moment{State: s, at: at.Time.UTC(), partial: at.Partial}
	if err := m.react(at.Input); err != nil {
		return nil, err
	}
	m.settle()
	m.notice()
	return m.events, nil
}

// A moment is one decision in the making: the state as it is with the facts so far.
type moment struct {
	State
	at      time.Time
	partial []Partial
	events  []Event
}

// say makes a fact true.
func (m *moment) say(events ...Event) {
	for _, e := range events {
		m.State = m.Apply(e)
		m.events = append(m.events, e)
	}
}

// said is what an operation had said by now.
func (m *moment) said(op string) string {
	for _, p := range m.partial {
		if p.Op == op {
			return p.Text
		}
	}
	return ""
}

func (m *moment) react(in Input) error {
	switch in := in.(type) {
	case Start:
		return m.start(in)
	case Reopened:
		m.reopened()
		return nil
	case Replied:
		if !m.asideReplied(in) {
			m.replied(in)
		}
		return nil
	case AskFailed:
		if !m.asideFailed(in) {
			m.askFailed(in)
		}
		return nil
	case Outcome:
		m.outcome(in)
		return nil
	case Said:
		if c, ok := m.call(in.Op); ok && c.Op.Status != protocol.OpQueued && in.Text != "" {
			m.say(Printed(in))
		}
		return nil
	case ClockSet:
		m.clockSet(in)
		return nil
	case TimePassed:
		m.timePassed()
		return nil
	case Edited:
		m.fileEdited(in)
		return nil
	case Evaluated:
		m.evaluated(in)
		return nil
	case Kept:
		m.kept(in)
		return nil
	case Preceded:
		m.preceded(in)
		return nil
	case Reran:
		m.reran(in)
		return nil
	case CommitEnded:
		m.commitEnded(in)
		return nil
	}
	if err := m.refuseUnlessAlive(in); err != nil {
		return err
	}
	switch in := in.(type) {
	case Steer:
		return m.steer(in)
	case Withdraw:
		return m.withdraw(in)
	case Replan:
		return m.replan(in)
	case RevertOf:
		return m.revert(in)
	case Pause:
		return m.pause(in)
	case Resume:
		return m.resume(in)
	case Decide:
		return m.decide(in)
	case SetAutonomy:
		return m.setAutonomy(in)
	case Configure:
		m.configure(in.Guards)
		return nil
	case AddWatch:
		return m.addWatch(in)
	case RemoveWatch:
		return m.removeWatch(in)
	case RunScenario:
		return m.runScenario(in)
	case CheckIn:
		return m.checkIn(in)
	case AskAside:
		return m.askAside(in)
	case End:
		m.end()
		return nil
	}
	return fmt.Errorf("input %T: nobody knows it", in)
}

func (m *moment) refuseUnlessAlive(in Input) error {
	if m.alive() {
		return nil
	}
	return &protocol.Error{Kind: protocol.WrongMode, Mode: protocol.Done,
		Text: fmt.Sprintf("%s: this session has ended; start another", requestName(in))}
}

func requestName(in Input) string {
	switch in.(type) {
	case Steer:
		return "steer"
	case Withdraw:
		return "withdraw"
	case Replan:
		return "replan"
	case RevertOf:
		return "revert"
	case Pause:
		return "pause"
	case Resume:
		return "resume"
	case Decide:
		return "decide"
	case SetAutonomy:
		return "autonomy"
	case Configure:
		return "configure"
	case AddWatch, RemoveWatch:
		return "watch"
	case RunScenario:
		return "scenario"
	case CheckIn:
		return "checkIn"
	case AskAside:
		return "ask"
	}
	return "end"
}

func (m *moment) start(in Start) error {
	if m.Seq > 0 {
		return protocol.Errorf(protocol.WrongMode, "start: this session is already under way")
	}
	if in.Task == "" {
		return protocol.Errorf(protocol.InvalidParams, "task: say in a sentence what shall be done")
	}
	level, err := autonomy(in.Autonomy)
	if err != nil {
		return err
	}
	m.say(Started{ID: in.ID, At: m.at, Workspace: in.Workspace, Task: in.Task, Autonomy: level, Model: in.Model,
		Trusted: in.Trusted, Context: in.Context, Instructions: in.Instructions, Habits: in.Habits, By: in.By})
	m.configure(in.Guards)
	return nil
}

func autonomy(level protocol.Autonomy) (protocol.Autonomy, error) {
	switch level {
	case "":
		return protocol.Balanced, nil
	case protocol.Close, protocol.Balanced, protocol.High:
		return level, nil
	}
	return "", protocol.Errorf(protocol.InvalidParams, "autonomy: %q is none of close, balanced, high", level)
}

func (m *moment) setAutonomy(in SetAutonomy) error {
	level, err := autonomy(in.Level)
	if err != nil {
		return err
	}
	if level == m.Autonomy {
		return nil
	}
	m.say(AutonomySet{level})
	if level == protocol.High { // decisions stand at once
		for _, d := range m.Decisions {
			if m.isOpenChoice(d) {
				m.say(Stood{Decision: d.ID})
			}
		}
	}
	return nil
}

// reopened closes what ran when the daemon died: its outcome is unknown, and nothing is run
// again. What was at work waits in a pause, except at autonomy high.
func (m *moment) reopened() {
	if m.Seq == 0 {
		return
	}
	by := m.byEnd()
	waits := m.alive() && m.Mode == protocol.Executing && m.Autonomy != protocol.High
	if waits {
		by = protocol.CancelledBy{Kind: protocol.ByPause, ID: m.nextPause()}
	}
	var facts []protocol.Fact
	waitsForWord := m.Mode == protocol.Waiting && m.awaitsOnlyLeave()
	for _, c := range m.Open {
		switch {
		case c.Op.Status == protocol.OpQueued && waitsForWord: // it is the developer's turn still
		case c.Op.Status == protocol.OpQueued:
			m.say(Cancelled{Op: c.Op.ID, At: m.at, By: by})
		case !c.Taken: // a plan that stands ends with its verifications
			m.say(Lost{Op: c.Op.ID, At: m.at})
			facts = append(facts, lostFact(c))
		}
	}
	if m.Question != nil {
		m.say(AskedInVain{Question: m.Question.ID, At: m.at, Why: FailCut, Text: "the daemon ended while the model answered"})
	}
	m.caseLost()
	m.changeLost(facts)
	m.asidesLost()
	if !m.validTalk() { // records of the journal are missing: no server would take the conversation
		m.say(Compacted{Messages: m.brief()})
	}
	if waits {
		m.say(Paused{At: m.at, Pause: protocol.Pause{ID: m.nextPause(), By: protocol.PausedByRecovery, Reason: recoveryReason, Facts: facts}})
	}
	if m.goesOn() {
		m.say(Resumed{Pause: m.Pause.ID, At: m.at})
	}
}

// goesOn says that the session goes on by itself when it is opened: it was at work when its daemon
// ended, however it did, and is at autonomy high.
func (s State) goesOn() bool {
	recovering := s.Pause != nil && s.Pause.By == protocol.PausedByRecovery
	return s.alive() && s.Autonomy == protocol.High && s.Mode == protocol.Paused && recovering
}

// end ends the session for good. Words that still wait will not be heard, and whoever said them
// is told so.
func (m *moment) end() {
	by := m.byEnd()
	m.cutQuestion(by)
	for _, c := range m.Open {
		m.cancel(c, by)
	}
	for _, id := range m.ready(true) {
		m.say(Withdrawn{id})
	}
	for m.dropPermit() { // what waited for leave is over
	}
	m.say(Ended{})
}

func (s State) byEnd() protocol.CancelledBy {
	return protocol.CancelledBy{Kind: protocol.ByEnd, ID: s.Started.ID}
}

// cancel ends a call: one that has not begun at once, a running one by telling it to stop.
func (m *moment) cancel(c Call, by protocol.CancelledBy) {
	switch {
	case c.Op.Status == protocol.OpQueued, c.Taken: // a plan that stands only waits for its verifications
		m.say(Cancelled{Op: c.Op.ID, At: m.at, By: by})
	case c.Stop == nil:
		m.say(Stopping{Op: c.Op.ID, By: by})
	}
}

// cutQuestion stops the running answer; what it said stays in the conversation.
func (m *moment) cutQuestion(by protocol.CancelledBy) {
	if m.Question == nil {
		return
	}
	said := m.said(m.Question.ID)
	m.say(Cut{Question: m.Question.ID, At: m.at, Message: cutMessage(said, by), By: by})
}

func (m *moment) timePassed() {
	if !m.alive() {
		return
	}
	for _, d := range m.Decisions {
		if m.Mode != protocol.Paused && d.Status == protocol.DecisionOpen && d.Deadline != nil && !m.at.Before(*d.Deadline) {
			m.say(Stood{Decision: d.ID})
		}
	}
	m.stopSpending()
}

// outcome closes a call that ran. One that is not open any more, or whose job is over, is
// dropped: it is an answer that nobody waits for.
func (m *moment) outcome(in Outcome) {
	c, ok := m.call(in.Op)
	if !ok || c.Op.Status == protocol.OpQueued || c.Taken {
		return
	}
	if len(in.Needs) > 0 && c.Reverts == nil && c.Op.Tool != toolUpdatePlan {
		m.withhold(c, in.Needs)
		return
	}
	if len(in.Changes) > 0 || in.Unlisted {
		m.say(Changed{Op: in.Op, Files: in.Changes, Unlisted: in.Unlisted})
		if c.Op.Tool != toolVerify { // what a proof leaves behind does not refute it
			m.unverify(c, in.Changes)
		}
	}
	if len(in.Findings) > 0 { // a condition on what it was about to touch
		defer m.trip(in.Findings, []string{in.Op})
	}
	switch {
	case c.Op.Tool == toolUpdatePlan && !c.Taken:
		m.revertsEnded(c, in)
		return
	case c.Reverts != nil && !in.Cancelled:
		m.revertReturned(c, in)
		return
	case in.Cancelled:
		m.say(Cancelled{Op: in.Op, At: m.at, By: m.stoppedBy(c), Partial: true, Text: in.Text, Output: in.Output, ExitCode: in.ExitCode})
	default:
		m.say(Returned{Op: in.Op, At: m.at, Failed: in.Failed, Text: sound(in.Text), Output: in.Output, ExitCode: in.ExitCode})
	}
	if c.Op.Tool == toolVerify {
		m.verified(c, in)
	}
}

// stoppedBy is what ended a running call: what told it to stop, or the end of the daemon.
func (s State) stoppedBy(c Call) protocol.CancelledBy {
	if c.Stop != nil {
		return *c.Stop
	}
	return s.byEnd()
}

// unverify takes back the proof of each step that was changed after it passed.
func (m *moment) unverify(c Call, files []Change) {
	for _, t := range m.Plan.Steps {
		if t.Verify == nil || t.Verified == nil || !affects(c, t, files) {
			continue
		}
		status := t.Status
		if status == protocol.StepDone {
			status = protocol.StepActive
		}
		m.say(StepChanged{Step: t.ID, Status: status})
	}
}

// verified tells the steps how their verification ended. A step that was changed while the
// command ran proves nothing.
func (m *moment) verified(c Call, in Outcome) {
	if in.Cancelled {
		return
	}
	passed := in.ExitCode != nil && *in.ExitCode == 0 && !in.Failed
	for _, id := range c.Steps {
		t, ok := m.step(id)
		if !ok || t.Status == protocol.StepDropped || verifyOf(t) != c.Op.Target || m.lastTouch(id) > c.Began {
			continue
		}
		status := protocol.StepActive
		if passed {
			status = protocol.StepDone
		}
		m.say(StepChanged{Step: id, Status: status, Verified: &passed})
	}
}
