// The panel as lines: a pure function of the state and the time. The words and their order are those of
// testdata/wire/README.md, which Neovim draws as well; the webview only lays them out.
import type {
  Action,
  Comparison,
  Decision,
  Location,
  Operation,
  Pause,
  Plan,
  Steer,
  Step,
  Watch,
} from "../../../protocol/protocol.gen";
import type { State } from "./wire";

/** The names of the blocks; the webview lays a line out by the block it stands in. */
export type Block =
  | "head"
  | "card"
  | "away"
  | "plan"
  | "changed"
  | "steers"
  | "decisions"
  | "said"
  | "now"
  | "earlier"
  | "watches"
  | "empty";

/** One line of the panel. Its text form is mark, text and note. */
export interface Line {
  block: Block;
  indent: number;
  /** A sign that leads the line, which `means` says in words. */
  mark?: string;
  means?: string;
  text: string;
  note?: string;
  actions: Action[];
  /** Whether the actions are drawn on the line or only in its menu. */
  shown: boolean;
  place?: Location;
  dim?: boolean;
  /** Names the line between two drawings, where it stands for an entity. */
  id?: string;
}

/** The panel without a session. */
export const empty: Line[] = [
  "Say what shall be done: the agent lays out a plan and begins.",
  "Steer at any moment: it stops what became useless, keeps what is good and says what your change costs.",
  "Pause when something does not fit: what runs is frozen, you decide, you resume.",
].map((t) => line("empty", 0, t));

/** text is the lines as plain text. */
export function text(all: Line[]): string {
  return all.map((l) => `${written(l)}\n`).join("");
}

function written(l: Line): string {
  const note = l.note ? ` — ${l.note}` : "";
  const buttons = l.shown ? l.actions.map((a) => `[${flat(a.title)}]`) : [];
  const words = (l.mark ? `${l.mark} ` : "") + l.text + note;
  const parts = words === "" ? buttons : [words, ...buttons];
  return parts.length > 0 ? " ".repeat(l.indent) + parts.join(" ") : "";
}

/** lines is the panel of a session at a time, in milliseconds. */
export function lines(state: State, now: number): Line[] {
  const blocks = [
    head(state),
    card(state),
    away(state),
    plan(state),
    changed(state),
    steers(state),
    decisions(state, now),
    said(state),
    running(state, now),
    earlier(state),
    watches(state),
  ].filter((block) => block.length > 0);
  const all = blocks.flatMap((block, i) => (i === 0 ? block : [gap(block), ...block]));
  if (state.session.mode !== "paused") return all;
  return all.map((l) => ({ ...l, dim: l.block !== "head" && l.block !== "card" }));
}

/** gap is the empty line before a block. */
function gap(block: Line[]): Line {
  return line(block[0]?.block ?? "head", 0, "");
}

/** The session's mode in words, with its mark. */
export const modes = {
  executing: ["●", "Working"],
  paused: ["⏸", "Paused"],
  waiting: ["●", "Waiting"],
  done: ["✓", "Done"],
} as const;

/** intent is what the agent is about to do now, in its own words. */
export function intent(state: State): string {
  const step = state.session.plan?.steps.find((s) => s.status === "active");
  return step ? intentOf(state, step) : "";
}

/** path is a place as a person reads it. */
export function path(workspace: string, place: Location): string {
  const root = `${workspace.replace(/\/$/, "")}/`;
  const at = place.uri.startsWith(root) ? place.uri.slice(root.length) : place.uri.replace(/^[a-z-]+:\/\/[^/]*/i, "");
  return decoded(at) + (place.range ? `:${place.range.start.line + 1}` : "");
}

function head(state: State): Line[] {
  const { mode, initiative, autonomy, title, actions } = state.session;
  const [mark, word] = modes[mode];
  const turn = `your turn: ${initiative === "developer" ? "yes" : "no"}`;
  const open = actions.filter((a) => fits(a, mode));
  const out = [
    line("head", 0, [word, turn, autonomy].join(" · "), { mark, means: word, actions: open, id: "head" }),
    line("head", 0, title),
  ];
  if (state.reason && (mode === "executing" || mode === "waiting")) out.push(line("head", 2, state.reason));
  return out;
}

/** fits leaves out a pause where nothing works, and a resume where nothing is paused. */
function fits(action: Action, mode: State["session"]["mode"]): boolean {
  if (action.method === "tandem/pause") return mode === "executing" || mode === "waiting";
  return action.method !== "tandem/resume" || mode === "paused";
}

function card(state: State): Line[] {
  const { mode, pause, questions } = state.session;
  if (mode === "paused") return pause ? pauseCard(state, pause) : [];
  const out: Line[] = [];
  if (questions.length > 0) out.push(line("card", 0, "QUESTIONS · your turn"));
  for (const q of questions) {
    const more = { mark: "?", means: "A question to you", actions: q.actions, shown: true, id: q.id };
    out.push(line("card", 2, q.text, more));
  }
  if (mode !== "done" || !state.reason) return out;
  return [...out, line("card", 0, "DONE"), line("card", 2, state.reason)];
}

function pauseCard(state: State, pause: Pause): Line[] {
  const ids = new Set(pause.options.map((o) => o.id));
  const rest = pause.actions.filter((a) => !a.params.option || !ids.has(a.params.option));
  const out = [line("card", 0, `${pausedBy(pause)} · ${turn(state, pause)}`, { mark: "⏸", means: "Pause" })];
  if (pause.reason) out.push(line("card", 2, pause.reason));
  out.push(...facts(state, pause));
  if (pause.likelyCause) out.push(line("card", 2, `Likely cause: ${pause.likelyCause}`));
  pause.options.forEach((o, i) => {
    const files = o.files.map((uri) => path(state.session.workspace, { uri }));
    const touches = o.touches.map((t) => (t === "businessRule" ? "business rule" : t));
    const actions = pause.actions.filter((a) => a.params.option === o.id);
    const more = { note: notes(...touches, ...files), actions, id: `${pause.id}/${o.id}` };
    out.push(line("card", 2, `${i + 1} ${o.title}`, { ...more, place: first(o.files) }));
    if (o.detail) out.push(line("card", 4, o.detail));
  });
  if (pause.decision) out.push(line("card", 2, `Decided: ${pause.decision}`));
  if (pause.comparison) out.push(...comparison(pause.comparison));
  if (rest.length > 0) out.push(line("card", 2, "", { actions: rest, shown: true, id: pause.id }));
  return out;
}

function pausedBy(pause: Pause): string {
  const tripwire = pause.facts.find((f) => f.source?.tripwire)?.source?.tripwire;
  const who = {
    tripwire: `STOPPED BY ${tripwire ?? "A STOP CONDITION"}`,
    developer: "PAUSED BY YOU",
    agent: "PAUSED BY THE AGENT",
    recovery: "PAUSED AFTER A CRASH",
    budget: "PAUSED BY THE BUDGET",
  };
  return who[pause.by];
}

function turn(state: State, pause: Pause): string {
  if (state.session.initiative === "developer") return "your turn";
  return pause.decision ? "the agent changes what you decided" : "the agent looks into it";
}

function facts(state: State, pause: Pause): Line[] {
  return pause.facts.flatMap((f) => {
    const source = f.source ?? {};
    const place = source.uri ? { uri: source.uri, range: source.range } : undefined;
    const target = state.operations.get(source.operationId ?? "")?.target;
    const note = place ? path(state.session.workspace, place) : target;
    const out = [line("card", 2, f.text, { mark: "-", means: "A fact", note: flat(note ?? ""), place })];
    if (source.tripwire) {
      out.push(line("card", 4, `expected ${source.expected ?? ""} · observed ${source.observed ?? ""}`));
    }
    return out;
  });
}

function comparison(c: Comparison): Line[] {
  const input = c.input.same ? "same input ✓" : "another input ✗";
  const more = { note: notes(c.scenario, input), actions: c.actions, shown: true, id: c.scenario };
  const out = [line("card", 2, "AFTER YOUR DECISION", more)];
  const verdict = (k: { ok: boolean; observed: string }) => `${k.ok ? "✓" : "✗"} ${k.observed}`;
  for (const after of c.after.checks) {
    const before = c.before.checks.find((k) => k.tripwire === after.tripwire);
    const note = (before ? `${verdict(before)} → ` : "") + verdict(after);
    out.push(line("card", 4, after.tripwire, { note: flat(note) }));
  }
  if (c.before.exitCode !== 0 || c.after.exitCode !== 0) {
    out.push(line("card", 4, "exit code", { note: `${c.before.exitCode} → ${c.after.exitCode}` }));
  }
  for (const x of c.changes) out.push(line("card", 4, x.what, { note: flat(`${x.before} → ${x.after}`) }));
  return out;
}

function away(state: State): Line[] {
  const { session, seen } = state;
  if (seen === undefined || state.told <= seen) return [];
  const files = [...state.away.changed].map((uri) => path(session.workspace, { uri }));
  const said: [string, Iterable<string>][] = [
    ["done", state.away.done],
    ["decided", new Set(state.away.decided.values())],
    ["changed", files],
    ["waits for you", waiting(state)],
  ];
  const out = said
    .map(([what, list]) => [what, [...list].map(flat).join(" · ")])
    .filter(([, list]) => list)
    .map(([what, list]) => line("away", 2, `${what}: ${list}`));
  return out.length > 0 ? [line("away", 0, "WHILE YOU WERE AWAY"), ...out] : [];
}

/** waiting is what the developer's word is waited for. */
function waiting(state: State): string[] {
  const { mode, initiative, pause, questions } = state.session;
  if (mode === "paused" && initiative === "developer") return [pause?.reason || "a pause"];
  if (questions.length > 0) return [questions.length === 1 ? "1 question" : `${questions.length} questions`];
  return [...state.decisions.values()]
    .filter((d) => d.status === "open")
    .map((d) => d.summary)
    .slice(0, 1);
}

const steps: Record<Step["status"], [mark: string, means: string]> = {
  done: ["✓", "Done"],
  active: ["▶", "The agent works on it"],
  pending: ["○", "Comes next"],
  dropped: ["–", "Dropped from the plan"],
  blocked: ["✗", "Cannot go on as things are"],
};

function plan(state: State): Line[] {
  const { plan, mode } = state.session;
  if (!plan) return [];
  const out = [line("plan", 0, "PLAN", { note: `revision ${plan.revision}`, id: "plan" })];
  for (const s of plan.steps) {
    if (s.status === "dropped" && !state.change?.diff.dropped.includes(s.id)) continue;
    const [mark, means] = steps[s.status];
    const number = numberOf(plan, s.id);
    const more = {
      mark,
      means,
      note: notes(...stepNotes(state, s)),
      actions: s.actions,
      place: first(s.files),
      id: s.id,
    };
    out.push(line("plan", 2, `${number ? `${number} ` : ""}${s.title}`, more));
    if (s.verified === false) {
      const run = [...state.operations.values()].filter((o) => o.tool === "verify" && o.stepId === s.id).at(-1);
      out.push(...tail("plan", run?.output, 3, 6));
    }
    if (s.status === "active" && (mode === "executing" || mode === "paused")) {
      out.push(line("plan", 6, intentOf(state, s)));
    }
  }
  return out;
}

/** numberOf counts the steps that are not dropped, from 1; 0 is a step that has none. */
function numberOf(plan: Plan | undefined, id: string): number {
  return (plan?.steps ?? []).filter((s) => s.status !== "dropped").findIndex((s) => s.id === id) + 1;
}

function stepNotes(state: State, s: Step): string[] {
  const out: string[] = [];
  if (s.verified !== undefined) out.push(`${s.verified ? "verified" : "failed"}: ${s.verify?.command ?? ""}`);
  if (s.status === "blocked") out.push("blocked");
  if (s.status === "active" && s.files.length > 0) {
    const names = s.files.slice(0, 3).map((uri) => decoded(uri.slice(uri.lastIndexOf("/") + 1)));
    out.push([...names, ...(s.files.length > 3 ? [`+${s.files.length - 3}`] : [])].join(", "));
  }
  const change = state.change;
  if (!change || change.plan.cause.kind === "task") return out;
  if (change.diff.added.includes(s.id)) {
    out.push("new");
    if (s.origin.kind === "steer") out.push("from your steer");
    if (s.origin.kind === "developer") out.push("from you");
  }
  if (change.diff.changed.some((c) => c.after.id === s.id)) out.push("changed");
  if (change.diff.dropped.includes(s.id)) {
    out.push("dropped");
    if (change.diff.reverted.includes(s.id)) out.push("edits taken back");
  }
  return out;
}

function intentOf(state: State, step: Step): string {
  const own = [...state.operations.values()].filter((o) => o.stepId === step.id && isCall(o));
  const begun = own.filter((o) => o.status !== "queued" && o.status !== "cancelled").at(-1);
  const at = begun ?? own.find((o) => o.status === "queued");
  return flat(at ? at.intent : step.intent);
}

/** isCall says that an operation is one that the developer follows: a tool that does something. */
function isCall(o: Operation): boolean {
  return o.kind === "tool" && o.effect !== "none";
}

function changed(state: State): Line[] {
  const change = state.change;
  if (!change || change.plan.cause.kind === "task") return [];
  const out = [line("changed", 0, causeOf(state, change.plan), { id: "changed" })];
  const { kept, changed, added, dropped, reverted } = change.diff;
  const counts = Object.entries({ kept, changed, added, dropped, "edits taken back": reverted });
  const counted = counts.filter(([, l]) => l.length > 0).map(([what, l]) => `${what} ${l.length}`);
  if (counted.length > 0) out.push(line("changed", 2, counted.join(" · ")));
  const ended = change.cancelled.map((id) => state.operations.get(id)?.target).filter(Boolean);
  if (ended.length > 0) out.push(line("changed", 2, `cancelled: ${ended.join(" · ")}`));
  const bang = { mark: "!", means: "A consequence" };
  for (const c of change.consequences) out.push(line("changed", 2, c, bang));
  for (const c of change.conflicts) {
    out.push(line("changed", 2, `conflict: ${c}`, { ...bang, means: "A conflict" }));
  }
  return out;
}

function causeOf(state: State, plan: Plan): string {
  const steer = state.steers.get(plan.cause.id ?? "");
  const titles = {
    task: "",
    steer: steer ? `CHANGED BY ${quoted(steer.text)}` : "CHANGED BY A STEER",
    developer: "CHANGED BY YOU",
    pause: "CHANGED BY YOUR DECISION",
    agent: "CHANGED BY THE AGENT",
  };
  return titles[plan.cause.kind];
}

function steers(state: State): Line[] {
  const live = (s: Steer) => s.status === "received" || s.status === "heard";
  const out = recent([...state.steers.values()], live).map((s) => {
    const note = notes(...steerNotes(state, s));
    const more = { mark: "›", means: "Your steer", note, place: s.scope?.location, id: s.id };
    return line("steers", 2, quoted(s.text), more);
  });
  return out.length > 0 ? [line("steers", 0, "STEERS"), ...out] : [];
}

function steerNotes(state: State, s: Steer): string[] {
  const applied = s.status === "applied" && s.planRevision;
  const out: string[] = [applied ? `applied in revision ${s.planRevision}` : s.status];
  if (s.status === "received" && s.when === "stepEnd") out.push("at the end of this step");
  if (s.status === "received" && s.when === "idle") out.push("at the end of the agent's turn");
  return [...out, ...about(state, s)];
}

function about(state: State, { scope }: Steer): string[] {
  if (scope?.stepId) return [`about ${stepName(state, scope.stepId)}`];
  if (scope?.decisionId) {
    const d = state.decisions.get(scope.decisionId);
    return [d ? `about «${flat(d.summary)}»` : "about a decision"];
  }
  if (scope?.operationId) {
    return [`about ${flat(state.operations.get(scope.operationId)?.target ?? "an operation")}`];
  }
  return scope?.location ? [`about ${path(state.session.workspace, scope.location)}`] : [];
}

/** stepName is a step by its number, as the plan shows it. */
export function stepName(state: State, id: string): string {
  const n = numberOf(state.session.plan, id);
  return n ? `step ${n}` : "a step";
}

function decisions(state: State, now: number): Line[] {
  const all = recent([...state.decisions.values()], (d) => d.status === "open");
  const out = all.flatMap((d) => decision(d, now));
  return out.length > 0 ? [line("decisions", 0, "DECISIONS"), ...out] : [];
}

function decision(d: Decision, now: number): Line[] {
  const open = d.status === "open";
  const more = { mark: "◆", means: "A decision of the agent", place: d.location, id: d.id };
  const note = notes(...decisionNotes(d, now));
  const out = [line("decisions", 2, d.summary, { ...more, note, actions: d.actions, shown: open })];
  if (!open) return out;
  if (d.rationale) out.push(line("decisions", 6, `why: ${d.rationale}`));
  for (const a of d.alternatives) {
    if (a.consequence) out.push(line("decisions", 6, `or ${a.title}`, { note: flat(a.consequence) }));
  }
  return out;
}

function decisionNotes(d: Decision, now: number): string[] {
  if (d.status === "standing") return d.kind === "permission" ? ["allowed"] : [];
  if (d.status === "open") {
    if (!d.deadline) return ["waits for your word"];
    return [span(Math.max(0, Math.ceil((Date.parse(d.deadline) - now) / 1000)))];
  }
  if (d.kind === "permission") return [d.chosen ? "not allowed" : "not asked any more"];
  const chosen = d.alternatives.find((a) => a.id === d.chosen);
  return chosen ? ["overridden", `instead: ${flat(chosen.title)}`] : ["overridden"];
}

function said(state: State): Line[] {
  const last = [...state.operations.values()].filter((o) => o.kind === "think").at(-1);
  if (!last) return [];
  const words = state.words.get(last.id) ?? (last.status === "failed" ? "" : last.output);
  const out = tail("said", words, 10, 2);
  return out.length > 0 ? [line("said", 0, "SAID"), ...out] : [];
}

/** Each tool's word while it works and after it. */
const tools: Record<string, [now: string, past: string]> = {
  list_files: ["listing", "listed"],
  search: ["searching", "searched"],
  read_file: ["reading", "read"],
  edit_file: ["editing", "edited"],
  write_file: ["writing", "wrote"],
  move_file: ["moving", "moved"],
  delete_file: ["deleting", "deleted"],
  run_command: ["running", "ran"],
  verify: ["verifying", "verified"],
};

/** worded is an operation as a word and what it works on. */
function worded(o: Operation, tense: 0 | 1): string {
  if (o.kind === "think") return "thinking";
  const word = tools[o.tool ?? ""]?.[tense] ?? o.tool ?? "";
  return flat(`${word} ${o.target}`);
}

function running(state: State, now: number): Line[] {
  const held = new Set([...state.decisions.values()].filter((d) => d.status === "open").flatMap((d) => d.holds));
  const out: Line[] = [];
  for (const o of state.operations.values()) {
    const runs = o.status === "running" || o.status === "frozen";
    if (!(runs || (o.status === "queued" && held.has(o.id)))) continue;
    if (o.kind === "tool" && o.effect === "none") continue;
    const more = {
      note: runNote(o, now),
      actions: o.actions,
      shown: true,
      place: first(o.files ?? []),
      id: o.id,
    };
    out.push(line("now", 2, worded(o, 0), more));
    if (runs && o.effect === "execute") out.push(...tail("now", o.output, 3, 6));
  }
  return out.length > 0 ? [line("now", 0, "NOW"), ...out] : [];
}

function runNote(o: Operation, now: number): string {
  if (o.status === "frozen") return "frozen, goes on at resume";
  if (o.status === "queued") return "waits for the decision";
  const seconds = o.startedAt ? Math.floor((now - Date.parse(o.startedAt)) / 1000) : 0;
  return seconds >= 1 ? span(seconds) : "";
}

function earlier(state: State): Line[] {
  const ended = (o: Operation) => ["done", "failed", "cancelled", "lost"].includes(o.status);
  const last = [...state.operations.values()]
    .filter((o) => isCall(o) && ended(o))
    .slice(-6)
    .reverse();
  if (last.length === 0) return [];
  return [line("earlier", 0, "EARLIER"), line("earlier", 2, last.map(outcome).join(" · "))];
}

function outcome(o: Operation): string {
  if (o.status === "done") return worded(o, 1);
  const ends: Record<string, string> = { failed: "failed", cancelled: "cancelled", lost: "outcome unknown" };
  const end = o.status === "cancelled" && o.partial ? "partly done" : ends[o.status];
  return `${worded(o, 0)} (${o.exitCode === undefined ? end : `exit ${o.exitCode}`})`;
}

function watches(state: State): Line[] {
  const out = [...state.watches.values()].map((w: Watch & { actions?: Action[] }) => {
    const actions = w.actions ?? [];
    if (w.error) return line("watches", 2, `${w.name}: cannot be read: ${w.error}`, { actions, id: w.id });
    const note: string[] = [];
    const were = (state.were.get(w.id) ?? []).map((was) => shownValue(was.value));
    if (were.length > 0) note.push(`was ${were.join(" → ")}`);
    const target = state.operations.get(w.operationId ?? "")?.target;
    if (target) note.push(`after ${flat(target)}`);
    const more = { note: notes(...note), actions, id: w.id };
    return line("watches", 2, `${w.name}: ${shownValue(w.value)}`, more);
  });
  return out.length > 0 ? [line("watches", 0, "WATCHES"), ...out] : [];
}

function shownValue(value: unknown): string {
  if (value === undefined) return "";
  return flat(typeof value === "string" ? value : JSON.stringify(value));
}

// The small parts.

function line(block: Block, indent: number, words: string, more: Partial<Line> = {}): Line {
  return { block, indent, actions: [], shown: false, ...more, text: flat(words) };
}

/** tail is the last lines of a text that are not empty. */
function tail(block: Block, words: string | undefined, most: number, indent: number): Line[] {
  const all = (words ?? "").split("\n").map(flat).filter(Boolean);
  return all.slice(-most).map((t) => line(block, indent, t));
}

/** recent is all that are live and the last three of the others, in their order. */
function recent<T>(all: T[], live: (t: T) => boolean): T[] {
  const others = new Set(all.filter((t) => !live(t)).slice(-3));
  return all.filter((t) => live(t) || others.has(t));
}

function notes(...list: string[]): string {
  return list.join(" · ");
}

/** flat is text that came, on one line. */
function flat(t: string): string {
  return t.replace(/\s+/gu, " ").trim();
}

function quoted(t: string): string {
  return `«${clip(flat(t), 60)}»`;
}

function first(files: string[]): Location | undefined {
  return files[0] ? { uri: files[0] } : undefined;
}

function clip(t: string, most: number): string {
  const points = [...t];
  return points.length <= most ? t : `${points.slice(0, most - 1).join("")}…`;
}

/** span is whole seconds in words. */
export function span(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri; // it is no legal URI: shown as it came
  }
}
