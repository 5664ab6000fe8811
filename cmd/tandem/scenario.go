package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

type scenarioCommand struct {
	place
	Words   []string         `arg:"" optional:"" name:"scenario" help:"[SESSION] and the scenario's name in the configuration. Without a name: the runs so far."`
	Against protocol.Against `help:"What the run is held against: lastRun, or snapshot, the inputs as they were when the pause began." enum:",lastRun,snapshot" default:"" placeholder:"WHAT"`
	Between bool             `help:"Run nothing: hold two runs against each other, by their ids in place of the name."`
}

// Run runs a scenario and shows before and after; or lists the runs, or compares two of them. The
// exit code is 1 where a check does not hold after the run, or the run itself failed.
func (c *scenarioCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	switch {
	case c.Between && len(words) != 2:
		return &exitError{exitUsage, "scenario: name two runs, as in: tandem scenario --between r1 p1.1; without anything, tandem scenario lists them"}
	case c.Between && c.Against != "":
		return &exitError{exitUsage, "scenario: --against is for a run, and --between runs nothing"}
	case !c.Between && len(words) > 1:
		return &exitError{exitUsage, "scenario: name one scenario, as in: tandem scenario analysis"}
	}
	return c.withSession(ctx, id, len(words) > 0 && !c.Between, func(cl *client, now protocol.Session) error {
		if len(words) == 0 {
			return c.list(ctx, s, cl, now)
		}
		p := protocol.ScenarioRunParams{SessionID: now.ID, Scenario: words[0], Against: c.Against}
		if c.Between {
			p = protocol.ScenarioRunParams{SessionID: now.ID, Runs: words}
		}
		r, err := ask[protocol.ScenarioRunResult](ctx, cl, protocol.MethodScenarioRun, p)
		if err != nil {
			return err
		}
		return errors.Join(c.show(s, r, ranLines(r.Comparison)), failedRun(r.Comparison))
	})
}

// failedRun is the exit code 1 for a run that failed, or after which a check does not hold.
func failedRun(c protocol.Comparison) error {
	if c.After.ExitCode != 0 || slices.ContainsFunc(c.After.Checks, func(k protocol.Check) bool { return !k.OK }) {
		return &exitError{code: exitFailed}
	}
	return nil
}

// pastRun is a run of a scenario as the list shows it.
type pastRun struct {
	ID         string               `json:"id"`
	Comparison *protocol.Comparison `json:"comparison,omitempty"`
	Broken     string               `json:"broken,omitempty"`
}

// list shows the scenarios that the session knows and the runs so far.
func (c *scenarioCommand) list(ctx context.Context, s std, cl *client, now protocol.Session) error {
	state, err := recount(ctx, cl, now.ID, nil)
	if err != nil {
		return err
	}
	found := struct {
		Scenarios protocol.List[string]  `json:"scenarios"`
		Runs      protocol.List[pastRun] `json:"runs"`
	}{Scenarios: state.Guards.Scenarios}
	for _, r := range state.Runs {
		run := pastRun{ID: r.ID, Broken: r.Broken}
		if r.Broken == "" {
			run.Comparison = &r.Comparison
		}
		found.Runs = append(found.Runs, run)
	}
	return c.show(s, found, runLines(state))
}

// runLines are the scenarios of a session with their runs.
func runLines(state agent.State) []line {
	if len(state.Guards.Scenarios) == 0 && len(state.Runs) == 0 {
		return []line{{text: "There is no scenario here; the configuration names them, in .tandem/config.yaml under scenarios."}}
	}
	out := []line{{text: "SCENARIOS  " + strings.Join(state.Guards.Scenarios, ", "), tone: strong}}
	if len(state.Runs) == 0 {
		return append(out, line{indent: 2, text: "There was no run yet; run one with: tandem scenario NAME", tone: quiet})
	}
	for _, r := range state.Runs {
		if pause, first := strings.CutSuffix(r.ID, ".1"); first {
			out = append(out, line{indent: 2, mark: "·", text: pause + ".0  " + r.Comparison.Scenario + ", before the decision", side: runSide(r.Comparison.Before), tone: quiet})
		}
		l := line{indent: 2, mark: "✓", text: r.ID + "  " + r.Comparison.Scenario, side: runSide(r.Comparison.After), tone: good}
		switch {
		case r.Broken != "":
			l.mark, l.text, l.side, l.tone = "–", r.ID+"  gave no comparison: "+r.Broken, "", quiet
		case failedRun(r.Comparison) != nil:
			l.mark, l.tone = "✗", bad
		}
		out = append(out, l)
	}
	return out
}

// runSide says how a run ended.
func runSide(r protocol.Run) string {
	parts := []string{fmt.Sprintf("exit %d", r.ExitCode)}
	for _, k := range r.Checks {
		parts = append(parts, k.Tripwire+" "+verdict(k))
	}
	return strings.Join(parts, " · ")
}

// ranLines are what a comparison shows: the table, and what does not hold in words.
func ranLines(c protocol.Comparison) []line {
	out := comparison(c)
	for _, k := range c.After.Checks {
		if !k.OK {
			out = append(out, line{indent: 2, mark: "✗", text: k.Tripwire + " does not hold: expected " + k.Expected + ", observed " + k.Observed, tone: bad})
		}
	}
	if len(c.Changes) == 0 {
		out = append(out, line{indent: 2, text: "The outputs are the same.", tone: quiet})
	}
	return out
}
