package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

// sessionID is what the id of a session looks like.
var sessionID = regexp.MustCompile(`^\d{8}-\d{6}-[a-z0-9]{6}$`)

// splitID takes a session's id from the front of words.
func splitID(words []string) (id string, rest []string) {
	if len(words) > 0 && sessionID.MatchString(words[0]) {
		return words[0], words[1:]
	}
	return "", words
}

// show writes an answer: as JSON for programs, else as lines.
func (p place) show(s std, answer any, lines []line) error {
	if p.JSON {
		if err := encoder(s.out).Encode(answer); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		return nil
	}
	return newScreen(s.out, s.getenv).print(lines, bottom{})
}

type steerCommand struct {
	place
	Words []string `arg:"" name:"words" help:"[SESSION] and what shall be different, in your words. Without SESSION: the newest one at work here."`
	Step  string   `help:"What it is about: a step, by its number or id." placeholder:"STEP"`
	When  string   `help:"When it is heard: now, stepEnd (when the active step has ended) or idle (when the agent's turn would end)." enum:"now,stepEnd,idle" default:"now"`
}

// Run sends a steer and shows its receipt.
func (c *steerCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	text := strings.TrimSpace(strings.Join(words, " "))
	if text == "" {
		return &exitError{exitUsage, `steer: say what shall be different, as in: tandem steer "keep the old name"`}
	}
	return c.withSession(ctx, id, true, func(cl *client, now protocol.Session) error {
		p := protocol.SteerParams{SessionID: now.ID, Text: text, When: protocol.When(c.When), SeenSeq: &now.Seq}
		if c.Step != "" {
			step, err := stepID(now.Plan, c.Step)
			if err != nil {
				return err
			}
			p.Scope = &protocol.Scope{StepID: step}
		}
		r, err := ask[protocol.SteerResult](ctx, cl, protocol.MethodSteer, p)
		if err != nil {
			return err
		}
		lines := []line{{mark: "›", text: text, side: when("steer received", p.When), tone: mine}}
		return c.show(s, r, append(lines, newPicture(now).receipt(r)...))
	})
}

type planCommand struct {
	place
	Session  string `arg:"" optional:"" help:"The session; without it the newest here."`
	Revision int    `help:"An earlier revision of the plan." placeholder:"N"`
	Against  int    `help:"What is different from this revision." placeholder:"M"`
}

// Run shows the plan, or what is different between two revisions.
func (c *planCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, false, func(cl *client, now protocol.Session) error {
		plan := protocol.PlanResult{Plan: now.Plan}
		if c.Revision != 0 {
			var err error
			if plan, err = planAt(ctx, cl, now.ID, c.Revision); err != nil {
				return err
			}
		}
		switch {
		case plan.Plan == nil:
			return c.show(s, plan, []line{{text: "There is no plan yet."}})
		case c.Against != 0:
			older, err := planAt(ctx, cl, now.ID, c.Against)
			if err != nil {
				return err
			}
			r := protocol.ReplanResult{Plan: *plan.Plan, Diff: agent.PlanDiff(older.Plan.Steps, plan.Plan.Steps)}
			return c.show(s, r, planAgainst(*older.Plan, r))
		}
		return c.show(s, plan, planLines(*plan.Plan))
	})
}

type statusCommand struct {
	place
	Session string `arg:"" optional:"" help:"The session; without it the newest here."`
}

// Run shows where a session stands.
func (c *statusCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, false, func(cl *client, now protocol.Session) error {
		a := &absence{}
		state, err := recount(ctx, cl, now.ID, a.see)
		if err != nil {
			return err
		}
		r := status{protocol.SessionResult{Session: now}, state.Brief(), state.Failing}
		return c.show(s, r, append(newPicture(now).header(), a.standing(now, state)...))
	})
}

type sessionsCommand struct {
	place
	All bool `help:"Those of every workspace."`
}

// Run lists sessions.
func (c *sessionsCommand) Run(ctx context.Context, s std) error {
	return c.with(ctx, func(cl *client, dir string) error {
		if c.All {
			dir = ""
		}
		list, err := sessions(ctx, cl, dir)
		if err != nil {
			return err
		}
		lines := []line{{text: "There is no session here yet; start one with: tandem run \"TASK\""}}
		if len(list) > 0 {
			lines = nil
		}
		for _, one := range list {
			lines = append(lines, sessionLines(one, c.All)...)
		}
		return c.show(s, protocol.ListResult{Sessions: list}, lines)
	})
}

func sessionLines(s protocol.Session, withFolder bool) []line {
	out := []line{{mark: modeMarks[s.Mode], text: s.ID + "  " + s.Title, side: turn(s) + " · " + clock(s.UpdatedAt)}}
	if withFolder {
		out = append(out, line{indent: 4, text: short(folderOf(s.Workspace)), tone: quiet})
	}
	return out
}

var modeMarks = map[protocol.Mode]string{protocol.Executing: "●", protocol.Paused: "⏸", protocol.Waiting: "?", protocol.Done: "✓"}

type pauseCommand struct {
	place
	Session string `arg:"" optional:"" help:"The session; without it the newest at work here."`
	Reason  string `help:"Why; the agent then looks for facts, a likely cause and ways out." placeholder:"TEXT"`
	End     bool   `help:"End running commands in place of freezing them."`
}

// Run pauses a session.
func (c *pauseCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, true, func(cl *client, now protocol.Session) error {
		p := protocol.PauseParams{SessionID: now.ID, Reason: c.Reason}
		if c.End {
			p.Freeze = new(bool)
		}
		r, err := ask[protocol.PauseResult](ctx, cl, protocol.MethodPause, p)
		if err != nil {
			return err
		}
		return c.show(s, r, newPicture(now).pauseCard(r.Pause))
	})
}

type resumeCommand struct {
	place
	Session          string `arg:"" optional:"" help:"The session; without it the newest at work here."`
	AcknowledgeDrift bool   `help:"Say that you know that the live inputs have changed since the pause began."`
}

// Run ends a pause.
func (c *resumeCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, true, func(cl *client, now protocol.Session) error {
		r, err := ask[protocol.ResumeResult](ctx, cl, protocol.MethodResume, protocol.ResumeParams{SessionID: now.ID, AcknowledgeDrift: c.AcknowledgeDrift})
		if refused := (*refusal)(nil); errors.As(err, &refused) && refused.code == protocol.CodeDriftUnacknowledged {
			moved, _, _ := strings.Cut(refused.text, "; look first")
			return fmt.Errorf("%s\n  Look at them; tandem resume %s --acknowledge-drift then goes on", moved, now.ID)
		}
		if err != nil {
			return err
		}
		lines := []line{{mark: "▶", text: "Resumed", side: r.Session.ID, tone: good}}
		for _, moved := range r.Drift {
			lines = append(lines, line{indent: 2, mark: "!", text: moved, tone: careful})
		}
		return c.show(s, r, lines)
	})
}

type endCommand struct {
	place
	Session string `arg:"" optional:"" help:"The session; without it the newest at work here."`
}

// Run ends a session for good.
func (c *endCommand) Run(ctx context.Context, s std) error {
	return c.withSession(ctx, c.Session, true, func(cl *client, now protocol.Session) error {
		r, err := ask[protocol.SessionResult](ctx, cl, protocol.MethodEnd, protocol.SessionParams{SessionID: now.ID})
		if err != nil {
			return err
		}
		return c.show(s, r, []line{{text: "Ended: " + r.Session.Title, side: r.Session.ID}})
	})
}

type decideCommand struct {
	place
	Words []string `arg:"" optional:"" name:"answer" help:"[SESSION] and a number, or your own words. Without an answer: what there is to decide."`
}

// Run answers what is open: the pause, a question or a decision.
func (c *decideCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	return c.withSession(ctx, id, true, func(cl *client, now protocol.Session) error {
		p := newPicture(now)
		actions := p.turnActions()
		if len(actions) == 0 {
			return errors.New("there is nothing to decide; tandem status shows where the session stands")
		}
		if len(words) == 0 {
			return c.show(s, protocol.SessionResult{Session: now}, p.header())
		}
		a, own, err := choose(actions, strings.Join(words, " "))
		if err != nil {
			return err
		}
		if err := perform(ctx, cl, a, own, nil); err != nil {
			return err
		}
		after, err := find(ctx, cl, "", now.ID, false)
		if err != nil {
			return err
		}
		return c.show(s, protocol.SessionResult{Session: after}, newPicture(after).header())
	})
}
