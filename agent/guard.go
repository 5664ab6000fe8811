package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// Guards are what the developer's configuration asks the daemon to look after. The world knows
// what each stop condition, watch and scenario is; the core knows them by name.
type Guards struct {
	Tripwires []string            `json:"tripwires,omitempty"` // those that the world checks
	Budgets   []Budget            `json:"budgets,omitempty"`
	Watches   []protocol.NewWatch `json:"watches,omitempty"`
	Scenarios []string            `json:"scenarios,omitempty"`
	Signals   Signals             `json:"signals,omitzero"`
	Window    time.Duration       `json:"window,omitempty"`  // of a veto at autonomy balanced; 0 is the default
	Network   bool                `json:"network,omitempty"` // commands may use the network
	Context   int64               `json:"context,omitempty"` // how many tokens the model takes; 0 is not known
	Commits   bool                `json:"commits,omitempty"` // each finished step is committed on a branch of its own
	Marked    []string            `json:"marked,omitempty"`  // patterns of paths whose change is always major
}

// The developer's and the world's inputs about what is guarded.
type (
	// Configure says what the configuration asks for now; a session that was opened again may
	// find another one than it began with.
	Configure struct{ Guards Guards }
	// AddWatch adds a live value to what is shown.
	AddWatch struct {
		Name   string
		Source protocol.Source
	}
	// RemoveWatch takes one away.
	RemoveWatch struct{ Watch string }
	// Evaluated is how a check ended: which operations it looked behind, what it read, and which
	// stop conditions do not hold.
	Evaluated struct {
		ID       string
		Ops      []string
		Baseline json.RawMessage // what later checks are held against; nil leaves it as it is
		Values   []Reading
		Findings []Finding
		InVain   bool // the check was stopped and says nothing
	}
)

// Reading is a watch's value, or why it cannot be read.
type Reading struct {
	Watch string
	Value any // a string, a number or a truth value
	Error string
}

// Finding is a stop condition that does not hold, or that cannot be evaluated, which is the same.
type Finding struct {
	Tripwire string
	Scenario string // what runs again after the developer's decision; "" is nothing
	Facts    []protocol.Fact
}

// The facts about what is guarded.
type (
	// Guarded says what is looked after from now on.
	Guarded struct {
		Guards  Guards           `json:"guards"`
		Watches []protocol.Watch `json:"watches,omitempty"` // all of them, those of the developer too
	}
	// Checked says that the stop conditions and watches were looked at after these operations.
	Checked struct {
		Ops      []string        `json:"ops,omitempty"`
		Baseline json.RawMessage `json:"baseline,omitempty"`
	}
	// Watched is a watch that is new, or whose value or error has changed.
	Watched struct {
		Watch protocol.Watch `json:"watch"`
	}
	// Unwatched says that a watch was taken away.
	Unwatched struct {
		Watch string `json:"watch"`
	}
	// Tripped adds facts of stop conditions to the pause that the session is in already.
	Tripped struct {
		Facts []protocol.Fact `json:"facts"`
	}
)

// Check looks at stop conditions and watches after operations that could have touched what they
// watch. A check only looks: one whose daemon died is made again.
type Check struct {
	After    []Past
	Proposed []json.RawMessage // stop conditions of the agent that the developer keeps
	Baseline json.RawMessage
	Unbased  bool // conditions have come since the baseline was taken, which does not know of them
	Watches  []protocol.Watch
	Network  bool // its commands may use the network
}

func (Configure) input()   {}
func (AddWatch) input()    {}
func (RemoveWatch) input() {}
func (Evaluated) input()   {}
func (Guarded) event()     {}
func (Checked) event()     {}
func (Watched) event()     {}
func (Unwatched) event()   {}
func (Tripped) event()     {}
func (Check) job()         {}

// configure takes what the configuration asks for. Watches that the developer added by hand stay;
// one of the configuration that stays the same keeps its value.
func (m *moment) configure(g Guards) {
	if encode(g) == encode(m.Guards) {
		return
	}
	var watches []protocol.Watch
	for _, w := range m.Watches {
		old := protocol.NewWatch{Name: w.Name, Source: w.Source}
		if !slices.Contains(m.Guards.Watches, old) || slices.Contains(g.Watches, old) {
			watches = append(watches, w)
		}
	}
	next := m.counters.watches
	for _, w := range g.Watches {
		if !slices.ContainsFunc(watches, func(o protocol.Watch) bool { return o.Name == w.Name && o.Source == w.Source }) {
			next++
			watches = append(watches, protocol.Watch{ID: fmt.Sprintf("w%d", next), Name: w.Name, Source: w.Source})
		}
	}
	m.say(Guarded{Guards: g, Watches: watches})
}

// addWatch adds a watch; its value follows when it was read.
func (m *moment) addWatch(in AddWatch) error {
	name := strings.TrimSpace(in.Name)
	if name == "" {
		return protocol.Errorf(protocol.InvalidParams, "add.name: give the watch a name")
	}
	if !m.Started.Trusted {
		return protocol.Errorf(protocol.Untrusted, "watch: the workspace is not trusted, so nothing is read for it; trust it and start another session")
	}
	if slices.ContainsFunc(m.Watches, func(w protocol.Watch) bool { return w.Name == name }) {
		return protocol.Errorf(protocol.InvalidParams, "add.name: there is a watch named %q already; remove it first or take another name", name)
	}
	m.say(Watched{protocol.Watch{ID: fmt.Sprintf("w%d", m.counters.watches+1), Name: name, Source: in.Source}})
	return nil
}

func (m *moment) removeWatch(in RemoveWatch) error {
	if !slices.ContainsFunc(m.Watches, func(w protocol.Watch) bool { return w.ID == in.Watch }) {
		return protocol.Errorf(protocol.NoSuchEntity, "remove: there is no watch %q", in.Watch)
	}
	m.say(Unwatched(in))
	return nil
}

// checkDue says that something has to be looked at: an operation that could have touched what is
// watched has ended, a watch was never read, or what later checks are held against is not known.
func (s State) checkDue() bool {
	if !s.Started.Trusted || !s.alive() {
		return false
	}
	return len(s.Unchecked) > 0 || s.tripwired() && (s.Baseline == nil || s.unbased) ||
		slices.ContainsFunc(s.Watches, func(w protocol.Watch) bool { return w.At.IsZero() })
}

// awaitsCheck says that what is to come waits for the check. In a pause nothing of effect begins
// anyway, and the check itself stands still.
func (s State) awaitsCheck() bool {
	return s.checkDue() && (s.Mode != protocol.Paused || s.Took)
}

func (s State) checkID() string { return fmt.Sprintf("check %d", s.counters.checks+1) }

// check is the look that is due.
func (s State) check() Work {
	var after []Past
	for _, id := range s.Unchecked {
		if p, ok := s.past(id); ok {
			after = append(after, p)
		}
	}
	return Work{ID: s.checkID(), Frozen: s.Mode == protocol.Paused && !s.Took,
		Job: Check{After: after, Proposed: s.accepted(), Baseline: s.Baseline, Unbased: s.unbased, Watches: s.Watches, Network: s.networked("")}}
}

// evaluated takes what a check has seen; one that nobody waits for is dropped.
func (m *moment) evaluated(in Evaluated) {
	if !m.checkDue() || in.ID != m.checkID() {
		return
	}
	if in.InVain {
		m.say(Checked{})
		return
	}
	after := ""
	if n := len(in.Ops); n > 0 {
		after = in.Ops[n-1]
	}
	m.say(Checked{Ops: in.Ops, Baseline: in.Baseline})
	for _, r := range in.Values {
		m.read(r, after)
	}
	m.trip(in.Findings, in.Ops)
}

// read takes a watch's value. What stayed the same is not told again.
func (m *moment) read(r Reading, after string) {
	i := slices.IndexFunc(m.Watches, func(w protocol.Watch) bool { return w.ID == r.Watch })
	if i < 0 {
		return
	}
	old := m.Watches[i]
	if !old.At.IsZero() && old.Value == r.Value && (old.Error == "") == (r.Error == "") {
		return
	}
	now := old
	now.Value, now.Error, now.At, now.OperationID = r.Value, r.Error, m.at, after
	if old.Value != nil {
		now.Previous = old.Value
	}
	m.say(Watched{now})
}

// trip stops the session where a stop condition does not hold. In a pause its facts join those
// that are there; while what was decided is changed, only a condition that is not the pause's own
// brings the session back to it: the pause's own is looked at when the change is made.
func (m *moment) trip(found []Finding, after []string) {
	if m.Mode == protocol.Paused && m.Took && len(after) > 0 { // behind no operation: nothing can be looked at
		found = slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return slices.Contains(m.Failing, f.Tripwire) })
	}
	if len(found) == 0 || !m.alive() {
		return
	}
	var facts []protocol.Fact
	scenario := ""
	for _, f := range found {
		facts = append(facts, f.Facts...)
		if scenario == "" {
			scenario = f.Scenario
		}
	}
	switch {
	case m.Mode == protocol.Paused && m.Took:
		m.backToPause(facts)
	case m.Mode == protocol.Paused:
		m.say(Tripped{facts})
	default:
		m.beginPause(Paused{Pause: protocol.Pause{ID: m.nextPause(), By: protocol.PausedByTripwire, Reason: stoppedBy(found), Facts: facts},
			Asks: true, Scenario: scenario, After: after}, false)
	}
}

// stoppedBy names the conditions that stopped the session.
func stoppedBy(found []Finding) string {
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.Tripwire
	}
	return "stopped by " + strings.Join(names, ", ")
}

// tripwires are the stop conditions that facts speak of, each once.
func tripwires(facts []protocol.Fact) []string {
	var names []string
	for _, f := range facts {
		if f.Source != nil && f.Source.Tripwire != "" && !slices.Contains(names, f.Source.Tripwire) {
			names = append(names, f.Source.Tripwire)
		}
	}
	return names
}

func (s State) guarded(e Guarded) State {
	for _, w := range e.Watches {
		s.counters.watches = max(s.counters.watches, watchNumber(w.ID))
	}
	s.Guards, s.Watches, s.unbased = e.Guards, e.Watches, s.Baseline != nil
	s.counters.checks++ // a check under way looks for what may not be wanted any more
	return s.uncommit()
}

func (s State) unwatched(e Unwatched) State {
	s.Watches = slices.DeleteFunc(slices.Clone(s.Watches), func(w protocol.Watch) bool { return w.ID == e.Watch })
	s.counters.checks++
	return s
}

func (s State) watched(e Watched) State {
	i := slices.IndexFunc(s.Watches, func(w protocol.Watch) bool { return w.ID == e.Watch.ID })
	s.Watches = slices.Clone(s.Watches)
	if i < 0 {
		s.counters.watches = max(s.counters.watches, watchNumber(e.Watch.ID))
		s.Watches = append(s.Watches, e.Watch)
		return s
	}
	s.Watches[i] = e.Watch
	return s
}

func watchNumber(id string) int {
	var n int
	if _, err := fmt.Sscanf(id, "w%d", &n); err != nil {
		return 0
	}
	return n
}

func (s State) checked(e Checked) State {
	s.counters.checks++
	s.Unchecked = slices.DeleteFunc(slices.Clone(s.Unchecked), func(op string) bool { return slices.Contains(e.Ops, op) })
	if e.Baseline != nil {
		s.Baseline, s.unbased = e.Baseline, false
	}
	return s
}

// tripped adds facts to the pause.
func (s State) tripped(facts []protocol.Fact) State {
	s.Failing = slices.Clone(s.Failing)
	for _, name := range tripwires(facts) {
		if !slices.Contains(s.Failing, name) {
			s.Failing = append(s.Failing, name)
		}
	}
	s.editPause(func(p *protocol.Pause) { p.Facts = append(slices.Clone(p.Facts), facts...) })
	s.note(factsNote(facts))
	return s
}
