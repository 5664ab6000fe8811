#!/usr/bin/env bash
# get-nvim.sh SUITE FOLDER [PACKAGE...]
#
# Unpacks the neovim of a Debian suite, with its own libc and libraries, into FOLDER and prints the path
# of an nvim that runs from there. The packages of the machine stay as they are. It is done once: a stamp
# tells what FOLDER holds, and for which place, as the binary knows its libraries by their full path.
# trixie holds 0.10 and does not move; forky and sid hold the newest and do.
set -euo pipefail
suite=${1:?suite} folder=$(realpath -m "${2:?folder}")
shift 2
bin=$folder/usr/bin/nvim
stamp="$suite $folder $*"
if [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ] && "$bin" --version >/dev/null 2>&1; then
	echo "$bin"
	exit
fi
for tool in apt-get dpkg-deb patchelf; do
	command -v "$tool" >/dev/null || { echo "get-nvim.sh: $tool is needed to unpack neovim: install it (patchelf is a package of that name)" >&2; exit 1; }
done
echo "installing neovim of Debian $suite${*:+ with $*} into $folder" >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$folder"
mkdir -p "$folder" "$work"/state/lists/partial "$work"/cache/archives/partial
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)}
[ -n "$mirror" ] || { echo "get-nvim.sh: apt knows no mirror: run apt-get update, or set DEBIAN_MIRROR" >&2; exit 1; }
cat >"$work/one.sources" <<END
Types: deb
URIs: $mirror
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
# An apt of its own: with an empty status file everything that nvim needs, libc too, is part of the answer.
cat >"$work/apt.conf" <<END
Dir::State "$work/state";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/one.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
END
(
	export APT_CONFIG=$work/apt.conf DEBIAN_FRONTEND=noninteractive
	for try in 1 2 3; do
		if apt-get update -qq && apt-get install -y -qq --download-only neovim "$@"; then exit 0; fi
		echo "get-nvim.sh: attempt $try to fetch neovim of $suite did not succeed" >&2
		sleep "$try"
	done
	exit 1
) >&2
for deb in "$work"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$folder"; done

# The loader and the library path go into the binary itself: nvim starts itself again as `nvim --embed`, which a
# wrapper around the loader would break, and what nvim starts must not inherit these libraries by LD_LIBRARY_PATH.
loader=$(find "$folder" -name 'ld-linux*.so.*' -print -quit)
libraries=$(dirname "$(find "$folder" -name libc.so.6 -print -quit)")
patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$bin"
rm -rf "$folder"/usr/share/{doc,man,locale,lintian,icons,applications} "$folder"/usr/lib/*/gconv
"$bin" --headless -u NONE -i NONE -n +'lua assert(vim.startswith(vim.env.VIMRUNTIME, (vim.v.progpath:gsub("/bin/nvim$", ""))))' +qa >&2
echo "$stamp" >"$folder/.stamp"
echo "$bin"
