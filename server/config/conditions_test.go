package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/kaptinlin/jsonschema"

	"tandem/agent/tripwire"
	"tandem/protocol"
)

var update = flag.Bool("update", false, "write schema.json anew")

// all has each kind and each source once.
const all = `tripwires:
  - name: report-shape
    schema: {file: out/report.json, schema: schemas/report.json}
  - name: fields
    require: {file: out/report.json, fields: [/rows, /total_weight]}
  - name: tests
    scenario: analysis
    command: {run: go test ./..., exit: 0, after: ["**/*.go"], timeout_s: 20}
  - name: weight-in-range
    range: {value: {json: out/report.json, at: /total_weight}, min: 1, max: 100000.5}
  - name: rows
    count: {records: out/rows.csv, min: 120, max: 120}
  - name: every-order
    equal: {left: {sql: "sqlite:orders.db", query: "select count(*) from orders"},
            right: {json: out/report.json, at: /rows}, tolerance: 0}
  - name: stay-out
    paths: {forbid: ["migrations/**"]}
  - name: no-new-dependency
    unchanged: {files: [go.mod, package.json], what: dependencies}
  - name: budget
    budget: {requests: 200, tokens: 2000000, minutes: 60, repeats: 3}
watches:
  - {name: orders in the database, sql: "sqlite:orders.db", query: "select count(*) from orders"}
  - {name: kg, csv: out/rows.csv, column: kg, agg: sum}
  - {name: coverage, output: 'coverage: (\d+)%'}
  - name: lines
    command: |
      wc -l < out/rows.csv
scenarios:
  - name: analysis
    run: python3 analyse.py
    inputs: [orders.db, "data/**"]
    outputs: [out/report.json]
`

func TestConditionsAreRead(t *testing.T) {
	for _, text := range []string{all, asJSON(t, all)} {
		c, err := Load(sources(t, "", text, nil))
		if err != nil {
			t.Fatal(err)
		}
		conditions, err := tripwire.Compile(c.Tripwires)
		if err != nil || len(conditions) != len(tripwire.Kinds) {
			t.Errorf("%d conditions, %v", len(conditions), err)
		}
		weight := c.Tripwires[3].Range
		if weight.Min.String() != "1" || weight.Max.String() != "100000.5" || weight.Value.Source != (protocol.Source{JSON: "out/report.json", At: "/total_weight"}) {
			t.Errorf("range: %+v", weight)
		}
		if c.Tripwires[2].Scenario != "analysis" || c.Tripwires[2].Command.TimeoutS != 20 || *c.Tripwires[8].Budget != (tripwire.Budget{Requests: 200, Tokens: 2000000, Minutes: 60, Repeats: 3}) {
			t.Errorf("%+v, %+v", c.Tripwires[2], c.Tripwires[8].Budget)
		}
		if len(c.Watches) != 4 || c.Watches[1] != (Watch{"kg", protocol.Source{CSV: "out/rows.csv", Column: "kg", Agg: protocol.Sum}}) || c.Watches[3].Command != "wc -l < out/rows.csv\n" {
			t.Errorf("watches: %+v", c.Watches)
		}
		if len(c.Scenarios) != 1 || c.Scenarios[0].Run != "python3 analyse.py" || len(c.Scenarios[0].Inputs) != 2 || len(c.Scenarios[0].Outputs) != 1 {
			t.Errorf("scenarios: %+v", c.Scenarios)
		}
	}
}

func asJSON(t *testing.T, text string) string {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The workspace's conditions stand beside the user's: it can take none away.
func TestConditionsOfBothFilesHold(t *testing.T) {
	user := "tripwires: [{name: a, paths: {forbid: [x]}}]\nscenarios: [{name: s, run: make}]\n"
	c, err := Load(sources(t, user, "tripwires: [{name: b, scenario: s, paths: {forbid: [y]}}]\nwatches:\n", nil))
	if err != nil || len(c.Tripwires) != 2 || c.Tripwires[0].Name != "a" || c.Tripwires[1].Name != "b" || len(c.Scenarios) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Load(sources(t, user, "tripwires: []\n", nil))
	if err != nil || len(c.Tripwires) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = Load(sources(t, user, "\ntripwires:\n  - name: a\n    paths: {forbid: [y]}\n", nil))
	if err == nil || !strings.Contains(err.Error(), `line 3: tripwires[0].name: there is another "a" in the user's configuration already`) {
		t.Errorf("a name of the user's was taken: %v", err)
	}
}

// refused are texts that are refused, with what is said. Those with alone are shapes that the
// schema cannot tell from right ones.
var refused = []struct {
	text, says string
	alone      bool
}{
	{"tripwires: {name: x}\n", "line 1: tripwires: a list is wanted", false},
	{"tripwires: [x]\n", "line 1: tripwires[0]: a section with keys is wanted", false},
	{"tripwires:\n  - paths: {forbid: [x]}\n", "line 2: tripwires[0]: the key name is missing", false},
	{"tripwires:\n  - name: x\n", "line 2: tripwires[0]: the tripwire \"x\" has no kind; give it exactly one of schema, require", false},
	{"tripwires:\n  - name: x\n    paths: {forbid: [x]}\n    budget: {requests: 1}\n", "line 2: tripwires[0]: the tripwire \"x\" has the kinds paths, budget; give it exactly one", false},
	{"tripwires:\n  - name: x\n    path: {forbid: [x]}\n", "line 3: tripwires[0].path: there is no such key; there are budget, command, count", false},
	{"tripwires:\n  - name: x\n    paths:\n      forbids: [x]\n", "line 4: tripwires[0].paths.forbids: there is no such key; there are forbid", false},
	{"tripwires:\n  - name: x\n    paths: {}\n", "line 3: tripwires[0].paths: the key forbid is missing", false},
	{"tripwires:\n  - name: x\n    paths: {forbid: []}\n", "line 3: tripwires[0].paths.forbid: at least 1 is wanted", false},
	{"tripwires:\n  - name: x\n    paths: {forbid: x}\n", "line 3: tripwires[0].paths.forbid: a list is wanted", false},
	{"tripwires:\n  - name: x\n    paths:\n      forbid:\n        - ok\n        - 5\n", "line 6: tripwires[0].paths.forbid[1]: a text is wanted", false},
	{"tripwires:\n  - name: x\n    paths:\n      forbid:\n        - ok\n        - '[a'\n", `line 6: tripwires[0].paths.forbid[1]: "[a" is no glob`, true},
	{"tripwires: [{name: x, range: {value: {json: a.json}}}]\n", "line 1: tripwires[0].range: give min, max or both", false},
	{"tripwires: [{name: x, range: {value: {json: a.json}, min: low}}]\n", "tripwires[0].range.min: a number is wanted", false},
	{"tripwires: [{name: x, range: {value: {json: a.json}, min: .inf}}]\n", "tripwires[0].range.min: a number is wanted", false},
	{"tripwires: [{name: x, range: {value: {json: a.json}, min: 5, max: 4}}]\n", "tripwires[0].range.min: 5 is more than max, 4", true},
	{"tripwires: [{name: x, range: {value: a.json, min: 5}}]\n", "tripwires[0].range.value: a number or a value source is wanted", false},
	{"tripwires: [{name: x, range: {value: {json: a.json, output: x}, min: 5}}]\n", "tripwires[0].range.value: the value source has json and output; give exactly one of json", false},
	{"tripwires: [{name: x, range: {value: {json: ../a.json}, min: 5}}]\n", `tripwires[0].range.value.json: "../a.json" is no path in the workspace`, true},
	{"tripwires: [{name: x, range: {value: {json: a.json, at: rows}, min: 5}}]\n", `tripwires[0].range.value.at: "rows" is no JSON pointer`, true},
	{"tripwires: [{name: x, range: {value: {csv: a.csv, column: kg}, min: 5}}]\n", "tripwires[0].range.value.agg: say what to make of the column", false},
	{"tripwires: [{name: x, range: {value: {csv: a.csv, column: kg, agg: mean}, min: 5}}]\n", `tripwires[0].range.value.agg: "mean" is none of count, sum, min, max`, false},
	{"tripwires: [{name: x, range: {value: {sql: 'sqlite:a.db', query: drop table x}, min: 5}}]\n", "tripwires[0].range.value.query: a query begins with select", true},
	{"tripwires: [{name: x, range: {value: {sql: 'mysql://u:secret@h/d', query: select 1}, min: 5}}]\n", `tripwires[0].range.value.sql: "mysql://u:xxxxx@h/d" names no database`, true},
	{"tripwires: [{name: x, equal: {left: 1}}]\n", "tripwires[0].equal: the key right is missing", false},
	{"tripwires: [{name: x, equal: {left: 1, right: 1}}]\n", "tripwires[0].equal: both sides are numbers", true},
	{"tripwires: [{name: x, equal: {left: 1, right: {output: '('}}}]\n", "tripwires[0].equal.right.output: it is no regular expression", true},
	{"tripwires: [{name: x, command: {run: 'true', exit: 256}}]\n", "tripwires[0].command.exit: a whole number is wanted, from 0 to 255", false},
	{"tripwires: [{name: x, command: {run: true}}]\n", "tripwires[0].command.run: a text is wanted; set it in quotes", false},
	{"tripwires: [{name: x, count: {records: a.xml, min: 1}}]\n", `tripwires[0].count.records: "a.xml" is of no known kind; its name ends in .csv`, true},
	{"tripwires: [{name: x, count: {records: a.csv, min: 1.5}}]\n", "tripwires[0].count.min: a whole number is wanted", false},
	{"tripwires: [{name: x, unchanged: {files: [go.mod], what: text}}]\n", `tripwires[0].unchanged.what: "text" is none of dependencies`, false},
	{"tripwires: [{name: x, unchanged: {files: [go.sum], what: dependencies}}]\n", `tripwires[0].unchanged.files[0]: the dependencies of "go.sum" cannot be read; those of Cargo.toml, go.mod`, true},
	{"tripwires: [{name: x, budget: {}}]\n", "tripwires[0].budget: give at least one of requests", false},
	{"tripwires: [{name: x, budget: {repeats: 1}}]\n", "tripwires[0].budget.repeats: a whole number is wanted, from 2", false},
	{"tripwires: [{name: x, budget: {requests: 1}, scenario: y}]\n", `tripwires[0].scenario: there is no scenario "y"; there are: none`, true},
	{"tripwires:\n- name: x\n  budget: {requests: 1}\n- name: x\n  budget: {requests: 1}\n", `line 4: tripwires[1].name: there is another "x" already`, true},
	{"tripwires: [{name: ' ', budget: {requests: 1}}]\n", "tripwires[0].name: it is empty", false},
	{"tripwires: [{name: x, schema: {file: a.csv, schema: s.json}}]\n", `tripwires[0].schema.file: "a.csv" is no JSON by its name`, true},
	{"watches:\n  - {json: a.json}\n", "line 2: watches[0]: the key name is missing", false},
	{"watches:\n  - {name: x}\n", "line 2: watches[0]: a value source is wanted", false},
	{"watches:\n  - {name: x, json: a.json, query: select 1}\n", "line 2: watches[0].query: it goes with sql, not with json", false},
	{"watches:\n  - {name: x, sql: 'sqlite:a.db'}\n", "line 2: watches[0].query: a query is wanted", false},
	{"watches:\n  - {name: x, min: 1, json: a.json}\n", "line 2: watches[0].min: there is no such key; there are agg, at, column", false},
	{"scenarios: [{name: x}]\n", "scenarios[0]: the key run is missing", false},
	{"scenarios: [{name: x, run: make, inputs: [../x]}]\n", `scenarios[0].inputs[0]: "../x" is no glob in the workspace`, true},
	{"scenarios: [{name: x, run: make}, {name: x, run: make}]\n", `scenarios[1].name: there is another "x" already`, true},
	{"scenarios: [{name: x, run: make, input: [x]}]\n", "scenarios[0].input: there is no such key; there are inputs, name, outputs, run", false},
}

func TestConditionsThatAreRefused(t *testing.T) {
	for _, test := range refused {
		_, err := Load(sources(t, "", test.text, nil))
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "config.yaml, line ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", test.text, err, test.says)
		}
	}
}

// The published schema takes what the daemon takes, and refuses what it refuses but for what a
// schema cannot tell.
func TestSchemaAndDaemonAgree(t *testing.T) {
	schema := published(t)
	for _, text := range []string{all, "{}", "model:\nautonomy:\n", "model: {name: a, base_url: '', idle_s: 5}\nautonomy: high\ncommands: {timeout_s: 7, network: true}\nsecrets: {files: [\"*.x\"], allow: []}\n", "commands: {network: true, sandbox: required, write: [/x], env: [A]}\n", "tripwires: []\nwatches:\nscenarios: []\n"} {
		if err := valid(t, schema, text); err != nil {
			t.Errorf("%s: the schema refuses it: %v", text, err)
		}
		if _, err := Load(sources(t, text, "", nil)); err != nil {
			t.Errorf("%s: the daemon refuses it: %v", text, err)
		}
	}
	for _, test := range refused {
		if err := valid(t, schema, test.text); (err == nil) != test.alone {
			t.Errorf("%s: the schema says %v", test.text, err)
		}
	}
	for _, text := range []string{"nonsense: 1", "model: {nam: x}", "autonomy: wild", "commands: {timeout_s: -1}", "model: {idle_s: 43201}", "model: gpt", "model: {name: 5}", "[]", "commands: {network: 1}", "secrets: {files: x}", "commands: {sandbox: none}"} {
		if valid(t, schema, text) == nil {
			t.Errorf("%s: the schema takes it", text)
		}
		if _, err := Load(sources(t, text, "", nil)); err == nil {
			t.Errorf("%s: the daemon takes it", text)
		}
	}
}

// published is the schema as it lies in schema.json, which has to be the one that the code makes.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	if *update {
		if err := os.WriteFile("schema.json", Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("schema.json")
	if err != nil || !bytes.Equal(b, Schema()) {
		t.Fatalf("schema.json is not what the code makes; run go test ./server/config -update: %v", err)
	}
	s, err := jsonschema.NewCompiler().Compile(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid holds a text against the schema; infinity, which JSON does not have, is none of its numbers.
func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	r := s.ValidateJSON([]byte(asJSON(t, strings.ReplaceAll(text, ".inf", "'.inf'"))))
	if r.IsValid() {
		return nil
	}
	return fmt.Errorf("%v", r.DetailedErrors())
}

// The kinds and keys of the configuration are those of the package that evaluates them.
func TestShapesAreThoseOfTheTypes(t *testing.T) {
	if got := strings.Join(condition.one, " "); got != strings.Join(tripwire.Kinds, " ") {
		t.Errorf("the configuration knows the kinds %s", got)
	}
	d := json.NewDecoder(strings.NewReader(asJSON(t, all)))
	d.DisallowUnknownFields()
	if err := d.Decode(&Config{}); err != nil {
		t.Error(err)
	}
}

// Every example of the page «Stop conditions» is a configuration.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../agent/tripwire/README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) < len(tripwire.Kinds) {
		t.Errorf("the page has %d examples", len(examples))
	}
	for _, e := range examples {
		if _, err := Load(sources(t, "", e[1], nil)); err != nil {
			t.Errorf("%s: %v", e[1], err)
		}
	}
}
