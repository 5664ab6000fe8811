package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"tandem/protocol"
)

// header is what a picture begins with: the session, its task, its plan, and what waits.
func (p *picture) header() []line {
	s := p.session
	about := fmt.Sprintf("%s · %s · model %s", turn(s), s.Autonomy, s.Model)
	out := []line{{mark: "●", text: about, side: "session " + s.ID, tone: strong}, {indent: 2, text: s.Task}}
	if s.Plan != nil {
		out = append(out, planLines(*s.Plan)...)
	}
	for _, op := range p.running {
		if op.Kind == protocol.Tool && op.Status != protocol.OpQueued {
			out = append(out, line{indent: 2, mark: "·", text: "running: " + op.Intent, side: op.Target})
		}
	}
	for _, d := range s.Decisions {
		if d.Status == protocol.DecisionOpen {
			out = append(out, p.decisionCard(d)...)
		}
	}
	return append(out, p.turnCard("")...)
}

// turn says in words whose turn it is.
func turn(s protocol.Session) string {
	switch s.Mode {
	case protocol.Paused:
		return "Paused · your turn"
	case protocol.Waiting:
		return "Waiting · your turn"
	case protocol.Done:
		if ended(s) {
			return "Ended"
		}
		return "Done"
	}
	return "Working"
}

// turned shows a change of the mode, and what waits for the developer.
func (p *picture) turned(n protocol.ModeChangedParams) []line {
	before, pause, questions := p.session.Mode, p.session.Pause, p.session.Questions
	p.session.Mode, p.session.Initiative, p.session.Pause, p.session.Questions = n.Mode, n.Initiative, n.Pause, n.Questions
	out := p.hush("")
	reason := n.Reason
	switch {
	case n.Mode == protocol.Executing && before == protocol.Paused:
		return append(out, line{mark: "▶", text: "Resumed", tone: good})
	case n.Mode == protocol.Executing && reason != "":
		return append(out, line{indent: 2, mark: "…", text: reason, tone: quiet})
	case n.Mode == protocol.Executing:
		return out
	case n.Mode == protocol.Paused && before == protocol.Paused && n.Pause != nil && pause != nil:
		return append(out, p.pauseMoved(*pause, reason)...)
	case n.Mode == protocol.Waiting && before == protocol.Waiting && len(questions) > len(n.Questions) && reason == "":
		return append(out, p.questionCard()...)
	}
	return append(out, p.turnCard(reason)...)
}

// turnCard is what a mode other than executing has to say.
func (p *picture) turnCard(reason string) []line {
	s := p.session
	switch {
	case s.Mode == protocol.Paused && s.Pause != nil:
		return p.pauseCard(*s.Pause)
	case s.Mode == protocol.Waiting && len(s.Questions) > 0:
		return p.questionCard()
	case s.Mode == protocol.Waiting:
		if d := p.openDecision(); reason == "" && d.Kind == protocol.Permission {
			reason = "may I? " + d.Summary
		} else if reason == "" {
			reason = "The agent ended its turn. Steer to go on."
		}
		return []line{{mark: "●", text: "WAITING · your turn", tone: careful}, {indent: 2, text: reason}}
	case s.Mode == protocol.Done && reason != "":
		return []line{{mark: "✓", text: "DONE", tone: good}, {indent: 2, text: reason}}
	}
	return nil
}

var pausedBy = map[protocol.PausedBy]string{protocol.PausedByDeveloper: "PAUSED BY YOU", protocol.PausedByAgent: "PAUSED BY THE AGENT",
	protocol.PausedByTripwire: "STOPPED BY A STOP CONDITION", protocol.PausedByRecovery: "PAUSED WHEN THE DAEMON ENDED", protocol.PausedByBudget: "STOPPED BY THE BUDGET"}

// pauseCard is a tactical pause: why, the facts, the likely cause, what was decided and came of it,
// and the ways out.
func (p *picture) pauseCard(pause protocol.Pause) []line {
	title, reason := pausedBy[pause.By], pause.Reason
	if name := tripped(pause); name != "" {
		title = "STOPPED BY " + name
		if reason == "stopped by "+name {
			reason = ""
		}
	}
	out := []line{{mark: "⏸", text: title + " · " + p.whose(pause), tone: careful}}
	if reason != "" {
		out = append(out, line{indent: 2, text: reason})
	}
	out = append(out, p.factLines(pause)...)
	for _, id := range pause.Frozen {
		i := slices.IndexFunc(p.running, func(o protocol.Operation) bool { return o.ID == id })
		if i >= 0 {
			out = append(out, line{indent: 2, text: "frozen, goes on at resume: " + p.running[i].Target, tone: quiet})
		}
	}
	if pause.Decision != "" {
		out = append(out, line{indent: 2, text: "Decided: " + pause.Decision, tone: mine})
	}
	if pause.Comparison != nil {
		out = append(out, beforeAndAfter(decidedTitle, *pause.Comparison)...)
	}
	return append(out, waysOut(pause, true)...)
}

const (
	yourTurn     = "your turn"
	decidedTitle = "AFTER YOUR DECISION"
)

// whose says who has to do something in a pause.
func (p *picture) whose(pause protocol.Pause) string {
	switch s := p.session; {
	case s.Mode != protocol.Paused || s.Initiative != protocol.AgentInitiative:
		return yourTurn
	case pause.Decision != "" && pause.Comparison == nil:
		return "the agent changes what you decided"
	}
	return "the agent looks into it"
}

// waysOut are the numbered options of a pause, then resume; in full with what each would mean.
func waysOut(pause protocol.Pause, full bool) []line {
	actions := slices.Clone(pause.Actions)
	for i, a := range actions {
		if o, ok := optionOf(pause, a); ok {
			actions[i].Title = o.Title
		}
	}
	return optionLines(actions, func(a protocol.Action) (string, string) {
		detail, side := touched(pause, a)
		if !full {
			detail = ""
		}
		return detail, side
	})
}

func tripped(p protocol.Pause) string {
	for _, f := range p.Facts {
		if f.Source != nil && f.Source.Tripwire != "" {
			return f.Source.Tripwire
		}
	}
	return ""
}

// factLines are the evidence of a pause. A fact that came twice is said once, and so is what several
// facts of one condition expect and observe.
func (p *picture) factLines(pause protocol.Pause) []line {
	var out []line
	told := ""
	for i, f := range pause.Facts {
		if slices.ContainsFunc(pause.Facts[:i], func(b protocol.Fact) bool { return b.Text == f.Text }) {
			continue
		}
		l := line{indent: 2, mark: "-", text: f.Text}
		if f.Source != nil {
			l.side = p.at(f.Source.URI, f.Source.Range)
		}
		out = append(out, l)
		if s := f.Source; s != nil && s.Tripwire != "" {
			now := "expected " + s.Expected + " · observed " + s.Observed
			if told != s.Tripwire+now {
				out = append(out, line{indent: 4, text: now})
			}
			told = s.Tripwire + now
		}
	}
	if pause.LikelyCause != "" {
		out = append(out, line{indent: 2, text: "Likely cause: " + pause.LikelyCause})
	}
	return out
}

// at is a place in the code, in the form that terminals make a link of.
func (p *picture) at(uri string, r *protocol.Range) string {
	if uri == "" {
		return ""
	}
	text := relative(p.session.Workspace, uri)
	if r != nil {
		text += fmt.Sprintf(":%d", r.Start.Line+1)
	}
	return text
}

// optionOf is the option that an action takes.
func optionOf(p protocol.Pause, a protocol.Action) (protocol.Option, bool) {
	i := slices.IndexFunc(p.Options, func(o protocol.Option) bool { return o.ID == a.Params.Option })
	if i < 0 || a.Params.Option == "" {
		return protocol.Option{}, false
	}
	return p.Options[i], true
}

// touched says more of the option that an action takes: what it means, and what it touches.
func touched(p protocol.Pause, a protocol.Action) (detail, side string) {
	o, _ := optionOf(p, a)
	var touches []string
	for _, t := range o.Touches {
		touches = append(touches, touchWords(t))
	}
	return o.Detail, strings.Join(append(touches, fileNames(o.Files)...), ", ")
}

func touchWords(t protocol.Touch) string {
	if t == protocol.TouchBusinessRule {
		return "business rule"
	}
	return string(t)
}

// pauseMoved shows what is new in a pause.
func (p *picture) pauseMoved(before protocol.Pause, reason string) []line {
	now := *p.session.Pause
	switch {
	case now.Decision != before.Decision:
		return []line{{mark: "›", text: "Decided: " + now.Decision, tone: mine}}
	case len(now.Facts) != len(before.Facts) || len(now.Options) > len(before.Options) || now.LikelyCause != before.LikelyCause && now.LikelyCause != "":
		return p.pauseCard(now)
	case p.session.Initiative == protocol.DeveloperInitiative && now.Comparison != nil && reason != "":
		return append([]line{{mark: "⏸", text: "PAUSED · " + yourTurn, tone: careful}, {indent: 2, text: reason}}, waysOut(now, false)...)
	case reason != "":
		return []line{{indent: 2, text: reason}}
	}
	return nil
}

// driftCard says that a resume was refused because live inputs have moved, and the ways out.
func driftCard(refusal string) []line {
	moved, _, _ := strings.Cut(strings.TrimPrefix(refusal, "resume: "), "; look first")
	return []line{{mark: "!", text: "Not resumed: " + moved + ".", tone: careful},
		{indent: 2, text: "What was compared is the case as it was. Look first, or go on from here with /resume anyway (elsewhere: tandem resume --acknowledge-drift).", tone: quiet}}
}

// questionCard is the first question that is open; the others follow when it is answered.
func (p *picture) questionCard() []line {
	if len(p.session.Questions) == 0 {
		return nil
	}
	q := p.session.Questions[0]
	title := "QUESTION · your turn"
	if n := len(p.session.Questions); n > 1 {
		title = fmt.Sprintf("QUESTION, 1 of %d · your turn", n)
	}
	out := []line{{mark: "?", text: title, tone: careful}, {indent: 2, text: q.Text}}
	return append(out, optionLines(q.Actions, nil)...)
}

// decided shows a decision: announced, its window over, or overridden.
func (p *picture) decided(n protocol.DecisionParams) []line {
	d := n.Decision
	before, known := p.known[d.ID]
	p.known[d.ID] = d
	delete(p.choices, d.ID)
	if d.Status == protocol.DecisionOpen {
		p.choices[d.ID] = d
	}
	out := p.hush("")
	switch {
	case !known:
		return append(out, p.decisionCard(d)...)
	case before.Status == d.Status:
		return out
	case d.Kind == protocol.Permission:
		return append(out, leaveLine(d))
	case d.Status == protocol.DecisionOverridden:
		return append(out, line{mark: "◆", text: "Overridden: " + d.Summary, side: chosen(d), tone: mine})
	}
	return append(out, line{mark: "◆", text: "Stands: " + d.Summary, tone: quiet})
}

func chosen(d protocol.Decision) string {
	if title := titleOf(d); title != "" {
		return "instead: " + title
	}
	return ""
}

// titleOf is what the developer chose.
func titleOf(d protocol.Decision) string {
	i := slices.IndexFunc(d.Alternatives, func(a protocol.Alternative) bool { return a.ID == d.Chosen })
	if i < 0 {
		return ""
	}
	return d.Alternatives[i].Title
}

// leaveLine says what came of a request for leave.
func leaveLine(d protocol.Decision) line {
	switch {
	case d.Status == protocol.DecisionStanding:
		return line{mark: "◆", text: "Allowed: " + d.Summary, side: titleOf(d), tone: mine}
	case d.Chosen != "":
		return line{mark: "◆", text: "Not allowed: " + d.Summary, tone: mine}
	}
	return line{mark: "◆", text: "Not asked any more: " + d.Summary, tone: quiet}
}

// decisionCard is a decision with its reason and its alternatives; an open one with numbers.
func (p *picture) decisionCard(d protocol.Decision) []line {
	head := line{mark: "◆", text: "DECISION  " + d.Summary, tone: strong}
	if d.Kind == protocol.Permission {
		head.text = "MAY I?  " + d.Summary
	}
	if d.Location != nil {
		head.side = p.at(d.Location.URI, d.Location.Range)
	}
	out := []line{head, {indent: 2, text: d.Rationale, tone: quiet}}
	if d.Status == protocol.DecisionOpen {
		waits := "It waits for your word."
		if d.Deadline != nil {
			waits = "It stands by itself in a few seconds; the writes behind it wait until then."
		}
		out = append(out, line{indent: 2, text: waits, tone: careful})
		return append(out, optionLines(d.Actions, func(a protocol.Action) (string, string) { return alternativeOf(d, a), "" })...)
	}
	for _, a := range d.Alternatives {
		text := "instead of it: " + a.Title
		if a.Consequence != "" {
			text += " (" + a.Consequence + ")"
		}
		out = append(out, line{indent: 2, mark: "-", text: text, tone: quiet})
	}
	return out
}

func alternativeOf(d protocol.Decision, a protocol.Action) string {
	for _, alt := range d.Alternatives {
		if alt.ID == a.Params.Option {
			return alt.Consequence
		}
	}
	return ""
}

// optionLines number the actions that need no words, and name the one that takes them.
func optionLines(actions []protocol.Action, more func(protocol.Action) (detail, side string)) []line {
	var out []line
	for i, a := range takes(actions) {
		detail, side := "", ""
		if more != nil {
			detail, side = more(a)
		}
		out = append(out, line{indent: 2, mark: fmt.Sprint(i + 1), text: a.Title, side: side})
		if detail != "" {
			out = append(out, line{indent: 6, text: detail, tone: quiet})
		}
	}
	own, ok := says(actions)
	if !ok {
		return out
	}
	text := "or type your own words: " + own.Ask.Prompt
	if len(out) == 0 {
		text = "Type your answer."
	} else if own.Params.QuestionID != "" { // its prompt is the question
		text = "or type your own words"
	}
	return append(out, line{indent: 4, text: text, tone: quiet})
}

// takes are the actions that need no words, in their order: these have the numbers from 1.
func takes(actions []protocol.Action) []protocol.Action {
	var out []protocol.Action
	for _, a := range actions {
		if a.Ask == nil {
			out = append(out, a)
		}
	}
	return out
}

// says is the action that takes the developer's own words.
func says(actions []protocol.Action) (protocol.Action, bool) {
	i := slices.IndexFunc(actions, func(a protocol.Action) bool { return a.Ask != nil })
	if i < 0 {
		return protocol.Action{}, false
	}
	return actions[i], true
}

// turnActions are what a typed word answers now: those of the pause, else of the first question,
// else of the decision that was opened last. None: a typed word is a steer. Where the agent is at work in
// a pause it may need leave, which is answered first.
func (p *picture) turnActions() []protocol.Action {
	s := p.session
	open := p.openDecision()
	switch {
	case open.Kind == protocol.Permission && s.Mode == protocol.Paused && s.Initiative == protocol.AgentInitiative:
		return open.Actions
	case s.Mode == protocol.Paused && s.Pause != nil:
		return s.Pause.Actions
	case s.Mode == protocol.Waiting && len(s.Questions) > 0:
		return s.Questions[0].Actions
	}
	return open.Actions
}

// openDecision is the one that was opened last; without an id there is none.
func (p *picture) openDecision() protocol.Decision {
	var last protocol.Decision
	for _, d := range p.choices {
		if len(d.ID) > len(last.ID) || len(d.ID) == len(last.ID) && d.ID > last.ID { // d9 comes before d10
			last = d
		}
	}
	return last
}

// mostChanges is how many differences of two runs a table shows.
const mostChanges = 12

// comparison is a before and after of a run.
func comparison(c protocol.Comparison) []line { return beforeAndAfter("BEFORE AND AFTER", c) }

// beforeAndAfter is a table: what has to hold, how the runs ended, and what differs in what they wrote.
func beforeAndAfter(title string, c protocol.Comparison) []line {
	input := "same input ✓"
	if !c.Input.Same {
		input = "another input"
	}
	t := table{}
	t.add(quiet, "", "before", "after")
	for _, after := range c.After.Checks {
		before := "not looked at"
		if i := slices.IndexFunc(c.Before.Checks, func(b protocol.Check) bool { return b.Tripwire == after.Tripwire }); i >= 0 {
			before = verdict(c.Before.Checks[i])
		}
		t.add(toneOf(after.OK), after.Tripwire, before, verdict(after))
	}
	if c.Before.ExitCode != 0 || c.After.ExitCode != 0 {
		t.add(toneOf(c.After.ExitCode == 0), "exit code", fmt.Sprint(c.Before.ExitCode), fmt.Sprint(c.After.ExitCode))
	}
	for _, change := range c.Changes[:min(len(c.Changes), mostChanges)] {
		t.add(plain, change.What, change.Before, change.After)
	}
	out := append([]line{{text: title + "  " + c.Scenario, side: input, tone: strong}}, t.lines()...)
	if more := len(c.Changes) - mostChanges; more > 0 {
		out = append(out, line{indent: 2, text: fmt.Sprintf("… and %d more", more), tone: quiet})
	}
	return out
}

// verdict is what a check observed, and whether that is right.
func verdict(c protocol.Check) string {
	if c.OK {
		return "✓ " + c.Observed
	}
	return "✗ " + c.Observed
}

func toneOf(ok bool) tone {
	if ok {
		return plain
	}
	return bad
}

// table is rows whose cells stand below one another, on a screen and in a pipe.
type table struct {
	rows  [][3]string
	tones []tone
}

// Widths at which the cells of a table are cut, so that it fits on 80 columns.
const (
	widestName  = 38
	widestValue = 17
)

func (t *table) add(as tone, name, before, after string) {
	t.rows = append(t.rows, [3]string{clip(name, widestName), clip(before, widestValue), clip(after, widestValue)})
	t.tones = append(t.tones, as)
}

func (t *table) lines() []line {
	name, before := 0, 0
	for _, r := range t.rows {
		name, before = max(name, runewidth.StringWidth(r[0])), max(before, runewidth.StringWidth(r[1]))
	}
	out := make([]line, len(t.rows))
	for i, r := range t.rows {
		out[i] = line{indent: 2, as: true, tone: t.tones[i], text: runewidth.FillRight(r[0], name+2) + runewidth.FillRight(r[1], before+2) + r[2]}
	}
	return out
}
