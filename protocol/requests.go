package protocol

import (
	"encoding/json"
	"time"
)

// Request is what every request that changes a session may bear: the same pair again is
// answered with the first answer and does nothing twice.
type Request struct {
	ClientID   string `json:"clientId,omitempty"`
	RequestKey string `json:"requestKey,omitempty"`
}

// StartParams starts a session.
type StartParams struct {
	Request
	// Workspace is a file URI; absent: the folder that initialize named.
	Workspace string `json:"workspace,omitempty"`
	// Task is what the agent is to do, in the developer's words.
	Task string `json:"task"`
	// Autonomy is the level to start at; absent: the configured one.
	Autonomy Autonomy `json:"autonomy,omitempty"`
	// Model is the model to ask; absent: the configured one.
	Model string `json:"model,omitempty"`
	// Context are places that the task is about.
	Context List[Location] `json:"context,omitempty"`
}

// SessionResult is a session as it stands.
type SessionResult struct {
	Session Session `json:"session"`
}

// ListParams may name one workspace.
type ListParams struct {
	Workspace string `json:"workspace,omitempty"`
}

// ListResult is the sessions, newest first. Their operations that have ended are left out: attach tells them.
type ListResult struct {
	Sessions List[Session] `json:"sessions"`
}

// AttachParams follows a session.
type AttachParams struct {
	SessionID string `json:"sessionId"`
	// Since is the last seq that the client has; 0: all events; absent: only what is new.
	Since *int64 `json:"since,omitempty"`
}

// SessionParams names a session.
type SessionParams struct {
	Request
	SessionID string `json:"sessionId"`
}

// PlanParams reads a plan.
type PlanParams struct {
	SessionID string `json:"sessionId"`
	// Revision is an earlier revision; absent: the current one.
	Revision int `json:"revision,omitempty"`
}

// PlanResult is a plan; it is null while the agent has not laid one out.
type PlanResult struct {
	Plan *Plan `json:"plan"`
}

// SteerParams says something to the agent.
type SteerParams struct {
	Request
	SessionID string `json:"sessionId"`
	// Text is what the developer says, in their own words.
	Text string `json:"text"`
	// Scope is what it is about; absent: the whole task.
	Scope *Scope `json:"scope,omitempty"`
	// When is the moment to hear it; absent: now.
	When When `json:"when,omitempty"`
	// SeenSeq is the last event that the developer had seen when they wrote.
	SeenSeq *int64 `json:"seenSeq,omitempty"`
	// Context are places that the words refer to.
	Context List[Location] `json:"context,omitempty"`
}

// SteerResult is the receipt of a steer: it is on disk.
type SteerResult struct {
	SteerID string `json:"steerId"`
	// Seq is the event that the steer became.
	Seq int64 `json:"seq"`
	// Cancelled are the operations that the steer ended or kept from starting.
	Cancelled List[string] `json:"cancelled"`
	// Running are the operations that run on.
	Running List[string] `json:"running"`
	// Unseen are operations with an effect that ended after seenSeq.
	Unseen List[Unseen] `json:"unseen"`
}

// Unseen is an operation that had ended before the developer could know of it.
type Unseen struct {
	OperationID string `json:"operationId"`
	// Files are those that it changed, as file URIs.
	Files List[string] `json:"files"`
}

// WithdrawParams takes a steer back.
type WithdrawParams struct {
	Request
	SessionID string `json:"sessionId"`
	SteerID   string `json:"steerId"`
}

// WithdrawResult is false once the agent has heard the steer.
type WithdrawResult struct {
	// Withdrawn is false when it was too late.
	Withdrawn bool `json:"withdrawn"`
}

// ReplanParams edits the plan by hand.
type ReplanParams struct {
	Request
	SessionID string `json:"sessionId"`
	// BaseRevision is the revision that the edits were made on; another one than the current is refused as staleRevision.
	BaseRevision int `json:"baseRevision"`
	// Edits are made in their order.
	Edits List[PlanEdit] `json:"edits"`
	// Reason is told to the agent.
	Reason string `json:"reason,omitempty"`
}

// PlanEdit is one edit of a plan.
type PlanEdit struct {
	Op PlanEditOp `json:"op"`
	// Step is the step to add; its id may be absent.
	Step *NewStep `json:"step,omitempty"`
	// StepID is the step to drop, move or change.
	StepID string `json:"stepId,omitempty"`
	// After is the step to stand behind. Without it, add puts the step last and move first.
	After  string        `json:"after,omitempty"`
	Title  *string       `json:"title,omitempty"`
	Intent *string       `json:"intent,omitempty"`
	Files  *List[string] `json:"files,omitempty"`
	// Verify replaces the verification; one with an empty command takes it away.
	Verify *Verify `json:"verify,omitempty"`
}

// NewStep is a step that the developer adds.
type NewStep struct {
	// ID is one that the plan does not have; absent: the daemon gives one.
	ID        string       `json:"id,omitempty"`
	Title     string       `json:"title"`
	Intent    string       `json:"intent,omitempty"`
	Files     List[string] `json:"files,omitempty"`
	DependsOn List[string] `json:"dependsOn,omitempty"`
	Verify    *Verify      `json:"verify,omitempty"`
}

// PlanEditOp says what an edit does.
type PlanEditOp string

// The edits of a plan.
const (
	// EditAdd puts step into the plan, behind after or last.
	EditAdd PlanEditOp = "add"
	// EditDrop takes the step stepId out of the plan.
	EditDrop PlanEditOp = "drop"
	// EditMove puts the step stepId behind after or first.
	EditMove PlanEditOp = "move"
	// EditChange changes title, intent, files or verify of the step stepId, whichever are given.
	EditChange PlanEditOp = "change"
)

// ReplanResult is the plan after the edits, and what they changed.
type ReplanResult struct {
	Plan Plan `json:"plan"`
	Diff Diff `json:"diff"`
}

// PauseParams begins a tactical pause.
type PauseParams struct {
	Request
	SessionID string `json:"sessionId"`
	// Reason, where given, asks the agent for facts, a likely cause and options.
	Reason string `json:"reason,omitempty"`
	// Freeze false ends running commands instead of freezing them; absent means true.
	Freeze *bool `json:"freeze,omitempty"`
}

// PauseResult is the pause that began.
type PauseResult struct {
	Pause Pause `json:"pause"`
}

// DecideParams answers a pause, a decision or a question: exactly one of the three ids is given.
type DecideParams struct {
	Request
	SessionID  string `json:"sessionId"`
	PauseID    string `json:"pauseId,omitempty"`
	DecisionID string `json:"decisionId,omitempty"`
	QuestionID string `json:"questionId,omitempty"`
	// Option is the id of an option of the pause or of an alternative of the decision, or one of the question's options as it stands.
	Option string `json:"option,omitempty"`
	// Text is the developer's own words, alone or beside an option.
	Text string `json:"text,omitempty"`
	// Reject says no to the decision and takes none of its alternatives.
	Reject bool `json:"reject,omitempty"`
}

// ResumeParams ends a pause.
type ResumeParams struct {
	Request
	SessionID string `json:"sessionId"`
	// AcknowledgeDrift says that the developer knows that the live inputs have changed.
	AcknowledgeDrift bool `json:"acknowledgeDrift,omitempty"`
}

// ResumeResult is the session, and what moved in the live inputs since the snapshot.
type ResumeResult struct {
	Session Session `json:"session"`
	// Drift are the inputs that moved, in sentences.
	Drift List[string] `json:"drift"`
}

// CheckInParams asks the agent to commit or to ask.
type CheckInParams struct {
	Request
	SessionID string `json:"sessionId"`
	// Text is what the developer wants to know in particular.
	Text string `json:"text,omitempty"`
}

// CheckInResult is the agent's answer, held against the journal.
type CheckInResult struct {
	CheckIn CheckIn `json:"checkIn"`
}

// AskParams asks a side question.
type AskParams struct {
	SessionID string `json:"sessionId"`
	Question  string `json:"question"`
	// Location is the place that the question is about.
	Location *Location `json:"location,omitempty"`
}

// AskResult is the answer to a side question.
type AskResult struct {
	Answer string `json:"answer"`
}

// WatchParams adds or removes a watch.
type WatchParams struct {
	Request
	SessionID string    `json:"sessionId"`
	Add       *NewWatch `json:"add,omitempty"`
	// Remove is the id of a watch.
	Remove string `json:"remove,omitempty"`
}

// NewWatch is a watch that the developer adds.
type NewWatch struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
}

// WatchResult is the watches as they stand.
type WatchResult struct {
	Watches List[Watch] `json:"watches"`
}

// ScenarioRunParams runs a scenario by hand; or, with runs, runs nothing and compares two runs.
type ScenarioRunParams struct {
	Request
	SessionID string `json:"sessionId"`
	// Scenario is its name in the configuration; it may be absent beside runs.
	Scenario string `json:"scenario"`
	// Against is what to compare with; absent: lastRun.
	Against Against `json:"against,omitempty"`
	// Runs are the ids of two runs of one scenario that are over, the earlier first: r1, r2, … by hand, p1.1, p1.2, … those after a decision in the pause p1, p1.0 the one before it.
	Runs List[string] `json:"runs,omitempty"`
}

// Against says what a run is held against.
type Against string

// What a run can be held against.
const (
	// LastRun is the scenario's run before this one.
	LastRun Against = "lastRun"
	// Snapshot is a run on the inputs as they were when the pause began.
	Snapshot Against = "snapshot"
)

// ScenarioRunResult is the before and after.
type ScenarioRunResult struct {
	Comparison Comparison `json:"comparison"`
}

// RevertParams takes back a step, an operation, what was done for a steer, or all of the session: exactly one of the four is given.
// What was taken back already is left out; a revert is itself an operation that can be taken back.
type RevertParams struct {
	Request
	SessionID   string `json:"sessionId"`
	StepID      string `json:"stepId,omitempty"`
	OperationID string `json:"operationId,omitempty"`
	SteerID     string `json:"steerId,omitempty"`
	// Session takes back all that was done in the session.
	Session bool `json:"session,omitempty"`
	// DryRun tells what would happen and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// RevertResult says what was taken back, and what stayed because it clashes. Both are empty when there was nothing to take back.
type RevertResult struct {
	Files List[RevertedFile] `json:"files"`
	// Conflicts are the clashes with later changes, in sentences that name the file, which stays as it is, with the lines of both sides below; and the commands that still run, whose changes stay.
	Conflicts List[string] `json:"conflicts"`
}

// RevertedFile is one file of a revert.
type RevertedFile struct {
	URI string `json:"uri"`
	// Status says what became of the file: restored, deleted (it was made), created (it was deleted), same (there was nothing left to take back) or conflict (it stays as it is).
	Status string `json:"status"`
}

// AutonomyParams sets the level of autonomy.
type AutonomyParams struct {
	Request
	SessionID string   `json:"sessionId"`
	Level     Autonomy `json:"level"`
}

// HistoryParams reads the events after since.
type HistoryParams struct {
	SessionID string `json:"sessionId"`
	// Since is the last seq that the client has; absent: all.
	Since int64 `json:"since,omitempty"`
	// Limit bounds the answer; absent: 1,000 events.
	Limit int `json:"limit,omitempty"`
}

// HistoryResult is a page of events; More says that others follow.
type HistoryResult struct {
	Events List[HistoryEvent] `json:"events"`
	More   bool               `json:"more"`
}

// HistoryEvent is one fact of a session; Kind is its name in the past tense.
type HistoryEvent struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Kind is the fact's name in the past tense: steered, planned, called, returned, and so on.
	Kind string `json:"kind"`
	// Data is the fact itself; its form is that of its kind.
	Data json.RawMessage `json:"data"`
}

// BlameParams names lines of a document.
type BlameParams struct {
	// URI is a file URI.
	URI string `json:"uri"`
	// Range bounds the lines; absent: the whole document.
	Range *Range `json:"range,omitempty"`
}

// BlameResult is one entry for each run of lines with the same origin, in the text as it stands now: the editor's where the document is open.
// Each range is of whole lines and ends at the start of the line behind them. Lines that the agent did not write last are left out.
type BlameResult struct {
	Lines List[BlamedLines] `json:"lines"`
}

// BlamedLines says what led to lines.
type BlamedLines struct {
	Range Range `json:"range"`
	// SessionID is the session that the other ids belong to.
	SessionID   string `json:"sessionId"`
	OperationID string `json:"operationId"`
	StepID      string `json:"stepId"`
	DecisionID  string `json:"decisionId,omitempty"`
	SteerID     string `json:"steerId,omitempty"`
}
