package command

import (
	"slices"
	"strings"
)

// mark names the variable by which the processes of a command are found when their supervisor is gone.
const mark = "TANDEM_COMMAND"

// passed are the variables that reach a command as they are: who and where one is, and what common tools are set up
// by. One that ends with * stands for all that begin so.
var passed = strings.Fields(`
	PATH HOME USER LOGNAME SHELL PWD LANG LANGUAGE LC_* TZ TMPDIR TMP TEMP COLUMNS LINES HOSTNAME
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS
	SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO NIX_* SOURCE_DATE_EPOCH
	GIT_SSH_COMMAND GIT_AUTHOR_* GIT_COMMITTER_* EMAIL
	GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOTMPDIR GOFLAGS GOOS GOARCH GOARM GOARM64 GOAMD64 GO386 GOMIPS GOPPC64 GOWASM
	GOPROXY GONOPROXY GOPRIVATE GONOSUMDB GOSUMDB GOINSECURE GOVCS GOTOOLCHAIN GOWORK GOENV GO111MODULE GOEXPERIMENT GODEBUG
	GOMAXPROCS GOMEMLIMIT GOGC GORACE GOTRACEBACK GOCOVERDIR CGO_*
	CC CXX CPP LD AR AS NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
	LIBRARY_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH PKG_CONFIG_* ACLOCAL_PATH MAKEFLAGS MAKE CMAKE_* CTEST_* NINJA_* MESON* CCACHE_* SCCACHE_*
	CARGO CARGO_* RUSTUP_* RUSTC RUSTC_* RUSTFLAGS RUSTDOCFLAGS RUST_*
	NODE NODE_* NPM_CONFIG_* npm_config_* NVM_* VOLTA_* FNM_* COREPACK_* PNPM_HOME YARN_* BUN_INSTALL DENO_DIR TS_NODE_*
	PYTHON* PYENV_* PIP_* PIPENV_* POETRY_* UV_* VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_* MAMBA_* PYTEST_ADDOPTS TOX_* NOX_* WORKON_HOME
	JAVA_HOME JAVA_TOOL_OPTIONS JDK_* CLASSPATH MAVEN_* M2_HOME GRADLE_* KOTLIN_HOME SCALA_HOME SBT_OPTS ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME
	DOTNET_* MSBUILD* NUGET_PACKAGES
	RUBYOPT RUBYLIB GEM_* BUNDLE_* RBENV_* RAKEOPT PERL5LIB PERL_* COMPOSER_HOME PHP_* PHPRC
	GHCUP_* STACK_ROOT CABAL_* OPAM* OCAML* MIX_* HEX_* ERL_* ELIXIR_* JULIA_* R_* FLUTTER_* PUB_CACHE SWIFT_* ZIG_* LUA_* DEVELOPER_DIR SDKROOT
	ASDF_* MISE_* SDKMAN_* HOMEBREW_PREFIX HOMEBREW_CELLAR
	SystemRoot SYSTEMDRIVE windir COMSPEC PATHEXT USERPROFILE HOMEDRIVE HOMEPATH USERNAME APPDATA LOCALAPPDATA PROGRAMDATA
	ProgramFiles ProgramFiles(x86) CommonProgramFiles NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE OS
`)

// proxies are the variables that say how the network is reached. They often hold a password.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"}

// unwanted are variables that a command does not get whatever is declared: the model's key, what would ask a person
// for a password, and what would make tools behave as on a build server.
var unwanted = []string{"OPENAI_API_KEY", "GIT_ASKPASS", "SSH_ASKPASS", "CI", mark}

// telltale are parts of the names of variables that hold secrets.
var telltale = []string{"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "_PAT", "_PWD"}

// settled are variables with one value for every command: nothing pages, asks or draws, as nobody could answer.
var settled = [][2]string{
	{"TERM", "dumb"},
	{"NO_COLOR", "1"},
	{"PAGER", "cat"},
	{"GIT_PAGER", "cat"},
	{"MANPAGER", "cat"},
	{"SYSTEMD_PAGER", "cat"},
	{"GIT_EDITOR", "true"},
	{"GIT_TERMINAL_PROMPT", "0"},
	{"SSH_ASKPASS_REQUIRE", "never"},
	{"DEBIAN_FRONTEND", "noninteractive"},
}

// Environment answers with the environment for commands, made of the daemon's ("NAME=value" each): what is passed and
// what more names, set so that tools neither page nor prompt; with network also what says how that is reached. A
// variable whose name speaks of a secret has to be named by more. environ is not changed. GIT_SSH_COMMAND is set to
// batch mode only where the developer has not set it.
func Environment(environ, more []string, network bool) []string {
	env := make([]string, 0, len(environ)+len(settled)+1)
	ssh := false
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if dropped(name) || !passes(name, more) && !(network && named(name, proxies)) {
			continue
		}
		ssh = ssh || name == "GIT_SSH_COMMAND"
		env = append(env, entry)
	}
	for _, pair := range settled {
		env = append(env, pair[0]+"="+pair[1])
	}
	if !ssh {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	return env
}

// Passed answers with the names of what a command gets of an environment.
func Passed(environ, more []string) []string {
	var names []string
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); !dropped(name) && passes(name, more) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// passes says whether a variable reaches a command.
func passes(name string, more []string) bool {
	if named(name, more) {
		return true
	}
	upper := strings.ToUpper(name)
	speaks := func(part string) bool { return strings.Contains(upper, part) }
	return named(name, passed) && !slices.ContainsFunc(telltale, speaks)
}

// named says whether a variable is in a list. Case is ignored, as Windows does.
func named(name string, list []string) bool {
	return slices.ContainsFunc(list, func(of string) bool {
		head, open := strings.CutSuffix(of, "*")
		return strings.EqualFold(name, of) || open && len(name) > len(head) && strings.EqualFold(name[:len(head)], head)
	})
}

// dropped says whether a variable of the daemon does not reach a command as it is, whatever is declared.
func dropped(name string) bool {
	return named(name, unwanted) || slices.ContainsFunc(settled, func(pair [2]string) bool { return strings.EqualFold(name, pair[0]) })
}

// withMark answers with the environment that bears one mark, and no older one of a Tandem around this one.
func withMark(env []string, id string) []string {
	marked := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, mark+"=") {
			marked = append(marked, entry)
		}
	}
	return append(marked, mark+"="+id)
}
