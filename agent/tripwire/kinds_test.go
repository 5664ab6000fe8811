package tripwire

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/protocol"
)

// TestKinds holds each kind against files as an operation left them. Says is the first fact's text,
// "" where the condition holds, and "pending" where it waits.
func TestKinds(t *testing.T) {
	report := `{"rows": 2, "total": {"kg": 30.5, "none": null}, "orders": [{"id": 1}, {"id": 2}], "a/b": 1, "m~n": 2}`
	rows := "id,kg\n1,10\n2,20.5\n"
	for _, test := range []struct {
		name, spec string
		files      map[string]string
		op         Operation
		says       string
		line       int // of the first fact, from 1; 0 is none
	}{
		{"schema holds", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report, "s.json", `{"required":["rows"]}`), wrote("a.json"), "", 0},
		{"schema missing property", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", "{\n\"total\": {}\n}", "s.json", `{"properties":{"total":{"required":["kg"]}}}`), wrote("a.json"), "a.json /total: required property 'kg' is missing", 2},
		{"schema of lines", `{"schema":{"file":"a.jsonl","schema":"s.json"}}`, files("a.jsonl", "{\"id\":1}\n\n{\"id\":\"x\"}\n", "s.json", `{"properties":{"id":{"type":"integer"}}}`), wrote("a.jsonl"), "a.jsonl, line 3 /id: value is string but should be integer", 3},
		{"schema refers to another", `{"schema":{"file":"a.json","schema":"d/s.json"}}`, files("a.json", report, "d/s.json", `{"properties":{"rows":{"$ref":"t.json#/$defs/n"}}}`, "d/t.json", `{"$defs":{"n":{"type":"string"}}}`), wrote("d/t.json"), "a.json /rows: value is integer but should be string", 1},
		{"schema refers to the net", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report, "s.json", `{"$ref":"https://example.com/s.json"}`), wrote("a.json"), "it cannot be evaluated: the schema https://example.com/s.json is not in the workspace; nothing is fetched", 0},
		{"schema leads out", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report, "s.json", `{"$ref":"../../../../etc/hostname"}`), wrote("a.json"), "it cannot be evaluated: the schema etc/hostname is missing", 0},
		{"schema missing", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report), wrote("a.json"), "it cannot be evaluated: the schema s.json is missing", 0},
		{"schema no JSON", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report, "s.json", "{"), wrote("a.json"), "it cannot be evaluated: the schema s.json is not JSON: unexpected end of JSON input", 0},
		{"schema no schema", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", report, "s.json", `{"type": 5}`), wrote("a.json"), "it cannot be evaluated: s.json is no JSON schema", 0},
		{"schema with a reference to nowhere", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1}`, "s.json", `{"$ref":"#/$defs/none"}`), wrote("a.json"), "it cannot be evaluated: s.json is no JSON schema: its reference #/$defs/none leads nowhere", 0},
		{"schema with a reference to nowhere in another", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1}`, "s.json", `{"$ref":"t.json"}`, "t.json", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`), wrote("a.json"), "it cannot be evaluated: s.json is no JSON schema: its reference #/$defs/none leads nowhere", 0},
		{"schema of its own dialect", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1}`, "s.json", `{"$schema":"https://example.com/mine","type":"string"}`), wrote("a.json"), "it cannot be evaluated: the schema s.json declares itself as https://example.com/mine, which is not known", 0},
		{"schema of draft 7", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":[1,"x"]}`, "s.json", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"type":"integer"}},"properties":{"a":{"items":[{"type":"string"},{"$ref":"#/definitions/n"}]}}}`), wrote("a.json"), "a.json /a/0: value is integer but should be string", 1},
		{"schema of an unknown format", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":"x"}`, "s.json", `{"properties":{"a":{"format":"colour"}}}`), wrote("a.json"), "a.json /a: unknown format 'colour'", 1},
		{"schema of a format that is a size", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":5}`, "s.json", `{"properties":{"a":{"format":"int32"}}}`), wrote("a.json"), "", 0},
		{"schema of exact numbers", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"id":9007199254740993}`, "s.json", `{"properties":{"id":{"maximum":9007199254740992}}}`), wrote("a.json"), "a.json /id: 9007199254740993 should be at most 9007199254740992", 1},
		{"schema without more", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1,"x/y":2}`, "s.json", `{"properties":{"a":{}},"additionalProperties":false}`), wrote("a.json"), "a.json additional property 'x/y' does not match the schema", 1},
		{"schema of a condition", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":"x","b":"y"}`, "s.json", `{"if":{"properties":{"a":{"const":"x"}}},"then":{"properties":{"b":{"type":"integer"}}}}`), wrote("a.json"), "a.json /b: value is string but should be integer", 1},
		{"schema of the other case", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":"z","b":"y"}`, "s.json", `{"if":{"properties":{"a":{"const":"x"}}},"then":{"type":"string"},"else":{"properties":{"b":{"type":"integer"}}}}`), wrote("a.json"), "a.json /b: value is string but should be integer", 1},
		{"schema of an item", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `[1,2,3,4,5,6,7,8,9,"x",{}]`, "s.json", `{"items":{"type":["integer","object"]}}`), wrote("a.json"), "a.json /9: value is string but should be integer, object", 1},
		{"schema of a dependent one", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1}`, "s.json", `{"dependentSchemas":{"a":{"required":["b"]}}}`), wrote("a.json"), "a.json required property 'b' is missing", 1},
		{"schema that two of one match", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"a":1}`, "s.json", `{"properties":{"a":{"oneOf":[{"type":"integer"},{"minimum":0},{"type":"string"}]}}}`), wrote("a.json"), "a.json /a: value should match exactly one schema but matches multiple at indexes 0, 1", 1},
		{"schema's file to come", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("s.json", "{}"), wrote("s.json"), "pending", 0},
		{"schema of a format", `{"schema":{"file":"a.json","schema":"s.json"}}`, files("a.json", `{"day":"2026-13-01"}`, "s.json", `{"properties":{"day":{"format":"date"}}}`), wrote("a.json"), "a.json /day: value does not match format 'date'", 1},

		{"require holds", `{"require":{"file":"a.json","fields":["/rows","/total/kg","/orders/1/id","/a~1b","/m~0n"]}}`, files("a.json", report), wrote("a.json"), "", 0},
		{"require in an array", `{"require":{"file":"a.json","fields":["/orders/2"]}}`, files("a.json", report), wrote("a.json"), "a.json: there is no field /orders/2", 1},
		{"require a leading zero", `{"require":{"file":"a.json","fields":["/orders/01"]}}`, files("a.json", report), wrote("a.json"), "a.json: there is no field /orders/01", 1},
		{"require null", `{"require":{"file":"a.json","fields":["/total/none"]}}`, files("a.json", report), wrote("a.json"), "a.json: /total/none is null", 1},
		{"require of a broken file", `{"require":{"file":"a.json","fields":["/rows"]}}`, files("a.json", "{\n  not json"), wrote("a.json"), "it cannot be evaluated: a.json is not JSON: line 2, character 3: invalid character 'n' looking for beginning of object key string", 2},
		{"require of a cut file", `{"require":{"file":"a.json","fields":["/rows"]}}`, files("a.json", "{\"rows\": [1,\n"), wrote("a.json"), "it cannot be evaluated: a.json is not JSON: line 2, character 1: the file ends too early", 2},
		{"require of an empty file", `{"require":{"file":"a.json","fields":["/rows"]}}`, files("a.json", ""), wrote("a.json"), "it cannot be evaluated: a.json is not JSON: line 1, character 1: the file ends too early", 1},
		{"require of two values", `{"require":{"file":"a.json","fields":["/rows"]}}`, files("a.json", "{\"rows\": 1}\n{}"), wrote("a.json"), "it cannot be evaluated: a.json is not JSON", 2},
		{"require not there yet", `{"require":{"file":"a.json","fields":["/rows"]}}`, nil, Operation{Effect: protocol.EffectExecute, Unknown: true}, "pending", 0},
		{"require removed", `{"require":{"file":"a.json","fields":["/rows"]}}`, nil, wrote("a.json"), "it cannot be evaluated: a.json is missing", 0},
		{"require a folder", `{"require":{"file":"a.json","fields":["/rows"]}}`, files("a.json/x", ""), wrote("a.json", "a.json/x"), "it cannot be evaluated: a.json cannot be read: it is no plain file", 0},
		{"require in lines", `{"require":{"file":"a.ndjson","fields":["/id"]}}`, files("a.ndjson", "\ufeff{\"id\":1}\n{\"ID\":2}"), wrote("a.ndjson"), "a.ndjson, line 2: there is no field /id", 2},
		{"require a broken line", `{"require":{"file":"a.jsonl","fields":["/id"]}}`, files("a.jsonl", "{\"id\":1}\n{\"id\""), wrote("a.jsonl"), "it cannot be evaluated: a.jsonl is not JSON in line 2", 2},
		{"require columns", `{"require":{"file":"a.csv","fields":["id","kg"]}}`, files("a.csv", "\ufeff"+rows), wrote("a.csv"), "", 0},
		{"require a column", `{"require":{"file":"a.csv","fields":["id","weight"]}}`, files("a.csv", rows), wrote("a.csv"), `a.csv has no column "weight"; it has id, kg`, 1},
		{"require a cell", `{"require":{"file":"a.csv","fields":["kg"]}}`, files("a.csv", rows+"3, \n"), wrote("a.csv"), "a.csv: line 4 has nothing in the column kg", 4},
		{"require of an empty table", `{"require":{"file":"a.csv","fields":["kg"]}}`, files("a.csv", ""), wrote("a.csv"), `a.csv has no column "kg"`, 1},
		{"require of a ragged table", `{"require":{"file":"a.csv","fields":["kg"]}}`, files("a.csv", rows+"3\n"), wrote("a.csv"), "it cannot be evaluated: a.csv is not CSV: line 4: wrong number of fields", 4},

		{"command holds", `{"command":{"run":"exit 3","exit":3}}`, nil, ran(), "", 0},
		{"command fails", `{"command":{"run":"echo no; exit 1"}}`, nil, ran(), "«echo no; exit 1» ended with exit code 1: no", 0},
		{"command says nothing", `{"command":{"run":"false"}}`, nil, ran(), "«false» ended with exit code 1", 0},
		{"command too long", `{"command":{"run":"exec sleep 60","timeout_s":1}}`, nil, ran(), "it cannot be evaluated: «exec sleep 60» took longer than 1s", 0},

		{"range holds at its end", `{"range":{"value":{"json":"a.json","at":"/total/kg"},"max":30.5}}`, files("a.json", report), wrote("a.json"), "", 0},
		{"range below", `{"range":{"value":{"json":"a.json","at":"/total/kg"},"min":30.51}}`, files("a.json", report), wrote("a.json"), "a.json /total/kg is 30.5; wanted is at least 30.51", 1},
		{"range of a string", `{"range":{"value":{"json":"a.json"},"min":3}}`, files("a.json", `"4"`), wrote("a.json"), "", 0},
		{"range of no number", `{"range":{"value":{"json":"a.json"},"min":3}}`, files("a.json", `"many"`), wrote("a.json"), "it cannot be evaluated: a.json: many is no number", 1},
		{"range of null", `{"range":{"value":{"json":"a.json","at":"/total/none"},"min":3}}`, files("a.json", report), wrote("a.json"), "it cannot be evaluated: a.json /total/none: null is no number", 1},
		{"range of no field", `{"range":{"value":{"json":"a.json","at":"/total/lb"},"min":3}}`, files("a.json", report), wrote("a.json"), "it cannot be evaluated: a.json has no field /total/lb", 1},
		{"range of a large number", `{"range":{"value":{"json":"a.json"},"max":9007199254740992}}`, files("a.json", "9007199254740993"), wrote("a.json"), "a.json is 9007199254740993; wanted is at most 9007199254740992", 1},
		{"range of a huge exponent", `{"range":{"value":{"json":"a.json"},"max":1}}`, files("a.json", "1e999999999"), wrote("a.json"), "it cannot be evaluated: a.json: 1e999999999 is no number", 1},

		{"count of a table", `{"count":{"records":"a.csv","min":2,"max":2}}`, files("a.csv", rows), wrote("a.csv"), "", 0},
		{"count too few", `{"count":{"records":"a.csv","min":3}}`, files("a.csv", rows), wrote("a.csv"), "a.csv has 2 records; wanted is at least 3", 0},
		{"count too many", `{"count":{"records":"a.csv","max":1}}`, files("a.csv", rows), wrote("a.csv"), "a.csv has 2 records; wanted is at most 1", 3},
		{"count none", `{"count":{"records":"a.csv","max":0}}`, files("a.csv", "id,kg\n"), wrote("a.csv"), "", 0},
		{"count an empty table", `{"count":{"records":"a.tsv","min":1}}`, files("a.tsv", ""), wrote("a.tsv"), "a.tsv has 0 records; wanted is at least 1", 0},
		{"count an open quote", `{"count":{"records":"a.csv","min":1}}`, files("a.csv", rows+"3,\"4"), wrote("a.csv"), "it cannot be evaluated: a.csv is not CSV: line 4: extraneous or missing \" in quoted-field", 4},
		{"count an array", `{"count":{"records":"a.json","at":"/orders","min":2,"max":2}}`, files("a.json", report), wrote("a.json"), "", 0},
		{"count no array", `{"count":{"records":"a.json","min":2}}`, files("a.json", report), wrote("a.json"), "it cannot be evaluated: a.json is no JSON array", 1},
		{"count lines", `{"count":{"records":"a.jsonl","min":3}}`, files("a.jsonl", "1\n2\n"), wrote("a.jsonl"), "a.jsonl has 2 records; wanted is at least 3", 0},

		{"equal holds", `{"equal":{"left":30.50,"right":{"json":"a.json","at":"/total/kg"}}}`, files("a.json", report), wrote("a.json"), "", 0},
		{"equal within", `{"equal":{"left":{"csv":"a.csv","column":"kg","agg":"sum"},"right":{"json":"a.json","at":"/total/kg"},"tolerance":0.5}}`, files("a.json", report, "a.csv", "id,kg\n1,31\n"), wrote("a.csv"), "", 0},
		{"equal beyond", `{"equal":{"left":{"csv":"a.csv","column":"kg","agg":"sum"},"right":{"json":"a.json","at":"/total/kg"},"tolerance":0.5}}`, files("a.json", report, "a.csv", "id,kg\n1,31.1\n"), wrote("a.csv"), "a.json /total/kg is 30.5, but sum of a.csv kg is 31.1", 1},
		{"equal texts", `{"equal":{"left":{"json":"a.json"},"right":{"command":"echo x"}}}`, files("a.json", `"x"`), wrote("a.json"), "", 0},
		{"equal objects", `{"equal":{"left":{"json":"a.json"},"right":{"json":"b.json"}}}`, files("a.json", `{"a":[1,{"b":2.0}],"c":3}`, "b.json", "{\n\"c\":3, \"a\":[1,\n{\"b\":4}]}"), wrote("b.json"), `b.json is {"a":[1,{"b":4}],"c":3}, but a.json is {"a":[1,{"b":2.0}],"c":3}`, 1},
		{"equal to what is to come", `{"equal":{"left":{"json":"a.json"},"right":{"json":"b.json"}}}`, files("a.json", "1"), wrote("a.json"), "pending", 0},
		{"equal to what is broken and to come", `{"equal":{"left":{"json":"b.json"},"right":{"json":"a.json"}}}`, files("a.json", "{"), wrote("a.json"), "it cannot be evaluated: a.json is not JSON", 1},

		{"paths written by a command", `{"paths":{"forbid":["migrations/**"]}}`, nil, ran("a.txt", "migrations/x/1.sql"), "migrations/x/1.sql was written, which migrations/** forbids", 0},
		{"paths not all known", `{"paths":{"forbid":["migrations/**"]}}`, nil, Operation{Effect: protocol.EffectExecute, Unseen: true}, "it cannot be evaluated: not every file that was written is known", 0},
		{"unchanged without a start", `{"unchanged":{"files":["go.mod"],"what":"dependencies"}}`, files("go.mod", "module m\n"), wrote("go.mod"), "it cannot be evaluated: how go.mod was when the session started is not known", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compiled(t, test.spec)
			if !c.Touches(test.op) {
				t.Error("the operation does not touch it")
			}
			f := c.Check(t.Context(), world(t, test.files), test.op)
			examine(t, f)
			said, line := "", 0
			switch {
			case f.Pending:
				said = "pending"
			case !f.OK:
				said = f.Facts[0].Text
				if r := f.Facts[0].Source.Range; r != nil {
					line = int(r.Start.Line) + 1
				}
			}
			if !strings.HasPrefix(said, test.says) || (said == "") != (test.says == "") || line != test.line {
				t.Errorf("line %d: %s\nwant line %d: %s", line, said, test.line, test.says)
			}
		})
	}
}

func files(pairs ...string) map[string]string {
	m := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

// examine checks what holds of every finding.
func examine(t *testing.T, f Finding) {
	t.Helper()
	if f.Expected == "" || f.Observed == "" || f.OK != (len(f.Facts) == 0) || (f.Pending && !f.OK) || len(f.Facts) > mostFacts {
		t.Errorf("%+v", f)
	}
	for _, fact := range f.Facts {
		s := fact.Source
		if fact.Text == "" || s.Tripwire != f.Tripwire || s.Expected == "" || s.Observed == "" || len(s.Observed) > 2*mostShown || len(s.Expected) > 2*mostShown {
			t.Errorf("%+v %+v", fact, s)
		}
	}
	if c := f.Check(); c.Tripwire != f.Tripwire || c.OK != f.OK || c.Expected != f.Expected || c.Observed != f.Observed {
		t.Errorf("%+v of %+v", c, f)
	}
}

// What differs is named pointer by pointer, at its place, and no more than twenty times.
func TestEvidenceIsBoundedAndPlaced(t *testing.T) {
	var left, right []string
	for i := range 50 {
		left, right = append(left, fmt.Sprint(i)), append(right, fmt.Sprint(i+1))
	}
	env := world(t, files("a.json", "["+strings.Join(left, ",")+"]", "b.json", "[\n"+strings.Join(right, ",\n")+"]"))
	f := compiled(t, `{"equal":{"left":{"json":"a.json"},"right":{"json":"b.json"}}}`).Check(t.Context(), env, wrote("b.json"))
	examine(t, f)
	third := f.Facts[2]
	if len(f.Facts) != mostFacts || third.Text != "at /0: 1 where 0 is expected" || third.Source.Range.Start.Line != 1 || third.Source.Observed != "1" {
		t.Errorf("%d facts, the third %+v %+v", len(f.Facts), third, third.Source)
	}
	if last := f.Facts[mostFacts-1]; last.Text != "and 33 more of the same kind" {
		t.Errorf("the last: %s", last.Text)
	}
}

// A change of what one of its files reads is enough; anything else is not.
func TestTouches(t *testing.T) {
	read := Operation{Effect: protocol.EffectRead}
	unknown := Operation{Effect: protocol.EffectExecute, Unknown: true}
	for _, test := range []struct {
		spec     string
		yes, not []Operation
	}{
		{`{"schema":{"file":"out/a.json","schema":"s/s.json"}}`, []Operation{wrote("x", "out/a.json"), wrote("s/s.json"), wrote("s/t.json"), unknown}, []Operation{wrote("a.json"), wrote("s/t.txt"), ran(), read}},
		{`{"require":{"file":"./a.csv","fields":["x"]}}`, []Operation{ran("a.csv")}, []Operation{ran(), wrote("b.csv"), read}},
		{`{"command":{"run":"true"}}`, []Operation{ran(), wrote("x"), unknown}, []Operation{read, {Effect: protocol.EffectNone}}},
		{`{"command":{"run":"true","after":["**/*.go","Makefile"]}}`, []Operation{wrote("x.go"), ran("a/b/x.go"), wrote("sub/Makefile"), unknown}, []Operation{ran(), wrote("x.gox"), read}},
		{`{"range":{"value":{"sql":"sqlite:o.db","query":"select 1"},"min":1}}`, []Operation{ran("o.db"), ran("o.db-wal"), unknown}, []Operation{ran(), wrote("x"), read}},
		{`{"range":{"value":{"sql":"postgres://h/d","query":"select 1"},"min":1}}`, []Operation{ran(), wrote("x")}, []Operation{read}},
		{`{"range":{"value":{"output":"x"},"min":1}}`, []Operation{ran()}, []Operation{wrote("x"), read}},
		{`{"range":{"value":{"command":"x"},"min":1}}`, []Operation{ran(), wrote("x")}, []Operation{read}},
		{`{"equal":{"left":{"json":"a.json"},"right":{"csv":"b.csv","agg":"count"}}}`, []Operation{wrote("a.json"), wrote("b.csv")}, []Operation{ran("c"), read}},
		{`{"paths":{"forbid":["m/**"]}}`, []Operation{wrote("m/1"), {Unseen: true}}, []Operation{ran(), unknown, wrote("n/m"), read}},
		{`{"unchanged":{"files":["a/go.mod"],"what":"dependencies"}}`, []Operation{wrote("a/go.mod")}, []Operation{wrote("go.mod"), read}},
		{`{"budget":{"requests":1}}`, nil, []Operation{ran(), wrote("x"), unknown}},
	} {
		c := compiled(t, test.spec)
		for _, op := range test.yes {
			if !c.Touches(op) {
				t.Errorf("%s: not touched by %+v", test.spec, op)
			}
		}
		for _, op := range test.not {
			if c.Touches(op) {
				t.Errorf("%s: touched by %+v", test.spec, op)
			}
		}
	}
}

func TestForbiddenPaths(t *testing.T) {
	for _, test := range []struct {
		glob     string
		yes, not []string
	}{
		{"migrations/**", []string{"migrations/1.sql", "migrations/a/b", "migrations", "./migrations/x"}, []string{"db/migrations/1.sql", "migrations.txt"}},
		{"migrations", []string{"migrations/1.sql", "db/migrations/1.sql", "migrations"}, []string{"migrations2/x"}},
		{"migrations/", []string{"migrations/1.sql"}, []string{"m/x"}},
		{"./secrets/*", []string{"secrets/a", "secrets/a/b"}, []string{"secret/a"}},
		{"*.pem", []string{"a.pem", "x/y/a.pem"}, []string{"a.pem.txt"}},
		{"src/*.go", []string{"src/a.go"}, []string{"a.go", "src/b/a.go"}},
		{"**/*.{sql,db}", []string{"a.sql", "x/b.db"}, []string{"a.sq"}},
		{".env", []string{".env", "web/.env"}, []string{".envrc"}},
	} {
		c := compiled(t, fmt.Sprintf(`{"paths":{"forbid":[%q]}}`, test.glob))
		for _, p := range test.yes {
			f := Before([]Condition{c}, wrote("fine.txt", p))
			if len(f) != 1 || f[0].OK || f[0].Facts[0].Source.Observed != p {
				t.Errorf("%s lets %s be written: %+v", test.glob, p, f)
			}
		}
		for _, p := range test.not {
			if f := Before([]Condition{c}, wrote(p)); len(f) != 0 {
				t.Errorf("%s forbids %s: %+v", test.glob, p, f)
			}
		}
	}
}

func TestOutput(t *testing.T) {
	c := compiled(t, `{"range":{"value":{"output":"^coverage: ([0-9.]+)%$"},"min":80}}`)
	printed := func(text string) Env { return Env{Output: &text} }
	for _, test := range []struct {
		env      Env
		ok, wait bool
		observed string
	}{
		{Env{}, true, true, "output of a command is not there yet"},
		{printed("nothing of it\n"), true, true, "nothing of the kind was printed"},
		{printed("coverage: 90%\n"), true, false, "90"},
		{printed("x\ncoverage: 90%\ncoverage: 71.5%\nend\n"), false, false, "71.5"},
	} {
		f := c.Check(context.Background(), test.env, ran())
		examine(t, f)
		if f.OK != test.ok || f.Pending != test.wait || !strings.Contains(f.Observed, test.observed) {
			t.Errorf("%+v", f)
		}
	}
}

// After the run of a scenario everything has to be there.
func TestWholeEndsPatience(t *testing.T) {
	env := world(t, nil)
	env.Whole = true
	f := compiled(t, `{"require":{"file":"out.json","fields":["/rows"]}}`).Check(t.Context(), env, Operation{})
	if examine(t, f); f.OK || f.Observed != "it cannot be evaluated: out.json is missing" {
		t.Errorf("%+v", f)
	}
	f = compiled(t, `{"range":{"value":{"output":"x"},"min":80}}`).Check(t.Context(), env, Operation{})
	if examine(t, f); f.OK {
		t.Errorf("%+v", f)
	}
}

// A condition of a copy of the workspace points into the workspace.
func TestPlacesOfACopy(t *testing.T) {
	env := world(t, files("a b.json", "{\n\"é𝄞\": 1}"))
	env.Home = "/the/workspace"
	f := compiled(t, `{"range":{"value":{"json":"a b.json","at":"/é𝄞"},"min":2}}`).Check(t.Context(), env, wrote("a b.json"))
	s := f.Facts[0].Source
	if s.URI != "file:///the/workspace/a%20b.json" || s.Range.Start != (protocol.Position{Line: 1, Character: 7}) || s.Range.End.Character != 8 {
		t.Errorf("%+v %+v", s, s.Range)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := world(t, files("a.csv", "id\n1\n", "a.jsonl", "1\n2\n", "o.db", "create table t(a)"))
	for _, spec := range []string{`{"command":{"run":"sleep 60"}}`, `{"count":{"records":"a.csv","min":1}}`, `{"count":{"records":"a.jsonl","min":1}}`, `{"range":{"value":{"sql":"sqlite:o.db","query":"select 1"},"min":1}}`, `{"range":{"value":{"command":"sleep 60"},"min":1}}`} {
		f := compiled(t, spec).Check(ctx, env, ran("a.csv", "o.db"))
		if examine(t, f); f.OK || !strings.Contains(f.Observed, "was cancelled") {
			t.Errorf("%s: %+v", spec, f)
		}
	}
}

// Without a way to run commands a condition about one has tripped.
func TestNoCommands(t *testing.T) {
	f := compiled(t, `{"command":{"run":"true"}}`).Check(t.Context(), Env{}, ran())
	if examine(t, f); f.OK {
		t.Errorf("%+v", f)
	}
}

func TestCompileNamesTheKey(t *testing.T) {
	specs := []Spec{{Name: "a", Paths: &Paths{[]string{"x"}}}, {Name: "b", Equal: &Equal{Left: Operand{Source: protocol.Source{JSON: "a.json", At: "rows"}}, Right: Operand{Number: "1"}}}}
	if _, err := Compile(specs); err == nil || !strings.HasPrefix(err.Error(), "[1].equal.left.at: ") {
		t.Error(err)
	}
	specs[1] = specs[0]
	if _, err := Compile(specs); err == nil || !strings.HasPrefix(err.Error(), "[1].name: there are two") {
		t.Error(err)
	}
	if _, err := Compile([]Spec{{Name: " ", Paths: &Paths{[]string{"x"}}}}); err == nil || !strings.HasPrefix(err.Error(), "[0].name: a name is wanted") {
		t.Error(err)
	}
}

func TestConcerns(t *testing.T) {
	c := compiled(t, `{"scenario":"s","equal":{"left":{"sql":"sqlite:db/o.db","query":"select 1"},"right":{"json":"out/a.json"}}}`)
	if !c.Concerns([]string{"data/**", "out/*.json"}) || !c.Concerns([]string{"db/o.db"}) || c.Concerns([]string{"out/*.csv"}) || c.Scenario() != "s" {
		t.Errorf("%v", c.Files())
	}
	if got := Files([]Condition{c, c}); !slices.Equal(got, []string{"db/o.db", "db/o.db-journal", "db/o.db-wal", "out/a.json"}) {
		t.Errorf("%v", got)
	}
}

// Look sees a change through a link, of a file that came and of one that went.
func TestLook(t *testing.T) {
	env := world(t, files("a.txt", "1", "b.txt", "1", "d/c.txt", "1"))
	watched := []string{"a.txt", "b.txt", "c.txt", "new.txt", "same.txt"}
	put(t, env, "same.txt", "1")
	link(t, env, "d/c.txt", "c.txt")
	before := env.Look(watched)
	put(t, env, "a.txt", "22")
	remove(t, env, "b.txt")
	put(t, env, "d/c.txt", "22")
	put(t, env, "new.txt", "1")
	if got := env.Look(watched).Since(before); !slices.Equal(got, []string{"a.txt", "b.txt", "c.txt", "new.txt"}) {
		t.Errorf("%v", got)
	}
}

// A link that leads out of the workspace is not followed.
func TestConfined(t *testing.T) {
	outside, env := world(t, files("secret.json", "1")), world(t, nil)
	link(t, env, outside.Dir+"/secret.json", "a.json")
	f := compiled(t, `{"range":{"value":{"json":"a.json"},"min":2}}`).Check(t.Context(), env, wrote("a.json"))
	if examine(t, f); !strings.Contains(f.Observed, "it cannot be evaluated: a.json cannot be read") {
		t.Errorf("%+v", f)
	}
}
