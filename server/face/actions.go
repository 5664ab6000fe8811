package face

import (
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

// Place is where a developer asks what can be done.
type Place struct {
	// URI is the document's.
	URI string
	// Range is what is selected, as the client wrote it; an empty one is the cursor.
	Range protocol.Range
	// At is where the range begins, in bytes of the text.
	At int
	// Selected are the words in the range.
	Selected string
	// Text is the whole document.
	Text string
	// Units measures a piece of a line in the units of the client's positions.
	Units func(piece string) int
	// Lines are those of the agent's in the range.
	Lines []Line
	// Only are the kinds that the client wants; none: all.
	Only []protocol.CodeActionKind
}

// prefix begins every title, so that it is seen whose action it is among those of other servers.
const prefix = "Tandem: "

// Actions are what can be done at a place: first what belongs to it, then what holds anywhere.
func Actions(v View, p Place) []protocol.CodeAction {
	l := &list{view: v, only: p.Only}
	here := l.words(p)
	for _, s := range v.Sessions {
		l.decisions(s, p)
	}
	l.changes(p)
	for _, s := range v.Sessions {
		l.turn(s)
	}
	for _, s := range v.Sessions {
		l.watches(s, p)
		l.session(s, here)
	}
	return l.out
}

// list gathers actions.
type list struct {
	view View
	only []protocol.CodeActionKind
	out  []protocol.CodeAction
}

func (l *list) add(title string, kind protocol.CodeActionKind, a Act) {
	if !l.view.offered(a) || len(l.only) > 0 && !slices.ContainsFunc(l.only, func(only protocol.CodeActionKind) bool {
		return only == kind || strings.HasPrefix(string(kind), string(only)+".") || only == ""
	}) {
		return
	}
	l.out = append(l.out, protocol.CodeAction{Title: prefix + title, Kind: kind, Command: a.command(prefix + title)})
}

// words are the steers, and the task, that stand at the place: a comment to the agent, and what is
// selected. It says whether there were any.
func (l *list) words(p Place) bool {
	var said []string
	if c, ok := CommentAt(p.Text, int(p.Range.Start.Line)); ok {
		said = append(said, c.Text)
		l.say(c.Text, p.URI, p.lines(c.First, c.Last))
	}
	if text := strings.TrimSpace(p.Selected); text != "" && !slices.Contains(said, text) {
		said = append(said, text)
		l.say(text, p.URI, p.Range)
	}
	return len(said) > 0
}

// lines is the range of whole lines.
func (p Place) lines(first, final int) protocol.Range {
	var r protocol.Range
	r.Start.Line, r.End.Line = uint32(first), uint32(final)
	lines := strings.Split(p.Text, "\n")
	if final < len(lines) {
		r.End.Character = uint32(p.Units(strings.TrimSuffix(lines[final], "\r")))
	}
	return r
}

// say offers words as a steer to each session that lives, or, where none does, as the task of a
// new one, or a steer that sets the last one going again.
func (l *list) say(text, uri string, at protocol.Range) {
	place := protocol.Location{URI: uri, Range: &at}
	alive := slices.ContainsFunc(l.view.Sessions, Session.living)
	if !alive {
		l.add("Start: "+clip(text, 60), protocol.QuickFix, Act{Title: "Start", Method: protocol.MethodStart,
			Params: protocol.StartParams{Workspace: l.view.Workspace, Task: text, Context: []protocol.Location{place}}})
	}
	for _, s := range l.view.Sessions {
		if !s.steerable() || alive && !s.living() {
			continue
		}
		seen := s.Seq
		l.add("Steer"+l.view.name(s)+": "+clip(text, 60), protocol.QuickFix, Act{Title: "Steer", Method: protocol.MethodSteer,
			Params: protocol.SteerParams{SessionID: s.ID, Text: text, Scope: &protocol.Scope{Location: &place}, SeenSeq: &seen}})
		if !alive {
			return
		}
	}
}

// decisions are the actions of a session's decisions at the place; one that is open and belongs
// to no place is offered anywhere, and so is a request for leave: its file need not be open.
func (l *list) decisions(s Session, p Place) {
	for _, d := range s.Decisions {
		nowhere := (d.Location == nil || d.Kind == protocol.Permission) && d.Status == protocol.DecisionOpen
		if !nowhere && !at(d.Location, p) {
			continue
		}
		for _, a := range d.Actions {
			l.add(a.Title+" · «"+clip(d.Summary, 50)+"»"+l.view.name(s), protocol.QuickFix, actOf(a))
		}
		if len(d.Actions) > 0 {
			l.add("Why? · «"+clip(d.Summary, 50)+"»"+l.view.name(s), protocol.QuickFix, asked(s.ID, "Why?", whyDecision(d), d.Location))
		}
	}
}

func whyDecision(d protocol.Decision) string {
	if d.Kind == protocol.Permission {
		return "Why do you need this: «" + oneLine(d.Summary) + "», and what can you do without it?"
	}
	return "Why did you decide «" + oneLine(d.Summary) + "», and what speaks for the alternatives?"
}

// at says that a location shares a line with the place. One without a range is the whole file.
func at(l *protocol.Location, p Place) bool {
	return l != nil && l.URI == p.URI && (l.Range == nil || meets(*l.Range, p.Range))
}

// meets says that two ranges share a line.
func meets(a, b protocol.Range) bool { return a.Start.Line <= last(b) && b.Start.Line <= last(a) }

// changes are what can be done with what the agent wrote at the place: to take it back, and to ask
// why it is so.
func (l *list) changes(p Place) {
	var done []string
	for _, line := range p.Lines {
		s := l.view.Sessions[line.Session]
		key := s.ID + " " + line.OperationID
		if slices.Contains(done, key) || !meets(line.Range, p.Range) {
			continue
		}
		done = append(done, key)
		op, ok := s.operation(line.OperationID)
		if ok {
			for _, a := range op.Actions {
				l.add(a.Title+l.view.name(s), protocol.QuickFix, actOf(a))
			}
		}
		l.step(s, line.StepID)
		where := protocol.Location{URI: p.URI, Range: &line.Range}
		l.add("Why this change?"+l.view.name(s), protocol.QuickFix, asked(s.ID, "Why this change?", whyChange(s, line, op), &where))
	}
}

// step is what can be done with the step that lines came from.
func (l *list) step(s Session, id string) {
	t, ok := s.step(id)
	if !ok {
		return
	}
	for _, a := range t.Actions {
		l.add(a.Title+" · «"+clip(t.Title, 50)+"»"+l.view.name(s), protocol.QuickFix, actOf(a))
	}
}

func whyChange(s Session, line Line, op protocol.Operation) string {
	text := "Why did you write these lines in " + s.stepName(line.StepID) + " (operation " + line.OperationID
	if op.Intent != "" {
		text += ": «" + oneLine(op.Intent) + "»"
	}
	return text + ")?"
}

// turn is what waits for the developer: the options of a pause, and the answers to questions.
func (l *list) turn(s Session) {
	if s.Pause != nil {
		all := slices.Clone(s.Pause.Actions)
		if s.Pause.Comparison != nil {
			all = append(all, s.Pause.Comparison.Actions...)
		}
		for _, a := range all {
			if a.Method == protocol.MethodResume { // the session bears it too
				continue
			}
			l.add(a.Title+l.view.name(s), protocol.QuickFix, actOf(a))
		}
	}
	for _, q := range s.Questions {
		for _, a := range q.Actions {
			l.add("Answer «"+clip(q.Text, 50)+"»: "+a.Title+l.view.name(s), protocol.QuickFix, actOf(a))
		}
	}
}

// session is what can be done with a session, and with what runs in it, at any place. The steer that asks for words is left
// out where the place has some.
func (l *list) session(s Session, said bool) {
	for _, o := range s.Operations {
		if o.EndedAt != nil {
			continue
		}
		for _, a := range o.Actions {
			l.add(a.Title+" · "+clip(o.Target, 50)+l.view.name(s), protocol.Refactor, actOf(a))
		}
	}
	checksIn := false
	for _, a := range s.Actions {
		if a.Method == protocol.MethodSteer && said {
			continue
		}
		kind := protocol.Refactor
		if a.Kind == protocol.Primary {
			kind = protocol.QuickFix
		}
		checksIn = checksIn || a.Method == protocol.MethodCheckIn
		l.add(a.Title+l.view.name(s), kind, actOf(a))
	}
	if !checksIn && s.living() {
		l.add("Check In"+l.view.name(s), protocol.Refactor, Act{Title: "Check In", Method: protocol.MethodCheckIn,
			Params: protocol.CheckInParams{SessionID: s.ID}})
	}
}

func number(n int) string { return strconv.Itoa(n) }
