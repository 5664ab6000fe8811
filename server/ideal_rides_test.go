package server

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	// B. Content: addition, revision, retraction.
	"s11": rideAddition, "s12": rideRevision, "s13": rideRetraction, "s14": rideLateRevision, "s15": rideWrongAssumption,
	"s16": rideDoNotTouch, "s17": rideTwoHands, "s18": rideMendedByHand,
	// C. Stop conditions and reruns.
	"s19": rideFewerRows, "s20": rideSchemaMismatch, "s21": rideWrongCondition, "s22": rideUnrelatedTest,
	// D. Initiative of the agent.
	"s23": rideWhenToSpeak, "s24": rideAskOrAct, "s25": rideWhy,
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

func rideAddition(t *testing.T) {
	r := setOut(t, "s11", ideal{
		kept:   []piece{{"import.sh", "# rows of a CSV file"}, {"import.sh", `echo "$name has $count"`}},
		passes: []string{`test "$(sh import.sh plain.csv | wc -l)" = 2`, `printf '\357\273\277x,7\r\n' > w.csv; test "$(sh import.sh w.csv)" = "x has 7"`},
		told:   []string{"The parser stays and takes one line more"},
	}, false)
	r.hears("The tests come next")
	r.says("Must handle files with a BOM and CRLF.")
	failed := r.reaches("test.sh", protocol.OpFailed)
	if now := r.house.disk("import.sh"); failed.Tool != "run_command" || failed.ExitCode == nil || *failed.ExitCode != 1 {
		t.Errorf("the new case did not fail first: %+v, %s", failed, now)
	}
	r.arrives()
}

func rideRevision(t *testing.T) {
	r := setOut(t, "s12", ideal{
		kept:   []piece{{"measure.txt", "2,140 ms"}},
		undone: []piece{{"migrations/7.sql", "create index"}},
		passes: []string{"grep -q cached cache.conf", "test ! -e migrations/7.sql"},
		told:   []string{"it was never run, so no database has the index", `"change":"deleted"`},
	}, false)
	r.hears("Next I run the migration")
	r.says("No migrations this week, cache it instead.")
	r.arrives()
}

func rideRetraction(t *testing.T) {
	r := setOut(t, "s13", ideal{
		kept:   []piece{{"app.js", "menu(languages)"}, {"settings.js", "settings"}},
		undone: []piece{{"app.js", "dark()"}, {"page.css", ".dark"}},
		passes: []string{"grep -q 'menu(languages)' app.js", "grep -q \"theme('light')\" app.js && ! grep -q dark page.css"},
		told:   []string{"settings.js was written for both and stays"},
	}, false)
	r.hears("Next are the icons")
	r.says("Forget the dark mode part.")
	r.arrives()
}

func rideLateRevision(t *testing.T) {
	r := setOut(t, "s14", ideal{
		kept:   []piece{{"measure.txt", "2,140 ms"}},
		never:  []piece{{"migrations/7.sql", "create index"}, {"migrations/7.down.sql", "drop index"}},
		passes: []string{"grep -q cached cache.conf", "grep -q slow log.conf", "test -z \"$(find migrations -type f 2>/dev/null)\""},
		told:   []string{"Both migration files are removed", "the measure is still true"},
	}, false)
	r.hears("I look at the plan of the query")
	r.says("Also log slow queries.")
	r.hears("Last I run the migration")
	if r.house.disk("migrations/7.sql") == "" {
		t.Error("there is no late work")
	}
	r.says("No migrations this week, cache it instead.")
	r.arrives()
}

func rideWrongAssumption(t *testing.T) {
	r := setOut(t, "s15", ideal{
		kept:   []piece{{"sum.sh", "# the sum of the second column"}, {"orders.csv", "1,1200"}},
		undone: []piece{{"REPORT.md", "2000 euros"}, {"total.json", "2000"}},
		passes: []string{"sh sum.sh && grep -q ': 20}' total.json", "grep -q '20 euros' REPORT.md && ! grep -q 2000 REPORT.md"},
		told:   []string{"Obsolete are the sum in sum.sh, total.json and the number in REPORT.md"},
	}, false)
	r.hears("Next I write the tests")
	var first, second protocol.ScenarioRunResult
	r.ok(protocol.MethodScenarioRun, at(r.id, "scenario", "sum"), &first)
	r.says("It's in cents.", "scope", params{"decisionId": "d1"})
	r.runs("compared")
	r.ok(protocol.MethodScenarioRun, at(r.id, "scenario", "sum"), &second)
	c := second.Comparison
	if i := slices.IndexFunc(c.Changes, func(c protocol.Change) bool { return c.Before == "2000" && c.After == "20" }); i < 0 || !c.Input.Same {
		t.Errorf("before and after are %+v on the same input %v", c.Changes, c.Input.Same)
	}
	r.opens("compared")
	r.arrives()
}

func rideDoNotTouch(t *testing.T) {
	r := setOut(t, "s16", ideal{
		kept:   []piece{{"new.js", "fetch()"}},
		undone: []piece{{"legacy/a.js", "fetch"}, {"legacy/b.js", "fetch"}},
		never:  []piece{{"legacy/load.js", "load"}},
		passes: []string{"grep -q 'fetch()' new.js", "test \"$(cat legacy/*)\" = \"$(printf 'load()\\nload()')\""},
		told:   []string{"2 files of legacy are taken back", "Without legacy the rename is not whole", "stopped by legacy-stays"},
	}, false)
	r.hears("I look for more")
	r.says("Leave legacy/ alone.")
	r.untilHas(protocol.NoteDecision, "legacy-stays")
	untilThere(t, r.gate+"/asked")
	r.ok(protocol.MethodDecide, at(r.id, "decisionId", "d1"), nil)
	r.opens("ruled")
	m := r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	r.stands()
	r.decides("pauseId", m.Pause.ID, "option", m.Pause.Options[0].ID)
	r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	r.stands()
	r.resumes()
	r.arrives()
}

func rideTwoHands(t *testing.T) {
	r := setOut(t, "s17", ideal{
		passes: []string{"grep -q \"return 'hello'\" greet.js"}, // on disk: what is typed is not saved
		told:   []string{"as the developer wrote it"},
	}, true)
	uri := r.house.uri("greet.js")
	r.editor.opens(uri, r.house.disk("greet.js"))
	r.runs("began")
	untilThere(t, r.gate+"/began")
	r.types("greet.js", "'hello'", "'good day'")
	r.opens("go")
	r.arrives()
	if got := r.editor.text(uri); got != "function greet(name) {\n  return 'good day' + name\n}\n" {
		t.Errorf("the editor shows %q", got)
	}
}

func rideMendedByHand(t *testing.T) {
	r := setOut(t, "s18", ideal{
		passes: []string{"sh test.sh"},
		told:   []string{"The developer's edit of sum.sh made the test pass"},
	}, true)
	uri := r.house.uri("sum.sh")
	r.runs("failed")
	untilThere(t, r.gate+"/failed")
	r.editor.opens(uri, r.house.disk("sum.sh"))
	r.types("sum.sh", "echo $(( ${1} - ${2} ))", "echo $(( $1 + $2 )) # mine")
	write(t, r.house.dir, map[string]string{"sum.sh": r.editor.text(uri)})
	r.editor.saves(uri)
	r.opens("go")
	r.arrives()
	edits := slices.DeleteFunc(r.operations(r.id), func(o protocol.Operation) bool { return o.Effect != protocol.EffectWrite })
	if len(edits) != 1 {
		t.Errorf("the agent has put %d edits", len(edits))
	}
}

// tripped is a ride that a stop condition has stopped, once the agent has said what it knows.
func (r *ride) tripped(condition string) protocol.Pause {
	r.t.Helper()
	r.untilHas(protocol.NoteModeChanged, "stopped by "+condition)
	r.stands()
	m := r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	if f := m.Pause.Facts[0].Source; f == nil || f.Tripwire != condition || f.Expected == "" || f.Observed == "" {
		r.t.Errorf("the evidence is %+v", m.Pause.Facts)
	}
	return *m.Pause
}

// compared waits for the same case's run after a decision: it failed before, and passes now, on
// the same input.
func (r *ride) compared(condition string) {
	r.t.Helper()
	r.untilHas(protocol.NoteScenarioRan, "")
	m := r.reachesMode(protocol.Paused, protocol.DeveloperInitiative)
	r.stands()
	c := m.Pause.Comparison
	if c == nil {
		r.t.Fatal("there is no comparison")
	}
	holds := func(run protocol.Run) bool {
		i := slices.IndexFunc(run.Checks, func(c protocol.Check) bool { return c.Tripwire == condition })
		return i >= 0 && run.Checks[i].OK
	}
	if holds(c.Before) || !holds(c.After) || !c.Input.Same {
		r.t.Errorf("before and after are %+v", c)
	}
}

func rideFewerRows(t *testing.T) {
	r := setOut(t, "s19", ideal{
		never:  []piece{{"REPORT.md", "All orders"}, {"report.json", "5"}},
		passes: []string{"grep -q '3 open orders' REPORT.md", "grep -q ': 3}' report.json && test $(wc -l < orders.csv) = 6 && grep -q open expected.sh"},
		told:   []string{"1002 and 1004 are missing", "The measure changes and not the data"},
	}, false)
	pause := r.tripped("every-order")
	r.decides("pauseId", pause.ID, "option", pause.Options[0].ID)
	r.compared("every-order")
	r.resumes()
	r.arrives()
}

func rideSchemaMismatch(t *testing.T) {
	r := setOut(t, "s20", ideal{
		never:  []piece{{"schema.json", "string"}},
		passes: []string{"grep -q ': 7}' out.json", "grep -q integer schema.json && grep -q 'makes the export' produce.sh"},
		told:   []string{"id is text; the schema wants a number"},
	}, false)
	pause := r.tripped("shape")
	r.decides("pauseId", pause.ID, "text", "Fix the producer, not the schema.")
	r.compared("shape")
	r.resumes()
	r.arrives()
}

func rideWrongCondition(t *testing.T) {
	r := setOut(t, "s21", ideal{
		passes: []string{"grep -q found found.txt", "test \"$(cat search.sh)\" = 'echo found > found.txt' && grep -q median measure.sh"},
		told:   []string{"The one measure is 350 ms"},
	}, false)
	pause := r.tripped("p95")
	r.decides("pauseId", pause.ID, "text", "Machine is busy, measure 3 times and take the median.")
	r.compared("p95")
	r.resumes()
	r.arrives()
}

func rideUnrelatedTest(t *testing.T) {
	r := setOut(t, "s22", ideal{
		passes: []string{"test \"$(sh greet.sh)\" = hello", "test \"$(sh other.sh)\" = broken"},
		told:   []string{"failed before my change and fails after it"},
	}, false)
	q := r.reachesMode(protocol.Waiting, protocol.DeveloperInitiative).Questions[0]
	r.stands()
	r.stood()
	r.ok(protocol.MethodDecide, at(r.id, "questionId", q.ID, "option", "leave it out"), nil)
	r.arrives()
}

func rideWhenToSpeak(t *testing.T) {
	r := setOut(t, "s23", ideal{passes: []string{"grep -q 'import b' a.js && grep -q 'the end' c.js"}}, true)
	uri := r.house.uri("c.js")
	r.editor.opens(uri, r.house.disk("c.js"))
	r.runs("began")
	untilThere(t, r.gate+"/began")
	r.types("c.js", "// the end", "// the end, by me")
	r.opens("go")
	r.arrives()
	var history protocol.HistoryResult
	r.ok(protocol.MethodHistory, at(r.id), &history)
	signals := 0
	for _, e := range history.Events {
		if e.Kind == "signalled" {
			signals++
		}
	}
	if signals != 1 {
		t.Errorf("the developer was disturbed %d times", signals)
	}
	for _, op := range r.operations(r.id) {
		if op.Status == protocol.OpCancelled {
			t.Errorf("%s was stopped by it", op.ID)
		}
	}
}

func rideAskOrAct(t *testing.T) {
	r := setOut(t, "s24", ideal{
		never:  []piece{{"auth.js", "function b"}},
		passes: []string{"test -s auth.js", "grep -q signIn auth.js"},
		told:   []string{"Names I choose myself and say so", "a is named signIn"},
	}, false)
	m := r.reachesMode(protocol.Waiting, protocol.DeveloperInitiative)
	if len(m.Questions) != 1 || len(m.Questions[0].Options) != 3 {
		t.Fatalf("it asks %+v", m.Questions)
	}
	r.stands()
	r.stood()
	r.ok(protocol.MethodDecide, at(r.id, "questionId", m.Questions[0].ID, "option", m.Questions[0].Options[1], "text", "and don't ask me about names"), nil)
	r.arrives()
}

func rideWhy(t *testing.T) {
	r := setOut(t, "s25", ideal{
		passes: []string{"test \"$(sh greet.sh)\" = 'good day'"},
	}, false)
	r.runs("began")
	untilThere(t, r.gate+"/began")
	before, plan := r.files(), stepsText(*r.session(r.id).Plan)
	var answer protocol.AskResult
	r.ok(protocol.MethodAsk, at(r.id, "question", "Why did you do that?", "location", params{"uri": r.house.uri("greet.sh")}), &answer)
	if answer.Answer != "Because hi is not polite; the task asks for politeness." {
		t.Errorf("the answer is %q", answer.Answer)
	}
	if s := r.session(r.id); !maps.Equal(before, r.files()) || stepsText(*s.Plan) != plan || s.Mode != protocol.Executing {
		t.Errorf("the question has changed something: the session is %s, the plan %s", s.Mode, stepsText(*s.Plan))
	}
	r.opens("go")
	r.arrives()
}

// Each scenario is played and stands on the page, and the page tells of no other.
func TestIdealPage(t *testing.T) {
	stories, err := filepath.Glob("../testdata/rehearsals/scenarios/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../testdata/rehearsals/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, story := range stories {
		name := strings.TrimSuffix(filepath.Base(story), ".txtar")
		if rides[name] == nil {
			t.Errorf("nobody plays %s", name)
		}
		if n := strings.Count(string(page), "\n| "+strings.ToUpper(name)+" | "); n != 1 {
			t.Errorf("%s stands %d times on the page", name, n)
		}
	}
	if rows := strings.Count(string(page), "\n| S"); rows != len(rides) || len(stories) != len(rides) {
		t.Errorf("%d stories, %d rides, %d rows on the page", len(stories), len(rides), rows)
	}
}
