package agent

import (
	"strings"

	"tandem/protocol"
)

// Notification is what clients are told of one event: its method, and its params as the
// event left them. It is a function of the events alone, so a client that comes later is told
// the same.
type Notification struct {
	Method string
	Params any
}

// Notify is the notification of the event that led from before to s, if it gives one.
func (s State) Notify(before State, e Event) (Notification, bool) {
	head := protocol.Event{SessionID: s.Started.ID, Seq: s.Seq}
	switch e := e.(type) {
	case Asked:
		return progress(head, s.viewOp(thinking(*s.Question), false))
	case Called:
		return s.progressOf(head, e.Op.ID)
	case Began:
		return s.progressOf(head, e.Op)
	case Withheld:
		return s.progressOf(head, e.Op)
	case Printed:
		return s.progressOf(head, e.Op)
	case Froze:
		return s.progressOf(head, e.Op)
	case Thawed:
		return s.progressOf(head, e.Op)
	case Answered, Cut, AskedInVain, Returned, Cancelled, Lost:
		if s.done.size == before.done.size {
			return Notification{}, false
		}
		past, _ := s.done.latest()
		return progress(head, s.viewOp(past.Op, false))
	case Changed:
		if len(e.Files) == 0 {
			return Notification{}, false
		}
		return note(protocol.NoteFilesChanged, protocol.FilesChangedParams{Event: head, OperationID: e.Op, Files: s.viewChanges(e.Files)})
	case Planned:
		return note(protocol.NotePlanChanged, protocol.PlanChangedParams{Event: head, Plan: s.ViewPlan(s.Plan), Diff: s.ViewDiff(e.Diff),
			Consequences: e.Consequences, Conflicts: e.Conflicts, Cancelled: e.Cancelled, Kept: e.Kept})
	case Committed:
		if !before.tellsCommit(e) {
			return Notification{}, false
		}
	case StepChanged:
		return note(protocol.NotePlanChanged, protocol.PlanChangedParams{Event: head, Plan: s.ViewPlan(s.Plan)})
	case Steered:
		return note(protocol.NoteSteered, protocol.SteeredParams{Event: head, Steer: e.Steer})
	case Heard:
		return s.steered(head, s, e.Steer, protocol.SteerHeard, 0)
	case Applied:
		return s.steered(head, before, e.Steer, protocol.SteerApplied, e.Revision)
	case Withdrawn:
		return s.steered(head, before, e.Steer, protocol.SteerWithdrawn, 0)
	case Announced:
		return s.decided(head, e.Decision.ID)
	case Stood:
		return s.decided(head, e.Decision)
	case Overridden:
		return s.decided(head, e.Decision)
	case Prolonged:
		return s.decided(head, e.Decision)
	case Watched:
		return note(protocol.NoteWatched, protocol.WatchedParams{Event: head, Watch: e.Watch})
	case Compared:
		return note(protocol.NoteScenarioRan, protocol.ScenarioRanParams{Event: head, Comparison: s.viewComparison(e.Comparison)})
	case Used:
		return note(protocol.NoteUsage, protocol.UsageParams{Event: head, Usage: e.Usage})
	}
	if reason, ok := changesMode(e); ok {
		return note(protocol.NoteModeChanged, protocol.ModeChangedParams{Event: head, Mode: s.Mode, Initiative: s.Initiative, Actions: s.actions(),
			Pause: s.viewPause(), Questions: s.viewQuestions(), Reason: reason})
	}
	return Notification{}, false
}

// changesMode says that clients are told the mode after an event, and why it is so.
func changesMode(e Event) (reason string, ok bool) {
	switch e := e.(type) {
	case Waited:
		return e.Reason, true
	case Finished:
		return e.Summary, true
	case Ended:
		return "ended by the developer", true
	case Deferred:
		return e.Why, true
	case ClockMoved:
		return clockWords(e.By), true
	case Paused:
		return e.Pause.Reason, true
	case Signalled:
		return "a check-in may help: " + e.Text, true
	case Committed:
		return CommittedText(e), true
	case Compacted:
		return "the conversation became too long for the model and begins anew with a brief", true
	case Yielded:
		return e.Reason, true
	case Rerunning:
		return "the change is made; " + e.Scenario + " runs again on the same input", true
	case Uncompared:
		return e.Broken, e.ID == ""
	case StillFailed:
		return "still failing: " + strings.Join(tripwires(e.Facts), ", "), true
	case Tripped, InputsKept, RanBefore:
		return "", true
	case Woke, Questioned, QuestionAnswered, Informed, Decided, Resumed:
		return "", true
	}
	return "", false
}

func note(method string, params any) (Notification, bool) { return Notification{method, params}, true }

func progress(head protocol.Event, op protocol.Operation) (Notification, bool) {
	return note(protocol.NoteProgress, protocol.ProgressParams{Event: head, Operation: op})
}

func (s State) progressOf(head protocol.Event, id string) (Notification, bool) {
	c, ok := s.call(id)
	if !ok {
		return Notification{}, false
	}
	return progress(head, s.viewCall(c))
}

func (s State) steered(head protocol.Event, from State, id string, status protocol.SteerStatus, revision int) (Notification, bool) {
	t, ok := from.steering(id)
	if !ok {
		return Notification{}, false
	}
	t.Steer.Status, t.Steer.PlanRevision = status, revision
	return note(protocol.NoteSteered, protocol.SteeredParams{Event: head, Steer: t.Steer})
}

func (s State) decided(head protocol.Event, id string) (Notification, bool) {
	d, ok := s.decision(id)
	if !ok {
		return Notification{}, false
	}
	return note(protocol.NoteDecision, protocol.DecisionParams{Event: head, Decision: s.viewDecision(d)})
}

func (s State) viewChanges(files []Change) []protocol.FileChange {
	var out []protocol.FileChange
	for _, f := range files {
		kind := protocol.Changed
		switch {
		case f.Before == nil:
			kind = protocol.Created
		case f.After == nil:
			kind = protocol.Deleted
		}
		out = append(out, protocol.FileChange{URI: s.uri(f.Path), Change: kind, Hunks: f.Hunks})
	}
	return out
}
