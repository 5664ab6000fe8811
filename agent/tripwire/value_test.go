package tripwire

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tandem/protocol"
)

func TestValues(t *testing.T) {
	env := world(t, files(
		"a.json", `{"n": 1.50, "s": "text", "b": true, "z": null, "l": [1, {"x": 2}], "n2": 1, "n2": 3}`,
		"a.csv", "id,kg,name\n1,0.1,\"a,\nb\"\n2,0.2,c\n3,,d\n",
		"semi.csv", "id;kg\n1;-2.5\n2;1e2\n", "tab.tsv", "id\tkg\n1\t007\n", "bad.csv", "id,kg\n1,heavy\n", "twice.csv", "kg,kg\n1,2\n", "none.csv", "kg\n",
		"o.db", "create table orders (id, kg real, day datetime, b blob); insert into orders values (1, 10.0, '2026-01-02 03:04:05', x'ff00'), (2, 20.5, null, null)"))
	env.Bound = 5 * time.Second
	for _, test := range []struct{ source, value, fails string }{
		{`{"json":"a.json","at":"/n"}`, "1.50", ""},
		{`{"json":"a.json","at":"/s"}`, "text", ""},
		{`{"json":"a.json","at":"/b"}`, "true", ""},
		{`{"json":"a.json","at":"/z"}`, "null", ""},
		{`{"json":"a.json","at":"/l"}`, `[1,{"x":2}]`, ""},
		{`{"json":"a.json","at":"/l/1/x"}`, "2", ""},
		{`{"json":"a.json","at":"/n2"}`, "3", ""},
		{`{"json":"a.json","at":"/l/2"}`, "", "a.json has no field /l/2"},
		{`{"json":"a.json","at":"/l/-1"}`, "", "a.json has no field /l/-1"},
		{`{"json":"no.json","at":"/l"}`, "", "no.json is not there yet"},

		{`{"csv":"a.csv","agg":"count"}`, "3", ""},
		{`{"csv":"a.csv","column":"kg","agg":"count"}`, "2", ""},
		{`{"csv":"a.csv","column":"kg","agg":"sum"}`, "0.3", ""},
		{`{"csv":"a.csv","column":"kg","agg":"min"}`, "0.1", ""},
		{`{"csv":"semi.csv","column":"kg","agg":"max"}`, "100", ""},
		{`{"csv":"semi.csv","column":"kg","agg":"min"}`, "-2.5", ""},
		{`{"csv":"semi.csv","column":"kg","agg":"sum"}`, "97.5", ""},
		{`{"csv":"tab.tsv","column":"kg","agg":"sum"}`, "7", ""},
		{`{"csv":"none.csv","column":"kg","agg":"sum"}`, "0", ""},
		{`{"csv":"none.csv","column":"kg","agg":"max"}`, "", "none.csv has no max of kg"},
		{`{"csv":"bad.csv","column":"kg","agg":"sum"}`, "", "bad.csv: line 2, column kg: heavy is no number"},
		{`{"csv":"bad.csv","column":"lb","agg":"sum"}`, "", `bad.csv has no column "lb"; it has id, kg`},
		{`{"csv":"twice.csv","column":"kg","agg":"sum"}`, "", `twice.csv has two columns "kg"`},

		{`{"sql":"sqlite:o.db","query":"select count(*) from orders;"}`, "2", ""},
		{`{"sql":"sqlite:o.db","query":"select sum(kg) from orders"}`, "30.5", ""},
		{`{"sql":"sqlite:o.db","query":"select day from orders limit 1 -- the first"}`, "2026-01-02 03:04:05", ""},
		{`{"sql":"sqlite:o.db","query":"select b from orders where id = 1"}`, "ff00", ""},
		{`{"sql":"sqlite:o.db","query":"select b from orders where id = 2"}`, "null", ""},
		{`{"sql":"sqlite:o.db","query":"with a as (select 5 as x) select x from a"}`, "5", ""},
		{`{"sql":"sqlite:o.db","query":"/* one; */ values ('a;b')"}`, "a;b", ""},
		{`{"sql":"sqlite:o.db","query":"select id from orders"}`, "", "more than one row"},
		{`{"sql":"sqlite:o.db","query":"select id from orders where id > 5"}`, "", "it gave no row"},
		{`{"sql":"sqlite:o.db","query":"select id, kg from orders"}`, "", "more than one column"},
		{`{"sql":"sqlite:o.db","query":"select x from orders"}`, "", "no such column: x"},
		{`{"sql":"sqlite:no.db","query":"select 1"}`, "", "no.db is not there yet"},
		{`{"sql":"sqlite:a.csv","query":"select * from sqlite_master"}`, "", "not a database"},

		{`{"command":"printf ' 12\n'"}`, "12", ""},
		{`{"command":"echo no; exit 4"}`, "", "«echo no; exit 4» ended with exit code 4: no"},
	} {
		value, err := valueOf(t, test.source).Read(t.Context(), env)
		if value != test.value || (err == nil) != (test.fails == "") || (err != nil && !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("%s: %q, %v", test.source, value, err)
		}
		if err != nil && errors.Is(err, ErrNotYet) != strings.Contains(err.Error(), "not there yet") {
			t.Errorf("%s: %v", test.source, err)
		}
	}
}

func valueOf(t testing.TB, text string) Value {
	t.Helper()
	var s protocol.Source
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	v, err := CompileSource(s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestSourcesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		source protocol.Source
		says   string
	}{
		{protocol.Source{}, "a value source is wanted: one of json"},
		{protocol.Source{JSON: "a", CSV: "b"}, "the value source has json and csv; give exactly one"},
		{protocol.Source{JSON: "/etc/passwd"}, `json: "/etc/passwd" is no path in the workspace`},
		{protocol.Source{JSON: "a/../../b"}, "json: "},
		{protocol.Source{JSON: "."}, "json: "},
		{protocol.Source{JSON: "a.json", At: "/a~2"}, `at: "/a~2" is no JSON pointer: ~ is written ~0`},
		{protocol.Source{Output: "x", At: "/a"}, "at: it goes with json, not with output"},
		{protocol.Source{CSV: "a.csv"}, "agg: say what to make"},
		{protocol.Source{CSV: "a.csv", Agg: "sum"}, "column: name the column to take the sum of"},
		{protocol.Source{SQL: "sqlite:a.db"}, "query: a query is wanted"},
		{protocol.Source{SQL: "sqlite:../a.db", Query: "select 1"}, "sql: "},
		{protocol.Source{SQL: "a.db", Query: "select 1"}, `sql: "a.db" names no database; give sqlite:FILE, or postgres://`},
		{protocol.Source{SQL: "sqlite:a.db", Query: "delete from x"}, "query: a query begins with select, with or values"},
		{protocol.Source{SQL: "sqlite:a.db", Query: "pragma query_only = 0"}, "query: a query begins with"},
		{protocol.Source{SQL: "sqlite:a.db", Query: "select 1; delete from x"}, "query: one statement is wanted"},
		{protocol.Source{SQL: "sqlite:a.db", Query: "select 1 -- ;\n; attach 'x' as y"}, "query: one statement is wanted"},
		{protocol.Source{Output: "("}, "output: it is no regular expression"},
	} {
		if _, err := CompileSource(test.source); err == nil || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("%+v: %v; want %s", test.source, err, test.says)
		}
	}
}

// Even a query that got past its check cannot write: neither the database, nor another, nor a file.
func TestSQLiteIsOnlyRead(t *testing.T) {
	env := world(t, files("o.db", "create table t(a); insert into t values (1)"))
	other := filepath.Join(env.Dir, "other.db")
	for _, query := range []string{
		"select 1) select 1; pragma query_only=0; delete from t; --",
		"select 1) select 1; attach '" + other + "' as x; create table x.y(a); --",
		"select 1) select 1; vacuum into '" + other + "'; --",
	} {
		if text, err := (fromSQLite{"o.db", query}).connect(t.Context(), filepath.Join(env.Dir, "o.db"), ""); err == nil {
			t.Logf("%s gave %q", query, text) // what counts is what is left
		}
	}
	if n, err := valueOf(t, `{"sql":"sqlite:o.db","query":"select count(*) from t"}`).Read(t.Context(), env); n != "1" || err != nil {
		t.Errorf("%s rows, %v", n, err)
	}
	left(t, env, "o.db")
}

// left checks which files stand in the workspace.
func left(t *testing.T, env Env, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(env.Dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != strings.Join(want, " ") {
		t.Errorf("the folder holds %s, %v", got, err)
	}
}

// A database in WAL mode is read whether somebody has it open or not, and its logs are not left.
func TestSQLiteInWALMode(t *testing.T) {
	env := world(t, nil)
	db, err := sql.Open("sqlite", filepath.Join(env.Dir, "o.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"pragma journal_mode=wal", "create table t(a)", "insert into t values (1), (2)"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	count := valueOf(t, `{"sql":"sqlite:o.db","query":"select count(*) from t"}`)
	before := env.Look(count.Files())
	if n, err := count.Read(t.Context(), env); n != "2" || err != nil {
		t.Errorf("while it is open: %s, %v", n, err)
	}
	if _, err := db.Exec("insert into t values (3)"); err != nil {
		t.Fatal(err)
	}
	if changed := env.Look(count.Files()).Since(before); len(changed) == 0 || !count.Touches(ran(changed...)) {
		t.Errorf("an insert is not seen: %v", changed)
	}
	if n, err := count.Read(t.Context(), env); n != "3" || err != nil {
		t.Errorf("after an insert: %s, %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	left(t, env, "o.db")
	if n, err := count.Read(t.Context(), env); n != "3" || err != nil {
		t.Errorf("when it is closed: %s, %v", n, err)
	}
	left(t, env, "o.db")
}

// A database outside the workspace may be read, as the configuration is the developer's.
func TestSQLiteOutside(t *testing.T) {
	outside, env := world(t, files("o d.db", "create table t(a)")), world(t, nil)
	v := valueOf(t, fmt.Sprintf(`{"sql":"sqlite:%s/o d.db","query":"select count(*) from t"}`, outside.Dir))
	if n, err := v.Read(t.Context(), env); n != "0" || err != nil {
		t.Errorf("%s, %v", n, err)
	}
	if !v.Touches(ran(env.Look(v.Files()).Since(Look{v.Files()[0]: stamp{}})...)) {
		t.Error("its change is not seen")
	}
}

func TestNumbers(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "-1.5": true, "+2": true, "1e3": true, "1E-300": true, " 4 ": true, "007": true,
		"": false, "1,000": false, "0x10": false, "1_000": false, "NaN": false, "Inf": false, "1e9999": false, ".5": false, "5.": false, "1/3": false, strings.Repeat("1", 300): false} {
		if _, err := parseNumber(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzTotal holds the fast sum against the exact one.
func FuzzTotal(f *testing.F) {
	f.Add("0.1", "0.2", "9223372036854775807")
	f.Add("99999999999999999", "99999999999999999", "-0.00000000000000001")
	f.Add("1e3", "-1.50", "+7")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if len(a)+len(b)+len(c) > 60 {
			return
		}
		const often = 200 // enough to go beyond what an int64 holds
		var fast total
		exact := new(big.Rat)
		for _, text := range []string{a, b, c} {
			r, err := parseNumber(text)
			if got := fast.add(text); (got == nil) != (err == nil) {
				t.Fatalf("%q: %v, exactly %v", text, got, err)
			}
			if err != nil {
				continue
			}
			for range often - 1 {
				if err := fast.add(text); err != nil {
					t.Fatal(err)
				}
			}
			exact.Add(exact, r.Mul(r, big.NewRat(often, 1)))
		}
		if fast.rat().Cmp(exact) != 0 {
			t.Errorf("%s, exactly %s", fast.rat(), exact)
		}
	})
}

// FuzzPointer checks that a pointer is read as it is written, and that the place of what it finds
// holds what it finds.
func FuzzPointer(f *testing.F) {
	f.Add("/a/1/b~1c~0", `{"a":[0,{"b/c~":{"x":[]}}]}`)
	f.Add("/é", "{\"é\" : \"𝄞\"}")
	f.Add("/a", `{"a":1,"a":{"b":2}}`)
	f.Add("", " [1 , 2 ]\n")
	f.Fuzz(func(t *testing.T, text, doc string) {
		p, err := parsePointer(text)
		if err != nil {
			return
		}
		if p.String() != text {
			t.Errorf("%q is written %q", text, p)
		}
		l := &look{}
		root, err := l.decode("f", []byte(doc), 0, len(doc))
		if err != nil {
			return
		}
		want, upTo, ok := p.in(root)
		if ok != (len(upTo) == len(p)) {
			t.Errorf("%q: %v up to %v", text, ok, upTo)
		}
		from, to, located := locate([]byte(doc), p)
		if located != ok && json.Valid([]byte(doc)) && strings.ToValidUTF8(doc, "") == doc {
			t.Fatalf("%q in %q: found %v, located %v", text, doc, ok, located)
		}
		if !located {
			return
		}
		got, err := l.decode("f", []byte(doc), from, to)
		if err != nil || !differences(nil, want, got, func(difference) bool { return false }) {
			t.Errorf("%q in %q: found %v, at its place is %v, %v", text, doc, want, got, err)
		}
	})
}

// FuzzOutput checks that no expression and no output do harm.
func FuzzOutput(f *testing.F) {
	f.Add(`(\d+) passed`, "1 passed\n12 passed\n")
	f.Add(`^a*$`, "")
	f.Add(`(x)|(y)`, "y")
	f.Fuzz(func(t *testing.T, expr, output string) {
		v, err := CompileSource(protocol.Source{Output: expr})
		if err != nil {
			return
		}
		if _, err := v.Read(t.Context(), Env{Output: &output}); err != nil && !errors.Is(err, ErrNotYet) {
			t.Error(err)
		}
	})
}

// FuzzQuick holds the quick count of rows against the one that reads every field: where the quick
// one answers, both say the same.
func FuzzQuick(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffa;b\r\n1;2\r\n\r\n\n3;4", "a,\"b\"\"c\"\n\"1,\",2\n", "a,b\n1,\"2\n3\"\n", "a\n\"\"\n\"", "a,b\n1\n", "a,b\n1,2\"\n", "\"a\"b,c\n", ",\n,\n\r\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := &look{ctx: t.Context(), env: Env{Files: fstest.MapFS{"a.csv": {Data: []byte(text)}}}}
		var quick, slow []int
		ok, err := l.quick("a.csv", func(line int) { quick = append(quick, line) })
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		rows, err := l.table("a.csv")
		if err == nil {
			err = rows.each(func(_ []string, line int) error { slow = append(slow, line); return nil })
		}
		if err != nil || !slices.Equal(quick, slow) {
			t.Errorf("%q: rows in lines %v, read: %v, %v", text, quick, slow, err)
		}
	})
}
