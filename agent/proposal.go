package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Proposal is a stop condition that the agent proposed with its plan. It counts only when the
// developer keeps it; until then it is a decision that waits for a word and holds nothing.
type Proposal struct {
	Decision string
	Name     string
	Spec     json.RawMessage
	Accepted bool
	LeftOut  bool // the developer wants none; the same is not proposed again
}

// leaveOut is the alternative to a proposed stop condition.
const leaveOut = "leave-out"

// mostProposed is the longest stop condition, in bytes, that is proposed: the developer has to see
// all of what they keep.
const mostProposed = 2000

// proposeTripwires announces the stop conditions that a plan proposes and that are new. Where the
// workspace is not trusted none would be looked at, so none is promised.
func (m *moment) proposeTripwires(step string, specs []json.RawMessage) {
	if !m.Started.Trusted {
		return
	}
	for _, raw := range specs {
		var spec struct {
			Name string `json:"name"`
		}
		if !isObject(string(raw)) || len(raw) > mostProposed || json.Unmarshal(raw, &spec) != nil || strings.TrimSpace(spec.Name) == "" || m.knowsTripwire(spec.Name, encode(raw)) {
			continue
		}
		d := protocol.Decision{ID: m.nextDecision(), StepID: step, Significance: protocol.Minor, Status: protocol.DecisionOpen,
			Summary:      fmt.Sprintf("Stop condition %s", spec.Name),
			Rationale:    "I propose that the work stops when it does not hold: " + encode(raw) + ". It counts only when you keep it.",
			Alternatives: []protocol.Alternative{{ID: leaveOut, Title: "no such condition"}}}
		m.say(Announced{Decision: d, Tripwire: &ProposedTripwire{Name: spec.Name, Spec: json.RawMessage(encode(raw))}})
	}
}

// ProposedTripwire is a stop condition as the agent wrote it.
type ProposedTripwire struct {
	Name string          `json:"name"`
	Spec json.RawMessage `json:"spec"`
}

// knowsTripwire says that a stop condition is there under this name, or was left out as it is.
func (s State) knowsTripwire(name, spec string) bool {
	proposed := func(p Proposal) bool { return p.Name == name && (!p.LeftOut || string(p.Spec) == spec) }
	return slices.Contains(s.Guards.Tripwires, name) || slices.ContainsFunc(s.Proposals, proposed) ||
		slices.ContainsFunc(s.Guards.Budgets, func(b Budget) bool { return b.Name == name })
}

func (s State) proposal(decision string) bool {
	return slices.ContainsFunc(s.Proposals, func(p Proposal) bool { return p.Decision == decision })
}

// accepted are the proposed stop conditions that the developer keeps.
func (s State) accepted() []json.RawMessage {
	var out []json.RawMessage
	for _, p := range s.Proposals {
		if p.Accepted {
			out = append(out, p.Spec)
		}
	}
	return out
}

// tripwired says that there is a stop condition which the world checks.
func (s State) tripwired() bool { return len(s.Guards.Tripwires) > 0 || len(s.accepted()) > 0 }

// decideProposal keeps a proposed stop condition or leaves it out; own words are a steer.
func (m *moment) decideProposal(d protocol.Decision, in Decide) error {
	words := strings.TrimSpace(in.Text)
	switch {
	case in.Option != "" && in.Option != leaveOut:
		return protocol.Errorf(protocol.NoSuchEntity, "option: the decision has no alternative %q", in.Option)
	case in.Option == "" && words == "" && !in.Reject:
		if d.Status == protocol.DecisionOpen {
			m.say(Stood{Decision: d.ID})
		}
		return nil
	}
	m.say(Overridden{Decision: d.ID, Chosen: in.Option})
	if words == "" {
		return nil
	}
	return m.steer(Steer{Text: fmt.Sprintf("Not «%s». %s", d.Summary, words), Scope: &protocol.Scope{DecisionID: d.ID}, By: in.By})
}

func (s State) announcedState(e Announced) State {
	s.Decisions = append(slices.Clone(s.Decisions), e.Decision)
	s.announced = append(slices.Clone(s.announced), s.Seq)
	s.counters.decisions++
	if e.Kind != "" && e.Decision.Status == protocol.DecisionOpen {
		s.kinds = append(slices.Clone(s.kinds), kinded{e.Decision.ID, e.Kind})
	}
	if t := e.Tripwire; t != nil {
		s.Proposals = append(slices.Clone(s.Proposals), Proposal{Decision: e.Decision.ID, Name: t.Name, Spec: t.Spec})
	}
	return s
}

// proposalDecided accepts a proposal, or leaves it out.
func (s State) proposalDecided(decision string, kept bool) State {
	if !s.proposal(decision) {
		return s
	}
	var out []Proposal
	for _, p := range s.Proposals {
		if p.Decision == decision {
			p.Accepted, p.LeftOut = kept, !kept
		}
		out = append(out, p)
	}
	s.Proposals = out
	s.unbased = s.unbased || kept && s.Baseline != nil
	s.counters.checks++ // a check under way knows another set
	return s
}
