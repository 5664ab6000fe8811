package agent

import (
	"encoding/json"
	"slices"
	"time"

	"tandem/protocol"
)

// State is everything that a session knows. The zero State is a session before Start. States
// are values: Apply returns a new one and never changes the old.
type State struct {
	Seq int64 // of the last event applied

	Started    Started
	Mode       protocol.Mode
	Initiative protocol.Initiative // whose turn it is; the model is asked only while it is the agent's
	Autonomy   protocol.Autonomy
	Usage      protocol.Usage
	Ended      bool

	Plan    protocol.Plan // revision 0: there is none
	Touched []touch       // when each step was last changed

	Question *Question // the question that the model is answering
	Retry    Retry
	Owes     []string // steers that the agent's next plan answers, in order
	Nudges   int      // how often in a row the agent was asked again for what is missing
	Missing  string   // what it is asked for in words with the next question

	Open         []Call                 // operations that have not ended, oldest first
	Turn         []TurnCall             // the calls of the last answer, whose results were not sent yet
	Unsaid       []Note                 // what the model is told with the next question
	Steers       []Steering             // steers that are not applied or withdrawn
	Decisions    []protocol.Decision    // all of them
	Questions    []protocol.Question    // those that wait for an answer
	Pause        *protocol.Pause        // the pause, in mode paused
	pausedAt     time.Time              // when the pause began
	Took         bool                   // the developer has decided in this pause
	Case         *Case                  // what the pause is about, where a scenario can show it
	Failing      []string               // the stop conditions that do not hold, in a pause
	Decided      []string               // the files that the developer's decision names; none: it names none
	letStand     []Habit                // how often decisions of a kind stood
	kinds        []kinded               // the kinds of open decisions
	Proposals    []Proposal             // stop conditions that the agent proposed
	Permits      []Permit               // leave that was asked for
	Guards       Guards                 // what is looked after
	Baseline     json.RawMessage        // what checks hold the workspace against
	unbased      bool                   // stop conditions have come since Baseline was taken
	Unchecked    []string               // operations that have ended and behind which nobody has looked yet
	Watches      []protocol.Watch       // all of them
	Wanted       []Wanted               // runs of scenarios that the developer asked for
	Runs         []ScenarioRun          // those that are over
	Asides       []Aside                // questions beside the work that have no answer yet
	SideAnswers  []SideAnswer           // the newest of those that are over
	sinceCheckIn lull                   // what happened since the last check-in
	lastTokens   int64                  // of the last request and its answer
	portion      spent                  // what was used when the budgets began to count
	lastLike     likes                  // the last call, and how often in a row it was made
	circle       circle                 // what turns without anything getting done
	talk         chain[json.RawMessage] // the conversation, as it was sent
	plans        chain[protocol.Plan]   // the earlier revisions, as each stood at its end
	done         chain[*Past]           // operations that have ended; none is ever changed
	words        chain[string]          // what the developer has said since the task
	reverts      reverts                // what was taken back
	commits      commits                // what was committed
	announced    []int64                // the event that announced each decision
	looks        int                    // questions in this pause since the developer spoke or a condition failed
	counters     counters
}

// counters number the entities of a session.
type counters struct {
	ops, steers, decisions, pauses, questions, options, steps, watches, checks, runs, asides int
}

// Question is a question that was put to the model and not answered yet.
type Question struct {
	ID      string
	Force   string
	Silent  bool
	Started time.Time
	Seq     int64 // the event that put it
}

// Retry is what is known of questions that got no answer.
type Retry struct {
	Until     time.Time // no question before it
	InARow    int       // questions in vain since the last answer
	Compacted bool      // the conversation was compacted since the last answer
}

// Call is an operation that has not ended.
type Call struct {
	Op         protocol.Operation
	Arguments  string
	Background bool
	Late       bool                  // a placeholder was sent as its result: the outcome follows as a note
	Stop       *protocol.CancelledBy // it was told to end
	Frozen     bool
	For        string   // the call that caused this verification
	Steps      []string // the steps that this verification is for
	Began      int64    // the event with which it began
	Again      int      // how often it was begun and withheld
	Like       int      // how often in a row it was called, where a budget counts that
	Answers    []string // of update_plan: the steers that the agent had heard when it made it
	Base       int      // of update_plan: the plan's revision when it began
	Taken      bool     // of update_plan: its plan stands, only verifications are awaited
	Conflicts  []string // of update_plan: where taking edits back clashed
	Obsolete   []string // of update_plan: the operations that it ended
	Verified   []Verification
	Touched    []Change
	Unlisted   bool           // it may have changed more than what it touched by name
	Reverts    *Target        // of a revert by hand: what it takes back
	Reverted   []RevertedFile // of update_plan: what became of the files whose edits it took back
}

// TurnCall is one call of the last answer; Result is what the model is told of it.
type TurnCall struct {
	Op     string
	Result string
	Ended  bool
}

// Verification is how one verification ended that a call of update_plan caused.
type Verification struct {
	Steps   []string `json:"steps"`
	Command string   `json:"command"`
	Passed  bool     `json:"passed"`
	Exit    *int     `json:"exit,omitempty"`
	Note    string   `json:"note,omitempty"`
	Output  string   `json:"output,omitempty"`
}

// Note is something that the model is told, in the words of one user message.
type Note struct {
	Steer string // the steer that it bears, if any
	File  string // the file whose edit it tells, if any
	Text  string
	Now   bool // the developer's word: the next question does not wait for what runs
	// Reverted says that it tells of a revert by hand: the agent hears of it before it finishes.
	Reverted bool
}

// Steering is a steer that is under way.
type Steering struct {
	Steer   protocol.Steer
	Context []protocol.Location
	Unseen  []Unseen
	Waits   string // the step whose end it waits for
}

// Past is an operation that has ended.
type Past struct {
	Op      protocol.Operation
	Seq     int64 // the event that ended it
	Began   int64 // the event with which it began, 0 if it never did
	Changes []Change
	// Unlisted says that it may have changed files that Changes does not name.
	Unlisted bool
	// Of a revert: what became of each file, and why some stay, in sentences.
	Reverted  []RevertedFile
	Conflicts []string
}

// touch is when a step was last changed.
type touch struct {
	step string
	seq  int64
}

// Conversation is every message that was sent, or will be as it is, in order.
func (s State) Conversation() []json.RawMessage { return s.talk.all() }

// Ops is every operation that has ended, in the order in which they did.
func (s State) Ops() []Past {
	out := make([]Past, 0, s.done.size)
	for p := range s.done.oldest {
		out = append(out, *p)
	}
	return out
}

// PlanAt is an earlier revision of the plan.
func (s State) PlanAt(revision int) (protocol.Plan, bool) {
	if revision == s.Plan.Revision && revision > 0 {
		return s.Plan, true
	}
	for p := range s.plans.newest {
		if p.Revision == revision {
			return p, true
		}
	}
	return protocol.Plan{}, false
}

// alive says that a developer's request can be taken.
func (s State) alive() bool { return s.Seq > 0 && !s.Ended }

func (s State) step(id string) (protocol.Step, bool) {
	i := slices.IndexFunc(s.Plan.Steps, func(t protocol.Step) bool { return t.ID == id })
	if i < 0 {
		return protocol.Step{}, false
	}
	return s.Plan.Steps[i], true
}

// activeStep is the step that is worked on: the last one that is active.
func (s State) activeStep() string {
	for _, t := range slices.Backward(s.Plan.Steps) {
		if t.Status == protocol.StepActive {
			return t.ID
		}
	}
	return ""
}

func (s State) call(id string) (Call, bool) {
	i := slices.IndexFunc(s.Open, func(c Call) bool { return c.Op.ID == id })
	if i < 0 {
		return Call{}, false
	}
	return s.Open[i], true
}

func (s State) turn(op string) int {
	return slices.IndexFunc(s.Turn, func(t TurnCall) bool { return t.Op == op })
}

func (s State) steering(id string) (Steering, bool) {
	i := slices.IndexFunc(s.Steers, func(t Steering) bool { return t.Steer.ID == id })
	if i < 0 {
		return Steering{}, false
	}
	return s.Steers[i], true
}

func (s State) decision(id string) (protocol.Decision, bool) {
	i := slices.IndexFunc(s.Decisions, func(d protocol.Decision) bool { return d.ID == id })
	if i < 0 {
		return protocol.Decision{}, false
	}
	return s.Decisions[i], true
}

// vetoOpen says that a choice still waits for a word, so nothing is written.
func (s State) vetoOpen() bool { return slices.ContainsFunc(s.Decisions, s.isOpenChoice) }

// isOpenChoice says that a decision is a choice of the agent which waits for a word. Stop conditions
// that it proposes hold nothing; leave that it asks for holds the call that needs it.
func (s State) isOpenChoice(d protocol.Decision) bool {
	return d.Status == protocol.DecisionOpen && d.Kind != protocol.Permission && !s.proposal(d.ID)
}

func (s State) lastTouch(step string) int64 {
	for _, t := range s.Touched {
		if t.step == step {
			return t.seq
		}
	}
	return 0
}

// changes says that an effect may change the world.
func changes(e protocol.Effect) bool {
	return e == protocol.EffectWrite || e == protocol.EffectExecute
}

func terminal(o protocol.OperationStatus) bool {
	switch o {
	case protocol.OpDone, protocol.OpFailed, protocol.OpCancelled, protocol.OpLost:
		return true
	}
	return false
}
