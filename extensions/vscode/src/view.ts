// The panel: hosts the webview, sends it what to draw, and does what it asks for.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Action, Location, Session } from "../../../protocol/protocol.gen";
import { type Daemon, lacking } from "./daemon";
import type { Desk } from "./desk";
import { empty, lines, modes } from "./lines";
import type { BoxSetting, Drawing, FromView, ToView } from "./messages";
import { show } from "./places";

/** Drawings closer together than this become one. */
const frame = 40;

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = "tandem.panel";
  private view?: vscode.WebviewView;
  private ready = false;
  private waiting: ToView[] = [];
  private due?: NodeJS.Timeout;
  private readonly clock: NodeJS.Timeout;
  private readonly listener: vscode.Disposable;

  constructor(
    private readonly home: vscode.Uri,
    private readonly daemon: Daemon,
    private readonly desk: Desk,
    private readonly choose: (actions: Action[]) => Promise<void>,
  ) {
    this.listener = desk.onChange(() => this.draw());
    this.clock = setInterval(() => this.tick(), 1000);
  }

  dispose(): void {
    clearInterval(this.clock);
    clearTimeout(this.due);
    this.listener.dispose();
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const dist = vscode.Uri.joinPath(this.home, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((m: FromView) => this.heard(m));
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.onDidChangeVisibility(() => {
      this.ready &&= view.visible; // a page that is hidden is gone; the next one says that it is ready
      if (!view.visible) return;
      void this.desk.look();
    });
    view.webview.html = page(view.webview, dist);
  }

  /** Shows the panel and puts the cursor into its box. */
  async focusBox(set: BoxSetting): Promise<void> {
    this.post({ type: "box", set });
    await vscode.commands.executeCommand(`${Panel.id}.focus`);
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${Panel.id}.focus`);
  }

  /** What the webview draws now. */
  drawing(): Drawing {
    const state = this.desk.drawn;
    const problem = this.daemon.problem ? [this.daemon.problem] : [];
    return {
      lines: state ? lines(state, Date.now()) : this.desk.state ? [] : empty,
      session: this.desk.state !== undefined,
      paused: state?.session.mode === "paused",
      spoken: state ? spoken(state.session) : "",
      notices: [...problem, ...lacking(), ...this.desk.notices],
    };
  }

  private draw(): void {
    this.badge();
    this.due ??= setTimeout(() => {
      this.due = undefined;
      if (this.visible && this.ready) this.post({ type: "draw", drawing: this.drawing() });
    }, frame);
  }

  /** Seconds are counted where something takes its time. */
  private tick(): void {
    const state = this.desk.drawn;
    if (!this.visible || !state) return;
    const runs = [...state.operations.values()].some((o) => o.status === "running");
    if (runs || [...state.decisions.values()].some((d) => d.status === "open")) this.draw();
  }

  private badge(): void {
    if (!this.view) return;
    const state = this.desk.drawn?.session;
    const turn = state?.initiative === "developer" && state.mode !== "done";
    this.view.badge = turn ? { value: 1, tooltip: "It is your turn" } : undefined;
  }

  private post(m: ToView): void {
    if (this.ready && this.view) void this.view.webview.postMessage(m);
    else if (m.type === "box") this.waiting = [m];
  }

  private async heard(m: FromView): Promise<void> {
    switch (m.type) {
      case "ready":
        this.ready = true;
        this.post({ type: "draw", drawing: this.drawing() });
        for (const w of this.waiting.splice(0)) this.post(w);
        return;
      case "act":
        return void (await this.desk.act(m.action));
      case "menu":
        return this.choose(m.actions);
      case "say":
        return this.post({ type: "sent", ok: await this.say(m) });
      case "open":
        return show(m.place);
      case "run":
        return void (await vscode.commands.executeCommand(m.fix.command, ...(m.fix.args ?? [])));
      case "dismiss":
        return this.desk.dismiss(m.index - (this.drawing().notices.length - this.desk.notices.length));
    }
  }

  private say({ text, start, action, places, when }: FromView & { type: "say" }): Promise<boolean> {
    const state = this.desk.state;
    if (start || !state) return this.desk.start(starting(text, places));
    const steer = state.session.actions.find((a) => a.method === "tandem/steer" && a.ask);
    return this.desk.act(action ?? steer ?? plainSteer(state.session.id), { text, when, places });
  }
}

function spoken({ mode, initiative }: Session): string {
  return modes[mode][1] + (initiative === "developer" && mode !== "done" ? ": it is your turn" : "");
}

/** A session that has ended offers no steer; the daemon says so when one is sent. */
function plainSteer(sessionId: string): Action {
  return {
    title: "Steer",
    method: "tandem/steer",
    params: { sessionId },
    ask: { param: "text", prompt: "" },
  };
}

function starting(task: string, context: Location[]) {
  const settings = vscode.workspace.getConfiguration("tandem");
  const autonomy = settings.get<"" | "close" | "balanced" | "high">("autonomy") || undefined;
  return { task, autonomy, model: settings.get<string>("model") || undefined, context };
}

function page(webview: vscode.Webview, dist: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const at = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(dist, name));
  const style = `style-src ${webview.cspSource} 'unsafe-inline'; font-src ${webview.cspSource}`;
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ${style}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${at("webview.css")}"></head>
<body><tandem-panel></tandem-panel><script type="module" nonce="${nonce}" src="${at("webview.js")}"></script></body></html>`;
}
