package main

import (
	"context"
	"fmt"
	"slices"

	"tandem/agent"
	"tandem/protocol"
)

// revision is a plan as it was laid out, with what it changed.
type revision struct {
	Seq          int64                 `json:"seq"`
	At           string                `json:"at"`
	Plan         protocol.Plan         `json:"plan"`
	Diff         protocol.Diff         `json:"diff"`
	Consequences protocol.List[string] `json:"consequences"`
	Conflicts    protocol.List[string] `json:"conflicts"`
}

// revisions shows each revision of the plan as it was told when it came.
func (c *logCommand) revisions(ctx context.Context, s std, cl *client, now protocol.Session) error {
	var lines []line
	found := []revision{}
	p := newPicture(protocol.Session{Workspace: now.Workspace})
	_, err := recount(ctx, cl, now.ID, func(f fact) {
		n, tells := f.after.Notify(f.before, f.event)
		switch told := n.Params.(type) {
		case protocol.SteeredParams:
			p.steers[told.Steer.ID] = told.Steer
		case protocol.PlanChangedParams:
			if _, planned := f.event.(agent.Planned); !tells || !planned {
				return
			}
			at := f.at.Local().Format("15:04:05")
			if lines != nil {
				lines = append(lines, line{})
			}
			lines = append(append(lines, line{text: at, tone: quiet}), p.planned(told)...)
			found = append(found, revision{told.Seq, f.at.UTC().Format("2006-01-02T15:04:05Z"), told.Plan, told.Diff, told.Consequences, told.Conflicts})
		}
	})
	if err != nil {
		return err
	}
	if lines == nil {
		lines = []line{{text: "There is no plan yet."}}
	}
	return c.show(s, map[string][]revision{"revisions": found}, lines)
}

// planAt is a revision of the plan; one that is not there is refused by the daemon.
func planAt(ctx context.Context, cl *client, id string, revision int) (protocol.PlanResult, error) {
	r, err := ask[protocol.PlanResult](ctx, cl, protocol.MethodPlan, protocol.PlanParams{SessionID: id, Revision: revision})
	if err == nil && r.Plan == nil {
		err = fmt.Errorf("the plan has no revision %d", revision)
	}
	return r, err
}

// planAgainst is a plan with what is different from another revision of it.
func planAgainst(older protocol.Plan, r protocol.ReplanResult) []line {
	d := r.Diff
	out := []line{{text: fmt.Sprintf("PLAN  revision %d against %d", r.Plan.Revision, older.Revision), tone: strong},
		{indent: 1, text: fmt.Sprintf("kept %d · changed %d · added %d · dropped %d", len(d.Kept), len(d.Changed), len(d.Added), len(d.Dropped)), tone: quiet}}
	for _, s := range r.Plan.Steps {
		out = append(out, diffLine(r.Plan, d, s)...)
	}
	for _, s := range older.Steps { // a later revision may have steps that this one never had
		known := slices.ContainsFunc(r.Plan.Steps, func(t protocol.Step) bool { return t.ID == s.ID })
		if slices.Contains(d.Dropped, s.ID) && !known {
			out = append(out, line{indent: 1, mark: "-", text: s.Title, side: "not there", tone: bad})
		}
	}
	return out
}
