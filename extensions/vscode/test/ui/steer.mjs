// From an empty panel over a steer to done, with the keyboard alone where a key is there, and with a second editor
// on the same session.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness.mjs";
import { startPeer } from "../peer.mjs";

const task = "Implement authentication state management using the existing architecture.";
const steer = "Move this into a reusable hook.";

export function steered(player, vsix) {
  let peer;
  let sessionId;
  const acts = {
    "the empty panel teaches": async (w) => {
      await w.showPanel();
      await w.says("Say what shall be done: the agent lays out a plan and begins.");
      await w.says(/Steer at any moment/);
      await w.says(/Pause when something does not fit/);
    },
    "a task typed into the box starts a session with a plan": async (w) => {
      await w.box.fill(task);
      await w.box.press("Enter");
      await w.says(/PLAN/);
      await w.says("Extend AuthProvider");
      await w.says(/I am about to extend authProvider\.js/);
      await w.status.filter({ hasText: "Working" }).waitFor();
      assert.equal(await w.toasts.count(), 0, "a notification came while it was the agent's turn");
    },
    "a second editor sees the same session": async ({ desk }) => {
      peer = await startPeer(desk.program, desk.ws, desk.env);
      const { sessions } = await peer.request("tandem/session/list", {});
      assert.equal(sessions.length, 1);
      sessionId = sessions[0].id;
      await peer.request("tandem/session/attach", { sessionId, since: 0 });
      await until("the second editor was told the plan", () => peer.notes("tandem/planChanged").length > 0);
      assert.equal(desk.daemons().length, 1, "both editors share one daemon");
    },
    "one key leads from the editor's selection to the box, and Enter steers": async (w) => {
      await w.open("src/authProvider.js", 3);
      await w.press("Shift+ArrowDown", "Shift+ArrowDown", "Control+Alt+Space");
      await until("the box has the focus", () => w.box.evaluate((box) => box.matches(":focus")).catch(() => false));
      await w.says(/authProvider\.js 3–4/);
      await w.page.keyboard.type(steer);
      await w.press("Enter");
      await w.says(/CHANGED BY «Move this into a reusable hook\.»/);
      await w.says(/an interface goes between them/);
      await w.says(/use the existing architecture/);
      await w.says("Move the logic into useAuth");
      await w.says(/applied in revision 2/);
    },
    "the model had the steer in its next request": async ({ desk }) => {
      const requests = await desk.model.requests();
      const n = requests.findIndex(({ beat }) => beat === "310-replan");
      assert.notEqual(n, -1, JSON.stringify(requests));
      const body = JSON.stringify(await desk.model.body(n));
      assert.match(body, /Move this into a reusable hook\./);
      assert.match(body, /It is about src\/authProvider\.js lines 3/);
      assert.equal(requests[n - 1].left, true, "the answer that was streaming was hung up on");
    },
    "the second editor heard of the steer": async () => {
      const seen = () =>
        peer.notes("tandem/steered").some(({ steer: s }) => s.text === steer && s.status === "applied");
      await until("the second editor was told that the steer is applied", seen);
    },
    "a pause of the second editor is shown, and resumed here by keys": async (w) => {
      await w.says(/Interface named AuthSource/);
      await peer.request("tandem/pause", { sessionId });
      await w.says(/PAUSED BY YOU/);
      await w.editor.click();
      await w.press("Control+Alt+j", "r");
      await w.gone(/PAUSED BY YOU/);
      const resumed = () => peer.notes("tandem/modeChanged").at(-1)?.mode === "executing";
      await until("the second editor was told of it", resumed);
    },
    "a decision has a lens at its place": async (w) => {
      await w.page.locator(".codelens-decoration", { hasText: "Interface named AuthSource" }).first().waitFor();
    },
    "another alternative of a decision is taken": async (w) => {
      assert.equal(
        existsSync(join(w.desk.ws, "src/useAuth.js")),
        false,
        "what the decision holds has not been written",
      );
      await w.panel
        .getByRole("button", { name: /AuthPort/ })
        .first()
        .press("Enter");
      await w.says(/overridden/);
      await w.says("DONE");
      await w.says(/verified: node check\.mjs/);
      assert.match(readFileSync(join(w.desk.ws, "src/useAuth.js"), "utf8"), /AuthPort/);
      assert.match(readFileSync(join(w.desk.ws, "src/menu.js"), "utf8"), /useAuth\(provider\)/);
      const told = () => peer.notes("tandem/modeChanged").at(-1)?.mode === "done";
      await until("the second editor was told that it is done", told);
      await peer.stop();
    },
  };
  return {
    name: "steer",
    desk: { story: "hook", player, vsix, settings: { "tandem.autonomy": "close" } },
    acts,
  };
}
