package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

type checkInCommand struct {
	place
	Words []string `arg:"" optional:"" name:"words" help:"[SESSION] and what you want to know in particular."`
}

// Run lets the agent commit to its next steps or ask, and shows what it says beside what the
// journal says of that.
func (c *checkInCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	return c.withSession(ctx, id, true, func(cl *client, now protocol.Session) error {
		r, err := checkIn(ctx, cl, now.ID, strings.Join(words, " "))
		if err != nil {
			return err
		}
		if err := c.show(s, r, checkInLines(now.Plan, r.CheckIn)); err != nil {
			return err
		}
		if r.CheckIn.Verdict == protocol.Clarify {
			return &exitError{code: exitWaiting}
		}
		return nil
	})
}

func checkIn(ctx context.Context, cl *client, id, text string) (protocol.CheckInResult, error) {
	return ask[protocol.CheckInResult](ctx, cl, protocol.MethodCheckIn, protocol.CheckInParams{SessionID: id, Text: strings.TrimSpace(text)})
}

// checkInLines are a check-in: what the agent commits to or asks, where it believes the work
// stands, and what the journal says of that.
func checkInLines(plan *protocol.Plan, c protocol.CheckIn) []line {
	head := line{mark: "✓", text: "CHECK-IN  the agent knows its next steps and goes on", tone: good}
	if c.Verdict == protocol.Clarify {
		head = line{mark: "?", text: "CHECK-IN  the agent asks · your turn", tone: careful}
	}
	out := []line{head}
	for _, n := range c.NextSteps {
		l := line{indent: 2, mark: "▶", text: n.Text}
		if i := stepIn(plan, n.Step); i > 0 {
			l.side = fmt.Sprintf("step %d", i)
		}
		out = append(out, l)
	}
	for _, q := range c.Questions {
		l := line{indent: 2, mark: "?", text: q.Text, side: strings.Join(q.Options, " / "), tone: careful}
		out = append(out, l)
	}
	if len(c.Questions) > 0 {
		out = append(out, line{indent: 4, text: "answer with: tandem decide", tone: quiet})
	}
	out = append(out, briefLines(c.Brief, c.Contradictions)...)
	for _, x := range c.Contradictions {
		out = append(out, line{indent: 2, mark: "!", text: fmt.Sprintf("It says «%s», but %s", x.Claim, x.Fact), side: x.OperationID, tone: careful})
	}
	for _, text := range c.Signals {
		out = append(out, line{indent: 2, mark: "!", text: text, side: "noticed by the daemon", tone: careful})
	}
	return out
}

// stepIn is the number of a step in a plan, 0 where it has none.
func stepIn(plan *protocol.Plan, id string) int {
	if plan == nil || id == "" {
		return 0
	}
	return number(*plan, id)
}

// briefLines are a brief; what the journal bears out is told apart from what it refutes and from
// what is only said.
func briefLines(b protocol.Brief, against []protocol.Contradiction) []line {
	var out []line
	if b.Goal != "" {
		out = append(out, line{indent: 2, text: "Goal: " + b.Goal})
	}
	for _, claim := range b.Done {
		out = append(out, claimLine(claim, slices.ContainsFunc(against, func(x protocol.Contradiction) bool { return x.Claim == claim.Text })))
	}
	for _, group := range []struct {
		mark, word string
		texts      []string
	}{{"○", "remains", b.Remaining}, {"◆", "assumed", b.Assumptions}, {"!", "risk", b.Risks}} {
		for _, text := range group.texts {
			out = append(out, line{indent: 2, mark: group.mark, text: text, side: group.word})
		}
	}
	return out
}

// claimLine is something that the agent says is done, and what the journal says of it.
func claimLine(c protocol.Claim, refuted bool) line {
	l := line{indent: 2, mark: "·", text: c.Text, side: "said, not shown"}
	switch {
	case c.Grounded:
		l.mark, l.side, l.tone = "✓", "the journal bears it out", good
	case refuted:
		l.mark, l.side, l.tone = "✗", "the journal refutes it", bad
	}
	l.side = strings.Join(append([]string{l.side}, c.Evidence...), " · ")
	return l
}

type askCommand struct {
	place
	Words []string `arg:"" name:"question" help:"[SESSION] and the question. The work goes on undisturbed."`
	At    string   `help:"The place that it is about, from the workspace's folder: a file, and perhaps lines." placeholder:"FILE[:LINE[-LINE]]"`
}

// Run asks a side question and shows the answer.
func (c *askCommand) Run(ctx context.Context, s std) error {
	id, words := splitID(c.Words)
	question := strings.TrimSpace(strings.Join(words, " "))
	if question == "" {
		return &exitError{exitUsage, `ask: say what you want to know, as in: tandem ask "why is this here?" --at main.go:12`}
	}
	return c.withSession(ctx, id, true, func(cl *client, now protocol.Session) error {
		p := protocol.AskParams{SessionID: now.ID, Question: question}
		if c.At != "" {
			at, err := placeAt(folderOf(now.Workspace), c.At)
			if err != nil {
				return err
			}
			p.Location = &at
		}
		r, err := ask[protocol.AskResult](ctx, cl, protocol.MethodAsk, p)
		if err != nil {
			return err
		}
		return c.show(s, r, answerLines(r.Answer))
	})
}

// answerLines are an answer as it was given.
func answerLines(answer string) []line {
	var out []line
	for text := range strings.Lines(answer) {
		out = append(out, line{indent: 2, text: text})
	}
	return out
}

// linesBehind are the lines that may stand behind the name of a file.
var linesBehind = regexp.MustCompile(`^(.+):(\d+)(?:-(\d+))?$`)

// placeAt is a place that was typed: FILE, FILE:LINE or FILE:LINE-LINE, with lines from 1.
func placeAt(dir, typed string) (protocol.Location, error) {
	file, first, last := typed, 0, 0
	if m := linesBehind.FindStringSubmatch(typed); m != nil {
		file = m[1]
		var err error
		if first, err = strconv.Atoi(m[2]); err == nil && m[3] != "" {
			last, err = strconv.Atoi(m[3])
		}
		if last == 0 {
			last = first
		}
		if err != nil || first < 1 || last < first || last > 1<<30 {
			return protocol.Location{}, fmt.Errorf("at %s: lines count from 1, and the last is not before the first", typed)
		}
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	at := protocol.Location{URI: folderURI(file)}
	if first > 0 {
		at.Range = &protocol.Range{Start: protocol.Position{Line: uint32(first - 1)}, End: protocol.Position{Line: uint32(last)}}
	}
	return at, nil
}
