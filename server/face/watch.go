package face

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

// watches offer to keep an eye on the value at the place: a field of a JSON file, a column of a CSV
// file, or a query that is selected, in each database that the view knows.
func (l *list) watches(s Session, p Place) {
	if !s.living() {
		return
	}
	for _, w := range watched(s, p, l.view.Databases) {
		if slices.ContainsFunc(s.Watches, func(o protocol.Watch) bool { return o.Source == w.Source }) {
			continue
		}
		l.add("Watch "+w.Name+l.view.name(s), protocol.Refactor, Act{Title: "Watch", Method: protocol.MethodWatch,
			Params: protocol.WatchParams{SessionID: s.ID, Add: &w}})
	}
}

func watched(s Session, p Place, databases []string) []protocol.NewWatch {
	file, ok := below(s.Workspace, p.URI)
	if !ok {
		return nil
	}
	switch path.Ext(file) {
	case ".json":
		if at, ok := pointerAt(p.Text, p.At); ok {
			return []protocol.NewWatch{{Name: at + " of " + file, Source: protocol.Source{JSON: file, At: at}}}
		}
	case ".csv":
		if column, agg, ok := columnAt(p.Text, p.At); ok {
			return []protocol.NewWatch{{Name: fmt.Sprintf("%s of %s in %s", agg, column, file), Source: protocol.Source{CSV: file, Column: column, Agg: agg}}}
		}
	}
	query := strings.TrimSuffix(strings.TrimSpace(p.Selected), ";")
	var out []protocol.NewWatch
	if words := strings.Fields(query); len(words) > 1 && strings.EqualFold(words[0], "select") {
		for _, db := range databases {
			out = append(out, protocol.NewWatch{Name: "«" + clip(query, 40) + "» in " + db, Source: protocol.Source{SQL: "sqlite:" + db, Query: query}})
		}
	}
	return out
}

// below is a document's path in a workspace.
func below(workspace, uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, strings.TrimSuffix(workspace, "/")+"/")
	if !ok {
		return "", false
	}
	name, err := url.PathUnescape(rest)
	return name, err == nil && name != ""
}

// pointerAt is the JSON pointer (RFC 6901) of the value, or of the value of the key, that stands at
// an offset; it is false where the text is no JSON up to there, and for the whole document.
func pointerAt(text string, at int) (string, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	w := walk{d: d, at: int64(at)}
	w.value("")
	return w.found, w.found != ""
}

// walk reads a document until it has passed an offset.
type walk struct {
	d     *json.Decoder
	at    int64
	found string
	over  bool
}

// value reads one value whose pointer is known. What begins before the offset and ends behind it is
// where the offset stands; the innermost counts.
func (w *walk) value(pointer string) {
	t, err := w.d.Token()
	if err != nil || w.over {
		w.over = true
		return
	}
	switch t {
	case json.Delim('{'):
		for w.d.More() && !w.over {
			key, err := w.d.Token()
			name, ok := key.(string)
			if err != nil || !ok {
				w.over = true
				return
			}
			w.member(pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		}
		w.end()
	case json.Delim('['):
		for i := 0; w.d.More() && !w.over; i++ {
			w.member(pointer + "/" + strconv.Itoa(i))
		}
		w.end()
	}
}

// member reads one value of an object or array; the first that ends at the offset or behind it is it,
// unless one inside it is.
func (w *walk) member(pointer string) {
	w.value(pointer)
	if !w.over && w.d.InputOffset() >= w.at {
		w.over = true
		w.found = pointer
	}
}

// end reads what closes an object or array.
func (w *walk) end() {
	if !w.over {
		if _, err := w.d.Token(); err != nil {
			w.over = true
		}
	}
}

// columnAt is the column of a CSV file that stands at an offset, with what to make of it: the sum of
// numbers, else the count.
func columnAt(text string, at int) (column string, agg protocol.Aggregate, ok bool) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	head, err := r.Read()
	if err != nil {
		return "", "", false
	}
	names := slices.Clone(head)
	i := fieldAt(text, r, head, at)
	inHead := r.InputOffset() >= int64(at)
	row, err := r.Read()
	for !inHead && err == nil && r.InputOffset() < int64(at) {
		row, err = r.Read()
	}
	if !inHead && err == nil {
		i = fieldAt(text, r, row, at)
	}
	if err != nil && (!inHead || !errors.Is(err, io.EOF)) || i >= len(names) || strings.TrimSpace(names[i]) == "" {
		return "", "", false
	}
	if i < len(row) {
		if _, err := strconv.ParseFloat(strings.TrimSpace(row[i]), 64); err == nil {
			return names[i], protocol.Sum, true
		}
	}
	return names[i], protocol.Count, true
}

// fieldAt is the last field of the row that was read which begins at the offset or before it.
func fieldAt(text string, r *csv.Reader, row []string, at int) int {
	found := 0
	for i := range row {
		line, column := r.FieldPos(i)
		if offset(text, line, column) <= at {
			found = i
		}
	}
	return found
}

// offset is the place of a line and a byte in it, both counted from 1.
func offset(text string, line, column int) int {
	at := 0
	for range line - 1 {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	return at + column - 1
}
