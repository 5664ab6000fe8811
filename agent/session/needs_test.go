package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/agent/secretfile"
	"tandem/agent/workspace"
)

// needsOf is what a run comes back for, with its leave.
func (p place) needsOf(tool, arguments string, network bool, leave ...agent.Need) string {
	p.t.Helper()
	o := p.outcome(p.t.Context(), Job{Work: agent.Work{ID: "op1", Job: agent.Run{Tool: tool, Arguments: arguments, Network: network, Leave: leave}}, Said: func(string) {}})
	var out []string
	for _, n := range o.Needs {
		out = append(out, strings.TrimSuffix(string(n.Kind)+":"+n.File, ":"))
	}
	if len(out) > 0 && !reflect.DeepEqual(o, agent.Outcome{Op: "op1", Needs: o.Needs}) {
		p.t.Errorf("%s %s needs leave and came back with %+v", tool, arguments, o)
	}
	return strings.Join(out, " ")
}

// A file with secrets is known by whatever way it is named, and nothing of it is touched before there
// is leave.
func TestFilesNeedLeave(t *testing.T) {
	p := newPlace(t, map[string]string{".env": "TOKEN=hush\n", "a/b.go": "package b\n", ".ENV.Local": "A=1\n", ".env.example": "TOKEN=\n", ".ssh/id_ed25519": "key\n"})
	for link, to := range map[string]string{"notes.txt": ".env", "chain.txt": "notes.txt", "dir": ".ssh"} {
		if err := os.Symlink(to, filepath.Join(p.Files.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{".env": ".env", "./.env": ".env", "a/../.env": ".env", "notes.txt": ".env", "chain.txt": ".env", ".ENV.Local": ".ENV.Local",
		filepath.Join(p.Files.Dir(), ".env"): ".env", "dir/id_ed25519": ".ssh/id_ed25519", "new/.env.production": "new/.env.production", "a/b.go": "", ".env.example": ""} {
		if want != "" {
			want = "secret:" + want
		}
		for tool, rest := range map[string]string{"read_file": "", "edit_file": `,"edits":[{"old":"hush","new":"loud"}]`, "write_file": `,"content":"TOKEN=\n"`, "delete_file": ""} {
			if want == "" && tool != "read_file" {
				continue
			}
			for _, field := range []string{"path", "file_path"} {
				if got := p.needsOf(tool, fmt.Sprintf(`{%q:%q%s}`, field, name, rest), false); got != want {
					t.Errorf("%s of %s by %s needs %q, want %q", tool, name, field, got, want)
				}
			}
		}
	}
	if got := p.needsOf("move_file", `{"from":".env","to":"x.txt"}`, false); got != "secret:.env" {
		t.Errorf("a move needs %q", got)
	}
	if got := p.needsOf("move_file", `{"from":".ssh","to":"open"}`, false); got != "secret:.ssh" {
		t.Errorf("the move of a folder needs %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(p.Files.Dir(), ".env")); err != nil || string(b) != "TOKEN=hush\n" {
		t.Errorf(".env is %q, %v", b, err)
	}
	if got := p.needsOf("read_file", `{"path":"notes.txt"}`, false, agent.Need{Kind: agent.NeedSecret, File: ".env"}); got != "" {
		t.Errorf("with leave it needs %q", got)
	}
	if got := p.needsOf("read_file", `{"path":".env"}`, true, agent.Need{Kind: agent.NeedSecret, File: ".ENV.Local"}); got != "secret:.env" {
		t.Errorf("with leave for another file it needs %q", got)
	}
}

// A folder that is moved takes no file to where its path does not tell any more that it holds secrets.
func TestAFolderWithSecretsNeedsLeave(t *testing.T) {
	p := newPlace(t, map[string]string{"a/.docker/config.json": "{}", "deploy/key.json": "{}", "deploy/b/.env": "A=1\n", "plain/config.json": "{}"})
	var err error
	if p.SecretFiles, err = secretfile.New([]string{"deploy/*.json"}, nil); err != nil {
		t.Fatal(err)
	}
	for move, want := range map[string]string{
		`{"from":"a/.docker","to":"d"}`: "secret:a/.docker/config.json", `{"source":"a/.docker","destination":"a/docker"}`: "secret:a/.docker/config.json",
		`{"from":"./deploy/","to":"x"}`: "secret:deploy/key.json", `{"from":"deploy/b","to":"c"}`: "", `{"from":"plain","to":"x"}`: "", `{"from":"none","to":"x"}`: "",
	} {
		if got := p.needsOf("move_file", move, false); got != want {
			t.Errorf("%s needs %q, want %q", move, got, want)
		}
	}
}

// A file that other programs run by themselves is read like any other, and changed only where there is leave, by
// whatever way it is named.
func TestFilesThatStartByThemselvesNeedLeave(t *testing.T) {
	p := newPlace(t, map[string]string{".vscode/tasks.json": "{}\n", "plain.json": "{}\n", "a/vscode/tasks.json": "{}\n", "hooks/pre-commit": "x\n"})
	for link, to := range map[string]string{"notes.json": ".vscode/tasks.json", "dir": ".vscode", "a/settings.code-workspace": "../plain.json"} {
		if err := os.Symlink(to, filepath.Join(p.Files.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	writes := func(name string) string {
		return p.needsOf("write_file", fmt.Sprintf(`{"path":%q,"content":"x\n"}`, name), false)
	}
	for name, want := range map[string]string{".vscode/tasks.json": "", "./a/../.VSCode/Tasks.json": ".VSCode/Tasks.json", "notes.json": ".vscode/tasks.json", "dir/tasks.json": ".vscode/tasks.json",
		"a/settings.code-workspace": "a/settings.code-workspace", filepath.Join(p.Files.Dir(), ".vscode/new.json"): ".vscode/new.json", "web/.vscode/settings.json": "", ".husky/pre-push": "",
		".github/workflows/ci.yml": "", ".github/actions/x/action.yml": "", ".idea/workspace.xml": "", ".devcontainer/devcontainer.json": "", "lefthook.yaml": "", ".pre-commit-config.yaml": "",
		".nvim.lua": "", ".exrc": "", ".helix/languages.toml": "", ".mcp.json": ""} {
		if want == "" {
			want = name
		}
		if got := writes(name); got != "start:"+want {
			t.Errorf("writing %s needs %q", name, got)
		}
	}
	for _, name := range []string{"plain.json", "vscode/tasks.json", ".github/CODEOWNERS", ".github/ISSUE_TEMPLATE.md", "Makefile", "docs/husky.md", ".gitignore", ".editorconfig", ".", "./."} {
		if got := writes(name); got != "" {
			t.Errorf("writing %s needs %q", name, got)
		}
	}
	for arguments, want := range map[string]string{`{"from":"a/vscode","to":"a/.vscode"}`: "start:a/.vscode", `{"from":"hooks","to":".husky"}`: "start:.husky", `{"from":"hooks","to":".github"}`: "start:.github", `{"from":"hooks","to":"x"}`: ""} {
		if got := p.needsOf("move_file", arguments, false); got != want {
			t.Errorf("the move %s needs %q", arguments, got)
		}
	}
	if got := p.needsOf("edit_file", `{"patch":"*** Begin Patch\n*** Add File: .husky/pre-commit\n+x\n*** End Patch"}`, false); got != "start:.husky/pre-commit" {
		t.Errorf("a patch needs %q", got)
	}
	if got := writes(".envrc"); got != "secret:.envrc start:.envrc" {
		t.Errorf("a file of both kinds needs %q", got)
	}
	if got := p.needsOf("read_file", `{"path":"notes.json"}`, false); got != "" {
		t.Errorf("reading needs %q", got)
	}
	if got := p.needsOf("delete_file", `{"path":".vscode/tasks.json"}`, false, agent.Need{Kind: agent.NeedStart, File: ".vscode/tasks.json"}); got != "" {
		t.Errorf("with leave it needs %q", got)
	}
	if _, err := os.Lstat(filepath.Join(p.Files.Dir(), ".husky")); err == nil {
		t.Error("something was written without leave")
	}
}

// What a command line names is looked at word by word, before anything of it runs.
func TestCommandsNeedLeave(t *testing.T) {
	p := newPlace(t, map[string]string{".env": "TOKEN=hush\n", "sub/server.key": "key\n", "a.go": "package a\n"})
	if err := os.Symlink(".env", filepath.Join(p.Files.Dir(), "notes.txt")); err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"touch ran; cat .env": "secret:.env", "touch ran; cat notes.txt": "secret:.env", "touch ran; cat sub/server.key": "secret:sub/server.key",
		"touch ran; cat ~/.ssh/id_rsa": "secret:" + home + "/.ssh/id_rsa", `touch ran; cat "$HOME/.netrc" ${HOME}/.netrc`: "secret:" + home + "/.netrc",
		"touch ran; cat .env notes.txt ./.env sub/../.env .npmrc": "secret:.env secret:.npmrc", "cat a.go": "", "cat .env.example": "", "echo a.key": "",
	} {
		if got := p.needsOf("run_command", fmt.Sprintf(`{"command":%q}`, line), false); got != want {
			t.Errorf("%s needs %q, want %q", line, got, want)
		}
	}
	if got := p.needsOf("run_command", `{"command":"touch ran; cat server.key","cwd":"sub"}`, false); got != "secret:sub/server.key" {
		t.Errorf("in another folder it needs %q", got)
	}
	if got := p.needsOf("run_command", `{"command":"cat .env"}`, false, agent.Need{Kind: agent.NeedSecret, File: ".env"}); got != "" {
		t.Errorf("with leave it needs %q", got)
	}
	o := p.outcome(t.Context(), Job{Work: agent.Work{ID: "op1", Job: agent.Verify{Command: "touch ran; cat .env"}}, Said: func(string) {}})
	if len(o.Needs) != 1 {
		t.Errorf("a verification needs %+v", o.Needs)
	}
	if _, err := os.Stat(filepath.Join(p.Files.Dir(), "ran")); err == nil {
		t.Error("a command ran without leave")
	}
}

// The network is needed where the model clearly says so, and nothing is run then without it.
func TestNetworkNeedsLeave(t *testing.T) {
	p := newPlace(t, map[string]string{".env": "A=1\n"})
	for said, want := range map[string]string{`true`: "network", `"true"`: "network", `"True"`: "network", `1`: "network", `false`: "", `"no"`: "", `null`: "", `{}`: "", `"yes please"`: ""} {
		arguments := fmt.Sprintf(`{"command":"true","network":%s}`, said)
		if !json.Valid([]byte(arguments)) {
			t.Fatal(arguments)
		}
		if got := p.needsOf("run_command", arguments, false); got != want {
			t.Errorf("network %s needs %q, want %q", said, got, want)
		}
		if got := p.needsOf("run_command", arguments, true); got != "" {
			t.Errorf("network %s needs %q with leave", said, got)
		}
	}
	if got := p.needsOf("run_command", `{"command":"cat .env","network":true}`, false); got != "network secret:.env" {
		t.Errorf("a command that wants both needs %q", got)
	}
}

// What the configuration says goes before what is known by name.
func TestSecretsByConfiguration(t *testing.T) {
	p := newPlace(t, map[string]string{"vault.txt": "x\n", "testdata/server.pem": "x\n"})
	rules, err := secretfile.New([]string{"vault.txt"}, []string{"testdata/**"})
	if err != nil {
		t.Fatal(err)
	}
	p.SecretFiles = rules
	for name, want := range map[string]string{"vault.txt": "secret:vault.txt", "testdata/server.pem": ""} {
		if got := p.needsOf("read_file", fmt.Sprintf(`{"path":%q}`, name), false); got != want {
			t.Errorf("%s needs %q", name, got)
		}
		if got := p.needsOf("run_command", fmt.Sprintf(`{"command":"cat %s"}`, name), false); got != want {
			t.Errorf("cat %s needs %q", name, got)
		}
	}
}

// What a command does to a file with secrets is seen, and its content is kept nowhere; a search leaves
// it out and says so; a listing shows its name.
func TestSecretsAreKeptNowhere(t *testing.T) {
	p := newPlace(t, map[string]string{".env": "TOKEN=hush\n", "a.go": "hush\n"})
	secret := agent.Need{Kind: agent.NeedSecret, File: ".env"}
	o := p.outcome(t.Context(), Job{Work: agent.Work{ID: "op1", Job: agent.Run{Tool: "run_command", Arguments: `{"command":"echo TOKEN=loud >.env; echo loud >a.go"}`, Leave: []agent.Need{secret}}}, Said: func(string) {}})
	if len(o.Changes) != 2 || o.Changes[0].Path != ".env" || o.Changes[0].Before.Digest != "" || o.Changes[0].After.Digest != "" || o.Changes[1].Before.Digest == "" {
		t.Fatalf("the command changed %+v, %s", o.Changes, o.Text)
	}
	found := p.do("search", `{"pattern":"loud"}`)
	if strings.Contains(found.Text, "TOKEN") || !strings.Contains(found.Text, "a.go:1: loud") || !strings.Contains(found.Text, "1 file that holds secrets by its name was not searched") {
		t.Errorf("the search found %s", found.Text)
	}
	if found := p.do("search", `{"pattern":"TOKEN","path":".env"}`); strings.Contains(found.Text, "loud") {
		t.Errorf("the search of .env found %s", found.Text)
	}
	if list := p.do("list_files", `{}`); !strings.Contains(list.Text, ".env") || strings.Contains(list.Text, "TOKEN") {
		t.Errorf("the listing is %s", list.Text)
	}
	for _, text := range []string{"TOKEN=hush\n", "TOKEN=loud\n"} {
		if p.kept(text) {
			t.Errorf("the store holds %s", text)
		}
	}
	if !p.kept("hush\n") {
		t.Error("the store does not hold what stood in a.go")
	}
}

// kept says that the store has a content.
func (p place) kept(text string) bool {
	b, err := p.Files.Content(workspace.Digest([]byte(text)))
	return err == nil && string(b) == text
}

// Leave may come while a call is on its way back for want of it: the call is begun anew, with the leave.
func TestWithheldAndBegunAtOnce(t *testing.T) {
	allowed := begin
	allowed.Guards.Network = true
	play(t, allowed, func(t *testing.T, c *scene) {
		a := c.working(runCall("npm install", false))[0]
		a.end <- agent.Outcome{Op: a.ID, Needs: []agent.Need{{Kind: agent.NeedNetwork}}}
		again := c.stage.next(t)
		if run, ok := again.Job.Job.(agent.Run); !ok || again.ID != a.ID || again.Again != 1 || !run.Network {
			t.Fatalf("%s began as %+v", again.ID, again.Job)
		}
		again.done("installed")
		c.stage.ask(t)
	})
}
