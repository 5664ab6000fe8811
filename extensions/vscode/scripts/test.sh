#!/usr/bin/env bash
# The extension in the real editor: checks, unit tests, the suite inside the extension host, and the packaged
# extension driven through the browser. Each suite ends with 'N passed, N failed, N skipped'.
#
#   test.sh [NAME]    the editor: vscode (the default) or vscode-old, the oldest that is supported
set -euo pipefail
cd "$(dirname "$0")/.."
editor=${1:-vscode}
step() {
  echo "== ${SECONDS} s: $*" >&2
  "$@"
}

VSCODE_HOME=$(step scripts/get-vscode.sh "$editor")
export VSCODE_HOME
# npm writes its own lock into the folder when it has installed; an older one is not of this list.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
  step npm ci --no-audit --no-fund --loglevel=error
fi
if [ "$editor" = vscode ]; then
  step npm run -s check
  step npm test -s
fi
step node package.mjs --out dist-test/tandem.vsix
step node esbuild.mjs --tests
step node test/run-integration.mjs
step node test/run-ui.mjs dist-test/tandem.vsix
echo "== ${SECONDS} s: done" >&2
