package scenario

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"tandem/protocol"
)

// mostChanges bounds the changes of one comparison; what is more is counted in the last of them.
const mostChanges = 40

// mostCompared bounds an output that is compared as data, in bytes.
const mostCompared = 16 << 20

// notThere stands on the side of a change that has nothing.
const notThere = "not there"

// Compare says what differs between the outputs of two runs, as data: JSON by pointer, CSV by its key column and
// field, lists of objects by their key, a database by its rows, text by its lines; anything else by size. The
// bytes come from the store; where they were not kept, two sizes are the whole difference. At most 40
// changes and one that counts the rest. Exit codes and checks stand in the runs themselves.
func (p *Place) Compare(before, after protocol.Run) ([]protocol.Change, error) {
	was, now := outputs(before), outputs(after)
	all := maps.Clone(was)
	maps.Copy(all, now)
	var d differences
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, had := was[name]
		b, has := now[name]
		switch {
		case !had:
			d.say(name, notThere, size(b.Bytes))
		case !has:
			d.say(name, size(a.Bytes), notThere)
		case a.Digest != b.Digest:
			if err := p.differ(&d, a, b); err != nil {
				return nil, fmt.Errorf("compare %s: %w", name, err)
			}
		}
	}
	return d.changes(), nil
}

func outputs(r protocol.Run) map[string]protocol.Output {
	out := map[string]protocol.Output{}
	for _, o := range r.Outputs {
		out[o.Path] = o
	}
	return out
}

// differences are the changes so far.
type differences struct {
	list []protocol.Change
	more int
}

func (d *differences) say(what, before, after string) {
	if len(d.list) == mostChanges {
		d.more++
		return
	}
	d.list = append(d.list, protocol.Change{What: what, Before: clip(before), After: clip(after)})
}

// total is how many changes were said.
func (d *differences) total() int { return len(d.list) + d.more }

func (d *differences) changes() []protocol.Change {
	if d.more > 0 {
		return append(d.list, protocol.Change{What: fmt.Sprintf("%d more changes", d.more), Before: "…", After: "…"})
	}
	return d.list
}

// clip is a value short enough to stand in a line.
func clip(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// differ compares two contents of one output.
func (p *Place) differ(d *differences, a, b protocol.Output) error {
	if limit := min(mostCompared, p.Limits.orDefault().Bytes); a.Bytes > limit || b.Bytes > limit {
		sizes(d, a, b)
		return nil
	}
	before, err := p.Store.Get(a.Digest)
	if err != nil {
		return err
	}
	after, err := p.Store.Get(b.Digest)
	if err != nil {
		return err
	}
	said := d.total()
	if !asData(d, a.Path, before, after) && isText(before) && isText(after) {
		lines(d, a.Path, string(before), string(after))
	}
	if d.total() == said { // other bytes that mean the same
		sizes(d, a, b)
	}
	return nil
}

func sizes(d *differences, a, b protocol.Output) {
	d.say(a.Path, fmt.Sprintf("%s, %.8s", size(a.Bytes), a.Digest), fmt.Sprintf("%s, %.8s", size(b.Bytes), b.Digest))
}

// asData compares what both sides hold as data of one kind, and says whether they do.
func asData(d *differences, name string, before, after []byte) bool {
	if isSQLite(before) && isSQLite(after) {
		return databases(d, name, before, after)
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".geojson":
		a, err := readJSON(before)
		b, err2 := readJSON(after)
		if err != nil || err2 != nil {
			return false
		}
		d.values(name+" ", "", a, b)
	case ".jsonl", ".ndjson":
		a, err := readLines(before)
		b, err2 := readLines(after)
		if err != nil || err2 != nil {
			return false
		}
		d.values(name+" ", "", a, b)
	case ".csv", ".tsv":
		a, err := readTable(name, before)
		b, err2 := readTable(name, after)
		return err == nil && err2 == nil && d.tables(name, a, b)
	default:
		return false
	}
	return true
}

// databases compares the numbers of rows.
func databases(d *differences, name string, before, after []byte) bool {
	a, ok := sqliteRows(before, nil)
	b, ok2 := sqliteRows(after, nil)
	if !ok || !ok2 {
		return false
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	count := func(m map[string]int, table string) string {
		if n, ok := m[table]; ok {
			return fmt.Sprintf("%d rows", n)
		}
		return notThere
	}
	for _, table := range slices.Sorted(maps.Keys(all)) {
		if x, y := count(a, table), count(b, table); x != y {
			d.say(name+" "+table, x, y)
		}
	}
	return true
}

// isText says that bytes are lines for a person.
func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// lines compares text by its lines; a change is a region of them.
func lines(d *differences, name, before, after string) {
	line, at := 1, 0
	for _, e := range udiff.Lines(before, after) {
		line += strings.Count(before[at:e.Start], "\n")
		at = e.Start
		old, fresh := before[e.Start:e.End], e.New
		if old == "" {
			old = notThere
		}
		if fresh == "" {
			fresh = notThere
		}
		d.say(fmt.Sprintf("%s line %d", name, line), old, fresh)
	}
}
