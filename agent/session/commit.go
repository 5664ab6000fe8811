package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/agent/workspace"
)

// commit puts a finished step on the session's own branch.
func (w Workplace) commit(ctx context.Context, id string, job agent.Commit) agent.Input {
	c := workspace.Commit{Branch: job.Branch, Tip: job.Tip, Message: commitMessage(job)}
	for _, e := range job.Changes {
		c.Changes = append(c.Changes, workspace.Change{Path: e.Path, Before: image(e.Before), After: image(e.After)})
	}
	done, err := w.Files.Commit(ctx, c)
	switch {
	case ctx.Err() != nil:
		return agent.CommitEnded{ID: id, InVain: true}
	case err != nil:
		return agent.CommitEnded{ID: id, Why: err.Error()}
	}
	return agent.CommitEnded{ID: id, Commit: done.Commit, LeftOut: done.LeftOut}
}

// commitMessage is the message of one commit and no other: by its operations it is found again.
func commitMessage(job agent.Commit) string {
	parts := slices.DeleteFunc([]string{words(job.Step.Title), words(job.Step.Intent)}, func(s string) bool { return s == "" })
	return fmt.Sprintf("%s\n\nTandem-Step: %s of %s\nTandem-Operations: %s\n", strings.Join(parts, "\n\n"), job.Step.ID, job.Branch, strings.Join(job.Ops, " "))
}

// words is a text in one line, as a message of a commit may have it.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}
