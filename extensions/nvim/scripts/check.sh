#!/usr/bin/env bash
# check.sh: format and lint of the plugin, with the tools that tools.sh has installed. With --fix it formats.
set -euo pipefail
cd "$(dirname "$0")/.."
stylua=../../.cache/stylua/node_modules/.bin/stylua
if [ "${1:-}" = --fix ]; then "$stylua" lua plugin tests && "$stylua" lua plugin tests; fi # the second pass settles what the first broke
"$stylua" --check lua plugin tests
luacheck -q --no-color lua plugin tests
