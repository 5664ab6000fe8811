package tripwire

import (
	"fmt"
	"strings"
	"testing"

	"tandem/protocol"
)

// FuzzSQL holds that what is taken as a query is one statement that asks, given back as it was, and
// that no word about a database holds its password.
func FuzzSQL(f *testing.F) {
	for _, s := range []string{"select 1", "SELECT ';' ; ", "with a as (select 1) select * from a;", "select 1; drop table x", "/* ; */ select 2 -- ;", "(values (1))", "select [;] from `;`", "explain select 1"} {
		f.Add("postgres://u:%s@h/db", "s3cr3t", s)
	}
	for _, form := range []string{"postgres:u:%s@h/db", "postgresql://u:%s@h:x/db", "mysql://u:%s@h/db", "postgres://h/db?password=%s", "u:%s@h/db", "host=h password=%s", "postgres://u:%s@h/%%zz", "//u:%s@h", "sqlite://u:%s@h", "postgres://u@h/db#%s", "postgres://u:pa/%s@h:5432/db", "postgres://u:%s/@h:x/db", "postgres://u:%s?@h/db"} {
		f.Add(form, "s3cr3t", "select 1")
	}
	f.Fuzz(func(t *testing.T, form, password, query string) {
		if q, err := oneSelect(query); err == nil && (!strings.HasPrefix(query, q) || strings.Trim(query[len(q):], "; \t\r\n") != "" && !strings.ContainsAny(query[len(q):], "-/")) {
			t.Errorf("%q is taken as %q", query, q)
		}
		dsn := fmt.Sprintf(form, password)
		if strings.Count(form, "%s") != 1 || len(password) < 5 || strings.Contains(form, password) || strings.ContainsAny(form[:strings.Index(form, "%s")], "?#") && !strings.Contains(form, "=%s") && !strings.Contains(form, "#%s") || !strings.Contains(dsn, password) || strings.Contains("the given text xxxxx sqlite:FILE postgres://USER@HOST/DATABASE is no DSN of PostgreSQL; give postgres://USER@HOST:PORT/DATABASE, with %40 and %2F for @ and / in a password", password) {
			return
		}
		if i := strings.Index(form, ":%s@"); i < 0 && !strings.Contains(form, "password=%s") || strings.HasPrefix(form, sqliteScheme) {
			return // then it is none
		}
		_, err := CompileSource(protocol.Source{SQL: dsn, Query: "select 1"})
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%q is refused by %v", dsn, err)
		}
		if name := safeName(dsn); strings.Contains(name, password) {
			t.Errorf("%q is called %q", dsn, name)
		}
	})
}
