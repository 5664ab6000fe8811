// The connection to the daemon: finds the program, starts `tandem lsp`, and starts it again when it
// ended. It knows no session.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  State as Phase,
  ResponseError,
} from "vscode-languageclient/node";
import { errorCodes, type Notifications, type Requests } from "../../../protocol/protocol.gen";
import { applyEdit } from "./edits";
import type { Notice } from "./messages";
import type { Note } from "./wire";

const keyName = "tandem.apiKey";
const methods: (keyof Notifications)[] = [
  "tandem/progress",
  "tandem/text",
  "tandem/planChanged",
  "tandem/decision",
  "tandem/modeChanged",
  "tandem/steered",
  "tandem/watched",
  "tandem/scenarioRan",
  "tandem/filesChanged",
  "tandem/usage",
];

/** Requests that change nothing bear no key: asking twice does no harm. */
const reads = new Set<string>([
  "tandem/session/list",
  "tandem/session/attach",
  "tandem/plan",
  "tandem/ask",
  "tandem/history",
  "tandem/blame",
]);

// More ends than these in this time are a defect that starting again does not cure.
const mostEnds = 5;
const endsWithin = 60_000;

export class Daemon implements vscode.Disposable {
  /** What stands between the editor and the daemon now. */
  problem?: Notice;
  readonly log = vscode.window.createOutputChannel("Tandem", { log: true });
  private client?: LanguageClient;
  private up = false;
  private ends: number[] = [];
  private turn: Promise<void> = Promise.resolve();
  private readonly clientId = randomUUID();
  private readonly changed = new vscode.EventEmitter<boolean>();
  private readonly noted = new vscode.EventEmitter<Note>();
  /** Fires when the connection comes (true) or goes (false), or its problem changes. */
  readonly onChange = this.changed.event;
  readonly onNote = this.noted.event;

  constructor(private readonly context: vscode.ExtensionContext) {}

  /** The client while it is connected; its own state says so for a while after the connection is gone. */
  get running(): LanguageClient | undefined {
    return this.up ? this.client : undefined;
  }

  /** start starts the client, or starts it anew with the settings as they are now. */
  start(): Promise<void> {
    this.turn = this.turn.then(() => this.startAnew());
    return this.turn;
  }

  async dispose(): Promise<void> {
    this.changed.dispose();
    this.noted.dispose();
    await this.client?.dispose().catch(() => undefined); // it may never have started
    this.log.dispose();
  }

  /** Sends a request. One whose connection went away is sent again, under the same key, when it is back. */
  async request<M extends keyof Requests>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    const key = reads.has(method) ? {} : { clientId: this.clientId, requestKey: randomUUID() };
    for (let tries = 1; ; tries++) {
      try {
        return await (await this.connected()).sendRequest(method, { ...params, ...key });
      } catch (err) {
        if (tries === 3 || !wentAway(err)) throw err;
      }
    }
  }

  /** setKey keeps the model server's key in the editor's secret storage; an empty one removes it. */
  async setKey(key: string): Promise<void> {
    if (key) await this.context.secrets.store(keyName, key);
    else await this.context.secrets.delete(keyName);
    await this.start();
  }

  private async startAnew(): Promise<void> {
    await this.client?.dispose().catch(() => undefined);
    this.ends = [];
    this.up = false;
    this.client = undefined;
    const program = this.program();
    if (!program) return this.tell(notFound);
    const client = await this.newClient(program);
    this.client = client;
    this.tell(undefined);
    try {
      await client.start();
    } catch (err) {
      this.log.error(String(err));
      this.tell(notStarted(program, err));
    }
  }

  private tell(problem: Notice | undefined): void {
    this.problem = problem;
    this.changed.fire(this.running !== undefined);
  }

  /** connected waits for a connection that is on its way. */
  private async connected(): Promise<LanguageClient> {
    if (this.running) return this.running;
    return new Promise((resolve, reject) => {
      const settle = () => {
        const problem = this.problem?.error ? this.problem.lines.join(" ") : "";
        if (!this.running && !problem) return;
        clearTimeout(timer);
        listener.dispose();
        if (this.running) resolve(this.running);
        else reject(new Error(problem));
      };
      const timer = setTimeout(() => {
        listener.dispose();
        reject(new Error("There is no connection to the daemon; see the log."));
      }, 20_000);
      const listener = this.onChange(settle);
      settle();
    });
  }

  /** program is the tandem program: the setting, the one in the package, else the one on the PATH. */
  private program(): string | undefined {
    const name = `tandem${process.platform === "win32" ? ".exe" : ""}`;
    const configured = vscode.workspace.getConfiguration("tandem").get("path", "");
    const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name));
    const all = configured ? [configured] : [this.context.asAbsolutePath(join("bin", name)), ...onPath];
    return all.find((file) => existsSync(file));
  }

  /** The key and the address go to the daemon's environment and nowhere else. */
  private async environment(): Promise<NodeJS.ProcessEnv> {
    const baseUrl = vscode.workspace.getConfiguration("tandem").get("baseUrl", "");
    const key = await this.context.secrets.get(keyName);
    const all = { ...process.env };
    if (baseUrl) all.OPENAI_BASE_URL = baseUrl;
    if (key) all.OPENAI_API_KEY = key;
    return all;
  }

  private async newClient(command: string): Promise<LanguageClient> {
    // The client hands on the environment that it is given and nothing of the editor's own.
    const env = { ...process.env, ...(await this.environment()) };
    const run = { command, args: ["lsp"], options: { env } };
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.log,
      initializationOptions: () => ({ tandem: { trusted: vscode.workspace.isTrusted, client: "vscode" } }),
      initializationFailedHandler: () => false,
      // The status bar shows the intent already.
      middleware: { handleWorkDoneProgress: () => undefined, workspace: { handleApplyEdit: applyEdit } },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.closed(),
      },
    };
    const client = new LanguageClient("tandem", "Tandem", run, options);
    for (const method of methods) client.onNotification(method, (params) => this.noted.fire({ method, params }));
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client || newState !== Phase.Running) return;
      this.up = true;
      this.tell(undefined);
    });
    return client;
  }

  private closed() {
    const now = Date.now();
    this.up = false;
    this.ends = [...this.ends.filter((at) => now - at < endsWithin), now];
    const again = this.ends.length < mostEnds;
    this.tell(again ? ended : endedOften);
    return { action: again ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }
}

const tryAgain = { title: "Try again", command: "tandem.restart" };
const showLog = { title: "Show the log", command: "tandem.showLog" };
const openSetting = (title: string, name: string) => ({
  title,
  command: "workbench.action.openSettings",
  args: [name],
});

const ended: Notice = {
  lines: ["The connection to the daemon was lost. It is started again; what you said before is on disk."],
  fixes: [showLog],
  error: false,
};
const endedOften: Notice = {
  lines: [`The daemon ended ${mostEnds} times within a minute. The log says why.`],
  fixes: [showLog, tryAgain],
  error: true,
};

const setPath = openSetting("Open the setting «tandem.path»", "tandem.path");
const notFound: Notice = {
  lines: ["The tandem program was not found. Install it, or say where it is."],
  fixes: [setPath, tryAgain],
  error: true,
};

function notStarted(program: string, err: unknown): Notice {
  const why = `The tandem program (${program}) did not start: ${messageOf(err)}.`;
  return { lines: [why], fixes: [setPath, tryAgain, showLog], error: true };
}

/** Codes below -32095 are those of the connection, not of the daemon. */
function wentAway(err: unknown): boolean {
  if (err instanceof ResponseError) return err.code >= -32099 && err.code <= -32096;
  return err instanceof Error && /connection (is|got) (closed|disposed)/i.test(err.message);
}

export function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

/** explained is an error of a request with what to do next. */
export function explained(err: unknown): Notice {
  const fixes = err instanceof ResponseError ? fixesFor(err.code) : [showLog];
  const unknown = err instanceof ResponseError && err.code === -32601;
  const words = unknown ? "The daemon that runs is older than this extension and cannot do that." : messageOf(err);
  return { lines: [words.charAt(0).toUpperCase() + words.slice(1)], fixes, error: true };
}

function fixesFor(code: number) {
  switch (code) {
    case errorCodes.modelUnavailable:
      return [
        openSetting("Set the model", "tandem.model"),
        openSetting("Set the server", "tandem.baseUrl"),
        { title: "Set the API key", command: "tandem.setKey" },
      ];
    case errorCodes.untrusted:
      return [trust];
    case errorCodes.noSuchSession:
      return [{ title: "Choose a session", command: "tandem.attach" }];
    case errorCodes.driftUnacknowledged:
      return [{ title: "Resume anyway", command: "tandem.resume", args: [{ acknowledgeDrift: true }] }];
    default:
      return [];
  }
}

const trust = { title: "Trust this workspace", command: "workbench.trust.manage" };

/** What the workspace lacks before anything can be done in it. */
export function lacking(): Notice[] {
  if (!vscode.workspace.workspaceFolders?.length) {
    const fix = { title: "Open a folder", command: "workbench.action.files.openFolder" };
    return [{ lines: ["No folder is open: the agent works on the files of one."], fixes: [fix], error: false }];
  }
  if (vscode.workspace.isTrusted) return [];
  const words = "This workspace is not trusted: nothing is executed in it, and its configuration is not read.";
  return [{ lines: [words], fixes: [trust], error: false }];
}
