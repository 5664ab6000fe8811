package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/model"
	"tandem/agent/tool"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// Workplace is the world of a session: its model, its files and its commands.
type Workplace struct {
	Model *model.Client
	Files *workspace.Workspace
	// Env is the environment of commands, without secrets of the daemon.
	Env []string
	// Timeout bounds a command that names no bound; 0 is 10 minutes.
	Timeout time.Duration
}

// Do does a job and says once how it ended.
func (w Workplace) Do(ctx context.Context, j Job) agent.Input {
	switch job := j.Job.(type) {
	case agent.Ask:
		return w.ask(ctx, j, job)
	case agent.Run:
		if tool.Takes(job.Tool) {
			return w.runTool(ctx, j.ID, job)
		}
		return w.runCommand(ctx, j, job)
	case agent.Verify:
		return w.command(ctx, j, commandArguments{Command: job.Command})
	case agent.Revert:
		return w.revert(ctx, j.ID, job)
	}
	return failed(j.ID, fmt.Sprintf("nobody can do %T", j.Job))
}

func failed(op, text string) agent.Outcome {
	return agent.Outcome{Op: op, Failed: true, Text: text, Output: text}
}

// ask puts one question to the model.
func (w Workplace) ask(ctx context.Context, j Job, q agent.Ask) agent.Input {
	request := model.Request{Model: q.Model, Messages: each(q), Tools: agent.Tools(), ToolChoice: q.Force}
	if q.Silent {
		request.ToolChoice = "none"
	}
	a, err := w.Model.Ask(ctx, request, func(d model.Delta) {
		if d.Text != "" {
			j.Said(d.Text)
		}
	})
	if err != nil {
		return inVain(j.ID, q.Attempt, err)
	}
	r := agent.Replied{Question: j.ID, Text: a.Text, Reasoning: a.Reasoning, Length: a.Finish == model.Length,
		Usage: protocol.Usage{InputTokens: int64(a.Usage.InputTokens), CachedInputTokens: int64(a.Usage.CachedInputTokens), OutputTokens: int64(a.Usage.OutputTokens)}}
	for _, c := range a.Calls {
		r.Calls = append(r.Calls, agent.ModelCall{Name: c.Name, Arguments: c.Arguments})
	}
	return r
}

func each(q agent.Ask) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for _, m := range q.All() {
			if !yield(m) {
				return
			}
		}
	}
}

// The first wait before a question is asked again, and the longest.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = time.Minute
	// noServerTries is how often a server that nothing answers for is tried.
	noServerTries = 2
)

// inVain says why a question got no whole answer, and when to ask again.
func inVain(id string, attempt int, err error) agent.AskFailed {
	f := agent.AskFailed{Question: id, Why: agent.FailCut, Text: err.Error()}
	var e *model.Error
	if !errors.As(err, &e) {
		return f
	}
	switch e.Kind {
	case model.ContextLimit:
		f.Why = agent.FailContext
	case model.UnsupportedField:
		f.Why = agent.FailUnsupported
	case model.Cut, model.Stalled, model.Garbled:
		f.Wait = backoff(attempt) / 2
	case model.NoServer:
		f.Why, f.Wait = agent.FailBusy, backoff(attempt)
		if attempt >= noServerTries {
			f.Why = agent.FailFinal
		}
	default:
		f.Why, f.Wait = agent.FailBusy, backoff(attempt)
		if e.RetryAfter > 0 {
			f.Wait = jittered(e.RetryAfter)
		}
	}
	if !e.Retryable() && e.Kind != model.NoServer && e.Kind != model.ContextLimit {
		f.Why = agent.FailFinal
	}
	if f.Why == agent.FailFinal {
		f.Wait = 0
	}
	return f
}

func backoff(attempt int) time.Duration {
	return jittered(min(firstWait<<min(attempt, 10), longestWait))
}

// jittered lengthens a wait by up to a fifth, so that many clients do not come back as one.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/5+1))
}

func (w Workplace) runTool(ctx context.Context, op string, r agent.Run) agent.Input {
	o := tool.Tools{Files: w.Files}.Run(ctx, tool.Call{Name: r.Tool, Arguments: r.Arguments})
	return agent.Outcome{Op: op, Failed: o.Failed, Text: o.Text, Output: o.Summary, Changes: w.changes(o.Changes)}
}

// commandArguments are what run_command takes. Weak models give a number as a string.
type commandArguments struct {
	Command string          `json:"command"`
	Cwd     string          `json:"cwd"`
	Timeout json.RawMessage `json:"timeout_s"`
}

func (w Workplace) runCommand(ctx context.Context, j Job, r agent.Run) agent.Input {
	var args commandArguments
	if err := json.Unmarshal([]byte(r.Arguments), &args); err != nil || strings.TrimSpace(args.Command) == "" {
		return failed(j.ID, `command: give the command line as a string. A right call: {"intent":"I run the tests.","step":"s1","command":"go test ./..."}`)
	}
	return w.command(ctx, j, args)
}

// command runs a command line to its end and tells which files it changed.
func (w Workplace) command(ctx context.Context, j Job, args commandArguments) agent.Input {
	dir, err := w.folder(args.Cwd)
	if err != nil {
		return failed(j.ID, err.Error())
	}
	before, err := w.Files.Snapshot(ctx)
	if err != nil {
		return failed(j.ID, err.Error())
	}
	c, err := command.Start(command.Spec{Line: args.Command, Dir: dir, Env: w.Env, Timeout: w.bound(args.Timeout)}, j.Said)
	if err != nil {
		return failed(j.ID, err.Error())
	}
	stopped := attend(ctx, c, j.Freeze)
	o := outcome(j.ID, c.Result(), stopped)
	after, err := w.Files.Snapshot(context.WithoutCancel(ctx))
	if err != nil {
		o.Text += "\nWhich files it changed is not known: " + err.Error()
		return o
	}
	o.Changes = w.changes(w.Files.Diff(before, after))
	return o
}

// attend stays with a command until it has ended, and says whether it was told to stop.
func attend(ctx context.Context, c *command.Command, freeze <-chan bool) (stopped bool) {
	done := ctx.Done()
	for {
		select {
		case <-c.Done():
			return stopped
		case <-done:
			c.Stop()
			stopped, done = true, nil
		case frozen := <-freeze:
			// One that has ended meanwhile can be neither frozen nor thawed: Done tells it.
			if frozen {
				_ = c.Freeze()
			} else {
				_ = c.Thaw()
			}
		}
	}
}

// outcome is a command's end in the words of the session.
func outcome(op string, r command.Result, stopped bool) agent.Outcome {
	head := fmt.Sprintf("exit code %d after %s", r.ExitCode, r.Duration.Round(10*time.Millisecond))
	switch {
	case r.TimedOut:
		head = fmt.Sprintf("ended by its time limit after %s", r.Duration.Round(100*time.Millisecond))
	case r.Signal != "":
		head = fmt.Sprintf("ended by %s after %s", r.Signal, r.Duration.Round(10*time.Millisecond))
	}
	if len(r.Leftovers) > 0 {
		head += "; processes that it left behind were ended: " + strings.Join(r.Leftovers, "; ")
	}
	o := agent.Outcome{Op: op, Cancelled: stopped, Text: strings.TrimRight(head+"\n"+r.Output, "\n"), Output: r.Output,
		Failed: r.TimedOut || r.ExitCode != 0}
	if r.Signal == "" {
		o.ExitCode = &r.ExitCode
	}
	return o
}

// folder is the working folder of a command: the workspace, or one in it.
func (w Workplace) folder(cwd string) (string, error) {
	if cwd == "" {
		return w.Files.Dir(), nil
	}
	dir := filepath.FromSlash(cwd)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.Files.Dir(), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("cwd: there is no folder %q in the workspace", cwd)
	}
	if rel, err := filepath.Rel(w.Files.Dir(), real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("cwd: %q lies outside the workspace", cwd)
	}
	return real, nil
}

// bound is the time limit of a command, in the words of the model or our own.
func (w Workplace) bound(raw json.RawMessage) time.Duration {
	s, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || s <= 0 {
		return w.Timeout
	}
	return min(time.Duration(s*float64(time.Second)), longestCommand)
}

// longestCommand is the hard upper bound of any command.
const longestCommand = 12 * time.Hour

// revert takes the edits of operations back, the newest first.
func (w Workplace) revert(ctx context.Context, op string, r agent.Revert) agent.Input {
	var back []workspace.Change
	for _, p := range r.Edits {
		for _, c := range slices.Backward(p.Changes) {
			back = append(back, workspace.Change{Path: c.Path, Before: image(c.Before), After: image(c.After)})
		}
	}
	done, err := w.Files.Revert(ctx, back, false)
	if err != nil {
		return failed(op, err.Error())
	}
	return agent.Outcome{Op: op, Changes: w.changes(done.Changes), Conflicts: done.Conflicts, Text: "taken back"}
}

// changes are file changes in the words of the session, with the regions that differ.
func (w Workplace) changes(list []workspace.Change) []agent.Change {
	var out []agent.Change
	for _, c := range list {
		out = append(out, agent.Change{Path: c.Path, Before: imageOf(c.Before), After: imageOf(c.After), Hunks: w.hunks(c)})
	}
	return out
}

// shownFile is the largest file, in bytes, whose changed regions are told.
const shownFile = 1 << 20

func (w Workplace) hunks(c workspace.Change) []protocol.Hunk {
	before, ok := w.content(c.Before)
	after, too := w.content(c.After)
	if !ok || !too || len(before) > shownFile || len(after) > shownFile {
		return nil
	}
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 0)
	if err != nil {
		return nil
	}
	var out []protocol.Hunk
	for _, h := range u.Hunks {
		out = append(out, hunk(h))
	}
	return out
}

func hunk(h *udiff.Hunk) protocol.Hunk {
	out := protocol.Hunk{OldStart: h.FromLine - 1, NewStart: h.ToLine - 1}
	for _, l := range h.Lines {
		switch l.Kind {
		case udiff.Delete:
			out.OldLines++
		case udiff.Insert:
			out.NewLines++
		default:
			out.OldLines++
			out.NewLines++
		}
	}
	return out
}

// content is what an image shows; no file is an empty one.
func (w Workplace) content(i *workspace.Image) (string, bool) {
	if i == nil {
		return "", true
	}
	if i.Digest == "" {
		return "", false
	}
	b, err := w.Files.Content(i.Digest)
	return string(b), err == nil
}
