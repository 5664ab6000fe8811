# make test    everything that has to hold; it installs what it needs, the editors too
# make bench   the benchmarks whose results stand in ARCHITECTURE.md
# make soak    three minutes of a hundred sessions with everything killed at random (SOAK=10s: shorter)
# make fuzz    each fuzz target for a while (FUZZTIME=10m: longer); what is found stays as a seed in testdata/fuzz
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
CORPUS = $(abspath ../shared/corpus)
export TANDEM_CORPUS ?= $(if $(wildcard $(CORPUS)),$(CORPUS),)
FUZZTIME ?= 20s
# In make test each target gets a number of inputs, and no time: at the end of a time Go's fuzzer may take its own deadline
# for a failure. Those that go to the disk for each input get fewer; FuzzIgnore, whose judge is git with all its quirks, is
# left to make fuzz, and its seeds to the tests.
FUZZED = 3000x
FUZZED_SLOWLY = 100x
SLOW_FUZZ = FuzzRevert FuzzEditFile FuzzLoad FuzzOpen FuzzSQL

FUZZ_DIRS = $(sort $(patsubst %/,./%,$(dir $(shell grep -rl --include='*_test.go' 'func Fuzz' agent cmd protocol server))))

.PHONY: test test-editors lint generate tools bench soak fuzz fuzz-briefly build vscode-tools test-vscode test-vscode-old nvim-tools test-nvim

test: tools generate lint
	go test -race -timeout 10m ./...
	@$(MAKE) --no-print-directory fuzz-briefly
	@$(MAKE) --no-print-directory test-editors

# The linters: formatting, vet on every system that is supported, and staticcheck.
lint:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }
	go vet ./...
	GOOS=darwin go vet ./agent/... ./server/... ./cmd/...
	GOOS=windows go vet ./agent/... ./server/... ./cmd/...
	go vet -tags soak ./cmd/tandem
	go run $(STATICCHECK) ./...

generate:
	go generate ./protocol

# ripgrep makes search faster and its tests whole, bubblewrap those of the sandbox; without them tests say what they skip.
tools:
	@command -v go >/dev/null || { echo "Go is needed: see go.mod for the version"; exit 1; }
	@if ! command -v rg >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing ripgrep for the tests of search"; apt-get install -qq -y ripgrep >/dev/null || { apt-get update -qq && apt-get install -qq -y ripgrep >/dev/null; }; fi
	@if [ "$$(uname)" = Linux ] && ! command -v bwrap >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing bubblewrap for the tests of the sandbox"; apt-get install -qq -y bubblewrap >/dev/null || { apt-get update -qq && apt-get install -qq -y bubblewrap >/dev/null; }; fi
	@[ "$$(uname)" != Linux ] || command -v bwrap >/dev/null || echo "bubblewrap is not installed: the sandbox is tested with Landlock alone"
	@command -v rg >/dev/null || echo "ripgrep is not installed: the tests that compare with it are skipped"
	@test -n "$(TANDEM_CORPUS)" || echo "no corpus at ../shared/corpus (set TANDEM_CORPUS): the tests that read it are skipped"

bench:
	go test -run '^$$' -bench 'Steer|Step|Pause|Cancel|Trip|CheckIn' ./server
	go test -run '^$$' -bench Load ./agent/session
	go test -run '^$$' -bench 'Start|Memory|RestartToListed|IdleSessions' ./cmd/tandem
	go test -run '^$$' -bench 'TwoLooks|KeptEdit|Revert' ./agent/workspace
	go test -run '^$$' -bench . ./agent ./agent/command ./agent/secret ./agent/journal ./agent/tripwire ./agent/scenario

soak:
	go test -tags soak -run Soak -timeout 6m -v ./cmd/tandem

fuzz:
	@for dir in $(FUZZ_DIRS); do for f in $$(grep -ho 'func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | cut -c6-); do \
		echo "$$dir $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$dir || exit 1; done; done

# The same with a number of inputs, from the seeds alone: what one run has learnt does not make the next one longer.
fuzz-briefly:
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && began=$$(date +%s) && n=0 && for dir in $(FUZZ_DIRS); do \
		go test -c -fuzz . -o "$$tmp/test" $$dir || exit 1; \
		for f in $$(grep -ho 'func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | cut -c6- | grep -v FuzzIgnore); do \
			inputs=$(FUZZED); case " $(SLOW_FUZZ) " in *" $$f "*) inputs=$(FUZZED_SLOWLY);; esac; \
			(cd $$dir && "$$tmp/test" -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $$inputs -test.fuzzminimizetime 1000x \
				-test.fuzzcachedir "$$tmp/cache" -test.timeout 2m) >"$$tmp/said" 2>&1 || { echo "$$dir $$f"; cat "$$tmp/said"; exit 1; }; \
			n=$$((n + 1)); done; done; \
	echo "fuzzed $$n targets, $(FUZZED) inputs each ($(FUZZED_SLOWLY) for $(words $(SLOW_FUZZ))), in $$(( $$(date +%s) - began )) s: nothing found"

build:
	go build -trimpath -o tandem ./cmd/tandem

# Both extensions in the real editors. Where an editor cannot be installed its tests are skipped, and that is said.
test-editors:
	@if bash extensions/nvim/scripts/tools.sh; then $(MAKE) --no-print-directory test-nvim; \
		else echo "SKIPPED: the Neovim plugin's tests, because their editors cannot be installed here (see above)"; fi
	@if bash extensions/vscode/scripts/get-vscode.sh >/dev/null; then $(MAKE) --no-print-directory test-vscode; \
		else echo "SKIPPED: the VS Code extension's tests, because their editor cannot be installed here (see above)"; fi

# The Neovim plugin: format, lint, and its tests in the newest Neovim and in 0.10.
nvim-tools:
	@bash extensions/nvim/scripts/tools.sh

test-nvim: nvim-tools
	bash extensions/nvim/scripts/check.sh
	bash extensions/nvim/scripts/test.sh

# The VS Code extension: checks, unit tests, and two suites in the real editor; then in the oldest that is supported.
vscode-tools:
	@bash extensions/vscode/scripts/get-vscode.sh >/dev/null

test-vscode: vscode-tools
	bash extensions/vscode/scripts/test.sh

test-vscode-old:
	bash extensions/vscode/scripts/test.sh vscode-old
