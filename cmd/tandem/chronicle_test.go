package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"tandem/agent"
	"tandem/protocol"
)

// factsOf is a session that has these facts, as everything that reads it fact by fact has seen it.
func factsOf(events ...agent.Event) (agent.State, *chronicle, *absence) {
	var s agent.State
	c, a := &chronicle{applied: map[string]int{}}, &absence{}
	for i, e := range events {
		before := s
		s = s.Apply(e)
		f := fact{time.Unix(int64(i), 0), e, before, s}
		c.see(f)
		a.see(f)
	}
	return s, c, a
}

// work is an operation that has begun, ended and changed files.
func work(id, tool, target string, exit int, files ...agent.Change) []agent.Event {
	op := protocol.Operation{ID: id, StepID: "s1", Kind: protocol.Tool, Tool: tool, Target: target, Intent: "I do it.", Effect: protocol.EffectExecute, Status: protocol.OpQueued}
	out := []agent.Event{agent.Called{Op: op}, agent.Began{Op: id}}
	if len(files) > 0 {
		out = append(out, agent.Changed{Op: id, Files: files})
	}
	return append(out, agent.Returned{Op: id, ExitCode: &exit, Failed: exit != 0})
}

func planOf(revision int, cause protocol.Cause, diff protocol.Diff, steps ...protocol.Step) agent.Planned {
	return agent.Planned{Plan: protocol.Plan{Revision: revision, Steps: steps, Cause: cause}, Diff: diff}
}

func TestAHandOverSaysWhatIsProvenAndWhatIsOpen(t *testing.T) {
	yes := true
	events := []agent.Event{agent.Started{ID: "s", Workspace: "file:///w", Task: "Greet."},
		planOf(1, protocol.Cause{}, protocol.Diff{}, protocol.Step{ID: "s1", Title: "Greet", Status: protocol.StepActive, Verify: &protocol.Verify{Command: "go test"}},
			protocol.Step{ID: "s2", Title: "Wave", Status: protocol.StepDone}, protocol.Step{ID: "s3", Title: "Leave", Status: protocol.StepBlocked})}
	events = append(events, work("op0000002", "verify", "go test", 0)...)
	events = append(events, agent.StepChanged{Step: "s1", Status: protocol.StepDone, Verified: &yes},
		agent.Announced{Decision: protocol.Decision{ID: "d1", Summary: "Say hello", Status: protocol.DecisionStanding}},
		agent.Announced{Decision: protocol.Decision{ID: "d2", Summary: "Say bye", Status: protocol.DecisionOpen}}, agent.Overridden{Decision: "d2"},
		agent.Questioned{Questions: []protocol.Question{{ID: "q1", Text: "Whom?", Options: []string{"me", "you"}}}})
	s, _, _ := factsOf(events...)
	out := handOver(s.View(time.Unix(0, 0)), s)
	contains(t, out, "- [x] Greet: `go test` done, exit 0 (op0000002)\n", "- [x] Wave: nothing has verified it\n", "- [ ] Leave (blocked)\n",
		"**Say hello**", "## Open questions\n\n- Whom? me / you\n", "| op0000002 | `verify go test` | I do it. | done, exit 0 |", "Answer what is open: `tandem decide s`")
	if strings.Contains(out, "Say bye") || strings.Contains(out, "open question: ") {
		t.Errorf("it tells what does not hold, or twice what is open:\n%s", out)
	}
	s = s.Apply(agent.Ended{})
	if out = handOver(s.View(time.Unix(0, 0)), s); strings.Contains(out, "tandem steer") {
		t.Errorf("a session that has ended cannot be steered:\n%s", out)
	}
	contains(t, out, "The session has ended")
}

func TestAChronicleSaysWhatCameOfEverything(t *testing.T) {
	file := func(path string, before, after *agent.Image) agent.Change {
		return agent.Change{Path: path, Before: before, After: after, Hunks: []protocol.Hunk{{NewLines: 2, OldLines: 1}}}
	}
	image := &agent.Image{Digest: "x"}
	events := []agent.Event{agent.Started{ID: "s", Workspace: "file:///w", Task: "Greet."},
		planOf(1, protocol.Cause{}, protocol.Diff{Added: []string{"a", "b"}}, protocol.Step{ID: "a", Title: "A"}, protocol.Step{ID: "b", Title: "B"})}
	events = append(events, work("op0000002", "run_command", "make", 0, file("old|name", image, image), file("made", nil, image), file("gone", image, nil))...)
	events = append(events, work("op0000003", "run_command", "clean", 1, file("made", image, nil))...)
	events = append(events, agent.Steered{Steer: protocol.Steer{ID: "t1", Text: "no <b>"}}, agent.Steered{Steer: protocol.Steer{ID: "t2", Text: "yes"}}, agent.Steered{Steer: protocol.Steer{ID: "t3", Text: "soon"}},
		agent.Withdrawn{Steer: "t1"}, planOf(2, protocol.Cause{Kind: protocol.CauseSteer, ID: "t2"}, protocol.Diff{Kept: []string{"a"}, Dropped: []string{"b"}, Reverted: []string{"b"}},
			protocol.Step{ID: "a", Title: "A"}, protocol.Step{ID: "b", Title: "B", Status: protocol.StepDropped}), agent.Applied{Steer: "t2", Revision: 2},
		agent.Paused{Pause: protocol.Pause{ID: "p1", By: protocol.PausedByDeveloper, Reason: "wait"}}, agent.Resumed{Pause: "p1", Failing: []string{"rows"}, Drift: []string{"a.db moved"}},
		agent.Paused{Pause: protocol.Pause{ID: "p2", By: protocol.PausedByAgent, Reason: "look"}})
	s, c, _ := factsOf(events...)
	c.pauses = append(c.pauses, pastPause{pause: *s.Pause})
	contains(t, c.page(s.View(time.Unix(0, 0)), s), "- «no &lt;b&gt;»: withdrawn\n", "- «yes»: revision 2, kept 1, changed 0, added 0, dropped 1\n", "- «soon»: not answered by a plan yet\n",
		"- **2** for the steer «yes».", "  - dropped, with its edits taken back: B\n", "- dropped: ~~B~~\n", "- **p1**, paused by you. wait\n  - resumed, though rows did not hold, knowing that the live inputs had moved: a.db moved\n",
		"- **p2**, paused by the agent. look\n  - not decided yet\n", "| `gone` | deleted | +2 −1 | 1 |", "| `made` | made and deleted again | +4 −2 | 2 |", "| `old\\|name` | changed | +2 −1 | 1 |")
}

func TestAnAbsenceBeginsWithTheDevelopersLastWord(t *testing.T) {
	step := protocol.Step{ID: "s1", Title: "Greet", Status: protocol.StepActive}
	events := append([]agent.Event{agent.Started{ID: "s"}, planOf(1, protocol.Cause{}, protocol.Diff{}, step)}, work("op0000002", "run_command", "early", 1)...)
	events = append(events, agent.Steered{Steer: protocol.Steer{ID: "t1", Text: "no"}})
	if _, _, a := factsOf(events...); a.lines("AWAY") != nil {
		t.Errorf("nothing has come since: %+v", a)
	}
	events = append(events, work("op0000003", "run_command", "late", 1, agent.Change{Path: "a"})...)
	events = append(events, agent.StepChanged{Step: "s1", Status: protocol.StepDone}, planOf(2, protocol.Cause{}, protocol.Diff{}, protocol.Step{ID: "s1", Title: "Greet", Status: protocol.StepDone}),
		agent.Signalled{Kind: "reads", Text: "it only reads"}, agent.Called{Op: protocol.Operation{ID: "op0000004", Tool: "run_command", Target: "dead"}}, agent.Began{Op: "op0000004"}, agent.Lost{Op: "op0000004"})
	_, _, a := factsOf(events...)
	var out strings.Builder
	if err := newScreen(&out, os.Getenv).print(a.lines("AWAY"), bottom{}); err != nil {
		t.Fatal(err)
	}
	contains(t, out.String(), "AWAY  · from ", "✓ done: Greet\n", "~ changed: a\n", "✗ late failed · run_command dead was lost", "+ the plan came to revision 2", "! a check-in may help: it only reads")
	if strings.Contains(out.String(), "early") {
		t.Errorf("what came before the developer's word is told again:\n%s", out.String())
	}
}
