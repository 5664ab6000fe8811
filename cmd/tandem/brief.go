package main

import (
	"context"
	"fmt"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

type briefCommand struct {
	place
	Session string `arg:"" optional:"" help:"The session; without it the newest here."`
}

// Help is what tandem brief --help says beyond the flags.
func (briefCommand) Help() string {
	return `Markdown for whoever goes on with the work: a colleague, another agent, or you tomorrow.
It is written from the session's journal alone; no model is asked.`
}

// Run writes the hand-over of a session.
func (c *briefCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, false, func(cl *client, now protocol.Session) error {
		state, err := recount(ctx, cl, now.ID, nil)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.show(s, map[string]protocol.Brief{"brief": state.Brief()}, nil)
		}
		if _, err := fmt.Fprint(s.out, handOver(now, state)); err != nil {
			return fmt.Errorf("write the brief: %w", err)
		}
		return nil
	})
}

// handOver is a session for whoever goes on with it, in Markdown.
func handOver(now protocol.Session, state agent.State) string {
	b := state.Brief()
	p := &page{}
	p.head(1, prose(now.Title))
	fmt.Fprintf(p, "%s. Session `%s` in %s, model %s, as of %s.\n", turn(now), now.ID, code(short(folderOf(now.Workspace))), code(now.Model), clock(now.UpdatedAt))
	p.head(2, "Goal")
	p.quote(b.Goal)
	p.done(state, b.Done)
	p.remaining(state, b.Remaining)
	p.assumed(state)
	p.list("Risks", risks(b))
	p.paused(state)
	p.open(now)
	p.files(state)
	p.latest(state)
	p.goOn(now)
	return p.String()
}

// done is what the journal bears out, with its evidence, and what it does not.
func (p *page) done(state agent.State, claims []protocol.Claim) {
	if len(claims) == 0 {
		return
	}
	p.head(2, "Done")
	for _, c := range claims {
		p.item(0, "[x] %s: %s", prose(c.Text), proof(state, c))
	}
}

// proof is what a claim rests on.
func proof(state agent.State, c protocol.Claim) string {
	var parts []string
	for _, id := range c.Evidence {
		if past, ok := state.Past(id); ok {
			parts = append(parts, code(past.Op.Target)+" "+outcomeText(past.Op)+" ("+id+")")
		}
	}
	if !c.Grounded {
		parts = append(parts, "nothing has verified it")
	}
	if len(parts) == 0 {
		return "verified"
	}
	return strings.Join(parts, ", ")
}

// remaining are the steps that are not done.
func (p *page) remaining(state agent.State, texts []string) {
	p.head(2, "Remaining")
	switch {
	case state.Plan.Revision == 0:
		p.item(0, "There is no plan yet.")
	case len(texts) == 0:
		p.item(0, "Nothing: every step of the plan is done.")
	}
	for _, text := range texts {
		p.item(0, "[ ] %s", prose(text))
	}
}

// assumed are the decisions that stand, which whoever goes on builds upon.
func (p *page) assumed(state agent.State) {
	title := false
	for _, d := range state.Decisions {
		if d.Status == protocol.DecisionOverridden {
			continue
		}
		if !title {
			p.head(2, "Assumptions")
			title = true
		}
		p.decision(state, d)
	}
}

// paused is the pause that the session is in, with its evidence.
func (p *page) paused(state agent.State) {
	if state.Pause != nil {
		p.head(2, "Paused")
		p.pause(pastPause{pause: *state.Pause})
	}
}

// risks are those of the brief without the questions, which have a part of their own.
func risks(b protocol.Brief) []string {
	var out []string
	for _, text := range b.Risks {
		if !strings.HasPrefix(text, "open question: ") {
			out = append(out, text)
		}
	}
	return out
}

// open is what waits for the developer.
func (p *page) open(now protocol.Session) {
	var texts []string
	for _, q := range now.Questions {
		texts = append(texts, strings.TrimSpace(q.Text+" "+strings.Join(q.Options, " / ")))
	}
	for _, d := range now.Decisions {
		switch {
		case d.Status == protocol.DecisionOpen && d.Kind == protocol.Permission:
			texts = append(texts, "May the agent do this? "+d.Summary)
		case d.Status == protocol.DecisionOpen:
			texts = append(texts, "Shall this stand? "+d.Summary)
		}
	}
	switch {
	case now.Pause != nil && now.Pause.Comparison != nil:
		texts = append(texts, "Is before and after as it should be? Then resume.")
	case now.Pause != nil:
		texts = append(texts, "What shall change, before the work goes on?")
	}
	p.list("Open questions", texts)
}

// latestOps is how many of the last operations a hand-over tells.
const latestOps = 10

// latest are the last operations that did something.
func (p *page) latest(state agent.State) {
	ops := state.Ops()
	var shown []protocol.Operation
	for i := len(ops) - 1; i >= 0 && len(shown) < latestOps; i-- {
		if op := ops[i].Op; op.Kind == protocol.Tool && op.Effect != protocol.EffectNone {
			shown = append(shown, op)
		}
	}
	if len(shown) == 0 {
		return
	}
	p.head(2, "Last operations")
	p.row("operation", "what", "why", "how it ended")
	p.row("---", "---", "---", "---")
	for i := len(shown) - 1; i >= 0; i-- {
		op := shown[i]
		p.row(op.ID, cell(strings.TrimSpace(op.Tool+" "+clip(op.Target, 80))), prose(clip(op.Intent, 120)), outcomeText(op))
	}
}

// outcomeText is how an operation ended, in a word or two.
func outcomeText(op protocol.Operation) string {
	text := string(op.Status)
	switch {
	case op.Status == protocol.OpLost:
		text = "lost, its outcome is unknown"
	case op.Status == protocol.OpCancelled && op.Partial:
		text = "cancelled, partly done"
	}
	if op.ExitCode != nil {
		text += fmt.Sprintf(", exit %d", *op.ExitCode)
	}
	return text
}

// goOn says how the session is gone on with.
func (p *page) goOn(now protocol.Session) {
	p.head(2, "How to go on")
	if ended(now) {
		p.item(0, "The session has ended; a new one begins with %s.", code(`tandem run "TASK"`))
		return
	}
	p.item(0, "Follow it, and steer at any moment: %s", code("tandem run --session "+now.ID))
	p.item(0, "Say what shall be different: %s", code("tandem steer "+now.ID+` "…"`))
	switch {
	case now.Mode == protocol.Paused:
		p.item(0, "Decide what shall change: %s, then %s", code("tandem decide "+now.ID), code("tandem resume "+now.ID))
	case len(now.Questions) > 0:
		p.item(0, "Answer what is open: %s", code("tandem decide "+now.ID))
	}
	p.item(0, "Everything that happened: %s", code("tandem log "+now.ID))
}
