// Tandem in VS Code: starts the connection, sends what the developer does, draws what came. All logic
// is the daemon's.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { Commands } from "./commands";
import { Daemon } from "./daemon";
import { Desk } from "./desk";
import { provideHistory } from "./history";
import { Marks } from "./marks";
import type { Drawing } from "./messages";
import { Status } from "./status";
import { Panel } from "./view";
import type { State } from "./wire";

/** What the extension gives to others: what it shows now, to be read only. */
export interface Api {
  client(): LanguageClient | undefined;
  state(): State | undefined;
  drawing(): Drawing;
}

export function activate(context: vscode.ExtensionContext): Api {
  const daemon = new Daemon(context);
  const desk = new Desk(daemon, context.workspaceState);
  const commands = new Commands(daemon, desk);
  const panel = new Panel(context.extensionUri, daemon, desk, (actions) => commands.menu(actions));
  commands.panel = panel;
  const restart = () => void daemon.start();
  context.subscriptions.push(
    daemon,
    desk,
    panel,
    new Status(daemon, desk, panel),
    new Marks(desk),
    provideHistory(),
    vscode.window.registerWebviewViewProvider(Panel.id, panel),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeWorkspaceFolders(restart),
    vscode.workspace.onDidChangeConfiguration((e) => {
      if (e.affectsConfiguration("tandem.path") || e.affectsConfiguration("tandem.baseUrl")) restart();
    }),
    ...commands.register(),
  );
  // Activation does not wait for the daemon: the panel says where it stands.
  restart();
  return { client: () => daemon.running, state: () => desk.state, drawing: () => panel.drawing() };
}
