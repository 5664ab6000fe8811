package face

import (
	"strings"

	"tandem/protocol"
)

// Result is what a command came to, for a developer whose editor shows no results; empty where
// the editor shows it otherwise, or where what was asked for is all there is to say.
func Result(result any) string {
	switch r := result.(type) {
	case protocol.AskResult:
		return prefix + strings.TrimSpace(r.Answer)
	case protocol.CheckInResult:
		return checkIn(r.CheckIn)
	case protocol.RevertResult:
		return reverted(r)
	case protocol.ResumeResult:
		if len(r.Drift) > 0 {
			return prefix + "resumed; since the pause began: " + strings.Join(r.Drift, "; ")
		}
	}
	return ""
}

func checkIn(c protocol.CheckIn) string {
	out := []string{prefix + "checked in: the agent goes on."}
	if c.Verdict == protocol.Clarify {
		out[0] = prefix + "checked in: the agent asks."
	}
	for _, n := range c.NextSteps {
		out = append(out, "next: "+oneLine(n.Text))
	}
	for _, q := range c.Questions {
		out = append(out, "asks: "+oneLine(q.Text))
	}
	for _, x := range c.Contradictions {
		out = append(out, "! said «"+oneLine(x.Claim)+"», but "+oneLine(x.Fact))
	}
	return strings.Join(out, "\n")
}

func reverted(r protocol.RevertResult) string {
	text := prefix + "reverted " + number(len(r.Files)) + " files."
	switch len(r.Files) {
	case 0:
		text = prefix + "there is nothing to revert."
	case 1:
		text = prefix + "reverted 1 file."
	}
	for _, c := range r.Conflicts {
		text += "\n! " + oneLine(c)
	}
	return text
}
