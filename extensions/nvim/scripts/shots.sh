#!/usr/bin/env bash
# shots.sh: takes the pictures of images/ anew, in a real terminal. TANDEM_BIN is the program to show, else it is built.
# Debian: xvfb xterm imagemagick fonts-dejavu-core fonts-symbola
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
repo=$(cd "$root/../.." && pwd)
nvim=$repo/.cache/nvim-new/usr/bin/nvim
for tool in Xvfb xterm import; do command -v "$tool" >/dev/null || { echo "shots.sh: $tool is needed; install xvfb, xterm, imagemagick, fonts-dejavu-core and fonts-symbola" >&2; exit 1; }; done
t=$(mktemp -d)
pids=()
stop() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	wait 2>/dev/null || true
	pids=()
}
trap 'stop; rm -rf "$t"' EXIT
mkdir "$t/bin"
if [ -n "${TANDEM_BIN:-}" ]; then ln -s "$(realpath "$TANDEM_BIN")" "$t/bin/tandem"; else (cd "$repo" && go build -o "$t/bin/tandem" ./cmd/tandem); fi
(cd "$repo" && go build -o "$t/bin/rehearse" ./testdata/rehearse)
export PATH=$t/bin:$PATH LC_ALL=C.UTF-8 HOME=$t XDG_CONFIG_HOME=$t/c XDG_DATA_HOME=$t/d XDG_STATE_HOME=$t/s XDG_CACHE_HOME=$t/k XDG_RUNTIME_DIR=$t

ask() { timeout 5 "$nvim" --server "$t/nvim.sock" --remote-expr "$1" 2>/dev/null || true; }
keys() { "$nvim" --server "$t/nvim.sock" --remote-send "$1"; }
shows() { # waits until the panel says something
	for _ in $(seq 200); do
		[ "$(ask "match(join(getbufline('tandem://panel', 1, '\$')), '$1') >= 0")" = 1 ] && return
		sleep 0.1
	done
	echo "shots.sh: the panel never showed $1" >&2
	exit 1
}
shot() {
	ask 'execute("redraw!")' >/dev/null
	sleep 0.5 # xterm draws on its own time
	import -window root "$root/images/$1.png"
	echo "images/$1.png"
}
story() { # story NAME FILE: a terminal with FILE of the workspace of a story open
	story=$1
	rm -f "$t/nvim.sock"
	mkfifo "$t/in" 2>/dev/null || true
	rehearse -unpack "$t/$story" "$root/tests/stories/$1.txtar" <"$t/in" >"$t/url" & pids+=($!)
	exec 4>"$t/in"
	until [ -s "$t/url" ]; do sleep 0.05; done
	OPENAI_BASE_URL=$(head -1 "$t/url")
	export OPENAI_BASE_URL OPENAI_API_KEY=none TANDEM_MODEL=rehearsal
	Xvfb -displayfd 3 -screen 0 1218x768x24 -nolisten tcp 3>"$t/display" >/dev/null 2>&1 & pids+=($!)
	until [ -s "$t/display" ]; do sleep 0.05; done
	DISPLAY=:$(cat "$t/display")
	export DISPLAY
	# With these two Neovim knows that it has all colours.
	COLORTERM=truecolor xterm -fa 'DejaVu Sans Mono' -fs 11 -geometry 134x40+0+0 -b 2 -bw 0 +sb -bg '#14161b' -fg '#e0e2ea' \
		-e "$nvim" --listen "$t/nvim.sock" -u "$root/tests/minimal_init.lua" -i NONE -n \
		--cmd "let g:tandem = #{trust: ['$t/$story'], autostart: v:false}" -c "cd $t/$story" -c "set laststatus=2 signcolumn=yes" \
		-c "set statusline=\\ %f\\ %m\\ %=\\ %{v:lua.require'tandem'.statusline()}\\ " "$t/$story/$2" & pids+=($!)
	for _ in $(seq 200); do [ "$(ask 1)" = 1 ] && return; sleep 0.1; done
	echo "shots.sh: Neovim did not start" >&2
	exit 1
}
close() {
	ask 'execute("qall!")' >/dev/null
	exec 4>&-
	stop
	# The daemon outlives its editors; this one's workspace is ours alone.
	for p in $(pgrep -f "[ ]serve --workspace $t/$story\$" || true); do kill "$p"; done
	: >"$t/url"
	: >"$t/display"
}

mkdir -p "$root/images"
story greet greet.lua
keys ':Tandem start Let greet.lua greet by the hour<CR>'
shows 'in greet itself'
keys ':Tandem steer<CR>take the hour as an argument'
shot planning
keys '<CR>'
shows 'Take German'
keys ':3<CR>'
shot steered
close
story stopped report.sh
keys ':Tandem start Write the report<CR>'
shows 'Count the lines'
keys ':Tandem decide Take: Count the lines<CR>'
shows 'AFTER YOUR DECISION'
keys ':Tandem plan<CR>'
shot paused
close
