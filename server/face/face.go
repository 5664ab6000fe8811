// Package face says what an LSP editor without a plugin is shown of the sessions in its workspace:
// code actions, lenses, hovers, diagnostics, and the words of a progress. It is pure: sessions,
// the place and the time go in, what LSP draws comes out, and every word of it stands here.
//
//	Actions      the light bulb: what can be done at a place, as commands
//	Lenses       open decisions, the active step's files, changes that were not looked at
//	Hover        which step, decision and steer led to a line
//	Diagnostics  the facts of a pause, and conflicts of a plan, where they belong
//	Progress     what a session is at
//
// What can be done is the list of actions that the entities bear; the package adds those that need
// a place: to steer by the words that are selected there, to ask why a line is so. It reads no
// document, talks to no client and decides nothing.
package face

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tandem/protocol"
)

// View is what one editor is shown.
type View struct {
	// Sessions are those of the document's workspace that run, newest first.
	Sessions []Session
	// Can says which methods the daemon answers; an action of another is left out.
	Can func(method string) bool
	// Asks says that the client knows the command Ask; without it what has to be typed is left out.
	Asks bool
	// Workspace is the folder to start a session in, as a file URI; empty: the client's own.
	Workspace string
	// Databases are the SQLite files of the workspace's folder, for queries that are selected.
	Databases []string
	// Now is the time at which an open decision's seconds are counted.
	Now time.Time
}

// Session is a session with what its view does not bear.
type Session struct {
	protocol.Session
	// Conflicts are those of the plan as it stands.
	Conflicts []string
	// Steers are the words of the steers that led to lines, by id.
	Steers map[string]string
}

// Line is one run of lines that the agent wrote, with its session.
type Line struct {
	protocol.BlamedLines
	// Session is the index of its session in View.Sessions.
	Session int
}

// Holds says that a line, counted from 0, is one of the run.
func (l Line) Holds(line uint32) bool { return l.Range.Start.Line <= line && line <= last(l.Range) }

// last is the last line of a range: one that ends before a line's first character has none of it.
func last(r protocol.Range) uint32 {
	if r.End.Character == 0 && r.End.Line > r.Start.Line {
		return r.End.Line - 1
	}
	return r.End.Line
}

// name names a session where there are several; with one alone nobody asks which.
func (v View) name(s Session) string {
	living := 0
	for _, o := range v.Sessions {
		if o.living() {
			living++
		}
	}
	if living < 2 && (s.living() || len(v.Sessions) == 1) {
		return ""
	}
	return " (" + clip(s.Title, 30) + ")"
}

// living says that a session has work before it. One that is done can be set going by a steer.
func (s Session) living() bool { return s.steerable() && s.Mode != protocol.Done }

// steerable says that a session has not ended.
func (s Session) steerable() bool {
	return slices.ContainsFunc(s.Actions, func(a protocol.Action) bool { return a.Method == protocol.MethodSteer })
}

func (s Session) step(id string) (protocol.Step, bool) {
	if s.Plan == nil || id == "" {
		return protocol.Step{}, false
	}
	i := slices.IndexFunc(s.Plan.Steps, func(t protocol.Step) bool { return t.ID == id })
	if i < 0 {
		return protocol.Step{}, false
	}
	return s.Plan.Steps[i], true
}

// active is the step that the agent works on.
func (s Session) active() (protocol.Step, bool) {
	if s.Plan == nil {
		return protocol.Step{}, false
	}
	i := slices.IndexFunc(s.Plan.Steps, func(t protocol.Step) bool { return t.Status == protocol.StepActive })
	if i < 0 {
		return protocol.Step{}, false
	}
	return s.Plan.Steps[i], true
}

// stepName is a step as the developer counts it: its place in the plan, and its title.
func (s Session) stepName(id string) string {
	if s.Plan == nil {
		return "step " + id
	}
	for i, t := range s.Plan.Steps {
		if t.ID == id {
			return "step " + number(i+1) + " «" + oneLine(t.Title) + "»"
		}
	}
	return "step " + id // it was dropped
}

func (s Session) operation(id string) (protocol.Operation, bool) {
	i := slices.IndexFunc(s.Operations, func(o protocol.Operation) bool { return o.ID == id })
	if i < 0 {
		return protocol.Operation{}, false
	}
	return s.Operations[i], true
}

func (s Session) decision(id string) (protocol.Decision, bool) {
	i := slices.IndexFunc(s.Decisions, func(d protocol.Decision) bool { return d.ID == id })
	if i < 0 {
		return protocol.Decision{}, false
	}
	return s.Decisions[i], true
}

// oneLine puts what the model or the developer wrote on one line.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// clip is a text on one line, of at most so many characters.
func clip(text string, most int) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " ") + "…"
}
