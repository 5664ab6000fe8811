package face

import (
	"strings"

	"tandem/protocol"
)

// ProgressTitle is what a session's progress is called.
func ProgressTitle(s Session) string { return prefix + clip(s.Title, 60) }

// Progress is what a session is at, in the agent's words; ok is false when it is not at work.
func Progress(s Session) (message string, ok bool) {
	if s.Mode != protocol.Executing {
		return "", false
	}
	for i := len(s.Operations) - 1; i >= 0; i-- {
		if o := s.Operations[i]; o.Kind == protocol.Tool && o.EndedAt == nil && o.Intent != "" {
			return clip(o.Intent, 120), true
		}
	}
	if t, ok := s.active(); ok {
		return clip(s.stepName(t.ID), 120), true
	}
	return "I think about the next step.", true
}

// ProgressEnd is what remains of a progress when the session's work stands.
func ProgressEnd(s Session) string {
	switch s.Mode {
	case protocol.Paused:
		return "Paused: it is your turn."
	case protocol.Waiting:
		return "It is your turn."
	case protocol.Done:
		return "Done."
	}
	return ""
}

// Turn says to a developer without a panel that it is their turn, and why: once, when it becomes
// so. A pause that they called themselves is no news.
func Turn(s Session) (text string, ok bool) {
	switch {
	case s.Initiative != protocol.DeveloperInitiative || !s.steerable():
		return "", false
	case s.Pause != nil && s.Pause.By == protocol.PausedByDeveloper && len(s.Pause.Options) == 0:
		return "", false
	case s.Pause != nil:
		return paused(s), true
	case len(s.Questions) > 0:
		return prefix + clip(s.Title, 60) + ": " + clip(s.Questions[0].Text, 300), true
	case s.Mode == protocol.Done:
		return prefix + clip(s.Title, 60) + " is done.", true
	}
	return prefix + clip(s.Title, 60) + " waits for you.", true
}

func paused(s Session) string {
	text := prefix + clip(s.Title, 60) + " paused"
	if s.Pause.Reason != "" {
		text += ": " + clip(s.Pause.Reason, 200)
	}
	for _, f := range s.Pause.Facts {
		if f.Source != nil && f.Source.Tripwire != "" {
			text += " — " + f.Source.Tripwire + ": " + factText(f)
		} else {
			text += " — " + clip(f.Text, 200)
		}
	}
	if s.Pause.LikelyCause != "" {
		text += " Likely cause: " + clip(s.Pause.LikelyCause, 200)
	}
	return strings.TrimSpace(text)
}
