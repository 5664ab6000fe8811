import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Api } from "../../src/extension";
import { text } from "../../src/lines";

/** Asks until there is an answer, for half a minute at most. */
async function until<T>(what: string, ask: () => T | undefined | false | Thenable<T | undefined | false>): Promise<T> {
  for (const end = Date.now() + 30_000; ; ) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`after 30 s still not: ${what}\n${shown()}`);
    await new Promise((wake) => setTimeout(wake, 30));
  }
}

/** Types a line into a document, which is not saved. */
async function write(document: vscode.TextDocument, line: number, words: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, new vscode.Position(line, 0), `${words}\n`);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

let api: Api;
const shown = () => text(api.drawing().lines);
const says = (words: string) => until(`the panel says «${words}»`, () => shown().includes(words));

interface Manifest {
  contributes: { commands: { command: string; category?: string }[]; keybindings: { command: string }[] };
}

describe("the extension", () => {
  let extension: vscode.Extension<Api>;
  let folder: vscode.Uri;
  let menu: vscode.TextDocument;
  const mine = "// tandem: Move this into a reusable hook.";
  const task = "Implement authentication state management using the existing architecture.";
  const at = (path: string) => vscode.Uri.joinPath(folder, path);
  const request = (method: string, params: object) => {
    const client = api.client();
    assert.ok(client, "the connection to the daemon is there");
    return client.sendRequest(method, params);
  };

  before(async () => {
    const found = vscode.extensions.getExtension<Api>("tandem.tandem");
    assert.ok(found, "the extension is there");
    extension = found;
    api = await extension.activate();
    const first = vscode.workspace.workspaceFolders?.[0];
    assert.ok(first, "a folder is open");
    folder = first.uri;
    await until("the daemon answers", () => api.client() !== undefined);
  });

  it("knows every command that it promises, and each has a key", async () => {
    const { commands, keybindings } = (extension.packageJSON as Manifest).contributes;
    const known = await vscode.commands.getCommands(true);
    const keys = new Set(keybindings.map((k) => k.command));
    assert.ok(commands.length >= 6);
    for (const { command, category } of commands) {
      assert.ok(known.includes(command), `${command} is registered`);
      assert.equal(category, "Tandem", command);
    }
    const ours = commands.filter((c) => !/(setKey|restart|showLog)$/i.test(c.command));
    assert.deepEqual(
      ours.filter((c) => !keys.has(c.command)).map((c) => c.command),
      [],
    );
  });

  it("speaks version 1 with the daemon", () => {
    const tandem = api.client()?.initializeResult?.capabilities.experimental?.tandem;
    assert.equal(tandem?.version, 1);
  });

  it("attaches to a session that was started elsewhere, and draws it", async () => {
    menu = await vscode.workspace.openTextDocument(at("src/menu.js"));
    await vscode.window.showTextDocument(menu);
    await write(menu, menu.lineCount, mine);
    await request("tandem/session/start", { task, autonomy: "high" });
    const attached = vscode.commands.executeCommand("tandem.attach");
    await until("the session is chosen in the list", async () => {
      await vscode.commands.executeCommand("workbench.action.acceptSelectedQuickOpenItem");
      return api.state() !== undefined;
    });
    await attached;
    await says("▶ 2 Extend AuthProvider");
    await says("thinking");
  });

  it("lets the agent read what is not saved", async () => {
    const read = await until("the menu was read", () =>
      [...(api.state()?.operations.values() ?? [])].find((o) => o.target === "src/menu.js"),
    );
    assert.match(read.output ?? "", new RegExp(`of ${menu.lineCount - 1}$`));
  });

  it("steers from the light bulb at a comment that is not saved", async () => {
    const line = menu.getText().split("\n").indexOf(mine);
    const at = new vscode.Range(line, 12, line, 12);
    const list = "vscode.executeCodeActionProvider";
    const steer = await until("the light bulb offers a steer", async () => {
      const offered = await vscode.commands.executeCommand<vscode.CodeAction[]>(list, menu.uri, at);
      return offered.find((action) => /Steer.*: Move this into/i.test(action.title));
    });
    const { command, arguments: args = [] } = steer.command ?? assert.fail("it is a command");
    await vscode.commands.executeCommand(command, ...args);
    await says("STEERS");
  });

  it("takes an edit of the agent into the unsaved document, as one step of its undo", async () => {
    await says("CHANGED BY «Move this into a reusable hook.»");
    await until("the edit is in the document", () => menu.getText().includes("useAuth(provider).signedIn"));
    assert.ok(menu.getText().includes(mine), "what the developer wrote is still there");
    await says("DONE");
    await vscode.window.showTextDocument(menu);
    await vscode.commands.executeCommand("undo");
    await until("the edit is undone", () => !menu.getText().includes("useAuth"));
    assert.ok(menu.getText().includes(mine), "undoing takes back the agent's edit alone");
  });
});
