#!/usr/bin/env bash
# tools.sh: what the plugin's checks and tests need, installed once into the repository's .cache; says what it installs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/../../.." && pwd)/.cache
mkdir -p "$cache"

need=()
command -v luacheck >/dev/null || need+=(lua-check)
command -v patchelf >/dev/null || need+=(patchelf)
if [ ${#need[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "the plugin's tests need ${need[*]}: install them, or run this as root on Debian" >&2
		exit 1
	fi
	echo "installing ${need[*]} for the tests of the Neovim plugin"
	install() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${need[@]}" >/dev/null; }
	install 2>/dev/null || { apt-get update -qq; install; }
fi

stylua=2.5.2
if [ "$(cat "$cache/stylua/.stamp" 2>/dev/null)" != "$stylua" ]; then
	echo "installing stylua $stylua for the format of the Neovim plugin"
	for try in 1 2 3; do
		npm install --prefix "$cache/stylua" --no-audit --no-fund --silent "@johnnymorganz/stylua-bin@$stylua" && break
		[ "$try" = 3 ] && { echo "stylua cannot be installed: see npm's message above" >&2; exit 1; }
		sleep "$try"
	done
	echo "$stylua" >"$cache/stylua/.stamp"
fi

# The newest Neovim moves from suite to suite; mini.test comes with it and serves both versions.
bash "$here/get-nvim.sh" forky "$cache/nvim-new" neovim-mini.test >/dev/null ||
	bash "$here/get-nvim.sh" sid "$cache/nvim-new" neovim-mini.test >/dev/null
bash "$here/get-nvim.sh" trixie "$cache/nvim-old" >/dev/null
