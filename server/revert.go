package server

import (
	"context"
	"fmt"
	"slices"

	"tandem/agent"
	"tandem/agent/session"
	"tandem/agent/workspace"
	"tandem/protocol"
	"tandem/server/rpc"
)

// revert takes back what was done in a step, in an operation, for a steer or in all of a session. It is answered when
// that is done: what follows from the same client does not wait for it.
func (c *client) revert(ctx context.Context, p protocol.RevertParams) (protocol.RevertResult, error) {
	in := agent.RevertOf{Step: p.StepID, Operation: p.OperationID, Steer: p.SteerID, Session: p.Session}
	if p.DryRun {
		rpc.Release(ctx)
		return c.preview(ctx, p.SessionID, in)
	}
	receipt, err := c.post(ctx, p.SessionID, p.Request, in)
	if err != nil {
		return protocol.RevertResult{}, err
	}
	rpc.Release(ctx)
	i := slices.IndexFunc(receipt.Events, isRevert)
	if i < 0 {
		_, unfinished, err := receipt.State.Revertible(in)
		return protocol.RevertResult{Conflicts: unfinished}, err
	}
	var done agent.Past
	var now agent.State
	err = c.on(p.SessionID, func(s *running) (err error) {
		done, err = s.Past(ctx, receipt.Events[i].(agent.Called).Op.ID)
		now = s.Now().State
		return err
	})
	if err != nil {
		return protocol.RevertResult{}, err
	}
	return revertResult(now, done)
}

func isRevert(e agent.Event) bool {
	called, ok := e.(agent.Called)
	return ok && called.Reverts != nil
}

// revertResult is the answer to a revert that has ended. That one failed half-way stands among the
// conflicts.
func revertResult(s agent.State, done agent.Past) (protocol.RevertResult, error) {
	switch done.Op.Status {
	case protocol.OpDone, protocol.OpFailed:
		return protocol.RevertResult{Files: revertedFiles(s, done.Reverted), Conflicts: done.Conflicts}, nil
	case protocol.OpLost:
		return protocol.RevertResult{}, fmt.Errorf("revert: the daemon ended while %s was under way; look at the files before you try again", done.Op.ID)
	}
	return protocol.RevertResult{}, &protocol.Error{Kind: protocol.WrongMode, Mode: s.Mode, Text: "revert: the session was ended before anything was taken back"}
}

func revertedFiles(s agent.State, files []agent.RevertedFile) []protocol.RevertedFile {
	var out []protocol.RevertedFile
	for _, f := range files {
		out = append(out, protocol.RevertedFile{URI: s.URIs([]string{f.Path})[0], Status: f.Status})
	}
	return out
}

// preview says what a revert would do now. It changes nothing, the journal neither.
func (c *client) preview(ctx context.Context, id string, in agent.RevertOf) (protocol.RevertResult, error) {
	s, err := c.session(id)
	if err != nil {
		return protocol.RevertResult{}, err
	}
	state := s.Now().State
	edits, unfinished, err := state.Revertible(in)
	if err != nil {
		return protocol.RevertResult{}, err
	}
	if err := c.registry.enter(); err != nil {
		return protocol.RevertResult{}, err
	}
	defer c.registry.busy.Done()
	files, err := c.registry.filesOf(s.workspace)
	if err != nil {
		return protocol.RevertResult{}, err
	}
	would, err := session.Preview(ctx, files, edits)
	if err != nil {
		return protocol.RevertResult{}, err
	}
	r := protocol.RevertResult{Conflicts: append(would.Conflicts, unfinished...)}
	for _, f := range would.Files {
		r.Files = append(r.Files, revertedFiles(state, []agent.RevertedFile{agent.RevertedFile(f)})...)
	}
	return r, nil
}

// filesOf are the files of a workspace. The caller has entered.
func (r *Registry) filesOf(dir string) (*workspace.Workspace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.place(dir)
	if err != nil {
		return nil, err
	}
	return p.files, nil
}
