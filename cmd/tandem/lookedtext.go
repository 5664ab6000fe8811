package main

import (
	"fmt"
	"strings"

	"tandem/agent"
	"tandem/protocol"
)

// lookedText is factText for the facts of what is looked after, run again and asked beside the work.
func lookedText(fact agent.Event) string {
	switch e := fact.(type) {
	case agent.FileEdited:
		return e.Path
	case agent.Yielded:
		return e.Reason
	case agent.Checked:
		return strings.Join(e.Ops, " ")
	case agent.Watched:
		return e.Watch.ID + "  " + e.Watch.Name + ": " + valueText(e.Watch)
	case agent.Unwatched:
		return e.Watch
	case agent.Guarded:
		return strings.Join(append(append([]string{}, e.Guards.Tripwires...), e.Guards.Scenarios...), " ")
	case agent.Tripped:
		return factWords(e.Facts)
	case agent.StillFailed:
		return factWords(e.Facts)
	case agent.InputsKept:
		return e.Snapshot + e.Broken
	case agent.RanBefore:
		if e.Broken != "" {
			return e.Broken
		}
		return runSide(e.Run)
	case agent.Rerunning:
		return e.Scenario
	case agent.ScenarioWanted:
		return e.Wanted.ID + "  " + e.Wanted.Scenario
	case agent.Compared:
		return strings.TrimSpace(e.ID + "  " + e.Comparison.Scenario + "  " + runSide(e.Comparison.After))
	case agent.Uncompared:
		return strings.TrimSpace(e.ID + "  " + e.Broken)
	case agent.AskedAside:
		return e.ID + "  " + e.Text
	case agent.CheckedIn:
		return fmt.Sprintf("%s  %s, %d contradictions", e.CheckIn.ID, e.CheckIn.Verdict, len(e.CheckIn.Contradictions))
	case agent.AnsweredAside:
		return e.ID + "  " + e.Answer
	case agent.AsideFailed:
		return e.ID + "  " + e.Text
	case agent.Signalled:
		return e.Text
	case agent.Committed:
		return agent.CommittedText(e)
	}
	return ""
}

func factWords(facts []protocol.Fact) string {
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Text
	}
	return strings.Join(texts, "; ")
}
