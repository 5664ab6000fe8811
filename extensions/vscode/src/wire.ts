// The wire as a fold: what the daemon told becomes the state that the panel is drawn from. The rules
// are those of testdata/wire/README.md. It knows no editor and does no I/O; a state is folded in place,
// because a session may have tens of thousands of events.
import type {
  Action,
  Decision,
  Notifications,
  Operation,
  PlanChangedParams,
  Session,
  Steer,
  Watch,
} from "../../../protocol/protocol.gen";

/** The session's actions come with its mode from daemons that tell them. */
type Mode = Notifications["tandem/modeChanged"]["params"] & { actions?: Action[] };

/** A notification as it came over the wire. */
export type Note = {
  [M in keyof Notifications]: { method: M; params: Notifications[M]["params"] };
}[keyof Notifications];

/** What happened while the developer was not there. */
export interface Away {
  done: Set<string>;
  decided: Map<string, string>;
  changed: Set<string>;
}

/** One session as it was told. */
export interface State {
  session: Session;
  operations: Map<string, Operation>;
  decisions: Map<string, Decision>;
  steers: Map<string, Steer>;
  watches: Map<string, Watch>;
  /** What each watch was before, the oldest first. */
  were: Map<string, { at: string; value: unknown }[]>;
  /** The streamed words of questions to the model, by operation. */
  words: Map<string, string>;
  /** The last change of the plan itself. */
  change?: PlanChangedParams;
  /** Why the mode is what it is. */
  reason?: string;
  /** The last event that was told. */
  seq: number;
  /** The session's last event when it was attached: until then the past is told. */
  told: number;
  /** The last event that the developer saw before they went away. */
  seen?: number;
  away: Away;
  /** The steps that were done in the plan that was told last. */
  done: Set<string>;
}

const nobody = (): Away => ({ done: new Set(), decided: new Map(), changed: new Set() });

/** begin is the state after the answer to a start or an attach that tells everything. */
export function begin(session: Session, seen?: number): State {
  const state: State = {
    session,
    operations: new Map(),
    decisions: new Map(),
    steers: new Map(),
    watches: new Map(),
    were: new Map(),
    words: new Map(),
    seq: 0,
    told: session.seq,
    seen,
    away: nobody(),
    done: new Set(),
  };
  return take(state, session);
}

/** again is the state after the answer to an attach that tells what came since state.seq. */
export function again(state: State, session: Session): State {
  state.told = session.seq;
  state.seen = state.seq;
  state.away = nobody();
  take(state, session);
  // What was streamed meanwhile is not told again: an answer that has ended has its output.
  for (const [id, words] of state.words) {
    if (state.operations.get(id)?.status === "running") state.words.set(id, `${words} … `);
    else state.words.delete(id);
  }
  return state;
}

/** take puts a session's entities into the state. */
function take(state: State, session: Session): State {
  state.session = session;
  for (const o of session.operations) state.operations.set(o.id, o);
  for (const d of session.decisions) state.decisions.set(d.id, d);
  for (const w of session.watches) watched(state, w);
  return state;
}

/** fold takes in one notification of the state's session. */
export function fold(state: State, note: Note): State {
  const { session, away } = state;
  state.seq = Math.max(state.seq, note.params.seq);
  const missed = state.seen !== undefined && note.params.seq > state.seen && note.params.seq <= state.told;
  switch (note.method) {
    case "tandem/progress": {
      const operation = note.params.operation;
      state.operations.set(operation.id, operation);
      if (session.mode === "executing" && operation.status === "running") state.reason = undefined;
      break;
    }
    case "tandem/text": {
      const { operationId, delta } = note.params;
      state.words.set(operationId, (state.words.get(operationId) ?? "") + delta);
      break;
    }
    case "tandem/planChanged":
      planned(state, note.params, missed);
      break;
    case "tandem/decision":
      state.decisions.set(note.params.decision.id, note.params.decision);
      if (missed) away.decided.set(note.params.decision.id, note.params.decision.summary);
      break;
    case "tandem/modeChanged": {
      const { mode, initiative, pause, questions, reason, actions }: Mode = note.params;
      Object.assign(session, { mode, initiative, pause, questions: questions ?? [] });
      session.actions = actions ?? session.actions;
      state.reason = reason;
      break;
    }
    case "tandem/steered":
      state.steers.set(note.params.steer.id, note.params.steer);
      break;
    case "tandem/watched":
      watched(state, note.params.watch);
      break;
    case "tandem/scenarioRan":
      if (session.pause) session.pause.comparison = note.params.comparison;
      break;
    case "tandem/filesChanged":
      if (missed) for (const f of note.params.files) away.changed.add(f.uri);
      break;
    case "tandem/usage":
      session.usage = note.params.usage;
      break;
  }
  return state;
}

/** mostWere is how many earlier values of a watch are kept. */
const mostWere = 6;

function watched(state: State, watch: Watch): void {
  state.watches.set(watch.id, watch);
  const were = state.were.get(watch.id) ?? [];
  if (watch.previous === undefined || were.some((w) => w.at === watch.at)) return;
  const all = [...were, { at: watch.at, value: watch.previous }].sort((a, b) => a.at.localeCompare(b.at));
  state.were.set(watch.id, all.slice(-mostWere));
}

function planned(state: State, params: PlanChangedParams, missed: boolean): void {
  const { plan, diff } = params;
  state.session.plan = plan;
  const lists = [diff.kept, diff.changed, diff.added, diff.dropped, diff.reverted];
  if (lists.some((list) => list.length > 0)) state.change = params;
  const done = plan.steps.filter((s) => s.status === "done");
  if (missed) for (const s of done) if (!state.done.has(s.id)) state.away.done.add(s.title);
  state.done = new Set(done.map((s) => s.id));
}
