package session

import (
	"context"
	"slices"

	"tandem/agent"
	"tandem/agent/workspace"
)

// revert takes the edits of operations back, the newest first.
func (w Workplace) revert(ctx context.Context, op string, r agent.Revert) agent.Input {
	var done workspace.Reverted
	entry := w.Ledger.enter()
	defer func() { entry.end(done.Changes) }() // also when it panics: commands wait for it
	done, err := w.Files.Revert(ctx, back(r.Edits), false)
	if r.ByHand {
		w.Files.Unseen(done.Changes)
	} else {
		for _, c := range done.Changes {
			w.saw(c.Path)
		}
	}
	o := agent.Outcome{Op: op, Changes: w.changes(done.Changes), Conflicts: done.Conflicts, Text: "taken back"}
	for _, f := range done.Files {
		o.Reverted = append(o.Reverted, agent.RevertedFile(f))
	}
	if err != nil { // what was taken back before it stands
		o.Failed, o.Text, o.Output = true, err.Error(), err.Error()
	}
	return o
}

// back are the changes of operations in the order in which they are taken back.
func back(edits []agent.Past) []workspace.Change {
	var out []workspace.Change
	for _, p := range edits {
		for _, c := range slices.Backward(p.Changes) {
			out = append(out, workspace.Change{Path: c.Path, Before: image(c.Before), After: image(c.After), Made: c.Made})
		}
	}
	return out
}

// Preview says what taking edits back, the newest first, would do now. It changes nothing.
func Preview(ctx context.Context, files *workspace.Workspace, edits []agent.Past) (workspace.Reverted, error) {
	return files.Revert(ctx, back(edits), true)
}
