// Drives the packaged extension through the workbench as a developer does, scene by scene:
//
//   node test/run-ui.mjs PACKAGE.vsix [SCENE…]
import { resolve } from "node:path";
import { buildPlayer, report } from "./harness.mjs";
import { looks, quick } from "./ui/look.mjs";
import { paused } from "./ui/pause.mjs";
import { play } from "./ui/runner.mjs";
import { steered } from "./ui/steer.mjs";

const [vsix, ...wanted] = process.argv.slice(2);
if (!vsix) {
  console.error("run-ui: name the package: node test/run-ui.mjs PACKAGE.vsix [SCENE…]");
  process.exit(2);
}
const player = buildPlayer();
const results = [];
for (const scene of [steered, paused, looks, quick].map((make) => make(player, resolve(vsix)))) {
  if (wanted.length === 0 || wanted.includes(scene.name)) results.push(...(await play(scene)));
}
process.exit(report(results));
