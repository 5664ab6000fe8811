// Makes the .vsix of one platform, with the daemon inside.
//
//   node package.mjs [--target TARGET] [--out FILE]
//
// Without a target it is the one of this machine.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

// What VS Code calls a platform, and what Go calls it.
const targets = {
  "linux-x64": ["linux", "amd64"],
  "linux-arm64": ["linux", "arm64"],
  "linux-armhf": ["linux", "arm"],
  "alpine-x64": ["linux", "amd64"],
  "alpine-arm64": ["linux", "arm64"],
  "darwin-x64": ["darwin", "amd64"],
  "darwin-arm64": ["darwin", "arm64"],
  "win32-x64": ["windows", "amd64"],
  "win32-arm64": ["windows", "arm64"],
};

function option(name, otherwise) {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
}

const target = option("--target", `${process.platform}-${process.arch}`);
const [GOOS, GOARCH] = targets[target] ?? [];
if (!GOOS) throw new Error(`no target ${target}: it is one of ${Object.keys(targets).join(", ")}`);
const out = option("--out", `tandem-${target}.vsix`);

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
const run = (command, ...args) =>
  execFileSync(command, args, { stdio: "inherit", env: { ...process.env, GOOS, GOARCH, CGO_ENABLED: "0" } });
rmSync("bin", { recursive: true, force: true });
mkdirSync("bin");
copyFileSync("../../LICENSE", "LICENSE");
run(
  "go",
  "build",
  "-C",
  "../..",
  "-trimpath",
  "-ldflags=-s -w",
  "-o",
  `extensions/vscode/bin/tandem${GOOS === "windows" ? ".exe" : ""}`,
  "./cmd/tandem",
);
run(process.execPath, "esbuild.mjs", "--production");
run(
  process.execPath,
  "node_modules/@vscode/vsce/vsce",
  "package",
  "--no-dependencies",
  "--allow-missing-repository",
  "--no-rewrite-relative-links",
  "--target",
  target,
  "--out",
  out,
);
