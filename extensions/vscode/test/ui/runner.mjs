// Runs scenes: each is a desk of its own and acts in their order, so an act stands on those before it. A scene in
// which an act failed is played once more from its start, and the result says so: the machine may have been too busy
// for an editor, a browser and a daemon at once. What fails twice has failed.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, root, startDesk } from "../harness.mjs";
import { openWorkbench } from "./workbench.mjs";

export const shots = join(root, "dist-test/shots");

/** Plays a scene: {name, desk, acts: {title: async (workbench) => …}}. The results are one an act. */
export async function play(scene) {
  const first = await attempt(scene);
  if (first.every(({ state }) => state === "passed")) return first;
  const fault = first.find(({ state }) => state === "failed");
  console.log(`played again from the start: ${scene.name}, because ${fault.name} failed: ${fault.error}`);
  return attempt(scene);
}

async function attempt({ name, desk: options, acts }) {
  const results = [];
  const desk = await startDesk(options);
  const browser = await launchBrowser();
  try {
    const workbench = await openWorkbench(browser, desk);
    for (const [title, act] of Object.entries(acts)) {
      const result = await perform(
        `${name}: ${title}`,
        workbench,
        act,
        results.some(({ state }) => state === "failed"),
      );
      results.push(result);
      if (result.state === "failed") await keep(workbench, result.name);
    }
  } catch (fault) {
    results.push({
      name: `${name}: the workbench opens`,
      state: "failed",
      error: `${fault.stack}\n${desk.log()}`,
    });
  } finally {
    await browser.close();
    await desk.stop();
  }
  return results;
}

async function perform(name, workbench, act, lost) {
  if (lost) return { name, state: "skipped", error: "(an act before it failed)" };
  const start = Date.now();
  try {
    await act(workbench);
    return { name, state: "passed", ms: Date.now() - start };
  } catch (fault) {
    return { name, state: "failed", error: fault.stack ?? String(fault) };
  }
}

/** Keeps what could be seen when an act failed. */
async function keep({ page, panel }, name) {
  mkdirSync(shots, { recursive: true });
  const file = join(shots, name.replace(/\W+/g, "-"));
  await page.screenshot({ path: `${file}.png` });
  const seen = panel.locator("body").ariaSnapshot({ timeout: 2000 });
  const words = await seen.catch(() => "the panel cannot be read");
  writeFileSync(`${file}.txt`, words);
  console.log(`what could be seen is in ${file}.png and .txt`);
}
