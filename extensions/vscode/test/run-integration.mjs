// Runs dist-test/index.js inside the real extension host: the browser opens the workbench with the payload that
// VS Code's own browser tests use, and the workbench tells the end by a function of its window.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildPlayer, launchBrowser, report, root, startDesk } from "./harness.mjs";

const results = join(root, "dist-test", `results-${process.pid}.json`);
const desk = await startDesk({
  story: "hook",
  player: buildPlayer(),
  driver: true,
  env: { TANDEM_TEST_RESULTS: results },
});
let ended;
try {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    const end = new Promise((done) => page.exposeFunction("codeAutomationExit", done));
    if (process.env.VERBOSE) page.on("console", (message) => console.error(message.text()));
    const authority = `vscode-remote://127.0.0.1:${desk.port}`;
    await page.goto(
      desk.url([
        ["extensionDevelopmentPath", authority + root],
        ["extensionTestsPath", authority + join(root, "dist-test/index.js")],
      ]),
    );
    let timer;
    const late = new Promise((done) => {
      timer = setTimeout(done, 180_000, "not within three minutes");
    });
    ended = await Promise.race([end, late]);
    clearTimeout(timer);
    if (ended !== 0) {
      mkdirSync(join(root, "dist-test/shots"), { recursive: true });
      await page.screenshot({ path: join(root, "dist-test/shots/integration-failed.png") });
    }
  } finally {
    await browser.close();
  }
} finally {
  await desk.stop();
}
if (!existsSync(results)) {
  console.error(`the suite gave no results; it ended with ${ended}\n${desk.log()}`);
  process.exit(1);
}
process.exit(report(JSON.parse(readFileSync(results, "utf8"))));
