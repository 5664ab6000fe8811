package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/agent"
	"tandem/protocol"
)

// absence is what has happened since the developer last said something.
type absence struct {
	since    time.Time
	done     []string // steps
	changed  []string // files
	decided  []string
	failed   []string // commands, and what was lost
	signals  []string
	revision int      // of a plan that came
	unheeded []string // the stop conditions that did not hold when the developer resumed
}

// see takes a fact; a word of the developer begins the absence anew.
func (a *absence) see(f fact) {
	if r, ok := f.event.(agent.Resumed); ok {
		a.unheeded = r.Failing
	}
	if isWord(f.event) {
		*a = absence{since: f.at, unheeded: a.unheeded}
		return
	}
	switch e := f.event.(type) {
	case agent.Planned:
		a.revision = e.Plan.Revision
		a.finished(f)
	case agent.StepChanged:
		a.finished(f)
	case agent.Changed:
		for _, c := range e.Files {
			if !slices.Contains(a.changed, c.Path) {
				a.changed = append(a.changed, c.Path)
			}
		}
	case agent.Announced:
		a.decided = append(a.decided, e.Decision.Summary)
	case agent.Returned:
		if past, ok := f.after.Past(e.Op); ok && e.Failed && past.Op.Effect == protocol.EffectExecute {
			a.failed = append(a.failed, past.Op.Target+" failed")
		}
	case agent.Lost:
		if past, ok := f.after.Past(e.Op); ok {
			a.failed = append(a.failed, strings.TrimSpace(past.Op.Tool+" "+past.Op.Target)+" was lost, its outcome is unknown")
		}
	case agent.Signalled:
		a.signals = append(a.signals, e.Text)
	}
}

// isWord says that a fact is something that the developer said or asked for.
func isWord(e agent.Event) bool {
	switch e := e.(type) {
	case agent.Started, agent.Steered, agent.Withdrawn, agent.Decided, agent.QuestionAnswered, agent.Overridden, agent.Resumed,
		agent.AutonomySet, agent.AskedAside, agent.ScenarioWanted, agent.Ended:
		return true
	case agent.Planned:
		return e.Plan.Cause.Kind == protocol.CauseDeveloper
	case agent.Paused:
		return e.Pause.By == protocol.PausedByDeveloper
	}
	return false
}

// finished takes the steps that are done now and were not before.
func (a *absence) finished(f fact) {
	was := func(id string) bool {
		return slices.ContainsFunc(f.before.Plan.Steps, func(t protocol.Step) bool { return t.ID == id && t.Status == protocol.StepDone })
	}
	for _, t := range f.after.Plan.Steps {
		if t.Status == protocol.StepDone && !was(t.ID) {
			a.done = append(a.done, t.Title)
		}
	}
}

// lines tell an absence; there are none where nothing has happened.
func (a *absence) lines(title string) []line {
	var out []line
	say := func(mark, word string, texts []string) {
		if len(texts) > 0 {
			out = append(out, line{indent: 2, mark: mark, text: word + strings.Join(texts, " · ")})
		}
	}
	say("✓", "done: ", a.done)
	say("~", "changed: ", a.changed)
	say("◆", "decided: ", a.decided)
	if a.revision > 1 {
		say("+", fmt.Sprintf("the plan came to revision %d; tandem log --revisions shows what each changed", a.revision), []string{""})
	}
	say("✗", "", a.failed)
	say("!", "a check-in may help: ", a.signals)
	if out == nil {
		return nil
	}
	return append([]line{{text: title, side: "from " + a.since.Local().Format("15:04") + " on", tone: strong}}, out...)
}

// away is what has happened in a session since the developer's last word, for one who comes back.
func away(ctx context.Context, cl *client, id string) ([]line, error) {
	a := &absence{}
	if _, err := recount(ctx, cl, id, a.see); err != nil {
		return nil, err
	}
	return a.lines("WHILE YOU WERE AWAY"), nil
}

// status is a session with what its journal says of it.
type status struct {
	protocol.SessionResult
	Brief protocol.Brief `json:"brief"`
	// Failing are the stop conditions that do not hold.
	Failing protocol.List[string] `json:"failing"`
}

// standing are the lines of a status below the header: what came since the developer's last word,
// what does not hold, what remains, and the live values.
func (a *absence) standing(now protocol.Session, state agent.State) []line {
	out := a.lines("SINCE YOUR LAST WORD")
	for _, name := range state.Failing {
		out = append(out, line{mark: "!", text: "the stop condition " + name + " does not hold", tone: careful})
	}
	for _, name := range a.unheeded {
		if !slices.Contains(state.Failing, name) {
			out = append(out, line{mark: "!", text: "the stop condition " + name + " did not hold when you resumed", tone: careful})
		}
	}
	if left, all := len(state.Brief().Remaining), len(state.Plan.Steps); left > 0 && now.Mode != protocol.Done {
		out = append(out, line{text: fmt.Sprintf("%d of %d steps remain", left, all), tone: quiet})
	}
	if len(now.Watches) > 0 {
		out = append(append(out, line{text: "WATCHED", tone: strong}), watchLines(now.Watches)...)
	}
	return out
}
