package protocol

// Event is what every notification bears: its session, and its place in the session's events,
// which start at 1 and have no gaps.
type Event struct {
	SessionID string `json:"sessionId"`
	Seq       int64  `json:"seq"`
}

// ProgressParams shows an operation as it is now.
type ProgressParams struct {
	Event
	Operation Operation `json:"operation"`
}

// TextParams is the next piece of the agent's words.
type TextParams struct {
	Event
	// OperationID is the question to the model that the words answer.
	OperationID string `json:"operationId"`
	// Delta goes behind what came before it for the same operation.
	Delta string `json:"delta"`
}

// PlanChangedParams shows the plan as it is now and what changed.
type PlanChangedParams struct {
	Event
	Plan Plan `json:"plan"`
	Diff Diff `json:"diff"`
	// Consequences are the agent's own words on what the change costs.
	Consequences List[string] `json:"consequences"`
	// Conflicts are what does not go together: with the task, with an earlier word, or with later changes of a file.
	Conflicts List[string] `json:"conflicts"`
	// Cancelled are the operations that the change ended.
	Cancelled List[string] `json:"cancelled"`
	// Kept are the operations that run on.
	Kept List[string] `json:"kept"`
}

// DecisionParams shows a decision as it is now.
type DecisionParams struct {
	Event
	Decision Decision `json:"decision"`
}

// ModeChangedParams shows the mode, whose turn it is, and what waits for the developer.
type ModeChangedParams struct {
	Event
	Mode       Mode       `json:"mode"`
	Initiative Initiative `json:"initiative"`
	// Pause is there while the mode is paused.
	Pause *Pause `json:"pause,omitempty"`
	// Questions are those that wait for an answer.
	Questions List[Question] `json:"questions,omitempty"`
	// Reason is why the mode changed, in a sentence.
	Reason string `json:"reason,omitempty"`
	// Actions are what can be done with the session now: its own list.
	Actions List[Action] `json:"actions"`
}

// SteeredParams shows a steer as it is now.
type SteeredParams struct {
	Event
	Steer Steer `json:"steer"`
}

// WatchedParams shows a watch whose value changed.
type WatchedParams struct {
	Event
	Watch Watch `json:"watch"`
}

// ScenarioRanParams shows a before and after.
type ScenarioRanParams struct {
	Event
	Comparison Comparison `json:"comparison"`
}

// FilesChangedParams shows the files that an operation changed.
type FilesChangedParams struct {
	Event
	OperationID string           `json:"operationId"`
	Files       List[FileChange] `json:"files"`
}

// UsageParams shows what the session has asked of its model so far.
type UsageParams struct {
	Event
	Usage Usage `json:"usage"`
}
