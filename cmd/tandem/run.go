package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tandem/protocol"
)

type runCommand struct {
	place
	Task     []string          `arg:"" optional:"" help:"What shall be done, in your words. With --session: a steer."`
	Autonomy protocol.Autonomy `help:"How much the agent does before it waits for you: close, balanced or high." enum:",close,balanced,high" default:"" placeholder:"LEVEL"`
	Model    string            `help:"The model to ask, in place of the configured one." placeholder:"NAME"`
	Session  string            `help:"Go on with this session." xor:"which" placeholder:"ID"`
	Record   string            `help:"Record the session in this new file: the conversation and the workspace's files." xor:"which" placeholder:"FILE"`
}

// Help is what tandem run --help says beyond the flags.
func (runCommand) Help() string {
	return `The agent lays out a plan and works; you see each intent before it is acted on.
Type a steer at any moment. Ctrl-C pauses, Ctrl-C again leaves; the session stays.
To run it in a folder means to trust that folder: commands run there.

With --record the session is written to FILE, to be played again with tandem demo FILE. FILE then
holds the conversation and the workspace's text files as they were at the start. Ignored files, files
that are named like keys, and the values of secret variables are left out; look through it before you
give it away. Such a session runs in this program alone: no other window reaches it before it is left.

Exit codes: 0 done, 1 failed, 2 usage, 3 paused, waiting for you, or left.`
}

// Run starts a session, or goes on with one, and follows it.
func (c *runCommand) Run(ctx context.Context, s std) error {
	words := strings.TrimSpace(strings.Join(c.Task, " "))
	if words == "" && c.Session == "" {
		return &exitError{exitUsage, `run: say what shall be done, as in: tandem run "add a test for the parser"`}
	}
	if c.Session != "" {
		return c.withSession(ctx, c.Session, false, func(cl *client, found protocol.Session) error { return c.goOn(ctx, s, cl, found, words) })
	}
	if c.Record != "" {
		return c.record(ctx, s, words)
	}
	return c.with(ctx, func(cl *client, _ string) error {
		started, err := ask[protocol.SessionResult](ctx, cl, protocol.MethodStart,
			protocol.StartParams{Task: words, Autonomy: c.Autonomy, Model: c.Model})
		if err != nil {
			return withoutModel(err)
		}
		return c.follow(ctx, s, cl, started.Session)
	})
}

// goOn attaches to a session, and steers it when words were given.
func (c *runCommand) goOn(ctx context.Context, s std, cl *client, found protocol.Session, words string) error {
	if ended(found) {
		return fmt.Errorf("session %s has ended; tandem log %s shows what was done", found.ID, found.ID)
	}
	if err := c.welcome(ctx, s, cl, found); err != nil {
		return err
	}
	now, err := ask[protocol.SessionResult](ctx, cl, protocol.MethodAttach, protocol.AttachParams{SessionID: found.ID})
	if err != nil {
		return err
	}
	if words != "" {
		p := protocol.SteerParams{SessionID: found.ID, Text: words, SeenSeq: &now.Session.Seq}
		receipt, err := ask[protocol.SteerResult](ctx, cl, protocol.MethodSteer, p)
		if err != nil {
			return err
		}
		return c.followUntil(ctx, s, cl, now.Session, receipt.Seq+1) // what the steer led to follows it
	}
	return c.follow(ctx, s, cl, now.Session)
}

// welcome tells a developer who comes back what has happened meanwhile; programs read the history.
func (c *runCommand) welcome(ctx context.Context, s std, cl *client, found protocol.Session) error {
	if c.JSON {
		return nil
	}
	lines, err := away(ctx, cl, found.ID)
	if err != nil {
		return err
	}
	return newScreen(s.out, s.getenv).print(lines, bottom{})
}

// withoutModel says what to do when no model is set up.
func withoutModel(err error) error {
	refused := (*refusal)(nil)
	if errors.As(err, &refused) && refused.code == protocol.CodeModelUnavailable {
		return fmt.Errorf("%w\n  tandem demo    shows how it works, with no account\n  tandem doctor  says what is set and what is not", err)
	}
	return err
}

func (c *runCommand) follow(ctx context.Context, s std, cl *client, now protocol.Session) error {
	return c.followUntil(ctx, s, cl, now, 0)
}

// followUntil follows a session, at least until the event seq has come.
func (c *runCommand) followUntil(ctx context.Context, s std, cl *client, now protocol.Session, seq int64) error {
	f := &follower{std: s, c: cl, session: now, scr: newScreen(s.out, s.getenv), again: c.again(now), until: seq}
	if c.JSON {
		f.programs = encoder(s.out)
	}
	code, err := f.follow(ctx)
	if err != nil {
		return err
	}
	return c.leave(ctx, f, code)
}

// again is the command line that follows a session again.
func (c *runCommand) again(s protocol.Session) string {
	text := "tandem run --session " + s.ID
	if here, err := os.Getwd(); err != nil || here != c.Workspace {
		text += fmt.Sprintf(" --workspace %q", c.Workspace)
	}
	return text
}

// leave says how the session stands and how to go on with it.
func (c *runCommand) leave(ctx context.Context, f *follower, code int) error {
	ctx = context.WithoutCancel(ctx) // also when the program was told to end
	last, err := find(ctx, f.c, "", f.session.ID, false)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := f.programs.Encode(protocol.SessionResult{Session: last}); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
	}
	if code == exitDone && ended(last) {
		return &exitError{exitFailed, "the session was ended before the agent had finished"}
	}
	if !c.JSON {
		err = f.print(farewell(last, code, f.again, c.Record != ""))
	}
	return errors.Join(err, asExit(code))
}

// asExit is nil for a session that is done.
func asExit(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}

// farewell is what stands below the picture. A session that runs in this process ends its work with it.
func farewell(s protocol.Session, code int, again string, here bool) []line {
	if code == exitDone {
		return []line{{indent: 2, text: seconds(s.UpdatedAt.Sub(s.StartedAt)) + " · " + tokens(s.Usage), tone: quiet},
			{indent: 2, text: "Go on with: " + again + ` "…"`, tone: quiet}}
	}
	how := map[protocol.Mode]string{protocol.Paused: "The session stays, paused; nothing that changes something runs.", protocol.Waiting: "The session stays, waiting for you.",
		protocol.Executing: "The session goes on without this window."}
	if here {
		how[protocol.Executing] = "The session stops with this window, and waits to be gone on with."
	}
	return []line{{text: how[s.Mode], tone: careful}, {indent: 2, text: "follow it    " + again},
		{indent: 2, text: "steer it     tandem steer " + s.ID + ` "…"`}}
}

// encoder writes JSON, one value a line.
func encoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}
