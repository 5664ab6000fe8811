// Package config reads how Tandem is set up: the environment, the user's file and the
// workspace's file, each overriding the one before it where it may. It checks what it reads and
// names the line of what is wrong. It does not act on any of it.
package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tandem/agent/secretfile"
	"tandem/agent/tripwire"
	"tandem/protocol"
)

// Config is how a session is set up.
type Config struct {
	Model    Model             `json:"model"`
	Autonomy protocol.Autonomy `json:"autonomy"`
	Commands Commands          `json:"commands"`
	// Decisions and Signals are when the developer is waited for, and when a check-in is proposed.
	Decisions   Decisions   `json:"decisions"`
	Signals     Signals     `json:"signals"`
	Checkpoints Checkpoints `json:"checkpoints"`
	Secrets     Secrets     `json:"secrets"`
	Commits     Commits     `json:"commits"`
	// Tripwires, Watches and Scenarios are checked: they compile, their names are unique, and the
	// scenarios that tripwires name are there.
	Tripwires []tripwire.Spec `json:"tripwires"`
	Watches   []Watch         `json:"watches"`
	Scenarios []Scenario      `json:"scenarios"`
}

// Model says which model is asked, and where.
type Model struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url"`
	// IdleS is the longest silence of the server, in seconds; 0 is the client's own bound.
	IdleS int `json:"idle_s"`
	// Key comes from OPENAI_API_KEY alone: a file is no place for it.
	Key string `json:"-"`
	// Context is how many tokens the model takes; 0 is not known.
	Context int64 `json:"context"`
}

// Commands bound what the agent runs.
type Commands struct {
	TimeoutS int `json:"timeout_s"`
	// Network lets every command use the network.
	Network bool `json:"network"`
	// Sandbox, Write and Env are the user's to say: by them a workspace would open what keeps it in.
	Sandbox Sandbox  `json:"sandbox"`
	Write   []string `json:"write"` // absolute paths
	Env     []string `json:"env"`   // names
}

// Secrets say which files hold secrets, beside those that are known by their names.
type Secrets struct {
	Files []string `json:"files"` // globs of more
	Allow []string `json:"allow"` // globs of files that hold none
}

// Rules are the same, to be asked.
func (s Secrets) Rules() (secretfile.Rules, error) { return secretfile.New(s.Files, s.Allow) }

func (s Secrets) and(more Secrets) Secrets {
	return Secrets{append(slices.Clip(s.Files), more.Files...), append(slices.Clip(s.Allow), more.Allow...)}
}

// Checkpoints say what can be taken back.
type Checkpoints struct {
	// Also are folders and files of the workspace that git ignores, and whose changes by commands are
	// kept all the same: clean paths, slash-separated.
	Also []string `json:"also"`
}

// Commits say what is committed, on a branch of the session's own.
type Commits struct {
	// Steps commits each step when it is done.
	Steps bool `json:"steps"`
}

// Sandbox says whether commands are confined; "" is SandboxAuto.
type Sandbox string

// The values of Sandbox.
const (
	SandboxAuto     Sandbox = "auto"     // where the system can
	SandboxOff      Sandbox = "off"      // never
	SandboxRequired Sandbox = "required" // where it cannot, no command runs
)

// Decisions say what makes a decision wait for the developer's word.
type Decisions struct {
	// WindowS is how long a major decision waits at autonomy balanced; 0 is the default.
	WindowS int `json:"window_s"`
	// Major are globs of files whose change is always major.
	Major []string `json:"major"`
}

// Signals are thresholds; 0 is the default of each.
type Signals struct {
	Reads    int `json:"reads"`
	Failures int `json:"failures"`
	Returns  int `json:"returns"`
	Growth   int `json:"growth"`
	SilenceS int `json:"silence_s"`
}

// Timeout is how long a command may run that names no bound; 0 is the default.
func (c Commands) Timeout() time.Duration { return time.Duration(c.TimeoutS) * time.Second }

// Idle is the longest silence of the model's server.
func (m Model) Idle() time.Duration { return time.Duration(m.IdleS) * time.Second }

// Sources are where the configuration is read.
type Sources struct {
	Getenv    func(string) string
	User      string // the user's file; "" is none
	Workspace string // the workspace's folder, only where it is trusted; "" is none
}

// UserFile is the path of the user's configuration file.
func UserFile(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if base == "" {
		base = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(base, "tandem", "config.yaml")
}

// Load reads the sources. A file that is not there sets nothing.
func Load(s Sources) (Config, error) {
	var c Config
	if s.User != "" {
		if err := read(s.User, &c); err != nil {
			return c, err
		}
	}
	if s.Workspace != "" {
		user := c
		if err := read(filepath.Join(s.Workspace, ".tandem", "config.yaml"), &c); err != nil {
			return c, err
		}
		if err := widens(user, c); err != nil {
			return c, err
		}
	}
	if err := c.Commands.places(s.Getenv("HOME")); err != nil {
		return c, err
	}
	override(&c.Model.Name, s.Getenv("TANDEM_MODEL"))
	override(&c.Model.BaseURL, s.Getenv("OPENAI_BASE_URL"))
	c.Model.Key = s.Getenv("OPENAI_API_KEY")
	return c, nil
}

// widens refuses what a workspace's file may not say though it is trusted: where the key is sent, and
// that the agent asks less than the user wants to be asked. A file that came with a repository can
// make it stricter.
func widens(user, now Config) error {
	if now.Model.BaseURL != user.Model.BaseURL {
		return errors.New(".tandem/config.yaml: model.base_url can be set in the user's configuration or as OPENAI_BASE_URL only, because the key is sent there")
	}
	if freedom(now.Autonomy) > freedom(user.Autonomy) {
		return fmt.Errorf(".tandem/config.yaml: autonomy: a workspace can make the agent ask more, not less; set %s in the user's configuration, or for a session", now.Autonomy)
	}
	if window(now) < window(user) {
		return fmt.Errorf(".tandem/config.yaml: decisions.window_s: a workspace can lengthen the time for a veto, not shorten it; set %d in the user's configuration", now.Decisions.WindowS)
	}
	for _, kept := range []struct {
		key, why string
		same     bool
	}{
		{"commands.sandbox", "it keeps the workspace's own commands in", now.Commands.Sandbox == user.Commands.Sandbox},
		{"commands.write", "it opens what is yours to the workspace's commands", slices.Equal(now.Commands.Write, user.Commands.Write)},
		{"commands.env", "it hands variables of yours to the workspace's commands", slices.Equal(now.Commands.Env, user.Commands.Env)},
		{"secrets.allow", "it says which files are touched without your leave", slices.Equal(now.Secrets.Allow, user.Secrets.Allow)},
	} {
		if !kept.same {
			return fmt.Errorf(".tandem/config.yaml: %s can be set in the user's configuration only, because %s", kept.key, kept.why)
		}
	}
	return nil
}

// freedom orders the levels of autonomy; none is balanced.
func freedom(a protocol.Autonomy) int {
	return slices.Index([]protocol.Autonomy{protocol.Close, protocol.Balanced, protocol.High}, cmp.Or(a, protocol.Balanced))
}

// window is how long a decision waits for a veto, in seconds.
func window(c Config) int { return cmp.Or(c.Decisions.WindowS, usualWindow) }

// usualWindow is the window where nothing is set, as the core has it.
const usualWindow = 10

// places makes the paths of Write absolute.
func (c *Commands) places(home string) error {
	for i, path := range c.Write {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("configuration: commands.write: %q is neither absolute nor begins with ~/", c.Write[i])
		}
		c.Write[i] = filepath.Clean(path)
	}
	return nil
}

func override(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// read reads one file over c. Unknown keys are refused with their line.
func read(path string, c *Config) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a sandbox keeps the place of a folder that is missing
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if err := c.over(b); err != nil {
		return fmt.Errorf("configuration %s, %w", path, err)
	}
	return nil
}

// over sets what a file's text sets.
func (c *Config) over(b []byte) error {
	node, err := parse(b)
	if err != nil || node == nil {
		return err
	}
	checked, err := json.Marshal(plain(node))
	if err != nil {
		return err
	}
	next := *c
	next.Tripwires, next.Watches, next.Scenarios, next.Decisions.Major, next.Secrets = nil, nil, nil, nil, Secrets{}
	next.Checkpoints.Also = nil
	next.Commands.Write, next.Commands.Env = slices.Clone(c.Commands.Write), slices.Clone(c.Commands.Env) // decoded into, and c keeps its own
	if err := json.Unmarshal(checked, &next); err != nil {
		return err
	}
	major := append(slices.Clip(c.Decisions.Major), next.Decisions.Major...)
	c.Model, c.Autonomy, c.Commands, c.Signals = next.Model, next.Autonomy, next.Commands, next.Signals
	c.Decisions, c.Commits = next.Decisions, next.Commits
	c.Decisions.Major = major
	c.Secrets = c.Secrets.and(next.Secrets)
	c.Checkpoints.Also = append(slices.Clip(c.Checkpoints.Also), next.Checkpoints.Also...)
	return c.add(next, node)
}

// Missing says what has to be set before a model can be asked, in one line; "" is nothing.
func (m Model) Missing() string {
	switch {
	case m.Name == "":
		return "no model is named: set TANDEM_MODEL, or model.name in the user's config.yaml"
	case m.Key == "" && m.BaseURL == "":
		return "no key and no server: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none"
	}
	return ""
}
