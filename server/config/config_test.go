package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// sources are a user's file, a workspace's file and an environment; "" is no such file.
func sources(t *testing.T, user, workspace string, environ map[string]string) Sources {
	t.Helper()
	dir := t.TempDir()
	s := Sources{Getenv: func(name string) string { return environ[name] }, User: filepath.Join(dir, "user.yaml"), Workspace: dir}
	if user != "" {
		write(t, s.User, user)
	}
	if workspace != "" {
		write(t, filepath.Join(dir, ".tandem", "config.yaml"), workspace)
	}
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func set(m Model, autonomy protocol.Autonomy, timeout int) Config {
	return Config{Model: m, Autonomy: autonomy, Commands: Commands{TimeoutS: timeout}}
}

// What a later source sets stands; what it does not set it leaves.
func TestPrecedence(t *testing.T) {
	user := "model: {name: user, base_url: http://user, idle_s: 5}\nautonomy: close\ncommands: {timeout_s: 7}\n"
	for _, test := range []struct {
		name, user, workspace string
		environ               map[string]string
		want                  Config
	}{
		{"nothing", "", "", nil, Config{}},
		{"the user", user, "", nil,
			set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"the workspace in part", user, "model: {name: workspace}\n", nil,
			set(Model{"workspace", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"the workspace", user, "model:\n  name: workspace\n  idle_s: 6\nautonomy: close\ncommands:\n  timeout_s: 8\n", nil,
			set(Model{"workspace", "http://user", 6, "", 0}, protocol.Close, 8)},
		{"the workspace alone", "", "autonomy: close\n", nil, Config{Autonomy: protocol.Close}},
		{"the environment", user, "model: {name: workspace}\n", map[string]string{"TANDEM_MODEL": "env", "OPENAI_BASE_URL": "http://env", "OPENAI_API_KEY": "k"},
			set(Model{"env", "http://env", 5, "k", 0}, protocol.Close, 7)},
		{"JSON", `{"model": {"name": "user"}, "autonomy": "high"}`, "", nil,
			Config{Model: Model{Name: "user"}, Autonomy: protocol.High}},
		{"an empty file", user, " \n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"comments alone", user, "# nothing is set here\n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"an empty document", user, "---\n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"null", user, "null\n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"an empty section", user, "model:\nautonomy:\n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"the user's own address", user, "model: {base_url: http://user}\n", nil, set(Model{"user", "http://user", 5, "", 0}, protocol.Close, 7)},
		{"a comment above", "# mine\n\n---\nmodel: {name: user}\n", "", nil, Config{Model: Model{Name: "user"}}},
		{"lines that end as on Windows", "model:\r\n  name: user\r\n", "", nil, Config{Model: Model{Name: "user"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Load(sources(t, test.user, test.workspace, test.environ))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestWorkspaceIsReadOnlyWhereItIsTrusted(t *testing.T) {
	s := sources(t, "model: {name: user}\n", "model: {name: workspace}\nnonsense: 1\n", nil)
	s.Workspace = ""
	if got, err := Load(s); err != nil || got.Model.Name != "user" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where the key is sent a workspace's file cannot change, by any spelling.
func TestWorkspaceCannotRedirectTheKey(t *testing.T) {
	for _, user := range []string{"", "model: {base_url: http://user}\n"} {
		for _, text := range []string{"model: {base_url: http://evil}\n", "model: {base_url: http://user/}\n", "\"model\": {\"base_url\": \"http://evil\"}\n", "? model\n: base_url: http://evil\n"} {
			_, err := Load(sources(t, user, text, map[string]string{"OPENAI_API_KEY": "k"}))
			if err == nil || !strings.Contains(err.Error(), "model.base_url can be set in the user's configuration") {
				t.Errorf("%q over %q: %v", text, user, err)
			}
		}
	}
	if _, err := Load(sources(t, "model: {base_url: http://user}\n", "model: {base_url: ''}\n", nil)); err == nil {
		t.Error("a workspace's file led the key to the public address")
	}
}

// A file that came with a repository can have the agent ask more, and never less.
func TestWorkspaceCannotWidenWhatTheAgentMay(t *testing.T) {
	for _, c := range []struct {
		user, workspace string
		taken           bool
	}{
		{"", "autonomy: high\n", false}, {"autonomy: close\n", "autonomy: balanced\n", false}, {"autonomy: close\n", "autonomy: high\n", false},
		{"", "autonomy: balanced\n", true}, {"", "autonomy: close\n", true}, {"autonomy: high\n", "autonomy: close\n", true}, {"autonomy: high\n", "autonomy: high\n", true},
		{"", "secrets: {allow: [.env]}\n", false}, {"", "decisions: {window_s: 1}\n", false}, {"decisions: {window_s: 60}\n", "decisions: {window_s: 30}\n", false},
		{"", "decisions: {window_s: 20}\n", true}, {"decisions: {window_s: 5}\n", "decisions: {window_s: 5}\n", true},
	} {
		_, err := Load(sources(t, c.user, c.workspace, nil))
		if (err == nil) != c.taken || err != nil && !strings.Contains(err.Error(), "the user's configuration") {
			t.Errorf("%q over %q: %v", c.workspace, c.user, err)
		}
	}
}

// What keeps a workspace's commands in is the user's to say; what the user has said it may repeat.
func TestWorkspaceCannotOpenItsSandbox(t *testing.T) {
	user := "commands: {sandbox: required, write: [~/kept], env: [A_TOKEN]}\n"
	for _, text := range []string{"commands: {sandbox: \"off\"}\n", "commands: {sandbox: auto}\n", "commands: {write: [/]}\n", "commands: {write: [~/kept, /etc]}\n",
		"commands: {env: [\"*\"]}\n", "commands: {env: [A_TOKEN, B_TOKEN]}\n", "{\"commands\": {\"sandbox\": \"off\"}}"} {
		for _, user := range []string{"", user} {
			if _, err := Load(sources(t, user, text, map[string]string{"HOME": "/home/me"})); err == nil || !strings.Contains(err.Error(), "can be set in the user's configuration only") {
				t.Errorf("%q over %q: %v", text, user, err)
			}
		}
	}
	got, err := Load(sources(t, user, "commands: {sandbox: required, network: true, env: [A_TOKEN]}\n", map[string]string{"HOME": "/home/me"}))
	want := Commands{Network: true, Sandbox: SandboxRequired, Write: []string{"/home/me/kept"}, Env: []string{"A_TOKEN"}}
	if err != nil || !reflect.DeepEqual(got.Commands, want) {
		t.Errorf("%+v, %v", got.Commands, err)
	}
	for _, path := range []string{"relative", "~other/x", "~"} {
		if _, err := Load(sources(t, "commands: {write: [\""+path+"\"]}\n", "", nil)); err == nil || !strings.Contains(err.Error(), "neither absolute nor begins with ~/") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestRefusalsNameTheLine(t *testing.T) {
	for _, test := range []struct{ text, says string }{
		{"autonomy: high\nnonsense: 1\n", "line 2: nonsense: there is no such key; there are autonomy, checkpoints, commands, commits, decisions, model, scenarios, secrets, signals, tripwires, watches"},
		{"model:\n  nam: x\n", "line 2: model.nam: there is no such key; there are base_url, context, idle_s, name"},
		{"Model: {name: x}\n", "line 1: Model: there is no such key"},
		{"commands: {network: maybe}\n", "line 1: commands.network: true or false is wanted"},
		{"secrets:\n  files: [ok, \"[a\"]\n", `line 2: secrets.files[1]: "[a" is no glob`},
		{"secrets: {allow: x}\n", "line 1: secrets.allow: a list is wanted"},
		{"commands: {sandbox: \"no\"}\n", `line 1: commands.sandbox: "no" is none of auto, off, required`},
		{"commands:\n  write: /x\n", "line 2: commands.write: a list is wanted"},
		{"model: {context: -1}\n", "line 1: model.context"},
		{"model: {key: sk-1}\n", "line 1: model.key: a file is no place for a key"},
		{"autonomy: wild\n", `line 1: autonomy: "wild" is none of close, balanced, high`},
		{"autonomy: [high]\n", "line 1: autonomy: a text is wanted"},
		{"model: {name: 5}\n", "line 1: model.name: a text is wanted"},
		{"model: gpt\n", "line 1: model: a section with keys is wanted"},
		{"commands:\n  timeout_s: soon\n", "line 2: commands.timeout_s: a whole number"},
		{"commands: {timeout_s: 1.5}\n", "line 1: commands.timeout_s: a whole number"},
		{"commands: {timeout_s: -1}\n", "line 1: commands.timeout_s: a whole number is wanted, from 0 to 43200"},
		{"model: {idle_s: 43201}\n", "line 1: model.idle_s: a whole number is wanted, from 0 to 43200"},
		{"commands: {timeout_s: 99999999999999999999}\n", "line 1"},
		{"- autonomy\n", "line 1: a section with keys is wanted"},
		{"autonomy\n", "line 1: a section with keys is wanted"},
		{"model: {name: a}\nmodel: {name: b}\n", "line 2: "},
		{"autonomy: close\n---\nautonomy: high\n", "line 3: a second document begins here"},
		{"model: {\n", "line 1: "},
		{"a: b: c\n", "line 1: "},
		{"<<: {autonomy: high}\n", "line 1: <<: there is no such key"},
	} {
		s := sources(t, "", test.text, nil)
		_, err := Load(s)
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), filepath.Join(".tandem", "config.yaml")) {
			t.Errorf("%q as a workspace's file: %v; want %q", test.text, err, test.says)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the refusal is no single line: %q", test.text, err)
		}
		s = sources(t, test.text, "", nil)
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), s.User) {
			t.Errorf("%q as a user's file: %v", test.text, err)
		}
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	s := sources(t, "", "", nil)
	if err := os.MkdirAll(filepath.Join(s.Workspace, ".tandem", "config.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(s); err == nil || !strings.Contains(err.Error(), "config.yaml") {
		t.Errorf("a folder was read as a file: %v", err)
	}
}

func TestUserFile(t *testing.T) {
	for _, test := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.config/tandem/config.yaml"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/tandem/config.yaml"},
	} {
		if got := UserFile(func(name string) string { return test.environ[name] }); got != filepath.FromSlash(test.want) {
			t.Errorf("%v: %s", test.environ, got)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, test := range []struct {
		m    Model
		says string
	}{
		{Model{}, "TANDEM_MODEL"},
		{Model{Key: "k"}, "TANDEM_MODEL"},
		{Model{Name: "m"}, "OPENAI_API_KEY"},
		{Model{Name: "m", Key: "k"}, ""},
		{Model{Name: "m", BaseURL: "http://local"}, ""},
	} {
		if got := test.m.Missing(); (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
			t.Errorf("%+v: %q", test.m, got)
		}
	}
}

func TestTimes(t *testing.T) {
	c := Config{Model: Model{IdleS: 3}, Commands: Commands{TimeoutS: 4}}
	if c.Model.Idle() != 3*time.Second || c.Commands.Timeout() != 4*time.Second {
		t.Errorf("%v, %v", c.Model.Idle(), c.Commands.Timeout())
	}
}

// Files with secrets are those of the user and those of the workspace; whether the network is open the
// later says.
func TestSecretsOfBothFilesCount(t *testing.T) {
	c, err := Load(sources(t, "secrets: {files: [a, b], allow: [d]}\ncommands: {network: true}\n", "secrets: {files: [c]}\n", nil))
	if err != nil || !slices.Equal(c.Secrets.Files, []string{"a", "b", "c"}) || !slices.Equal(c.Secrets.Allow, []string{"d"}) || !c.Commands.Network {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Load(sources(t, "commands: {network: true}\n", "commands: {network: false}\n", nil))
	if err != nil || c.Commands.Network {
		t.Errorf("%+v, %v", c, err)
	}
}

// Paths of checkpoints lie in the workspace; those of the user and of the workspace all count.
func TestCheckpoints(t *testing.T) {
	var c Config
	for _, text := range []string{"checkpoints: {also: [out, build/gen]}", "checkpoints:\n  also:\n", "checkpoints: {also: [data]}"} {
		if err := c.over([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if got := strings.Join(c.Checkpoints.Also, " "); got != "out build/gen data" {
		t.Errorf("they are %q", got)
	}
	for also, says := range map[string]string{"../x": "no path below", "/etc": "no path below", ".": "no path below", "out/**": "no plain path", "sub/.Git/hooks": "belongs to git",
		`""`: "it is empty", "3": "a text is wanted"} {
		err := c.over([]byte("checkpoints:\n  also: [" + also + "]"))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", also, err)
		}
	}
}
