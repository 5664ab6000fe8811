package agent

import (
	"encoding/json"
	"time"

	"tandem/protocol"
)

// An Input is something that the world says to the session.
type Input interface{ input() }

// At says when an input came, and what those that run had said by then. Every input that
// reaches Decide is wrapped in it, once.
type At struct {
	Time    time.Time
	Partial []Partial
	Input   Input
}

// Partial is what an operation has said so far: the words of a running answer, or the output
// of a running command.
type Partial struct {
	Op   string
	Text string
}

// The developer's inputs. By names the client that sent them.
type (
	// Start begins the session; it is the first input and comes once.
	Start struct {
		ID           string
		Workspace    string // a file URI
		Task         string
		Autonomy     protocol.Autonomy
		Model        string
		Trusted      bool
		Context      []protocol.Location
		Instructions []Instruction
		Guards       Guards
		Habits       []Habit // of the sessions before it
		By           string
	}
	// Steer says something to the agent.
	Steer struct {
		Text    string
		Scope   *protocol.Scope
		When    protocol.When
		SeenSeq *int64
		Context []protocol.Location
		By      string
	}
	// Withdraw takes a steer back that nobody has heard.
	Withdraw struct{ Steer string }
	// Replan edits the plan by hand.
	Replan struct {
		Base   int
		Edits  []protocol.PlanEdit
		Reason string
	}
	// RevertOf takes back by hand what was done in a step, in an operation, for a steer, or in all of
	// the session: one is named.
	RevertOf struct {
		Step, Operation, Steer string
		Session                bool
	}
	// Pause stops everything of effect write or execute.
	Pause struct {
		Reason string
		End    bool // end running commands instead of freezing them
		Closed bool // nobody asks for it: the daemon ends, and the session with it
	}
	// Resume ends a pause. Drift are the live inputs that have moved since the snapshot of this
	// pause, in sentences; it has to be acknowledged.
	Resume struct {
		Pause        string // the one whose drift was looked at; "" where there is no snapshot
		Drift        []string
		Acknowledged bool
	}
	// Decide answers a pause, a decision or a question.
	Decide struct {
		Pause, Decision, Question string
		Option, Text              string
		Reject                    bool
		By                        string
	}
	// SetAutonomy sets the level of autonomy.
	SetAutonomy struct{ Level protocol.Autonomy }
	// End ends the session for good.
	End struct{}
)

// The world's inputs.
type (
	// Replied is the model's whole answer to the question with the same id.
	Replied struct {
		Question        string
		Text, Reasoning string
		Calls           []ModelCall
		Length          bool // it was cut at the model's length limit
		Usage           protocol.Usage
	}
	// AskFailed says that a question got no whole answer.
	AskFailed struct {
		Question string
		Why      Failure
		Text     string        // one line for the developer
		Wait     time.Duration // how long to wait before the question is asked again
	}
	// Outcome is how a call ended, cancelled or not. A job reports once.
	Outcome struct {
		Op        string
		Failed    bool
		Cancelled bool
		Text      string // for the model
		Output    string // for the developer, bounded
		ExitCode  *int
		Changes   []Change
		Unlisted  bool           // it may have changed files that Changes does not name
		Conflicts []string       // of a revert
		Reverted  []RevertedFile // by a revert, as far as it came
		Findings  []Finding      // stop conditions that kept it from being done
		Needs     []Need         // what it needs leave for; it has done nothing then
	}
	// Said is what a running command has written since it was last told, bounded.
	Said struct {
		Op   string
		Text string
	}
	// TimePassed says that a time which the session waits for has come.
	TimePassed struct{}
	// ClockSet says that the clock was set forward, or back where By is negative, or that the machine
	// slept, since the input before.
	ClockSet struct{ By time.Duration }
	// Reopened says that the journal was replayed after a restart: nothing runs any more.
	Reopened struct{}
)

// Instruction is the text of an AGENTS.md file: data of the developer.
type Instruction struct {
	Path string
	Text string
}

// ModelCall is a call as the model made it; Arguments is its text, which may be no JSON at all.
type ModelCall struct {
	Name      string
	Arguments string
	Extra     json.RawMessage // what the server wants back with the call, as it came
}

// Failure says why a question got no answer.
type Failure string

// The failures. Those that may pass are asked again; the others end the agent's turn.
const (
	FailBusy        Failure = "busy"        // the server is overloaded or limits the rate
	FailCut         Failure = "cut"         // the answer ended before it was whole, or stalled
	FailUnsupported Failure = "unsupported" // the server does not take a field of the request
	FailContext     Failure = "context"     // the conversation is too long for the model
	FailFinal       Failure = "final"       // asking the same again would end the same
)

// Change is one file that an operation changed; a nil image means that there was, or is, no
// such file. Paths are slash-separated and relative to the workspace.
type Change struct {
	Path   string          `json:"path"`
	Before *Image          `json:"before,omitempty"`
	After  *Image          `json:"after,omitempty"`
	Hunks  []protocol.Hunk `json:"hunks,omitempty"`
	// Made is how many of the folders right above it were made for it.
	Made int `json:"made,omitempty"`
}

// Image is one state of a file. Digest names its bytes in the store; it is empty where they
// are not known, and for a symbolic link, which has a Link.
type Image struct {
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
	Link   string `json:"link,omitempty"`
}

func (At) input()          {}
func (Start) input()       {}
func (Steer) input()       {}
func (Withdraw) input()    {}
func (Replan) input()      {}
func (RevertOf) input()    {}
func (Pause) input()       {}
func (Resume) input()      {}
func (Decide) input()      {}
func (SetAutonomy) input() {}
func (End) input()         {}
func (Replied) input()     {}
func (AskFailed) input()   {}
func (Outcome) input()     {}
func (Said) input()        {}
func (TimePassed) input()  {}
func (ClockSet) input()    {}
func (Reopened) input()    {}
