package agent

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// View is the session as clients see it. Updated is when its last record was written.
func (s State) View(updated time.Time) protocol.Session {
	v := s.ViewNow(updated)
	for _, p := range s.done.all() {
		v.Operations = append(v.Operations, s.viewOp(p.Op, false))
	}
	slices.SortStableFunc(v.Operations, func(a, b protocol.Operation) int { return number(a.ID) - number(b.ID) })
	return v
}

// ViewNow is View without the operations that have ended, of which a long session has many.
func (s State) ViewNow(updated time.Time) protocol.Session {
	v := protocol.Session{
		ID: s.Started.ID, Workspace: s.Started.Workspace, Task: s.Started.Task, Title: title(s.Started.Task),
		Mode: s.Mode, Initiative: s.Initiative, Autonomy: s.Autonomy, Usage: s.Usage, Model: s.Started.Model,
		Seq: s.Seq, StartedAt: s.Started.At, UpdatedAt: updated, Pause: s.viewPause(), Questions: s.viewQuestions(),
		Actions: s.actions(),
	}
	if s.Plan.Revision > 0 {
		p := s.ViewPlan(s.Plan)
		v.Plan = &p
	}
	if s.Question != nil {
		v.Operations = append(v.Operations, s.viewOp(thinking(*s.Question), false))
	}
	for _, c := range s.Open {
		v.Operations = append(v.Operations, s.viewCall(c))
	}
	v.Watches = s.Watches
	for _, d := range s.Decisions {
		v.Decisions = append(v.Decisions, s.viewDecision(d))
	}
	return v
}

// title is a task's first line.
func title(task string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	return clip(line, 120)
}

// ViewPlan is a plan as clients see it.
func (s State) ViewPlan(p protocol.Plan) protocol.Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i] = s.viewStep(p.Steps[i])
	}
	return p
}

func (s State) viewStep(t protocol.Step) protocol.Step {
	t.Files = s.uris(t.Files)
	t.Actions = []protocol.Action{}
	if t.Status != protocol.StepDropped && s.alive() {
		t.Actions = append(t.Actions, protocol.Action{Title: "Steer this step…", Method: protocol.MethodSteer,
			Params: protocol.ActionParams{SessionID: s.Started.ID, Scope: &protocol.Scope{StepID: t.ID}},
			Ask:    &protocol.ActionAsk{Param: "text", Prompt: "What shall be different in «" + t.Title + "»?"}})
	}
	if s.canRevertStep(t.ID) {
		t.Actions = append(t.Actions, protocol.Action{Title: "Revert this step", Method: protocol.MethodRevert, Kind: protocol.Danger,
			Params: protocol.ActionParams{SessionID: s.Started.ID, StepID: t.ID}})
	}
	return t
}

// ViewDiff is a diff as clients see it.
func (s State) ViewDiff(d protocol.Diff) protocol.Diff {
	d.Changed = slices.Clone(d.Changed)
	for i, c := range d.Changed {
		d.Changed[i] = protocol.StepChange{Before: s.viewStep(c.Before), After: s.viewStep(c.After)}
	}
	return d
}

func (s State) viewCall(c Call) protocol.Operation { return s.viewOp(c.Op, c.Stop == nil) }

// viewOp is an operation as clients see it. A command that runs can be ended, and what has changed
// files taken back.
func (s State) viewOp(op protocol.Operation, endable bool) protocol.Operation {
	op.Files = s.uris(op.Files)
	op.Actions = []protocol.Action{}
	running := op.Status == protocol.OpRunning || op.Status == protocol.OpFrozen
	if endable && running && op.Effect == protocol.EffectExecute {
		op.Actions = append(op.Actions, protocol.Action{Title: "End this command…", Method: protocol.MethodSteer, Kind: protocol.Danger,
			Params: protocol.ActionParams{SessionID: s.Started.ID, Scope: &protocol.Scope{OperationID: op.ID}},
			Ask:    &protocol.ActionAsk{Param: "text", Prompt: "Why is it useless?"}})
	}
	if s.canRevertOp(op) { // of no kind: on an operation danger means that it is ended
		op.Actions = append(op.Actions, protocol.Action{Title: "Revert this change", Method: protocol.MethodRevert,
			Params: protocol.ActionParams{SessionID: s.Started.ID, OperationID: op.ID}})
	}
	return op
}

func (s State) viewDecision(d protocol.Decision) protocol.Decision {
	if d.Location != nil {
		l := *d.Location
		l.URI = s.uri(l.URI)
		d.Location = &l
	}
	d.Actions = []protocol.Action{}
	if d.Status == protocol.DecisionOverridden || !s.alive() {
		return d
	}
	params := protocol.ActionParams{SessionID: s.Started.ID, DecisionID: d.ID}
	if d.Kind == protocol.Permission {
		d.Actions = leaveActions(d, params)
		return d
	}
	if d.Status == protocol.DecisionOpen {
		d.Actions = append(d.Actions, protocol.Action{Title: "Keep", Method: protocol.MethodDecide, Params: params, Kind: protocol.Primary})
	}
	for _, a := range d.Alternatives {
		p := params
		p.Option = a.ID
		d.Actions = append(d.Actions, protocol.Action{Title: "Take " + a.Title, Method: protocol.MethodDecide, Params: p})
	}
	d.Actions = append(d.Actions, protocol.Action{Title: "Say otherwise…", Method: protocol.MethodDecide, Params: params,
		Ask: &protocol.ActionAsk{Param: "text", Prompt: "What instead of «" + d.Summary + "»?"}})
	return d
}

// leaveActions are the answers to a request for leave; leave for the session can be taken back.
func leaveActions(d protocol.Decision, params protocol.ActionParams) []protocol.Action {
	if d.Status == protocol.DecisionStanding && d.Chosen != allowSession {
		return []protocol.Action{}
	}
	no := params
	no.Option = allowNot
	if d.Status == protocol.DecisionStanding {
		return []protocol.Action{{Title: "Take it back", Method: protocol.MethodDecide, Params: no}}
	}
	var all []protocol.Action
	for _, a := range d.Alternatives {
		p := params
		p.Option = a.ID
		all = append(all, protocol.Action{Title: strings.ToUpper(a.Title[:1]) + a.Title[1:], Method: protocol.MethodDecide, Params: p})
	}
	no.Option, no.Reject = "", true
	return append(all, protocol.Action{Title: "No, and say why…", Method: protocol.MethodDecide, Params: no,
		Ask: &protocol.ActionAsk{Param: "text", Prompt: "Not «" + d.Summary + "»: why not, or what instead?"}})
}

func (s State) viewPause() *protocol.Pause {
	if s.Pause == nil {
		return nil
	}
	p := *s.Pause
	params := protocol.ActionParams{SessionID: s.Started.ID, PauseID: p.ID}
	p.Frozen = slices.DeleteFunc(slices.Clone(p.Frozen), func(id string) bool { _, open := s.call(id); return !open })
	p.Options = slices.Clone(p.Options)
	p.Actions = []protocol.Action{}
	for i, o := range p.Options {
		p.Options[i].Files = s.uris(o.Files)
		take := params
		take.Option = o.ID
		p.Actions = append(p.Actions, protocol.Action{Title: "Take: " + o.Title, Method: protocol.MethodDecide, Params: take})
	}
	p.Actions = append(p.Actions, protocol.Action{Title: "Say what shall change…", Method: protocol.MethodDecide, Params: params,
		Ask: &protocol.ActionAsk{Param: "text", Prompt: "What shall change?"}}, s.resumeAction())
	if p.Comparison != nil {
		c := s.viewComparison(*p.Comparison)
		p.Comparison = &c
	}
	return &p
}

// viewComparison is a comparison as clients see it: its scenario can run once more.
func (s State) viewComparison(c protocol.Comparison) protocol.Comparison {
	c.Actions = []protocol.Action{}
	if s.alive() {
		c.Actions = append(c.Actions, protocol.Action{Title: "Run it again", Method: protocol.MethodScenarioRun,
			Params: protocol.ActionParams{SessionID: s.Started.ID, Scenario: c.Scenario}})
	}
	return c
}

func (s State) viewQuestions() []protocol.Question {
	var out []protocol.Question
	for _, q := range s.Questions {
		params := protocol.ActionParams{SessionID: s.Started.ID, QuestionID: q.ID}
		q.Actions = []protocol.Action{}
		for _, o := range q.Options {
			p := params
			p.Option = o
			q.Actions = append(q.Actions, protocol.Action{Title: o, Method: protocol.MethodDecide, Params: p})
		}
		q.Actions = append(q.Actions, protocol.Action{Title: "Answer in my words…", Method: protocol.MethodDecide, Params: params,
			Ask: &protocol.ActionAsk{Param: "text", Prompt: q.Text}})
		out = append(out, q)
	}
	return out
}

// actions are what can be done with the session now.
func (s State) actions() []protocol.Action {
	if !s.alive() {
		return []protocol.Action{}
	}
	params := protocol.ActionParams{SessionID: s.Started.ID}
	all := []protocol.Action{{Title: "Steer…", Method: protocol.MethodSteer, Params: params, Kind: protocol.Primary,
		Ask: &protocol.ActionAsk{Param: "text", Prompt: "What shall be different?"}}}
	switch s.Mode {
	case protocol.Paused:
		all = append(all, s.resumeAction())
	case protocol.Executing, protocol.Waiting:
		all = append(all, protocol.Action{Title: "Pause", Method: protocol.MethodPause, Params: params})
	}
	all = append(all, protocol.Action{Title: "Check in", Method: protocol.MethodCheckIn, Params: params})
	return append(all, protocol.Action{Title: "End the session", Method: protocol.MethodEnd, Params: params, Kind: protocol.Danger})
}

func (s State) resumeAction() protocol.Action {
	return protocol.Action{Title: "Resume", Method: protocol.MethodResume, Kind: protocol.Primary,
		Params: protocol.ActionParams{SessionID: s.Started.ID}}
}

func (s State) uris(paths []string) []string {
	if paths == nil {
		return nil
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = s.uri(p)
	}
	return out
}

// URIs are paths of the workspace as file URIs.
func (s State) URIs(paths []string) []string { return s.uris(paths) }

// Paths are file URIs, or paths, as paths of the workspace.
func (s State) Paths(uris []string) []string {
	out := make([]string, len(uris))
	for i, u := range uris {
		out[i] = relative(s.Started.Workspace, u)
	}
	return out
}

// uri is a path of the workspace as a file URI.
func (s State) uri(path string) string {
	if strings.HasPrefix(path, "file:") {
		return path
	}
	return PathURI(s.Started.Workspace, path)
}

// PathURI is a path in a workspace, with slashes, as every session of it spells its file URI.
func PathURI(workspace, path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.TrimSuffix(workspace, "/") + "/" + strings.Join(parts, "/")
}
