---@meta
-- Written by protocol/gen from the Go source of package protocol. Do not edit.

---The version of the protocol that these types describe.
---@alias tandem.Version 1

---The requests, client to daemon, each with its params and its result.
---@class (exact) tandem.Requests
---@field ["tandem/session/start"] { params: tandem.StartParams, result: tandem.SessionResult } # Starts a session and attaches its client from the first event.
---@field ["tandem/session/list"] { params: tandem.ListParams, result: tandem.ListResult } # Lists the sessions, newest first, of one workspace or of all.
---@field ["tandem/session/attach"] { params: tandem.AttachParams, result: tandem.SessionResult } # Answers with the session and then sends the events after since.
---@field ["tandem/session/detach"] { params: tandem.SessionParams, result: nil } # Ends the events of one session on this connection.
---@field ["tandem/session/end"] { params: tandem.SessionParams, result: tandem.SessionResult } # Ends a session for good; what runs is cancelled.
---@field ["tandem/plan"] { params: tandem.PlanParams, result: tandem.PlanResult } # Reads the plan, or an earlier revision of it.
---@field ["tandem/steer"] { params: tandem.SteerParams, result: tandem.SteerResult } # Says something to the agent at any moment.
---@field ["tandem/steer/withdraw"] { params: tandem.WithdrawParams, result: tandem.WithdrawResult } # Takes a steer back that the agent has not heard.
---@field ["tandem/replan"] { params: tandem.ReplanParams, result: tandem.ReplanResult } # Edits the plan by hand.
---@field ["tandem/pause"] { params: tandem.PauseParams, result: tandem.PauseResult } # Begins a tactical pause.
---@field ["tandem/decide"] { params: tandem.DecideParams, result: tandem.SessionResult } # Answers a pause, a decision or a question.
---@field ["tandem/resume"] { params: tandem.ResumeParams, result: tandem.ResumeResult } # Ends a tactical pause.
---@field ["tandem/checkIn"] { params: tandem.CheckInParams, result: tandem.CheckInResult } # Makes the agent commit to its next steps or ask.
---@field ["tandem/ask"] { params: tandem.AskParams, result: tandem.AskResult } # Asks a side question; the work goes on undisturbed.
---@field ["tandem/watch"] { params: tandem.WatchParams, result: tandem.WatchResult } # Adds or removes a watch.
---@field ["tandem/scenario/run"] { params: tandem.ScenarioRunParams, result: tandem.ScenarioRunResult } # Runs a scenario again and compares.
---@field ["tandem/revert"] { params: tandem.RevertParams, result: tandem.RevertResult } # Takes back what the agent did in a step, an operation, for a steer or in all of the session.
---@field ["tandem/autonomy"] { params: tandem.AutonomyParams, result: tandem.SessionResult } # Sets how much the agent does before it asks.
---@field ["tandem/history"] { params: tandem.HistoryParams, result: tandem.HistoryResult } # Reads the session's events, also those that gave no notification.
---@field ["tandem/blame"] { params: tandem.BlameParams, result: tandem.BlameResult } # Says which operation, step, decision and steer led to lines.

---The notifications, daemon to client, each with its params.
---@class (exact) tandem.Notifications
---@field ["tandem/progress"] { params: tandem.ProgressParams } # Tells that an operation started, changed its status or ended.
---@field ["tandem/text"] { params: tandem.TextParams } # Streams words of the agent. It is ephemeral: its seq is the last durable one.
---@field ["tandem/planChanged"] { params: tandem.PlanChangedParams } # Tells a new revision, or the progress of a step within one.
---@field ["tandem/decision"] { params: tandem.DecisionParams } # Tells a decision: announced, its window closed, or overridden.
---@field ["tandem/modeChanged"] { params: tandem.ModeChangedParams } # Tells the mode, and whose turn it is.
---@field ["tandem/steered"] { params: tandem.SteeredParams } # Tells that the status of a steer changed.
---@field ["tandem/watched"] { params: tandem.WatchedParams } # Tells that a watched value changed.
---@field ["tandem/scenarioRan"] { params: tandem.ScenarioRanParams } # Tells that a before and after is there.
---@field ["tandem/filesChanged"] { params: tandem.FilesChangedParams } # Tells the files that the agent changed.
---@field ["tandem/usage"] { params: tandem.UsageParams } # Tells the session's usage after each model request.

---The JSON-RPC codes of the errors particular to Tandem.
---@alias tandem.ErrorCode
---| -32801 # staleRevision: Answers a re-plan made on a revision that is not the current one: nothing was changed; read the plan and edit again.
---| -32001 # noSuchSession: No session has this id.
---| -32002 # wrongMode: The session's mode, which data.mode names, does not take this request.
---| -32003 # noSuchEntity: The session has no step, operation, decision, pause, question, steer, watch or scenario of this name.
---| -32004 # modelUnavailable: The model server cannot be reached or refuses: the message names the setting to change.
---| -32005 # untrusted: The workspace is not trusted, so nothing is executed in it: trust it and ask again.
---| -32006 # overloaded: The daemon has too much to do: send the request again later.
---| -32007 # driftUnacknowledged: Answers a resume when the live inputs are no longer those of the snapshot: look, then resume with acknowledgeDrift.
---| -32602 # invalidParams: The params do not fit the method: the message names the field.

---Range is a range in a document, as in LSP.
---@class (exact) tandem.Range
---@field start tandem.Position # The first place in the range.
---@field end tandem.Position # The place behind the last one in the range.

---Position is a place in a document, as in LSP: line and character from 0, the character in units of the negotiated position encoding.
---@class (exact) tandem.Position
---@field line integer # Counted from 0.
---@field character integer # Counted from 0, in units of the negotiated position encoding.

---Session is one task that a developer and the agent work on together.
---@class (exact) tandem.Session
---@field id string
---@field workspace string # The folder that the session works in, as a file URI.
---@field task string # What the developer asked for, in full.
---@field title string # The first line of the task.
---@field mode tandem.Mode
---@field initiative tandem.Initiative
---@field autonomy tandem.Autonomy
---@field plan? tandem.Plan # Absent until the agent has laid one out.
---@field operations tandem.Operation[] # In the order in which they were asked for.
---@field decisions tandem.Decision[]
---@field pause? tandem.Pause # The one that the session is in.
---@field questions tandem.Question[] # Those that wait for an answer.
---@field watches tandem.Watch[]
---@field usage tandem.Usage
---@field model string # The name by which the model server knows the model.
---@field seq integer # The session's last event.
---@field startedAt string
---@field updatedAt string
---@field actions tandem.Action[]

---Mode says what a session does now.
---@alias tandem.Mode
---| "executing" # The agent works.
---| "paused" # A tactical pause: nothing of effect write or execute runs before the developer resumes.
---| "waiting" # It is the developer's turn: what runs goes on, and the model is not asked again before they speak.
---| "done" # The agent has finished. A steer sets the work going again.

---Initiative says whose turn it is.
---@alias tandem.Initiative
---| "agent"
---| "developer"

---Autonomy says how much the agent does before it waits for a word.
---@alias tandem.Autonomy
---| "close" # Makes major and notable decisions wait for a word of the developer.
---| "balanced" # Gives a major decision a veto window of 10 s, in which reading goes on and the writes behind it wait. It is the level of a session that names none.
---| "high" # Lets every decision stand at once.

---Usage counts what the session asked of its model.
---@class (exact) tandem.Usage
---@field inputTokens integer
---@field cachedInputTokens integer # Those of `inputTokens` that the server had in its cache.
---@field outputTokens integer
---@field requests integer
---@field estimated? boolean # Says that the server told no tokens for some request, and those of it are reckoned from the length of what was sent and said.

---Plan is the agent's plan at one revision. The revision grows when steps are added, dropped, moved or change in anything but status and verified.
---@class (exact) tandem.Plan
---@field revision integer # Counts from 1.
---@field steps tandem.Step[]
---@field cause tandem.Cause

---Cause says what a plan's revision answers; of several steers that one plan answers, the last.
---@class (exact) tandem.Cause
---@field kind tandem.CauseKind
---@field id? string # That of the steer or pause.

---CauseKind says what led to a revision.
---@alias tandem.CauseKind
---| "task" # The task that the session was started with.
---| "steer" # A steer; the id is the steer's.
---| "developer" # An edit of the plan by the developer.
---| "pause" # What was decided in a pause; the id is the pause's.
---| "agent" # The agent's own insight.

---Step is one step of a plan.
---@class (exact) tandem.Step
---@field id string
---@field title string
---@field intent string # Says what the step is for.
---@field status tandem.StepStatus
---@field files string[] # Those that the step is about, as file URIs.
---@field dependsOn string[] # The ids of steps that come first.
---@field verify? tandem.Verify
---@field verified? boolean # True when the command passed after the step's last change, false when it failed, and absent when it never ran.
---@field origin tandem.Origin
---@field actions tandem.Action[]

---StepStatus says how far a step has come.
---@alias tandem.StepStatus
---| "pending" # No work on it has begun.
---| "active" # The agent works on it.
---| "done" # It is finished and, where it has a verification, that this passed.
---| "dropped" # It fell out of the plan.
---| "blocked" # It cannot go on as things are.

---Verify is the command that has to pass before a step is done.
---@class (exact) tandem.Verify
---@field command string # A line for the shell, run in the workspace.

---Origin says who brought a step into the plan.
---@class (exact) tandem.Origin
---@field kind tandem.OriginKind
---@field id? string # That of the steer.

---OriginKind says who brought a step into the plan.
---@alias tandem.OriginKind
---| "agent" # The agent.
---| "developer" # The developer, by an edit of the plan.
---| "steer" # A steer, whose id is given.

---Operation is one thing that the agent does: a question to the model, or a call of a tool. It ends in exactly one of done, failed, cancelled and lost.
---@class (exact) tandem.Operation
---@field id string
---@field stepId? string # The step that it works on.
---@field kind tandem.OperationKind
---@field tool? string # The name of the tool that is called.
---@field intent string # Says what it is about to do, and why.
---@field effect tandem.Effect
---@field target string # What it works on, for the eye: a path, a command, a pattern.
---@field status tandem.OperationStatus
---@field startedAt? string
---@field endedAt? string
---@field output? string # Bounded: head and tail, with what was cut said.
---@field exitCode? integer # That of a command that ended.
---@field cancelledBy? tandem.CancelledBy
---@field partial? boolean # Says that it was cancelled after it began; `files` are those that it had touched by then.
---@field files? string[] # Those that it touched, as file URIs.
---@field actions tandem.Action[]

---OperationKind tells questions to the model from calls of tools.
---@alias tandem.OperationKind
---| "think" # A question to the model.
---| "tool" # A call of a tool.

---Effect says what an operation may do to the world.
---@alias tandem.Effect
---| "none" # That of thinking, planning and talking.
---| "read" # Reads the workspace.
---| "write" # Changes files.
---| "execute" # Runs a command, which may do anything that the sandbox lets it.

---OperationStatus says how far an operation has come.
---@alias tandem.OperationStatus
---| "queued" # It has not begun.
---| "running" # It has begun and not ended.
---| "frozen" # It stands still in a pause and goes on at resume.
---| "done" # It ended as it was meant to.
---| "failed" # It ended in an error.
---| "cancelled" # It was kept from starting, or ended before its time; then it is partial.
---| "lost" # The daemon died while it ran: its outcome is unknown, so look before you act again.

---CancelledBy names what cancelled an operation.
---@class (exact) tandem.CancelledBy
---@field kind tandem.CancelKind
---@field id string # That of the steer or the pause, for a re-plan the new revision, for an end the session's.

---CancelKind says what cancelled an operation.
---@alias tandem.CancelKind
---| "steer" # A steer that made it useless.
---| "pause" # A pause that ends commands instead of freezing them.
---| "replan" # A plan that made it useless, the agent's or the developer's.
---| "end" # The end of the session.

---Decision is a choice that the agent made and said aloud.
---@class (exact) tandem.Decision
---@field id string
---@field stepId? string
---@field kind? tandem.DecisionKind # Permission where the agent asks for leave: its alternatives are the answers, and only one of them is one. Absent: it is a choice of the agent.
---@field summary string # The choice in one sentence.
---@field rationale string # Why the agent chose so.
---@field alternatives tandem.Alternative[]
---@field location? tandem.Location # The place in the code that the decision shapes, with a range.
---@field significance tandem.Significance
---@field status tandem.DecisionStatus
---@field holds string[] # The operations that wait for the decision.
---@field deadline? string # When an open decision stands by itself; absent: it waits for a word.
---@field chosen? string # The alternative that the developer took.
---@field actions tandem.Action[]

---DecisionKind says what a decision is about.
---@alias tandem.DecisionKind
---| "permission" # Leave for an operation that waits for it: to use the network, to touch a file that holds secrets, or to change one that other programs run by themselves. It never stands by itself; only the developer gives it.

---Alternative is another way that the agent would truly take.
---@class (exact) tandem.Alternative
---@field id string
---@field title string
---@field consequence? string # What taking it would cost or change.

---Location is a place in the workspace. The range may be absent where a whole file is meant.
---@class (exact) tandem.Location
---@field uri string # A file URI.
---@field range? tandem.Range

---Significance says how much a decision shapes the result.
---@alias tandem.Significance
---| "minor" # Decisions stand at once.
---| "notable" # Decisions wait for a word at the autonomy close.
---| "major" # Decisions wait for a word at the autonomy close and have a veto window at balanced.

---DecisionStatus says whether a decision still waits for a veto.
---@alias tandem.DecisionStatus
---| "open" # It waits: the writes that it holds have not begun.
---| "standing" # It holds.
---| "overridden" # The developer rejected it or chose an alternative.

---Pause is a tactical pause: nothing of effect write or execute runs until the developer resumes.
---@class (exact) tandem.Pause
---@field id string
---@field by tandem.PausedBy
---@field reason string # Why it was called, in a sentence.
---@field facts tandem.Fact[]
---@field likelyCause? string # The agent's reading of the facts.
---@field options tandem.Option[]
---@field frozen string[] # The operations that stand still and go on at resume.
---@field snapshot? string # Names the inputs as they were when the pause began.
---@field decision? string # What the developer decided, in words.
---@field comparison? tandem.Comparison # Holds the rerun after the decision beside the run before it.
---@field actions tandem.Action[]

---PausedBy says who called a pause.
---@alias tandem.PausedBy
---| "developer" # The developer.
---| "agent" # The agent, which found facts that do not fit.
---| "tripwire" # A stop condition that tripped or could not be evaluated.
---| "recovery" # The daemon after a crash: the developer looks before the work goes on.
---| "budget" # A stop condition on what the session may use.

---Fact is something that was observed, never guessed.
---@class (exact) tandem.Fact
---@field text string
---@field source? tandem.FactSource # Where it was observed.

---FactSource is where a fact was observed: a place, an operation, or a tripwire. Facts with a tripwire come from the daemon, not from the model.
---@class (exact) tandem.FactSource
---@field uri? string # A file URI; `range` is the place in it.
---@field range? tandem.Range
---@field operationId? string
---@field tripwire? string # The name of the stop condition; `expected` and `observed` come with it and are never empty.
---@field expected? string
---@field observed? string

---Option is a way out of a pause.
---@class (exact) tandem.Option
---@field id string
---@field title string
---@field detail? string # What taking it would mean.
---@field touches tandem.Touch[]
---@field files string[] # Those that it would change, as file URIs.

---Touch says what kind of thing an option changes.
---@alias tandem.Touch
---| "code"
---| "architecture"
---| "businessRule"
---| "data"
---| "configuration"

---Question is what the agent cannot find in the workspace and asks the developer.
---@class (exact) tandem.Question
---@field id string
---@field text string
---@field options? string[] # The answers to choose from; absent: own words alone.
---@field actions tandem.Action[]

---Watch is a live value of the running product.
---@class (exact) tandem.Watch
---@field id string
---@field name string
---@field source tandem.Source
---@field value? any # What was read last; absent when nothing was.
---@field error? string # Says why the value cannot be read now.
---@field previous? any # What it was before it changed.
---@field at string # When it was read.
---@field operationId? string # The operation after which the value changed.

---Source is where a value is read: a JSON file at a pointer, a column of a CSV file, a query, the last command's output by a regular expression, or a command. Exactly one of them is given.
---@class (exact) tandem.Source
---@field json? string # A JSON file; `at` is the JSON pointer in it.
---@field at? string
---@field csv? string # A CSV file; `column` and `agg` go with it.
---@field column? string
---@field agg? tandem.Aggregate
---@field sql? string # The name of a database, such as sqlite:orders.db; `query` goes with it.
---@field query? string
---@field output? string # A regular expression on the last command's output.
---@field command? string # A line for the shell.

---Aggregate makes one value of a column.
---@alias tandem.Aggregate
---| "count"
---| "sum"
---| "min"
---| "max"

---Comparison holds one scenario's run before a decision beside its run after it.
---@class (exact) tandem.Comparison
---@field scenario string
---@field input tandem.Input
---@field before tandem.Run
---@field after tandem.Run
---@field changes tandem.Change[]
---@field actions tandem.Action[]

---Input says what both runs of a comparison read, and whether it was the same.
---@class (exact) tandem.Input
---@field digest string # Names the bytes of the inputs.
---@field same boolean # Says that both runs read the same bytes.

---Run is one run of a scenario.
---@class (exact) tandem.Run
---@field exitCode integer
---@field durationMs integer # In milliseconds.
---@field outputs tandem.Output[]
---@field checks tandem.Check[] # The tripwires that watch what the scenario reads and writes.

---Output is one file that a run wrote.
---@class (exact) tandem.Output
---@field path string # Relative to the workspace.
---@field digest string # Names the bytes of the file.
---@field bytes integer # The size of the file.

---Check is one tripwire's verdict on a run.
---@class (exact) tandem.Check
---@field tripwire string # The name of the stop condition.
---@field ok boolean
---@field expected string
---@field observed string

---Change is one difference between two runs.
---@class (exact) tandem.Change
---@field what string # Names the thing that differs.
---@field before string
---@field after string

---CheckIn is the agent's answer to a check-in.
---@class (exact) tandem.CheckIn
---@field id string
---@field verdict tandem.Verdict
---@field nextSteps tandem.NextStep[] # What the agent commits to.
---@field questions tandem.Question[] # Those that the developer has to answer first.
---@field brief tandem.Brief
---@field contradictions tandem.Contradiction[] # Claims of the brief that the journal refutes.
---@field signals string[] # What the daemon noticed, in sentences: a long streak of reading, repeated failures, a plan without progress.

---Verdict says whether the agent goes on or asks.
---@alias tandem.Verdict
---| "continue" # The agent knows its next steps and goes on.
---| "clarify" # The agent asks, and that it is the developer's turn.

---NextStep is what the agent commits to do next.
---@class (exact) tandem.NextStep
---@field step? string # The id of a step of the plan.
---@field text string

---Brief is where the agent believes the work stands.
---@class (exact) tandem.Brief
---@field goal string
---@field done tandem.Claim[]
---@field remaining string[]
---@field assumptions string[]
---@field risks string[]

---Claim is something that the agent says is done. `grounded` says that the journal bears it out.
---@class (exact) tandem.Claim
---@field text string
---@field evidence? string[] # The ids of operations.
---@field grounded boolean

---Contradiction is something that the agent said and the journal refutes.
---@class (exact) tandem.Contradiction
---@field claim string
---@field fact string
---@field operationId? string

---Steer is something that the developer said to the agent while it worked.
---@class (exact) tandem.Steer
---@field id string
---@field text string
---@field scope? tandem.Scope
---@field when tandem.When
---@field by string # Says whom it came from.
---@field status tandem.SteerStatus
---@field planRevision? integer # The plan that answered it.

---SteerStatus says how far a steer has come.
---@alias tandem.SteerStatus
---| "received" # It is on disk.
---| "heard" # It stands in a request that was sent to the model.
---| "applied" # The plan that answers it is there.
---| "withdrawn" # The developer took it back before the agent heard it.

---Scope is what a steer is about: a step, a decision, an operation or a place; none of them means the whole task.
---@class (exact) tandem.Scope
---@field stepId? string
---@field decisionId? string
---@field operationId? string
---@field location? tandem.Location # A place in a document, with a range.

---When says at which moment a steer is heard.
---@alias tandem.When
---| "now" # Cancels what is now useless and is heard at once. It is the moment of a steer that names none.
---| "stepEnd" # Waits until the active step is done, blocked or dropped, and cancels nothing.
---| "idle" # Waits until the agent's turn would end, and cancels nothing.

---Diff is what a re-plan changed. `kept`, `added`, `dropped` and `reverted` are ids of steps.
---@class (exact) tandem.Diff
---@field kept string[] # Steps that both plans have, unchanged.
---@field changed tandem.StepChange[]
---@field added string[]
---@field dropped string[]
---@field reverted string[] # `dropped` steps whose edits were taken back.

---StepChange is one step before and after a re-plan.
---@class (exact) tandem.StepChange
---@field before tandem.Step
---@field after tandem.Step

---FileChange is one file that the agent changed.
---@class (exact) tandem.FileChange
---@field uri string # A file URI.
---@field change tandem.ChangeKind
---@field hunks tandem.Hunk[]

---ChangeKind says what happened to a file.
---@alias tandem.ChangeKind
---| "created"
---| "changed"
---| "deleted"

---Hunk is one changed region of a file: the lines as they were and as they are, counted from 0.
---@class (exact) tandem.Hunk
---@field oldStart integer # The first line of the region as it was.
---@field oldLines integer
---@field newStart integer # The first line of the region as it is.
---@field newLines integer

---Action is something that can be done with an entity now. A client draws it and sends it back as it is.
---@class (exact) tandem.Action
---@field title string # What a button or a menu shows.
---@field method string # The request to send.
---@field params tandem.ActionParams # Those of the request, to be sent as they are.
---@field ask? tandem.ActionAsk # There when the developer has to type something first.
---@field kind? tandem.ActionKind

---ActionParams are the params of an action's request, as far as they are known.
---@class (exact) tandem.ActionParams
---@field sessionId string
---@field stepId? string
---@field operationId? string
---@field pauseId? string
---@field decisionId? string
---@field questionId? string
---@field option? string
---@field reject? boolean
---@field text? string
---@field scope? tandem.Scope
---@field level? tandem.Autonomy
---@field acknowledgeDrift? boolean
---@field scenario? string

---ActionAsk names the param that the developer types.
---@class (exact) tandem.ActionAsk
---@field param string # The name of the field of the params that takes what was typed.
---@field prompt string # What to ask the developer.

---ActionKind says how an action is drawn.
---@alias tandem.ActionKind
---| "primary" # The action that a developer most likely wants.
---| "danger" # Ends or takes back something; it is drawn apart from the others.

---ErrorKind names an error particular to Tandem; it stands in the error's data.kind.
---@alias tandem.ErrorKind
---| "staleRevision" # Answers a re-plan made on a revision that is not the current one: nothing was changed; read the plan and edit again.
---| "noSuchSession" # No session has this id.
---| "wrongMode" # The session's mode, which data.mode names, does not take this request.
---| "noSuchEntity" # The session has no step, operation, decision, pause, question, steer, watch or scenario of this name.
---| "modelUnavailable" # The model server cannot be reached or refuses: the message names the setting to change.
---| "untrusted" # The workspace is not trusted, so nothing is executed in it: trust it and ask again.
---| "overloaded" # The daemon has too much to do: send the request again later.
---| "driftUnacknowledged" # Answers a resume when the live inputs are no longer those of the snapshot: look, then resume with acknowledgeDrift.
---| "invalidParams" # The params do not fit the method: the message names the field.

---ErrorData is the data of an error.
---@class (exact) tandem.ErrorData
---@field kind tandem.ErrorKind
---@field mode? tandem.Mode # The session's mode, where the request does not fit it.

---TandemOptions are a client's words to Tandem.
---@class (exact) tandem.TandemOptions
---@field trusted? boolean # True when the developer trusts the workspace. Absent is not true: nothing is run and no configuration of the workspace is read.
---@field client? string # A short name of the client, as in «vscode».

---TandemOffer says which version of this protocol the daemon speaks.
---@class (exact) tandem.TandemOffer
---@field version integer

---Event is what every notification bears: its session, and its place in the session's events, which start at 1 and have no gaps.
---@class (exact) tandem.Event
---@field sessionId string
---@field seq integer

---ProgressParams shows an operation as it is now.
---@class (exact) tandem.ProgressParams: tandem.Event
---@field operation tandem.Operation

---TextParams is the next piece of the agent's words.
---@class (exact) tandem.TextParams: tandem.Event
---@field operationId string # The question to the model that the words answer.
---@field delta string # Goes behind what came before it for the same operation.

---PlanChangedParams shows the plan as it is now and what changed.
---@class (exact) tandem.PlanChangedParams: tandem.Event
---@field plan tandem.Plan
---@field diff tandem.Diff
---@field consequences string[] # The agent's own words on what the change costs.
---@field conflicts string[] # What does not go together: with the task, with an earlier word, or with later changes of a file.
---@field cancelled string[] # The operations that the change ended.
---@field kept string[] # The operations that run on.

---DecisionParams shows a decision as it is now.
---@class (exact) tandem.DecisionParams: tandem.Event
---@field decision tandem.Decision

---ModeChangedParams shows the mode, whose turn it is, and what waits for the developer.
---@class (exact) tandem.ModeChangedParams: tandem.Event
---@field mode tandem.Mode
---@field initiative tandem.Initiative
---@field pause? tandem.Pause # There while the mode is paused.
---@field questions? tandem.Question[] # Those that wait for an answer.
---@field reason? string # Why the mode changed, in a sentence.
---@field actions tandem.Action[] # What can be done with the session now: its own list.

---SteeredParams shows a steer as it is now.
---@class (exact) tandem.SteeredParams: tandem.Event
---@field steer tandem.Steer

---WatchedParams shows a watch whose value changed.
---@class (exact) tandem.WatchedParams: tandem.Event
---@field watch tandem.Watch

---ScenarioRanParams shows a before and after.
---@class (exact) tandem.ScenarioRanParams: tandem.Event
---@field comparison tandem.Comparison

---FilesChangedParams shows the files that an operation changed.
---@class (exact) tandem.FilesChangedParams: tandem.Event
---@field operationId string
---@field files tandem.FileChange[]

---UsageParams shows what the session has asked of its model so far.
---@class (exact) tandem.UsageParams: tandem.Event
---@field usage tandem.Usage

---Request is what every request that changes a session may bear: the same pair again is answered with the first answer and does nothing twice.
---@class (exact) tandem.Request
---@field clientId? string
---@field requestKey? string

---StartParams starts a session.
---@class (exact) tandem.StartParams: tandem.Request
---@field workspace? string # A file URI; absent: the folder that initialize named.
---@field task string # What the agent is to do, in the developer's words.
---@field autonomy? tandem.Autonomy # The level to start at; absent: the configured one.
---@field model? string # The model to ask; absent: the configured one.
---@field context? tandem.Location[] # Places that the task is about.

---SessionResult is a session as it stands.
---@class (exact) tandem.SessionResult
---@field session tandem.Session

---ListParams may name one workspace.
---@class (exact) tandem.ListParams
---@field workspace? string

---ListResult is the sessions, newest first. Their operations that have ended are left out: attach tells them.
---@class (exact) tandem.ListResult
---@field sessions tandem.Session[]

---AttachParams follows a session.
---@class (exact) tandem.AttachParams
---@field sessionId string
---@field since? integer # The last seq that the client has; 0: all events; absent: only what is new.

---SessionParams names a session.
---@class (exact) tandem.SessionParams: tandem.Request
---@field sessionId string

---PlanParams reads a plan.
---@class (exact) tandem.PlanParams
---@field sessionId string
---@field revision? integer # An earlier revision; absent: the current one.

---PlanResult is a plan; it is null while the agent has not laid one out.
---@class (exact) tandem.PlanResult
---@field plan tandem.Plan?

---SteerParams says something to the agent.
---@class (exact) tandem.SteerParams: tandem.Request
---@field sessionId string
---@field text string # What the developer says, in their own words.
---@field scope? tandem.Scope # What it is about; absent: the whole task.
---@field when? tandem.When # The moment to hear it; absent: now.
---@field seenSeq? integer # The last event that the developer had seen when they wrote.
---@field context? tandem.Location[] # Places that the words refer to.

---SteerResult is the receipt of a steer: it is on disk.
---@class (exact) tandem.SteerResult
---@field steerId string
---@field seq integer # The event that the steer became.
---@field cancelled string[] # The operations that the steer ended or kept from starting.
---@field running string[] # The operations that run on.
---@field unseen tandem.Unseen[] # Operations with an effect that ended after seenSeq.

---Unseen is an operation that had ended before the developer could know of it.
---@class (exact) tandem.Unseen
---@field operationId string
---@field files string[] # Those that it changed, as file URIs.

---WithdrawParams takes a steer back.
---@class (exact) tandem.WithdrawParams: tandem.Request
---@field sessionId string
---@field steerId string

---WithdrawResult is false once the agent has heard the steer.
---@class (exact) tandem.WithdrawResult
---@field withdrawn boolean # False when it was too late.

---ReplanParams edits the plan by hand.
---@class (exact) tandem.ReplanParams: tandem.Request
---@field sessionId string
---@field baseRevision integer # The revision that the edits were made on; another one than the current is refused as staleRevision.
---@field edits tandem.PlanEdit[] # Made in their order.
---@field reason? string # Told to the agent.

---PlanEdit is one edit of a plan.
---@class (exact) tandem.PlanEdit
---@field op tandem.PlanEditOp
---@field step? tandem.NewStep # The step to add; its id may be absent.
---@field stepId? string # The step to drop, move or change.
---@field after? string # The step to stand behind. Without it, add puts the step last and move first.
---@field title? string
---@field intent? string
---@field files? string[]
---@field verify? tandem.Verify # Replaces the verification; one with an empty command takes it away.

---NewStep is a step that the developer adds.
---@class (exact) tandem.NewStep
---@field id? string # One that the plan does not have; absent: the daemon gives one.
---@field title string
---@field intent? string
---@field files? string[]
---@field dependsOn? string[]
---@field verify? tandem.Verify

---PlanEditOp says what an edit does.
---@alias tandem.PlanEditOp
---| "add" # Puts step into the plan, behind after or last.
---| "drop" # Takes the step stepId out of the plan.
---| "move" # Puts the step stepId behind after or first.
---| "change" # Changes title, intent, files or verify of the step stepId, whichever are given.

---ReplanResult is the plan after the edits, and what they changed.
---@class (exact) tandem.ReplanResult
---@field plan tandem.Plan
---@field diff tandem.Diff

---PauseParams begins a tactical pause.
---@class (exact) tandem.PauseParams: tandem.Request
---@field sessionId string
---@field reason? string # `reason`, where given, asks the agent for facts, a likely cause and options.
---@field freeze? boolean # False ends running commands instead of freezing them; absent means true.

---PauseResult is the pause that began.
---@class (exact) tandem.PauseResult
---@field pause tandem.Pause

---DecideParams answers a pause, a decision or a question: exactly one of the three ids is given.
---@class (exact) tandem.DecideParams: tandem.Request
---@field sessionId string
---@field pauseId? string
---@field decisionId? string
---@field questionId? string
---@field option? string # The id of an option of the pause or of an alternative of the decision, or one of the question's options as it stands.
---@field text? string # The developer's own words, alone or beside an option.
---@field reject? boolean # Says no to the decision and takes none of its alternatives.

---ResumeParams ends a pause.
---@class (exact) tandem.ResumeParams: tandem.Request
---@field sessionId string
---@field acknowledgeDrift? boolean # Says that the developer knows that the live inputs have changed.

---ResumeResult is the session, and what moved in the live inputs since the snapshot.
---@class (exact) tandem.ResumeResult
---@field session tandem.Session
---@field drift string[] # The inputs that moved, in sentences.

---CheckInParams asks the agent to commit or to ask.
---@class (exact) tandem.CheckInParams: tandem.Request
---@field sessionId string
---@field text? string # What the developer wants to know in particular.

---CheckInResult is the agent's answer, held against the journal.
---@class (exact) tandem.CheckInResult
---@field checkIn tandem.CheckIn

---AskParams asks a side question.
---@class (exact) tandem.AskParams
---@field sessionId string
---@field question string
---@field location? tandem.Location # The place that the question is about.

---AskResult is the answer to a side question.
---@class (exact) tandem.AskResult
---@field answer string

---WatchParams adds or removes a watch.
---@class (exact) tandem.WatchParams: tandem.Request
---@field sessionId string
---@field add? tandem.NewWatch
---@field remove? string # The id of a watch.

---NewWatch is a watch that the developer adds.
---@class (exact) tandem.NewWatch
---@field name string
---@field source tandem.Source

---WatchResult is the watches as they stand.
---@class (exact) tandem.WatchResult
---@field watches tandem.Watch[]

---ScenarioRunParams runs a scenario by hand; or, with runs, runs nothing and compares two runs.
---@class (exact) tandem.ScenarioRunParams: tandem.Request
---@field sessionId string
---@field scenario string # Its name in the configuration; it may be absent beside runs.
---@field against? tandem.Against # What to compare with; absent: lastRun.
---@field runs? string[] # The ids of two runs of one scenario that are over, the earlier first: r1, r2, … by hand, p1.1, p1.2, … those after a decision in the pause p1, p1.0 the one before it.

---Against says what a run is held against.
---@alias tandem.Against
---| "lastRun" # The scenario's run before this one.
---| "snapshot" # A run on the inputs as they were when the pause began.

---ScenarioRunResult is the before and after.
---@class (exact) tandem.ScenarioRunResult
---@field comparison tandem.Comparison

---RevertParams takes back a step, an operation, what was done for a steer, or all of the session: exactly one of the four is given. What was taken back already is left out; a revert is itself an operation that can be taken back.
---@class (exact) tandem.RevertParams: tandem.Request
---@field sessionId string
---@field stepId? string
---@field operationId? string
---@field steerId? string
---@field session? boolean # Takes back all that was done in the session.
---@field dryRun? boolean # Tells what would happen and changes nothing.

---RevertResult says what was taken back, and what stayed because it clashes. Both are empty when there was nothing to take back.
---@class (exact) tandem.RevertResult
---@field files tandem.RevertedFile[]
---@field conflicts string[] # The clashes with later changes, in sentences that name the file, which stays as it is, with the lines of both sides below; and the commands that still run, whose changes stay.

---RevertedFile is one file of a revert.
---@class (exact) tandem.RevertedFile
---@field uri string
---@field status string # Says what became of the file: restored, deleted (it was made), created (it was deleted), same (there was nothing left to take back) or conflict (it stays as it is).

---AutonomyParams sets the level of autonomy.
---@class (exact) tandem.AutonomyParams: tandem.Request
---@field sessionId string
---@field level tandem.Autonomy

---HistoryParams reads the events after since.
---@class (exact) tandem.HistoryParams
---@field sessionId string
---@field since? integer # The last seq that the client has; absent: all.
---@field limit? integer # Bounds the answer; absent: 1,000 events.

---HistoryResult is a page of events; `more` says that others follow.
---@class (exact) tandem.HistoryResult
---@field events tandem.HistoryEvent[]
---@field more boolean

---HistoryEvent is one fact of a session; `kind` is its name in the past tense.
---@class (exact) tandem.HistoryEvent
---@field seq integer
---@field at string
---@field kind string # The fact's name in the past tense: steered, planned, called, returned, and so on.
---@field data any # The fact itself; its form is that of its kind.

---BlameParams names lines of a document.
---@class (exact) tandem.BlameParams
---@field uri string # A file URI.
---@field range? tandem.Range # Bounds the lines; absent: the whole document.

---BlameResult is one entry for each run of lines with the same origin, in the text as it stands now: the editor's where the document is open. Each range is of whole lines and ends at the start of the line behind them. `lines` that the agent did not write last are left out.
---@class (exact) tandem.BlameResult
---@field lines tandem.BlamedLines[]

---BlamedLines says what led to lines.
---@class (exact) tandem.BlamedLines
---@field range tandem.Range
---@field sessionId string # The session that the other ids belong to.
---@field operationId string
---@field stepId string
---@field decisionId? string
---@field steerId? string
