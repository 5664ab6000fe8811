package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tandem/agent/model"
	"tandem/agent/secret"
	"tandem/server"
	"tandem/server/config"
	"tandem/server/daemon"
)

type doctorCommand struct{ place }

// check is one thing that the doctor looked at.
type check struct {
	Name string `json:"name"`
	// State is ok, note (works without it) or missing (something needed is not there).
	State string `json:"state"`
	Text  string `json:"text"`
	// Fix is what to do.
	Fix string `json:"fix,omitempty"`
}

// The states of a check.
const (
	checkOK      = "ok"
	checkNote    = "note"
	checkMissing = "missing"
)

// Run looks at the setup. It ends with 1 when something is missing that a session needs.
func (c *doctorCommand) Run(ctx context.Context, s std) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	checks := examine(ctx, dir, s.getenv)
	secrets := secret.New(os.Environ())
	for i := range checks { // what is shown to others who shall help
		checks[i].Text = secrets.Text(checks[i].Text)
	}
	if err := c.show(s, map[string]any{"checks": checks}, checkLines(checks)); err != nil {
		return err
	}
	for _, one := range checks {
		if one.State == checkMissing {
			return &exitError{code: exitFailed}
		}
	}
	return nil
}

func checkLines(checks []check) []line {
	marks := map[string]line{checkOK: {mark: "✓", tone: good}, checkNote: {mark: "!", tone: careful}, checkMissing: {mark: "✗", tone: bad}}
	words := map[string]string{checkOK: "ok", checkNote: "note", checkMissing: "missing"}
	var out []line
	for _, c := range checks {
		l := marks[c.State]
		l.text = fmt.Sprintf("%-10s %-8s %s", c.Name, words[c.State], c.Text)
		l.as = true
		out = append(out, l)
		if c.Fix != "" {
			out = append(out, line{indent: 22, text: c.Fix, tone: quiet})
		}
	}
	return out
}

// examine looks at everything, in the order in which a newcomer needs it.
func examine(ctx context.Context, dir string, getenv func(string) string) []check {
	user := config.UserFile(getenv)
	files := []check{configFile("user", user, getenv), configFile("workspace", filepath.Join(dir, ".tandem", "config.yaml"), getenv)}
	cfg, err := config.Load(config.Sources{Getenv: getenv, User: user, Workspace: dir})
	if err != nil {
		return append(files, check{"settings", checkMissing, err.Error(), "Mend what it names; nothing can start before."})
	}
	out := append(files, modelName(cfg.Model), modelKey(cfg.Model), modelServer(ctx, cfg.Model))
	return append(append(out, tool("git", "git", "Changes are kept and taken back without it; it is used where it is there."),
		tool("search", "rg", "Searching works without ripgrep, only slower."),
		stateFolder(server.StateFolder(getenv)), runtimeFolder(dir)), confinement(ctx, dir, server.StateFolder(getenv), getenv, cfg.Commands)...)
}

func configFile(name, path string, getenv func(string) string) check {
	c := check{Name: name, State: checkOK, Text: short(path)}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		c.Text = "no " + short(path) + " (none is needed)"
	} else if err != nil {
		c.State, c.Text = checkNote, err.Error()
	}
	return c
}

func modelName(m config.Model) check {
	if m.Name == "" {
		return check{"model", checkMissing, "no model is named", "Set TANDEM_MODEL, or model.name in the user's config.yaml."}
	}
	return check{Name: "model", State: checkOK, Text: m.Name}
}

// modelKey says whether there is a key, and never what it is.
func modelKey(m config.Model) check {
	switch {
	case m.Key != "":
		return check{Name: "key", State: checkOK, Text: "OPENAI_API_KEY is set"}
	case m.BaseURL != "":
		return check{Name: "key", State: checkNote, Text: "OPENAI_API_KEY is not set; a server of your own may need none"}
	}
	return check{"key", checkMissing, "OPENAI_API_KEY is not set", "Set it, or OPENAI_BASE_URL for a server that needs none."}
}

// askTime is how long a model server may take to list its models.
const askTime = 5 * time.Second

// modelServer asks the server for its models.
func modelServer(ctx context.Context, m config.Model) check {
	if m.BaseURL == "" && m.Key == "" {
		return check{"server", checkMissing, "no server was asked: there is neither a key nor a base URL", "tandem demo shows how Tandem works with neither."}
	}
	at, err := model.Endpoint(m.BaseURL)
	if err != nil {
		return check{"server", checkMissing, err.Error(), "tandem demo shows how Tandem works with no server."}
	}
	base := at.Redacted()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, models, err := listModels(ctx, at, m.Key)
	if err != nil {
		return check{"server", checkMissing, fmt.Sprintf("%s does not answer: %v", base, plainError(err)), "Check OPENAI_BASE_URL, the network and the proxy."}
	}
	return serverCheck(base, m.Name, status, models)
}

// serverCheck says what an answer of the server means.
func serverCheck(base, name string, status int, models []string) check {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return check{"server", checkMissing, fmt.Sprintf("%s answers, and refuses the key (%d)", base, status), "Check OPENAI_API_KEY."}
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return check{"server", checkNote, fmt.Sprintf("%s answers, and lists no models (%d)", base, status), "It may still work; a wrong path in OPENAI_BASE_URL looks the same."}
	case status != http.StatusOK:
		return check{"server", checkNote, fmt.Sprintf("%s answers with status %d", base, status), "Try again later."}
	case len(models) == 0 || name == "":
		return check{Name: "server", State: checkOK, Text: base + " answers"}
	}
	for _, m := range models {
		if m == name {
			return check{Name: "server", State: checkOK, Text: base + " answers, and knows " + name}
		}
	}
	return check{"server", checkNote, fmt.Sprintf("%s answers, and does not list %s", base, name), fmt.Sprintf("It lists %d models, such as %s.", len(models), models[0])}
}

// mostModels is how much of the list of models is read, in bytes.
const mostModels = 4 << 20

// listModels asks for the models; a list that cannot be read is an empty one.
func listModels(ctx context.Context, base *url.URL, key string) (status int, ids []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("models").String(), nil)
	if err != nil {
		return 0, nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	once := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	resp, err := once.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, mostModels)).Decode(&list) != nil {
		return resp.StatusCode, nil, nil
	}
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	return resp.StatusCode, ids, nil
}

// plainError is an error of the network without the request that it came of.
func plainError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", seconds(askTime))
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func tool(name, program, without string) check {
	path, err := exec.LookPath(program)
	if err != nil {
		return check{name, checkNote, program + " is not installed", without}
	}
	return check{Name: name, State: checkOK, Text: path}
}

func stateFolder(dir string) check {
	if err := writable(dir); err != nil {
		return check{"state", checkMissing, err.Error(), "Sessions are kept there; make it writable, or set XDG_STATE_HOME."}
	}
	return check{Name: "state", State: checkOK, Text: short(dir)}
}

// writable makes a folder, and a file in it that it takes away again.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return fmt.Errorf("write in %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// runtimeFolder looks whether a daemon for the workspace can have its socket.
func runtimeFolder(dir string) check {
	build, err := daemon.Build()
	if err != nil {
		return check{"daemon", checkMissing, err.Error(), ""}
	}
	path, err := daemon.Path(dir, build)
	if err != nil {
		return check{"daemon", checkMissing, err.Error(), ""}
	}
	if _, err := os.Stat(path); err == nil {
		return check{Name: "daemon", State: checkOK, Text: "runs for this workspace, at " + path}
	}
	return check{Name: "daemon", State: checkOK, Text: "starts when needed, at " + path}
}
