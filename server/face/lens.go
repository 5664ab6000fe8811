package face

import (
	"time"

	"tandem/protocol"
)

// Lenses are the lines above a document's code, first those of the active steps. Lines are those
// of the agent's that were not looked at.
func Lenses(v View, uri string, lines []Line) []protocol.CodeLens {
	var out []protocol.CodeLens
	for _, s := range v.Sessions {
		if l, ok := stepLens(v, s, uri); ok {
			out = append(out, l)
		}
	}
	for _, s := range v.Sessions {
		out = append(out, decisionLenses(v, s, uri)...)
	}
	for _, l := range lines {
		out = append(out, changeLens(v, uri, l))
	}
	return out
}

// stepLens says above a file that the active step is about it.
func stepLens(v View, s Session, uri string) (protocol.CodeLens, bool) {
	t, ok := s.active()
	if !ok || s.Mode == protocol.Done {
		return protocol.CodeLens{}, false
	}
	for _, f := range t.Files {
		if f == uri {
			text := s.stepName(t.ID)
			if t.Intent != "" {
				text += " — " + clip(t.Intent, 100)
			}
			return words(protocol.Range{}, "▶ "+text+v.name(s)), true
		}
	}
	return protocol.CodeLens{}, false
}

// decisionLenses show an open decision: what it is and how long it waits, and beside it what can be
// done.
func decisionLenses(v View, s Session, uri string) []protocol.CodeLens {
	var out []protocol.CodeLens
	for _, d := range s.Decisions {
		if d.Status != protocol.DecisionOpen || d.Location == nil || d.Location.URI != uri {
			continue
		}
		var where protocol.Range
		if d.Location.Range != nil {
			where = protocol.Range{Start: d.Location.Range.Start, End: d.Location.Range.Start}
		}
		out = append(out, words(where, "◆ "+clip(d.Summary, 80)+left(d, v.Now)+v.name(s)))
		for _, a := range d.Actions {
			if act := actOf(a); v.offered(act) {
				out = append(out, protocol.CodeLens{Range: where, Command: act.command(clip(a.Title, 40))})
			}
		}
		if why := asked(s.ID, "Why?", whyDecision(d), d.Location); v.offered(why) {
			out = append(out, protocol.CodeLens{Range: where, Command: why.command(why.Title)})
		}
	}
	return out
}

// left says how long a decision waits for a word.
func left(d protocol.Decision, now time.Time) string {
	if d.Deadline == nil {
		return " · waits for your word"
	}
	return " · " + number(max(0, int(d.Deadline.Sub(now).Round(time.Second)/time.Second))) + " s left"
}

// changeLens says that the agent wrote lines. To choose it is to have looked.
func changeLens(v View, uri string, l Line) protocol.CodeLens {
	s := v.Sessions[l.Session]
	n := int(last(l.Range)-l.Range.Start.Line) + 1
	text := "agent changed " + number(n) + " lines"
	if n == 1 {
		text = "agent changed 1 line"
	}
	if l.StepID != "" {
		text += " · " + clip(s.stepName(l.StepID), 60)
	}
	at := protocol.Range{Start: l.Range.Start, End: l.Range.Start}
	return protocol.CodeLens{Range: at, Command: &protocol.Command{Title: text + v.name(s), Command: Look,
		Arguments: []any{Change{URI: uri, SessionID: s.ID, OperationID: l.OperationID}}}}
}

// words is a lens that does nothing: LSP's way to say so is a command without a name.
func words(at protocol.Range, text string) protocol.CodeLens {
	return protocol.CodeLens{Range: at, Command: &protocol.Command{Title: text}}
}

// NextLens is after which time the lenses change though nothing happens: a second, while an open
// decision's window runs; 0: they do not.
func NextLens(v View) time.Duration {
	for _, s := range v.Sessions {
		for _, d := range s.Decisions {
			if d.Status == protocol.DecisionOpen && d.Deadline != nil && d.Location != nil {
				return time.Second
			}
		}
	}
	return 0
}
