package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// House is what a policy for a workspace is made of.
type House struct {
	Dir    string              // the workspace
	Getenv func(string) string // of the environment that commands get
	// Write are further paths that commands may change.
	Write []string
	// Own are Tandem's folders: a command that could write there could grant itself anything.
	Own     []string
	Scratch string
}

// Policy is what commands of the workspace may do without the network.
func (h House) Policy(m Mechanism) Policy {
	if m == None {
		return Policy{}
	}
	git := gitFolders(h.Dir)
	p := Policy{Mechanism: m, Root: h.Dir, Write: followed(slices.Concat([]string{h.Dir}, Temporary(h.Getenv), Caches(h.Getenv), h.Write, git)),
		Hidden: h.Own, Secret: secrets(h.Getenv), Scratch: h.Scratch, Reserved: []string{filepath.Join(h.Dir, ".tandem")}}
	for _, dir := range git {
		p.Reserved = append(p.Reserved, filepath.Join(dir, "hooks"))
		for _, glob := range []string{"config", "config.worktree", "worktrees/*/config.worktree", "modules/*/config", "modules/*/hooks",
			"modules/*/modules/*/config", "modules/*/modules/*/hooks"} {
			found, err := filepath.Glob(filepath.Join(escapeGlob(dir), glob))
			if err != nil {
				continue // A glob that is escaped and ours is none that is wrong.
			}
			p.ReadOnly = append(p.ReadOnly, found...)
		}
	}
	return p
}

// followed are writable paths with their links followed. A link that stands where commands can write may be theirs, and
// opens nothing.
func followed(paths []string) []string {
	var out, linked []string
	for _, path := range paths {
		if path = filepath.Clean(path); resolve(path) == path {
			out = append(out, path)
		} else {
			linked = append(linked, path)
		}
	}
	slices.SortFunc(linked, func(a, b string) int { return len(a) - len(b) })
	for _, path := range linked {
		if !reachable(path, out) {
			out = append(out, resolve(path))
		}
	}
	return out
}

// reachable says whether the way to a path leads through a folder in which commands can put something else.
func reachable(path string, writable []string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real := resolve(dir); slices.ContainsFunc(writable, func(w string) bool { return within(real, w) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// escapeGlob is a path in which nothing is a wildcard.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Temporary are the folders for temporary files.
func Temporary(getenv func(string) string) []string {
	return present(getenv("TMPDIR"), "/tmp", "/var/tmp")
}

func present(paths ...string) []string {
	var out []string
	for _, p := range paths {
		if filepath.IsAbs(p) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// cache is a folder in which a tool keeps what it can make or fetch again.
type cache struct {
	tool     string // its program, for which the folder is made where it is missing; "" never
	variable string // names the folder
	below    string // of the folder that the variable names
	usual    string // below the home folder, where the variable is not set
}

// caches are the folders of common tools. None holds programs or settings that run by themselves later.
var caches = []cache{
	{variable: "GOCACHE", usual: ".cache/go-build"},
	{tool: "go", variable: "GOMODCACHE", usual: "go/pkg/mod"},
	{variable: "GOTMPDIR"},
	{tool: "npm", variable: "npm_config_cache", usual: ".npm"},
	{usual: ".local/share/pnpm/store"}, {variable: "PNPM_HOME", below: "store"}, {usual: ".pnpm-store"},
	{usual: ".yarn/berry/cache"}, {variable: "YARN_CACHE_FOLDER"},
	{variable: "BUN_INSTALL", below: "install/cache", usual: ".bun/install/cache"}, {variable: "DENO_DIR"},
	{variable: "PIP_CACHE_DIR"}, {variable: "UV_CACHE_DIR"}, {variable: "POETRY_CACHE_DIR"},
	{tool: "cargo", variable: "CARGO_HOME", below: "registry", usual: ".cargo/registry"},
	{variable: "CARGO_HOME", below: "git", usual: ".cargo/git"}, {variable: "CARGO_TARGET_DIR"},
	{tool: "mvn", usual: ".m2/repository"},
	{tool: "gradle", variable: "GRADLE_USER_HOME", below: "caches", usual: ".gradle/caches"},
	{variable: "GRADLE_USER_HOME", below: "daemon", usual: ".gradle/daemon"},
	{variable: "GRADLE_USER_HOME", below: "native", usual: ".gradle/native"},
	{usual: ".ivy2/cache"}, {usual: ".konan/cache"},
	{variable: "NUGET_PACKAGES", usual: ".nuget/packages"}, {usual: ".local/share/NuGet"},
	{usual: ".bundle/cache"}, {variable: "PUB_CACHE", usual: ".pub-cache/hosted"}, {usual: ".hex/packages"},
	{usual: ".cabal/packages"}, {variable: "CCACHE_DIR", usual: ".ccache"}, {variable: "SCCACHE_DIR"},
	{usual: "Library/Caches"},
}

// Caches are the caches of tools that are there, and what XDG_CACHE_HOME names. A tool that is installed and has
// none yet gets its folder, as the tool itself would make it.
func Caches(getenv func(string) string) []string {
	home := getenv("HOME")
	base := getenv("XDG_CACHE_HOME")
	if base == "" && runtime.GOOS != "darwin" {
		base = filepath.Join(home, ".cache")
	}
	var out []string
	add := func(path string, make bool) {
		if !filepath.IsAbs(path) || home == "" {
			return
		}
		if make {
			_ = os.MkdirAll(path, 0o755) // Where it cannot be made, the tool says so.
		}
		if _, err := os.Stat(path); err == nil {
			out = append(out, path)
		}
	}
	add(base, true)
	for _, c := range caches {
		path := filepath.Join(home, c.usual)
		if value := getenv(c.variable); c.variable != "" && value != "" {
			path = filepath.Join(value, c.below)
		} else if c.usual == "" {
			continue
		}
		if c.variable == "GOMODCACHE" && getenv("GOMODCACHE") == "" && getenv("GOPATH") != "" {
			path = filepath.Join(filepath.SplitList(getenv("GOPATH"))[0], "pkg/mod")
		}
		add(path, c.tool != "" && installed(c.tool))
	}
	return out
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// secrets are what programs keep in the home folder to prove to others who the developer is.
func secrets(getenv func(string) string) []string {
	home := getenv("HOME")
	var out []string
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".config/op", ".docker/config.json",
		".netrc", ".pgpass", ".git-credentials", ".config/git/credentials", ".password-store", ".local/share/keyrings"} {
		if filepath.IsAbs(home) {
			out = append(out, filepath.Join(home, name))
		}
	}
	return out
}

// gitFolders are the folders in which git keeps a workspace's history: its own, or that of the repository that it is a
// worktree of. A .git file is data like any other: it is believed only where git itself points back to it, from the one
// place where git does.
func gitFolders(dir string) []string {
	own := filepath.Join(dir, ".git")
	info, err := os.Lstat(own)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return []string{own}
	case !info.Mode().IsRegular():
		return nil
	}
	tree := named(own, "gitdir:", dir)
	if back := named(filepath.Join(tree, "gitdir"), "", tree); tree == "" || back != own {
		return nil
	}
	common := named(filepath.Join(tree, "commondir"), "", tree)
	if common == "" || resolve(tree) != tree || filepath.Dir(tree) != filepath.Join(common, "worktrees") {
		return nil
	}
	return []string{common}
}

// named is the path that a small file names behind a word; "" for none.
func named(file, word, base string) string {
	b, err := os.ReadFile(file)
	if err != nil || len(b) > 4096 {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), word)
	if path = strings.TrimSpace(path); !ok || path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
