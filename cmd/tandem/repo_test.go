package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type layer struct {
	name string
	may  []string
}

// layers lists each package with the packages of ours that it may import; one that is not listed
// may not exist. Read it from the top: a package imports what stands below it, never what stands
// beside or above it.
var layers = []layer{
	{"cmd/tandem", []string{"server", "server/config", "server/daemon", "server/rpc", "agent/rehearsal", "agent/session", "agent/model", "agent/secret", "agent/secretfile", "agent/workspace",
		"agent/command", "agent/sandbox", "agent", "protocol", "testdata/rehearsals"}},

	{"server", []string{"server/config", "server/daemon", "server/document", "server/face", "server/rpc", "agent/session", "agent/journal", "agent/model", "agent/secret", "agent/secretfile", "agent/tool", "agent/workspace",
		"agent/blame", "agent/command", "agent/sandbox", "agent/tripwire", "agent/scenario", "agent", "protocol"}},
	{"server/daemon", []string{"server/rpc", "protocol"}},
	{"server/config", []string{"agent/secretfile", "agent/tripwire", "protocol"}},
	{"server/document", []string{"protocol"}},
	{"server/face", []string{"protocol"}},
	{"server/rpc", []string{"protocol"}},

	{"agent/session", []string{"agent/journal", "agent/model", "agent/secret", "agent/secretfile", "agent/tool", "agent/workspace", "agent/command", "agent/sandbox", "agent/tripwire", "agent/scenario",
		"agent", "protocol"}},
	{"agent/journal", nil},
	{"agent/blame", nil},
	{"agent/secretfile", nil},
	{"agent/model", nil},
	{"agent/secret", nil},
	{"agent/tool", []string{"agent/patch"}},
	{"agent/workspace", []string{"agent/patch"}},
	{"agent/command", []string{"agent/sandbox"}},
	{"agent/sandbox", nil},
	{"agent/tripwire", []string{"protocol"}},
	{"agent/scenario", []string{"protocol"}},
	{"agent/rehearsal", nil},
	{"agent", []string{"agent/patch", "protocol"}},
	{"agent/patch", nil},

	{"protocol", nil},
	{"protocol/gen", nil},
	{"testdata/rehearsals", nil},
}

// owners lists the libraries that are behind one door: who may import what stands below a path.
// A library that the customer chose and that may be exchanged is known to its owner alone.
var owners = []struct {
	library string
	by      []string
}{
	{"github.com/sashabaranov/go-openai", []string{"agent/model"}},
	{"go.lsp.dev/", []string{"server", "server/rpc", "server/daemon", "protocol", "protocol/gen"}},
}

type goPackage struct {
	ImportPath, Name, Doc string
	Imports, TestImports  []string
	Error                 *struct{ Err string }
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Doc,Imports,TestImports,Error", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, "tandem/")
		all = append(all, p)
	}
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return l.name == p.ImportPath })
		if i < 0 {
			t.Errorf("%s is not in the layer table", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if ours, ok := strings.CutPrefix(path, "tandem/"); ok && !slices.Contains(layers[i].may, ours) {
				t.Errorf("%s imports %s, which the layer table does not allow", p.ImportPath, ours)
			}
		}
	}
}

// TestLayersPointDown holds the table itself: no arrow in it goes up.
func TestLayersPointDown(t *testing.T) {
	for i, l := range layers {
		for _, below := range l.may {
			if !slices.ContainsFunc(layers[i+1:], func(o layer) bool { return o.name == below }) {
				t.Errorf("the table lets %s import %s, which does not stand below it", l.name, below)
			}
		}
	}
}

func TestOwners(t *testing.T) {
	for _, p := range packages(t) {
		for _, o := range owners {
			for _, path := range slices.Concat(p.Imports, p.TestImports) {
				if strings.HasPrefix(path, o.library) && !slices.Contains(o.by, p.ImportPath) {
					t.Errorf("%s imports %s, which belongs to %v", p.ImportPath, path, o.by)
				}
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		start := "Package " + p.Name + " "
		if p.Name == "main" {
			start = "Command "
		}
		if !strings.HasPrefix(p.Doc, start) {
			t.Errorf("%s: its package comment starts with %q, not with %q", p.ImportPath, p.Doc, start)
		}
	}
}

// executed are the files in which a program is started, with what it is. Whoever adds one says in
// agent/session/THREATS.md what keeps a repository from choosing the program or what it reads.
var executed = []struct{ file, what string }{
	{"agent/sandbox/bubblewrap_linux.go", "syscall.ForkExec"}, // the command of an agent, in a workspace that is trusted
	{"agent/sandbox/start_linux.go", "syscall.ForkExec"},      // the same
	{"agent/sandbox/start_darwin.go", "syscall.ForkExec"},     // the same
	{"agent/sandbox/start_darwin.go", "exec.CommandContext"},  // the system's sandbox-exec, to see that it works
	{"agent/workspace/bench.go", "exec.CommandContext"},       // git in a folder of ours, without the configuration of a repository or a user
	{"agent/workspace/git.go", "exec.CommandContext"},         // git cat-file, which runs nothing of a repository's
	{"agent/workspace/ripgrep.go", "exec.CommandContext"},     // ripgrep of the path, without a configuration or an environment
	{"server/daemon/spawn.go", "exec.Command"},                // this program, as the daemon
}

// TestWhatIsExecuted holds the list against the sources, on every system.
func TestWhatIsExecuted(t *testing.T) {
	starts := regexp.MustCompile(`\b(exec\.Command(Context)?|os\.StartProcess|(syscall|unix|windows)\.(ForkExec|StartProcess|Exec|Execve\w*|CreateProcess\w*|ShellExecute))\(`)
	var found []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range starts.FindAllString(string(source), -1) {
			found = append(found, filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator)))+" "+strings.TrimSuffix(m, "("))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !slices.ContainsFunc(executed, func(e struct{ file, what string }) bool { return e.file+" "+e.what == f }) {
			t.Errorf("a program is started in %s, which is not listed", f)
		}
	}
	for _, e := range executed {
		if !slices.Contains(found, e.file+" "+e.what) {
			t.Errorf("%s starts nothing by %s any more", e.file, e.what)
		}
	}
}

// What the editors draw is text that the agent, and the repository behind it, may have written. So
// nothing in the extensions takes text for markup, a link that runs something, or a command: what
// could is named here, and is not there.
func TestEditorsDrawText(t *testing.T) {
	for folder, never := range map[string]string{
		"../../extensions/vscode/src": `innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|unsafeSVG|MarkdownString|supportHtml|isTrusted\s*=[^=]|enableCommandUris|\beval\(|new Function\(|createTerminal|sendText|openExternal`,
		"../../extensions/nvim/lua":   `nvim_exec2|nvim_exec\(|nvim_command|nvim_eval|nvim_feedkeys|nvim_input|loadstring|\bload\(|dofile|luafile|vim\.fn\.(execute|eval|feedkeys|system|termopen|jobstart)|vim\.ui\.open|modeline\s*=\s*true`,
	} {
		says, files := regexp.MustCompile(never), 0
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".ts", ".lua"}, filepath.Ext(path)) || strings.HasSuffix(path, ".test.ts") {
				return err
			}
			files++
			source, err := os.ReadFile(path)
			for i, line := range strings.Split(string(source), "\n") {
				if found := says.FindString(line); found != "" {
					t.Errorf("%s:%d: %s", path, i+1, found)
				}
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", folder, files, err)
		}
	}
	page, err := os.ReadFile("../../extensions/vscode/src/view.ts")
	if err != nil || !strings.Contains(string(page), `default-src 'none'; ${style}; script-src 'nonce-${nonce}'"`) {
		t.Errorf("VS Code's panel runs other scripts than its own: %v", err)
	}
}
