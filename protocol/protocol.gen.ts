// Written by protocol/gen from the Go source of package protocol. Do not edit.

/** The version of the protocol that these types describe. */
export const version = 1;

/** The requests, client to daemon, each with its params and its result. */
export interface Requests {
  /** Starts a session and attaches its client from the first event. */
  "tandem/session/start": { params: StartParams; result: SessionResult };
  /** Lists the sessions, newest first, of one workspace or of all. */
  "tandem/session/list": { params: ListParams; result: ListResult };
  /** Answers with the session and then sends the events after since. */
  "tandem/session/attach": { params: AttachParams; result: SessionResult };
  /** Ends the events of one session on this connection. */
  "tandem/session/detach": { params: SessionParams; result: null };
  /** Ends a session for good; what runs is cancelled. */
  "tandem/session/end": { params: SessionParams; result: SessionResult };
  /** Reads the plan, or an earlier revision of it. */
  "tandem/plan": { params: PlanParams; result: PlanResult };
  /** Says something to the agent at any moment. */
  "tandem/steer": { params: SteerParams; result: SteerResult };
  /** Takes a steer back that the agent has not heard. */
  "tandem/steer/withdraw": { params: WithdrawParams; result: WithdrawResult };
  /** Edits the plan by hand. */
  "tandem/replan": { params: ReplanParams; result: ReplanResult };
  /** Begins a tactical pause. */
  "tandem/pause": { params: PauseParams; result: PauseResult };
  /** Answers a pause, a decision or a question. */
  "tandem/decide": { params: DecideParams; result: SessionResult };
  /** Ends a tactical pause. */
  "tandem/resume": { params: ResumeParams; result: ResumeResult };
  /** Makes the agent commit to its next steps or ask. */
  "tandem/checkIn": { params: CheckInParams; result: CheckInResult };
  /** Asks a side question; the work goes on undisturbed. */
  "tandem/ask": { params: AskParams; result: AskResult };
  /** Adds or removes a watch. */
  "tandem/watch": { params: WatchParams; result: WatchResult };
  /** Runs a scenario again and compares. */
  "tandem/scenario/run": { params: ScenarioRunParams; result: ScenarioRunResult };
  /** Takes back what the agent did in a step, an operation, for a steer or in all of the session. */
  "tandem/revert": { params: RevertParams; result: RevertResult };
  /** Sets how much the agent does before it asks. */
  "tandem/autonomy": { params: AutonomyParams; result: SessionResult };
  /** Reads the session's events, also those that gave no notification. */
  "tandem/history": { params: HistoryParams; result: HistoryResult };
  /** Says which operation, step, decision and steer led to lines. */
  "tandem/blame": { params: BlameParams; result: BlameResult };
}

/** The notifications, daemon to client, each with its params. */
export interface Notifications {
  /** Tells that an operation started, changed its status or ended. */
  "tandem/progress": { params: ProgressParams };
  /** Streams words of the agent. It is ephemeral: its seq is the last durable one. */
  "tandem/text": { params: TextParams };
  /** Tells a new revision, or the progress of a step within one. */
  "tandem/planChanged": { params: PlanChangedParams };
  /** Tells a decision: announced, its window closed, or overridden. */
  "tandem/decision": { params: DecisionParams };
  /** Tells the mode, and whose turn it is. */
  "tandem/modeChanged": { params: ModeChangedParams };
  /** Tells that the status of a steer changed. */
  "tandem/steered": { params: SteeredParams };
  /** Tells that a watched value changed. */
  "tandem/watched": { params: WatchedParams };
  /** Tells that a before and after is there. */
  "tandem/scenarioRan": { params: ScenarioRanParams };
  /** Tells the files that the agent changed. */
  "tandem/filesChanged": { params: FilesChangedParams };
  /** Tells the session's usage after each model request. */
  "tandem/usage": { params: UsageParams };
}

/** The JSON-RPC codes of the errors particular to Tandem, by `data.kind`. */
export const errorCodes = {
  /** Answers a re-plan made on a revision that is not the current one: nothing was changed; read the plan and edit again. */
  staleRevision: -32801,
  /** No session has this id. */
  noSuchSession: -32001,
  /** The session's mode, which data.mode names, does not take this request. */
  wrongMode: -32002,
  /** The session has no step, operation, decision, pause, question, steer, watch or scenario of this name. */
  noSuchEntity: -32003,
  /** The model server cannot be reached or refuses: the message names the setting to change. */
  modelUnavailable: -32004,
  /** The workspace is not trusted, so nothing is executed in it: trust it and ask again. */
  untrusted: -32005,
  /** The daemon has too much to do: send the request again later. */
  overloaded: -32006,
  /** Answers a resume when the live inputs are no longer those of the snapshot: look, then resume with acknowledgeDrift. */
  driftUnacknowledged: -32007,
  /** The params do not fit the method: the message names the field. */
  invalidParams: -32602,
} as const satisfies Record<ErrorKind, number>;

/** Range is a range in a document, as in LSP. */
export interface Range {
  /** The first place in the range. */
  start: Position;
  /** The place behind the last one in the range. */
  end: Position;
}

/** Position is a place in a document, as in LSP: line and character from 0, the character in units of the negotiated position encoding. */
export interface Position {
  /** Counted from 0. */
  line: number;
  /** Counted from 0, in units of the negotiated position encoding. */
  character: number;
}

/** Session is one task that a developer and the agent work on together. */
export interface Session {
  id: string;
  /** The folder that the session works in, as a file URI. */
  workspace: string;
  /** What the developer asked for, in full. */
  task: string;
  /** The first line of the task. */
  title: string;
  mode: Mode;
  initiative: Initiative;
  autonomy: Autonomy;
  /** Absent until the agent has laid one out. */
  plan?: Plan;
  /** In the order in which they were asked for. */
  operations: Operation[];
  decisions: Decision[];
  /** The one that the session is in. */
  pause?: Pause;
  /** Those that wait for an answer. */
  questions: Question[];
  watches: Watch[];
  usage: Usage;
  /** The name by which the model server knows the model. */
  model: string;
  /** The session's last event. */
  seq: number;
  startedAt: string;
  updatedAt: string;
  actions: Action[];
}

/** Mode says what a session does now. */
export type Mode =
  /** The agent works. */
  | "executing"
  /** A tactical pause: nothing of effect write or execute runs before the developer resumes. */
  | "paused"
  /** It is the developer's turn: what runs goes on, and the model is not asked again before they speak. */
  | "waiting"
  /** The agent has finished. A steer sets the work going again. */
  | "done";

/** Initiative says whose turn it is. */
export type Initiative =
  | "agent"
  | "developer";

/** Autonomy says how much the agent does before it waits for a word. */
export type Autonomy =
  /** Makes major and notable decisions wait for a word of the developer. */
  | "close"
  /** Gives a major decision a veto window of 10 s, in which reading goes on and the writes behind it wait. It is the level of a session that names none. */
  | "balanced"
  /** Lets every decision stand at once. */
  | "high";

/** Usage counts what the session asked of its model. */
export interface Usage {
  inputTokens: number;
  /** Those of `inputTokens` that the server had in its cache. */
  cachedInputTokens: number;
  outputTokens: number;
  requests: number;
  /** Says that the server told no tokens for some request, and those of it are reckoned from the length of what was sent and said. */
  estimated?: boolean;
}

/** Plan is the agent's plan at one revision. The revision grows when steps are added, dropped, moved or change in anything but status and verified. */
export interface Plan {
  /** Counts from 1. */
  revision: number;
  steps: Step[];
  cause: Cause;
}

/** Cause says what a plan's revision answers; of several steers that one plan answers, the last. */
export interface Cause {
  kind: CauseKind;
  /** That of the steer or pause. */
  id?: string;
}

/** CauseKind says what led to a revision. */
export type CauseKind =
  /** The task that the session was started with. */
  | "task"
  /** A steer; the id is the steer's. */
  | "steer"
  /** An edit of the plan by the developer. */
  | "developer"
  /** What was decided in a pause; the id is the pause's. */
  | "pause"
  /** The agent's own insight. */
  | "agent";

/** Step is one step of a plan. */
export interface Step {
  id: string;
  title: string;
  /** Says what the step is for. */
  intent: string;
  status: StepStatus;
  /** Those that the step is about, as file URIs. */
  files: string[];
  /** The ids of steps that come first. */
  dependsOn: string[];
  verify?: Verify;
  /** True when the command passed after the step's last change, false when it failed, and absent when it never ran. */
  verified?: boolean;
  origin: Origin;
  actions: Action[];
}

/** StepStatus says how far a step has come. */
export type StepStatus =
  /** No work on it has begun. */
  | "pending"
  /** The agent works on it. */
  | "active"
  /** It is finished and, where it has a verification, that this passed. */
  | "done"
  /** It fell out of the plan. */
  | "dropped"
  /** It cannot go on as things are. */
  | "blocked";

/** Verify is the command that has to pass before a step is done. */
export interface Verify {
  /** A line for the shell, run in the workspace. */
  command: string;
}

/** Origin says who brought a step into the plan. */
export interface Origin {
  kind: OriginKind;
  /** That of the steer. */
  id?: string;
}

/** OriginKind says who brought a step into the plan. */
export type OriginKind =
  /** The agent. */
  | "agent"
  /** The developer, by an edit of the plan. */
  | "developer"
  /** A steer, whose id is given. */
  | "steer";

/** Operation is one thing that the agent does: a question to the model, or a call of a tool. It ends in exactly one of done, failed, cancelled and lost. */
export interface Operation {
  id: string;
  /** The step that it works on. */
  stepId?: string;
  kind: OperationKind;
  /** The name of the tool that is called. */
  tool?: string;
  /** Says what it is about to do, and why. */
  intent: string;
  effect: Effect;
  /** What it works on, for the eye: a path, a command, a pattern. */
  target: string;
  status: OperationStatus;
  startedAt?: string;
  endedAt?: string;
  /** Bounded: head and tail, with what was cut said. */
  output?: string;
  /** That of a command that ended. */
  exitCode?: number;
  cancelledBy?: CancelledBy;
  /** Says that it was cancelled after it began; `files` are those that it had touched by then. */
  partial?: boolean;
  /** Those that it touched, as file URIs. */
  files?: string[];
  actions: Action[];
}

/** OperationKind tells questions to the model from calls of tools. */
export type OperationKind =
  /** A question to the model. */
  | "think"
  /** A call of a tool. */
  | "tool";

/** Effect says what an operation may do to the world. */
export type Effect =
  /** That of thinking, planning and talking. */
  | "none"
  /** Reads the workspace. */
  | "read"
  /** Changes files. */
  | "write"
  /** Runs a command, which may do anything that the sandbox lets it. */
  | "execute";

/** OperationStatus says how far an operation has come. */
export type OperationStatus =
  /** It has not begun. */
  | "queued"
  /** It has begun and not ended. */
  | "running"
  /** It stands still in a pause and goes on at resume. */
  | "frozen"
  /** It ended as it was meant to. */
  | "done"
  /** It ended in an error. */
  | "failed"
  /** It was kept from starting, or ended before its time; then it is partial. */
  | "cancelled"
  /** The daemon died while it ran: its outcome is unknown, so look before you act again. */
  | "lost";

/** CancelledBy names what cancelled an operation. */
export interface CancelledBy {
  kind: CancelKind;
  /** That of the steer or the pause, for a re-plan the new revision, for an end the session's. */
  id: string;
}

/** CancelKind says what cancelled an operation. */
export type CancelKind =
  /** A steer that made it useless. */
  | "steer"
  /** A pause that ends commands instead of freezing them. */
  | "pause"
  /** A plan that made it useless, the agent's or the developer's. */
  | "replan"
  /** The end of the session. */
  | "end";

/** Decision is a choice that the agent made and said aloud. */
export interface Decision {
  id: string;
  stepId?: string;
  /** Permission where the agent asks for leave: its alternatives are the answers, and only one of them is one. Absent: it is a choice of the agent. */
  kind?: DecisionKind;
  /** The choice in one sentence. */
  summary: string;
  /** Why the agent chose so. */
  rationale: string;
  alternatives: Alternative[];
  /** The place in the code that the decision shapes, with a range. */
  location?: Location;
  significance: Significance;
  status: DecisionStatus;
  /** The operations that wait for the decision. */
  holds: string[];
  /** When an open decision stands by itself; absent: it waits for a word. */
  deadline?: string;
  /** The alternative that the developer took. */
  chosen?: string;
  actions: Action[];
}

/** DecisionKind says what a decision is about. */
export type DecisionKind =
  /** Leave for an operation that waits for it: to use the network, to touch a file that holds secrets, or to change one that other programs run by themselves. It never stands by itself; only the developer gives it. */
  | "permission";

/** Alternative is another way that the agent would truly take. */
export interface Alternative {
  id: string;
  title: string;
  /** What taking it would cost or change. */
  consequence?: string;
}

/** Location is a place in the workspace. The range may be absent where a whole file is meant. */
export interface Location {
  /** A file URI. */
  uri: string;
  range?: Range;
}

/** Significance says how much a decision shapes the result. */
export type Significance =
  /** Decisions stand at once. */
  | "minor"
  /** Decisions wait for a word at the autonomy close. */
  | "notable"
  /** Decisions wait for a word at the autonomy close and have a veto window at balanced. */
  | "major";

/** DecisionStatus says whether a decision still waits for a veto. */
export type DecisionStatus =
  /** It waits: the writes that it holds have not begun. */
  | "open"
  /** It holds. */
  | "standing"
  /** The developer rejected it or chose an alternative. */
  | "overridden";

/** Pause is a tactical pause: nothing of effect write or execute runs until the developer resumes. */
export interface Pause {
  id: string;
  by: PausedBy;
  /** Why it was called, in a sentence. */
  reason: string;
  facts: Fact[];
  /** The agent's reading of the facts. */
  likelyCause?: string;
  options: Option[];
  /** The operations that stand still and go on at resume. */
  frozen: string[];
  /** Names the inputs as they were when the pause began. */
  snapshot?: string;
  /** What the developer decided, in words. */
  decision?: string;
  /** Holds the rerun after the decision beside the run before it. */
  comparison?: Comparison;
  actions: Action[];
}

/** PausedBy says who called a pause. */
export type PausedBy =
  /** The developer. */
  | "developer"
  /** The agent, which found facts that do not fit. */
  | "agent"
  /** A stop condition that tripped or could not be evaluated. */
  | "tripwire"
  /** The daemon after a crash: the developer looks before the work goes on. */
  | "recovery"
  /** A stop condition on what the session may use. */
  | "budget";

/** Fact is something that was observed, never guessed. */
export interface Fact {
  text: string;
  /** Where it was observed. */
  source?: FactSource;
}

/** FactSource is where a fact was observed: a place, an operation, or a tripwire. Facts with a tripwire come from the daemon, not from the model. */
export interface FactSource {
  /** A file URI; `range` is the place in it. */
  uri?: string;
  range?: Range;
  operationId?: string;
  /** The name of the stop condition; `expected` and `observed` come with it and are never empty. */
  tripwire?: string;
  expected?: string;
  observed?: string;
}

/** Option is a way out of a pause. */
export interface Option {
  id: string;
  title: string;
  /** What taking it would mean. */
  detail?: string;
  touches: Touch[];
  /** Those that it would change, as file URIs. */
  files: string[];
}

/** Touch says what kind of thing an option changes. */
export type Touch =
  | "code"
  | "architecture"
  | "businessRule"
  | "data"
  | "configuration";

/** Question is what the agent cannot find in the workspace and asks the developer. */
export interface Question {
  id: string;
  text: string;
  /** The answers to choose from; absent: own words alone. */
  options?: string[];
  actions: Action[];
}

/** Watch is a live value of the running product. */
export interface Watch {
  id: string;
  name: string;
  source: Source;
  /** What was read last; absent when nothing was. */
  value?: unknown;
  /** Says why the value cannot be read now. */
  error?: string;
  /** What it was before it changed. */
  previous?: unknown;
  /** When it was read. */
  at: string;
  /** The operation after which the value changed. */
  operationId?: string;
}

/** Source is where a value is read: a JSON file at a pointer, a column of a CSV file, a query, the last command's output by a regular expression, or a command. Exactly one of them is given. */
export interface Source {
  /** A JSON file; `at` is the JSON pointer in it. */
  json?: string;
  at?: string;
  /** A CSV file; `column` and `agg` go with it. */
  csv?: string;
  column?: string;
  agg?: Aggregate;
  /** The name of a database, such as sqlite:orders.db; `query` goes with it. */
  sql?: string;
  query?: string;
  /** A regular expression on the last command's output. */
  output?: string;
  /** A line for the shell. */
  command?: string;
}

/** Aggregate makes one value of a column. */
export type Aggregate =
  | "count"
  | "sum"
  | "min"
  | "max";

/** Comparison holds one scenario's run before a decision beside its run after it. */
export interface Comparison {
  scenario: string;
  input: Input;
  before: Run;
  after: Run;
  changes: Change[];
  actions: Action[];
}

/** Input says what both runs of a comparison read, and whether it was the same. */
export interface Input {
  /** Names the bytes of the inputs. */
  digest: string;
  /** Says that both runs read the same bytes. */
  same: boolean;
}

/** Run is one run of a scenario. */
export interface Run {
  exitCode: number;
  /** In milliseconds. */
  durationMs: number;
  outputs: Output[];
  /** The tripwires that watch what the scenario reads and writes. */
  checks: Check[];
}

/** Output is one file that a run wrote. */
export interface Output {
  /** Relative to the workspace. */
  path: string;
  /** Names the bytes of the file. */
  digest: string;
  /** The size of the file. */
  bytes: number;
}

/** Check is one tripwire's verdict on a run. */
export interface Check {
  /** The name of the stop condition. */
  tripwire: string;
  ok: boolean;
  expected: string;
  observed: string;
}

/** Change is one difference between two runs. */
export interface Change {
  /** Names the thing that differs. */
  what: string;
  before: string;
  after: string;
}

/** CheckIn is the agent's answer to a check-in. */
export interface CheckIn {
  id: string;
  verdict: Verdict;
  /** What the agent commits to. */
  nextSteps: NextStep[];
  /** Those that the developer has to answer first. */
  questions: Question[];
  brief: Brief;
  /** Claims of the brief that the journal refutes. */
  contradictions: Contradiction[];
  /** What the daemon noticed, in sentences: a long streak of reading, repeated failures, a plan without progress. */
  signals: string[];
}

/** Verdict says whether the agent goes on or asks. */
export type Verdict =
  /** The agent knows its next steps and goes on. */
  | "continue"
  /** The agent asks, and that it is the developer's turn. */
  | "clarify";

/** NextStep is what the agent commits to do next. */
export interface NextStep {
  /** The id of a step of the plan. */
  step?: string;
  text: string;
}

/** Brief is where the agent believes the work stands. */
export interface Brief {
  goal: string;
  done: Claim[];
  remaining: string[];
  assumptions: string[];
  risks: string[];
}

/** Claim is something that the agent says is done. `grounded` says that the journal bears it out. */
export interface Claim {
  text: string;
  /** The ids of operations. */
  evidence?: string[];
  grounded: boolean;
}

/** Contradiction is something that the agent said and the journal refutes. */
export interface Contradiction {
  claim: string;
  fact: string;
  operationId?: string;
}

/** Steer is something that the developer said to the agent while it worked. */
export interface Steer {
  id: string;
  text: string;
  scope?: Scope;
  when: When;
  /** Says whom it came from. */
  by: string;
  status: SteerStatus;
  /** The plan that answered it. */
  planRevision?: number;
}

/** SteerStatus says how far a steer has come. */
export type SteerStatus =
  /** It is on disk. */
  | "received"
  /** It stands in a request that was sent to the model. */
  | "heard"
  /** The plan that answers it is there. */
  | "applied"
  /** The developer took it back before the agent heard it. */
  | "withdrawn";

/** Scope is what a steer is about: a step, a decision, an operation or a place; none of them means the whole task. */
export interface Scope {
  stepId?: string;
  decisionId?: string;
  operationId?: string;
  /** A place in a document, with a range. */
  location?: Location;
}

/** When says at which moment a steer is heard. */
export type When =
  /** Cancels what is now useless and is heard at once. It is the moment of a steer that names none. */
  | "now"
  /** Waits until the active step is done, blocked or dropped, and cancels nothing. */
  | "stepEnd"
  /** Waits until the agent's turn would end, and cancels nothing. */
  | "idle";

/** Diff is what a re-plan changed. `kept`, `added`, `dropped` and `reverted` are ids of steps. */
export interface Diff {
  /** Steps that both plans have, unchanged. */
  kept: string[];
  changed: StepChange[];
  added: string[];
  dropped: string[];
  /** `dropped` steps whose edits were taken back. */
  reverted: string[];
}

/** StepChange is one step before and after a re-plan. */
export interface StepChange {
  before: Step;
  after: Step;
}

/** FileChange is one file that the agent changed. */
export interface FileChange {
  /** A file URI. */
  uri: string;
  change: ChangeKind;
  hunks: Hunk[];
}

/** ChangeKind says what happened to a file. */
export type ChangeKind =
  | "created"
  | "changed"
  | "deleted";

/** Hunk is one changed region of a file: the lines as they were and as they are, counted from 0. */
export interface Hunk {
  /** The first line of the region as it was. */
  oldStart: number;
  oldLines: number;
  /** The first line of the region as it is. */
  newStart: number;
  newLines: number;
}

/** Action is something that can be done with an entity now. A client draws it and sends it back as it is. */
export interface Action {
  /** What a button or a menu shows. */
  title: string;
  /** The request to send. */
  method: string;
  /** Those of the request, to be sent as they are. */
  params: ActionParams;
  /** There when the developer has to type something first. */
  ask?: ActionAsk;
  kind?: ActionKind;
}

/** ActionParams are the params of an action's request, as far as they are known. */
export interface ActionParams {
  sessionId: string;
  stepId?: string;
  operationId?: string;
  pauseId?: string;
  decisionId?: string;
  questionId?: string;
  option?: string;
  reject?: boolean;
  text?: string;
  scope?: Scope;
  level?: Autonomy;
  acknowledgeDrift?: boolean;
  scenario?: string;
}

/** ActionAsk names the param that the developer types. */
export interface ActionAsk {
  /** The name of the field of the params that takes what was typed. */
  param: string;
  /** What to ask the developer. */
  prompt: string;
}

/** ActionKind says how an action is drawn. */
export type ActionKind =
  /** The action that a developer most likely wants. */
  | "primary"
  /** Ends or takes back something; it is drawn apart from the others. */
  | "danger";

/** ErrorKind names an error particular to Tandem; it stands in the error's data.kind. */
export type ErrorKind =
  /** Answers a re-plan made on a revision that is not the current one: nothing was changed; read the plan and edit again. */
  | "staleRevision"
  /** No session has this id. */
  | "noSuchSession"
  /** The session's mode, which data.mode names, does not take this request. */
  | "wrongMode"
  /** The session has no step, operation, decision, pause, question, steer, watch or scenario of this name. */
  | "noSuchEntity"
  /** The model server cannot be reached or refuses: the message names the setting to change. */
  | "modelUnavailable"
  /** The workspace is not trusted, so nothing is executed in it: trust it and ask again. */
  | "untrusted"
  /** The daemon has too much to do: send the request again later. */
  | "overloaded"
  /** Answers a resume when the live inputs are no longer those of the snapshot: look, then resume with acknowledgeDrift. */
  | "driftUnacknowledged"
  /** The params do not fit the method: the message names the field. */
  | "invalidParams";

/** ErrorData is the data of an error. */
export interface ErrorData {
  kind: ErrorKind;
  /** The session's mode, where the request does not fit it. */
  mode?: Mode;
}

/** TandemOptions are a client's words to Tandem. */
export interface TandemOptions {
  /** True when the developer trusts the workspace. Absent is not true: nothing is run and no configuration of the workspace is read. */
  trusted?: boolean;
  /** A short name of the client, as in «vscode». */
  client?: string;
}

/** TandemOffer says which version of this protocol the daemon speaks. */
export interface TandemOffer {
  version: number;
}

/** Event is what every notification bears: its session, and its place in the session's events, which start at 1 and have no gaps. */
export interface Event {
  sessionId: string;
  seq: number;
}

/** ProgressParams shows an operation as it is now. */
export interface ProgressParams extends Event {
  operation: Operation;
}

/** TextParams is the next piece of the agent's words. */
export interface TextParams extends Event {
  /** The question to the model that the words answer. */
  operationId: string;
  /** Goes behind what came before it for the same operation. */
  delta: string;
}

/** PlanChangedParams shows the plan as it is now and what changed. */
export interface PlanChangedParams extends Event {
  plan: Plan;
  diff: Diff;
  /** The agent's own words on what the change costs. */
  consequences: string[];
  /** What does not go together: with the task, with an earlier word, or with later changes of a file. */
  conflicts: string[];
  /** The operations that the change ended. */
  cancelled: string[];
  /** The operations that run on. */
  kept: string[];
}

/** DecisionParams shows a decision as it is now. */
export interface DecisionParams extends Event {
  decision: Decision;
}

/** ModeChangedParams shows the mode, whose turn it is, and what waits for the developer. */
export interface ModeChangedParams extends Event {
  mode: Mode;
  initiative: Initiative;
  /** There while the mode is paused. */
  pause?: Pause;
  /** Those that wait for an answer. */
  questions?: Question[];
  /** Why the mode changed, in a sentence. */
  reason?: string;
  /** What can be done with the session now: its own list. */
  actions: Action[];
}

/** SteeredParams shows a steer as it is now. */
export interface SteeredParams extends Event {
  steer: Steer;
}

/** WatchedParams shows a watch whose value changed. */
export interface WatchedParams extends Event {
  watch: Watch;
}

/** ScenarioRanParams shows a before and after. */
export interface ScenarioRanParams extends Event {
  comparison: Comparison;
}

/** FilesChangedParams shows the files that an operation changed. */
export interface FilesChangedParams extends Event {
  operationId: string;
  files: FileChange[];
}

/** UsageParams shows what the session has asked of its model so far. */
export interface UsageParams extends Event {
  usage: Usage;
}

/** Request is what every request that changes a session may bear: the same pair again is answered with the first answer and does nothing twice. */
export interface Request {
  clientId?: string;
  requestKey?: string;
}

/** StartParams starts a session. */
export interface StartParams extends Request {
  /** A file URI; absent: the folder that initialize named. */
  workspace?: string;
  /** What the agent is to do, in the developer's words. */
  task: string;
  /** The level to start at; absent: the configured one. */
  autonomy?: Autonomy;
  /** The model to ask; absent: the configured one. */
  model?: string;
  /** Places that the task is about. */
  context?: Location[];
}

/** SessionResult is a session as it stands. */
export interface SessionResult {
  session: Session;
}

/** ListParams may name one workspace. */
export interface ListParams {
  workspace?: string;
}

/** ListResult is the sessions, newest first. Their operations that have ended are left out: attach tells them. */
export interface ListResult {
  sessions: Session[];
}

/** AttachParams follows a session. */
export interface AttachParams {
  sessionId: string;
  /** The last seq that the client has; 0: all events; absent: only what is new. */
  since?: number;
}

/** SessionParams names a session. */
export interface SessionParams extends Request {
  sessionId: string;
}

/** PlanParams reads a plan. */
export interface PlanParams {
  sessionId: string;
  /** An earlier revision; absent: the current one. */
  revision?: number;
}

/** PlanResult is a plan; it is null while the agent has not laid one out. */
export interface PlanResult {
  plan: Plan | null;
}

/** SteerParams says something to the agent. */
export interface SteerParams extends Request {
  sessionId: string;
  /** What the developer says, in their own words. */
  text: string;
  /** What it is about; absent: the whole task. */
  scope?: Scope;
  /** The moment to hear it; absent: now. */
  when?: When;
  /** The last event that the developer had seen when they wrote. */
  seenSeq?: number;
  /** Places that the words refer to. */
  context?: Location[];
}

/** SteerResult is the receipt of a steer: it is on disk. */
export interface SteerResult {
  steerId: string;
  /** The event that the steer became. */
  seq: number;
  /** The operations that the steer ended or kept from starting. */
  cancelled: string[];
  /** The operations that run on. */
  running: string[];
  /** Operations with an effect that ended after seenSeq. */
  unseen: Unseen[];
}

/** Unseen is an operation that had ended before the developer could know of it. */
export interface Unseen {
  operationId: string;
  /** Those that it changed, as file URIs. */
  files: string[];
}

/** WithdrawParams takes a steer back. */
export interface WithdrawParams extends Request {
  sessionId: string;
  steerId: string;
}

/** WithdrawResult is false once the agent has heard the steer. */
export interface WithdrawResult {
  /** False when it was too late. */
  withdrawn: boolean;
}

/** ReplanParams edits the plan by hand. */
export interface ReplanParams extends Request {
  sessionId: string;
  /** The revision that the edits were made on; another one than the current is refused as staleRevision. */
  baseRevision: number;
  /** Made in their order. */
  edits: PlanEdit[];
  /** Told to the agent. */
  reason?: string;
}

/** PlanEdit is one edit of a plan. */
export interface PlanEdit {
  op: PlanEditOp;
  /** The step to add; its id may be absent. */
  step?: NewStep;
  /** The step to drop, move or change. */
  stepId?: string;
  /** The step to stand behind. Without it, add puts the step last and move first. */
  after?: string;
  title?: string;
  intent?: string;
  files?: string[];
  /** Replaces the verification; one with an empty command takes it away. */
  verify?: Verify;
}

/** NewStep is a step that the developer adds. */
export interface NewStep {
  /** One that the plan does not have; absent: the daemon gives one. */
  id?: string;
  title: string;
  intent?: string;
  files?: string[];
  dependsOn?: string[];
  verify?: Verify;
}

/** PlanEditOp says what an edit does. */
export type PlanEditOp =
  /** Puts step into the plan, behind after or last. */
  | "add"
  /** Takes the step stepId out of the plan. */
  | "drop"
  /** Puts the step stepId behind after or first. */
  | "move"
  /** Changes title, intent, files or verify of the step stepId, whichever are given. */
  | "change";

/** ReplanResult is the plan after the edits, and what they changed. */
export interface ReplanResult {
  plan: Plan;
  diff: Diff;
}

/** PauseParams begins a tactical pause. */
export interface PauseParams extends Request {
  sessionId: string;
  /** `reason`, where given, asks the agent for facts, a likely cause and options. */
  reason?: string;
  /** False ends running commands instead of freezing them; absent means true. */
  freeze?: boolean;
}

/** PauseResult is the pause that began. */
export interface PauseResult {
  pause: Pause;
}

/** DecideParams answers a pause, a decision or a question: exactly one of the three ids is given. */
export interface DecideParams extends Request {
  sessionId: string;
  pauseId?: string;
  decisionId?: string;
  questionId?: string;
  /** The id of an option of the pause or of an alternative of the decision, or one of the question's options as it stands. */
  option?: string;
  /** The developer's own words, alone or beside an option. */
  text?: string;
  /** Says no to the decision and takes none of its alternatives. */
  reject?: boolean;
}

/** ResumeParams ends a pause. */
export interface ResumeParams extends Request {
  sessionId: string;
  /** Says that the developer knows that the live inputs have changed. */
  acknowledgeDrift?: boolean;
}

/** ResumeResult is the session, and what moved in the live inputs since the snapshot. */
export interface ResumeResult {
  session: Session;
  /** The inputs that moved, in sentences. */
  drift: string[];
}

/** CheckInParams asks the agent to commit or to ask. */
export interface CheckInParams extends Request {
  sessionId: string;
  /** What the developer wants to know in particular. */
  text?: string;
}

/** CheckInResult is the agent's answer, held against the journal. */
export interface CheckInResult {
  checkIn: CheckIn;
}

/** AskParams asks a side question. */
export interface AskParams {
  sessionId: string;
  question: string;
  /** The place that the question is about. */
  location?: Location;
}

/** AskResult is the answer to a side question. */
export interface AskResult {
  answer: string;
}

/** WatchParams adds or removes a watch. */
export interface WatchParams extends Request {
  sessionId: string;
  add?: NewWatch;
  /** The id of a watch. */
  remove?: string;
}

/** NewWatch is a watch that the developer adds. */
export interface NewWatch {
  name: string;
  source: Source;
}

/** WatchResult is the watches as they stand. */
export interface WatchResult {
  watches: Watch[];
}

/** ScenarioRunParams runs a scenario by hand; or, with runs, runs nothing and compares two runs. */
export interface ScenarioRunParams extends Request {
  sessionId: string;
  /** Its name in the configuration; it may be absent beside runs. */
  scenario: string;
  /** What to compare with; absent: lastRun. */
  against?: Against;
  /** The ids of two runs of one scenario that are over, the earlier first: r1, r2, … by hand, p1.1, p1.2, … those after a decision in the pause p1, p1.0 the one before it. */
  runs?: string[];
}

/** Against says what a run is held against. */
export type Against =
  /** The scenario's run before this one. */
  | "lastRun"
  /** A run on the inputs as they were when the pause began. */
  | "snapshot";

/** ScenarioRunResult is the before and after. */
export interface ScenarioRunResult {
  comparison: Comparison;
}

/** RevertParams takes back a step, an operation, what was done for a steer, or all of the session: exactly one of the four is given. What was taken back already is left out; a revert is itself an operation that can be taken back. */
export interface RevertParams extends Request {
  sessionId: string;
  stepId?: string;
  operationId?: string;
  steerId?: string;
  /** Takes back all that was done in the session. */
  session?: boolean;
  /** Tells what would happen and changes nothing. */
  dryRun?: boolean;
}

/** RevertResult says what was taken back, and what stayed because it clashes. Both are empty when there was nothing to take back. */
export interface RevertResult {
  files: RevertedFile[];
  /** The clashes with later changes, in sentences that name the file, which stays as it is, with the lines of both sides below; and the commands that still run, whose changes stay. */
  conflicts: string[];
}

/** RevertedFile is one file of a revert. */
export interface RevertedFile {
  uri: string;
  /** Says what became of the file: restored, deleted (it was made), created (it was deleted), same (there was nothing left to take back) or conflict (it stays as it is). */
  status: string;
}

/** AutonomyParams sets the level of autonomy. */
export interface AutonomyParams extends Request {
  sessionId: string;
  level: Autonomy;
}

/** HistoryParams reads the events after since. */
export interface HistoryParams {
  sessionId: string;
  /** The last seq that the client has; absent: all. */
  since?: number;
  /** Bounds the answer; absent: 1,000 events. */
  limit?: number;
}

/** HistoryResult is a page of events; `more` says that others follow. */
export interface HistoryResult {
  events: HistoryEvent[];
  more: boolean;
}

/** HistoryEvent is one fact of a session; `kind` is its name in the past tense. */
export interface HistoryEvent {
  seq: number;
  at: string;
  /** The fact's name in the past tense: steered, planned, called, returned, and so on. */
  kind: string;
  /** The fact itself; its form is that of its kind. */
  data: unknown;
}

/** BlameParams names lines of a document. */
export interface BlameParams {
  /** A file URI. */
  uri: string;
  /** Bounds the lines; absent: the whole document. */
  range?: Range;
}

/** BlameResult is one entry for each run of lines with the same origin, in the text as it stands now: the editor's where the document is open. Each range is of whole lines and ends at the start of the line behind them. `lines` that the agent did not write last are left out. */
export interface BlameResult {
  lines: BlamedLines[];
}

/** BlamedLines says what led to lines. */
export interface BlamedLines {
  range: Range;
  /** The session that the other ids belong to. */
  sessionId: string;
  operationId: string;
  stepId: string;
  decisionId?: string;
  steerId?: string;
}
