package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/agent/session"
	"tandem/protocol"
)

// The requests: decode, post, answer with what came of it.

func (c *client) start(ctx context.Context, p protocol.StartParams) (protocol.SessionResult, error) {
	s, result, err := c.begun(ctx, p)
	if err != nil {
		return result, err
	}
	if !c.joins(s) { // the same start came before: it is told already
		return result, nil
	}
	_, err = c.follow(ctx, s, new(int64))
	return result, err
}

// begun is a session that was started, with nobody who follows it.
func (c *client) begun(ctx context.Context, p protocol.StartParams) (*running, protocol.SessionResult, error) {
	if strings.TrimSpace(p.Task) == "" {
		return nil, protocol.SessionResult{}, protocol.Errorf(protocol.InvalidParams, "task: say in a sentence what shall be done")
	}
	dir, trusted, err := c.here(p.Workspace)
	if err != nil {
		return nil, protocol.SessionResult{}, err
	}
	p.Context = c.inward(p.Context)
	s, receipt, err := c.registry.Start(ctx, dir, trusted, p, c.by())
	if err != nil {
		return nil, protocol.SessionResult{}, err
	}
	return s, protocol.SessionResult{Session: receipt.View()}, nil
}

// listResult is protocol.ListResult with sessions that are encoded already.
type listResult struct {
	Sessions protocol.List[json.RawMessage] `json:"sessions"`
}

func (c *client) list(_ context.Context, p protocol.ListParams) (listResult, error) {
	dir := ""
	if p.Workspace != "" {
		var err error
		if dir, _, err = c.here(p.Workspace); err != nil {
			return listResult{}, err
		}
	}
	found, err := c.registry.List(dir)
	var r listResult
	for _, s := range found {
		r.Sessions = append(r.Sessions, s.View)
	}
	return r, err
}

func (c *client) attach(ctx context.Context, p protocol.AttachParams) (protocol.SessionResult, error) {
	if p.Since != nil && *p.Since < 0 {
		return protocol.SessionResult{}, protocol.Errorf(protocol.InvalidParams, "since: events count from 1")
	}
	var now session.Snapshot
	err := c.on(p.SessionID, func(s *running) (err error) {
		now, err = c.follow(ctx, s, p.Since)
		return err
	})
	return protocol.SessionResult{Session: now.View()}, err
}

// detach ends what the client is told. A session that does not run here tells nobody anything,
// and is not set going for that.
func (c *client) detach(_ context.Context, p protocol.SessionParams) (any, error) {
	if s, ok := c.registry.running(p.SessionID); ok {
		c.mu.Lock()
		c.follows = slices.DeleteFunc(c.follows, func(f *running) bool { return f == s })
		c.mu.Unlock()
		s.Detach(c)
		return nil, nil
	}
	_, err := c.registry.onDisk(p.SessionID)
	return nil, err
}

func (c *client) end(ctx context.Context, p protocol.SessionParams) (protocol.SessionResult, error) {
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.End{})
	return protocol.SessionResult{Session: receipt.View()}, err
}

func (c *client) plan(_ context.Context, p protocol.PlanParams) (protocol.PlanResult, error) {
	s, err := c.session(p.SessionID)
	if err != nil {
		return protocol.PlanResult{}, err
	}
	state := s.Now().State
	revision := p.Revision
	if revision == 0 {
		revision = state.Plan.Revision
	}
	if revision == 0 { // there is none yet
		return protocol.PlanResult{}, nil
	}
	plan, ok := state.PlanAt(revision)
	if !ok {
		return protocol.PlanResult{}, protocol.Errorf(protocol.NoSuchEntity, "revision: the plan has no revision %d; it is at %d", revision, state.Plan.Revision)
	}
	plan = state.ViewPlan(plan)
	return protocol.PlanResult{Plan: &plan}, nil
}

func (c *client) steer(ctx context.Context, p protocol.SteerParams) (protocol.SteerResult, error) {
	if err := soundScope(p.Scope); err != nil {
		return protocol.SteerResult{}, err
	}
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.Steer{Text: p.Text, Scope: c.inwardScope(p.Scope), When: p.When,
		SeenSeq: p.SeenSeq, Context: c.inward(p.Context), By: c.by()})
	if err != nil {
		return protocol.SteerResult{}, err
	}
	first := receipt.State.Seq - int64(len(receipt.Events))
	for i, e := range receipt.Events {
		if st, ok := e.(agent.Steered); ok {
			return protocol.SteerResult{SteerID: st.Steer.ID, Seq: first + int64(i) + 1, Cancelled: st.Cancelled, Running: st.Running,
				Unseen: unseen(receipt.State, st.Unseen)}, nil
		}
	}
	return protocol.SteerResult{}, errKeyReused
}

// soundScope says that a scope names one thing at the most.
func soundScope(sc *protocol.Scope) error {
	if sc == nil {
		return nil
	}
	named := 0
	for _, is := range []bool{sc.StepID != "", sc.DecisionID != "", sc.OperationID != "", sc.Location != nil} {
		if is {
			named++
		}
	}
	if named > 1 {
		return protocol.Errorf(protocol.InvalidParams, "scope: name one of stepId, decisionId, operationId, location")
	}
	return nil
}

func unseen(s agent.State, list []agent.Unseen) []protocol.Unseen {
	var out []protocol.Unseen
	for _, u := range list {
		out = append(out, protocol.Unseen{OperationID: u.Op, Files: s.URIs(u.Files)})
	}
	return out
}

func (c *client) withdraw(ctx context.Context, p protocol.WithdrawParams) (protocol.WithdrawResult, error) {
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.Withdraw{Steer: p.SteerID})
	withdrawn := slices.ContainsFunc(receipt.Events, is[agent.Withdrawn])
	return protocol.WithdrawResult{Withdrawn: withdrawn}, err
}

func (c *client) replan(ctx context.Context, p protocol.ReplanParams) (protocol.ReplanResult, error) {
	s, err := c.session(p.SessionID)
	if err != nil {
		return protocol.ReplanResult{}, err
	}
	edits := inWorkspace(s.Now().State, p.Edits)
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.Replan{Base: p.BaseRevision, Edits: edits, Reason: p.Reason})
	if err != nil {
		return protocol.ReplanResult{}, err
	}
	for _, e := range receipt.Events {
		if planned, ok := e.(agent.Planned); ok {
			return protocol.ReplanResult{Plan: receipt.State.ViewPlan(planned.Plan), Diff: receipt.State.ViewDiff(planned.Diff)}, nil
		}
	}
	return protocol.ReplanResult{}, errKeyReused
}

// inWorkspace is plan edits with their files as paths of the workspace.
func inWorkspace(s agent.State, edits []protocol.PlanEdit) []protocol.PlanEdit {
	out := slices.Clone(edits)
	for i, e := range out {
		if e.Files != nil {
			files := protocol.List[string](s.Paths(*e.Files))
			out[i].Files = &files
		}
		if e.Step != nil {
			step := *e.Step
			step.Files = s.Paths(step.Files)
			out[i].Step = &step
		}
	}
	return out
}

func (c *client) pause(ctx context.Context, p protocol.PauseParams) (protocol.PauseResult, error) {
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.Pause{Reason: p.Reason, End: p.Freeze != nil && !*p.Freeze})
	if err != nil {
		return protocol.PauseResult{}, err
	}
	if view := receipt.View().Pause; view != nil {
		return protocol.PauseResult{Pause: *view}, nil
	}
	return protocol.PauseResult{}, errKeyReused
}

func (c *client) decide(ctx context.Context, p protocol.DecideParams) (protocol.SessionResult, error) {
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.Decide{Pause: p.PauseID, Decision: p.DecisionID, Question: p.QuestionID,
		Option: p.Option, Text: p.Text, Reject: p.Reject, By: c.by()})
	return protocol.SessionResult{Session: receipt.View()}, err
}

func (c *client) resume(ctx context.Context, p protocol.ResumeParams) (protocol.ResumeResult, error) {
	s, err := c.session(p.SessionID)
	if err != nil {
		return protocol.ResumeResult{}, err
	}
	in := agent.Resume{Acknowledged: p.AcknowledgeDrift}
	in.Pause, in.Drift = s.drift(ctx)
	receipt, err := c.post(ctx, p.SessionID, p.Request, in)
	return protocol.ResumeResult{Session: receipt.View(), Drift: in.Drift}, err
}

func (c *client) autonomy(ctx context.Context, p protocol.AutonomyParams) (protocol.SessionResult, error) {
	receipt, err := c.post(ctx, p.SessionID, p.Request, agent.SetAutonomy{Level: p.Level})
	return protocol.SessionResult{Session: receipt.View()}, err
}

// mostHistory bounds one page of history.
const mostHistory = 1000

func (c *client) history(_ context.Context, p protocol.HistoryParams) (protocol.HistoryResult, error) {
	s, err := c.session(p.SessionID)
	if err != nil {
		return protocol.HistoryResult{}, err
	}
	if p.Since < 0 || p.Limit < 0 {
		return protocol.HistoryResult{}, protocol.Errorf(protocol.InvalidParams, "since, limit: they count from 0")
	}
	limit := p.Limit
	if limit == 0 || limit > mostHistory {
		limit = mostHistory
	}
	r, err := s.History(p.Since, limit)
	for i, e := range r.Events {
		r.Events[i].Data = c.outward(e.Data)
	}
	return r, err
}
