// The session that this window follows: attaches to it, folds what is told, and sends what the
// developer does. It draws nothing.
import * as vscode from "vscode";
import {
  type Action,
  errorCodes,
  type FilesChangedParams,
  type Location,
  type Requests,
  type Session,
  type StartParams,
  type When,
} from "../../../protocol/protocol.gen";
import { answered } from "./answers";
import { type Daemon, explained } from "./daemon";
import type { Notice } from "./messages";
import { again, begin, fold, type Note, type State } from "./wire";

/** What goes with the words of a steer. */
export interface Saying {
  text?: string;
  when?: When;
  places?: Location[];
}

const seenName = "tandem.seen";
const restored = "The connection to the daemon was lost and is back. Nothing that you said is lost.";

export class Desk implements vscode.Disposable {
  state?: State;
  /** What the daemon answered or refused, the newest last. */
  notices: Notice[] = [];
  /** The past of a session is drawn once it is told, not as it is told. */
  private settled = false;
  private timer?: NodeJS.Timeout;
  /** Whether the connection went away by itself since it was there last. */
  private lost = false;
  private saving?: NodeJS.Timeout;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly wrote = new vscode.EventEmitter<FilesChangedParams>();
  private readonly listeners: vscode.Disposable[];
  readonly onChange = this.changed.event;
  readonly onFiles = this.wrote.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly memory: vscode.Memento,
  ) {
    this.listeners = [
      daemon.onNote((note) => this.take(note)),
      daemon.onChange((connected) => {
        if (connected) return void this.comeBack();
        this.lost ||= daemon.problem !== undefined;
        this.changed.fire();
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.saving);
    for (const l of [...this.listeners, this.changed, this.wrote]) l.dispose();
  }

  /** The state when it can be drawn. */
  get drawn(): State | undefined {
    return this.settled ? this.state : undefined;
  }

  /** follow makes another session the one of this window, and tells it from its first event. */
  async follow(sessionId: string): Promise<void> {
    const { session } = await this.daemon.request("tandem/session/attach", { sessionId, since: 0 });
    const seen = this.memory.get<{ id: string; seq: number }>(seenName);
    this.sit(begin(session, seen?.id === sessionId ? seen.seq : undefined));
  }

  /** start starts a session and follows it. */
  async start(params: StartParams): Promise<boolean> {
    return this.tried(async () => {
      const { session } = await this.daemon.request("tandem/session/start", params);
      this.sit(begin(session));
    });
  }

  /** act sends an action as it came, with what the developer typed. False is that it was refused. */
  async act(action: Action, { text, when, places = [] }: Saying = {}): Promise<boolean> {
    const state = this.state;
    const params: Record<string, unknown> = { ...action.params };
    if (action.ask && text !== undefined) params[action.ask.param] = text;
    if (action.method === "tandem/steer") {
      const [first, ...rest] = places;
      const scoped = params.scope || !first?.range;
      if (!scoped) params.scope = { location: first };
      const context = scoped ? places : rest;
      Object.assign(params, { when, seenSeq: state?.seq }, context.length > 0 && { context });
    }
    return this.tried(async () => {
      const method = action.method as keyof Requests;
      const result = await this.daemon.request(method, params as never);
      if (state) state.seen = undefined; // whoever acts is back
      const words = answered(result, action.title, state);
      if (words.length > 0) this.say({ lines: words, fixes: [], error: false });
    });
  }

  /** Says something to the developer until they dismiss it or do the next thing. */
  say(notice: Notice): void {
    this.notices.push({ ...notice, passing: true });
    this.changed.fire();
  }

  dismiss(index: number): void {
    this.notices.splice(index, 1);
    this.changed.fire();
  }

  /** list is the workspace's sessions, newest first. */
  async list(): Promise<Session[]> {
    const workspace = vscode.workspace.workspaceFolders?.[0]?.uri.toString();
    return workspace ? (await this.daemon.request("tandem/session/list", { workspace })).sessions : [];
  }

  /** Does something with the daemon; what it refuses is said in the panel. */
  async tried(what: () => Promise<unknown>): Promise<boolean> {
    this.notices = [];
    try {
      await what();
      return true;
    } catch (err) {
      if (!this.daemon.problem?.error) this.say(explained(err)); // else the panel says it already
      return false;
    } finally {
      this.changed.fire();
    }
  }

  /** comeBack attaches where the window was, or to the session that most likely matters. */
  async comeBack(): Promise<void> {
    const state = this.state;
    this.notices = [];
    try {
      if (!state) return await this.choose();
      const since = { sessionId: state.session.id, since: state.seq };
      const { session } = await this.daemon.request("tandem/session/attach", since);
      if (this.state === state) this.sit(again(state, session));
      if (this.lost) this.say({ lines: [restored], fixes: [], error: false });
      this.lost = false;
    } catch (err) {
      if ((err as { code?: number }).code === errorCodes.noSuchSession) this.state = undefined;
      this.say(explained(err));
    }
  }

  /** look attaches to a session that was started elsewhere, where this window has none. */
  async look(): Promise<void> {
    if (this.daemon.running && !this.state) await this.choose().catch((err) => this.daemon.log.warn(String(err)));
  }

  private async choose(): Promise<void> {
    const sessions = await this.list();
    const seen = this.memory.get<{ id: string }>(seenName);
    const chosen = sessions.find((s) => s.id === seen?.id) ?? sessions.find((s) => s.mode !== "done");
    if (chosen && !this.state) await this.follow(chosen.id);
    this.changed.fire();
  }

  /** sit takes a state in the same turn in which its answer came: what is told next belongs to it. */
  private sit(state: State): void {
    const before = this.state?.session.id;
    const left = before !== undefined && before !== state.session.id;
    if (left) this.daemon.request("tandem/session/detach", { sessionId: before }).catch(() => undefined);
    clearTimeout(this.timer);
    this.state = state;
    this.settled = state.seq >= state.told;
    // The last events of the past may be such that tell nothing.
    this.timer = setTimeout(() => this.settle(), 150);
    this.changed.fire();
  }

  private settle(): void {
    this.settled = true;
    this.save();
    this.changed.fire();
  }

  private take(note: Note): void {
    const state = this.state;
    if (state?.session.id !== note.params.sessionId) return;
    fold(state, note);
    if (note.method === "tandem/filesChanged" && note.params.seq > state.told) this.wrote.fire(note.params);
    if (!this.settled && state.seq >= state.told) this.settled = true;
    if (!this.settled) return;
    this.remember();
    this.changed.fire();
  }

  /** remember keeps what the developer saw, at most once a second. */
  private remember(): void {
    this.saving ??= setTimeout(() => this.save(), 1000);
  }

  private save(): void {
    clearTimeout(this.saving);
    this.saving = undefined;
    if (this.state) void this.memory.update(seenName, { id: this.state.session.id, seq: this.state.seq });
  }
}
