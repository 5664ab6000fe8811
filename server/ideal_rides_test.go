package server

import (
	"slices"
	"testing"

	"tandem/protocol"
)

// TestIdeal plays the steering scenarios, each to its ideal end.
func TestIdeal(t *testing.T) {
	for name, play := range rides {
		t.Run(name, play)
	}
}

// rides are the scenarios by their names. The numbers are those of the page that tells of them.
var rides = map[string]func(t *testing.T){
	// A. Timing: what happens to the running operation.
	"s01": rideBoundary, "s02": rideSlowCommand, "s03": rideSecondMessage, "s04": rideBackground, "s05": rideHalfABatch,
	"s06": rideStopAndSteer, "s07": rideHalfAnAnswer, "s08": rideAfterTheEnd, "s09": rideTwoThatDisagree, "s10": rideFollowUp,
}

func rideBoundary(t *testing.T) {
	r := setOut(t, "s01", ideal{
		kept:   []piece{{"src/useAuth.js", "export function useAuth()"}},
		undone: []piece{{"src/AuthProvider.js", "nobody imports it"}},
		passes: []string{"grep -q 'export function useAuth' src/useAuth.js", "grep -q 'export class AuthProvider' src/AuthProvider.js && grep -q 'useAuth().state' src/AuthProvider.js"},
		told:   []string{"the deletion of the export is taken back", `"title":"AuthProvider delegates to the hook"`},
	}, false)
	check := r.runs("check.sh")
	untilThere(t, r.gate+"/began")
	w := r.says("Keep the AuthProvider export, other packages import it.")
	if !slices.Equal(w.receipt.Running, []string{check.ID}) {
		t.Errorf("the check does not run on: %+v", w.receipt)
	}
	r.untilHas(protocol.NotePlanChanged, "delegates")
	r.opens("checked")
	r.reaches("check.sh", protocol.OpDone)
	r.opens("seen")
	r.arrives()
}

func rideSlowCommand(t *testing.T) {
	r := setOut(t, "s02", ideal{
		kept:   []piece{{"main.js", "parse(process.argv)"}},
		undone: []piece{{"lock.txt", "half"}},
		passes: []string{"grep -q parse main.js", "grep -q 'whole from company' lock.txt"},
		told:   []string{"The install was stopped", `"partial":true`},
	}, false)
	install := r.runs("install.sh slow")
	untilThere(t, r.gate+"/began")
	w := r.says("Use the company mirror instead.", "scope", params{"operationId": install.ID})
	if !slices.Equal(w.receipt.Cancelled, []string{install.ID}) {
		t.Errorf("the install is not ended: %+v", w.receipt)
	}
	r.arrives()
}

func rideSecondMessage(t *testing.T) {
	r := setOut(t, "s03", ideal{
		kept:   []piece{{"sum.sh", "# the sum of two numbers"}},
		passes: []string{"sh test.sh", "grep -q adds CHANGELOG.md"},
		told:   []string{"all that was done stays"},
	}, false)
	r.hears("Now the sign")
	w := r.says("btw, also bump the changelog", "when", "idle")
	if len(w.receipt.Cancelled) > 0 {
		t.Errorf("it cancels %q", w.receipt.Cancelled)
	}
	r.arrives()
	for _, op := range r.operations(r.id) {
		if op.Status == protocol.OpCancelled {
			t.Errorf("%s %s was cancelled", op.Tool, op.ID)
		}
	}
}

func rideBackground(t *testing.T) {
	r := setOut(t, "s04", ideal{
		kept:   []piece{{"USERS.md", "a.js"}},
		passes: []string{"grep -q a.js USERS.md", "test ! -e TODO.md"},
		told:   []string{"The search is ended, the watch runs on", "found a.js"},
	}, false)
	watch, search := r.runs("watch.sh"), r.runs("find.sh")
	untilThere(t, r.gate+"/watches")
	untilThere(t, r.gate+"/finds")
	r.untilHas(protocol.NoteDecision, `"open"`)
	r.ok(protocol.MethodDecide, at(r.id, "decisionId", "d1"), nil)
	r.hears("I wait")
	w := r.says("The search is useless now.")
	if !slices.Equal(w.receipt.Running, []string{watch.ID, search.ID}) {
		t.Errorf("the receipt names as running %q", w.receipt.Running)
	}
	if op := r.reaches("find.sh", protocol.OpCancelled); op.CancelledBy.Kind != protocol.ByReplan || op.Output != "found a.js\n" {
		t.Errorf("the search ended as %+v", op)
	}
	r.arrives()
}

func rideHalfABatch(t *testing.T) {
	r := setOut(t, "s05", ideal{
		never:  []piece{{"1.txt", "new"}, {"2.txt", "new"}, {"3.txt", "new"}, {"4.txt", "new"}, {"5.txt", "new"}, {"6.txt", "new"}},
		passes: []string{"! grep -l new *.txt", "test $(grep -l old *.txt | wc -l) = 6"},
		told:   []string{"3 of 6 files are changed", "Keep the three", "Rename the rest", "3 files are as they were"},
	}, false)
	r.runs("began")
	untilThere(t, r.gate+"/began")
	if pause := r.halts("reason", "stop", "freeze", false); len(pause.Frozen) > 0 {
		t.Errorf("frozen are %q", pause.Frozen)
	}
	m := r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	never := slices.DeleteFunc(r.operations(r.id), func(o protocol.Operation) bool {
		return o.Tool != "edit_file" || o.Status != protocol.OpCancelled || o.Partial
	})
	if len(never) != 3 || len(m.Pause.Options) != 3 {
		t.Errorf("%d edits did not begin, the options are %+v", len(never), m.Pause.Options)
	}
	r.decides("pauseId", m.Pause.ID, "option", m.Pause.Options[1].ID)
	r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	r.stands()
	r.resumes()
	r.arrives()
}

func rideStopAndSteer(t *testing.T) {
	r := setOut(t, "s06", ideal{
		kept:   []piece{{"BUILD.md", "built by a script"}},
		passes: []string{"test -e BUILD.md", "grep -q new site.txt"},
		told:   []string{"The old build is ended and left nothing"},
	}, false)
	r.runs("build.sh")
	untilThere(t, r.gate+"/began")
	r.halts("freeze", false)
	for range 2 {
		r.refused(protocol.MethodPause, at(r.id), -32002, protocol.WrongMode, "paused already")
	}
	r.says("Build with the new tool instead.")
	if left := r.processes(); len(left) > 0 {
		t.Errorf("the old build is not dead: %q", left)
	}
	r.hears("I take the new tool")
	r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	r.resumes()
	r.arrives()
}

func rideHalfAnAnswer(t *testing.T) {
	r := setOut(t, "s07", ideal{
		kept:   []piece{{"USERS.md", "app.js"}},
		never:  []piece{{"useAuth.js", "createCon"}},
		passes: []string{"test -s useAuth.js", "grep -q zustand useAuth.js"},
		told:   []string{"The draft of useAuth.js is set aside"},
	}, false)
	r.hears("provider around App.")
	r.says("Use zustand, not context.")
	r.arrives()
}

func rideAfterTheEnd(t *testing.T) {
	r := setOut(t, "s08", ideal{
		kept:   []piece{{"hello.txt", "hello"}},
		passes: []string{"grep -q hello hello.txt", "grep -q world hello.txt"},
		told:   []string{"It came after the end"},
	}, false)
	r.reachesMode(protocol.Done, protocol.DeveloperInitiative)
	r.says("Greet the world.")
	r.arrives()
}

func rideTwoThatDisagree(t *testing.T) {
	r := setOut(t, "s09", ideal{
		kept:   []piece{{"orders.md", "number, weight"}},
		never:  []piece{{"store.conf", "sqlite"}},
		passes: []string{"test -s store.conf", "! grep -ri sqlite store.conf", "grep -q postgres store.conf"},
		told:   []string{"«Use SQLite» is superseded"},
	}, false)
	r.hears("I think about the store")
	r.says("Use SQLite.")
	r.hears("I think about SQLite")
	r.says("No, keep Postgres.")
	r.arrives()
}

func rideFollowUp(t *testing.T) {
	r := setOut(t, "s10", ideal{
		passes: []string{"grep -q x=1 script.txt", "grep -q clean lint.out"},
		told:   []string{"The linter runs now"},
	}, false)
	r.runs("began")
	untilThere(t, r.gate+"/began")
	first := r.says("When you are finished, also run the formatter.", "when", "idle")
	r.takesBack(first)
	r.says("When you are finished, also run the linter.", "when", "idle")
	r.opens("go")
	r.arrives()
	for _, op := range r.operations(r.id) {
		if op.Status == protocol.OpCancelled {
			t.Errorf("%s %s was cancelled", op.Tool, op.ID)
		}
	}
}
