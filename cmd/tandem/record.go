package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tandem/agent/model"
	"tandem/agent/rehearsal"
	"tandem/agent/secret"
	"tandem/protocol"
	"tandem/server"
	"tandem/server/config"
)

// recording is a session that is written to a file while it runs, with the daemon that runs it
// and the recorder between the daemon and the model's server, all in this process.
type recording struct {
	path    string
	file    *os.File
	carrier *http.Transport
	model   *rehearsal.Server
	daemon  *server.Registry
}

// record starts a session and follows it while it is recorded.
func (c *runCommand) record(ctx context.Context, s std, task string) (err error) {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	r, err := c.openRecording(ctx, dir, task, s.getenv)
	if err != nil {
		return err
	}
	kept := context.WithoutCancel(ctx) // what was begun is written down also when the program is told to end
	err = inProcess(kept, r.daemon, dir, func(cl *client) error {
		started, err := ask[protocol.SessionResult](ctx, cl, protocol.MethodStart, protocol.StartParams{Task: task, Autonomy: c.Autonomy, Model: c.Model})
		if err != nil {
			return withoutModel(err)
		}
		return c.follow(ctx, s, cl, started.Session)
	})
	written, closing := r.close()
	if closing != nil {
		closing = fmt.Errorf("record %s: %w", r.path, closing)
		if !errors.As(err, new(*exitError)) { // how the session stands has been said
			closing = errors.Join(closing, err)
		}
		return closing
	}
	if !c.JSON {
		err = errors.Join(newScreen(s.out, s.getenv).print(r.farewell(written), bottom{}), err)
	}
	return err
}

// openRecording makes the file and what writes it. The workspace is read before anything runs.
func (c *runCommand) openRecording(ctx context.Context, dir, task string, getenv func(string) string) (*recording, error) {
	cfg, err := config.Load(config.Sources{Getenv: getenv, User: config.UserFile(getenv), Workspace: dir})
	if err != nil {
		return nil, err
	}
	if c.Model != "" {
		cfg.Model.Name = c.Model
	}
	if why := cfg.Model.Missing(); why != "" {
		return nil, withoutModel(&refusal{protocol.CodeModelUnavailable, why})
	}
	upstream, err := model.Endpoint(cfg.Model.BaseURL)
	if err != nil {
		return nil, err
	}
	redact := secret.New(os.Environ()).Text
	found, err := pack(ctx, dir, redact)
	if err != nil {
		return nil, err
	}
	r := &recording{carrier: http.DefaultTransport.(*http.Transport).Clone()}
	if r.file, r.path, err = newFile(c.Record, dir); err != nil {
		return nil, err
	}
	about := fmt.Sprintf("A session of Tandem %s with the model %s, recorded on %s.\n%s", server.Version, cfg.Model.Name,
		time.Now().UTC().Format(time.DateOnly), found.about())
	r.model, err = rehearsal.Record(context.WithoutCancel(ctx), upstream, r.file, rehearsal.Options{Steers: steersIn, Redact: redact, Upstream: r.carrier,
		Head: rehearsal.Head(redact(about), redact(task), found.files)})
	if err != nil {
		return nil, errors.Join(err, r.file.Close(), os.Remove(r.path))
	}
	r.daemon = server.NewRegistry(server.Options{State: server.StateFolder(getenv),
		Environ: withEnviron(os.Environ(), "OPENAI_BASE_URL="+r.model.URL)})
	return r, nil
}

// newFile makes the file of a recording, which nobody else may read. It lies outside of the
// workspace, where the agent would find its own words.
func newFile(name, dir string) (*os.File, string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, "", fmt.Errorf("record %s: %w", name, err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, "", fmt.Errorf("record %s: %w", name, err)
	}
	if rel, err := filepath.Rel(dir, folder); err == nil && filepath.IsLocal(rel) {
		return nil, "", fmt.Errorf("record %s: the file lies in the workspace, where the agent would read it; name one outside, as in %s",
			name, filepath.Join("..", filepath.Base(path)))
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, "", fmt.Errorf("record %s: the file is there already; name a new one", name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("record: %w", err)
	}
	return f, path, nil
}

// close ends the session's work and then the recording. A file in which nothing was written is
// taken away.
func (r *recording) close() (written bool, err error) {
	err = errors.Join(r.daemon.Close(), r.model.Close())
	r.carrier.CloseIdleConnections()
	info, stat := r.file.Stat()
	err = errors.Join(err, stat, r.file.Close())
	if stat == nil && info.Size() > 0 {
		return true, err
	}
	return false, errors.Join(err, os.Remove(r.path))
}

func (r *recording) farewell(written bool) []line {
	if !written {
		return []line{{text: "Nothing was recorded: no model was asked.", tone: careful}}
	}
	return []line{{text: "Recorded in " + short(r.path), tone: strong},
		{indent: 2, text: "It holds the conversation and the workspace's files: look through it before you give it away."},
		{indent: 2, text: fmt.Sprintf("play it    tandem demo %q", r.path)}}
}

// withEnviron is an environment in which variables are set anew.
func withEnviron(environ []string, ours ...string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.ContainsFunc(ours, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	return append(env, ours...)
}

// The lines around the developer's words in what the model is told of a steer.
var (
	steerHead = regexp.MustCompile(`(?m)^\[steer [^\]\n]+\] The developer says:\n`)
	steerTail = regexp.MustCompile(`(?m)^(It is about |It points at: |They had not seen yet that |It adds to what they decided in this pause\.|The session is paused: |Answer with update_plan first\.)`)
)

// steersIn are the developer's words in a message to the model.
func steersIn(text string) []string {
	var all []string
	heads := steerHead.FindAllStringIndex(text, -1)
	for i, at := range heads {
		words := text[at[1]:]
		if i+1 < len(heads) {
			words = text[at[1]:heads[i+1][0]]
		}
		if tail := steerTail.FindStringIndex(words); tail != nil {
			words = words[:tail[0]]
		}
		all = append(all, strings.TrimSpace(words))
	}
	return all
}
