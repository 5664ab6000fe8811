package main

import (
	"context"
	"strings"

	"tandem/protocol"
)

// besides does what was typed behind a slash and is answered later; the work goes on meanwhile.
func (f *follower) besides(ctx context.Context, name, rest string) error {
	switch name {
	case "checkin":
		f.checkIn(ctx, rest)
	case "ask":
		return f.askAside(ctx, rest)
	case "scenario":
		f.scenario(ctx, rest)
	case "revert":
		return f.revert(ctx, rest)
	}
	return nil
}

func (f *follower) checkIn(ctx context.Context, text string) {
	f.send(ctx, func(ctx context.Context) result {
		r, err := checkIn(ctx, f.c, f.session.ID, text)
		return result{err: err, show: func() []line { return checkInLines(f.pic.session.Plan, r.CheckIn) }}
	})
}

// askAside asks a side question: the words, and behind --at the place that they are about.
func (f *follower) askAside(ctx context.Context, text string) error {
	question, at, named := strings.Cut(text, " --at ")
	p := protocol.AskParams{SessionID: f.session.ID, Question: strings.TrimSpace(question)}
	if named {
		location, err := placeAt(folderOf(f.session.Workspace), strings.TrimSpace(at))
		if err != nil {
			return f.print([]line{{text: err.Error(), tone: bad}})
		}
		p.Location = &location
	}
	f.send(ctx, func(ctx context.Context) result {
		r, err := ask[protocol.AskResult](ctx, f.c, protocol.MethodAsk, p)
		answer := append([]line{{mark: "?", text: p.Question, tone: mine}}, answerLines(r.Answer)...)
		return result{err: err, show: func() []line { return answer }}
	})
	return nil
}

// scenario runs one; what comes of it every client is told. Without a name it shows the runs.
func (f *follower) scenario(ctx context.Context, name string) {
	f.send(ctx, func(ctx context.Context) result {
		if name == "" {
			state, err := recount(ctx, f.c, f.session.ID, nil)
			return result{err: err, show: func() []line { return runLines(state) }}
		}
		_, err := ask[protocol.ScenarioRunResult](ctx, f.c, protocol.MethodScenarioRun, protocol.ScenarioRunParams{SessionID: f.session.ID, Scenario: name})
		return result{err: err}
	})
}

// revert takes back a step, an operation or what was done for a steer; with --dry-run it only tells.
func (f *follower) revert(ctx context.Context, words string) error {
	what, dry := strings.CutSuffix(words, "--dry-run")
	what = strings.TrimSpace(what)
	if what == "" || strings.Contains(what, " ") {
		return f.print([]line{{text: "Name one step, operation or steer, as in: /revert 2 --dry-run", tone: bad}})
	}
	p := named(f.pic.session, what)
	p.DryRun = dry
	f.send(ctx, func(ctx context.Context) result {
		r, err := ask[protocol.RevertResult](ctx, f.c, protocol.MethodRevert, p)
		return result{err: err, show: func() []line { return revertLines(f.pic.session, r, dry) }}
	})
	return nil
}
