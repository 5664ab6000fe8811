package agent

import (
	"strings"
	"testing"

	"tandem/protocol"
)

// TestRunsAreNamed sees that each run that is over has an id: by hand its own, in a pause one that
// counts, and that what it was is found by it.
func TestRunsAreNamed(t *testing.T) {
	ran := func(before, after int) protocol.Comparison {
		return protocol.Comparison{Scenario: "report", Input: protocol.Input{Digest: "in"}, Before: protocol.Run{ExitCode: before}, After: protocol.Run{ExitCode: after}}
	}
	var s State
	for _, e := range []Event{Started{ID: "s"}, ScenarioWanted{Wanted{ID: "r1", Scenario: "report"}}, Compared{ID: "r1", Comparison: ran(7, 7)},
		Paused{Pause: protocol.Pause{ID: "p1", By: protocol.PausedByTripwire}, Scenario: "report"}, Rerunning{"report"}, Compared{Comparison: ran(1, 2)},
		Rerunning{"report"}, Uncompared{Broken: "no python"}, Rerunning{"report"}, Compared{Comparison: ran(1, 4)}, Uncompared{ID: "r2", Broken: "no python"}} {
		s = s.Apply(e)
	}
	for id, want := range map[string]int{"r1": 7, "p1.0": 1, "p1.1": 2, "p1.3": 4} {
		scenario, input, run, err := s.RanOnce(id)
		if err != nil || scenario != "report" || input != "in" || run.ExitCode != want {
			t.Errorf("%s is %q %q %+v, %v", id, scenario, input, run, err)
		}
	}
	for id, want := range map[string]string{"p1.2": "the runs are r1, p1.1, p1.3", "r2": "gave nothing to compare: no python", "r1.0": `no run "r1.0"`, "": "no run"} {
		if _, _, _, err := s.RanOnce(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
