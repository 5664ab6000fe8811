package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"tandem/agent"
	"tandem/protocol"
	"tandem/server"
)

type logCommand struct {
	place
	Session string `arg:"" optional:"" help:"The session; without it the newest here."`
	Follow  bool   `short:"f" help:"Go on as events come, until Ctrl-C or the session is done."`
	Since   int64  `help:"Only events after this one." placeholder:"N"`
	Output  string `help:"The whole output of one command instead, such as op0000012." placeholder:"OP"`

	Markdown  bool `help:"The whole session as Markdown instead, such as for a pull request." xor:"form"`
	Revisions bool `help:"The revisions of the plan instead, each with what it changed." xor:"form"`
}

// Run shows the events of a session, one a line.
func (c *logCommand) Run(ctx context.Context, s std) error {
	if c.JSON && c.Markdown {
		return &exitError{exitUsage, "log: --markdown is for people and --json for programs; take one of them"}
	}
	return c.withSession(ctx, c.Session, false, func(cl *client, now protocol.Session) error {
		switch {
		case c.Output != "":
			return c.showOutput(s, now.ID)
		case c.Markdown:
			return c.markdown(ctx, s, cl, now)
		case c.Revisions:
			return c.revisions(ctx, s, cl, now)
		}
		last, err := c.page(ctx, s, cl, now.ID, c.Since)
		if err != nil || !c.Follow {
			return err
		}
		return c.goOn(ctx, s, cl, now, last)
	})
}

// showOutput shows what a command wrote, the part too that a result leaves out.
func (c *logCommand) showOutput(s std, id string) error {
	path, err := server.OutputFile(server.StateFolder(s.getenv), id, c.Output)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("output of %s: %w", c.Output, err)
	}
	if c.JSON {
		return encoder(s.out).Encode(map[string]string{"operationId": c.Output, "output": string(raw)})
	}
	_, err = fmt.Fprintln(s.out, clean(string(raw)))
	return err
}

// goOn shows what comes. Each notification says only that something is new; the history tells
// it, also what gives no notification.
func (c *logCommand) goOn(ctx context.Context, s std, cl *client, now protocol.Session, last int64) error {
	since := last
	attached, err := ask[protocol.SessionResult](ctx, cl, protocol.MethodAttach, protocol.AttachParams{SessionID: now.ID, Since: &since})
	if err != nil {
		return err
	}
	p := newPicture(attached.Session)
	for p.session.Mode != protocol.Done {
		select {
		case n := <-cl.notes:
			if _, err := p.show(n); err != nil {
				return err
			}
			if n.Method == protocol.NoteText || p.seq <= last {
				continue
			}
			if last, err = c.page(ctx, s, cl, now.ID, last); err != nil {
				return err
			}
		case <-cl.conn.Done():
			return fmt.Errorf("the daemon went away; the session is kept: tandem log %s -f --since %d", now.ID, last)
		case <-ctx.Done():
			return nil
		}
	}
	_, err = c.page(ctx, s, cl, now.ID, last) // what came before it was followed
	return err
}

// page shows every event after since and gives the last of them.
func (c *logCommand) page(ctx context.Context, s std, cl *client, id string, since int64) (int64, error) {
	for {
		r, err := ask[protocol.HistoryResult](ctx, cl, protocol.MethodHistory, protocol.HistoryParams{SessionID: id, Since: since})
		if err != nil {
			return since, err
		}
		for _, e := range r.Events {
			since = e.Seq
			if err := c.show(s, e, []line{eventLine(e)}); err != nil {
				return since, err
			}
		}
		if !r.More {
			return since, nil
		}
	}
}

// eventLine is one event on one line.
func eventLine(e protocol.HistoryEvent) line {
	text := ""
	if fact, err := agent.Decode(e.Kind, e.Data); err == nil {
		text = factText(fact)
	}
	return line{text: fmt.Sprintf("%s %5d  %-16s %s", e.At.Local().Format("15:04:05"), e.Seq, e.Kind, clip(text, 400)), as: true}
}

// factText says what a fact tells beyond its name.
func factText(fact agent.Event) string {
	switch e := fact.(type) {
	case agent.Started:
		return e.Task
	case agent.Waited:
		return e.Reason
	case agent.Finished:
		return e.Summary
	case agent.AutonomySet:
		return string(e.Level)
	case agent.Asked:
		return e.Question
	case agent.Answered:
		return e.Question + "  " + e.Text
	case agent.Cut:
		return e.Question + "  by " + string(e.By.Kind) + " " + e.By.ID
	case agent.AskedInVain:
		return e.Question + "  " + e.Text
	case agent.Deferred:
		return e.Why
	case agent.Used:
		return fmt.Sprintf("%d requests, %d tokens in, %d out", e.Usage.Requests, e.Usage.InputTokens, e.Usage.OutputTokens)
	case agent.Reminded:
		return e.Of
	case agent.Called:
		return strings.Join([]string{e.Op.ID, e.Op.Tool, e.Op.Target + ":", e.Op.Intent}, " ")
	case agent.Began:
		return e.Op
	case agent.Changed:
		return e.Op + "  " + changedText(e)
	case agent.Returned:
		return e.Op + returnedText(e)
	case agent.Stopping:
		return e.Op + "  by " + string(e.By.Kind) + " " + e.By.ID
	case agent.Cancelled:
		return e.Op + "  by " + string(e.By.Kind) + " " + e.By.ID
	case agent.Lost:
		return e.Op + "  its outcome is unknown"
	case agent.Froze:
		return e.Op
	case agent.Thawed:
		return e.Op
	}
	return spokenText(fact)
}

// spokenText is factText for the facts of plans, steers, decisions, questions and pauses.
func spokenText(fact agent.Event) string {
	switch e := fact.(type) {
	case agent.Planned:
		return fmt.Sprintf("revision %d: kept %d, changed %d, added %d, dropped %d. %s", e.Plan.Revision,
			len(e.Diff.Kept), len(e.Diff.Changed), len(e.Diff.Added), len(e.Diff.Dropped), e.Explanation)
	case agent.Taken:
		return e.Op
	case agent.StepChanged:
		return e.Step + "  " + string(e.Status)
	case agent.Steered:
		return e.Steer.ID + "  " + e.Steer.Text
	case agent.Heard:
		return e.Steer
	case agent.Applied:
		return fmt.Sprintf("%s  in revision %d", e.Steer, e.Revision)
	case agent.Withdrawn:
		return e.Steer
	case agent.Announced:
		return e.Decision.ID + "  " + e.Decision.Summary
	case agent.Stood:
		return e.Decision
	case agent.Overridden:
		return e.Decision + "  " + e.Chosen
	case agent.Questioned:
		var texts []string
		for _, q := range e.Questions {
			texts = append(texts, q.ID+" "+q.Text)
		}
		return strings.Join(texts, "  ")
	case agent.QuestionAnswered:
		return strings.TrimSpace(e.Question + "  " + e.Option + " " + e.Text)
	case agent.Paused:
		return strings.TrimSpace(e.Pause.ID + "  by " + string(e.Pause.By) + "  " + e.Pause.Reason)
	case agent.Informed:
		return fmt.Sprintf("%d facts, %d options  %s", len(e.Facts), len(e.Options), e.LikelyCause)
	case agent.Decided:
		return e.Pause + "  " + e.Text
	case agent.Resumed:
		return e.Pause
	}
	return lookedText(fact)
}

func changedText(e agent.Changed) string {
	var paths []string
	for _, f := range e.Files {
		paths = append(paths, f.Path)
	}
	return strings.Join(paths, ", ")
}

func returnedText(e agent.Returned) string {
	text := ""
	if e.ExitCode != nil {
		text = fmt.Sprintf("  exit %d", *e.ExitCode)
	}
	if e.Failed {
		text += "  failed: " + e.Text
	}
	return text
}
