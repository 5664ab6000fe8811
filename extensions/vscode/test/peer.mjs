// A second editor: a plain language client on the same daemon, with no editor around it.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

/** Starts `tandem lsp` on the folder and says hello. Requests are answered by promises, notes are kept. */
export async function startPeer(tandem, folder, env) {
  const child = spawn(tandem, ["lsp"], { stdio: ["pipe", "pipe", "inherit"], cwd: folder, env });
  const open = new Map();
  const notes = [];
  let asked = 0;
  let rest = Buffer.alloc(0);

  const send = (message) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    child.stdin.write(body);
  };
  const take = (message) => {
    if (message.method && message.id !== undefined) return send({ id: message.id, result: null });
    if (message.method) return notes.push(message);
    const { answer, refuse } = open.get(message.id);
    open.delete(message.id);
    if (message.error) refuse(new Error(message.error.message));
    else answer(message.result);
  };
  child.stdout.on("data", (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = rest.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, head).toString())[1]);
      if (rest.length < head + 4 + length) return;
      const body = rest.subarray(head + 4, head + 4 + length);
      rest = rest.subarray(head + 4 + length);
      take(JSON.parse(body.toString()));
    }
  });
  child.once("exit", () => {
    for (const { refuse } of open.values()) refuse(new Error("tandem lsp ended"));
  });

  const request = (method, params) =>
    new Promise((answer, refuse) => {
      asked += 1;
      open.set(asked, { answer, refuse });
      send({ id: asked, method, params });
    });
  await request("initialize", {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities: {},
    initializationOptions: { tandem: { trusted: true, client: "test" } },
  });
  send({ method: "initialized", params: {} });
  return {
    request,
    notes: (method) => notes.filter((note) => note.method === method).map((note) => note.params),
    stop: () => {
      const gone = new Promise((done) => child.once("exit", done));
      child.stdin.end();
      return gone;
    },
  };
}
