package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/model"
	"tandem/agent/sandbox"
	"tandem/agent/secret"
	"tandem/agent/secretfile"
	"tandem/agent/tool"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// Workplace is the world of a session: its model, its files and its commands.
type Workplace struct {
	Model *model.Client
	Files *workspace.Workspace
	// Commands is how commands run.
	Commands Commands
	// Also are further paths of the workspace, ignored or not, whose changes by commands are kept.
	Also []string
	// Ledger is the workspace's; it is needed.
	Ledger *Ledger
	// Secrets knows the marks that stand in place of secrets: with one in it nothing is written
	// and no command is run.
	Secrets *secret.Redactor
	// SecretFiles says which files hold secrets: they are touched only with the developer's leave.
	SecretFiles secretfile.Rules
	// Guard is what is looked after; nil is nothing but watches.
	Guard *Guard
	// Output is the folder for the whole output of commands, one file each, named by the
	// operation; "" keeps none.
	Output string
}

// Commands is how the commands of a session run.
type Commands struct {
	// Env is the environment of a command; that of one that may use the network names the way there.
	Env, NetworkEnv []string
	// Sandbox is what commands are confined to, without the network.
	Sandbox sandbox.Policy
	// Refused says why no command runs at all; "" when they do.
	Refused string
	// Timeout bounds a command that names no bound; 0 is 10 minutes.
	Timeout time.Duration
}

// spec is how a command line runs in a folder: one of the workspace, or a copy of it, which may be written, too.
func (c Commands) spec(line, dir string, network bool) (command.Spec, error) {
	if c.Refused != "" {
		return command.Spec{}, errors.New(c.Refused)
	}
	s := command.Spec{Line: line, Dir: dir, Env: c.Env, Timeout: c.Timeout, Sandbox: c.Sandbox}
	if inside, err := filepath.Rel(s.Sandbox.Root, dir); err != nil || !filepath.IsLocal(inside) {
		if above, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil { // the copy itself is no link, or is none any more
			s.Sandbox.Write = append(slices.Clip(s.Sandbox.Write), filepath.Join(above, filepath.Base(dir)))
		}
	}
	if network {
		s.Env, s.Sandbox.Network = c.NetworkEnv, true
	}
	return s, nil
}

// networked says whether the developer lets the commands of a job use the network.
func networked(j agent.Job) bool {
	switch j := j.(type) {
	case agent.Run:
		return j.Network
	case agent.Verify:
		return j.Network
	case agent.Check:
		return j.Network
	case agent.RunBefore:
		return j.Network
	case agent.Rerun:
		return j.Network
	}
	return false
}

// Do does a job and says once how it ended.
func (w Workplace) Do(ctx context.Context, j Job) agent.Input {
	if ask, ok := j.Job.(agent.Ask); ok {
		return w.ask(ctx, j, ask)
	}
	if w.Files.Gone() {
		return impossible(j.Work, fmt.Sprintf("the workspace's folder %s was removed or replaced while the session was open; end the session and start another there", w.Files.Dir()))
	}
	switch job := j.Job.(type) {
	case agent.Run:
		return w.run(ctx, j, job)
	case agent.Verify:
		return w.command(ctx, j, commandArguments{Command: job.Command}, job.Network, job.Leave)
	case agent.Revert:
		return w.revert(ctx, j.ID, job)
	case agent.Check:
		return w.check(ctx, j, job)
	case agent.KeepInputs:
		return w.keep(ctx, job)
	case agent.RunBefore:
		return w.before(ctx, j, job)
	case agent.Rerun:
		return w.rerun(ctx, j, job)
	case agent.Commit:
		return w.commit(ctx, j.ID, job)
	}
	return failed(j.ID, fmt.Sprintf("nobody can do %T", j.Job))
}

// run runs a tool of the model. What it was shown in place of a secret is not the secret: written
// into a file it would destroy it.
func (w Workplace) run(ctx context.Context, j Job, r agent.Run) agent.Input {
	mark := w.Secrets.Mark(r.Arguments)
	switch {
	case mark != "" && (slices.Contains(writers, r.Tool) || !tool.Takes(r.Tool)):
		return failed(j.ID, fmt.Sprintf("refused: the arguments hold %s, which stands in place of a secret that you are not shown. Leave its line as it is: edit what stands beside it. A command has the values of the environment in its variables, and reads others where they stand. If you made the value up, write one that looks like none, such as example.", mark))
	case tool.Takes(r.Tool):
		if found := w.forbidden(r); len(found) > 0 {
			return held(j.ID, found)
		}
		if needs := w.fileNeeds(r); len(needs) > 0 {
			return withheld(j.ID, needs)
		}
		return w.runTool(ctx, j.ID, r)
	}
	return w.runCommand(ctx, j, r)
}

func failed(op, text string) agent.Outcome {
	return agent.Outcome{Op: op, Failed: true, Text: text, Output: text}
}

// tools are the same bytes for every question of every session.
var tools = sync.OnceValue(agent.Tools)

// ask puts one question to the model.
func (w Workplace) ask(ctx context.Context, j Job, q agent.Ask) agent.Input {
	if !q.After.IsZero() {
		wait(ctx, q.After, systemClock(time.Now()))
	}
	request := model.Request{Model: q.Model, Messages: q.All, Tools: tools(), ToolChoice: q.Force}
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
		Usage: usage(request, a)}
	for _, c := range a.Calls {
		r.Calls = append(r.Calls, agent.ModelCall{Name: c.Name, Arguments: c.Arguments, Extra: c.Extra})
	}
	return r
}

// mostOutput is more than any model says and thinks in one answer, in tokens.
const mostOutput = 4 << 20

// bytesAToken is about how many bytes of code and English a model counts as one token.
const bytesAToken = 4

// usage is what an answer has used. Where the server tells nothing it is estimated from the length
// of what was sent and said: a budget that takes nothing for none would never stop anybody. What it
// cannot be is not believed: no model makes more tokens of a text than it has bytes, and one that is
// said to would have the conversation begun anew before each question.
func usage(q model.Request, a model.Answer) protocol.Usage {
	sent, said := len(q.Tools), len(a.Text)+len(a.Reasoning)
	for m := range q.Messages {
		sent += len(m)
	}
	if told := a.Usage; told != (model.Usage{}) && told.InputTokens <= sent {
		return protocol.Usage{InputTokens: int64(told.InputTokens), CachedInputTokens: int64(min(told.CachedInputTokens, told.InputTokens)),
			OutputTokens: int64(min(told.OutputTokens, mostOutput))}
	}
	for _, c := range a.Calls {
		said += len(c.Name) + len(c.Arguments)
	}
	return protocol.Usage{InputTokens: int64(sent/bytesAToken + 1), OutputTokens: int64(said/bytesAToken + 1), Estimated: true}
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
		f.Text = e.Text // there is no server that said more
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
	var o tool.Outcome
	entry := w.Ledger.enter()
	defer func() { entry.end(o.Changes) }() // also when it panics: commands wait for it
	o = tool.Tools{Files: w.Files}.Run(ctx, tool.Call{Name: r.Tool, Arguments: r.Arguments})
	return agent.Outcome{Op: op, Failed: o.Failed, Text: o.Text, Output: o.Summary, Changes: w.changes(o.Changes)}
}

// commandArguments are what run_command takes. Weak models give a number as a string.
type commandArguments struct {
	Command string          `json:"command"`
	Cwd     string          `json:"cwd"`
	Network json.RawMessage `json:"network"`
	Timeout json.RawMessage `json:"timeout_s"`
}

func (w Workplace) runCommand(ctx context.Context, j Job, r agent.Run) agent.Input {
	var args commandArguments
	if err := json.Unmarshal([]byte(r.Arguments), &args); err != nil || strings.TrimSpace(args.Command) == "" {
		return failed(j.ID, `command: give the command line as a string. A right call: {"intent":"I run the tests.","step":"s1","command":"go test ./..."}`)
	}
	return w.command(ctx, j, args, r.Network, r.Leave)
}

// command runs a command line to its end and tells which files it changed.
func (w Workplace) command(ctx context.Context, j Job, args commandArguments, network bool, leave []agent.Need) agent.Input {
	dir, err := w.folder(args.Cwd)
	if err != nil {
		return failed(j.ID, err.Error())
	}
	if needs := w.commandNeeds(args, dir, network, leave); len(needs) > 0 {
		return withheld(j.ID, needs)
	}
	spec, err := w.Commands.spec(args.Command, dir, networked(j.Job))
	if err != nil {
		return failed(j.ID, err.Error())
	}
	spec.Timeout, spec.Filter = w.bound(args.Timeout), w.filter
	mark := w.Ledger.begin()
	if w.Output != "" {
		if err := os.MkdirAll(w.Output, 0o700); err != nil {
			return failed(j.ID, err.Error())
		}
		spec.Spool = filepath.Join(w.Output, j.ID+".log")
	}
	o, diff := w.watched(ctx, j, spec)
	own := without(diff.Changes, w.Ledger.since(mark))
	w.Ledger.enter().end(own)
	for _, c := range own {
		w.saw(c.Path)
	}
	o.Changes = w.changes(own)
	notes := lostText(own) + unseenText(diff.Unseen)
	o.Text += changedText(own) + notes
	o.Output = strings.TrimPrefix(o.Output+notes, "\n") // the developer is told the same
	return o
}

// filter takes secrets out of a command's output.
func (w Workplace) filter() func(piece []byte, last bool) []byte {
	s := w.Secrets.Stream()
	return func(piece []byte, last bool) []byte {
		text := s.Next(string(piece))
		if last {
			text += s.Rest()
		}
		return []byte(text)
	}
}

// watched runs a command between two looks at the workspace and tells how these differ.
func (w Workplace) watched(ctx context.Context, j Job, spec command.Spec) (agent.Outcome, workspace.Difference) {
	before, err := w.Files.Glance(ctx, w.Also...)
	if err == nil {
		err = standStill(ctx, j.Freeze)
	}
	if ctx.Err() != nil {
		return agent.Outcome{Op: j.ID, Cancelled: true, Text: "it was ended before it began"}, workspace.Difference{}
	}
	if err != nil {
		return failed(j.ID, err.Error()), workspace.Difference{}
	}
	c, err := command.Start(spec, j.Said)
	if err != nil {
		return failed(j.ID, err.Error()), workspace.Difference{}
	}
	stopped := attend(ctx, c, j.Freeze)
	o := outcome(j.ID, c.Result(), stopped)
	if o.Failed && spec.Sandbox.Mechanism != sandbox.None {
		o.Text += agent.Confined(o.Output, spec.Sandbox.Network)
	}
	whole := context.WithoutCancel(ctx)
	after, err := w.Files.Snapshot(whole, w.Also...)
	if err != nil {
		o.Unlisted = true
		o.Text += "\nWhich files it changed is not known: " + err.Error()
		return o, workspace.Difference{}
	}
	diff := w.Files.Diff(whole, before, after)
	o.Unlisted = len(diff.Unseen) > 0
	return o, diff
}

// standStill waits while a job is frozen that has not begun.
func standStill(ctx context.Context, freeze <-chan bool) error {
	frozen := false
	select {
	case frozen = <-freeze:
	default:
	}
	for frozen {
		select {
		case frozen = <-freeze:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// attend stays with a command until it has ended, and says whether it was told to stop before
// it had. One that cannot be frozen is ended: a pause is a real stop.
func attend(ctx context.Context, c *command.Command, freeze <-chan bool) (stopped bool) {
	return stay(ctx, c, freeze, func(frozen bool) (ends bool) {
		err := setFrozen(c, frozen)
		return err != nil && !errors.Is(err, command.ErrEnded)
	})
}

// stay stays with a command until it has ended, and says whether it was told to stop before it had.
// What a pause means for it tell decides: true ends it.
func stay(ctx context.Context, c *command.Command, freeze <-chan bool, tell func(frozen bool) (ends bool)) (stopped bool) {
	done := ctx.Done()
	for {
		select {
		case <-c.Done():
			return stopped
		case <-done:
			stopped, done = stop(c), nil
		case frozen := <-freeze:
			if tell(frozen) {
				stopped = stop(c)
			}
		}
	}
}

// stop tells a command to end, and says whether it still ran.
func stop(c *command.Command) bool {
	select {
	case <-c.Done():
		return false
	default:
		c.Stop()
		return true
	}
}

func setFrozen(c *command.Command, frozen bool) error {
	if frozen {
		return c.Freeze()
	}
	return c.Thaw()
}

// saw takes a file as seen by the agent, to whom its change is told. A path that cannot be read
// stays unseen, so that an edit of it is refused until it was.
func (w Workplace) saw(path string) { _ = w.Files.Saw(path) }

// toldChanges is how many files of a command's changes the model is told by name.
const toldChanges = 50

// changedText tells the model which files a command changed: it may not know them as they are now.
func changedText(changes []workspace.Change) string {
	var names []string
	for _, c := range changes {
		switch {
		case c.Before == nil:
			names = append(names, c.Path+" (new)")
		case c.After == nil:
			names = append(names, c.Path+" (deleted)")
		default:
			names = append(names, c.Path)
		}
	}
	return listed("\nFiles that it changed: ", names)
}

// lostText tells of which files a command left no way back, since what they held before is not kept.
func lostText(changes []workspace.Change) string {
	var names []string
	for _, c := range changes {
		if why := workspace.NotKept(c.Before); why != "" {
			names = append(names, c.Path+" ("+why+")")
		}
	}
	return listed("\nWhat these files held before was not kept, so a revert cannot bring it back: ", names)
}

// unseenText tells of folders whose changes are not known.
func unseenText(folders []string) string {
	return listed("\nThese folders could not be looked at, so what changed in them is not known: ", folders)
}

// listed is a sentence with names behind it, as many as one can take in; nothing without a name.
func listed(text string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	shown := names[:min(len(names), toldChanges)]
	text += strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
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
	switch {
	case err != nil || !(s > 0): // no number is greater than none
		return w.Commands.Timeout
	case s >= longestCommand.Seconds():
		return longestCommand
	}
	return time.Duration(s * float64(time.Second))
}

// longestCommand is the hard upper bound of any command.
const longestCommand = 12 * time.Hour

// changes are file changes in the words of the session, with the regions that differ.
func (w Workplace) changes(list []workspace.Change) []agent.Change {
	var out []agent.Change
	for _, c := range list {
		out = append(out, agent.Change{Path: c.Path, Before: imageOf(c.Before), After: imageOf(c.After), Hunks: w.hunks(c), Made: c.Made})
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
