// The commands: what the developer can do from the palette and with keys. Each is a request, or an
// action that the daemon offers.
import * as vscode from "vscode";
import type { Action, PlanEdit, RevertParams, Step } from "../../../protocol/protocol.gen";
import type { Daemon } from "./daemon";
import type { Desk } from "./desk";
import { history } from "./history";
import { lines, modes } from "./lines";
import { selected } from "./places";
import type { Panel } from "./view";

interface Item<T> extends vscode.QuickPickItem {
  value: T;
}

/** pick asks for one of several. */
async function pick<T>(title: string, items: Item<T>[]): Promise<T | undefined> {
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true }))?.value;
}

export class Commands {
  panel!: Panel;

  constructor(
    private readonly daemon: Daemon,
    private readonly desk: Desk,
  ) {}

  register(): vscode.Disposable[] {
    const all: Record<string, (...args: never[]) => unknown> = {
      start: () => this.panel.focusBox({ start: true, chip: selected() }),
      steer: () => this.steer(),
      pause: () => this.send("tandem/pause", "Pause"),
      resume: (more?: object) => this.send("tandem/resume", "Resume", more),
      checkIn: () => this.send("tandem/checkIn", "Check in"),
      end: () => this.send("tandem/session/end", "End the session"),
      decide: () => this.choose(this.offered().filter((a) => /decide|resume/.test(a.action.method))),
      act: () => this.choose(this.offered()),
      ask: (action: Action) => this.ask(action),
      showPlan: () => this.panel.reveal(),
      revert: () => this.revert(),
      editPlan: () => this.editPlan(),
      autonomy: () => this.autonomy(),
      attach: () => this.attach(),
      history: () => this.withSession((id) => history(this.daemon, id)),
      setKey: () => this.setKey(),
      restart: () => this.daemon.start(),
      showLog: () => this.daemon.log.show(),
    };
    return Object.entries(all).map(([name, run]) => vscode.commands.registerCommand(`tandem.${name}`, run));
  }

  /** A menu of actions, as a line of the panel has it. */
  async menu(actions: Action[]): Promise<void> {
    const items = actions.map((a) => ({ label: a.title, description: a.ask?.prompt, value: a }));
    const action = await pick("Tandem", items);
    if (action?.ask) await this.panel.focusBox({ action });
    else if (action) await this.desk.act(action);
  }

  private async steer(): Promise<void> {
    await this.panel.focusBox({ start: this.desk.state === undefined, chip: selected() });
  }

  /** Sends an action, and asks first for what it lacks. */
  private async ask(action: Action): Promise<void> {
    if (!action.ask) return void (await this.said(this.desk.act(action)));
    const text = await vscode.window.showInputBox({ title: action.title, prompt: action.ask.prompt });
    if (text) await this.said(this.desk.act(action, { text }));
  }

  /** What was refused is said in the panel, so the panel has to be there. */
  private async said(done: Promise<boolean>): Promise<void> {
    if (!(await done) || this.desk.notices.length > 0) await this.panel.reveal();
  }

  private async withSession(then: (sessionId: string) => Promise<unknown>): Promise<void> {
    const id = this.desk.state?.session.id;
    if (id) await this.said(this.desk.tried(() => then(id)));
    else await this.panel.focusBox({ start: true });
  }

  /** Sends a request of the session's; where the daemon offers it as an action, that one. */
  private async send(method: string, title: string, more: object = {}): Promise<void> {
    const session = this.desk.state?.session;
    if (!session) return this.panel.focusBox({ start: true });
    const offered = [...session.actions, ...(session.pause?.actions ?? [])].find((a) => a.method === method);
    const action = offered ?? { title, method, params: { sessionId: session.id } };
    await this.said(this.desk.act({ ...action, params: { ...action.params, ...more } }));
  }

  /** offered is every action in the panel with the words of its line. */
  private offered(): { action: Action; of: string }[] {
    const state = this.desk.drawn;
    const all = state ? lines(state, Date.now()) : [];
    const found = all.flatMap((l) => l.actions.map((action) => ({ action, of: l.text })));
    // A card has again what its session has.
    return [...new Map(found.map((f) => [JSON.stringify(f.action), f])).values()];
  }

  private async choose(offered: { action: Action; of: string }[]): Promise<void> {
    const items = offered.map((o) => ({ label: o.action.title, description: o.of, value: o.action }));
    if (items.length === 0) items.push({ label: "Nothing waits for you", description: "", value: undefined as never });
    const action = await pick("Tandem", items);
    if (action) await this.ask(action);
  }

  private async revert(): Promise<void> {
    await this.withSession(async (sessionId) => {
      const steps = this.desk.state?.session.plan?.steps ?? [];
      const stepId = await pick("Take back what was done for a step", steps.map(stepItem));
      if (!stepId) return;
      const params: RevertParams = { sessionId, stepId };
      const { files, conflicts } = await this.daemon.request("tandem/revert", { ...params, dryRun: true });
      const shown = files.map((f) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(f.uri))} (${f.status})`);
      const detail = [...shown, ...conflicts].join("\n") || "Nothing would change.";
      const go = "Take back";
      const answer = await vscode.window.showWarningMessage(
        "Take back what was done for this step?",
        { modal: true, detail },
        go,
      );
      if (answer === go) await this.desk.act({ title: go, method: "tandem/revert", params });
    });
  }

  private async autonomy(): Promise<void> {
    await this.withSession(async (sessionId) => {
      const level = await pick("How much the agent does before it waits for a word", [
        {
          label: "close",
          detail: "Major and notable decisions wait for your word.",
          value: "close" as const,
        },
        {
          label: "balanced",
          detail: "A major decision gives you ten seconds to object.",
          value: "balanced" as const,
        },
        { label: "high", detail: "Every decision stands at once.", value: "high" as const },
      ]);
      if (!level || !this.desk.state) return;
      const { session } = await this.daemon.request("tandem/autonomy", { sessionId, level });
      this.desk.state.session.autonomy = session.autonomy;
    });
  }

  private async attach(): Promise<void> {
    let id: string | undefined;
    const listed = await this.desk.tried(async () => {
      const items = (await this.desk.list()).map((s) => ({
        label: s.title,
        description: modes[s.mode][1],
        detail: new Date(s.updatedAt).toLocaleString(),
        value: s.id,
      }));
      id = await pick("Sessions of this workspace", items);
      if (id) await this.desk.follow(id);
    });
    if (id || !listed) await this.panel.reveal();
  }

  private async setKey(): Promise<void> {
    const prompt = "It is kept in the editor's secret storage and given to the daemon alone. Empty removes it.";
    const key = await vscode.window.showInputBox({ title: "Tandem: Set API Key", prompt, password: true });
    if (key !== undefined) await this.daemon.setKey(key.trim());
  }

  private async editPlan(): Promise<void> {
    await this.withSession(async (sessionId) => {
      const plan = this.desk.state?.session.plan;
      const edit = plan && (await planEdit(plan.steps.filter((s) => s.status !== "dropped")));
      if (edit) await this.daemon.request("tandem/replan", { sessionId, baseRevision: plan.revision, edits: [edit] });
    });
  }
}

const stepItem = (s: Step) => ({ label: s.title, description: s.status, detail: s.intent, value: s.id });

/** planEdit asks for one edit of the plan. */
async function planEdit(steps: Step[]): Promise<PlanEdit | undefined> {
  const op = await pick("Edit the plan", [
    { label: "Add a step", value: "add" as const },
    { label: "Change a step's title", value: "change" as const },
    { label: "Move a step", value: "move" as const },
    { label: "Drop a step", value: "drop" as const },
  ]);
  if (!op) return undefined;
  const stepId = op === "add" ? undefined : await pick("Which step?", steps.map(stepItem));
  if (op !== "add" && !stepId) return undefined;
  if (op === "drop") return { op, stepId };
  const after = op === "change" ? undefined : await place(steps.filter((s) => s.id !== stepId));
  if (op === "move") return after === undefined ? undefined : { op, stepId, after: after || undefined };
  const value = steps.find((s) => s.id === stepId)?.title;
  const title = await vscode.window.showInputBox({
    title: "Tandem: Edit Plan",
    prompt: "The step's title",
    value,
  });
  if (!title || (op === "add" && after === undefined)) return undefined;
  return op === "add" ? { op, step: { title }, after: after || undefined } : { op, stepId, title };
}

/** place asks behind which step; "" is first for a step that moves, and last for a new one. */
async function place(steps: Step[]): Promise<string | undefined> {
  return pick("Behind which step?", [{ label: "At the end or the beginning", value: "" }, ...steps.map(stepItem)]);
}
