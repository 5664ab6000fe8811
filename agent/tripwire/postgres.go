package tripwire

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// fromPostgres is what a query of a PostgreSQL database gives.
type fromPostgres struct{ dsn, query string }

func compilePostgres(dsn, query string) (source, error) {
	if _, err := pgconn.ParseConfig(dsn); err != nil {
		// The library's reason repeats the DSN, with a password that was not escaped.
		return nil, wrong("sql", "%s is no DSN of PostgreSQL; give postgres://USER@HOST:PORT/DATABASE, with %%40 and %%2F for @ and / in a password", safeName(dsn))
	}
	return fromPostgres{dsn, query}, nil
}

func (fromPostgres) files() []string { return nil }

// What a command or a service that watches files does to a database is not seen.
func (fromPostgres) touched(op Operation) bool { return op.acted() }

func (f fromPostgres) String() string { return "«" + f.query + "» in " + safeName(f.dsn) }

func (f fromPostgres) read(l *look) (reading, error) { return l.asked(f, f.ask) }

// ask asks on a connection of its own. It is read-only twice: the session's default, and the
// transaction. The extended protocol takes one statement, which the frame makes a SELECT.
func (f fromPostgres) ask(ctx context.Context) (string, error) {
	config, err := pgconn.ParseConfig(f.dsn)
	if err != nil {
		return "", err
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.RuntimeParams["application_name"] = "tandem"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer goodbye(ctx, conn)
	if _, err := conn.Exec(ctx, "begin transaction read only").ReadAll(); err != nil {
		return "", err
	}
	r := conn.ExecParams(ctx, "select * from (\n"+f.query+"\n) as v limit 2", nil, nil, nil, nil).Read()
	switch {
	case r.Err != nil:
		return "", r.Err
	case len(r.Rows) != 1:
		return "", one(len(r.Rows))
	case len(r.Rows[0]) != 1:
		return "", fmt.Errorf("it gave %d columns; one value is wanted", len(r.Rows[0]))
	case r.Rows[0][0] == nil:
		return "null", nil
	}
	return string(r.Rows[0][0]), nil
}

// goodbye closes a connection, also when the time for the query is over. What closing says tells
// nothing about the value.
func goodbye(ctx context.Context, conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
