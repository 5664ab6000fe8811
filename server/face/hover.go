package face

import (
	"strings"

	"tandem/protocol"
)

// Hover says which step, decision and steer led to a line. It is plain text: what the model and
// the developer wrote is shown, never drawn.
func Hover(v View, l Line) protocol.Hover {
	s := v.Sessions[l.Session]
	out := []string{"Tandem · " + s.stepName(l.StepID) + v.name(s)}
	if op, ok := s.operation(l.OperationID); ok && op.Intent != "" {
		out = append(out, oneLine(op.Intent))
	} else if t, ok := s.step(l.StepID); ok && t.Intent != "" {
		out = append(out, oneLine(t.Intent))
	}
	if d, ok := s.decision(l.DecisionID); ok {
		text := "◆ " + oneLine(d.Summary)
		if d.Rationale != "" {
			text += ": " + oneLine(d.Rationale)
		}
		out = append(out, text)
	}
	if l.SteerID != "" {
		out = append(out, "from your steer"+quotedSteer(s, l.SteerID))
	}
	return protocol.Hover{Contents: protocol.MarkupContent{Kind: protocol.PlainText, Value: strings.Join(out, "\n")}, Range: &l.Range}
}

func quotedSteer(s Session, id string) string {
	if text := s.Steers[id]; text != "" {
		return " «" + oneLine(text) + "»"
	}
	return ""
}
