package tripwire

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/protocol"
)

// sqliteScheme is what the name of an SQLite database begins with; the file's path follows.
const sqliteScheme = "sqlite:"

// compileSQL makes a value of a query.
func compileSQL(s protocol.Source) (source, error) {
	query, err := oneSelect(s.Query)
	if err != nil {
		return nil, err
	}
	if file, ok := strings.CutPrefix(s.SQL, sqliteScheme); ok {
		file, err := databaseFile(file)
		return fromSQLite{file, query}, err
	}
	if strings.HasPrefix(s.SQL, "postgres://") || strings.HasPrefix(s.SQL, "postgresql://") {
		return compilePostgres(s.SQL, query)
	}
	return nil, wrong("sql", "%q names no database; give sqlite:FILE, or postgres://USER@HOST/DATABASE", safeName(s.SQL))
}

// databaseFile checks the path of an SQLite database, which may lie outside the workspace: it is
// the developer's word, and only read.
func databaseFile(name string) (string, error) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	return workspaceFile("sql", name)
}

// safeName is a database's name without what may be a password. It goes by the text alone: a password that
// was not escaped makes of a URL another one. What has no such parts at all is no URL, and holds none; in
// any other form nobody knows where one would stand.
func safeName(dsn string) string {
	if !strings.ContainsAny(dsn, "@:=?#") {
		return dsn
	}
	scheme, rest, ok := strings.Cut(dsn, "://")
	if !ok || strings.ContainsAny(scheme, "@:=?#") {
		return "the given text"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, secret := strings.Cut(rest[:i], ":")
		if secret {
			user += ":xxxxx"
		}
		rest = user + rest[i:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}

// quoted matches what stands in quotes or in a comment, where a semicolon ends nothing.
var quoted = lazily("(?s)'[^']*'|\"[^\"]*\"|`[^`]*`|\\[[^\\]]*\\]|--[^\n]*|/\\*.*?\\*/")

// asks matches the first word of a statement that only asks.
var asks = lazily(`(?i)^\s*\(*\s*(select|with|values)\b`)

// oneSelect checks that a query is one statement that only asks, and gives it without its end.
// This is for the message: what cannot write is the connection.
func oneSelect(query string) (string, error) {
	bare := quoted().ReplaceAllStringFunc(query, func(q string) string {
		if q[0] == '-' || q[0] == '/' {
			return strings.Repeat(" ", len(q))
		}
		return strings.Repeat("x", len(q))
	})
	end := len(strings.TrimRight(bare, "; \t\r\n"))
	switch {
	case end == 0:
		return "", wrong("query", "a query is wanted that gives one value, as select count(*) from orders")
	case !asks().MatchString(bare):
		return "", wrong("query", "a query begins with select, with or values; nothing else is run")
	case strings.Contains(bare[:end], ";"):
		return "", wrong("query", "one statement is wanted, and a semicolon ends it before its end")
	}
	return query[:end], nil
}

// one checks that a query gave exactly one row.
func one(rows int) error {
	switch rows {
	case 0:
		return fmt.Errorf("it gave no row; one value is wanted")
	case 1:
		return nil
	}
	return fmt.Errorf("it gave more than one row; one value is wanted")
}

// asked runs a query within the bound, and names it in the error.
func (l *look) asked(s source, do func(context.Context) (string, error)) (reading, error) {
	var text string
	err := l.within(l.env.bound(), s.String(), func(ctx context.Context) (err error) {
		if text, err = do(ctx); err != nil {
			err = fmt.Errorf("%s: %w", s, err)
		}
		return err
	})
	return reading{text: text}, err
}
