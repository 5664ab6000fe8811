package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// stopped is a desk whose session has stopped at a stop condition, with the agent's facts there.
func stopped(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, "report.txtar")
	code, out, errs := d.tandem("", "run", "Make the report.\n\nIt has a row for each order.")
	if code != exitWaiting {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	contains(t, out, "every-order", "One row is missing.", "Count all lines")
	d.kept()
	return d
}

// kept waits until the inputs of the pause are kept, which the agent's facts do not wait for.
func (d *desk) kept() {
	d.t.Helper()
	for as[status](d, exitDone, "status").Session.Pause.Snapshot == "" {
		select {
		case <-d.t.Context().Done():
			d.t.Fatal("the inputs were not kept")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// decided is stopped, after the developer's decision and the rerun.
func decided(t *testing.T) *desk {
	t.Helper()
	d := stopped(t)
	d.ok("decide", "1")
	if code, out, errs := d.tandem("", "run", "--session", d.newest()); code != exitWaiting {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	return d
}

// ok runs a command that has to end well, and gives what it wrote.
func (d *desk) ok(args ...string) string {
	d.t.Helper()
	code, out, errs := d.tandem("", args...)
	if code != exitDone || errs != "" {
		d.t.Fatalf("tandem %v: exit code %d, %s%s", args, code, out, errs)
	}
	return out
}

// refused runs a command that has to end with a code and to say why.
func (d *desk) refused(code int, says string, args ...string) {
	d.t.Helper()
	if got, _, errs := d.tandem("", args...); got != code || !strings.Contains(errs, says) {
		d.t.Errorf("tandem %v: exit code %d, %s", args, got, errs)
	}
}

// as runs a command with --json and reads what it wrote.
func as[T any](d *desk, want int, args ...string) T {
	d.t.Helper()
	var v T
	code, out, errs := d.tandem("", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != want {
		d.t.Fatalf("tandem %v --json: exit code %d, %s%s, %v", args, code, out, errs, err)
	}
	return v
}

// newest is the id of the desk's newest session.
func (d *desk) newest() string {
	d.t.Helper()
	list := as[protocol.ListResult](d, exitDone, "sessions")
	if len(list.Sessions) == 0 {
		d.t.Fatal("there is no session")
	}
	return list.Sessions[0].ID
}

func TestACheckInShowsWhatTheJournalSays(t *testing.T) {
	d := stopped(t)
	contains(t, d.ok("checkin", "where are you?"), "✓ CHECK-IN  the agent knows its next steps", "▶ I make the report.  · step 1",
		"✗ The tests passed.  · the journal refutes it", "· I looked around.  · said, not shown", "○ The report.  · remains", "! It is large.  · risk",
		"It says «The tests passed.», but «go test» never ran to its end")
	r := as[protocol.CheckInResult](d, exitDone, "checkin")
	if r.CheckIn.Verdict != protocol.Continue || len(r.CheckIn.Contradictions) != 1 {
		t.Errorf("the check-in is %+v", r.CheckIn)
	}
}

func TestACheckInThatAsksIsTheDevelopersTurn(t *testing.T) {
	plan := &protocol.Plan{Steps: []protocol.Step{{ID: "a"}, {ID: "b"}}}
	var out strings.Builder
	lines := checkInLines(plan, protocol.CheckIn{Verdict: protocol.Clarify, Questions: []protocol.Question{{Text: "Whom?", Options: []string{"me", "you"}}},
		NextSteps: []protocol.NextStep{{Step: "b", Text: "I greet."}, {Step: "gone", Text: "I go."}},
		Brief:     protocol.Brief{Goal: "To greet.", Done: []protocol.Claim{{Text: "Looked.", Grounded: true, Evidence: []string{"op0000002"}}}}, Signals: []string{"15 operations in a row only read"}})
	if err := newScreen(&out, os.Getenv).print(lines, bottom{}); err != nil {
		t.Fatal(err)
	}
	contains(t, out.String(), "? CHECK-IN  the agent asks · your turn", "▶ I greet.  · step 2", "▶ I go.\n", "? Whom?  · me / you", "tandem decide", "Goal: To greet.",
		"✓ Looked.  · the journal bears it out · op0000002", "! 15 operations in a row only read  · noticed by the daemon")
}

func TestASideQuestion(t *testing.T) {
	d := stopped(t)
	contains(t, d.ok("ask", "Why", "lines?", "--at", "make.sh:1-2"), "Because an order is a line.")
	if r := as[protocol.AskResult](d, exitDone, "ask", "Why?"); r.Answer != "Because an order is a line." {
		t.Errorf("the answer is %q", r.Answer)
	}
	d.refused(exitFailed, "lines count from 1", "ask", "Why?", "--at", "make.sh:3-2")
	d.refused(exitUsage, "say what you want to know", "ask", " ")
}

func TestPlacesThatAreTyped(t *testing.T) {
	for typed, want := range map[string][3]int{"a.go": {-1}, "a.go:3": {2, 3}, "a.go:3-7": {2, 7}} {
		at, err := placeAt("/w", typed)
		switch {
		case err != nil || at.URI != "file:///w/a.go":
			t.Errorf("%s is %+v, %v", typed, at, err)
		case want[0] < 0 && at.Range != nil, want[0] >= 0 && (at.Range == nil || at.Range.Start.Line != uint32(want[0]) || at.Range.End.Line != uint32(want[1])):
			t.Errorf("%s is the range %+v", typed, at.Range)
		}
	}
	for _, typed := range []string{"a.go:0", "a.go:4-3", "a.go:99999999999999999999", "a.go:1-99999999999"} {
		if at, err := placeAt("/w", typed); err == nil {
			t.Errorf("%s is %+v", typed, at)
		}
	}
}

func TestWatchesAreShownAddedAndRemoved(t *testing.T) {
	d := stopped(t)
	contains(t, d.ok("watch"), "= w1  rows: 2  · report.json /rows", "changed by op")
	contains(t, d.ok("watch", "--name", "orders", "--command", "grep -c . orders.txt"), "w2  orders:", "grep -c . orders.txt")
	if r := as[protocol.WatchResult](d, exitDone, "watch", "--remove", "orders"); len(r.Watches) != 1 || r.Watches[0].Name != "rows" {
		t.Errorf("the watches are %+v", r.Watches)
	}
	contains(t, d.ok("watch", "--remove", "w1"), "Nothing is watched")
	d.refused(exitUsage, "give the value a name", "watch", "--json-file", "report.json", "--at", "/rows")
	d.refused(exitUsage, "not both at once", "watch", "--name", "x", "--command", "true", "--remove", "w1")
	d.refused(exitFailed, "there is no watch", "watch", "--remove", "w9")
	d.refused(exitFailed, "add.source", "watch", "--name", "x")
}

func TestValuesOfWatches(t *testing.T) {
	at := protocol.Watch{At: time.Unix(1, 0)}
	gone, moved := at, at
	gone.Error = "no such file"
	moved.Value, moved.Previous = 3.0, 2.0
	for want, w := range map[string]protocol.Watch{"not read yet": {}, "cannot be read: no such file": gone, "3  (was 2)": moved} {
		if got := valueText(w); got != want {
			t.Errorf("%+v is %q, want %q", w, got, want)
		}
	}
	for want, s := range map[string]protocol.Source{"a.json /b": {JSON: "a.json", At: "/b"}, "a.csv sum kg": {CSV: "a.csv", Agg: protocol.Sum, Column: "kg"},
		"sqlite:a select 1": {SQL: "sqlite:a", Query: "select 1"}, "output x": {Output: "x"}, "ls": {Command: "ls"}} {
		if got := sourceText(s); got != want {
			t.Errorf("%+v is %q", s, got)
		}
	}
}

func TestScenariosAreRunListedAndCompared(t *testing.T) {
	d := stopped(t)
	contains(t, d.ok("scenario"), "SCENARIOS  report", "There was no run yet")
	code, out, _ := d.tandem("", "scenario", "report", "--against", "snapshot")
	contains(t, out, "every-order does not hold: expected 3, observed 2", "The outputs are the same.")
	if code != exitFailed {
		t.Errorf("a run after which a check does not hold: exit code %d", code)
	}
	d.refused(exitFailed, `there is no "other"; the configuration has report`, "scenario", "other")

	d.ok("decide", "1")
	if code, out, errs := d.tandem("", "run", "--session", d.newest()); code != exitWaiting {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	contains(t, d.ok("scenario"), "✗ r1  report  · exit 0 · every-order ✗ 2", "· p1.0  report, before the decision  · exit 0 · every-order ✗ 2", "✓ p1.1  report  · exit 0 · every-order ✓ 3")
	contains(t, d.ok("scenario", "--between", "r1", "p1.1"), "same input ✓", "every-order        ✗ 2     ✓ 3", "report.json /rows  2       3")
	r := as[protocol.ScenarioRunResult](d, exitFailed, "scenario", "--between", "p1.1", "p1.0")
	if c := r.Comparison; !c.Input.Same || len(c.Changes) != 1 || c.Changes[0].Before != "3" || c.Changes[0].After != "2" {
		t.Errorf("the comparison is %+v", c)
	}
	list := as[struct{ Runs []pastRun }](d, exitDone, "scenario")
	if len(list.Runs) != 2 || list.Runs[1].ID != "p1.1" || list.Runs[1].Comparison == nil {
		t.Errorf("the runs are %+v", list.Runs)
	}
	d.refused(exitFailed, `there is no run "r9" that is over; the runs are r1, p1.1`, "scenario", "--between", "r1", "r9")
	d.refused(exitUsage, "name two runs", "scenario", "--between", "r1")
	d.refused(exitUsage, "name one scenario", "scenario", "a", "b")
	d.refused(exitUsage, "runs nothing", "scenario", "--between", "r1", "p1.1", "--against", "snapshot")
}

func TestAResumeThatKnowsNotOfDriftIsRefused(t *testing.T) {
	d := decided(t)
	if err := os.WriteFile(filepath.Join(d.dir, "orders.txt"), []byte("apples\npears\nplums\nnuts\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.refused(exitFailed, "orders.txt", "resume")
	d.refused(exitFailed, "--acknowledge-drift", "resume")
	contains(t, d.ok("resume", "--acknowledge-drift"), "▶ Resumed", "! orders.txt")
}

func TestTheStatusSaysWhatDoesNotHold(t *testing.T) {
	d := stopped(t)
	contains(t, d.ok("status"), "⏸ STOPPED BY every-order", "SINCE YOUR LAST WORD  · from ", "~ changed: report.json", "◆ decided: I count lines",
		"! the stop condition every-order does not hold", "2 of 2 steps remain", "WATCHED\n= w1  rows: 2")
	s := as[status](d, exitDone, "status")
	if s.Session.Pause == nil || len(s.Brief.Remaining) != 2 || len(s.Failing) != 1 || s.Failing[0] != "every-order" {
		t.Errorf("the status is %+v", s)
	}
	_, out, _ := d.tandem("", "run", "--session", d.newest())
	contains(t, out, "WHILE YOU WERE AWAY  · from ", "~ changed: report.json")
	d.ok("resume")
	if out := d.ok("status"); !strings.Contains(out, "every-order did not hold when you resumed") && !strings.Contains(out, "every-order does not hold") {
		t.Errorf("after a resume all the same:\n%s", out)
	}
}

func TestTheBriefIsWrittenFromTheJournal(t *testing.T) {
	d := decided(t)
	requests := as[status](d, exitDone, "status").Session.Usage.Requests
	contains(t, d.ok("brief"), "# Make the report.\n", "Paused · your turn. Session `"+d.newest()+"`", "## Goal\n\n> Make the report.\n>\n> It has a row for each order.\n",
		"## Remaining\n\n- [ ] Make the report (active)\n- [ ] Read it \\*aloud\\*\n", "## Assumptions\n\n- **I count lines** (notable, stands, at `make.sh:1`) An order is a line.\n",
		"## Paused\n\n- **p1**", "  - decided: Count all lines\n", "every-order: ✗ 2 → ✓ 3", "## Open questions\n\n- Is before and after as it should be?",
		"| `make.sh` | changed | +1 −1 | 1 |", "| `run_command sh make.sh` | I make it. | done, exit 0 |", "`tandem resume ")
	if b := as[struct{ Brief protocol.Brief }](d, exitDone, "brief").Brief; b.Goal == "" || len(b.Remaining) != 2 {
		t.Errorf("the brief is %+v", b)
	}
	if after := as[status](d, exitDone, "status").Session.Usage.Requests; after != requests {
		t.Errorf("the brief asked the model: %d requests, then %d", requests, after)
	}
}

func TestTheLogAsMarkdown(t *testing.T) {
	d := decided(t)
	d.tandem("", "checkin")
	d.ok("resume")
	d.tandem("", "run", "--session", d.newest())
	code, out, errs := d.tandem("", "run", "--session", d.newest(), "read it aloud")
	if code != exitDone {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	out = d.ok("log", "--markdown")
	contains(t, out, "# Make the report.\n", "## Result\n\n> It is printed.\n", "## Plan, revision 2\n", "- **1** Two steps.\n",
		"- **2** for the steer «read it aloud». Nobody reads it aloud.\n  - kept 0, changed 1, added 1, dropped 1\n",
		"  - changed: Make the whole report, was «Make the report»\n", "  - dropped: Read it \\*aloud\\*\n", "  - added: Print it\n", "  - Consequence: Nobody hears it.\n",
		"## Steers\n\n- «read it aloud»: revision 2, kept 0, changed 1, added 1, dropped 1\n", "alternative: Count words: Names of two words count twice.",
		"- **p1**, stopped by", "fact: One row is missing.", "option: Count all lines: No header is there.", "  - resumed\n", "## Check-ins\n\n- continue\n  - next: I make the report.\n",
		"the agent said «The tests passed.», but", "| `report.json` | created |")
	contains(t, d.ok("log"), "watched          w1 rows: 3 (was 2)", "compared         report exit 0 · every-order ✓ 3", "checkedIn        ", "continue, 1 contradictions", "guarded          every-order report")
	d.refused(exitUsage, "take one of them", "log", "--markdown", "--json")
	d.refused(exitUsage, "", "log", "--markdown", "--revisions")

	contains(t, d.ok("log", "--revisions"), "PLAN  revision 1", "PLAN  revision 2  changed by «read it aloud»", "+ 2  Print it", "~ 1  Make the whole report", "! Nobody hears it.")
	if r := as[struct{ Revisions []revision }](d, exitDone, "log", "--revisions").Revisions; len(r) != 2 || len(r[1].Diff.Added) != 1 || len(r[1].Consequences) != 1 {
		t.Errorf("the revisions are %+v", r)
	}
	contains(t, d.ok("plan", "--revision", "2", "--against", "1"), "PLAN  revision 2 against 1", "kept 0 · changed 1 · added 1 · dropped 1", "+ 2  Print it", "- Read it *aloud*  · dropped")
	contains(t, d.ok("plan", "--revision", "1", "--against", "2"), "PLAN  revision 1 against 2", "+ 2  Read it *aloud*", "- Print it  · not there")
	d.refused(exitFailed, "no revision 9", "plan", "--against", "9")
}

func TestWordsInMarkdownAreNoMarkup(t *testing.T) {
	for words, want := range map[string]string{
		"a *b* _c_ `d` [e](f) <img src=x> # g | h & i": `a \*b\* \_c\_ ` + "\\`d\\`" + ` \[e\](f) &lt;img src=x&gt; \# g \| h &amp; i`,
		"1. one": `1\. one`, "- one": `\- one`, "two\nlines": "two lines", "\x1b[31mred": "red", "~~gone~~": `\~\~gone\~\~`,
	} {
		if got := prose(words); got != want {
			t.Errorf("%q is %q, want %q", words, got, want)
		}
	}
	for text, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`a``": "``` `a`` ```", "": "", "a\nb": "`a b`"} {
		if got := code(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestADeveloperAsksBesideTheWork(t *testing.T) {
	d := newDesk(t, "report.txtar")
	code, out := d.sit("Make the report.", map[string]string{
		"Count all lines":      "/checkin where?\r",
		"CHECK-IN":             "/ask why? --at make.sh:1\r",
		"Because an order":     "/ask why? --at make.sh:0\r/revert\r/revert 1 --dry-run\r",
		"This would be taken":  "/scenario\r",
		"There was no run yet": "/scenario report\r",
		"BEFORE AND AFTER":     "/revert 1\r",
		"Taken back":           "\x03\x03",
	})
	if code != exitWaiting {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "the journal refutes it", "? why?", "lines count from 1", "Name one step, operation or steer", "SCENARIOS  report")
}
