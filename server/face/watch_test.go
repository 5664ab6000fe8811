package face

import (
	"strings"
	"testing"

	"tandem/protocol"
)

func TestPointerAt(t *testing.T) {
	const doc = `{"rows": 12, "a/b": {"list": [1, {"kg": 2.5}, 3]}, "name": "x"}`
	for at, want := range map[string]string{`rows`: "/rows", `12`: "/rows", `a/b`: "/a~1b/list/0", `list`: "/a~1b/list/0", `kg`: "/a~1b/list/1/kg",
		`2.5`: "/a~1b/list/1/kg", `3]`: "/a~1b/list/2", `"x"`: "/name"} {
		if got, ok := pointerAt(doc, strings.Index(doc, at)+1); got != want || !ok {
			t.Errorf("at %s stands %q, want %q", at, got, want)
		}
	}
	for _, bad := range []string{"", "{", "[", `{"a" 1}`, "nonsense", "7", `{"a": [1,`} {
		if got, ok := pointerAt(bad, len(bad)); ok && got == "" {
			t.Errorf("in %q stands nothing, and it is found", bad)
		}
	}
}

func TestColumnAt(t *testing.T) {
	const text = "id,kg,who\n1,10,\"a, b\"\n2,20.5,c\n"
	for at, want := range map[string]string{"kg": "kg sum", "10": "kg sum", "who": "who count", "b\"": "who count", "20.5": "kg sum", "id": "id sum"} {
		column, agg, ok := columnAt(text, strings.Index(text, at))
		if got := column + " " + string(agg); got != want || !ok {
			t.Errorf("at %s stands %q, want %q", at, got, want)
		}
	}
	for _, bad := range []string{"", "\"", "a,b\n\"x"} {
		if column, _, ok := columnAt(bad, len(bad)); ok {
			t.Errorf("in %q stands the column %q", bad, column)
		}
	}
}

func TestWatched(t *testing.T) {
	s := Session{Session: protocol.Session{Workspace: "file:///w", ID: "s"}}
	json := `{"rows": 1}`
	got := watched(s, Place{URI: "file:///w/out%20of/report.json", Text: json, At: 3}, nil)
	if len(got) != 1 || got[0].Source != (protocol.Source{JSON: "out of/report.json", At: "/rows"}) {
		t.Errorf("a field is offered as %+v", got)
	}
	query := watched(s, Place{URI: "file:///w/a.sql", Selected: " select count(*)\n from orders; "}, []string{"orders.db", "b.db"})
	if len(query) != 2 || query[0].Source != (protocol.Source{SQL: "sqlite:orders.db", Query: "select count(*)\n from orders"}) {
		t.Errorf("a query is offered as %+v", query)
	}
	for _, p := range []Place{{URI: "file:///elsewhere/a.json", Text: json, At: 3}, {URI: "file:///w/a.sql", Selected: "drop table orders"}, {URI: "untitled:1"}} {
		if got := watched(s, p, []string{"orders.db"}); len(got) > 0 {
			t.Errorf("at %+v is offered %+v", p, got)
		}
	}
}
