package server

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"tandem/agent"
	"tandem/agent/scenario"
	"tandem/agent/session"
	"tandem/agent/tripwire"
	"tandem/agent/workspace"
	"tandem/protocol"
	"tandem/server/config"
	"tandem/server/rpc"
)

// guard is what a configuration asks to be looked after in a session.
func guard(cfg config.Config, files *workspace.Workspace) (*session.Guard, error) {
	conditions, err := tripwire.Compile(cfg.Tripwires)
	if err != nil {
		return nil, err
	}
	var scenarios []scenario.Scenario
	for _, s := range cfg.Scenarios {
		scenarios = append(scenarios, scenario.Scenario{Name: s.Name, Run: s.Run, Inputs: s.Inputs, Outputs: s.Outputs})
	}
	return session.NewGuard(conditions, scenarios, files), nil
}

// guards are the same by their names, with the watches. In a workspace that is not trusted nothing
// is looked after: that would read and run what its files say.
func guards(cfg config.Config, g *session.Guard, trusted bool) agent.Guards {
	if !trusted {
		return agent.Guards{}
	}
	out := g.Guards()
	s := cfg.Signals
	out.Signals = agent.Signals{Reads: s.Reads, Failures: s.Failures, Returns: s.Returns, Growth: s.Growth, Silence: time.Duration(s.SilenceS) * time.Second}
	out.Window = time.Duration(cfg.Decisions.WindowS) * time.Second
	out.Marked, out.Context, out.Network = cfg.Decisions.Major, cfg.Model.Context, cfg.Commands.Network
	out.Commits = cfg.Commits.Steps
	for _, w := range cfg.Watches {
		out.Watches = append(out.Watches, protocol.NewWatch{Name: w.Name, Source: w.Source})
	}
	return out
}

// watch adds or removes a live value.
func (c *client) watch(ctx context.Context, p protocol.WatchParams) (protocol.WatchResult, error) {
	var in agent.Input
	switch {
	case (p.Add == nil) == (p.Remove == ""):
		return protocol.WatchResult{}, protocol.Errorf(protocol.InvalidParams, "add, remove: give exactly one of them")
	case p.Add != nil:
		if err := sound(p.Add.Source); err != nil {
			return protocol.WatchResult{}, err
		}
		in = agent.AddWatch{Name: p.Add.Name, Source: p.Add.Source}
	default:
		in = agent.RemoveWatch{Watch: p.Remove}
	}
	receipt, err := c.post(ctx, p.SessionID, p.Request, in)
	return protocol.WatchResult{Watches: receipt.View().Watches}, err
}

// sound refuses a value source that cannot be one, with the key that is wrong.
func sound(s protocol.Source) error {
	_, err := tripwire.CompileSource(s)
	var e *tripwire.SpecError
	if errors.As(err, &e) {
		key := strings.TrimSuffix("add.source."+e.Key, ".")
		return protocol.Errorf(protocol.InvalidParams, "%s: %s", key, e.Text)
	}
	return err
}

// scenarioRun runs a scenario by hand. It is answered when the run is over: what follows from the
// same client does not wait for it.
func (c *client) scenarioRun(ctx context.Context, p protocol.ScenarioRunParams) (protocol.ScenarioRunResult, error) {
	if len(p.Runs) > 0 {
		return c.between(p)
	}
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.RunScenario{Scenario: p.Scenario, Against: p.Against})
	if err != nil {
		return protocol.ScenarioRunResult{}, err
	}
	rpc.Release(ctx)
	i := slices.IndexFunc(receipt.Events, is[agent.ScenarioWanted])
	if i < 0 {
		return protocol.ScenarioRunResult{}, errKeyReused
	}
	id := receipt.Events[i].(agent.ScenarioWanted).Wanted.ID
	var then agent.State
	err = c.on(p.SessionID, func(s *running) error {
		then, err = s.Await(ctx, func(now agent.State) bool {
			_, over := now.Run(id)
			return over || now.Ended
		})
		return err
	})
	if err != nil {
		return protocol.ScenarioRunResult{}, err
	}
	run, _ := then.Run(id)
	switch {
	case run.ID == "":
		return protocol.ScenarioRunResult{}, &protocol.Error{Kind: protocol.WrongMode, Mode: protocol.Done, Text: "scenario: the session ended before the run was over"}
	case run.Broken != "":
		return protocol.ScenarioRunResult{}, errors.New("scenario " + p.Scenario + " gave no comparison: " + run.Broken)
	}
	return protocol.ScenarioRunResult{Comparison: run.Comparison}, nil
}

// between holds two runs that are over against each other. Nothing is run.
func (c *client) between(p protocol.ScenarioRunParams) (protocol.ScenarioRunResult, error) {
	if len(p.Runs) != 2 || p.Against != "" {
		return protocol.ScenarioRunResult{}, protocol.Errorf(protocol.InvalidParams, "runs: give two ids of runs, and no against beside them")
	}
	s, err := c.session(p.SessionID)
	if err != nil {
		return protocol.ScenarioRunResult{}, err
	}
	compared, err := s.world.Between(s.Now().State, p.Runs[0], p.Runs[1])
	if err == nil && p.Scenario != "" && p.Scenario != compared.Scenario {
		err = protocol.Errorf(protocol.InvalidParams, "scenario: %s is a run of %q, not of %q", p.Runs[0], compared.Scenario, p.Scenario)
	}
	return protocol.ScenarioRunResult{Comparison: compared}, err
}

// drift is how the live inputs have moved since the snapshot of the session's pause. What cannot
// be compared has to be acknowledged too.
func (s *running) drift(ctx context.Context) (pause string, moved []string) {
	p := s.Now().State.Pause
	if p == nil || p.Snapshot == "" {
		return "", nil
	}
	moved, err := s.world.Drift(ctx, p.Snapshot)
	if err != nil {
		moved = []string{"the inputs cannot be compared: " + err.Error()}
	}
	return p.ID, moved
}

// mostHabits is the largest journal, in bytes, that is read for the habits of a workspace.
const mostHabits = 4 << 20

// habits are what the newest session of a workspace knows of the decisions that the developer let
// stand. One that cannot be read, or is very long, is passed over: the window is whole then.
func (r *Registry) habits(dir string) []agent.Habit {
	journals := journalsIn(r.sessionsIn(dir))
	if len(journals) == 0 {
		return nil
	}
	newest := journals[len(journals)-1]
	if s, ok := r.running(idOf(newest)); ok {
		return s.Now().State.Habits()
	}
	if info, err := os.Stat(newest); err != nil || info.Size() > mostHabits {
		return nil
	}
	now, err := session.Load(newest)
	if err != nil {
		return nil
	}
	return now.State.Habits()
}
