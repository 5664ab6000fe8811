// A tactical pause of the developer's, the death of the daemon under the editor, and a pause of the agent's with its
// facts and options, to done.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../harness.mjs";
import { startPeer } from "../peer.mjs";

export function paused(player, vsix) {
  const acts = {
    "a session starts": async (w) => {
      await w.showPanel();
      await w.box.fill("Write the report of the weights that the orders of today have.");
      await w.box.press("Enter");
      await w.says(/I am about to read report\.js/);
    },
    "a pause by keys shows one card and dims the rest": async (w) => {
      await w.open("report.js");
      await w.press("Control+Alt+j", "p");
      await w.says(/PAUSED BY YOU/);
      await w.status.filter({ hasText: "Paused" }).waitFor();
      const opacity = (text) =>
        w.panel
          .getByText(text)
          .first()
          .evaluate((at) => {
            let seen = 1;
            for (let e = at; e; e = e.parentElement ?? e.getRootNode().host)
              seen *= Number(getComputedStyle(e).opacity);
            return seen;
          });
      assert.equal(await opacity(/PAUSED BY YOU/), 1);
      assert.ok((await opacity("Mend the report")) < 1, "the plan is dimmed while the card waits");
    },
    "resuming by the card goes on": async (w) => {
      await w.panel.getByRole("button", { name: "Resume" }).first().click();
      await w.gone(/PAUSED BY YOU/);
      await w.status.filter({ hasText: "Working" }).waitFor();
    },
    "the daemon dies under the editor, and nothing is lost": async (w) => {
      const [daemon, ...more] = w.desk.daemons();
      assert.deepEqual(more, [], "one daemon serves the desk");
      process.kill(daemon, "SIGKILL");
      await until("another daemon runs", () => w.desk.daemons().some((pid) => pid !== daemon));
      await w.says(/PAUSED AFTER A CRASH/);
      await w.says("Mend the report");
      await w.panel.getByRole("button", { name: "Resume" }).first().click();
      await w.gone(/PAUSED AFTER A CRASH/);
    },
    "the agent stops out of sight: one notification says that it is your turn": async (w) => {
      assert.equal(await w.toasts.count(), 0, "nothing was notified while the panel was in sight");
      await w.hidePanel();
      const peer = await startPeer(w.desk.program, w.desk.ws, w.desk.env);
      const { sessions } = await peer.request("tandem/session/list", {});
      await peer.request("tandem/steer", { sessionId: sessions[0].id, text: "look now" });
      await w.toasts.filter({ hasText: "your turn" }).waitFor();
      await w.status.filter({ hasText: "Paused" }).waitFor();
      assert.equal(await w.toasts.count(), 1);
      await peer.stop();
      await w.toasts.getByRole("button", { name: "Show" }).click();
    },
    "the card has the facts and the options": async (w) => {
      await w.says(/PAUSED BY THE AGENT/);
      await w.says(/Expected 1 order in the report/);
      await w.says(/The join uses row ids where weights has order numbers/);
      await w.says(/Rename the field/);
    },
    "the option that is taken is carried out, and nothing else": async (w) => {
      await w.panel
        .getByRole("button", { name: /Join on the order number/ })
        .first()
        .click();
      await w.says(/Decided: Join on the order number/);
      const report = () => readFileSync(join(w.desk.ws, "report.js"), "utf8");
      await until("the report joins on the number", () => report().includes("weights[order.number]"));
      await w.panel.getByRole("button", { name: "Resume" }).first().click();
      await w.says("DONE");
      await w.says(/verified: node check\.mjs/);
    },
  };
  return { name: "pause", desk: { story: "orders", player, vsix }, acts };
}
