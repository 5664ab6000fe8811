package session

import (
	"encoding/json"
	"testing"

	"tandem/agent"
	"tandem/agent/tripwire"
	"tandem/protocol"
)

const schemas = "create table t (a);\n"

// guarding is a place with one condition: nothing below migrations is written.
func guarding(t *testing.T) place {
	p := newPlace(t, map[string]string{"migrations/1.sql": schemas, "a.txt": "one\n"})
	conditions, err := tripwire.Compile([]tripwire.Spec{{Name: "stay-out", Paths: &tripwire.Paths{Forbid: []string{"migrations/**"}}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Guard = NewGuard(conditions, nil, p.Files)
	return p
}

// A forbidden path is refused under every name and in every form in which the tools take it.
func TestForbiddenPathsHaveNoOtherName(t *testing.T) {
	for _, test := range []struct{ tool, arguments string }{
		{"edit_file", `{"path":"migrations/1.sql","edits":[{"old":"a","new":"b"}]}`},
		{"edit_file", `{"file_path":"migrations/1.sql","old_string":"a","new_string":"b"}`},
		{"edit_file", `{"file":"./migrations/1.sql","edits":[{"old":"a","new":"b"}]}`},
		{"write_file", `{"filename":"migrations/1.sql","content":"x"}`},
		{"write_file", `{"path":"migrations/1.sql","content":"x","from":5}`},
		{"write_file", `"{\"path\":\"migrations/1.sql\",\"content\":\"x\"}"`},
		{"move_file", `{"source":"migrations/1.sql","destination":"b.sql"}`},
		{"move_file", `{"old_path":"a.txt","new_path":"migrations/2.sql"}`},
		{"delete_file", `{"file":"migrations/1.sql"}`},
		{"edit_file", `{"patch":"--- a/migrations/1.sql\n+++ b/migrations/1.sql\n@@ -1 +1 @@\n-a\n+b\n"}`},
		{"edit_file", `{"diff":"--- a/migrations/1.sql\n+++ b/migrations/1.sql\n@@ -1 +1 @@\n-a\n+b\n"}`},
		{"edit_file", `{"path":"a.txt","edits":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n--- \"a/migrations/\\061.sql\"\n+++ \"b/migrations/\\061.sql\"\n@@ -1 +1 @@\n-a\n+b\n"}`},
		{"edit_file", `{"path":"a.txt","diff":"diff --git a/a.txt b/a.txt\nrename from a.txt\nrename to migrations/2.sql\n"}`},
		{"edit_file", `{"input":"*** Begin Patch\n*** Update File: a.txt\n*** Move to: ./migrations/2.sql\n*** End Patch"}`},
		{"edit_file", `{"input":"*** Begin Patch\n*** Delete File: a.txt\n*** Delete File: migrations/1.sql\n*** End Patch"}`},
		{"edit_file", `{"path":"a.txt","patch":"<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\nmigrations/1.sql\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"}`},
		{"edit_file", `{"path":"migrations/1.sql","old":"","new":"@@ -1 +1 @@\n-a\n+b\n"}`},
	} {
		p := guarding(t)
		o := p.do(test.tool, test.arguments)
		if !o.Failed || len(o.Findings) != 1 || o.Findings[0].Tripwire != "stay-out" || len(o.Changes) > 0 || p.read("migrations/1.sql") != schemas {
			t.Errorf("%s %s: %+v", test.tool, test.arguments, o)
		}
	}
	p := guarding(t)
	if o := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"two"}]}`); o.Failed || len(o.Findings) > 0 {
		t.Errorf("what is not forbidden: %+v", o)
	}
}

// A condition on paths that the agent proposed and the developer keeps is looked at before the
// write, like those of the configuration.
func TestProposedPathsAreForbiddenBefore(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\n"})
	spec := json.RawMessage(`{"name":"leave-a","paths":{"forbid":["a.txt"]}}`)
	j := Job{Work: agent.Work{ID: "op1", Job: agent.Run{Tool: "write_file", Arguments: `{"path":"a.txt","content":"two\n"}`,
		Proposed: []json.RawMessage{spec}}}, Said: func(string) {}}
	o := p.outcome(t.Context(), j)
	if !o.Failed || len(o.Findings) != 1 || o.Findings[0].Tripwire != "leave-a" || p.read("a.txt") != "one\n" {
		t.Errorf("%+v; a.txt is %q", o, p.read("a.txt"))
	}
}

// A condition that comes while the session is under way holds what it watches against how that is
// when it comes; what the session began with stays what it was.
func TestBaselineIsCompleted(t *testing.T) {
	p := newPlace(t, map[string]string{"go.mod": "module m\n\nrequire example.com/new v1.0.0\n", "package.json": `{"dependencies":{"a":"1"}}`})
	conditions, err := tripwire.Compile([]tripwire.Spec{{Name: "go", Unchanged: &tripwire.Unchanged{Files: []string{"go.mod"}, What: "dependencies"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Guard = NewGuard(conditions, nil, p.Files)
	c := agent.Check{Unbased: true, Baseline: json.RawMessage(`{"go.mod":{}}`),
		Proposed: []json.RawMessage{json.RawMessage(`{"name":"node","unchanged":{"files":["package.json"],"what":"dependencies"}}`)}}
	got := p.check(t.Context(), Job{Work: agent.Work{ID: "check 1"}}, c).(agent.Evaluated)
	c.Baseline, c.Unbased = got.Baseline, false
	c.After = []agent.Past{{Op: protocol.Operation{ID: "op1", Effect: protocol.EffectWrite}, Changes: []agent.Change{{Path: "go.mod"}, {Path: "package.json"}}}}
	got = p.check(t.Context(), Job{Work: agent.Work{ID: "check 2"}}, c).(agent.Evaluated)
	if len(got.Findings) != 1 || got.Findings[0].Tripwire != "go" {
		t.Errorf("with the baseline %s: %+v", c.Baseline, got.Findings)
	}
}

// After a command that may have written where nobody could look, nobody can say that a path was left
// alone.
func TestAnUnlistedChangeTripsForbiddenPaths(t *testing.T) {
	for _, unlisted := range []bool{false, true} {
		p := guarding(t)
		c := agent.Check{After: []agent.Past{{Op: protocol.Operation{ID: "op1", Effect: protocol.EffectExecute}, Unlisted: unlisted}}}
		got := p.check(t.Context(), Job{Work: agent.Work{ID: "check 1"}}, c).(agent.Evaluated)
		if tripped := len(got.Findings) == 1; tripped != unlisted {
			t.Errorf("unlisted %t: %+v", unlisted, got.Findings)
		}
	}
}
