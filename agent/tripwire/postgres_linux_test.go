package tripwire

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tandem/protocol"
)

// program is where a program of PostgreSQL lies; "" when it is not installed.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// postgres starts a server of its own on a socket in a folder, and gives its DSN.
func postgres(t *testing.T) string {
	t.Helper()
	initdb := program("initdb")
	if initdb == "" {
		t.Skip("PostgreSQL is not installed: there is no initdb")
	}
	dir, err := os.MkdirTemp("", "pg") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data, as := filepath.Join(dir, "data"), owner(t, dir)
	begin := exec.Command(initdb, "-D", data, "-U", "me", "-A", "trust", "--no-sync")
	begin.SysProcAttr, begin.Dir = as, dir
	if out, err := begin.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	serve(t, exec.Command(filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off"), as)
	return "postgres://me@/postgres?host=" + strings.ReplaceAll(url.QueryEscape(dir), "+", "%20") // libpq takes a + for itself
}

// owner is as whom the server runs: it refuses root.
func owner(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return as
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("PostgreSQL refuses to run as root, and there is no user postgres")
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return as
}

// serve runs the server until the test ends, and returns when it is ready.
func serve(t *testing.T, cmd *exec.Cmd, as *syscall.SysProcAttr) {
	t.Helper()
	cmd.SysProcAttr, cmd.Dir = as, filepath.Dir(cmd.Args[2])
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // at once: its data is not wanted
		for lines.Scan() {
			t.Log(lines.Text())
		}
		_ = cmd.Wait() // it ends by the signal
	})
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready to accept connections") {
			return
		}
	}
	t.Fatal("the server did not start")
}

func on(t *testing.T, dsn string, statements ...string) string {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	last := ""
	for _, s := range statements {
		results, err := conn.Exec(context.Background(), s).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		for _, r := range results {
			if len(r.Rows) > 0 {
				last = string(r.Rows[0][0])
			}
		}
	}
	return last
}

func TestPostgres(t *testing.T) {
	dsn := postgres(t)
	on(t, dsn, "create table orders (id int, kg numeric, day date)", "insert into orders values (1, 10.50, '2026-01-02'), (2, 20, null)", "create sequence s")
	env := Env{Bound: 5 * time.Second}
	for _, test := range []struct{ query, value, fails string }{
		{"select count(*) from orders", "2", ""},
		{"select sum(kg) from orders; ", "30.50", ""},
		{"select day from orders where id = 1 -- the first", "2026-01-02", ""},
		{"select day from orders where id = 2", "null", ""},
		{"with a as (select 1 as x) select x from a", "1", ""},
		{"values (';')", ";", ""},
		{"select id from orders", "", "more than one row; one value is wanted"},
		{"select id from orders where id > 5", "", "it gave no row"},
		{"select id, kg from orders where id = 1", "", "it gave 2 columns"},
		{"select x from orders", "", `column "x" does not exist`},
		{"select nextval('s')", "", "read-only transaction"},
		{"with d as (delete from orders returning id) select id from d", "", "data-modifying"},
		{"select pg_sleep(60)", "", "took longer than"},
		{"select 1) as v; delete from orders; select * from (select 1", "", "one statement"},
	} {
		v, err := CompileSource(protocol.Source{SQL: dsn, Query: test.query})
		value := ""
		if err == nil {
			bound := env
			if strings.Contains(test.query, "sleep") {
				bound.Bound = 200 * time.Millisecond
			}
			value, err = v.Read(t.Context(), bound)
		}
		if value != test.value || (err == nil) != (test.fails == "") || (err != nil && !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("%s: %q, %v", test.query, value, err)
		}
	}
	if n := on(t, dsn, "select count(*) from orders"); n != "2" {
		t.Errorf("a query left %s orders of 2", n)
	}
	refusesToWrite(t, dsn)
	f := compiled(t, fmt.Sprintf(`{"equal":{"left":{"sql":%q,"query":"select sum(kg) from orders"},"right":30.5}}`, dsn)).Check(t.Context(), env, ran())
	if examine(t, f); !f.OK {
		t.Errorf("%+v", f)
	}
}

// refusesToWrite goes past the check of the query: the connection itself does not write.
func refusesToWrite(t *testing.T, dsn string) {
	t.Helper()
	for _, query := range []string{"select 1) as v; delete from orders; select * from (select 1", "select setval('s', 9)"} {
		if text, err := (fromPostgres{dsn, query}).ask(t.Context()); err == nil {
			t.Errorf("%s gave %q", query, text)
		}
	}
	if n := on(t, dsn, "select count(*) from orders"); n != "2" {
		t.Errorf("a query left %s orders of 2", n)
	}
}

// A server that is not there is said, without the password.
func TestNoPostgres(t *testing.T) {
	dsn := "postgres://me:secret@/db?host=" + url.QueryEscape(t.TempDir())
	v, err := CompileSource(protocol.Source{SQL: dsn, Query: "select 1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = v.Read(t.Context(), Env{}); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(v.String(), "secret") {
		t.Errorf("%v, %s", err, v)
	}
	if _, err := CompileSource(protocol.Source{SQL: "postgres://me:secret@h:port/db", Query: "select 1"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
