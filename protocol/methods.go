package protocol

// Requests, client to daemon. Each constant is followed by its params and its result.
const (
	// MethodStart starts a session and attaches its client from the first event.
	MethodStart = "tandem/session/start" // StartParams, SessionResult
	// MethodList lists the sessions, newest first, of one workspace or of all.
	MethodList = "tandem/session/list" // ListParams, ListResult
	// MethodAttach answers with the session and then sends the events after since.
	MethodAttach = "tandem/session/attach" // AttachParams, SessionResult
	// MethodDetach ends the events of one session on this connection.
	MethodDetach = "tandem/session/detach" // SessionParams, null
	// MethodEnd ends a session for good; what runs is cancelled.
	MethodEnd = "tandem/session/end" // SessionParams, SessionResult
	// MethodPlan reads the plan, or an earlier revision of it.
	MethodPlan = "tandem/plan" // PlanParams, PlanResult
	// MethodSteer says something to the agent at any moment.
	MethodSteer = "tandem/steer" // SteerParams, SteerResult
	// MethodWithdraw takes a steer back that the agent has not heard.
	MethodWithdraw = "tandem/steer/withdraw" // WithdrawParams, WithdrawResult
	// MethodReplan edits the plan by hand.
	MethodReplan = "tandem/replan" // ReplanParams, ReplanResult
	// MethodPause begins a tactical pause.
	MethodPause = "tandem/pause" // PauseParams, PauseResult
	// MethodDecide answers a pause, a decision or a question.
	MethodDecide = "tandem/decide" // DecideParams, SessionResult
	// MethodResume ends a tactical pause.
	MethodResume = "tandem/resume" // ResumeParams, ResumeResult
	// MethodCheckIn makes the agent commit to its next steps or ask.
	MethodCheckIn = "tandem/checkIn" // CheckInParams, CheckInResult
	// MethodAsk asks a side question; the work goes on undisturbed.
	MethodAsk = "tandem/ask" // AskParams, AskResult
	// MethodWatch adds or removes a watch.
	MethodWatch = "tandem/watch" // WatchParams, WatchResult
	// MethodScenarioRun runs a scenario again and compares.
	MethodScenarioRun = "tandem/scenario/run" // ScenarioRunParams, ScenarioRunResult
	// MethodRevert takes back what the agent did in a step, an operation, for a steer or in all of the session.
	MethodRevert = "tandem/revert" // RevertParams, RevertResult
	// MethodAutonomy sets how much the agent does before it asks.
	MethodAutonomy = "tandem/autonomy" // AutonomyParams, SessionResult
	// MethodHistory reads the session's events, also those that gave no notification.
	MethodHistory = "tandem/history" // HistoryParams, HistoryResult
	// MethodBlame says which operation, step, decision and steer led to lines.
	MethodBlame = "tandem/blame" // BlameParams, BlameResult
)

// Notifications, daemon to client. Each bears sessionId and seq beside what it tells.
const (
	// NoteProgress tells that an operation started, changed its status or ended.
	NoteProgress = "tandem/progress" // ProgressParams
	// NoteText streams words of the agent. It is ephemeral: its seq is the last durable one.
	NoteText = "tandem/text" // TextParams
	// NotePlanChanged tells a new revision, or the progress of a step within one.
	NotePlanChanged = "tandem/planChanged" // PlanChangedParams
	// NoteDecision tells a decision: announced, its window closed, or overridden.
	NoteDecision = "tandem/decision" // DecisionParams
	// NoteModeChanged tells the mode, and whose turn it is.
	NoteModeChanged = "tandem/modeChanged" // ModeChangedParams
	// NoteSteered tells that the status of a steer changed.
	NoteSteered = "tandem/steered" // SteeredParams
	// NoteWatched tells that a watched value changed.
	NoteWatched = "tandem/watched" // WatchedParams
	// NoteScenarioRan tells that a before and after is there.
	NoteScenarioRan = "tandem/scenarioRan" // ScenarioRanParams
	// NoteFilesChanged tells the files that the agent changed.
	NoteFilesChanged = "tandem/filesChanged" // FilesChangedParams
	// NoteUsage tells the session's usage after each model request.
	NoteUsage = "tandem/usage" // UsageParams
)
