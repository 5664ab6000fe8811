#!/usr/bin/env bash
# test.sh [FILE...]: the plugin's tests on both versions of Neovim that tools.sh has installed. TANDEM_BIN is the
# program to test, else it is built. VERSIONS may name one of them: VERSIONS=new.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
repo=$(cd "$root/../.." && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
if [ -n "${TANDEM_BIN:-}" ]; then ln -s "$(realpath "$TANDEM_BIN")" "$bin/tandem"; else (cd "$repo" && go build -o "$bin/tandem" ./cmd/tandem) || exit 1; fi
(cd "$repo" && go build -o "$bin/rehearse" ./testdata/rehearse) || exit 1
export MINI_TEST=$repo/.cache/nvim-new/usr/share/neovim-mini.test
rc=0
for version in ${VERSIONS:-new old}; do
	nvim=$repo/.cache/nvim-$version/usr/bin/nvim
	[ -x "$nvim" ] || { echo "there is no $nvim: run scripts/tools.sh" >&2; exit 1; }
	home=$(mktemp -d)
	# The environment is small: no key, no address of a model, no configuration of the developer's.
	env -i HOME="$home" PATH="$bin:$(dirname "$nvim"):$PATH" LC_ALL=C.UTF-8 TERM=xterm-256color MINI_TEST="$MINI_TEST" \
		GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)" GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off \
		XDG_CONFIG_HOME="$home/c" XDG_DATA_HOME="$home/d" XDG_STATE_HOME="$home/s" XDG_CACHE_HOME="$home/k" XDG_RUNTIME_DIR="$home" \
		NVIM_LOG_FILE="$home/log" timeout -k 5 400 "$nvim" -u NONE -i NONE -n -l "$root/tests/run.lua" "$@" </dev/null || rc=1
	rm -rf "$home"
done
exit $rc
