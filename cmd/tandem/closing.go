package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/mattn/go-runewidth"

	"tandem/protocol"
)

// closing shows what came of the story: the files, the plan before and after, the tests, and
// how to go on with a model of one's own.
func (st *stage) closing(f *follower, d *director) error {
	after, err := contents(st.dir)
	if err != nil {
		return err
	}
	before := map[string]string{}
	for _, file := range st.script.Files {
		before[file.Path] = string(file.Data)
	}
	if st.name == brakeStory {
		withoutData(before, after)
	}
	width, _ := f.scr.size()
	lines := []line{{}, {text: "WHAT CHANGED IN THE FILES", tone: strong}}
	lines = append(lines, diffLines(before, after)...)
	lines = append(lines, line{})
	if d.compared != nil {
		lines = append(append(lines, beforeAndAfter("THE SAME CASE", *d.compared)...), line{})
	}
	lines = append(lines, plansBeside(d.before, f.pic.session.Plan, width)...)
	if d.tests.ID != "" {
		lines = append(append(lines, line{}), testLines(d.tests, st.name)...)
	}
	return f.print(append(lines, nextLines(st)...))
}

// diffLines are the changes of files as a unified diff.
func diffLines(before, after map[string]string) []line {
	paths := slices.Sorted(maps.Keys(before))
	for path := range after {
		if _, ok := before[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var out []line
	for _, path := range paths {
		if before[path] == after[path] {
			continue
		}
		if !utf8.ValidString(before[path]) || !utf8.ValidString(after[path]) {
			out = append(out, line{indent: 2, text: path + " changed, and is no text", as: true})
			continue
		}
		old, now := path, path
		if _, ok := before[path]; !ok {
			old = "nothing"
		}
		if _, ok := after[path]; !ok {
			now = "nothing"
		}
		for text := range strings.Lines(udiff.Unified(old, now, before[path], after[path])) {
			out = append(out, line{indent: 2, text: text, tone: diffTone(text), as: true})
		}
	}
	if out == nil {
		return []line{{indent: 2, text: "nothing"}}
	}
	return out
}

func diffTone(text string) tone {
	switch {
	case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
		return strong
	case strings.HasPrefix(text, "+"):
		return good
	case strings.HasPrefix(text, "-"):
		return bad
	case strings.HasPrefix(text, "@@"):
		return quiet
	}
	return plain
}

// besideWidth is the narrowest screen on which two plans stand side by side.
const besideWidth = 100

// plansBeside shows the plan before the steer and the plan at the end.
func plansBeside(before, after *protocol.Plan, width int) []line {
	if after == nil {
		return nil
	}
	if before == nil {
		return append([]line{{text: "THE PLAN", tone: strong}}, steps(*after)...)
	}
	left := append([]line{{text: fmt.Sprintf("BEFORE YOUR STEER  revision %d", before.Revision), tone: strong}}, steps(*before)...)
	right := append([]line{{text: fmt.Sprintf("AFTER IT  revision %d", after.Revision), tone: strong}}, steps(*after)...)
	if width < besideWidth {
		return append(append(left, line{}), right...)
	}
	for _, lines := range [][]line{left, right} {
		for i := range lines {
			lines[i].side = "" // the mark says it too, and the room is for the titles
		}
	}
	return columns(left, right, width/2)
}

// steps are the lines of a plan without its head.
func steps(p protocol.Plan) []line {
	out := planLines(p)[1:]
	for i := range out {
		out[i].side, _, _ = strings.Cut(out[i].side, " · ")
	}
	return out
}

// columns puts lines side by side, the right ones from a column on.
func columns(left, right []line, at int) []line {
	half := paper{width: at - 2}
	rows := func(lines []line) []string {
		var out []string
		for _, l := range lines {
			out = append(out, half.rows(l)...)
		}
		return out
	}
	l, r := rows(left), rows(right)
	var out []line
	for i := range max(len(l), len(r)) {
		text := ""
		if i < len(l) {
			text = l[i]
		}
		if i < len(r) {
			text = runewidth.FillRight(text, at) + r[i]
		}
		row := line{text: text, as: true}
		if i == 0 {
			row.tone = strong
		}
		out = append(out, row)
	}
	return out
}

// testLines are what the last command that passed said. That it is the tests is known of the
// built-in stories alone.
func testLines(op protocol.Operation, story string) []line {
	what := "The last command that passed: "
	if brought(story) {
		what = "The tests are green: "
	}
	out := []line{{mark: "✓", text: what + op.Target, tone: good}}
	for text := range strings.Lines(strings.TrimSpace(op.Output)) {
		out = append(out, line{indent: 4, text: text, tone: quiet, as: true})
	}
	return out
}

// nextLines say what to do with a model of one's own.
func nextLines(st *stage) []line {
	var out []line
	if !strings.HasPrefix(st.dir, st.temp) {
		out = append(out, line{}, line{text: "The workspace is kept in " + st.dir})
	}
	if !brought(st.name) {
		return out
	}
	return append(out, line{}, line{text: "NOW WITH YOUR OWN MODEL", tone: strong},
		line{indent: 2, text: "export OPENAI_API_KEY=…        your key; for a server of your own instead", as: true},
		line{indent: 2, text: "export OPENAI_BASE_URL=…       such as http://localhost:11434/v1", as: true},
		line{indent: 2, text: "export TANDEM_MODEL=…          the model's name", as: true},
		line{indent: 2, text: "tandem doctor                  says whether it is reached", as: true},
		line{indent: 2, text: "cd your/project && tandem run \"what shall be done\"", as: true})
}
