package protocol

import (
	"encoding/json"
	"time"

	lsp "go.lsp.dev/protocol"
)

// Range is a range in a document, as in LSP.
type Range = lsp.Range

// Position is a place in a document, as in LSP: line and character from 0, the character in
// units of the negotiated position encoding.
type Position = lsp.Position

// List is a list that is never null on the wire: an empty one is [].
type List[T any] []T

// MarshalJSON writes [] for a nil list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Session is one task that a developer and the agent work on together.
type Session struct {
	ID string `json:"id"`
	// Workspace is the folder that the session works in, as a file URI.
	Workspace string `json:"workspace"`
	// Task is what the developer asked for, in full.
	Task string `json:"task"`
	// Title is the first line of the task.
	Title      string     `json:"title"`
	Mode       Mode       `json:"mode"`
	Initiative Initiative `json:"initiative"`
	Autonomy   Autonomy   `json:"autonomy"`
	// Plan is absent until the agent has laid one out.
	Plan *Plan `json:"plan,omitempty"`
	// Operations are in the order in which they were asked for.
	Operations List[Operation] `json:"operations"`
	Decisions  List[Decision]  `json:"decisions"`
	// Pause is the one that the session is in.
	Pause *Pause `json:"pause,omitempty"`
	// Questions are those that wait for an answer.
	Questions List[Question] `json:"questions"`
	Watches   List[Watch]    `json:"watches"`
	Usage     Usage          `json:"usage"`
	// Model is the name by which the model server knows the model.
	Model string `json:"model"`
	// Seq is the session's last event.
	Seq       int64        `json:"seq"`
	StartedAt time.Time    `json:"startedAt"`
	UpdatedAt time.Time    `json:"updatedAt"`
	Actions   List[Action] `json:"actions"`
}

// Mode says what a session does now.
type Mode string

// The modes.
const (
	// Executing means that the agent works.
	Executing Mode = "executing"
	// Paused means a tactical pause: nothing of effect write or execute runs before the developer resumes.
	Paused Mode = "paused"
	// Waiting means that it is the developer's turn: what runs goes on, and the model is not asked again before they speak.
	Waiting Mode = "waiting"
	// Done means that the agent has finished. A steer sets the work going again.
	Done Mode = "done"
)

// Initiative says whose turn it is.
type Initiative string

// The two on the bike.
const (
	AgentInitiative     Initiative = "agent"
	DeveloperInitiative Initiative = "developer"
)

// Autonomy says how much the agent does before it waits for a word.
type Autonomy string

// The levels of autonomy, from the one that waits for most to the one that waits for nothing.
const (
	// Close makes major and notable decisions wait for a word of the developer.
	Close Autonomy = "close"
	// Balanced gives a major decision a veto window of 10 s, in which reading goes on and the writes behind it wait. It is the level of a session that names none.
	Balanced Autonomy = "balanced"
	// High lets every decision stand at once.
	High Autonomy = "high"
)

// Usage counts what the session asked of its model.
type Usage struct {
	InputTokens int64 `json:"inputTokens"`
	// CachedInputTokens are those of InputTokens that the server had in its cache.
	CachedInputTokens int64 `json:"cachedInputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	Requests          int64 `json:"requests"`
	// Estimated says that the server told no tokens for some request, and those of it are reckoned from the
	// length of what was sent and said.
	Estimated bool `json:"estimated,omitempty"`
}

// Plan is the agent's plan at one revision. The revision grows when steps are added, dropped,
// moved or change in anything but status and verified.
type Plan struct {
	// Revision counts from 1.
	Revision int        `json:"revision"`
	Steps    List[Step] `json:"steps"`
	Cause    Cause      `json:"cause"`
}

// Cause says what a plan's revision answers; of several steers that one plan answers, the last.
type Cause struct {
	Kind CauseKind `json:"kind"`
	// ID is that of the steer or pause.
	ID string `json:"id,omitempty"`
}

// CauseKind says what led to a revision.
type CauseKind string

// The causes of a revision.
const (
	// CauseTask is the task that the session was started with.
	CauseTask CauseKind = "task"
	// CauseSteer is a steer; the id is the steer's.
	CauseSteer CauseKind = "steer"
	// CauseDeveloper is an edit of the plan by the developer.
	CauseDeveloper CauseKind = "developer"
	// CausePause is what was decided in a pause; the id is the pause's.
	CausePause CauseKind = "pause"
	// CauseAgent is the agent's own insight.
	CauseAgent CauseKind = "agent"
)

// Step is one step of a plan.
type Step struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Intent says what the step is for.
	Intent string     `json:"intent"`
	Status StepStatus `json:"status"`
	// Files are those that the step is about, as file URIs.
	Files List[string] `json:"files"`
	// DependsOn are the ids of steps that come first.
	DependsOn List[string] `json:"dependsOn"`
	Verify    *Verify      `json:"verify,omitempty"`
	// Verified is true when the command passed after the step's last change, false when it
	// failed, and absent when it never ran.
	Verified *bool        `json:"verified,omitempty"`
	Origin   Origin       `json:"origin"`
	Actions  List[Action] `json:"actions"`
}

// StepStatus says how far a step has come.
type StepStatus string

// The statuses of a step.
const (
	// StepPending means that no work on it has begun.
	StepPending StepStatus = "pending"
	// StepActive means that the agent works on it.
	StepActive StepStatus = "active"
	// StepDone means that it is finished and, where it has a verification, that this passed.
	StepDone StepStatus = "done"
	// StepDropped means that it fell out of the plan.
	StepDropped StepStatus = "dropped"
	// StepBlocked means that it cannot go on as things are.
	StepBlocked StepStatus = "blocked"
)

// Verify is the command that has to pass before a step is done.
type Verify struct {
	// Command is a line for the shell, run in the workspace.
	Command string `json:"command"`
}

// Origin says who brought a step into the plan.
type Origin struct {
	Kind OriginKind `json:"kind"`
	// ID is that of the steer.
	ID string `json:"id,omitempty"`
}

// OriginKind says who brought a step into the plan.
type OriginKind string

// The origins of a step.
const (
	// OriginAgent is the agent.
	OriginAgent OriginKind = "agent"
	// OriginDeveloper is the developer, by an edit of the plan.
	OriginDeveloper OriginKind = "developer"
	// OriginSteer is a steer, whose id is given.
	OriginSteer OriginKind = "steer"
)

// Operation is one thing that the agent does: a question to the model, or a call of a tool.
// It ends in exactly one of done, failed, cancelled and lost.
type Operation struct {
	ID string `json:"id"`
	// StepID is the step that it works on.
	StepID string        `json:"stepId,omitempty"`
	Kind   OperationKind `json:"kind"`
	// Tool is the name of the tool that is called.
	Tool string `json:"tool,omitempty"`
	// Intent says what it is about to do, and why.
	Intent string `json:"intent"`
	Effect Effect `json:"effect"`
	// Target is what it works on, for the eye: a path, a command, a pattern.
	Target    string          `json:"target"`
	Status    OperationStatus `json:"status"`
	StartedAt *time.Time      `json:"startedAt,omitempty"`
	EndedAt   *time.Time      `json:"endedAt,omitempty"`
	// Output is bounded: head and tail, with what was cut said.
	Output string `json:"output,omitempty"`
	// ExitCode is that of a command that ended.
	ExitCode    *int         `json:"exitCode,omitempty"`
	CancelledBy *CancelledBy `json:"cancelledBy,omitempty"`
	// Partial says that it was cancelled after it began; Files are those that it had touched by then.
	Partial bool `json:"partial,omitempty"`
	// Files are those that it touched, as file URIs.
	Files   List[string] `json:"files,omitempty"`
	Actions List[Action] `json:"actions"`
}

// OperationKind tells questions to the model from calls of tools.
type OperationKind string

// The kinds of operations.
const (
	// Think is a question to the model.
	Think OperationKind = "think"
	// Tool is a call of a tool.
	Tool OperationKind = "tool"
)

// Effect says what an operation may do to the world.
type Effect string

// The effects.
const (
	// EffectNone is that of thinking, planning and talking.
	EffectNone Effect = "none"
	// EffectRead reads the workspace.
	EffectRead Effect = "read"
	// EffectWrite changes files.
	EffectWrite Effect = "write"
	// EffectExecute runs a command, which may do anything that the sandbox lets it.
	EffectExecute Effect = "execute"
)

// OperationStatus says how far an operation has come.
type OperationStatus string

// The statuses of an operation; it ends in exactly one of the last four.
const (
	// OpQueued means that it has not begun.
	OpQueued OperationStatus = "queued"
	// OpRunning means that it has begun and not ended.
	OpRunning OperationStatus = "running"
	// OpFrozen means that it stands still in a pause and goes on at resume.
	OpFrozen OperationStatus = "frozen"
	// OpDone means that it ended as it was meant to.
	OpDone OperationStatus = "done"
	// OpFailed means that it ended in an error.
	OpFailed OperationStatus = "failed"
	// OpCancelled means that it was kept from starting, or ended before its time; then it is partial.
	OpCancelled OperationStatus = "cancelled"
	// OpLost means that the daemon died while it ran: its outcome is unknown, so look before you act again.
	OpLost OperationStatus = "lost"
)

// CancelledBy names what cancelled an operation.
type CancelledBy struct {
	Kind CancelKind `json:"kind"`
	// ID is that of the steer or the pause, for a re-plan the new revision, for an end the session's.
	ID string `json:"id"`
}

// CancelKind says what cancelled an operation.
type CancelKind string

// What can cancel an operation.
const (
	// BySteer is a steer that made it useless.
	BySteer CancelKind = "steer"
	// ByPause is a pause that ends commands instead of freezing them.
	ByPause CancelKind = "pause"
	// ByReplan is a plan that made it useless, the agent's or the developer's.
	ByReplan CancelKind = "replan"
	// ByEnd is the end of the session.
	ByEnd CancelKind = "end"
)

// Decision is a choice that the agent made and said aloud.
type Decision struct {
	ID     string `json:"id"`
	StepID string `json:"stepId,omitempty"`
	// Kind is permission where the agent asks for leave: its alternatives are the answers, and only one
	// of them is one. Absent: it is a choice of the agent.
	Kind DecisionKind `json:"kind,omitempty"`
	// Summary is the choice in one sentence.
	Summary string `json:"summary"`
	// Rationale is why the agent chose so.
	Rationale    string            `json:"rationale"`
	Alternatives List[Alternative] `json:"alternatives"`
	// Location is the place in the code that the decision shapes, with a range.
	Location     *Location      `json:"location,omitempty"`
	Significance Significance   `json:"significance"`
	Status       DecisionStatus `json:"status"`
	// Holds are the operations that wait for the decision.
	Holds List[string] `json:"holds"`
	// Deadline is when an open decision stands by itself; absent: it waits for a word.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Chosen is the alternative that the developer took.
	Chosen  string       `json:"chosen,omitempty"`
	Actions List[Action] `json:"actions"`
}

// DecisionKind says what a decision is about.
type DecisionKind string

// Permission is leave for an operation that waits for it: to use the network, to touch a file that holds
// secrets, or to change one that other programs run by themselves. It never stands by itself; only the
// developer gives it.
const Permission DecisionKind = "permission"

// Alternative is another way that the agent would truly take.
type Alternative struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Consequence is what taking it would cost or change.
	Consequence string `json:"consequence,omitempty"`
}

// Location is a place in the workspace. The range may be absent where a whole file is meant.
type Location struct {
	// URI is a file URI.
	URI   string `json:"uri"`
	Range *Range `json:"range,omitempty"`
}

// Significance says how much a decision shapes the result.
type Significance string

// The significances.
const (
	// Minor decisions stand at once.
	Minor Significance = "minor"
	// Notable decisions wait for a word at the autonomy close.
	Notable Significance = "notable"
	// Major decisions wait for a word at the autonomy close and have a veto window at balanced.
	Major Significance = "major"
)

// DecisionStatus says whether a decision still waits for a veto.
type DecisionStatus string

// The statuses of a decision.
const (
	// DecisionOpen means that it waits: the writes that it holds have not begun.
	DecisionOpen DecisionStatus = "open"
	// DecisionStanding means that it holds.
	DecisionStanding DecisionStatus = "standing"
	// DecisionOverridden means that the developer rejected it or chose an alternative.
	DecisionOverridden DecisionStatus = "overridden"
)

// Pause is a tactical pause: nothing of effect write or execute runs until the developer resumes.
type Pause struct {
	ID string   `json:"id"`
	By PausedBy `json:"by"`
	// Reason is why it was called, in a sentence.
	Reason string     `json:"reason"`
	Facts  List[Fact] `json:"facts"`
	// LikelyCause is the agent's reading of the facts.
	LikelyCause string       `json:"likelyCause,omitempty"`
	Options     List[Option] `json:"options"`
	// Frozen are the operations that stand still and go on at resume.
	Frozen List[string] `json:"frozen"`
	// Snapshot names the inputs as they were when the pause began.
	Snapshot string `json:"snapshot,omitempty"`
	// Decision is what the developer decided, in words.
	Decision string `json:"decision,omitempty"`
	// Comparison holds the rerun after the decision beside the run before it.
	Comparison *Comparison  `json:"comparison,omitempty"`
	Actions    List[Action] `json:"actions"`
}

// PausedBy says who called a pause.
type PausedBy string

// Who can call a pause.
const (
	// PausedByDeveloper is the developer.
	PausedByDeveloper PausedBy = "developer"
	// PausedByAgent is the agent, which found facts that do not fit.
	PausedByAgent PausedBy = "agent"
	// PausedByTripwire is a stop condition that tripped or could not be evaluated.
	PausedByTripwire PausedBy = "tripwire"
	// PausedByRecovery is the daemon after a crash: the developer looks before the work goes on.
	PausedByRecovery PausedBy = "recovery"
	// PausedByBudget is a stop condition on what the session may use.
	PausedByBudget PausedBy = "budget"
)

// Fact is something that was observed, never guessed.
type Fact struct {
	Text string `json:"text"`
	// Source is where it was observed.
	Source *FactSource `json:"source,omitempty"`
}

// FactSource is where a fact was observed: a place, an operation, or a tripwire. Facts with a
// tripwire come from the daemon, not from the model.
type FactSource struct {
	// URI is a file URI; Range is the place in it.
	URI         string `json:"uri,omitempty"`
	Range       *Range `json:"range,omitempty"`
	OperationID string `json:"operationId,omitempty"`
	// Tripwire is the name of the stop condition; Expected and Observed come with it and are never empty.
	Tripwire string `json:"tripwire,omitempty"`
	Expected string `json:"expected,omitempty"`
	Observed string `json:"observed,omitempty"`
}

// Option is a way out of a pause.
type Option struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Detail is what taking it would mean.
	Detail  string      `json:"detail,omitempty"`
	Touches List[Touch] `json:"touches"`
	// Files are those that it would change, as file URIs.
	Files List[string] `json:"files"`
}

// Touch says what kind of thing an option changes.
type Touch string

// What an option may touch.
const (
	TouchCode          Touch = "code"
	TouchArchitecture  Touch = "architecture"
	TouchBusinessRule  Touch = "businessRule"
	TouchData          Touch = "data"
	TouchConfiguration Touch = "configuration"
)

// Question is what the agent cannot find in the workspace and asks the developer.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Options are the answers to choose from; absent: own words alone.
	Options List[string] `json:"options,omitempty"`
	Actions List[Action] `json:"actions"`
}

// Watch is a live value of the running product.
type Watch struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source Source `json:"source"`
	// Value is what was read last; absent when nothing was.
	Value any `json:"value,omitempty"`
	// Error says why the value cannot be read now.
	Error string `json:"error,omitempty"`
	// Previous is what it was before it changed.
	Previous any `json:"previous,omitempty"`
	// At is when it was read.
	At time.Time `json:"at"`
	// OperationID is the operation after which the value changed.
	OperationID string `json:"operationId,omitempty"`
}

// Source is where a value is read: a JSON file at a pointer, a column of a CSV file, a query, the
// last command's output by a regular expression, or a command. Exactly one of them is given.
type Source struct {
	// JSON is a JSON file; At is the JSON pointer in it.
	JSON string `json:"json,omitempty"`
	At   string `json:"at,omitempty"`
	// CSV is a CSV file; Column and Agg go with it.
	CSV    string    `json:"csv,omitempty"`
	Column string    `json:"column,omitempty"`
	Agg    Aggregate `json:"agg,omitempty"`
	// SQL is the name of a database, such as sqlite:orders.db; Query goes with it.
	SQL   string `json:"sql,omitempty"`
	Query string `json:"query,omitempty"`
	// Output is a regular expression on the last command's output.
	Output string `json:"output,omitempty"`
	// Command is a line for the shell.
	Command string `json:"command,omitempty"`
}

// Aggregate makes one value of a column.
type Aggregate string

// The aggregates.
const (
	Count Aggregate = "count"
	Sum   Aggregate = "sum"
	Min   Aggregate = "min"
	Max   Aggregate = "max"
)

// Comparison holds one scenario's run before a decision beside its run after it.
type Comparison struct {
	Scenario string       `json:"scenario"`
	Input    Input        `json:"input"`
	Before   Run          `json:"before"`
	After    Run          `json:"after"`
	Changes  List[Change] `json:"changes"`
	Actions  List[Action] `json:"actions"`
}

// Input says what both runs of a comparison read, and whether it was the same.
type Input struct {
	// Digest names the bytes of the inputs.
	Digest string `json:"digest"`
	// Same says that both runs read the same bytes.
	Same bool `json:"same"`
}

// Run is one run of a scenario.
type Run struct {
	ExitCode int `json:"exitCode"`
	// DurationMs is in milliseconds.
	DurationMs int64        `json:"durationMs"`
	Outputs    List[Output] `json:"outputs"`
	// Checks are the tripwires that watch what the scenario reads and writes.
	Checks List[Check] `json:"checks"`
}

// Output is one file that a run wrote.
type Output struct {
	// Path is relative to the workspace.
	Path string `json:"path"`
	// Digest names the bytes of the file.
	Digest string `json:"digest"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
}

// Check is one tripwire's verdict on a run.
type Check struct {
	// Tripwire is the name of the stop condition.
	Tripwire string `json:"tripwire"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

// Change is one difference between two runs.
type Change struct {
	// What names the thing that differs.
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// CheckIn is the agent's answer to a check-in.
type CheckIn struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// NextSteps are what the agent commits to.
	NextSteps List[NextStep] `json:"nextSteps"`
	// Questions are those that the developer has to answer first.
	Questions List[Question] `json:"questions"`
	Brief     Brief          `json:"brief"`
	// Contradictions are claims of the brief that the journal refutes.
	Contradictions List[Contradiction] `json:"contradictions"`
	// Signals are what the daemon noticed, in sentences: a long streak of reading, repeated failures, a plan without progress.
	Signals List[string] `json:"signals"`
}

// Verdict says whether the agent goes on or asks.
type Verdict string

// The verdicts of a check-in.
const (
	// Continue means that the agent knows its next steps and goes on.
	Continue Verdict = "continue"
	// Clarify means that the agent asks, and that it is the developer's turn.
	Clarify Verdict = "clarify"
)

// NextStep is what the agent commits to do next.
type NextStep struct {
	// Step is the id of a step of the plan.
	Step string `json:"step,omitempty"`
	Text string `json:"text"`
}

// Brief is where the agent believes the work stands.
type Brief struct {
	Goal        string       `json:"goal"`
	Done        List[Claim]  `json:"done"`
	Remaining   List[string] `json:"remaining"`
	Assumptions List[string] `json:"assumptions"`
	Risks       List[string] `json:"risks"`
}

// Claim is something that the agent says is done. Grounded says that the journal bears it out.
type Claim struct {
	Text string `json:"text"`
	// Evidence is the ids of operations.
	Evidence List[string] `json:"evidence,omitempty"`
	Grounded bool         `json:"grounded"`
}

// Contradiction is something that the agent said and the journal refutes.
type Contradiction struct {
	Claim       string `json:"claim"`
	Fact        string `json:"fact"`
	OperationID string `json:"operationId,omitempty"`
}

// Steer is something that the developer said to the agent while it worked.
type Steer struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Scope *Scope `json:"scope,omitempty"`
	When  When   `json:"when"`
	// By says whom it came from.
	By     string      `json:"by"`
	Status SteerStatus `json:"status"`
	// PlanRevision is the plan that answered it.
	PlanRevision int `json:"planRevision,omitempty"`
}

// SteerStatus says how far a steer has come.
type SteerStatus string

// The statuses of a steer: durable, in a request that was sent, answered by a plan, or taken back.
const (
	// SteerReceived means that it is on disk.
	SteerReceived SteerStatus = "received"
	// SteerHeard means that it stands in a request that was sent to the model.
	SteerHeard SteerStatus = "heard"
	// SteerApplied means that the plan that answers it is there.
	SteerApplied SteerStatus = "applied"
	// SteerWithdrawn means that the developer took it back before the agent heard it.
	SteerWithdrawn SteerStatus = "withdrawn"
)

// Scope is what a steer is about: a step, a decision, an operation or a place; none of them means the whole task.
type Scope struct {
	StepID      string `json:"stepId,omitempty"`
	DecisionID  string `json:"decisionId,omitempty"`
	OperationID string `json:"operationId,omitempty"`
	// Location is a place in a document, with a range.
	Location *Location `json:"location,omitempty"`
}

// When says at which moment a steer is heard.
type When string

// The moments: at once, when the active step has ended, or when the agent's turn would end.
const (
	// Now cancels what is now useless and is heard at once. It is the moment of a steer that names none.
	Now When = "now"
	// StepEnd waits until the active step is done, blocked or dropped, and cancels nothing.
	StepEnd When = "stepEnd"
	// Idle waits until the agent's turn would end, and cancels nothing.
	Idle When = "idle"
)

// Diff is what a re-plan changed. Kept, Added, Dropped and Reverted are ids of steps.
type Diff struct {
	// Kept are steps that both plans have, unchanged.
	Kept    List[string]     `json:"kept"`
	Changed List[StepChange] `json:"changed"`
	Added   List[string]     `json:"added"`
	Dropped List[string]     `json:"dropped"`
	// Reverted are dropped steps whose edits were taken back.
	Reverted List[string] `json:"reverted"`
}

// StepChange is one step before and after a re-plan.
type StepChange struct {
	Before Step `json:"before"`
	After  Step `json:"after"`
}

// FileChange is one file that the agent changed.
type FileChange struct {
	// URI is a file URI.
	URI    string     `json:"uri"`
	Change ChangeKind `json:"change"`
	Hunks  List[Hunk] `json:"hunks"`
}

// ChangeKind says what happened to a file.
type ChangeKind string

// What can happen to a file.
const (
	Created ChangeKind = "created"
	Changed ChangeKind = "changed"
	Deleted ChangeKind = "deleted"
)

// Hunk is one changed region of a file: the lines as they were and as they are, counted from 0.
type Hunk struct {
	// OldStart is the first line of the region as it was.
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	// NewStart is the first line of the region as it is.
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
}

// Action is something that can be done with an entity now. A client draws it and sends it back as it is.
type Action struct {
	// Title is what a button or a menu shows.
	Title string `json:"title"`
	// Method is the request to send.
	Method string `json:"method"`
	// Params are those of the request, to be sent as they are.
	Params ActionParams `json:"params"`
	// Ask is there when the developer has to type something first.
	Ask  *ActionAsk `json:"ask,omitempty"`
	Kind ActionKind `json:"kind,omitempty"`
}

// ActionParams are the params of an action's request, as far as they are known.
type ActionParams struct {
	SessionID        string   `json:"sessionId"`
	StepID           string   `json:"stepId,omitempty"`
	OperationID      string   `json:"operationId,omitempty"`
	PauseID          string   `json:"pauseId,omitempty"`
	DecisionID       string   `json:"decisionId,omitempty"`
	QuestionID       string   `json:"questionId,omitempty"`
	Option           string   `json:"option,omitempty"`
	Reject           bool     `json:"reject,omitempty"`
	Text             string   `json:"text,omitempty"`
	Scope            *Scope   `json:"scope,omitempty"`
	Level            Autonomy `json:"level,omitempty"`
	AcknowledgeDrift bool     `json:"acknowledgeDrift,omitempty"`
	Scenario         string   `json:"scenario,omitempty"`
}

// ActionAsk names the param that the developer types.
type ActionAsk struct {
	// Param is the name of the field of the params that takes what was typed.
	Param string `json:"param"`
	// Prompt is what to ask the developer.
	Prompt string `json:"prompt"`
}

// ActionKind says how an action is drawn.
type ActionKind string

// The kinds of actions.
const (
	// Primary is the action that a developer most likely wants.
	Primary ActionKind = "primary"
	// Danger ends or takes back something; it is drawn apart from the others.
	Danger ActionKind = "danger"
)
