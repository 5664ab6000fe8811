package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/agent/scenario"
	"tandem/agent/tripwire"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// keep keeps a scenario's inputs as they are now.
func (w Workplace) keep(ctx context.Context, k agent.KeepInputs) agent.Input {
	snapshot, err := w.snapshot(ctx, k.Scenario)
	switch {
	case err != nil && ctx.Err() != nil:
		return agent.Kept{} // of no pause: they are kept when the session is open again
	case err != nil:
		return agent.Kept{Pause: k.Pause, Broken: err.Error()}
	}
	return agent.Kept{Pause: k.Pause, Snapshot: snapshot.Digest()}
}

func (w Workplace) snapshot(ctx context.Context, name string) (scenario.Snapshot, error) {
	s, err := w.guard().scenario(name)
	if err != nil {
		return scenario.Snapshot{}, err
	}
	return w.guard().place.Take(ctx, s)
}

// before gives the run that a decision is held against: the one that tripped, where that was the
// scenario's own, else one on the snapshot in a copy.
func (w Workplace) before(ctx context.Context, j Job, b agent.RunBefore) agent.Input {
	run, err := w.runBefore(ctx, j, b)
	if err != nil {
		return agent.Preceded{Pause: b.Pause, Broken: broken(ctx, err)}
	}
	return agent.Preceded{Pause: b.Pause, Run: run}
}

// broken says why a run gave nothing.
func broken(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it was ended before it was over"
	}
	return err.Error()
}

func (w Workplace) runBefore(ctx context.Context, j Job, b agent.RunBefore) (protocol.Run, error) {
	g := w.guard()
	s, err := g.scenario(b.Scenario)
	if err != nil {
		return protocol.Run{}, err
	}
	for _, p := range slices.Backward(b.Tripped) {
		if p.Ran(s.Run) && p.Op.ExitCode != nil && p.Op.StartedAt != nil && p.Op.EndedAt != nil {
			return w.ranAlready(ctx, j, s, p, b)
		}
	}
	snapshot, err := g.place.Load(b.Snapshot)
	if err != nil {
		return protocol.Run{}, err
	}
	t := trial{w: w, j: j, s: s, failing: b.Failing, proposed: b.Proposed, baseline: b.Baseline}
	r, err := g.place.Run(t.context(ctx), s, scenario.How{Snapshot: &snapshot, Aside: true, Check: t.check})
	return r.Run, err
}

// ranAlready is the agent's own run of the scenario.
func (w Workplace) ranAlready(ctx context.Context, j Job, s scenario.Scenario, p agent.Past, b agent.RunBefore) (protocol.Run, error) {
	run := protocol.Run{ExitCode: *p.Op.ExitCode, DurationMs: p.Op.EndedAt.Sub(*p.Op.StartedAt).Milliseconds()}
	outputs, err := w.guard().place.Outputs(ctx, s)
	if err != nil {
		return run, err
	}
	run.Outputs = outputs
	t := trial{w: w, j: j, s: s, failing: b.Failing, proposed: b.Proposed, baseline: b.Baseline, output: w.printed(p.Op)}
	run.Checks, err = t.check(ctx, w.Files.Dir())
	return run, err
}

// rerun runs a scenario and holds it against the run before it.
func (w Workplace) rerun(ctx context.Context, j Job, r agent.Rerun) agent.Input {
	out, err := w.reran(ctx, j, r)
	if err != nil {
		return agent.Reran{ID: j.ID, Broken: broken(ctx, err)}
	}
	out.ID = j.ID
	return out
}

func (w Workplace) reran(ctx context.Context, j Job, r agent.Rerun) (agent.Reran, error) {
	g := w.guard()
	s, err := g.scenario(r.Scenario)
	if err != nil {
		return agent.Reran{}, err
	}
	select {
	case g.turn <- struct{}{}: // two runs in one workspace would disturb each other
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return agent.Reran{}, ctx.Err()
	}
	how := scenario.How{}
	if r.Snapshot != "" {
		snapshot, err := g.place.Load(r.Snapshot)
		if err != nil {
			return agent.Reran{}, err
		}
		how.Snapshot = &snapshot
	}
	t := &trial{w: w, j: j, s: s, failing: r.Failing, proposed: r.Proposed, watches: w.compiled(r.Watches), baseline: r.Baseline}
	how.Check = t.check
	result, err := w.inTheWorkspace(ctx, t, how)
	if err != nil {
		return agent.Reran{}, err
	}
	w.lookedAt(t)
	return w.compared(t, r, result)
}

// inTheWorkspace runs a scenario whose outputs come to stand in the workspace, and has the ledger
// know of them.
func (w Workplace) inTheWorkspace(ctx context.Context, t *trial, how scenario.How) (result scenario.Result, err error) {
	place := w.guard().place
	stood, err := place.Outputs(ctx, t.s)
	if err != nil {
		return result, err
	}
	entry := w.Ledger.enter()
	defer func() { entry.end(outputChanges(stood, result.Outputs)) }() // also when it panics: commands wait for it
	return place.Run(t.context(ctx), t.s, how)
}

// lookedAt notes how what is watched stands after a run: what the run wrote is not taken for the
// doing of the next operation.
func (w Workplace) lookedAt(t *trial) {
	g := w.guard()
	env, done, err := w.envIn(t.j, w.Files.Dir(), nil, nil)
	if err != nil {
		return // the next check looks at everything
	}
	defer func() { _ = done() }() // it was only read
	m := <-g.memory
	conditions, _ := g.with(t.proposed)
	m.look = env.Look(watchedFiles(conditions, t.watches))
	g.memory <- m
}

// outputChanges are outputs before and after a run as changes of files.
func outputChanges(before, after []protocol.Output) []workspace.Change {
	var out []workspace.Change
	for _, a := range after {
		c := workspace.Change{Path: a.Path, After: &workspace.Image{Digest: a.Digest, Size: a.Bytes}}
		for _, b := range before {
			if b.Path == a.Path {
				c.Before = &workspace.Image{Digest: b.Digest, Size: b.Bytes}
			}
		}
		if c.Before == nil || c.Before.Digest != c.After.Digest {
			out = append(out, c)
		}
	}
	return out
}

func (w Workplace) compared(t *trial, r agent.Rerun, result scenario.Result) (agent.Reran, error) {
	before := result.Run
	if r.Before != nil {
		before = *r.Before
	}
	changes, err := w.guard().place.Compare(before, result.Run)
	if err != nil {
		return agent.Reran{}, err
	}
	facts := t.facts
	if result.ExitCode != 0 {
		facts = append(facts, protocol.Fact{Text: fmt.Sprintf("«%s» ended with exit code %d: %s", t.s.Run, result.ExitCode, lastWords(result.Text))})
	}
	return agent.Reran{Facts: facts, Values: t.values, Comparison: protocol.Comparison{Scenario: r.Scenario, Before: before, After: result.Run,
		Input: protocol.Input{Digest: result.Input, Same: r.Input == "" || r.Input == result.Input}, Changes: append(t.moved, changes...)}}, nil
}

// Between holds two runs of a scenario that are over against each other.
func (w Workplace) Between(s agent.State, first, second string) (protocol.Comparison, error) {
	scenario, input, before, err := s.RanOnce(first)
	if err != nil {
		return protocol.Comparison{}, err
	}
	other, digest, after, err := s.RanOnce(second)
	if err != nil {
		return protocol.Comparison{}, err
	}
	if other != scenario {
		return protocol.Comparison{}, protocol.Errorf(protocol.InvalidParams, "runs: %s is a run of %q and %s one of %q; compare runs of one scenario", first, scenario, second, other)
	}
	changes, err := w.guard().place.Compare(before, after)
	if err != nil {
		return protocol.Comparison{}, fmt.Errorf("compare %s with %s: %w", first, second, err)
	}
	return protocol.Comparison{Scenario: scenario, Before: before, After: after, Changes: changes,
		Input: protocol.Input{Digest: digest, Same: digest == input}, Actions: []protocol.Action{}}, nil
}

// lastWords are the last lines of an output.
func lastWords(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " ⏎ ")
}

// trial is one run of a scenario with the conditions that are looked at after it.
type trial struct {
	w        Workplace
	j        Job
	s        scenario.Scenario
	failing  []string
	proposed []json.RawMessage
	watches  []value
	baseline []byte
	output   *string // of the run
	facts    []protocol.Fact
	values   []agent.Reading   // of the watches, after it
	moved    []protocol.Change // watches whose value it changed
}

// trialKey finds the trial that a command of the place belongs to.
type trialKey struct{}

func (t *trial) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, trialKey{}, t)
}

// runCommand runs the command of a scenario.
func runCommand(ctx context.Context, dir, line string) (scenario.Ended, error) {
	t, ok := ctx.Value(trialKey{}).(*trial)
	if !ok {
		return scenario.Ended{}, fmt.Errorf("a command that belongs to no run")
	}
	ran, err := t.w.look(ctx, t.j, dir, line, attending(t.j))
	t.output = &ran.Output
	return scenario.Ended{ExitCode: ran.Code, Output: ran.Output}, err
}

// check evaluates the conditions that watch what the scenario reads and writes, and those that
// failed, in the folder of the run. Everything has to be there now.
func (t *trial) check(ctx context.Context, dir string) ([]protocol.Check, error) {
	env, done, err := t.w.envIn(t.j, dir, t.baseline, t.output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }() // it was only read
	env.Whole = true
	files := slices.Concat(t.s.Inputs, t.s.Outputs)
	var out []protocol.Check
	conditions, unfit := t.w.guard().with(t.proposed)
	for _, f := range unfit {
		t.facts = append(t.facts, f.Facts...)
	}
	for _, c := range conditions {
		if c.Budget() != nil || c.Scenario() != t.s.Name && !c.Concerns(files) && !slices.Contains(t.failing, c.Name()) {
			continue
		}
		f := c.Check(ctx, env, tripwire.Operation{Effect: protocol.EffectExecute})
		out = append(out, f.Check())
		t.facts = append(t.facts, f.Facts...)
	}
	t.read(ctx, env)
	return out, nil
}

// read reads the watches after a run, and notes those whose value is another one.
func (t *trial) read(ctx context.Context, env tripwire.Env) {
	for _, v := range t.watches {
		if v.err != nil {
			continue
		}
		r := agent.Reading{Watch: v.watch.ID}
		if text, err := v.Read(ctx, env); err != nil {
			r.Error = err.Error()
		} else {
			r.Value = text
		}
		t.values = append(t.values, r)
		before, now := shownValue(v.watch.Value, v.watch.Error), shownValue(r.Value, r.Error)
		if before != now {
			t.moved = append(t.moved, protocol.Change{What: "watch " + v.watch.Name, Before: before, After: now})
		}
	}
}

func shownValue(value any, why string) string {
	if value == nil {
		return "cannot be read: " + why
	}
	return fmt.Sprint(value)
}

// Drift says how the live inputs have moved since a snapshot, in sentences.
func (w Workplace) Drift(ctx context.Context, snapshot string) ([]string, error) {
	place := w.guard().place
	s, err := place.Load(snapshot)
	if err != nil {
		return nil, err
	}
	moved, err := place.Drift(ctx, s)
	var out []string
	for _, m := range moved {
		out = append(out, m.String())
	}
	return out, err
}
