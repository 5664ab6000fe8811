package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"tandem/protocol"
)

// Event is a fact: what is now true. Facts are in the past tense, journaled and never edited.
type Event interface{ event() }

// The session.
type (
	// Started is the first fact of a session.
	Started struct {
		ID           string              `json:"id"`
		At           time.Time           `json:"at"`
		Workspace    string              `json:"workspace"`
		Task         string              `json:"task"`
		Autonomy     protocol.Autonomy   `json:"autonomy"`
		Model        string              `json:"model"`
		Trusted      bool                `json:"trusted"`
		Context      []protocol.Location `json:"context,omitempty"`
		Instructions []Instruction       `json:"instructions,omitempty"`
		Habits       []Habit             `json:"habits,omitempty"`
		By           string              `json:"by,omitempty"`
	}
	// Woke says that a session which waited or was done works again.
	Woke struct {
		At time.Time `json:"at,omitzero"`
	}
	// Waited says that the agent's turn ended without finish.
	Waited struct {
		Reason string `json:"reason"`
	}
	// Finished says that the agent ended the task.
	Finished struct {
		Summary  string `json:"summary"`
		Evidence string `json:"evidence,omitempty"`
	}
	// Ended says that the developer ended the session for good.
	Ended struct{}
	// AutonomySet is the developer's new level.
	AutonomySet struct {
		Level protocol.Autonomy `json:"level"`
	}
)

// The questions to the model.
type (
	// Asked puts a question. Messages are added to the conversation as these exact bytes.
	Asked struct {
		Question string            `json:"question"`
		At       time.Time         `json:"at"`
		Messages []json.RawMessage `json:"messages"`
		Force    string            `json:"force,omitempty"`  // the tool that has to be called
		Silent   bool              `json:"silent,omitempty"` // no tool may be called
	}
	// Answered is a whole answer. Its calls follow as Called in the same record.
	Answered struct {
		Question string          `json:"question"`
		At       time.Time       `json:"at"`
		Message  json.RawMessage `json:"message"`
		Text     string          `json:"text,omitempty"`
		Calls    int             `json:"calls"`
		Length   bool            `json:"length,omitempty"`
	}
	// Cut says that a running answer was stopped. Message holds what it had said, marked.
	Cut struct {
		Question string               `json:"question"`
		At       time.Time            `json:"at"`
		Message  json.RawMessage      `json:"message"`
		By       protocol.CancelledBy `json:"by"`
	}
	// AskedInVain says that a question got no whole answer.
	AskedInVain struct {
		Question string    `json:"question"`
		At       time.Time `json:"at"`
		Why      Failure   `json:"why"`
		Text     string    `json:"text"`
	}
	// Deferred says that the next question waits.
	Deferred struct {
		Until time.Time `json:"until"`
		Why   string    `json:"why"`
	}
	// Used is the session's usage after a question.
	Used struct {
		Usage protocol.Usage `json:"usage"`
	}
	// Compacted begins the conversation anew with a brief, because the model takes no more.
	Compacted struct {
		Messages []json.RawMessage `json:"messages"`
	}
	// Reminded asks in words for what is missing.
	Reminded struct {
		Of string `json:"of"`
	}
)

// The operations.
type (
	// Called is a call of a tool that waits for its turn.
	Called struct {
		Op         protocol.Operation `json:"op"`
		Arguments  string             `json:"arguments"`
		Background bool               `json:"background,omitempty"`
		For        string             `json:"for,omitempty"`     // the call that caused a verification
		Steps      []string           `json:"steps,omitempty"`   // what a verification is for
		Reverts    *Target            `json:"reverts,omitempty"` // what a revert by hand takes back
	}
	// Began says that a call runs.
	Began struct {
		Op string    `json:"op"`
		At time.Time `json:"at"`
	}
	// Changed says which files a call changed.
	Changed struct {
		Op    string   `json:"op"`
		Files []Change `json:"files"`
		// Unlisted says that there may be more, in folders that could not be looked at.
		Unlisted bool `json:"unlisted,omitempty"`
	}
	// Printed is what a running command has written since the last one.
	Printed struct {
		Op   string `json:"op"`
		Text string `json:"text"`
	}
	// Returned is a call's own end: it was done, or it failed.
	Returned struct {
		Op       string    `json:"op"`
		At       time.Time `json:"at"`
		Failed   bool      `json:"failed,omitempty"`
		Text     string    `json:"text"`
		Output   string    `json:"output,omitempty"`
		ExitCode *int      `json:"exitCode,omitempty"`
		// Of a revert: what became of each file, and why some stay, in sentences.
		Reverted  []RevertedFile `json:"reverted,omitempty"`
		Conflicts []string       `json:"conflicts,omitempty"`
	}
	// Stopping says that a running call has been told to end.
	Stopping struct {
		Op string               `json:"op"`
		By protocol.CancelledBy `json:"by"`
	}
	// Cancelled ends a call that had not begun, or one that was stopped. Files it touched stand in Changed.
	Cancelled struct {
		Op       string               `json:"op"`
		At       time.Time            `json:"at"`
		By       protocol.CancelledBy `json:"by"`
		Partial  bool                 `json:"partial,omitempty"`
		Text     string               `json:"text,omitempty"`
		Output   string               `json:"output,omitempty"`
		ExitCode *int                 `json:"exitCode,omitempty"`
	}
	// Lost says that the daemon died while the call ran: its outcome is unknown.
	Lost struct {
		Op string    `json:"op"`
		At time.Time `json:"at"`
	}
	// Froze and Thawed say that a running command stands still, and goes on.
	Froze struct {
		Op string `json:"op"`
	}
	Thawed struct {
		Op string `json:"op"`
	}
)

// The plan.
type (
	// Planned is a plan: the agent's, or the developer's own edit.
	Planned struct {
		Plan         protocol.Plan `json:"plan"`
		Diff         protocol.Diff `json:"diff"`
		Explanation  string        `json:"explanation,omitempty"`
		Consequences []string      `json:"consequences,omitempty"`
		Conflicts    []string      `json:"conflicts,omitempty"`
		Cancelled    []string      `json:"cancelled,omitempty"`
		Kept         []string      `json:"kept,omitempty"`
		Claims       []string      `json:"claims,omitempty"` // steps called done that have to be verified first
		Reason       string        `json:"reason,omitempty"` // the developer's, for an edit by hand
	}
	// Taken says that the plan of a call stands; the call ends when its verifications have.
	Taken struct {
		Op        string         `json:"op"`
		Conflicts []string       `json:"conflicts,omitempty"`
		Cancelled []string       `json:"cancelled,omitempty"`
		Reverted  []RevertedFile `json:"reverted,omitempty"` // where it took edits back
	}
	// StepChanged is progress within a revision.
	StepChanged struct {
		Step     string              `json:"step"`
		Status   protocol.StepStatus `json:"status"`
		Verified *bool               `json:"verified,omitempty"`
	}
)

// The steers.
type (
	// Steered is a steer, durable, with its receipt.
	Steered struct {
		Steer     protocol.Steer      `json:"steer"`
		Context   []protocol.Location `json:"context,omitempty"`
		Waits     string              `json:"waits,omitempty"` // the step whose end it waits for
		Cancelled []string            `json:"cancelled,omitempty"`
		Running   []string            `json:"running,omitempty"`
		Unseen    []Unseen            `json:"unseen,omitempty"`
	}
	// Heard says that a steer stands in a request.
	Heard struct {
		Steer string `json:"steer"`
	}
	// Applied says that the plan which answers a steer is there.
	Applied struct {
		Steer    string `json:"steer"`
		Revision int    `json:"revision"`
	}
	// Withdrawn says that the developer took a steer back.
	Withdrawn struct {
		Steer string `json:"steer"`
	}
)

// Unseen is an operation with an effect that had ended before the developer could know of it.
type Unseen struct {
	Op    string   `json:"op"`
	Files []string `json:"files,omitempty"`
}

// Decisions, questions and pauses.
type (
	// Announced is a choice that the agent said aloud.
	Announced struct {
		Decision protocol.Decision `json:"decision"`
		Kind     string            `json:"kind,omitempty"`     // what it has in common with others
		Tripwire *ProposedTripwire `json:"tripwire,omitempty"` // what is decided, where that is a stop condition
		Permit   *Permit           `json:"permit,omitempty"`   // what is decided, where that is leave
	}
	// Stood says that a decision stands.
	Stood struct {
		Decision string `json:"decision"`
		Chosen   string `json:"chosen,omitempty"` // of leave: how far it goes
	}
	// ClockMoved says by how much the clock was set: what is measured from a time goes on from there.
	ClockMoved struct {
		At time.Time     `json:"at"`
		By time.Duration `json:"by"`
	}
	// Prolonged says until when a decision waits for a veto after a pause, in which time stood still,
	// or after the clock was set.
	Prolonged struct {
		Decision string    `json:"decision"`
		Until    time.Time `json:"until"`
	}
	// Overridden says that the developer chose otherwise.
	Overridden struct {
		Decision string `json:"decision"`
		Chosen   string `json:"chosen,omitempty"`
	}
	// Questioned says that the agent waits for answers.
	Questioned struct {
		Questions []protocol.Question `json:"questions"`
	}
	// QuestionAnswered is the developer's answer to a question.
	QuestionAnswered struct {
		Question string `json:"question"`
		Option   string `json:"option,omitempty"`
		Text     string `json:"text,omitempty"`
	}
	// Paused is a tactical pause. Asks says that the agent is asked for facts.
	Paused struct {
		Pause    protocol.Pause `json:"pause"`
		At       time.Time      `json:"at,omitzero"`
		Asks     bool           `json:"asks,omitempty"`
		Scenario string         `json:"scenario,omitempty"` // what can run again
		After    []string       `json:"after,omitempty"`    // the operations behind which a condition tripped
	}
	// Informed is the agent's account in a pause: facts, a likely cause and options.
	Informed struct {
		Facts       []protocol.Fact   `json:"facts"`
		LikelyCause string            `json:"likelyCause,omitempty"`
		Options     []protocol.Option `json:"options"`
	}
	// Yielded says that the agent has said its say in a pause.
	Yielded struct {
		Reason string `json:"reason,omitempty"` // why nothing more comes, where the model gave no answer
	}
	// Decided is the developer's decision in a pause.
	Decided struct {
		Pause  string `json:"pause"`
		Option string `json:"option,omitempty"`
		Text   string `json:"text"`
	}
	// Resumed ends a pause. Failing are the stop conditions that do not hold all the same.
	Resumed struct {
		Pause   string    `json:"pause"`
		At      time.Time `json:"at,omitzero"`
		Drift   []string  `json:"drift,omitempty"`
		Failing []string  `json:"failing,omitempty"`
	}
)

func (Started) event()          {}
func (Woke) event()             {}
func (Waited) event()           {}
func (Finished) event()         {}
func (Ended) event()            {}
func (AutonomySet) event()      {}
func (FileEdited) event()       {}
func (Asked) event()            {}
func (Answered) event()         {}
func (Cut) event()              {}
func (AskedInVain) event()      {}
func (Deferred) event()         {}
func (Used) event()             {}
func (Compacted) event()        {}
func (Reminded) event()         {}
func (Called) event()           {}
func (Began) event()            {}
func (Changed) event()          {}
func (Printed) event()          {}
func (Returned) event()         {}
func (Stopping) event()         {}
func (Cancelled) event()        {}
func (Lost) event()             {}
func (Froze) event()            {}
func (Thawed) event()           {}
func (Planned) event()          {}
func (Taken) event()            {}
func (StepChanged) event()      {}
func (Steered) event()          {}
func (Heard) event()            {}
func (Applied) event()          {}
func (Withdrawn) event()        {}
func (Announced) event()        {}
func (Stood) event()            {}
func (Overridden) event()       {}
func (Prolonged) event()        {}
func (ClockMoved) event()       {}
func (Questioned) event()       {}
func (QuestionAnswered) event() {}
func (Paused) event()           {}
func (Informed) event()         {}
func (Yielded) event()          {}
func (Decided) event()          {}
func (Resumed) event()          {}

// Kind is an event's name on the wire and in the journal: its fact in the past tense.
func Kind(e Event) string {
	switch e.(type) {
	case Started:
		return "started"
	case Woke:
		return "woke"
	case Waited:
		return "waited"
	case Finished:
		return "finished"
	case Ended:
		return "ended"
	case AutonomySet:
		return "autonomySet"
	case FileEdited:
		return "fileEdited"
	case Asked:
		return "asked"
	case Answered:
		return "answered"
	case Cut:
		return "cut"
	case AskedInVain:
		return "askedInVain"
	case Deferred:
		return "deferred"
	case Used:
		return "used"
	case Compacted:
		return "compacted"
	case Reminded:
		return "reminded"
	case Called:
		return "called"
	case Began:
		return "began"
	case Changed:
		return "changed"
	case Printed:
		return "printed"
	case Withheld:
		return "withheld"
	case Returned:
		return "returned"
	case Stopping:
		return "stopping"
	case Cancelled:
		return "cancelled"
	case Lost:
		return "lost"
	case Froze:
		return "froze"
	case Thawed:
		return "thawed"
	case Planned:
		return "planned"
	case Taken:
		return "taken"
	case StepChanged:
		return "stepChanged"
	case Steered:
		return "steered"
	case Heard:
		return "heard"
	case Applied:
		return "applied"
	case Withdrawn:
		return "withdrawn"
	case Announced:
		return "announced"
	case Stood:
		return "stood"
	case Overridden:
		return "overridden"
	case ClockMoved:
		return "clockMoved"
	case Prolonged:
		return "prolonged"
	case Questioned:
		return "questioned"
	case QuestionAnswered:
		return "questionAnswered"
	case Paused:
		return "paused"
	case Informed:
		return "informed"
	case Yielded:
		return "yielded"
	case Decided:
		return "decided"
	case Resumed:
		return "resumed"
	case Guarded:
		return "guarded"
	case Checked:
		return "checked"
	case Watched:
		return "watched"
	case Unwatched:
		return "unwatched"
	case Tripped:
		return "tripped"
	case InputsKept:
		return "inputsKept"
	case RanBefore:
		return "ranBefore"
	case Rerunning:
		return "rerunning"
	case ScenarioWanted:
		return "scenarioWanted"
	case Compared:
		return "compared"
	case Uncompared:
		return "uncompared"
	case StillFailed:
		return "stillFailed"
	case AskedAside:
		return "askedAside"
	case AskedAsideAgain:
		return "askedAsideAgain"
	case CheckedIn:
		return "checkedIn"
	case AnsweredAside:
		return "answeredAside"
	case AsideFailed:
		return "asideFailed"
	case Signalled:
		return "signalled"
	case Committed:
		return "committed"
	}
	panic(fmt.Sprintf("event %T has no kind", e)) // a sealed type: the test walks all of them
}

// Decode reads an event of a kind. The error names a kind that this version does not know.
func Decode(kind string, data []byte) (Event, error) {
	switch kind {
	case "started":
		return decode[Started](data)
	case "woke":
		return decode[Woke](data)
	case "waited":
		return decode[Waited](data)
	case "finished":
		return decode[Finished](data)
	case "ended":
		return decode[Ended](data)
	case "autonomySet":
		return decode[AutonomySet](data)
	case "fileEdited":
		return decode[FileEdited](data)
	case "asked":
		return decode[Asked](data)
	case "answered":
		return decode[Answered](data)
	case "cut":
		return decode[Cut](data)
	case "askedInVain":
		return decode[AskedInVain](data)
	case "deferred":
		return decode[Deferred](data)
	case "used":
		return decode[Used](data)
	case "compacted":
		return decode[Compacted](data)
	case "reminded":
		return decode[Reminded](data)
	case "called":
		return decode[Called](data)
	case "began":
		return decode[Began](data)
	case "changed":
		return decode[Changed](data)
	case "printed":
		return decode[Printed](data)
	case "withheld":
		return decode[Withheld](data)
	case "returned":
		return decode[Returned](data)
	case "stopping":
		return decode[Stopping](data)
	case "cancelled":
		return decode[Cancelled](data)
	case "lost":
		return decode[Lost](data)
	case "froze":
		return decode[Froze](data)
	case "thawed":
		return decode[Thawed](data)
	case "planned":
		return decode[Planned](data)
	case "taken":
		return decode[Taken](data)
	case "stepChanged":
		return decode[StepChanged](data)
	case "steered":
		return decode[Steered](data)
	case "heard":
		return decode[Heard](data)
	case "applied":
		return decode[Applied](data)
	case "withdrawn":
		return decode[Withdrawn](data)
	case "announced":
		return decode[Announced](data)
	case "stood":
		return decode[Stood](data)
	case "overridden":
		return decode[Overridden](data)
	case "prolonged":
		return decode[Prolonged](data)
	case "clockMoved":
		return decode[ClockMoved](data)
	case "questioned":
		return decode[Questioned](data)
	case "questionAnswered":
		return decode[QuestionAnswered](data)
	case "paused":
		return decode[Paused](data)
	case "informed":
		return decode[Informed](data)
	case "yielded":
		return decode[Yielded](data)
	case "decided":
		return decode[Decided](data)
	case "resumed":
		return decode[Resumed](data)
	case "guarded":
		return decode[Guarded](data)
	case "checked":
		return decode[Checked](data)
	case "watched":
		return decode[Watched](data)
	case "unwatched":
		return decode[Unwatched](data)
	case "tripped":
		return decode[Tripped](data)
	case "inputsKept":
		return decode[InputsKept](data)
	case "ranBefore":
		return decode[RanBefore](data)
	case "rerunning":
		return decode[Rerunning](data)
	case "scenarioWanted":
		return decode[ScenarioWanted](data)
	case "compared":
		return decode[Compared](data)
	case "uncompared":
		return decode[Uncompared](data)
	case "stillFailed":
		return decode[StillFailed](data)
	case "askedAside":
		return decode[AskedAside](data)
	case "askedAsideAgain":
		return decode[AskedAsideAgain](data)
	case "checkedIn":
		return decode[CheckedIn](data)
	case "answeredAside":
		return decode[AnsweredAside](data)
	case "asideFailed":
		return decode[AsideFailed](data)
	case "signalled":
		return decode[Signalled](data)
	case "committed":
		return decode[Committed](data)
	}
	return nil, fmt.Errorf("event of kind %q: this version does not know it", kind)
}

func decode[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("event %T: %w", e, err)
	}
	return e, nil
}
