package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

// chronicle is a session as an account of who said, decided and changed what, gathered fact by fact.
type chronicle struct {
	plans    []agent.Planned
	steers   []agent.Steered
	applied  map[string]int // the revision that answers a steer
	gone     []string       // steers that were withdrawn
	pauses   []pastPause
	checkIns []agent.CheckedIn
	runs     []agent.Compared // by hand
	finished agent.Finished
}

// pastPause is a pause as it stood when it ended, or stands now.
type pastPause struct {
	pause   protocol.Pause
	resumed *agent.Resumed
}

// see takes a fact.
func (t *chronicle) see(f fact) {
	switch e := f.event.(type) {
	case agent.Planned:
		t.plans = append(t.plans, e)
	case agent.Steered:
		t.steers = append(t.steers, e)
	case agent.Applied:
		t.applied[e.Steer] = e.Revision
	case agent.Withdrawn:
		t.gone = append(t.gone, e.Steer)
	case agent.CheckedIn:
		t.checkIns = append(t.checkIns, e)
	case agent.Compared:
		if e.ID != "" {
			t.runs = append(t.runs, e)
		}
	case agent.Resumed:
		if f.before.Pause != nil {
			t.pauses = append(t.pauses, pastPause{*f.before.Pause, &e})
		}
	case agent.Finished:
		t.finished = e
	}
}

// markdown is the whole session for a pull request.
func (c *logCommand) markdown(ctx context.Context, s std, cl *client, now protocol.Session) error {
	t := &chronicle{applied: map[string]int{}}
	state, err := recount(ctx, cl, now.ID, t.see)
	if err != nil {
		return err
	}
	if state.Pause != nil {
		t.pauses = append(t.pauses, pastPause{pause: *state.Pause})
	}
	if _, err := fmt.Fprint(s.out, t.page(now, state)); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

func (t *chronicle) page(now protocol.Session, state agent.State) string {
	p := &page{}
	u := now.Usage
	p.head(1, prose(now.Title))
	fmt.Fprintf(p, "Session `%s` · %s · autonomy %s · model %s · %s to %s · %d requests\n",
		now.ID, turn(now), now.Autonomy, code(now.Model), clock(now.StartedAt), clock(now.UpdatedAt), u.Requests)
	p.head(2, "Task")
	p.quote(now.Task)
	if t.finished.Summary != "" {
		p.head(2, "Result")
		p.quote(strings.TrimSpace(t.finished.Summary + "\n" + t.finished.Evidence))
	}
	t.planned(p, state)
	t.steered(p, state)
	p.decisions(state)
	t.paused(p)
	t.checkedIn(p)
	t.ran(p)
	p.files(state)
	return p.String()
}

// planned is the plan as it stands and each of its revisions with what it changed.
func (t *chronicle) planned(p *page, state agent.State) {
	if state.Plan.Revision == 0 {
		return
	}
	p.head(2, fmt.Sprintf("Plan, revision %d", state.Plan.Revision))
	for _, s := range state.Plan.Steps {
		p.step(s)
	}
	p.head(3, "Revisions")
	for _, e := range t.plans {
		p.item(0, "**%d**%s %s", e.Plan.Revision, t.because(e.Plan.Cause), prose(strings.TrimSpace(e.Explanation+" "+e.Reason)))
		if len(e.Diff.Kept)+len(e.Diff.Changed)+len(e.Diff.Dropped) > 0 {
			p.diff(e)
		}
		for _, text := range e.Consequences {
			p.item(1, "Consequence: %s", prose(text))
		}
		for _, text := range e.Conflicts {
			p.item(1, "Conflict: %s", prose(text))
		}
	}
}

// step is one step of the plan as it stands.
func (p *page) step(s protocol.Step) {
	switch s.Status {
	case protocol.StepDropped:
		p.item(0, "dropped: ~~%s~~", prose(s.Title))
		return
	case protocol.StepDone:
		p.item(0, "[x] %s%s", prose(s.Title), proven(s))
		return
	case protocol.StepPending, protocol.StepActive, protocol.StepBlocked:
	}
	p.item(0, "[ ] %s (%s)%s", prose(s.Title), stepWords[s.Status], proven(s))
}

func proven(s protocol.Step) string {
	switch {
	case s.Verify == nil:
		return ""
	case s.Verified == nil:
		return ", to be verified by " + code(s.Verify.Command)
	case *s.Verified:
		return ", verified by " + code(s.Verify.Command)
	}
	return ", failed: " + code(s.Verify.Command)
}

// because names what a revision answers.
func (t *chronicle) because(c protocol.Cause) string {
	i := slices.IndexFunc(t.steers, func(e agent.Steered) bool { return e.Steer.ID == c.ID })
	switch {
	case c.Kind == protocol.CauseSteer && i >= 0:
		return " for the steer " + said(t.steers[i].Steer.Text) + "."
	case cause(c) != "":
		return " " + cause(c) + "."
	}
	return ""
}

// diff is what a revision changed.
func (p *page) diff(e agent.Planned) {
	d := e.Diff
	p.item(1, "kept %d, changed %d, added %d, dropped %d", len(d.Kept), len(d.Changed), len(d.Added), len(d.Dropped))
	for _, s := range e.Plan.Steps {
		i := slices.IndexFunc(d.Changed, func(c protocol.StepChange) bool { return c.After.ID == s.ID })
		switch {
		case slices.Contains(d.Added, s.ID):
			p.item(1, "added: %s", prose(s.Title))
		case slices.Contains(d.Dropped, s.ID) && slices.Contains(d.Reverted, s.ID):
			p.item(1, "dropped, with its edits taken back: %s", prose(s.Title))
		case slices.Contains(d.Dropped, s.ID):
			p.item(1, "dropped: %s", prose(s.Title))
		case i >= 0:
			p.item(1, "changed: %s", changedStep(d.Changed[i]))
		}
	}
}

// changedStep is a step that a revision changed, with what it was.
func changedStep(c protocol.StepChange) string {
	text := prose(c.After.Title)
	for _, l := range was(c) {
		text += ", " + prose(l.text)
	}
	return text
}

// steered is each steer with what came of it.
func (t *chronicle) steered(p *page, state agent.State) {
	if len(t.steers) == 0 {
		return
	}
	p.head(2, "Steers")
	for _, e := range t.steers {
		p.item(0, "%s: %s", said(e.Steer.Text), t.became(e.Steer))
		for _, id := range e.Cancelled {
			if past, ok := state.Past(id); ok && past.Op.Kind == protocol.Tool {
				p.item(1, "cancelled %s", code(strings.TrimSpace(past.Op.Tool+" "+past.Op.Target)))
			}
		}
	}
}

// became says what came of a steer.
func (t *chronicle) became(s protocol.Steer) string {
	if slices.Contains(t.gone, s.ID) {
		return "withdrawn"
	}
	revision, ok := t.applied[s.ID]
	if !ok {
		return "not answered by a plan yet"
	}
	for _, e := range t.plans {
		if d := e.Diff; e.Plan.Revision == revision {
			return fmt.Sprintf("revision %d, kept %d, changed %d, added %d, dropped %d", revision, len(d.Kept), len(d.Changed), len(d.Added), len(d.Dropped))
		}
	}
	return fmt.Sprintf("revision %d", revision)
}

// decisions are all of them, with what was chosen and what else could have been.
func (p *page) decisions(state agent.State) {
	if len(state.Decisions) == 0 {
		return
	}
	p.head(2, "Decisions")
	for _, d := range state.Decisions {
		p.decision(state, d)
	}
}

// decision is one decision with its reason and its alternatives.
func (p *page) decision(state agent.State, d protocol.Decision) {
	if d.Kind == protocol.Permission {
		p.item(0, "**%s** (%s) %s", prose(d.Summary), leaveWord(d), prose(d.Rationale))
		return
	}
	words := map[protocol.DecisionStatus]string{protocol.DecisionStanding: "stands", protocol.DecisionOpen: "waits for a word", protocol.DecisionOverridden: "overridden by the developer"}
	at := ""
	if d.Location != nil {
		at = ", at " + code(newPicture(protocol.Session{Workspace: state.Started.Workspace}).at(d.Location.URI, d.Location.Range))
	}
	p.item(0, "**%s** (%s, %s%s) %s", prose(d.Summary), d.Significance, words[d.Status], at, prose(d.Rationale))
	for _, a := range d.Alternatives {
		word := "alternative"
		if d.Chosen != "" && a.ID == d.Chosen {
			word = "chosen instead"
		}
		text := prose(a.Title)
		if a.Consequence != "" {
			text += ": " + prose(a.Consequence)
		}
		p.item(1, "%s: %s", word, text)
	}
}

// leaveWord says in a page what came of a request for leave.
func leaveWord(d protocol.Decision) string {
	switch {
	case d.Status == protocol.DecisionOpen:
		return "the agent asks for leave"
	case d.Status == protocol.DecisionStanding:
		return "the developer: " + prose(titleOf(d))
	case d.Chosen != "":
		return "not allowed by the developer"
	}
	return "not asked any more"
}

// paused is each pause with its evidence, what was decided, and the same case before and after.
func (t *chronicle) paused(p *page) {
	if len(t.pauses) == 0 {
		return
	}
	p.head(2, "Pauses")
	for _, e := range t.pauses {
		p.pause(e)
	}
}

// pause is one pause, from why it was called to how it ended.
func (p *page) pause(e pastPause) {
	by := strings.ToLower(pausedBy[e.pause.By])
	p.item(0, "**%s**, %s. %s", e.pause.ID, by, prose(e.pause.Reason))
	p.evidence(e.pause)
	switch {
	case e.pause.Decision != "":
		p.item(1, "decided: %s", prose(e.pause.Decision))
	case e.resumed == nil:
		p.item(1, "not decided yet")
	}
	if c := e.pause.Comparison; c != nil {
		p.comparison(1, *c)
	}
	if e.resumed != nil {
		p.item(1, "resumed%s", under(*e.resumed))
	}
}

// evidence are the facts of a pause, their likely cause, and the ways out.
func (p *page) evidence(pause protocol.Pause) {
	for _, f := range pause.Facts {
		text := prose(f.Text)
		if f.Source != nil && f.Source.Tripwire != "" {
			text += fmt.Sprintf(" (%s: expected %s, observed %s)", prose(f.Source.Tripwire), prose(f.Source.Expected), prose(f.Source.Observed))
		}
		p.item(1, "fact: %s", text)
	}
	if pause.LikelyCause != "" {
		p.item(1, "likely cause: %s", prose(pause.LikelyCause))
	}
	for _, o := range pause.Options {
		p.item(1, "option: %s", prose(strings.Trim(o.Title+": "+o.Detail, ": ")))
	}
}

// under says what was known not to hold when the developer resumed.
func under(e agent.Resumed) string {
	text := ""
	if len(e.Failing) > 0 {
		text += ", though " + prose(strings.Join(e.Failing, ", ")) + " did not hold"
	}
	if len(e.Drift) > 0 {
		text += ", knowing that the live inputs had moved: " + prose(strings.Join(e.Drift, "; "))
	}
	return text
}

// comparison is a before and after as entries.
func (p *page) comparison(depth int, c protocol.Comparison) {
	input := "the same input"
	if !c.Input.Same {
		input = "another input"
	}
	p.item(depth, "scenario %s on %s: exit code %d before, %d after", code(c.Scenario), input, c.Before.ExitCode, c.After.ExitCode)
	for _, k := range c.After.Checks {
		before := ""
		if i := slices.IndexFunc(c.Before.Checks, func(b protocol.Check) bool { return b.Tripwire == k.Tripwire }); i >= 0 {
			before = verdict(c.Before.Checks[i]) + " → "
		}
		p.item(depth+1, "%s: %s", prose(k.Tripwire), prose(before+verdict(k)))
	}
	for _, x := range c.Changes {
		p.item(depth+1, "%s: %s → %s", code(x.What), prose(x.Before), prose(x.After))
	}
}

// checkedIn are the check-ins.
func (t *chronicle) checkedIn(p *page) {
	if len(t.checkIns) == 0 {
		return
	}
	p.head(2, "Check-ins")
	for _, e := range t.checkIns {
		p.item(0, "%s", e.CheckIn.Verdict)
		for _, n := range e.CheckIn.NextSteps {
			p.item(1, "next: %s", prose(n.Text))
		}
		for _, q := range e.CheckIn.Questions {
			p.item(1, "asked: %s", prose(q.Text))
		}
		for _, x := range e.CheckIn.Contradictions {
			p.item(1, "the agent said %s, but %s", said(x.Claim), prose(x.Fact))
		}
		for _, text := range e.CheckIn.Signals {
			p.item(1, "noticed: %s", prose(text))
		}
	}
}

// ran are the runs by hand.
func (t *chronicle) ran(p *page) {
	if len(t.runs) == 0 {
		return
	}
	p.head(2, "Scenarios run by hand")
	for _, e := range t.runs {
		p.comparison(0, e.Comparison)
	}
}

// sum is what became of one file, all operations together.
type sum struct {
	made, gone  bool
	added, lost int
	ops         int
}

// files are those that operations changed, each once.
func (p *page) files(state agent.State) {
	sums := changedFiles(state)
	if len(sums) == 0 {
		return
	}
	p.head(2, "Files changed")
	p.row("file", "change", "lines", "operations")
	p.row("---", "---", "---", "---")
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		s := sums[path]
		word := "changed"
		switch {
		case s.made && s.gone:
			word = "made and deleted again"
		case s.made:
			word = "created"
		case s.gone:
			word = "deleted"
		}
		p.row(cell(path), word, fmt.Sprintf("+%d −%d", s.added, s.lost), fmt.Sprint(s.ops))
	}
}

// changedFiles sums up what operations did to each file. The lines are those of the edits, each
// counted: a line that was changed twice counts twice.
func changedFiles(state agent.State) map[string]sum {
	sums := map[string]sum{}
	for _, past := range state.Ops() {
		for _, c := range past.Changes {
			s, known := sums[c.Path]
			if !known {
				s.made = c.Before == nil
			}
			s.gone = c.After == nil
			s.ops++
			for _, h := range c.Hunks {
				s.added, s.lost = s.added+h.NewLines, s.lost+h.OldLines
			}
			sums[c.Path] = s
		}
	}
	return sums
}
