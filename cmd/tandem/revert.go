package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tandem/protocol"
)

type revertCommand struct {
	place
	Words   []string `arg:"" optional:"" name:"what" help:"[SESSION] and what to take back: a step by its number or id, an operation or a steer by its id."`
	Session bool     `help:"Take back all that was done in the session."`
	DryRun  bool     `help:"Say what would happen, and change nothing."`
}

// Run takes a step, an operation, what a steer led to or the whole session back, and shows what became of each file.
func (c *revertCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	if c.Session && len(words) > 0 {
		return &exitError{exitUsage, "revert: with --session no step, operation or steer is named, as in: tandem revert --session --dry-run"}
	}
	if !c.Session && len(words) != 1 {
		return &exitError{exitUsage, "revert: name one step, operation or steer, as in: tandem revert 2 --dry-run; --session takes back all"}
	}
	return c.withSession(ctx, id, true, func(cl *client, now protocol.Session) error {
		p := protocol.RevertParams{SessionID: now.ID, Session: c.Session}
		if !c.Session {
			p = named(now, words[0])
		}
		p.DryRun = c.DryRun
		r, err := ask[protocol.RevertResult](ctx, cl, protocol.MethodRevert, p)
		if err != nil {
			return err
		}
		return c.show(s, r, revertLines(now, r, c.DryRun))
	})
}

var (
	operationID = regexp.MustCompile(`^op(\d+)$`)
	steerID     = regexp.MustCompile(`^t\d+$`)
)

// named is a revert of what a developer named. A step of that very id comes first: the agent may
// have called one like an operation. A step that is not in the plan any more goes by its id.
func named(s protocol.Session, what string) protocol.RevertParams {
	p := protocol.RevertParams{SessionID: s.ID}
	isStep := s.Plan != nil && slices.ContainsFunc(s.Plan.Steps, func(t protocol.Step) bool { return t.ID == what })
	switch op := operationID.FindStringSubmatch(what); {
	case !isStep && op != nil:
		p.OperationID = fmt.Sprintf("op%07s", op[1])
	case !isStep && steerID.MatchString(what):
		p.SteerID = what
	default:
		p.StepID = what
		if step, err := stepID(s.Plan, what); err == nil {
			p.StepID = step
		}
	}
	return p
}

// revertWords say what becomes of a file.
var revertWords = map[string]string{"restored": "as it was before", "deleted": "deleted, as it was made", "created": "there again, as it was deleted",
	"same": "is so already", "conflict": "stays as it is"}

// revertLines show what was taken back, or would be.
func revertLines(s protocol.Session, r protocol.RevertResult, dry bool) []line {
	if len(r.Files) == 0 && len(r.Conflicts) == 0 {
		return []line{{text: "There is nothing to take back."}}
	}
	head := line{mark: "↶", text: "Taken back", side: "revert it with its own operation; tandem log shows it", tone: good}
	if dry {
		head = line{mark: "↶", text: "This would be taken back", side: "nothing was changed", tone: strong}
	}
	out := []line{head}
	for _, f := range r.Files {
		l := line{indent: 2, mark: "✓", text: relative(s.Workspace, f.URI), side: revertWords[f.Status], tone: good}
		if f.Status == "conflict" {
			l.mark, l.tone = "!", careful
		}
		out = append(out, l)
	}
	for _, c := range r.Conflicts {
		sentence, sides, _ := strings.Cut(c, "\n")
		out = append(out, line{indent: 2, mark: "!", text: sentence, tone: careful})
		for l := range strings.Lines(sides) {
			out = append(out, line{indent: 4, text: strings.TrimRight(l, "\n"), as: true})
		}
	}
	return out
}
