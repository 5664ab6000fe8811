package protocol

import (
	"encoding/json"
	"testing"
)

// What clients send is read whatever shape the parts that are not Tandem's have.
func TestInitializeParams(t *testing.T) {
	yes, no := true, false
	rows := []struct {
		in      string
		trusted *bool
		bad     bool
	}{
		{`{"processId":null,"rootUri":null,"workspaceFolders":null,"capabilities":{}}`, nil, false},
		{`{"capabilities":{"general":{"positionEncodings":["utf-8"]},"textDocument":{"inlayHint":{}}},"initializationOptions":[]}`, nil, false},
		{`{"initializationOptions":null}`, nil, false},
		{`{"initializationOptions":{"gopls":{"a":1}}}`, nil, false},
		{`{"initializationOptions":{"tandem":null}}`, nil, false},
		{`{"initializationOptions":{"tandem":{"client":"vscode"}}}`, nil, false},
		{`{"initializationOptions":{"tandem":{"trusted":true}}}`, &yes, false},
		{`{"initializationOptions":{"tandem":{"trusted":false}}}`, &no, false},
		{`{"initializationOptions":{"tandem":{"trusted":"yes"}}}`, nil, true},
	}
	for _, row := range rows {
		var p InitializeParams
		if err := json.Unmarshal([]byte(row.in), &p); (err != nil) != row.bad {
			t.Errorf("%s: %v", row.in, err)
		}
		if row.bad {
			continue
		}
		var got *bool
		if p.Options.Tandem != nil {
			got = p.Options.Tandem.Trusted
		}
		if (got == nil) != (row.trusted == nil) || got != nil && *got != *row.trusted {
			t.Errorf("%s: trusted is %v", row.in, got)
		}
	}
}

func TestProgressToken(t *testing.T) {
	for in, want := range map[string]ProgressToken{`"a"`: TextToken("a"), `"7"`: TextToken("7"), "7": NumberToken(7), "4294967296": NumberToken(1 << 32)} {
		var got WorkDoneParams
		if err := json.Unmarshal([]byte(`{"token":`+in+`}`), &got); err != nil || got.Token != want {
			t.Errorf("%s: %v, %v", in, got.Token, err)
		}
		if out, err := json.Marshal(got.Token); err != nil || string(out) != in {
			t.Errorf("%s is written as %s, %v", in, out, err)
		}
	}
	for _, bad := range []string{"1.5", "{}", "true"} {
		if err := json.Unmarshal([]byte(bad), new(ProgressToken)); err == nil {
			t.Errorf("%s is a token", bad)
		}
	}
}

// An edit without a version says so with null, and a change without a range is the whole document.
func TestDocumentShapes(t *testing.T) {
	edit := DocumentChange{TextDocument: &EditedDocument{URI: "file:///a"}, Edits: []TextEdit{{NewText: "x"}}}
	want := `{"textDocument":{"uri":"file:///a","version":null},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":"x"}]}`
	if got, err := json.Marshal(edit); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	var change DidChangeParams
	if err := json.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"text":"all"},{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"a"}]}`), &change); err != nil {
		t.Fatal(err)
	}
	if change.Changes[0].Range != nil || change.Changes[1].Range == nil {
		t.Errorf("ranges: %+v", change.Changes)
	}
}
