package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Case is what a pause is about: a scenario whose inputs are kept as they were when the pause
// began, so that the same case can run again after the developer's decision.
type Case struct {
	Scenario string
	After    []string      // the operations behind which the condition tripped
	Before   *protocol.Run // nil until it is known
	Runs     int           // how often it was run again
	Running  bool          // it runs again now
	Broken   string        // why it cannot be run again
}

// ScenarioRun is a run that was compared with the one before it. One by hand has the id r1, r2, …;
// in the pause p1 the runs after a decision are p1.1, p1.2, ….
type ScenarioRun struct {
	ID         string
	Comparison protocol.Comparison
	Broken     string // why there is no comparison
}

// Wanted is a run that the developer asked for by hand.
type Wanted struct {
	ID       string           `json:"id"`
	Scenario string           `json:"scenario"`
	Against  protocol.Against `json:"against"`
}

// The inputs about scenarios.
type (
	// RunScenario asks for a run by hand.
	RunScenario struct {
		Scenario string
		Against  protocol.Against
	}
	// Kept says that a pause's inputs were kept, or why they could not be.
	Kept struct{ Pause, Snapshot, Broken string }
	// Preceded is the run before the decision, or why there is none.
	Preceded struct {
		Pause  string
		Run    protocol.Run
		Broken string
	}
	// Reran is how a run ended that is held against the one before it.
	Reran struct {
		ID         string
		Comparison protocol.Comparison
		Facts      []protocol.Fact // of conditions that do not hold on its inputs and outputs
		Values     []Reading       // of watches, after it
		Broken     string
	}
)

// The facts about scenarios.
type (
	// InputsKept says that the inputs are kept under the name of a snapshot.
	InputsKept struct {
		Snapshot string `json:"snapshot,omitempty"`
		Broken   string `json:"broken,omitempty"`
	}
	// RanBefore is the run before the decision.
	RanBefore struct {
		Run    protocol.Run `json:"run"`
		Broken string       `json:"broken,omitempty"`
	}
	// Rerunning says that the change is made and the same case runs again.
	Rerunning struct {
		Scenario string `json:"scenario"`
	}
	// ScenarioWanted is a run by hand that was asked for.
	ScenarioWanted struct {
		Wanted Wanted `json:"wanted"`
	}
	// Compared is a before and after. ID is the run by hand, "" in a pause.
	Compared struct {
		ID         string              `json:"id,omitempty"`
		Comparison protocol.Comparison `json:"comparison"`
	}
	// Uncompared says why a run gave no comparison.
	Uncompared struct {
		ID     string `json:"id,omitempty"`
		Broken string `json:"broken"`
	}
	// StillFailed brings the session back to its pause: what was decided did not cure it.
	StillFailed struct {
		Facts []protocol.Fact `json:"facts"`
	}
)

// The work on scenarios.
type (
	// KeepInputs keeps a scenario's inputs as they are now.
	KeepInputs struct{ Pause, Scenario string }
	// RunBefore gives the run before the decision: the one that tripped, where that was the
	// scenario's own, else a run on the snapshot that leaves the workspace alone.
	RunBefore struct {
		Pause, Scenario, Snapshot string
		Tripped                   []Past
		Failing                   []string
		Proposed                  []json.RawMessage
		Baseline                  []byte
		Network                   bool // its commands may use the network
	}
	// Rerun runs a scenario on a snapshot, or on the live inputs where there is none, and holds
	// it against the run before.
	Rerun struct {
		Scenario, Snapshot string
		Before             *protocol.Run // nil: it stands on both sides
		Input              string        // the digest of what that run read
		Failing            []string      // conditions to be looked at, beside those that watch the scenario
		Proposed           []json.RawMessage
		Watches            []protocol.Watch // as they stood before the run
		Baseline           []byte
		Network            bool // its commands may use the network
	}
)

func (RunScenario) input()    {}
func (Kept) input()           {}
func (Preceded) input()       {}
func (Reran) input()          {}
func (InputsKept) event()     {}
func (RanBefore) event()      {}
func (Rerunning) event()      {}
func (ScenarioWanted) event() {}
func (Compared) event()       {}
func (Uncompared) event()     {}
func (StillFailed) event()    {}
func (KeepInputs) job()       {}
func (RunBefore) job()        {}
func (Rerun) job()            {}

// soleScenario is the scenario of a pause that no stop condition called: the only one there is.
func (s State) soleScenario() string {
	if len(s.Guards.Scenarios) == 1 && s.Started.Trusted {
		return s.Guards.Scenarios[0]
	}
	return ""
}

// awaitsCase says that the developer has decided and the case before the change is not known yet.
func (s State) awaitsCase() bool {
	return s.Took && s.Case != nil && s.Case.Broken == "" && s.Case.Before == nil
}

// canRerun says that the same case can run again.
func (s State) canRerun() bool {
	return s.Took && s.Case != nil && s.Case.Broken == "" && s.Case.Before != nil
}

func (s State) reruns() bool { return s.Case != nil && s.Case.Running }

func (s State) rerunID() string { return "rerun " + s.runInPause() }

// runInPause is the id of the run that is under way in the pause; a journal with a gap may know of
// no pause.
func (s State) runInPause() string {
	if s.Pause == nil || s.Case == nil {
		return ""
	}
	return fmt.Sprintf("%s.%d", s.Pause.ID, s.Case.Runs)
}

// RanOnce is what a run was, with the digest of what it read, by its id; with the number 0 behind
// the pause it is the run before the decision. The error is for the developer.
func (s State) RanOnce(id string) (scenario string, input string, run protocol.Run, err error) {
	pause, before := strings.CutSuffix(id, ".0")
	for _, r := range s.Runs {
		c := r.Comparison
		switch {
		case r.ID == id && r.Broken != "":
			return "", "", run, protocol.Errorf(protocol.NoSuchEntity, "runs: %s gave nothing to compare: %s", id, r.Broken)
		case r.ID == id:
			return c.Scenario, c.Input.Digest, c.After, nil
		case before && r.ID == pause+".1":
			return c.Scenario, c.Input.Digest, c.Before, nil
		}
	}
	return "", "", run, protocol.Errorf(protocol.NoSuchEntity, "runs: there is no run %q that is over; the runs are %s", id, listed(s.runIDs()))
}

func (s State) runIDs() []string {
	var out []string
	for _, r := range s.Runs {
		if r.Broken == "" {
			out = append(out, r.ID)
		}
	}
	return out
}

// caseWork is what has to be done for the case of the pause.
func (s State) caseWork() []Work {
	c := s.Case
	if c == nil || s.Pause == nil || c.Broken != "" || !s.alive() {
		return nil
	}
	switch {
	case s.Pause.Snapshot == "":
		return []Work{{ID: "keep " + s.Pause.ID, Job: KeepInputs{s.Pause.ID, c.Scenario}}}
	case c.Before == nil && (s.Pause.Decision != "" || len(c.After) > 0):
		return []Work{{ID: "before " + s.Pause.ID, Job: RunBefore{Pause: s.Pause.ID, Scenario: c.Scenario,
			Snapshot: s.Pause.Snapshot, Tripped: s.pasts(c.After), Failing: s.Failing, Proposed: s.accepted(), Baseline: s.Baseline, Network: s.networked("")}}}
	case c.Running:
		return []Work{{ID: s.rerunID(), Job: Rerun{Scenario: c.Scenario, Snapshot: s.Pause.Snapshot,
			Before: c.Before, Input: s.Pause.Snapshot, Failing: s.Failing, Proposed: s.accepted(), Watches: s.Watches, Baseline: s.Baseline, Network: s.networked("")}}}
	}
	return nil
}

func (s State) pasts(ids []string) []Past {
	var out []Past
	for _, id := range ids {
		if p, ok := s.past(id); ok {
			out = append(out, p)
		}
	}
	return out
}

// wantedWork is the run by hand that is due.
func (s State) wantedWork() []Work {
	if len(s.Wanted) == 0 || !s.alive() {
		return nil
	}
	w := s.Wanted[0]
	job := Rerun{Scenario: w.Scenario, Proposed: s.accepted(), Watches: s.Watches, Baseline: s.Baseline, Network: s.networked("")}
	if w.Against == protocol.Snapshot && s.Pause != nil {
		job.Snapshot, job.Input = s.Pause.Snapshot, s.Pause.Snapshot
		if s.Case != nil {
			job.Before = s.Case.Before
		}
	} else if last, ok := s.lastRun(w.Scenario); ok {
		job.Before, job.Input = &last.After, last.Input.Digest
	}
	return []Work{{ID: "run " + w.ID, Job: job}}
}

// lastRun is the newest comparison of a scenario.
func (s State) lastRun(scenario string) (protocol.Comparison, bool) {
	for _, r := range slices.Backward(s.Runs) {
		if r.Broken == "" && r.Comparison.Scenario == scenario {
			return r.Comparison, true
		}
	}
	return protocol.Comparison{}, false
}

// Run is a run by hand that is over.
func (s State) Run(id string) (ScenarioRun, bool) {
	i := slices.IndexFunc(s.Runs, func(r ScenarioRun) bool { return r.ID == id })
	if i < 0 {
		return ScenarioRun{}, false
	}
	return s.Runs[i], true
}

// runScenario asks for a run by hand.
func (m *moment) runScenario(in RunScenario) error {
	if !m.Started.Trusted {
		return protocol.Errorf(protocol.Untrusted, "scenario: the workspace is not trusted, so nothing is executed in it; trust it and start another session")
	}
	if !slices.Contains(m.Guards.Scenarios, in.Scenario) {
		return protocol.Errorf(protocol.NoSuchEntity, "scenario: there is no %q; the configuration has %s", in.Scenario, listed(m.Guards.Scenarios))
	}
	against := in.Against
	switch against {
	case "":
		against = protocol.LastRun
	case protocol.LastRun:
	case protocol.Snapshot:
		if m.Case == nil || m.Case.Scenario != in.Scenario || m.Pause.Snapshot == "" {
			return protocol.Errorf(protocol.NoSuchEntity, "against: no snapshot of %q is kept; one is taken when a pause begins that is about it", in.Scenario)
		}
	default:
		return protocol.Errorf(protocol.InvalidParams, "against: %q is neither lastRun nor snapshot", in.Against)
	}
	m.say(ScenarioWanted{Wanted{ID: fmt.Sprintf("r%d", m.counters.runs+1), Scenario: in.Scenario, Against: against}})
	return nil
}

// listed is names for a sentence.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

func (m *moment) kept(in Kept) {
	if m.Pause != nil && m.Case != nil && m.Pause.ID == in.Pause && m.Pause.Snapshot == "" {
		m.say(InputsKept{Snapshot: in.Snapshot, Broken: in.Broken})
	}
}

func (m *moment) preceded(in Preceded) {
	if m.Pause != nil && m.Case != nil && m.Pause.ID == in.Pause && m.Case.Before == nil {
		m.say(RanBefore{Run: in.Run, Broken: in.Broken})
	}
}

// rerun lets the same case run again, now that what was decided is changed.
func (m *moment) rerun() {
	m.freeze()
	m.say(Rerunning{m.Case.Scenario})
}

// reran takes how a run ended. In a pause a condition that still fails brings the session back to
// it with the new facts; else the developer has the word.
func (m *moment) reran(in Reran) {
	if len(m.Wanted) > 0 && in.ID == "run "+m.Wanted[0].ID {
		m.ranByHand(in)
		return
	}
	if !m.reruns() || in.ID != m.rerunID() {
		return
	}
	if in.Broken != "" {
		m.say(Uncompared{Broken: in.Broken})
		m.say(Yielded{Reason: fmt.Sprintf("%s could not run again: %s", m.Case.Scenario, in.Broken)})
		return
	}
	m.say(Compared{Comparison: in.Comparison})
	m.readAll(in.Values)
	if len(in.Facts) > 0 {
		m.makeWay(nil, protocol.CancelledBy{Kind: protocol.ByPause, ID: m.Pause.ID}) // what it says now does not know of these
		m.say(StillFailed{in.Facts})
		return
	}
	m.say(Yielded{Reason: "the same case ran again; look at before and after, then resume"})
}

func (m *moment) ranByHand(in Reran) {
	id := m.Wanted[0].ID
	if in.Broken != "" {
		m.say(Uncompared{ID: id, Broken: in.Broken})
		return
	}
	m.say(Compared{ID: id, Comparison: in.Comparison})
	m.readAll(in.Values)
}

func (m *moment) readAll(values []Reading) {
	for _, r := range values {
		m.read(r, "")
	}
}

// backToPause ends the change of what was decided, because another condition does not hold.
func (m *moment) backToPause(facts []protocol.Fact) {
	queued, _ := m.consequences(nil)
	m.makeWay(queued, protocol.CancelledBy{Kind: protocol.ByPause, ID: m.Pause.ID})
	m.say(StillFailed{facts})
	m.freeze()
}

// caseLost says what a restart means for runs that were under way: nothing is run twice by itself.
func (m *moment) caseLost() {
	const lost = "the daemon ended while it ran; its outcome is unknown"
	for _, w := range slices.Clone(m.Wanted) {
		m.say(Uncompared{ID: w.ID, Broken: lost})
	}
	if m.reruns() {
		m.say(Uncompared{Broken: lost})
		m.say(Yielded{Reason: fmt.Sprintf("%s: %s; decide again to run it once more", m.Case.Scenario, lost)})
	}
	if m.Case != nil && m.Pause.Snapshot != "" && m.Case.Before == nil && m.Case.Broken == "" && (m.Pause.Decision != "" || len(m.Case.After) > 0) {
		m.say(RanBefore{Broken: lost})
	}
}

// changeLost says what a restart means for a change of what was decided: the developer looks first.
func (m *moment) changeLost(facts []protocol.Fact) {
	if !m.alive() || !m.Took || m.Autonomy == protocol.High {
		return
	}
	if len(facts) > 0 {
		m.say(Tripped{facts})
	}
	m.say(Yielded{Reason: "the daemon ended while what was decided was changed; look at what is there, then decide again or resume"})
}

// addFact adds a fact of the daemon to the pause.
func (s *State) addFact(text string) {
	s.editPause(func(p *protocol.Pause) { p.Facts = append(slices.Clone(p.Facts), protocol.Fact{Text: text}) })
}

func (s *State) editCase(change func(*Case)) {
	if s.Case == nil {
		return
	}
	c := *s.Case
	change(&c)
	s.Case = &c
}

func (s State) inputsKept(e InputsKept) State {
	s.editPause(func(p *protocol.Pause) { p.Snapshot = e.Snapshot })
	s.broke(e.Broken)
	return s
}

func (s State) ranBefore(e RanBefore) State {
	if e.Broken == "" {
		run := e.Run
		s.editCase(func(c *Case) { c.Before = &run })
	}
	s.broke(e.Broken)
	return s
}

// broke says why the case of the pause cannot run again.
func (s *State) broke(why string) {
	if why == "" || s.Case == nil {
		return
	}
	s.editCase(func(c *Case) { c.Broken = why })
	s.addFact(fmt.Sprintf("Scenario %s cannot run again on the same input: %s.", s.Case.Scenario, why))
}

func (s State) compared(e Compared) State {
	s.dropWanted(e.ID)
	s.Runs = append(slices.Clone(s.Runs), ScenarioRun{ID: cmp.Or(e.ID, s.runInPause()), Comparison: e.Comparison})
	if e.ID != "" {
		return s
	}
	c := e.Comparison
	s.editPause(func(p *protocol.Pause) { p.Comparison = &c })
	s.editCase(func(c *Case) { c.Running = false })
	s.Failing = nil
	for _, k := range c.After.Checks {
		if !k.OK {
			s.Failing = append(s.Failing, k.Tripwire)
		}
	}
	return s
}

func (s State) uncompared(e Uncompared) State {
	s.dropWanted(e.ID)
	if e.ID != "" {
		s.Runs = append(slices.Clone(s.Runs), ScenarioRun{ID: e.ID, Broken: e.Broken})
		return s
	}
	s.editCase(func(c *Case) { c.Running = false })
	return s
}

func (s *State) dropWanted(id string) {
	s.Wanted = slices.DeleteFunc(slices.Clone(s.Wanted), func(w Wanted) bool { return w.ID == id })
}

func (s State) stillFailed(e StillFailed) State {
	s.Initiative, s.Took, s.looks = protocol.AgentInitiative, false, 0
	s.Failing = tripwires(e.Facts)
	s.editPause(func(p *protocol.Pause) {
		p.Facts, p.Options, p.LikelyCause = append(slices.Clone(p.Facts), e.Facts...), nil, ""
	})
	s.note(stillFailsNote(e.Facts))
	return s
}

// Ran says that an operation was a run of a command line.
func (p Past) Ran(line string) bool {
	return p.Op.Effect == protocol.EffectExecute && p.Began > 0 && p.Op.Target == clip(strings.TrimSpace(line), 200)
}
