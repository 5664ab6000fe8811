package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/scenario"
	"tandem/agent/tool"
	"tandem/agent/tripwire"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// Guard is what is looked after in a session: the stop conditions and scenarios of the workspace's
// configuration, compiled. Make it with NewGuard; one session uses it.
type Guard struct {
	Conditions []tripwire.Condition
	Scenarios  []scenario.Scenario

	place  *scenario.Place
	memory chan memory
	turn   chan struct{} // of the run that stands in the workspace
}

// store keeps contents beside those of the workspace's changes.
type store struct{ files *workspace.Workspace }

func (s store) Put(data []byte) (string, error)   { return s.files.Keep(data) }
func (s store) Get(digest string) ([]byte, error) { return s.files.Content(digest) }

// memory is what the last check saw. Whoever has taken it from its channel owns it until it is back.
type memory struct {
	look   tripwire.Look // nil: there was no check in this process
	output *string       // of the last command
}

// NewGuard makes the guard of one session in a workspace.
func NewGuard(conditions []tripwire.Condition, scenarios []scenario.Scenario, files *workspace.Workspace) *Guard {
	g := &Guard{Conditions: conditions, Scenarios: scenarios, memory: make(chan memory, 1), turn: make(chan struct{}, 1),
		place: &scenario.Place{Dir: files.Dir(), Store: store{files}, Command: runCommand}}
	g.memory <- memory{}
	return g
}

// Guards are the same by their names, for the core.
func (g *Guard) Guards() agent.Guards {
	var out agent.Guards
	for _, c := range g.Conditions {
		if b := c.Budget(); b != nil {
			out.Budgets = append(out.Budgets, agent.Budget{Name: c.Name(), Requests: b.Requests, Tokens: b.Tokens, Minutes: b.Minutes, Repeats: b.Repeats})
		} else {
			out.Tripwires = append(out.Tripwires, c.Name())
		}
	}
	for _, s := range g.Scenarios {
		out.Scenarios = append(out.Scenarios, s.Name)
	}
	return out
}

func (g *Guard) scenario(name string) (scenario.Scenario, error) {
	i := slices.IndexFunc(g.Scenarios, func(s scenario.Scenario) bool { return s.Name == name })
	if i < 0 {
		return scenario.Scenario{}, fmt.Errorf("the configuration has no scenario %q any more", name)
	}
	return g.Scenarios[i], nil
}

// with are the conditions of the configuration and those that the agent proposed and the developer
// keeps. One that is no condition has tripped: it was kept to be held.
func (g *Guard) with(proposed []json.RawMessage) ([]tripwire.Condition, []agent.Finding) {
	all := slices.Clip(g.Conditions)
	var unfit []agent.Finding
	for _, raw := range proposed {
		var spec tripwire.Spec
		err := json.Unmarshal(raw, &spec)
		var c tripwire.Condition
		if err == nil {
			c, err = spec.Compile()
		}
		if err == nil && c.Budget() != nil {
			err = errors.New("a budget stands in the configuration, or nowhere")
		}
		if err != nil {
			unfit = append(unfit, unevaluable(spec.Name, err))
			continue
		}
		all = append(all, c)
	}
	return all, unfit
}

// scenarioOf is what runs again when a condition has tripped: the scenario that it names, else the
// first that reads or writes what it watches.
func (g *Guard) scenarioOf(name string) string {
	i := slices.IndexFunc(g.Conditions, func(c tripwire.Condition) bool { return c.Name() == name })
	if i < 0 {
		return ""
	}
	c := g.Conditions[i]
	if c.Scenario() != "" {
		return c.Scenario()
	}
	for _, s := range g.Scenarios {
		if c.Concerns(slices.Concat(s.Inputs, s.Outputs)) {
			return s.Name
		}
	}
	return ""
}

// guard looks after what is configured, or, where nothing is, after the watches alone.
func (w Workplace) guard() *Guard {
	if w.Guard == nil {
		return NewGuard(nil, nil, w.Files)
	}
	return w.Guard
}

// check evaluates the stop conditions that the last operations could have touched, and reads the
// watches. Where the session was frozen or ended meanwhile it says nothing.
func (w Workplace) check(ctx context.Context, j Job, c agent.Check) agent.Input {
	if standStill(ctx, j.Freeze) != nil || ctx.Err() != nil {
		return agent.Evaluated{ID: j.ID, InVain: true}
	}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	g := w.guard()
	m := <-g.memory
	defer func() { g.memory <- m }()
	in := agent.Evaluated{ID: j.ID}
	in.Ops, m.output = w.behind(c.After, m.output)
	env, done, err := w.envIn(j, w.Files.Dir(), c.Baseline, m.output)
	if err != nil {
		return unevaluated(in, g, err)
	}
	defer func() { _ = done() }() // it was only read
	env.Run = func(ctx context.Context, line string) (tripwire.Ran, error) {
		return w.look(ctx, j, w.Files.Dir(), line, givingUp(j, giveUp))
	}
	values := w.compiled(c.Watches)
	conditions, unfit := g.with(c.Proposed)
	now := env.Look(watchedFiles(conditions, values))
	op := operation(c.After, now, m.look)
	if len(c.After) > 0 {
		in.Findings = append(g.found(tripwire.After(ctx, conditions, env, op)), unfit...)
	}
	in.Values = readings(ctx, values, env, op)
	if c.Baseline == nil || c.Unbased {
		in.Baseline, err = json.Marshal(completed(env.Baseline, tripwire.TakeBaseline(ctx, conditions, env)))
	}
	if ctx.Err() != nil {
		return agent.Evaluated{ID: j.ID, InVain: true}
	}
	if err != nil {
		return unevaluated(in, g, err)
	}
	m.look = now
	return in
}

// behind are the ids of operations, and what the last command among them printed.
func (w Workplace) behind(after []agent.Past, output *string) ([]string, *string) {
	var ops []string
	for _, p := range after {
		ops = append(ops, p.Op.ID)
		if p.Op.Effect == protocol.EffectExecute {
			output = w.printed(p.Op)
		}
	}
	return ops, output
}

// completed is how things were at the start, with what conditions that came later look at as it is
// now.
func completed(base, now tripwire.Baseline) tripwire.Baseline {
	maps.Copy(now, base)
	return now
}

// impossible is the report of a job that cannot be done at all.
func impossible(j agent.Work, text string) agent.Input {
	switch job := j.Job.(type) {
	case agent.Ask:
		return agent.AskFailed{Question: j.ID, Why: agent.FailFinal, Text: text}
	case agent.Check:
		in := agent.Evaluated{ID: j.ID, Findings: []agent.Finding{unevaluable("the stop conditions", errors.New(text))}}
		for _, p := range job.After {
			in.Ops = append(in.Ops, p.Op.ID)
		}
		return in
	case agent.KeepInputs:
		return agent.Kept{Pause: job.Pause, Broken: text}
	case agent.RunBefore:
		return agent.Preceded{Pause: job.Pause, Broken: text}
	case agent.Rerun:
		return agent.Reran{ID: j.ID, Broken: text}
	case agent.Commit:
		return agent.CommitEnded{ID: j.ID, Why: text}
	}
	return failed(j.ID, text)
}

// unevaluated says that nothing could be evaluated: every condition has tripped.
func unevaluated(in agent.Evaluated, g *Guard, err error) agent.Input {
	in.Findings = nil
	for _, c := range g.Conditions {
		if c.Budget() == nil {
			in.Findings = append(in.Findings, unevaluable(c.Name(), err))
		}
	}
	return in
}

func unevaluable(name string, err error) agent.Finding {
	return agent.Finding{Tripwire: name, Facts: []protocol.Fact{{Text: fmt.Sprintf("%s cannot be evaluated: %v", name, err),
		Source: &protocol.FactSource{Tripwire: name, Expected: "that it can be evaluated", Observed: err.Error()}}}}
}

// found are the conditions that do not hold, with what runs again for each.
func (g *Guard) found(all []tripwire.Finding) []agent.Finding {
	var out []agent.Finding
	for _, f := range tripwire.Tripped(all) {
		out = append(out, agent.Finding{Tripwire: f.Tripwire, Scenario: g.scenarioOf(f.Tripwire), Facts: f.Facts})
	}
	return out
}

// operation is what several operations did together. What the daemon did not see being changed,
// such as a database outside the workspace, two looks tell; where there was none before, anything
// may have changed.
func operation(after []agent.Past, now, before tripwire.Look) tripwire.Operation {
	op := tripwire.Operation{Effect: protocol.EffectWrite, Unknown: before == nil && len(after) > 0}
	for _, p := range after {
		if p.Op.Effect == protocol.EffectExecute {
			op.Effect = protocol.EffectExecute
		}
		op.Unseen = op.Unseen || p.Unlisted
		for _, c := range p.Changes {
			op.Wrote = append(op.Wrote, c.Path)
		}
	}
	if before != nil {
		op.Wrote = append(op.Wrote, now.Since(before)...)
	}
	return op
}

// value is a watch with its compiled source.
type value struct {
	watch protocol.Watch
	tripwire.Value
	err error
}

func (w Workplace) compiled(watches []protocol.Watch) []value {
	var out []value
	for _, one := range watches {
		v, err := tripwire.CompileSource(one.Source)
		for _, text := range []string{one.Source.SQL, one.Source.Query, one.Source.Command, one.Source.Output} {
			if mark := w.Secrets.Mark(text); mark != "" {
				err = fmt.Errorf("its source held a secret, in whose place stands %s; leave it out: a command has it in its environment, PostgreSQL takes PGPASSWORD or ~/.pgpass", mark)
			}
		}
		out = append(out, value{one, v, err})
	}
	return out
}

func watchedFiles(conditions []tripwire.Condition, values []value) []string {
	files := tripwire.Files(conditions)
	for _, v := range values {
		if v.err == nil {
			files = append(files, v.Files()...)
		}
	}
	return files
}

// readings are the watches that were never read, or whose value the operation could have changed.
func readings(ctx context.Context, values []value, env tripwire.Env, op tripwire.Operation) []agent.Reading {
	var out []agent.Reading
	for _, v := range values {
		r := agent.Reading{Watch: v.watch.ID}
		switch {
		case v.err != nil:
			r.Error = v.err.Error()
		case !v.watch.At.IsZero() && !v.Touches(op):
			continue
		default:
			text, err := v.Read(ctx, env)
			if err != nil {
				r.Error = err.Error()
			} else {
				r.Value = text
			}
		}
		out = append(out, r)
	}
	return out
}

// envIn is the world in which conditions are evaluated and watches read: the workspace's folder, or
// a copy of it. The second result gives it back.
func (w Workplace) envIn(j Job, dir string, base []byte, output *string) (tripwire.Env, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return tripwire.Env{}, nil, err
	}
	env := tripwire.Env{Dir: dir, Home: w.Files.Dir(), Files: root.FS(), Output: output}
	env.Run = func(ctx context.Context, line string) (tripwire.Ran, error) {
		return w.look(ctx, j, dir, line, attending(j))
	}
	if len(base) > 0 {
		if err := json.Unmarshal(base, &env.Baseline); err != nil {
			return env, root.Close, fmt.Errorf("read how things were at the start: %w", err)
		}
	}
	return env, root.Close, nil
}

// attending stays with a command of a job, which stands still while the job does.
func attending(j Job) func(context.Context, *command.Command) bool {
	return func(ctx context.Context, c *command.Command) bool { return attend(ctx, c, j.Freeze) }
}

// givingUp stays with a command of a check. A pause gives the check up, which is made again after
// it: the command has a bound of its own, that a pause would use up.
func givingUp(j Job, giveUp func()) func(context.Context, *command.Command) bool {
	return func(ctx context.Context, c *command.Command) bool {
		return stay(ctx, c, j.Freeze, func(frozen bool) (ends bool) {
			if frozen {
				giveUp()
			}
			return false
		})
	}
}

// look runs a command of a condition or a watch in a folder.
func (w Workplace) look(ctx context.Context, j Job, dir, line string, attend func(context.Context, *command.Command) bool) (tripwire.Ran, error) {
	spec, err := w.Commands.spec(line, dir, networked(j.Job))
	if err != nil {
		return tripwire.Ran{}, err
	}
	if end, ok := ctx.Deadline(); ok {
		spec.Timeout = time.Until(end)
	}
	spec.Filter = w.filter
	c, err := command.Start(spec, func(string) {})
	if err != nil {
		return tripwire.Ran{}, err
	}
	stopped := attend(ctx, c)
	r := c.Result()
	switch {
	case r.TimedOut || stopped:
		return tripwire.Ran{}, fmt.Errorf("it was ended after %s", r.Duration.Round(100*time.Millisecond))
	case r.Signal != "":
		return tripwire.Ran{}, errors.New("it was ended by " + r.Signal)
	}
	return tripwire.Ran{Code: r.ExitCode, Output: r.Output}, nil
}

// mostPrinted is how much of a command's output conditions and watches look at, in bytes.
const mostPrinted = 4 << 20

// printed is what a command has printed: what is kept of it on disk, else what is shown.
func (w Workplace) printed(op protocol.Operation) *string {
	text := op.Output
	if f, err := os.Open(filepath.Join(w.Output, op.ID+".log")); w.Output != "" && err == nil {
		defer f.Close()
		if whole, err := io.ReadAll(io.LimitReader(f, mostPrinted)); err == nil {
			text = string(whole)
		}
	}
	return &text
}

// writers are the tools that change files.
var writers = []string{tool.EditFile, tool.WriteFile, tool.MoveFile, tool.DeleteFile}

// forbidden are the conditions that keep a file tool from writing what it names: by the name that
// was given, and by the file that is meant, with links followed.
func (w Workplace) forbidden(r agent.Run) []agent.Finding {
	if !slices.Contains(writers, r.Tool) {
		return nil
	}
	op := tripwire.Operation{Effect: protocol.EffectWrite}
	for _, given := range tool.Paths(r.Tool, r.Arguments) {
		op.Wrote = append(op.Wrote, path.Clean(filepath.ToSlash(given)))
		if name, err := w.Files.Name(given); err == nil && !slices.Contains(op.Wrote, name) { // else the tool refuses it
			op.Wrote = append(op.Wrote, name)
		}
	}
	g := w.guard()
	conditions, _ := g.with(r.Proposed) // one that is no condition trips with the check after it
	return g.found(tripwire.Before(conditions, op))
}

// held is the outcome of a call that a condition keeps from being done.
func held(op string, found []agent.Finding) agent.Outcome {
	o := failed(op, "refused: "+strings.TrimSuffix(found[0].Facts[0].Text, ".")+". Nothing was changed.")
	o.Findings = found
	return o
}
