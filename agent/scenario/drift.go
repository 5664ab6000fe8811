package scenario

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Moved is a live input that is no longer as it was kept.
type Moved struct {
	// Path is relative to the workspace.
	Path string
	// Text says what became of it, for a person: "gone", "new, 3 KB", "+1 row in orders", "3 KB → 4 KB".
	Text string
}

func (m Moved) String() string { return m.Path + ": " + m.Text }

// Drift is what has become of the live inputs since a snapshot, by path; none: they are what was kept.
func (p *Place) Drift(ctx context.Context, s Snapshot) ([]Moved, error) {
	live, err := p.take(ctx, s.Patterns)
	if err != nil {
		return nil, fmt.Errorf("compare the live inputs with the snapshot: %w", err)
	}
	var out []Moved
	for name := range movedFiles(s, live) {
		was, had := s.file(name)
		now, has := live.file(name)
		switch {
		case !has:
			out = append(out, Moved{name, "gone"})
		case !had:
			out = append(out, Moved{name, "new, " + size(now.Size)})
		case now.Digest == was.Digest && now.Mode != was.Mode:
			out = append(out, Moved{name, fmt.Sprintf("its mode is %v, was %v", now.Mode, was.Mode)})
		default:
			out = append(out, Moved{name, p.moved(s, live, was, now)})
		}
	}
	slices.SortFunc(out, func(a, b Moved) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// movedFiles are the paths that differ. The log of a database counts as the database.
func movedFiles(s, live Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, f := range slices.Concat(s.Files, live.Files) {
		was, had := s.file(f.Path)
		now, has := live.file(f.Path)
		if had && has && was == now {
			continue
		}
		name := f.Path
		if base, ok := logOf(name); ok {
			_, had := s.file(base)
			_, has := live.file(base)
			if had && has {
				name = base
			}
		}
		out[name] = true
	}
	return out
}

// logs are what SQLite writes beside a database.
var logs = []string{"-wal", "-journal", "-shm"}

// logOf is the database whose log a file would be.
func logOf(name string) (base string, ok bool) {
	for _, log := range logs {
		if base, ok := strings.CutSuffix(name, log); ok {
			return base, true
		}
	}
	return "", false
}

// moved says how a file differs: by rows where it has some and they can be counted, else by size.
func (p *Place) moved(s, live Snapshot, was, now File) string {
	before, ok := p.tally(s, was)
	after, okay := p.tally(live, now)
	text := fewerOrMore(before, after)
	switch {
	case ok && okay && text != "":
		return text
	case was.Digest == now.Digest:
		return "changed in its log, with as many rows"
	}
	if was.Size == now.Size {
		return "changed, still " + size(now.Size)
	}
	return size(was.Size) + " → " + size(now.Size)
}

// tally counts the rows of a file that was kept, by table.
func (p *Place) tally(s Snapshot, f File) (map[string]int, bool) {
	if f.Size > mostCounted {
		return nil, false
	}
	data, err := p.Store.Get(f.Digest)
	if err != nil {
		return nil, false
	}
	var log []byte
	if w, ok := s.file(f.Path + "-wal"); ok && isSQLite(data) {
		if log, err = p.Store.Get(w.Digest); err != nil {
			return nil, false
		}
	}
	return rows(f.Path, data, log)
}

// fewerOrMore says by how many rows tables differ; "" when by none.
func fewerOrMore(before, after map[string]int) string {
	tables := maps.Clone(before)
	maps.Copy(tables, after)
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		n := after[table] - before[table]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%+d rows", n)
		if n == 1 || n == -1 {
			text = fmt.Sprintf("%+d row", n)
		}
		if table != "" {
			text += " in " + table
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// size is a number of bytes as people say it.
func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n >= unit.bytes {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.bytes)), ".0") + " " + unit.name
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}
