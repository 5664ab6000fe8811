package tripwire

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
)

// fromSQLite is what a query of an SQLite database gives.
type fromSQLite struct{ file, query string }

// files are the database and its logs: what was written lately may stand in one of these.
func (f fromSQLite) files() []string {
	return []string{f.file, f.file + "-journal", f.file + "-wal"}
}

// A file tool that writes elsewhere cannot change a database, nor can a command whose files are
// known.
func (f fromSQLite) touched(op Operation) bool { return op.wrote(oneOf(f.files()...)) }

func (f fromSQLite) String() string { return "«" + f.query + "» in " + f.file }

func (f fromSQLite) read(l *look) (reading, error) {
	if err := l.there(f.file); err != nil {
		return reading{}, err
	}
	path, err := filepath.EvalSymlinks(l.env.path(f.file))
	if err != nil {
		return reading{}, l.unreadable(f.file, err)
	}
	r, err := l.asked(f, func(ctx context.Context) (string, error) { return f.ask(ctx, path) })
	if err != nil {
		return r, placedError{err, l.file(f.file)}
	}
	return reading{text: r.text, where: func() place { return l.file(f.file) }}, nil
}

// tries is how often a database is read that changes meanwhile.
const tries = 3

// ask asks a database. One in WAL mode that nobody has open is read as it lies there, because an
// ordinary connection would leave its logs beside it; should it change meanwhile, it is read again.
func (f fromSQLite) ask(ctx context.Context, path string) (string, error) {
	for range tries {
		before, still := resting(path)
		if !still {
			break
		}
		text, err := f.connect(ctx, path, "&immutable=1")
		if after, still := resting(path); still && after.same(before) {
			return text, err
		}
	}
	return f.connect(ctx, path, "")
}

// resting says whether a database is in WAL mode and has no log, and how it stands.
func resting(path string) (stamp, bool) {
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return stamp{}, false
	}
	f, err := os.Open(path)
	if err != nil {
		return stamp{}, false
	}
	defer f.Close()
	head := make([]byte, 20)
	info, err := f.Stat()
	if _, short := io.ReadFull(f, head); short != nil || err != nil {
		return stamp{}, false
	}
	return stamp{info, info.Size(), info.ModTime()}, head[18] == 2 && head[19] == 2 // the format's version: 2 is WAL
}

// connect asks for the value on a connection of its own that can neither write nor reach another database.
func (f fromSQLite) connect(ctx context.Context, path, option string) (string, error) {
	db, err := sql.Open("sqlite", sqliteName(path)+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)&_pragma=trusted_schema(0)"+option)
	if err != nil {
		return "", err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, limitAttached, 0); err != nil {
		return "", err
	}
	return f.value(ctx, conn)
}

// limitAttached is SQLITE_LIMIT_ATTACHED, the number of further databases of a connection.
const limitAttached = 7

// sqliteName is a path as SQLite takes it together with options.
func sqliteName(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive's letter
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// value is the one value that the query gives. The plus takes the column's declared type away, so
// that a date stays the text that it is.
func (f fromSQLite) value(ctx context.Context, conn *sql.Conn) (string, error) {
	rows, err := conn.QueryContext(ctx, "with v(value) as (\n"+f.query+"\n) select +value from v limit 2")
	if err != nil {
		return "", sqliteError(err)
	}
	defer rows.Close()
	var value any
	n := 0
	for ; rows.Next() && n < 2; n++ {
		if err := rows.Scan(&value); err != nil {
			return "", err
		}
	}
	if err := rows.Err(); err != nil {
		return "", sqliteError(err)
	}
	return sqlText(value), one(n)
}

// sqliteError says in our words what our frame round the query makes odd.
func sqliteError(err error) error {
	if strings.Contains(err.Error(), "values for 1 columns") {
		return errors.New("it gave more than one column; one value is wanted")
	}
	return err
}

// sqlText is a value of a database as text.
func sqlText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case []byte:
		if !utf8.Valid(v) {
			return hex.EncodeToString(v)
		}
		return string(v)
	}
	return fmt.Sprint(v)
}
