package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/protocol"
)

// paused directs the story of the pause: when it is the developer's turn it suggests what to
// decide, then to resume. Where nobody sits at the terminal it does so itself.
func (d *director) paused(p protocol.ModeChangedParams) []line {
	if p.Mode != protocol.Paused || p.Pause == nil || p.Initiative != protocol.DeveloperInitiative {
		d.f.suggested, d.f.answers = "", false
		return nil
	}
	if p.Pause.Comparison != nil {
		d.compared = p.Pause.Comparison
	}
	own, asks := says(p.Pause.Actions)
	switch {
	case p.Pause.Comparison != nil && cured(*p.Pause.Comparison):
		return append(d.arrives(), d.suggest("resume "+p.Pause.ID, "/resume",
			"Before and after are on the table. Press Enter to resume; or decide something else.",
			func() { d.f.resume(d.ctx, false) })...)
	case asks && len(p.Pause.Options) > 0:
		return d.suggest(fmt.Sprintf("decide %s %d", p.Pause.ID, len(p.Pause.Facts)), d.script.Steer,
			"The facts are on the table, and the fault lies deeper than both ways out. Press Enter for the suggested words, take a number, or type your own.",
			func() { d.f.act(d.ctx, own, d.script.Steer) })
	}
	return nil
}

// cured says that nothing that has to hold fails any more.
func cured(c protocol.Comparison) bool {
	for _, check := range c.After.Checks {
		if !check.OK {
			return false
		}
	}
	return c.After.ExitCode == 0
}

// suggest has Enter type words at a moment of the pause, and says why; where there is nobody it does
// what they would do, once a moment.
func (d *director) suggest(moment, words, why string, do func()) []line {
	first := d.moment != moment
	d.moment = moment
	if !d.f.mine {
		if first {
			do()
		}
		return nil
	}
	d.f.suggested, d.f.answers = words, true
	if !first {
		return nil
	}
	return []line{{}, {mark: "!", text: why, tone: careful}}
}

// lateOrder is one that the world adds to the database during the pause.
const lateOrder = "F01202,D03,1250,48900"

// arrives plays the world, which does not stand still in a pause: an order comes in.
func (d *director) arrives() []line {
	if d.arrived {
		return nil
	}
	d.arrived = true
	if err := appendLine(filepath.Join(d.dir, "db", "orders.csv"), lateOrder); err != nil {
		return []line{{mark: "✗", text: err.Error(), tone: bad}}
	}
	id, _, _ := strings.Cut(lateOrder, ",")
	return []line{{mark: "!", text: "Meanwhile the world goes on: order " + id + " came in (the demo has added it to db/orders.csv).", tone: careful}}
}

func appendLine(file, text string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text + "\n")
	return err
}

// drifted suggests to resume all the same: what moved is known.
func (d *director) drifted() []line {
	if d.name != brakeStory {
		return nil
	}
	return d.suggest(d.moment+" anyway", "/resume anyway", "One order more, and you know of it. Press Enter to resume all the same.",
		func() { d.f.resume(d.ctx, true) })
}

// withoutData leaves out what is data and not work: the database, and the report that is made of it.
func withoutData(contents ...map[string]string) {
	for _, files := range contents {
		for path := range files {
			if strings.HasPrefix(path, "db/") || strings.HasPrefix(path, "out/") {
				delete(files, path)
			}
		}
	}
}
