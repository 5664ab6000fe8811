// Bundles the extension and its webview; with --tests the suite that runs inside the extension host,
// with --unit the tests of the pure modules.
import { readdirSync } from "node:fs";
import * as esbuild from "esbuild";

const has = (flag) => process.argv.includes(flag);
const production = has("--production");
const common = { bundle: true, sourcemap: !production, minify: production, logLevel: "warning" };

// The extension host loads CommonJS; only 'vscode' is provided by the host.
const host = {
  ...common,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  // vscode-languageserver-types ships UMD as "main": take the ESM build, or the bundle keeps dynamic requires.
  mainFields: ["module", "main"],
};
const extension = { ...host, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js" };
const webview = {
  ...common,
  entryPoints: ["src/webview/main.ts"],
  outfile: "dist/webview.js",
  platform: "browser",
  format: "esm",
  target: "es2022",
};
const tests = { ...host, sourcemap: "inline", minify: false };
const suite = {
  ...tests,
  entryPoints: ["test/integration/index.ts"],
  outfile: "dist-test/index.js",
  external: ["vscode", "mocha"],
};
const unit = {
  ...tests,
  entryPoints: readdirSync("src")
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `src/${name}`),
  outdir: "dist-test/unit",
};

const wanted = has("--tests") ? [suite] : has("--unit") ? [unit] : [extension, webview];
for (const options of wanted) await esbuild.build(options);
