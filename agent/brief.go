package agent

import (
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Brief is where the work stands, from the journal alone.
func (s State) Brief() protocol.Brief {
	b := protocol.Brief{Goal: s.Started.Task}
	for _, t := range s.Plan.Steps {
		switch t.Status {
		case protocol.StepDone:
			b.Done = append(b.Done, s.stepClaim(t))
		case protocol.StepPending, protocol.StepActive, protocol.StepBlocked:
			text := t.Title
			if t.Status != protocol.StepPending {
				text += fmt.Sprintf(" (%s)", t.Status)
			}
			b.Remaining = append(b.Remaining, text)
		}
	}
	for _, d := range s.Decisions {
		if d.Status != protocol.DecisionOverridden {
			b.Assumptions = append(b.Assumptions, d.Summary)
		}
	}
	for _, name := range s.Failing {
		b.Risks = append(b.Risks, fmt.Sprintf("the stop condition %s does not hold", name))
	}
	for _, t := range s.Plan.Steps {
		if t.Verified != nil && !*t.Verified {
			b.Risks = append(b.Risks, fmt.Sprintf("%s: %s did not pass", t.Title, verifyOf(t)))
		}
	}
	for _, q := range s.Questions {
		b.Risks = append(b.Risks, "open question: "+q.Text)
	}
	return b
}

// stepClaim is a step that is done; it is grounded where its verification passed.
func (s State) stepClaim(t protocol.Step) protocol.Claim {
	c := protocol.Claim{Text: t.Title, Grounded: t.Verified != nil && *t.Verified}
	if t.Verify != nil {
		if p, ok := s.lastRunOf(t.Verify.Command); ok {
			c.Evidence = []string{p.Op.ID}
		}
	}
	return c
}

// grounded is the agent's brief with each claim held against the journal, and the claims that the
// journal refutes. A claim without evidence is not grounded, and nothing refutes it.
func (s State) grounded(b briefArgument) (protocol.Brief, []protocol.Contradiction) {
	out := protocol.Brief{Goal: b.Goal, Remaining: protocol.List[string](b.Remaining), Assumptions: protocol.List[string](b.Assumptions), Risks: protocol.List[string](b.Risks)}
	var against []protocol.Contradiction
	for _, d := range b.Done {
		claim := protocol.Claim{Text: d.Text}
		if d.EvidenceOperation != "" || d.EvidenceCommand != "" {
			p, fact := s.evidence(d)
			if p.Op.ID != "" {
				claim.Evidence = []string{p.Op.ID}
			}
			if claim.Grounded = fact == ""; !claim.Grounded {
				against = append(against, protocol.Contradiction{Claim: d.Text, Fact: fact, OperationID: p.Op.ID})
			}
		}
		out.Done = append(out.Done, claim)
	}
	return out, against
}

// evidence is the operation that a claim rests on, and the fact that refutes it; "" is none. It
// has to exist, to have passed, and to be later than the last change.
func (s State) evidence(d doneArgument) (Past, string) {
	p, ok := s.evidenceOf(d)
	switch {
	case !ok && d.EvidenceOperation != "":
		if c, open := s.call(opID(string(d.EvidenceOperation))); open {
			return Past{Op: c.Op}, fmt.Sprintf("%s has not ended yet", c.Op.ID)
		}
		return Past{}, fmt.Sprintf("there is no operation %s", d.EvidenceOperation)
	case !ok:
		return Past{}, fmt.Sprintf("«%s» never ran to its end", d.EvidenceCommand)
	case p.Op.Status != protocol.OpDone:
		return p, fmt.Sprintf("%s %s%s", ranAs(p), p.Op.Status, exitWords(p.Op.ExitCode))
	case p.Op.ExitCode != nil && *p.Op.ExitCode != 0:
		return p, fmt.Sprintf("%s ended%s", ranAs(p), exitWords(p.Op.ExitCode))
	}
	if later, ok := s.changedAfter(p); ok && p.Op.Effect == protocol.EffectExecute {
		return p, fmt.Sprintf("%s passed, but %s was changed after it had begun (%s)", ranAs(p), strings.Join(later.Op.Files, ", "), later.Op.ID)
	}
	return p, ""
}

func ranAs(p Past) string {
	if p.Op.Target != "" {
		return fmt.Sprintf("«%s»", p.Op.Target)
	}
	return p.Op.ID
}

func exitWords(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf(" with exit code %d", *code)
}

func (s State) evidenceOf(d doneArgument) (Past, bool) {
	if d.EvidenceOperation != "" {
		return s.past(opID(string(d.EvidenceOperation)))
	}
	return s.lastRunOf(d.EvidenceCommand)
}

// opID is an operation's id, also where a model writes it short.
func opID(id string) string {
	if n := number(id); n > 0 && strings.HasPrefix(id, "op") {
		return fmt.Sprintf("op%07d", n)
	}
	return id
}

// lastRunOf is the newest run of a command line that has ended.
func (s State) lastRunOf(command string) (Past, bool) {
	want := clip(strings.TrimSpace(command), 200)
	for p := range s.done.newest {
		if p.Op.Effect == protocol.EffectExecute && p.Began > 0 && clip(strings.TrimSpace(p.Op.Target), 200) == want {
			return *p, true
		}
	}
	return Past{}, false
}

// changedAfter is an operation that changed files after another had begun, not counting what that
// one changed itself.
func (s State) changedAfter(p Past) (Past, bool) {
	for later := range s.done.newest {
		if later.Seq < p.Began {
			break
		}
		if later.Op.ID != p.Op.ID && later.Op.Tool != toolVerify && len(later.Op.Files) > 0 {
			return *later, true
		}
	}
	i := slices.IndexFunc(s.Open, func(c Call) bool { return len(c.Op.Files) > 0 && c.Op.ID != p.Op.ID })
	if i < 0 {
		return Past{}, false
	}
	return Past{Op: s.Open[i].Op}, true
}
