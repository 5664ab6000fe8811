package agent

import (
	"fmt"
	"slices"
	"time"

	"tandem/protocol"
)

// Signals are the thresholds of what the daemon notices by itself. 0 is the default.
type Signals struct {
	Reads    int           `json:"reads,omitempty"`    // operations in a row that only read
	Failures int           `json:"failures,omitempty"` // of one command in a row
	Returns  int           `json:"returns,omitempty"`  // how often a file is brought back to what it was
	Growth   int           `json:"growth,omitempty"`   // plans in a row that only add steps
	Silence  time.Duration `json:"silence,omitempty"`  // without a word or a running operation
}

// The thresholds where the configuration names none.
const (
	defaultReads    = 15
	defaultFailures = 3
	defaultReturns  = 2
	defaultGrowth   = 3
	defaultSilence  = 2 * time.Minute
)

// coolDown is how many operations pass before the same signal is given again.
const coolDown = 30

// Signalled is something that the daemon noticed. It interrupts nobody: it offers a check-in.
type Signalled struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (Signalled) event() {}

// lull is what happened since the last check-in or progress of the plan.
type lull struct {
	reads int    // operations in a row that only read
	given []give // the signals of this session and when they were given
}

type give struct {
	kind string
	at   int // the number of operations then
}

func threshold(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// notice gives the signals that are new. At autonomy high the developer wants none.
func (m *moment) notice() {
	if m.Mode != protocol.Executing || m.Autonomy == protocol.High {
		return
	}
	if slices.ContainsFunc(m.events, tells) {
		for _, sig := range m.noticed() {
			if !m.givenLately(sig.Kind) {
				m.say(sig)
			}
		}
	}
	if q := m.Question; q != nil && m.mayBeSilent() && !m.at.Before(m.silentAt()) {
		m.say(Signalled{"silence", fmt.Sprintf("the model has been at one answer for %s and nothing else runs", m.at.Sub(q.Started).Round(time.Second))})
	}
}

// tells says that an event may be one too many of its kind.
func tells(e Event) bool {
	switch e.(type) {
	case Returned, Planned:
		return true
	}
	return false
}

// mayBeSilent says that nothing but the model's answer is awaited and no one was told of it yet. A
// long test run is no silence.
func (s State) mayBeSilent() bool {
	return s.Question != nil && s.Mode == protocol.Executing && s.Autonomy != protocol.High && len(s.Open) == 0 && !s.givenLately("silence")
}

func (s State) silentAt() time.Time {
	after := s.Guards.Signals.Silence
	if after <= 0 {
		after = defaultSilence
	}
	return s.Question.Started.Add(after)
}

func (s State) givenLately(kind string) bool {
	return slices.ContainsFunc(s.sinceCheckIn.given, func(g give) bool { return g.kind == kind && s.counters.ops-g.at < coolDown })
}

// signals are what the daemon notices now, in sentences.
func (s State) signals() []string {
	var out []string
	for _, sig := range s.noticed() {
		out = append(out, sig.Text)
	}
	return out
}

// noticed is everything that is to be noticed in the state as it is.
func (s State) noticed() []Signalled {
	var out []Signalled
	if n := s.sinceCheckIn.reads; n >= threshold(s.Guards.Signals.Reads, defaultReads) {
		out = append(out, Signalled{"reads", fmt.Sprintf("%d operations in a row only read, and no step of the plan moved", n)})
	}
	if sig, ok := s.failing(); ok {
		out = append(out, sig)
	}
	if sig, ok := s.backAndForth(); ok {
		out = append(out, sig)
	}
	if sig, ok := s.growing(); ok {
		out = append(out, sig)
	}
	return out
}

// failing notices a command that fails again and again.
func (s State) failing() (Signalled, bool) {
	n, command, looked := 0, "", 0
	for p := range s.done.newest {
		if looked++; looked > lookedBack {
			break
		}
		if p.Op.Effect != protocol.EffectExecute || p.Began == 0 {
			continue
		}
		if p.Op.Status != protocol.OpFailed || n > 0 && p.Op.Target != command {
			break
		}
		n, command = n+1, p.Op.Target
	}
	return Signalled{"failures", fmt.Sprintf("«%s» failed %d times in a row", command, n)},
		n >= threshold(s.Guards.Signals.Failures, defaultFailures)
}

// lookedBack is how many of the latest operations are looked through.
const lookedBack = 60

// backAndForth notices edits that bring a file back to what it was before, more than once.
func (s State) backAndForth() (Signalled, bool) {
	var seen []Change
	looked, worst, path := 0, 0, ""
	for p := range s.done.newest {
		if looked++; looked > lookedBack {
			break
		}
		if p.Op.Effect == protocol.EffectWrite {
			seen = append(seen, p.Changes...)
		}
	}
	for i, c := range seen {
		returns := 0
		for _, older := range seen[i+1:] {
			if older.Path == c.Path && older.Before != nil && c.After != nil && older.Before.Digest != "" && older.Before.Digest == c.After.Digest {
				returns++
			}
		}
		if returns > worst {
			worst, path = returns, c.Path
		}
	}
	return Signalled{"returns", fmt.Sprintf("%s was changed and brought back %d times", path, worst)},
		worst >= threshold(s.Guards.Signals.Returns, defaultReturns)
}

// growing notices a plan that only grows while nothing of it is done.
func (s State) growing() (Signalled, bool) {
	grown, now := 0, len(s.Plan.Steps)
	for p := range s.plans.newest {
		if len(p.Steps) >= now || doneSteps(p) != doneSteps(s.Plan) {
			break
		}
		grown, now = grown+1, len(p.Steps)
	}
	return Signalled{"growth", fmt.Sprintf("the plan grew %d times in a row and no step of it was done", grown)},
		grown >= threshold(s.Guards.Signals.Growth, defaultGrowth)
}

func doneSteps(p protocol.Plan) int {
	n := 0
	for _, t := range p.Steps {
		if t.Status == protocol.StepDone {
			n++
		}
	}
	return n
}

func (s State) signalled(e Signalled) State {
	s.sinceCheckIn.given = append(slices.Clone(s.sinceCheckIn.given), give{e.Kind, s.counters.ops})
	return s
}

// lulled counts what an operation that ended means for the streak of reading.
func (s *State) lulled(op protocol.Operation) {
	switch {
	case op.Effect == protocol.EffectRead && op.Status == protocol.OpDone:
		s.sinceCheckIn.reads++
	case changes(op.Effect):
		s.sinceCheckIn.reads = 0
	}
}
