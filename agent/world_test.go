package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// A world does in tests what agent/session does, without running anything: it posts inputs,
// keeps the records, and watches that every promise of the core holds after each of them.
type world struct {
	state   State
	now     time.Time
	partial []Partial
	records [][]Event
	written []string        // each event as it was encoded when it was decided
	notes   []string        // what clients were told, encoded
	talk    []string        // the conversation after the last record
	listed  map[string]bool // the work that is listed
	over    map[string]bool // the work that is over
	input   Input           // what is being decided
	closed  map[string]int  // how often each operation ended
	told    map[string]int  // in how many notifications it had ended
	steers  []steerSeen
	brief   bool // the conversation was compacted: results before it are gone
	faults  []string
}

// steerSeen is a steer as the events tell of it.
type steerSeen struct {
	id, text  string
	when      protocol.When
	heard     int // its place among all that were heard, from 1
	withdrawn bool
}

var morning = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newWorld() *world {
	return &world{now: morning, listed: map[string]bool{}, over: map[string]bool{}, closed: map[string]int{}, told: map[string]int{}}
}

// replayed is a world that has just read records from disk.
func replayed(records [][]Event, now time.Time) *world {
	w := newWorld()
	w.now = now
	for _, r := range records {
		w.take(r)
	}
	w.listed = map[string]bool{}
	return w
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) post(in Input) ([]Event, error) {
	before := w.state
	w.input = in
	events, err := before.Decide(At{Time: w.now, Partial: w.partial, Input: in})
	if err != nil {
		if len(events) > 0 {
			w.fault("a refused %T has events: %v", in, events)
		}
		return nil, err
	}
	w.take(events)
	w.input = nil
	w.trueOutcome(before, in, events)
	w.spokenTo(before, in)
	w.reportedOnce(in)
	if _, ok := in.(TimePassed); ok {
		w.noOldWait()
	}
	if _, ok := in.(Reopened); ok {
		w.relist(true)
	}
	w.relist(false)
	return events, nil
}

// take applies one record and looks at every state between.
func (w *world) take(events []Event) {
	w.records = append(w.records, events)
	compacted := false
	for _, e := range events {
		before := w.state
		w.state = before.Apply(e)
		if w.state.Seq != before.Seq+1 {
			w.fault("the event after %d is %d", before.Seq, w.state.Seq)
		}
		w.onDisk(e)
		w.tell(before, e)
		w.witness(before, e)
		_, again := e.(Compacted)
		compacted = compacted || again
	}
	w.atRest(compacted)
}

// onDisk says that an event comes back from disk as it was.
func (w *world) onDisk(e Event) {
	text := encode(e)
	w.written = append(w.written, text)
	back, err := Decode(Kind(e), []byte(text))
	if err != nil {
		w.fault("decode %s: %v", Kind(e), err)
	} else if encode(back) != text {
		w.fault("%s came back as %s, was %s", Kind(e), encode(back), text)
	}
}

// tell notes what clients are told of an event. A list is never null on the wire.
func (w *world) tell(before State, e Event) {
	n, ok := w.state.Notify(before, e)
	if !ok {
		w.maybeSilent(e)
		return
	}
	text := n.Method + " " + encode(n.Params)
	w.notes = append(w.notes, text)
	if strings.Contains(text, ":null") {
		w.fault("null on the wire: %s", text)
	}
	if p, ok := n.Params.(protocol.ProgressParams); ok && terminal(p.Operation.Status) {
		w.told[p.Operation.ID]++
		if w.told[p.Operation.ID] > 1 {
			w.fault("%s was told to have ended twice", p.Operation.ID)
		}
	}
}

// maybeSilent says that an event of which clients are told nothing is one of the few that change
// nothing that they show.
func (w *world) maybeSilent(e Event) {
	switch e.(type) {
	case Started, Reminded, Taken, Stopping, AutonomySet, FileEdited, Guarded, Checked, Unwatched, ScenarioWanted, Uncompared,
		AskedAside, AskedAsideAgain, CheckedIn, AnsweredAside, AsideFailed, Committed:
		return
	}
	w.fault("clients are told nothing of %s", Kind(e))
}

// witness holds each fact against the state that it came upon.
func (w *world) witness(before State, e Event) {
	switch e := e.(type) {
	case Began:
		w.mayHaveBegun(before, e)
	case Returned:
		w.close(before, e.Op)
	case Cancelled:
		w.close(before, e.Op)
	case Lost:
		w.close(before, e.Op)
	case Steered:
		w.steers = append(w.steers, steerSeen{id: e.Steer.ID, text: e.Steer.Text, when: e.Steer.When})
	case Cut:
		talk := w.state.Conversation()
		if last := string(talk[len(talk)-1]); !strings.Contains(last, cutMark(e.By)) || last != string(e.Message) {
			w.fault("what %s had said is not in the conversation: %s", e.Question, last)
		}
	case Stood:
		w.given(before, e)
	case Withdrawn:
		w.steer(e.Steer).withdrawn = true
	case Heard:
		w.hear(e.Steer)
	case StepChanged, Planned:
		w.doneIsVerified(e)
	}
}

func (w *world) mayHaveBegun(before State, e Began) {
	c, ok := before.call(e.Op)
	if !ok || c.Op.Status != protocol.OpQueued {
		w.fault("%s began though it was not queued", e.Op)
	}
	if c.Reverts != nil {
		w.alone(before, e)
		return
	}
	if before.awaitsLeave(e.Op) {
		w.fault("%s %s began before the developer allowed it", c.Op.Tool, e.Op)
	}
	if before.waitsForRevert(c) {
		w.fault("%s %s began while edits are taken back by hand", c.Op.Tool, e.Op)
	}
	if !changes(c.Op.Effect) {
		return
	}
	switch {
	case before.Mode == protocol.Paused && !before.Took:
		w.fault("%s %s began in a pause", c.Op.Tool, e.Op)
	case before.awaitsCheck():
		w.fault("%s %s began before anybody looked behind what ended", c.Op.Tool, e.Op)
	case before.vetoOpen():
		w.fault("%s %s began while a decision waits", c.Op.Tool, e.Op)
	case c.For == "" && before.owesPlan():
		w.fault("%s %s began before the plan that answers a steer", c.Op.Tool, e.Op)
	case c.Op.Effect == protocol.EffectExecute && !before.Started.Trusted:
		w.fault("%s %s began in an untrusted workspace", c.Op.Tool, e.Op)
	}
}

// given says that leave comes of one thing alone: a developer who takes an option that gives it.
func (w *world) given(before State, e Stood) {
	if _, ok := before.permit(e.Decision); !ok || w.input == nil {
		return
	}
	in, ok := w.input.(Decide)
	d, _ := before.decision(in.Decision)
	if !ok || d.Kind != protocol.Permission || in.Option != allowOnce && in.Option != allowSession || in.Text != "" || in.Reject {
		w.fault("%s was allowed by %T %+v", e.Decision, w.input, w.input)
	}
}

// hasLeave says that what a job may touch stands in a decision for it, or in one for the session.
func (w *world) hasLeave(id string, network bool, needs []Need) {
	if network && !w.state.Guards.Network {
		needs = append([]Need{{Kind: NeedNetwork}}, needs...)
	}
	for _, n := range needs {
		if !slices.ContainsFunc(w.state.Decisions, func(d protocol.Decision) bool {
			p, _ := w.state.permit(d.ID)
			return d.Status == protocol.DecisionStanding && slices.Contains(p.Needs, n) && (p.Op == id || d.Chosen == allowSession)
		}) {
			w.fault("%s has %+v, which nobody gave", id, n)
		}
	}
}

// alone says that a revert by hand begins while nothing else writes.
func (w *world) alone(before State, e Began) {
	for _, c := range before.Open {
		if c.Op.ID != e.Op && c.Op.Status != protocol.OpQueued && (c.Op.Effect == protocol.EffectWrite || c.Op.Tool == toolUpdatePlan && !c.Taken) {
			w.fault("a revert began while %s %s writes", c.Op.Tool, c.Op.ID)
		}
	}
}

func (w *world) close(before State, op string) {
	if _, open := before.call(op); !open {
		w.fault("%s was closed though it was not open", op)
	}
	w.closed[op]++
	if w.closed[op] > 1 {
		w.fault("%s was closed %d times", op, w.closed[op])
	}
}

func (w *world) steer(id string) *steerSeen {
	for i := range w.steers {
		if w.steers[i].id == id {
			return &w.steers[i]
		}
	}
	w.fault("nobody said steer %s", id)
	return &steerSeen{}
}

// hear says that a steer is heard once, and after all that were said before it for the same moment.
func (w *world) hear(id string) {
	t := w.steer(id)
	n := 0
	for _, o := range w.steers {
		n = max(n, o.heard)
	}
	if t.heard > 0 || t.withdrawn {
		w.fault("steer %s was heard again", id)
	}
	t.heard = n + 1
	for _, o := range w.steers {
		if o.id == id {
			return
		}
		if o.when == t.when && o.when != protocol.StepEnd && o.heard == 0 && !o.withdrawn {
			w.fault("steer %s was heard before %s", id, o.id)
		}
	}
}

func (w *world) doneIsVerified(e Event) {
	for _, t := range w.state.Plan.Steps {
		if t.Status == protocol.StepDone && t.Verify != nil && (t.Verified == nil || !*t.Verified) {
			w.fault("after %s step %s is done without its verification", Kind(e), t.ID)
		}
	}
}

// atRest holds the state between two inputs against what is promised of it.
func (w *world) atRest(compacted bool) {
	talk := texts(w.state.Conversation())
	if !compacted && (len(talk) < len(w.talk) || !slices.Equal(talk[:len(w.talk)], w.talk)) {
		w.fault("the conversation did not only grow")
	}
	w.talk, w.brief = talk, w.brief || compacted
	w.outcomesAreTold(talk)
	if w.state.Question != nil {
		if err := soundTalk(talk); err != nil {
			w.fault("question %s bears an invalid conversation: %v\n%s", w.state.Question.ID, err, strings.Join(talk, "\n"))
		}
	}
	w.steersStand(talk)
	w.revertsCount()
	if v := encode(w.state.View(w.now)); strings.Contains(v, ":null") {
		w.fault("null in the view: %s", v)
	}
}

// revertsCount says that what can be taken back is counted right, and that what a step shows can
// be sent back.
func (w *world) revertsCount() {
	left := map[string]int{}
	for _, p := range w.state.Ops() {
		if len(p.Changes) > 0 && ofStep(p.Op) && !slices.Contains(w.state.reverts.taken, p.Op.ID) {
			left[p.Op.StepID]++
		}
	}
	for _, e := range w.state.reverts.left {
		if left[e.step] != e.n {
			w.fault("of step %s %d operations can be taken back, counted are %d", e.step, left[e.step], e.n)
		}
		delete(left, e.step)
	}
	if len(left) > 0 {
		w.fault("nobody counts what can be taken back of %v", left)
	}
	for _, t := range w.state.Plan.Steps {
		edits, _, err := w.state.Revertible(RevertOf{Step: t.ID})
		if w.state.canRevertStep(t.ID) != (err == nil && len(edits) > 0 && w.state.alive()) {
			w.fault("step %s can be taken back: %t, and its edits are %d, %v", t.ID, w.state.canRevertStep(t.ID), len(edits), err)
		}
	}
}

// outcomesAreTold says that the model is told of each call that has ended what came of it: by
// its result, or, where it ran on when that was due, once in a later message.
func (w *world) outcomesAreTold(talk []string) {
	if w.brief {
		return
	}
	later := heardText(talk)
	for _, n := range w.state.Unsaid {
		later += "\n" + n.Text
	}
	for _, text := range talk {
		m, err := readMessage(text)
		if err != nil || m.Role != "tool" {
			continue
		}
		want := 0
		if _, open := w.state.call(m.ToolCallID); !open && strings.Contains(*m.Content, `"note":"`) && strings.Contains(*m.Content, "follows") {
			want = 1
		}
		if n := strings.Count(later, "[outcome of "+m.ToolCallID+","); n != want {
			w.fault("the outcome of %s is told %d times after its result, not %d", m.ToolCallID, n, want)
		}
	}
}

// steersStand says that what was heard stands in what the model is told exactly once, in order.
func (w *world) steersStand(talk []string) {
	said := heardText(talk)
	for _, n := range w.state.Unsaid {
		said += "\n" + n.Text
	}
	heard := slices.Clone(w.steers)
	slices.SortStableFunc(heard, func(a, b steerSeen) int { return a.heard - b.heard })
	at := -1
	for _, t := range heard {
		n, want := strings.Count(said, t.text), min(t.heard, 1)
		if n != want {
			w.fault("steer %s stands %d times in the conversation, not %d", t.id, n, want)
			continue
		}
		if i := strings.Index(said, t.text); want == 1 && i < at {
			w.fault("steer %s stands before one that was heard earlier", t.id)
		} else if want == 1 {
			at = i
		}
	}
}

// messagesRead holds messages that were decoded before: the same ones are looked at after every input.
var messagesRead = map[string]message{}

func readMessage(text string) (message, error) {
	if m, ok := messagesRead[text]; ok {
		return m, nil
	}
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, err
	}
	messagesRead[text] = m
	return m, nil
}

// heardText is all that the conversation says to the model in the developer's name.
func heardText(talk []string) string {
	var b strings.Builder
	for _, text := range talk {
		if m, err := readMessage(text); err == nil && m.Role == "user" && m.Content != nil {
			b.WriteString(*m.Content + "\n")
		}
	}
	return b.String()
}

// relist notes which work began and which is over. After a restart all of it is.
func (w *world) relist(restarted bool) {
	now := map[string]bool{}
	if !restarted {
		for _, work := range w.state.Work() {
			key := fmt.Sprint(work.ID, " ", work.Again)
			if now[key] {
				w.fault("work %s is listed twice", key)
			}
			now[key] = true
			switch job := work.Job.(type) {
			case Run:
				w.hasLeave(work.ID, job.Network, job.Leave)
			case Verify:
				w.hasLeave(work.ID, job.Network, job.Leave)
			case Check:
				w.hasLeave(work.ID, job.Network, nil)
			case RunBefore:
				w.hasLeave(work.ID, job.Network, nil)
			case Rerun:
				w.hasLeave(work.ID, job.Network, nil)
			}
			c, ok := w.state.call(work.ID)
			if ok && w.state.Mode == protocol.Paused && !w.state.Took && c.Op.Effect == protocol.EffectExecute && !work.Frozen {
				w.fault("%s runs in a pause", work.ID)
			}
			if ok && (c.Stop != nil || c.Op.Status == protocol.OpQueued) {
				w.fault("work %s is listed and the call is %s, stop %v", work.ID, c.Op.Status, c.Stop)
			}
			if _, waits := work.Job.(Wait); w.over[key] && !waits {
				w.fault("work %s is listed again", work.ID)
			}
		}
	}
	for id := range w.listed {
		// What only looks may be done again after a restart, and a commit, which is found where it was made.
		again := strings.HasPrefix(id, "check ") || strings.HasPrefix(id, "keep ") || strings.HasPrefix(id, "commit ")
		if !now[id] && !(restarted && again) {
			w.over[id] = true
		}
	}
	w.listed = now
}

// spokenTo says that nothing which waited when the developer spoke begins after it. It also asks
// the state before for something else: a state is a value, so that changes nothing in this one.
func (w *world) spokenTo(before State, in Input) {
	before.Decide(At{Time: w.now, Input: Steer{Text: "Elsewhere."}})
	if q := before.Question; q != nil {
		calls := []ModelCall{{Name: toolReadFile, Arguments: "{}"}, {Name: toolFinish, Arguments: "{}"}}
		before.Decide(At{Time: w.now, Input: Replied{Question: q.ID, Calls: calls}})
	}
	switch in := in.(type) {
	case Steer:
		if in.When != "" && in.When != protocol.Now {
			return
		}
	case Decide:
		if in.Pause == "" {
			return
		}
	case Replan:
	default:
		return
	}
	for _, c := range before.Open {
		if _, open := w.state.call(c.Op.ID); open && c.Op.Status == protocol.OpQueued && c.Reverts == nil {
			w.fault("%s waited when %T came, and is not cancelled", c.Op.ID, in)
		}
	}
}

// reportedOnce says that work which has reported is not listed any more: nobody starts it twice.
func (w *world) reportedOnce(in Input) {
	var id string
	switch in := in.(type) {
	case Outcome:
		id = in.Op
	case Replied:
		id = in.Question
	case AskFailed:
		id = in.Question
	}
	out, outcome := in.(Outcome)
	if len(out.Needs) > 0 { // a call that did nothing for want of leave is begun anew
		return
	}
	for _, work := range w.state.Work() {
		_, asks := work.Job.(Ask)
		if work.ID == id && asks != outcome {
			w.fault("work %s is listed though it has reported", id)
		}
	}
}

// noOldWait says that nothing waits for a time that has come.
func (w *world) noOldWait() {
	for _, work := range w.state.Work() {
		if wait, ok := work.Job.(Wait); ok && !wait.Until.After(w.now) {
			w.fault("work %s waits for what is past at %s", work.ID, w.now)
		}
	}
}

// trueOutcome says that a call which ran ended as its job reported.
func (w *world) trueOutcome(before State, in Input, events []Event) {
	out, ok := in.(Outcome)
	c, open := before.call(out.Op)
	if !ok || !open || c.Op.Status == protocol.OpQueued || c.Op.Tool == toolUpdatePlan {
		return
	}
	want := protocol.OpDone
	switch {
	case len(out.Needs) > 0 && c.Reverts == nil:
		w.didNothing(out.Op)
		return
	case out.Cancelled:
		want = protocol.OpCancelled
	case out.Failed:
		want = protocol.OpFailed
	}
	for p := range w.state.done.newest {
		if p.Op.ID != out.Op {
			continue
		}
		if p.Op.Status != want || len(p.Changes) != len(out.Changes) {
			w.fault("%s ended as %s with %d changes, its job said %s with %d", out.Op, p.Op.Status, len(p.Changes), want, len(out.Changes))
		}
		return
	}
	w.fault("%s reported and is still open: %v", out.Op, events)
}

// didNothing says that a call which came back for want of leave waits again, or is over without a trace.
func (w *world) didNothing(op string) {
	if c, open := w.state.call(op); open {
		running := c.Op.Status != protocol.OpQueued
		if c.Again == 0 || running && w.state.awaitsLeave(op) || c.Op.StartedAt != nil && !running {
			w.fault("%s was withheld and is %s", op, c.Op.Status)
		}
		return
	}
	if p, _ := w.state.past(op); p.Op.Status == protocol.OpDone || p.Began > 0 && p.Op.Status == protocol.OpQueued || len(p.Changes) > 0 {
		w.fault("%s did nothing and ended as %s with %d changes", op, p.Op.Status, len(p.Changes))
	}
}

// check says what was not as it should be. It replays the events, and those read from disk.
func (w *world) check() error {
	var live, read []Event
	for _, r := range w.records {
		live = append(live, r...)
	}
	for i, e := range live {
		if encode(e) != w.written[i] {
			w.fault("event %d was %s and is now %s", i+1, w.written[i], encode(e))
		}
		if back, err := Decode(Kind(e), []byte(w.written[i])); err == nil {
			read = append(read, back)
		}
	}
	if !reflect.DeepEqual(Replay(live), w.state) {
		w.fault("a replay leads to another state")
	}
	if !alike(reflect.ValueOf(Replay(read)), reflect.ValueOf(w.state)) {
		w.fault("a replay from disk leads to another state")
	}
	if again := notified(read); !slices.Equal(again, w.notes) {
		w.fault("a replay from disk tells clients something else")
	}
	if len(w.faults) > 0 {
		return fmt.Errorf("%s", strings.Join(w.faults, "\n"))
	}
	return nil
}

// notified is what clients are told when events are replayed.
func notified(events []Event) []string {
	var s State
	var out []string
	for _, e := range events {
		before := s
		s = s.Apply(e)
		if n, ok := s.Notify(before, e); ok {
			out = append(out, n.Method+" "+encode(n.Params))
		}
	}
	return out
}

// alike says that two values are the same but for lists that are empty or absent.
func alike(a, b reflect.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return alike(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

func texts(messages []json.RawMessage) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = string(m)
	}
	return out
}

// soundTalk says what a model server would refuse in a conversation: it begins with the system's
// message and the task, each call has one result right behind its message, ids are unique,
// nothing is empty, and it ends with something to answer.
func soundTalk(talk []string) error {
	ids := map[string]bool{}
	var due []string // the calls whose results come next
	last := ""
	for i, text := range talk {
		m, err := readMessage(text)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if i < 2 && m.Role != []string{"system", "user"}[i] {
			return fmt.Errorf("message %d is of %s", i, m.Role)
		}
		if (m.Content == nil || strings.TrimSpace(*m.Content) == "") && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if m.Role == "tool" {
			if len(due) == 0 || due[0] != m.ToolCallID {
				return fmt.Errorf("message %d is a result of %s, due are %v", i, m.ToolCallID, due)
			}
			due = due[1:]
		} else if len(due) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, due)
		}
		for _, c := range m.ToolCalls {
			if ids[c.ID] || !isObject(c.Function.Arguments) || c.Function.Name == "" {
				return fmt.Errorf("message %d: a bad call %+v", i, c)
			}
			ids[c.ID], due = true, append(due, c.ID)
		}
		last = m.Role
	}
	if len(due) > 0 || last == "assistant" {
		return fmt.Errorf("it ends with %s, and results due: %v", last, due)
	}
	return nil
}

// finish drives the session to its end with a model and a developer that are of good will. The
// error says where it is stuck.
func (w *world) finish(rounds int) error {
	for range rounds {
		in := w.helpful()
		if in == nil {
			return w.unheard()
		}
		if _, err := w.post(in); err != nil {
			return fmt.Errorf("%T %+v: %w", in, in, err)
		}
	}
	return fmt.Errorf("after %d rounds it is %s, open %+v, question %+v, work %+v", rounds, w.state.Mode, w.state.Open, w.state.Question, w.state.Work())
}

func (w *world) unheard() error {
	for _, t := range w.steers {
		if t.heard == 0 && !t.withdrawn && !w.state.Ended {
			return fmt.Errorf("the session is done and steer %s was never heard", t.id)
		}
	}
	return nil
}

// looked is a resume by one who has looked whether the inputs of this pause have moved.
func (w *world) looked() Resume {
	if w.state.Pause == nil {
		return Resume{}
	}
	return Resume{Pause: w.state.Pause.ID}
}

// helpful is the next input that leads towards the end, nil when it is reached.
func (w *world) helpful() Input {
	s := w.state
	for _, c := range s.Open {
		if c.Stop != nil {
			return Outcome{Op: c.Op.ID, Cancelled: true, Text: "ended"}
		}
	}
	for _, d := range s.Decisions {
		if s.alive() && d.Status == protocol.DecisionOpen && d.Kind == protocol.Permission {
			return Decide{Decision: d.ID, Option: allowOnce}
		}
	}
	switch {
	case s.Seq == 0:
		return Start{ID: "x", Task: "go", Trusted: true}
	case s.alive() && s.Mode == protocol.Paused:
		return w.looked()
	case s.alive() && s.Mode == protocol.Waiting && len(s.Questions) > 0:
		return Decide{Question: s.Questions[0].ID, Text: "yes"}
	case s.alive() && s.Mode == protocol.Waiting:
		return Steer{Text: fmt.Sprintf("Go on, number %d.", len(w.records)), By: "x"}
	}
	for _, d := range s.Decisions {
		if s.alive() && d.Status == protocol.DecisionOpen {
			return Decide{Decision: d.ID}
		}
	}
	for _, work := range s.Work() {
		return w.workOf(work)
	}
	return nil
}

func (w *world) workOf(work Work) Input {
	if in := guardedWork(work); in != nil {
		return in
	}
	zero := 0
	switch job := work.Job.(type) {
	case Ask:
		if a, ok := w.state.aside(work.ID); ok {
			return asideReply(work.ID, a)
		}
		call := ModelCall{Name: toolFinish, Arguments: `{"intent":"It is done.","step":"","summary":"done"}`}
		if job.Force == toolUpdatePlan || w.state.Plan.Revision == 0 {
			call = ModelCall{Name: toolUpdatePlan, Arguments: `{"steps":[{"id":"s1","title":"Do it","intent":"","status":"active"}],"explanation":""}`}
		}
		return Replied{Question: work.ID, Calls: []ModelCall{call}}
	case Wait:
		w.now = job.Until
		return TimePassed{}
	}
	return Outcome{Op: work.ID, Text: "ok", ExitCode: &zero}
}
