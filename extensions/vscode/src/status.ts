// The status bar, and the one notification when it becomes the developer's turn.
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import type { Desk } from "./desk";
import { intent, modes } from "./lines";
import type { Panel } from "./view";
import type { State } from "./wire";

const most = 60;

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("tandem.status", vscode.StatusBarAlignment.Left, 50);
  private readonly listener: vscode.Disposable;
  /** Whose turn it was when it was drawn last. */
  private turn?: string;

  constructor(
    private readonly daemon: Daemon,
    private readonly desk: Desk,
    private readonly panel: Panel,
  ) {
    this.item.name = "Tandem";
    this.item.command = "tandem.showPlan";
    this.listener = desk.onChange(() => this.draw());
    this.draw();
    this.item.show();
  }

  dispose(): void {
    this.listener.dispose();
    this.item.dispose();
  }

  private draw(): void {
    const state = this.desk.drawn;
    const problem = this.daemon.problem;
    const yours = state?.session.initiative === "developer" && state.session.mode !== "done";
    this.item.text = problem ? "$(warning) Tandem" : state ? words(state) : "Tandem";
    this.item.tooltip = problem?.lines.join("\n") ?? state?.session.title ?? "Say what shall be done";
    this.item.accessibilityInformation = {
      label: `Tandem: ${this.item.text.replace(/\$\([a-z-]+\) ?/, "")}`,
      role: "button",
    };
    const colour = yours ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.backgroundColor = colour;
    if (state) this.tell(state);
  }

  /** Tells once that it has become the developer's turn; whoever looks at the panel sees it there. */
  private tell({ session, reason }: State): void {
    const now = `${session.id} ${session.initiative}`;
    const before = this.turn;
    this.turn = now;
    if (before === now || session.initiative !== "developer") return;
    if (session.mode === "done" && before === undefined) return; // it was done before this window was there
    if (this.panel.visible && vscode.window.state.focused) return;
    const why = session.pause?.reason || session.questions[0]?.text || reason || session.title;
    const what = session.mode === "done" ? "done" : "your turn";
    void vscode.window.showInformationMessage(`Tandem: ${what}. ${why}`, "Show").then((answer) => {
      if (answer) return this.panel.reveal();
    });
  }
}

function words(state: State): string {
  const [sign, mode] = modes[state.session.mode];
  const mark = sign === "⏸" ? "$(debug-pause)" : sign; // many fonts lack the sign
  const said = state.session.mode === "executing" ? intent(state) : state.reason || "";
  const all = [`${mark} ${mode}`, said].filter(Boolean).join(": ");
  return all.length > most ? `${all.slice(0, most - 1)}…` : all;
}
