package scenario

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// mostCounted bounds a file whose rows are counted, in bytes.
const mostCounted = 32 << 20

// isSQLite says that bytes are a database of SQLite.
func isSQLite(data []byte) bool { return bytes.HasPrefix(data, []byte("SQLite format 3\x00")) }

// rows counts the rows of a file by table; CSV, JSON lines and a list in JSON have one, whose name is "".
// Log is a database's write-ahead log.
func rows(name string, data, log []byte) (map[string]int, bool) {
	if isSQLite(data) {
		return sqliteRows(data, log)
	}
	n, ok := 0, false
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		t, err := readTable(name, data)
		n, ok = len(t.rows), err == nil
	case ".jsonl", ".ndjson":
		list, err := readLines(data)
		n, ok = len(list), err == nil
	case ".json":
		var list []json.RawMessage
		err := json.Unmarshal(data, &list)
		n, ok = len(list), err == nil
	}
	return map[string]int{"": n}, ok
}

// table is a CSV file: its first row and those below it.
type table struct {
	head []string
	rows [][]string
}

// readTable reads CSV with commas, semicolons or tabs between its fields.
func readTable(name string, data []byte) (table, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	r.FieldsPerRecord = -1
	first, _, _ := bytes.Cut(data, []byte("\n"))
	switch {
	case strings.EqualFold(path.Ext(name), ".tsv"):
		r.Comma = '\t'
	case bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")):
		r.Comma = ';'
	}
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return table{}, err
	}
	return table{all[0], all[1:]}, nil
}

// readLines reads one value of JSON a line; empty lines are none.
func readLines(data []byte) ([]any, error) {
	var out []any
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := readJSON(line)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// sqliteRows counts in a copy: looking at a live database would leave logs beside it.
func sqliteRows(data, log []byte) (map[string]int, bool) {
	dir, err := os.MkdirTemp("", "tandem-rows-")
	if err != nil {
		return nil, false
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "db")
	if os.WriteFile(file, data, 0o600) != nil || len(log) > 0 && os.WriteFile(file+"-wal", log, 0o600) != nil {
		return nil, false
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String())
	if err != nil {
		return nil, false
	}
	defer db.Close()
	counts, err := countTables(db)
	return counts, err == nil
}

func countTables(db *sql.DB) (map[string]int, error) {
	ctx := context.Background()
	names, err := tables(ctx, db)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, name := range names {
		var n int
		query := `select count(*) from "` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return nil, err
		}
		counts[name] = n
	}
	return counts, nil
}

func tables(ctx context.Context, db *sql.DB) ([]string, error) {
	found, err := db.QueryContext(ctx, "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var names []string
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, found.Err()
}
