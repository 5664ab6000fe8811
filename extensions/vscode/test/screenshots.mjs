// Takes the pictures of images/: the packaged extension in the real workbench, in the stories that the tests play.
//
//   node test/screenshots.mjs PACKAGE.vsix
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildPlayer, launchBrowser, root, startDesk, until } from "./harness.mjs";
import { openWorkbench } from "./ui/workbench.mjs";

const [vsix] = process.argv.slice(2);
if (!vsix) {
  console.error("screenshots: name the package: node test/screenshots.mjs PACKAGE.vsix");
  process.exit(2);
}
const player = buildPlayer();
const images = join(root, "images"); // what the extension's README shows
const others = join(root, "dist-test/shots"); // for whoever works on the panel
for (const folder of [images, others]) mkdirSync(folder, { recursive: true });
const shown = ["planned-light", "steered-dark", "paused-dark", "narrow-dark"];

/** Plays a story and lets scene take pictures of it; a picture is of the whole window, or of its left side alone. */
async function pictures(story, scene) {
  const desk = await startDesk({ story, player, vsix: resolve(vsix), settings: { "tandem.autonomy": "close" } });
  const browser = await launchBrowser();
  try {
    const w = await openWorkbench(browser, desk, { width: 1100, height: 900 });
    const take = async (name, width) => {
      await w.page.mouse.move(700, 600); // nothing is hovered over, or says so any more
      const hovers = w.page.locator(".monaco-hover:visible");
      await until("no hover is shown", async () => (await hovers.count()) === 0);
      const clip = width && { x: 0, y: 0, width: 48 + width, height: 900 };
      const path = join(shown.includes(name) ? images : others, `${name}.png`);
      await w.page.screenshot({ path, clip, animations: "disabled" });
      console.log(path);
    };
    await w.showPanel();
    await w.sideBar(420);
    await scene(w, take);
  } finally {
    await browser.close();
    await desk.stop();
  }
}

async function say(w, words) {
  await w.box.fill(words);
  await w.box.press("Enter");
}

await pictures("hook", async (w, take) => {
  await take("empty-dark");
  await w.open("src/authProvider.js");
  await say(w, "Implement authentication state management using the existing architecture.");
  await w.says(/I am about to extend/);
  await w.theme("Light Modern");
  await take("planned-light");
  await w.theme("Dark Modern");
  await say(w, "Move this into a reusable hook.");
  await w.page.locator(".codelens-decoration", { hasText: "Interface named AuthSource" }).first().waitFor();
  await take("steered-dark");
  await w.theme("Light Modern");
  await take("steered-light");
  await w.theme("Dark High Contrast");
  await take("steered-contrast");
  await w.theme("Dark Modern");
  await take("narrow-dark", await w.sideBar(220));
});

await pictures("orders", async (w, take) => {
  await w.open("report.js");
  await say(w, "Write the report of the weights that the orders of today have.");
  await w.says(/I am about to read/);
  await say(w, "look now");
  await w.says(/PAUSED BY THE AGENT/);
  await take("paused-dark");
  await w.theme("Light Modern");
  await take("paused-light");
});
