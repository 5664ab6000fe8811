package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// typedAnswer are keys that are pressed when a text has been drawn.
type typedAnswer map[string]string

// sitAtTheDemo plays a story to a developer at a wide terminal. It gives what was drawn and
// the workspace.
func sitAtTheDemo(t *testing.T, story string, keys typedAnswer) (out, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "kept")
	st, err := openStage(t.Context(), &demoCommand{Story: story, Keep: dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}()
	inputs := make(chan input, len(keys))
	con := &console{seen: map[string]func(){}}
	for text, pressed := range keys {
		con.seen[text] = func() { inputs <- input{bytes: []byte(pressed)} }
	}
	err = inProcess(t.Context(), st.daemon, st.dir, func(c *client) error {
		d, err := st.direct(t.Context(), c, std{out: con, err: &con.err, getenv: os.Getenv})
		if err != nil {
			return err
		}
		d.f.mine, d.f.scr = true, &screen{out: con, size: func() (int, int) { return 240, 40 }, live: true}
		d.f.open()
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		code, err := d.f.loop(ctx, inputs, nil)
		if err != nil || code != exitDone {
			t.Errorf("exit code %d, %v", code, err)
		}
		d.f.settle()
		return st.end(d, code)
	})
	if err != nil {
		t.Errorf("%v\n%s", err, con.text())
	}
	return con.text(), dir
}

// reported are the numbers of orders in a workspace's report, and how many of them each depot has.
func reported(t *testing.T, dir string) (orders int, depots map[string]int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Orders int
		Depots []struct {
			Depot  string
			Orders int
		}
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	depots = map[string]int{}
	for _, d := range r.Depots {
		depots[d.Depot] = d.Orders
	}
	return r.Orders, depots
}

func TestThePauseDemoPlaysByItself(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	keep := filepath.Join(t.TempDir(), "kept")
	c := &console{}
	demo := &demoCommand{Story: brakeStory, Keep: keep}
	if err := demo.play(t.Context(), std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}, 0); err != nil {
		t.Fatalf("%v\n%s", err, c.text())
	}
	contains(t, c.text(), "the demo decides and resumes itself", "⏸ STOPPED BY every-order · the agent looks into it", "expected 1201 · observed 1184",
		"⏸ STOPPED BY every-order · your turn", "Likely cause: The data are incomplete.", "1 Put the 17 under Rotterdam, the head office  · code, business rule, report.go",
		"3 Resume", "› Decided: No, the connection itself is wrong", "analysis runs again on the same input",
		"AFTER YOUR DECISION  analysis  · same input ✓", "every-order                             ✗ 1184           ✓ 1201",
		"out/report.json /depots[depot=unknown]  not there", "⏸ PAUSED · your turn", "order F01202 came in",
		"! Not resumed: the live inputs have moved since the pause began: db/orders.csv: +1 row.", "/resume anyway", "▶ Resumed",
		"✓ DONE", "THE SAME CASE  analysis", "The tests are green: go test ./...")
	if orders, depots := reported(t, keep); orders != 1202 || depots["unknown"] != 17 {
		t.Errorf("the report has %d orders, %v", orders, depots)
	}
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("the demo left %v", left)
	}
}

// The developer takes every suggestion, after a steer, a plain pause and a decision that the script does not know.
func TestADeveloperDecidesInTheDemo(t *testing.T) {
	t.Parallel()
	out, dir := sitAtTheDemo(t, brakeStory, typedAnswer{
		"I read how the report":       "use tabs\r",
		"· I sum up the weight":       "\x03",
		"PAUSED BY YOU":               "/resume\r",
		"Enter sends: No":             "\r",
		"Enter sends: /resume":        "\r",
		"Enter sends: /resume anyway": "\r",
	})
	contains(t, out, "› use tabs", "my plan stays as it was", "PAUSED BY YOU", "STOPPED BY every-order",
		"› Decided: No, the connection itself is wrong", "✓ 1201", "Press Enter to resume", "! Not resumed", "▶ Resumed", "✓ DONE", "unknown_test.go")
	if orders, _ := reported(t, dir); orders != 1202 {
		t.Errorf("the report has %d orders", orders)
	}
}

// A way out that does not cure what was stopped leads back into the pause; the other one cures it.
func TestTheDemoComesBackToThePauseWhileTheConditionFails(t *testing.T) {
	t.Parallel()
	out, dir := sitAtTheDemo(t, brakeStory, typedAnswer{
		"Enter sends: No":                 "2\r",
		"What was changed does not bring": "1\r",
		"Enter sends: /resume":            "\r",
		"Press Enter to resume all":       "/resume anyway\r",
	})
	contains(t, out, "› Decided: Leave the 17 out", "✗ 1184", "STOPPED BY every-order", "› Decided: Put the 17 under Rotterdam", "✓ 1201", "▶ Resumed",
		"Rotterdam stands in for the depots that nobody knows")
	if orders, depots := reported(t, dir); orders != 1202 || depots["D01"] != 220 || depots["unknown"] != 0 {
		t.Errorf("the report has %d orders, %v", orders, depots)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir = dir
	if text, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// Words that the script does not know change nothing, a steer is talked over, and the developer may
// resume though the condition fails.
func TestADeveloperResumesTheDemoAsItIs(t *testing.T) {
	t.Parallel()
	out, dir := sitAtTheDemo(t, brakeStory, typedAnswer{
		"Enter sends: No":                 "ask the moon\r",
		"What was changed does not bring": "/steer and the sun\r",
		"Decide it, or resume":            "/resume\r",
		"nothing has changed since you":   "/resume\r", // the rerun has written the report, so the next command trips again
	})
	contains(t, out, "› Decided: ask the moon", "I change nothing", "✗ 1184", "› and the sun", "▶ Resumed", "It still lacks 17 orders")
	if orders, _ := reported(t, dir); orders != 1184 {
		t.Errorf("the report has %d orders", orders)
	}
}

// The developer need not wait for the agent's facts.
func TestADeveloperDecidesBeforeTheAgentHasLooked(t *testing.T) {
	t.Parallel()
	out, dir := sitAtTheDemo(t, brakeStory, typedAnswer{
		"the agent looks into it":   "the connection is wrong\r",
		"Enter sends: /resume":      "\r",
		"Press Enter to resume all": "/resume anyway\r",
	})
	contains(t, out, "› Decided: the connection is wrong", "✓ 1201", "▶ Resumed", "✓ DONE")
	if orders, _ := reported(t, dir); orders != 1202 {
		t.Errorf("the report has %d orders", orders)
	}
}

func TestTheCardOfDrift(t *testing.T) {
	lines := driftCard("resume: the live inputs have moved since the pause began: a.csv: +1 row; b.db: gone; look first, or resume with acknowledgeDrift")
	if want := "Not resumed: the live inputs have moved since the pause began: a.csv: +1 row; b.db: gone."; lines[0].text != want {
		t.Errorf("it says %q", lines[0].text)
	}
	if !strings.Contains(lines[1].text, "tandem resume --acknowledge-drift") {
		t.Errorf("there is no way out: %q", lines[1].text)
	}
}

func TestAComparisonFitsOnANarrowScreen(t *testing.T) {
	long := strings.Repeat("/a/long/pointer", 9)
	c := protocol.Comparison{Scenario: "analysis", After: protocol.Run{ExitCode: 2, Checks: []protocol.Check{{Tripwire: "every-order", Expected: "2", Observed: "0"}}}}
	for range mostChanges + 3 {
		c.Changes = append(c.Changes, protocol.Change{What: long, Before: long, After: long})
	}
	var rows []string
	for _, l := range comparison(c) {
		got := paper{width: 80}.rows(l)
		if len(got) != 1 || visible(got[0]) >= 80 {
			t.Errorf("a row does not fit: %q", got)
		}
		rows = append(rows, got...)
	}
	contains(t, strings.Join(rows, "\n"), "BEFORE AND AFTER  analysis", "another input", "not looked at", "✗ 0", "exit code", "… and 3 more")
}
