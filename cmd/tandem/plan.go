package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tandem/protocol"
)

// marks of the statuses of a step.
var stepMarks = map[protocol.StepStatus]string{protocol.StepPending: "○", protocol.StepActive: "▶", protocol.StepDone: "✓",
	protocol.StepDropped: "–", protocol.StepBlocked: "✗"}

var stepTones = map[protocol.StepStatus]tone{protocol.StepDone: good, protocol.StepActive: strong, protocol.StepDropped: quiet, protocol.StepBlocked: bad}

var stepWords = map[protocol.StepStatus]string{protocol.StepPending: "next", protocol.StepActive: "active", protocol.StepDone: "done",
	protocol.StepDropped: "dropped", protocol.StepBlocked: "blocked"}

// planLines are a whole plan: its steps in order, those that fell away last.
func planLines(p protocol.Plan) []line {
	out := []line{{text: fmt.Sprintf("PLAN  revision %d", p.Revision), side: cause(p.Cause), tone: strong}}
	for _, s := range p.Steps {
		out = append(out, stepLine(p, s))
	}
	return out
}

func cause(c protocol.Cause) string {
	switch c.Kind {
	case protocol.CauseSteer:
		return "from your steer"
	case protocol.CauseDeveloper:
		return "edited by you"
	case protocol.CausePause:
		return "from your decision in the pause"
	}
	return ""
}

// stepLine is one step with its place in the plan.
func stepLine(p protocol.Plan, s protocol.Step) line {
	text := s.Title
	if n := number(p, s.ID); n > 0 {
		text = fmt.Sprintf("%d  %s", n, s.Title)
	}
	return line{indent: 1, mark: stepMarks[s.Status], text: text, side: stepSide(s), tone: stepTones[s.Status]}
}

// number is a step's place among those that have not fallen away, from 1; 0 for one that has.
func number(p protocol.Plan, id string) int {
	n := 0
	for _, s := range p.Steps {
		if s.Status == protocol.StepDropped {
			continue
		}
		n++
		if s.ID == id {
			return n
		}
	}
	return 0
}

// stepSide says how a step stands, in words.
func stepSide(s protocol.Step) string {
	parts := []string{stepWords[s.Status]}
	switch {
	case s.Verified != nil && *s.Verified && s.Verify != nil:
		parts = append(parts, "verified: "+s.Verify.Command)
	case s.Verified != nil && s.Verify != nil:
		parts = append(parts, "failed: "+s.Verify.Command)
	case s.Status == protocol.StepPending || s.Status == protocol.StepActive:
		parts = append(parts, fileNames(s.Files)...)
	}
	return strings.Join(parts, " · ")
}

// fileNames are the names of a few files.
func fileNames(uris []string) []string {
	var names []string
	for _, u := range uris {
		names = append(names, path.Base(u))
	}
	if len(names) > 3 {
		names = append(names[:2], fmt.Sprintf("%d more", len(names)-2))
	}
	if len(names) == 0 {
		return nil
	}
	return []string{clean(strings.Join(names, ", "))}
}

// planned shows a plan: the first whole, a new revision as what it changes, progress by its steps.
func (p *picture) planned(n protocol.PlanChangedParams) []line {
	before := p.session.Plan
	after := n.Plan
	p.session.Plan = &after
	out := p.hush("")
	switch {
	case before == nil || before.Revision == 0:
		out = append(out, planLines(after)...)
	case after.Revision > before.Revision:
		out = append(out, p.newRevision(n)...)
	default:
		out = append(out, moved(*before, after)...)
	}
	for _, text := range n.Consequences {
		out = append(out, line{indent: 1, mark: "!", text: text, tone: careful})
	}
	for _, text := range n.Conflicts {
		out = append(out, line{indent: 1, mark: "!", text: "Conflict: " + text, tone: careful})
	}
	return out
}

// moved are the steps whose status or proof is another one now.
func moved(before, after protocol.Plan) []line {
	var out []line
	for _, s := range after.Steps {
		i := slices.IndexFunc(before.Steps, func(b protocol.Step) bool { return b.ID == s.ID })
		if i < 0 || before.Steps[i].Status != s.Status || !sameProof(before.Steps[i].Verified, s.Verified) {
			out = append(out, stepLine(after, s))
		}
	}
	return out
}

func sameProof(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// newRevision is what a revision changes.
func (p *picture) newRevision(n protocol.PlanChangedParams) []line {
	d := n.Diff
	head := line{text: fmt.Sprintf("PLAN  revision %d", n.Plan.Revision), side: cause(n.Plan.Cause), tone: strong}
	if st, ok := p.steers[n.Plan.Cause.ID]; ok && n.Plan.Cause.Kind == protocol.CauseSteer {
		head.text += "  changed by «" + clip(st.Text, 60) + "»"
		head.side = ""
	}
	out := []line{head, {indent: 1, text: fmt.Sprintf("kept %d · changed %d · added %d · dropped %d",
		len(d.Kept), len(d.Changed), len(d.Added), len(d.Dropped)), tone: quiet}}
	for _, s := range n.Plan.Steps {
		out = append(out, diffLine(n.Plan, d, s)...)
	}
	return append(out, p.toldOf(n)...)
}

// diffLine is one step of a new revision; what dropped long ago is not told again.
func diffLine(p protocol.Plan, d protocol.Diff, s protocol.Step) []line {
	l := stepLine(p, s)
	i := slices.IndexFunc(d.Changed, func(c protocol.StepChange) bool { return c.After.ID == s.ID })
	switch {
	case slices.Contains(d.Added, s.ID):
		l.mark, l.side, l.tone = "+", "new · "+l.side, good
	case slices.Contains(d.Dropped, s.ID):
		l.mark, l.tone = "-", bad
		if slices.Contains(d.Reverted, s.ID) {
			l.side += " · edits taken back"
		}
	case i >= 0:
		l.mark, l.side, l.tone = "~", "changed · "+l.side, careful
		return append([]line{l}, was(d.Changed[i])...)
	case s.Status == protocol.StepDropped:
		return nil
	default:
		l.mark, l.side, l.tone = " ", "kept · "+l.side, plain
	}
	return []line{l}
}

// was says what is different in a changed step.
func was(c protocol.StepChange) []line {
	var parts []string
	if c.Before.Title != c.After.Title {
		parts = append(parts, "was «"+c.Before.Title+"»")
	}
	if before, after := verifyOf(c.Before), verifyOf(c.After); before != after {
		parts = append(parts, fmt.Sprintf("verified by %s, before by %s", orNothing(after), orNothing(before)))
	}
	if len(parts) == 0 && c.Before.Intent != c.After.Intent {
		parts = append(parts, c.After.Intent)
	}
	if len(parts) == 0 {
		return nil
	}
	return []line{{indent: 6, text: strings.Join(parts, " · "), tone: quiet}}
}

func verifyOf(s protocol.Step) string {
	if s.Verify == nil {
		return ""
	}
	return s.Verify.Command
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// toldOf names the operations that a plan ended, and those that run on.
func (p *picture) toldOf(n protocol.PlanChangedParams) []line {
	var out []line
	for _, op := range p.running {
		switch {
		case slices.Contains(n.Cancelled, op.ID):
			out = append(out, line{indent: 1, mark: "–", text: "ended, now useless: " + op.Target, tone: quiet})
		case slices.Contains(n.Kept, op.ID):
			out = append(out, line{indent: 1, mark: "▶", text: "runs on: " + op.Target, tone: quiet})
		}
	}
	return out
}

// stepID is the id of a step that a developer named by its id, or by its number as the plan shows it.
func stepID(p *protocol.Plan, named string) (string, error) {
	if p == nil {
		return "", fmt.Errorf("step %s: there is no plan yet", named)
	}
	for _, s := range p.Steps {
		if s.ID == named {
			return s.ID, nil
		}
	}
	for _, s := range p.Steps {
		if n := number(*p, s.ID); n > 0 && fmt.Sprint(n) == named {
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("step %s: the plan has no such step; tandem plan shows them", named)
}
