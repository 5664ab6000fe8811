package tripwire

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// fifty are conditions of every kind, of which one is about out/49.json.
func fifty(b *testing.B) []Condition {
	b.Helper()
	var out []Condition
	for i := range 50 {
		specs := []string{
			fmt.Sprintf(`{"name":"c%[1]d","range":{"value":{"json":"out/%[1]d.json","at":"/rows"},"min":1}}`, i),
			fmt.Sprintf(`{"name":"c%[1]d","require":{"file":"out/%[1]d.csv","fields":["id"]}}`, i),
			fmt.Sprintf(`{"name":"c%[1]d","command":{"run":"false","after":["src%[1]d/**/*.go"]}}`, i),
			fmt.Sprintf(`{"name":"c%[1]d","paths":{"forbid":["migrations%[1]d/**"]}}`, i),
			fmt.Sprintf(`{"name":"c%[1]d","equal":{"left":{"sql":"sqlite:o%[1]d.db","query":"select 1"},"right":{"json":"out/%[1]d.json"}}}`, i),
		}
		pick := i % len(specs)
		if i == 49 {
			pick = 0
		}
		out = append(out, compiled(b, specs[pick]))
	}
	return out
}

// BenchmarkFiftyConditions is what 50 conditions cost after a write that touches one of them: the
// looks at their files, the choice, and the one check.
func BenchmarkFiftyConditions(b *testing.B) {
	env, conditions := world(b, files("out/49.json", `{"rows": 2}`)), fifty(b)
	watched := Files(conditions)
	before := env.Look(watched)
	for b.Loop() {
		op := wrote("out/49.json")
		now := env.Look(watched)
		op.Wrote = append(op.Wrote, now.Since(before)...)
		if found := append(Before(conditions, op), After(context.Background(), conditions, env, op)...); len(found) != 1 || !found[0].OK {
			b.Fatalf("%+v", found)
		}
	}
}

// million is a CSV file of a million rows.
func million(b *testing.B) Env {
	b.Helper()
	env := world(b, nil)
	f, err := os.Create(filepath.Join(env.Dir, "rows.csv"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "order_id,depot_id,weight_kg,price_cents,status")
	for i := range 1_000_000 {
		fmt.Fprintf(w, "F%07d,D%02d,%d.%02d,%d,\"in, transit\"\n", i, i%17, i%20000, i%100, i*3)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return env
}

// BenchmarkMillionRows counts the rows of a CSV file of a million, and sums a column of it.
func BenchmarkMillionRows(b *testing.B) {
	env := million(b)
	for name, spec := range map[string]string{
		"count": `{"count":{"records":"rows.csv","min":1000000,"max":1000000}}`,
		"sum":   `{"range":{"value":{"csv":"rows.csv","column":"weight_kg","agg":"sum"},"min":1}}`,
		"max":   `{"range":{"value":{"csv":"rows.csv","column":"weight_kg","agg":"max"},"min":1}}`,
	} {
		b.Run(name, func(b *testing.B) {
			c := compiled(b, spec)
			for b.Loop() {
				if f := c.Check(context.Background(), env, wrote("rows.csv")); !f.OK {
					b.Fatalf("%+v", f)
				}
			}
		})
	}
}

// BenchmarkSQLite is one query, its connection included.
func BenchmarkSQLite(b *testing.B) {
	env := world(b, files("o.db", "create table t(a); insert into t values (1), (2)"))
	v := valueOf(b, `{"sql":"sqlite:o.db","query":"select count(*) from t"}`)
	for b.Loop() {
		if n, err := v.Read(context.Background(), env); n != "2" {
			b.Fatal(n, err)
		}
	}
}
