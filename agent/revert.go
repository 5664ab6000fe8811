package agent

import (
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// toolRevert is no tool of the model: it is the developer's own revert, shown like any other operation.
const toolRevert = "revert"

// Target is what a revert by hand takes back. Steps are the steps whose work that is.
type Target struct {
	Step      string   `json:"step,omitempty"`
	Operation string   `json:"operation,omitempty"`
	Steer     string   `json:"steer,omitempty"`
	Session   bool     `json:"session,omitempty"` // all of it
	Steps     []string `json:"steps,omitempty"`
}

// RevertedFile is what became of one path of a revert: restored, deleted, created, same, or conflict.
type RevertedFile struct {
	Path   string `json:"path"`
	Status string `json:"status"`
}

const revertConflict = "conflict"

// reverts is what was taken back so far, and how much of each step can be.
type reverts struct {
	all   []reverted  // every revert that has ended, oldest first
	taken []string    // the operations whose changes are taken back now
	left  []stepEdits // for each step how many of its operations can be taken back
}

// reverted is a revert, the developer's or a plan's, with the operations that it took back whole.
type reverted struct {
	op    string
	edits []string
}

type stepEdits struct {
	step string
	n    int
}

// revert begins a revert by hand. It is the developer's own act: it wakes nobody, ends nothing,
// and neither a pause nor a veto window holds it. Where nothing can be taken back nothing happens.
func (m *moment) revert(in RevertOf) error {
	t, err := m.target(in)
	if err != nil {
		return err
	}
	if len(m.edits(t)) == 0 && !slices.ContainsFunc(m.Open, func(c Call) bool { return writes(c) && t.names(c.Op) }) {
		return nil
	}
	m.say(Called{Reverts: &t, Op: protocol.Operation{
		ID: m.nextOp(), Kind: protocol.Tool, Tool: toolRevert, Effect: protocol.EffectWrite, Status: protocol.OpQueued,
		Target: t.id(), Intent: "The developer takes back " + m.targetWords(t) + ".",
	}})
	return nil
}

// target says what a revert by hand is about. The error names the param that is wrong.
func (s State) target(in RevertOf) (Target, error) {
	t := Target{Step: in.Step, Operation: in.Operation, Steer: in.Steer, Session: in.Session}
	given := slices.DeleteFunc([]string{in.Step, in.Operation, in.Steer}, func(id string) bool { return id == "" })
	if in.Session {
		given = append(given, "session")
	}
	if len(given) != 1 {
		return t, protocol.Errorf(protocol.InvalidParams, "stepId, operationId, steerId, session: give exactly one of them")
	}
	switch {
	case in.Session:
		for _, e := range s.reverts.left {
			t.Steps = append(t.Steps, e.step)
		}
	case in.Step != "":
		if !s.everPlanned(in.Step) {
			return t, protocol.Errorf(protocol.NoSuchEntity, "stepId: the plan never had a step %q", in.Step)
		}
		t.Steps = []string{in.Step}
	case in.Steer != "":
		if n := number(in.Steer); n < 1 || n > s.counters.steers || in.Steer != fmt.Sprintf("t%d", n) {
			return t, protocol.Errorf(protocol.NoSuchEntity, "steerId: there is no steer %q", in.Steer)
		}
		t.Steps = s.stepsOf(in.Steer)
	default:
		op, ok := s.operation(in.Operation)
		if !ok {
			return t, protocol.Errorf(protocol.NoSuchEntity, "operationId: there is no operation %q", in.Operation)
		}
		t.Steps = s.stepsBehind(op)
	}
	return t, nil
}

// operation is an operation, whether it has ended or not.
func (s State) operation(id string) (protocol.Operation, bool) {
	if c, ok := s.call(id); ok {
		return c.Op, true
	}
	if s.Question != nil && s.Question.ID == id {
		return thinking(*s.Question), true
	}
	p, ok := s.past(id)
	return p.Op, ok
}

// Past is an operation that has ended.
func (s State) Past(id string) (Past, bool) { return s.past(id) }

func (s State) past(id string) (Past, bool) {
	for p := range s.done.newest {
		if p.Op.ID == id {
			return *p, true
		}
	}
	return Past{}, false
}

// stepsOf are the steps that a steer led to, in any revision of the plan.
func (s State) stepsOf(steer string) []string {
	var out []string
	add := func(p protocol.Plan) bool {
		for _, t := range p.Steps {
			if t.Origin.Kind == protocol.OriginSteer && t.Origin.ID == steer && !slices.Contains(out, t.ID) {
				out = append(out, t.ID)
			}
		}
		return true
	}
	add(s.Plan)
	s.plans.newest(add)
	return out
}

// stepsBehind are the steps whose work an operation is, or, for a revert, took back.
func (s State) stepsBehind(op protocol.Operation) []string {
	i := slices.IndexFunc(s.reverts.all, func(r reverted) bool { return r.op == op.ID })
	switch {
	case i < 0 && op.StepID == "":
		return nil
	case i < 0:
		return []string{op.StepID}
	}
	var out []string
	for _, id := range s.reverts.all[i].edits {
		edit, _ := s.operation(id)
		out = append(out, s.stepsBehind(edit)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t Target) id() string {
	if t.Session {
		return "the whole session"
	}
	return t.Step + t.Operation + t.Steer
}

// names says that a target is about an operation. What was taken back in a step is no work of it.
func (t Target) names(op protocol.Operation) bool {
	if t.Operation != "" {
		return op.ID == t.Operation
	}
	return changes(op.Effect) && op.Tool != toolRevert && (t.Session || slices.Contains(t.Steps, op.StepID))
}

func (s State) targetWords(t Target) string {
	switch {
	case t.Session:
		return "all that was done in this session"
	case t.Step != "":
		step, _ := s.everStep(t.Step)
		return fmt.Sprintf("step %s «%s»", t.Step, step.Title)
	case t.Steer != "":
		return "what steer " + t.Steer + " led to"
	}
	op, _ := s.operation(t.Operation)
	if op.Tool == toolRevert {
		return fmt.Sprintf("their revert %s of %s: what it had taken back stands again", op.ID, op.Target)
	}
	return strings.TrimSpace(fmt.Sprintf("operation %s, %s %s", op.ID, op.Tool, op.Target))
}

// everStep is a step of the plan, or one that has fallen away, as it was last.
func (s State) everStep(id string) (protocol.Step, bool) {
	if t, ok := s.step(id); ok {
		return t, true
	}
	for p := range s.plans.newest {
		if i := slices.IndexFunc(p.Steps, func(t protocol.Step) bool { return t.ID == id }); i >= 0 {
			return p.Steps[i], true
		}
	}
	return protocol.Step{}, false
}

// edits are the operations that a target takes back, the newest first: those that changed files
// and are not taken back already.
func (s State) edits(t Target) []Past {
	var out []Past
	for p := range s.done.newest {
		if len(p.Changes) > 0 && t.names(p.Op) && !slices.Contains(s.reverts.taken, p.Op.ID) {
			out = append(out, *p)
		}
	}
	return out
}

// editsOf are the operations whose edits an open call takes back, the newest first.
func (s State) editsOf(c Call) []Past {
	if c.Reverts != nil {
		return slices.DeleteFunc(s.edits(*c.Reverts), func(p Past) bool { return p.Seq > c.Began })
	}
	var args planArguments
	if c.Op.Tool != toolUpdatePlan || arguments(toolUpdatePlan, c.Arguments, &args) != nil {
		return nil
	}
	return s.planReverts(args)
}

// Revertible is what a revert by hand takes back now, the newest first, and what it leaves because
// that still runs, in sentences. The error refuses the input.
func (s State) Revertible(in RevertOf) (edits []Past, unfinished []string, err error) {
	t, err := s.target(in)
	if err != nil {
		return nil, nil, err
	}
	return s.edits(t), s.unfinished(t), nil
}

// unfinished says which commands of a target still run: what they change is known when they have
// ended, so it stays.
func (s State) unfinished(t Target) []string {
	var out []string
	for _, c := range s.Open {
		if c.Op.Status != protocol.OpQueued && c.Op.Effect == protocol.EffectExecute && t.names(c.Op) {
			out = append(out, fmt.Sprintf("%s (%s) still runs: what it changes is not taken back", c.Op.Target, c.Op.ID))
		}
	}
	return out
}

// writes says that a call may be writing files now: a tool that writes, or a revert. Commands are
// not among them: they may run for hours, and whoever writes beside them compares before it does.
func writes(c Call) bool {
	if c.Op.Status == protocol.OpQueued {
		return false
	}
	return c.Op.Effect == protocol.EffectWrite || c.Op.Tool == toolUpdatePlan && !c.Taken
}

// waitsForRevert says that a call has to wait because the developer takes edits back, or is about
// to: what it would change may not be there any more.
func (s State) waitsForRevert(c Call) bool {
	return (changes(c.Op.Effect) || c.Op.Tool == toolUpdatePlan || c.Op.Tool == toolFinish) && s.reverting()
}

// reverting says that a revert by hand is under way.
func (s State) reverting() bool {
	return slices.ContainsFunc(s.Open, func(c Call) bool { return c.Reverts != nil })
}

// revertReturned ends a revert by hand. Its steps are shown anew: what can be taken back is another.
func (m *moment) revertReturned(c Call, in Outcome) {
	e := Returned{Op: in.Op, At: m.at, Failed: in.Failed, Text: sound(in.Text), Reverted: in.Reverted,
		Conflicts: append(in.Conflicts, m.unfinished(*c.Reverts)...)}
	if in.Failed {
		e.Conflicts = append(e.Conflicts, "what is not named here, because of an error: "+in.Text)
	}
	e.Output = strings.Join(revertLines(e.Reverted, e.Conflicts), "\n")
	m.say(e)
	for _, id := range c.Reverts.Steps {
		if t, ok := m.step(id); ok {
			m.say(StepChanged{Step: id, Status: t.Status, Verified: t.Verified})
		}
	}
}

// revertLines say in words what became of each file.
func revertLines(files []RevertedFile, conflicts []string) []string {
	var out []string
	for _, f := range files {
		if f.Status != revertConflict {
			out = append(out, f.Path+": "+f.Status)
		}
	}
	for _, c := range conflicts {
		out = append(out, "not taken back: "+c)
	}
	return out
}

// revertNote is what the model is told of a revert by hand; nothing where nothing came of it.
func (s State) revertNote(c Call, e Returned) string {
	lines := revertLines(e.Reverted, e.Conflicts)
	if len(lines) == 0 {
		return ""
	}
	for i := range lines {
		lines[i] = inline(lines[i])
	}
	return fmt.Sprintf("[revert %s] The developer took back %s.\n- %s\nRead these files before you build on them, and do nothing of it again that the developer does not ask for.",
		c.Op.ID, inline(s.targetWords(*c.Reverts)), strings.Join(lines, "\n- "))
}

// revertEnded keeps what came of a revert, and tells the model where it was by hand.
func (s *State) revertEnded(e Returned) {
	c, ok := s.call(e.Op)
	if !ok || c.Reverts == nil && len(e.Reverted) == 0 {
		return
	}
	s.edit(e.Op, func(c *Call) { c.Reverted, c.Conflicts = e.Reverted, e.Conflicts })
	if c.Reverts != nil {
		s.noteRevert(s.revertNote(c, e))
	}
}

// lostRevert is told where the daemon died while edits were taken back.
func (s State) lostRevert(c Call) string {
	return fmt.Sprintf("[revert %s] The developer was taking back %s when the daemon ended: the outcome is unknown; look before you act again.",
		c.Op.ID, inline(s.targetWords(*c.Reverts)))
}

// noteRevert tells the model with the next question that edits were taken back by hand.
func (s *State) noteRevert(text string) {
	if text != "" {
		s.Unsaid = append(slices.Clone(s.Unsaid), Note{Text: text, Reverted: true})
	}
}

// revertUntold says that the developer took edits back and the agent does not know of it yet.
func (s State) revertUntold() bool {
	return slices.ContainsFunc(s.Unsaid, func(n Note) bool { return n.Reverted })
}

// countReverts takes a call that has ended for what can be, or was, taken back.
func (s *State) countReverts(c Call, p Past) {
	edits := s.whole(c, p.Reverted)
	if len(edits) > 0 {
		s.reverts.all = append(slices.Clone(s.reverts.all), reverted{op: p.Op.ID, edits: edits})
	}
	for _, id := range edits {
		s.setTaken(id, true)
	}
	if len(p.Changes) > 0 && ofStep(p.Op) {
		s.countLeft(p.Op.StepID, 1)
	}
}

// ofStep says that taking a step back takes an operation of it back.
func ofStep(op protocol.Operation) bool { return changes(op.Effect) && op.StepID != "" }

// whole are the operations that a revert took back in all their files.
func (s State) whole(c Call, files []RevertedFile) []string {
	if len(files) == 0 {
		return nil
	}
	stays := func(f Change) bool {
		i := slices.IndexFunc(files, func(r RevertedFile) bool { return r.Path == f.Path })
		return i < 0 || files[i].Status == revertConflict
	}
	var out []string
	for _, p := range s.editsOf(c) {
		if !slices.ContainsFunc(p.Changes, stays) {
			out = append(out, p.Op.ID)
		}
	}
	return out
}

// setTaken notes that an operation is taken back, or stands again. Taking a revert back makes stand
// again what it had taken back.
func (s *State) setTaken(id string, taken bool) {
	if slices.Contains(s.reverts.taken, id) == taken {
		return
	}
	by := -1
	if taken {
		s.reverts.taken = append(slices.Clone(s.reverts.taken), id)
	} else {
		by = 1
		s.reverts.taken = slices.DeleteFunc(slices.Clone(s.reverts.taken), func(t string) bool { return t == id })
	}
	if p, ok := s.past(id); ok && ofStep(p.Op) {
		s.countLeft(p.Op.StepID, by)
	}
	for _, r := range s.reverts.all {
		if r.op == id {
			for _, edit := range r.edits {
				s.setTaken(edit, !taken)
			}
		}
	}
}

func (s *State) countLeft(step string, by int) {
	s.reverts.left = slices.Clone(s.reverts.left)
	i := slices.IndexFunc(s.reverts.left, func(e stepEdits) bool { return e.step == step })
	if i < 0 {
		s.reverts.left = append(s.reverts.left, stepEdits{step, by})
		return
	}
	s.reverts.left[i].n += by
}

// canRevertStep says that something of a step can be taken back.
func (s State) canRevertStep(step string) bool {
	return s.alive() && slices.ContainsFunc(s.reverts.left, func(e stepEdits) bool { return e.step == step && e.n > 0 })
}

// canRevertOp says that an operation can be taken back.
func (s State) canRevertOp(op protocol.Operation) bool {
	return s.alive() && terminal(op.Status) && len(op.Files) > 0 && !slices.Contains(s.reverts.taken, op.ID)
}
