package rehearsal

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// say puts a message of the daemon into the conversation.
func (p *person) say(words string) { p.add(map[string]any{"role": "user", "content": words}) }

// talks asks once, and what comes has to be words alone.
func (d *desk) talks(has string) {
	d.t.Helper()
	r := d.ask("", nil)
	if r.Status != 200 || len(r.Calls) > 0 || !strings.Contains(r.Text, has) {
		d.t.Fatalf("after %v the answer is %+v", d.beats, r)
	}
	d.hear(r)
}

// counts are the orders that the workspace's report has, and how many of them each depot.
func (d *desk) counts() (int, map[string]int) {
	d.t.Helper()
	var r struct {
		Orders int
		Depots []struct {
			Depot  string
			Orders int
		}
	}
	if err := json.Unmarshal([]byte(d.read(filepath.Join(d.dir, "out", "report.json"))), &r); err != nil {
		d.t.Fatal(err)
	}
	depots := map[string]int{}
	for _, o := range r.Depots {
		depots[o.Depot] = o.Orders
	}
	return r.Orders, depots
}

// stop plays the story of the pause up to the facts.
func stop(t *testing.T, s *Script, dir string) *desk {
	t.Helper()
	d := sit(t, s, dir)
	for d.turn("") && d.beats[len(d.beats)-1] != "run_command" {
	}
	if n, _ := d.counts(); n != 1184 {
		t.Fatalf("the report has %d orders", n)
	}
	d.say("[paused by the tripwire] stopped by every-order\nNothing is changed now.\n- out/report.json /orders is 1184")
	d.turn("")
	d.turn("")
	if last := d.beats[len(d.beats)-3:]; !slices.Equal(last, []string{"read_file", "search", "call_pause"}) {
		t.Fatalf("at the stop the agent calls %v", last)
	}
	return d
}

// decides has the developer decide, and the agent change it until its turn is over.
func (d *desk) decides(words, over string) {
	d.t.Helper()
	d.say("[decision p1] The developer decides: " + words + "\nChange what was decided and nothing else.")
	for {
		r := d.ask("", nil)
		if r.Status != 200 || !r.Done {
			d.t.Fatalf("after %v the answer is %+v", d.beats, r)
		}
		if len(r.Calls) == 0 {
			if !strings.Contains(r.Text, over) {
				d.t.Errorf("the agent's turn ends with %q", r.Text)
			}
			d.hear(r)
			return
		}
		var results []string
		for _, c := range r.Calls {
			results = append(results, d.do(c))
			d.beats = append(d.beats, c.Name)
		}
		d.hear(r, results...)
	}
}

// The workspace is green at every point where somebody may look, whatever the developer decides.
func TestPauseStory(t *testing.T) {
	needGo(t)
	s := told(t, "pause.txtar")
	dir := filepath.Join(t.TempDir(), "freight")
	const rotterdam, leaveOut = "Put the 17 under Rotterdam, the head office", "Leave the 17 out, and let the report say how many it leaves out"
	for _, c := range []struct {
		name      string
		decisions [][2]string // what is decided, and how the agent's turn ends
		orders    int
		depot     string // that has the 17
	}{
		{"in own words", [][2]string{{s.Steer, "starts from the orders now"}}, 1201, "unknown"},
		{"Rotterdam", [][2]string{{rotterdam, "Rotterdam has the 17"}}, 1201, "D01"},
		{"left out, then in own words", [][2]string{{leaveOut, "left_out"}, {"Start from the orders.", "from the orders now"}}, 1201, "unknown"},
		{"left out, then Rotterdam", [][2]string{{leaveOut, "left_out"}, {rotterdam, "Rotterdam has the 17"}}, 1201, "D01"},
		{"Rotterdam, then in own words, then Rotterdam", [][2]string{{rotterdam, "Rotterdam"}, {"the connection is wrong", "now"}, {rotterdam, "I change nothing"}}, 1201, "unknown"},
		{"what the script does not know", [][2]string{{"ask the moon", "I change nothing"}, {"ask again", "I change nothing"}}, 1184, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := stop(t, s, dir)
			for i, decision := range c.decisions {
				if i > 0 {
					d.say("[still failing] The change is made and a stop condition does not hold")
					d.turn("")
				}
				d.decides(decision[0], decision[1])
				d.green()
			}
			d.run("go run ./analyse")
			if n, depots := d.counts(); n != c.orders || c.depot == "unknown" && depots["unknown"] != 17 || c.depot == "D01" && depots["D01"] != 220 {
				t.Errorf("after %v the report has %d orders, %v", c.decisions, n, depots)
			}
			d.say("[resumed] The developer resumes: go on with the work.")
			for d.turn("") {
			}
			d.allDone("s1", "s2", "s3")
			if !slices.Contains(d.beats, "finish") {
				t.Errorf("the story ends with %v", d.beats)
			}
		})
	}
}

// Steers, the developer's own pause and a second stop are answered wherever they come, and the story goes on.
func TestPauseStoryIsSteered(t *testing.T) {
	needGo(t)
	s := told(t, "pause.txtar")
	d := sit(t, s, filepath.Join(t.TempDir(), "freight"))
	d.steer("Use tabs.")
	d.turn("update_plan")
	for d.turn("") && d.beats[len(d.beats)-1] != "run_command" {
		d.steer("Use tabs.")
		d.turn("update_plan")
	}
	d.say("[paused by the tripwire] stopped by every-order")
	d.turn("")
	d.steer("What now?\nThe session is paused: answer in words and change nothing.")
	d.talks("I heard you")
	d.say("[decision p1] The developer decides: the connection is wrong")
	d.turn("")
	d.steer("Quick.\nIt adds to what they decided in this pause.")
	d.talks("decide again")
	d.say("[resumed] The developer resumes: go on with the work.")
	d.turn("")
	d.say("[paused by the tripwire] stopped by another one")
	d.turn("")
	d.say("[paused by the developer] Wait.")
	d.turn("")
	d.say("[resumed] The developer resumes: go on with the work.")
	for d.turn("") {
	}
	d.allDone("s1", "s2", "s3")
	d.steer("One more thing.")
	d.turn("update_plan")
	if d.turn("") {
		t.Error("after the end, a steer does not end with finish")
	}
	d.green()
	if r := d.ask("none", nil); !strings.Contains(r.Text, "script") {
		t.Errorf("a side question is answered by %+v", r)
	}
}

// How long the story plays is a promise to the one who watches.
func TestPauseTakesItsTime(t *testing.T) {
	s := told(t, "pause.txtar")
	seconds := s.lasts("110", "230") + s.lasts("302", "303") + s.lasts("330", "331")
	t.Logf("%.0f s of words and waits", seconds)
	if seconds < 15 || seconds > 35 {
		t.Errorf("it takes %.0f s", seconds)
	}
}
