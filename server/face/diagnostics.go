package face

import (
	"slices"
	"strings"

	"tandem/protocol"
)

// Source names Tandem in diagnostics.
const Source = "tandem"

// Diagnostics are the facts of the pauses that sessions are in, and the conflicts of their plans,
// by document. A fact that no place was observed for stands at the head of the active step's
// first file, if the daemon observed it; other facts without a place stand nowhere.
func Diagnostics(v View) map[string][]protocol.Diagnostic {
	out := map[string][]protocol.Diagnostic{}
	for _, s := range v.Sessions {
		if s.Pause != nil && s.Mode == protocol.Paused {
			for _, f := range s.Pause.Facts {
				put(out, v, s, f)
			}
		}
		if s.living() {
			for _, text := range s.Conflicts {
				if uri := s.conflictPlace(text); uri != "" {
					out[uri] = append(out[uri], protocol.Diagnostic{Severity: protocol.SeverityInformation, Source: Source, Message: oneLine(text) + v.name(s)})
				}
			}
		}
	}
	return out
}

func put(out map[string][]protocol.Diagnostic, v View, s Session, f protocol.Fact) {
	if f.Source == nil {
		return
	}
	d := protocol.Diagnostic{Severity: protocol.SeverityError, Source: Source, Message: factText(f) + v.name(s)}
	uri := f.Source.URI
	if f.Source.Tripwire != "" {
		d.Code = f.Source.Tripwire
		if uri == "" {
			uri = s.firstFile()
		}
	}
	if f.Source.Range != nil {
		d.Range = *f.Source.Range
	}
	if uri != "" {
		out[uri] = append(out[uri], d)
	}
}

func factText(f protocol.Fact) string {
	text := oneLine(f.Text)
	if f.Source.Tripwire != "" {
		text += " — expected " + clip(f.Source.Expected, 200) + ", observed " + clip(f.Source.Observed, 200)
	}
	return text
}

func (s Session) firstFile() string {
	if t, ok := s.active(); ok && len(t.Files) > 0 {
		return t.Files[0]
	}
	return ""
}

// conflictPlace is the file of the plan that a conflict names, else the active step's first.
func (s Session) conflictPlace(text string) string {
	for _, t := range s.Plan.Steps {
		i := slices.IndexFunc(t.Files, func(uri string) bool { return names(text, uri) })
		if i >= 0 {
			return t.Files[i]
		}
	}
	return s.firstFile()
}

// names says that a text names a file by its last part.
func names(text, uri string) bool {
	base := uri[strings.LastIndex(uri, "/")+1:]
	return base != "" && strings.Contains(text, base)
}
