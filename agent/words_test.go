package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kaptinlin/jsonschema"
)

// What every request bears is small, and the same bytes always: providers cache by the prefix.
func TestWordsAreFewAndStable(t *testing.T) {
	words := systemWords + string(Tools())
	if len(words) > 8192 {
		t.Errorf("the system message and the tools are %d bytes together, 8192 are allowed", len(words))
	}
	if !json.Valid(Tools()) {
		t.Error("the tools are no JSON")
	}
	const path = "testdata/words.golden"
	want, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	compareGolden(t, path, string(want), systemWords+"\n\n"+strings.ReplaceAll(string(Tools()), `{"type":"function"`, "\n"+`{"type":"function"`)+"\n")
}

// promised is the table of tools that the protocol promises to the model, in its order, with the
// arguments beside intent and step; one with ? may be left out.
var promised = []struct{ name, arguments string }{
	{"update_plan", "steps explanation consequences? conflicts? cancel_operations? revert_steps? tripwires?"},
	{"announce_decision", "summary rationale alternatives path? line? significance"},
	{"list_files", "path? glob?"},
	{"search", "pattern path? glob? regex?"},
	{"read_file", "path start_line? end_line?"},
	{"edit_file", "path edits"},
	{"write_file", "path content"},
	{"move_file", "from to"},
	{"delete_file", "path"},
	{"run_command", "command cwd? timeout_s? background? network?"},
	{"stop_command", "operation"},
	{"call_pause", "facts likely_cause options"},
	{"ask_developer", "questions"},
	{"check_in", "verdict next_steps questions brief"},
	{"finish", "summary evidence?"},
}

type toolSchema struct {
	Type     string
	Function struct {
		Name, Description string
		Parameters        struct {
			Type       string
			Properties json.RawMessage
			Required   []string
		}
	}
}

func readTools(t *testing.T) []toolSchema {
	t.Helper()
	var all []toolSchema
	if err := json.Unmarshal(Tools(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestToolsAreThoseOfTheProtocol(t *testing.T) {
	all := readTools(t)
	if len(all) != len(promised) {
		t.Fatalf("there are %d tools, the protocol has %d", len(all), len(promised))
	}
	for i, want := range promised {
		f := all[i].Function
		if all[i].Type != "function" || f.Name != want.name || f.Description == "" || f.Parameters.Type != "object" {
			t.Errorf("tool %d is %+v, want %s", i, f, want.name)
		}
		names := append([]string{"intent", "step"}, strings.Fields(strings.ReplaceAll(want.arguments, "?", ""))...)
		if got := keysInOrder(t, f.Parameters.Properties); !slices.Equal(got, names) {
			t.Errorf("%s takes %v, the protocol says %v", want.name, got, names)
		}
		for _, r := range f.Parameters.Required {
			if !slices.Contains(names, r) || slices.Contains(strings.Fields(want.arguments), r+"?") {
				t.Errorf("%s requires %s, which the protocol lets be left out", want.name, r)
			}
		}
	}
}

// keysInOrder is the names of an object's fields as they stand.
func keysInOrder(t *testing.T, object json.RawMessage) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	var names []string
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(name))
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// Each tool's schema is one, and the example that is shown to a model which called it wrong is right.
func TestExamplesAreRightCalls(t *testing.T) {
	for i, tool := range readTools(t) {
		name := tool.Function.Name
		schema, err := jsonschema.NewCompiler().Compile(toolParameters(t, i))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := schema.ValidateJSON([]byte(example(name))); !r.IsValid() {
			t.Errorf("%s: the example is no right call: %v", name, r.DetailedErrors())
		}
		if schema.ValidateJSON([]byte("{}")).IsValid() {
			t.Errorf("%s: a call without its arguments is taken for right", name)
		}
	}
}

// toolParameters is the schema of a tool's arguments.
func toolParameters(t *testing.T, i int) []byte {
	t.Helper()
	var all []struct {
		Function struct{ Parameters json.RawMessage }
	}
	if err := json.Unmarshal(Tools(), &all); err != nil {
		t.Fatal(err)
	}
	return all[i].Function.Parameters
}

// The examples of the tools that the core works itself pass its own reading, and are worked.
func TestExamplesAreTaken(t *testing.T) {
	for _, name := range []string{toolUpdatePlan, toolAnnounce, toolCallPause, toolAskDeveloper, toolFinish} {
		w := newWorld()
		post(t, w, Start{ID: "x", Task: "go", Trusted: true})
		post(t, w, Replied{Question: w.state.Question.ID, Calls: []ModelCall{{Name: name, Arguments: example(name)}}})
		ops := w.state.Ops()
		if last := ops[len(ops)-1].Op; last.Tool != name || last.Status != "done" {
			t.Errorf("%s: the example ended as %+v", name, last)
		}
	}
	var args stopArguments
	if err := arguments(toolStopCommand, example(toolStopCommand), &args); err != nil || args.Operation == "" {
		t.Errorf("stop_command: %+v %v", args, err)
	}
}

func post(t *testing.T, w *world, in Input) {
	t.Helper()
	if _, err := w.post(in); err != nil {
		t.Fatalf("%T: %v", in, err)
	}
}

// An input without its time is a fault of the caller, said as an error.
func TestInputNeedsItsTime(t *testing.T) {
	if events, err := (State{}).Decide(Start{Task: "go"}); err == nil || events != nil {
		t.Errorf("%v %v", events, err)
	}
}

// A server's own field of a call goes back to it as it came; one that is no JSON does not.
func TestExtraOfACall(t *testing.T) {
	for extra, want := range map[string]string{`{"sig":"<a>"}`: `"extra_content":{"sig":"<a>"}`, `{`: ``, ``: ``} {
		text := string(assistantMessage(Replied{Calls: []ModelCall{{Name: "finish", Arguments: "{}", Extra: json.RawMessage(extra)}}}, 3))
		if !json.Valid([]byte(text)) || strings.Contains(text, "extra_content") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("with %q: %s", extra, text)
		}
	}
}

// Each event has its own kind, in the past tense, and is read back by it; no other is known.
func TestKinds(t *testing.T) {
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile(`(?m)^func \((\w+)\) event\(\)`).FindAllSubmatch(source, -1)
	if len(types) < 30 {
		t.Fatalf("event.go has %d events", len(types))
	}
	for _, m := range types {
		name := string(m[1])
		kind := strings.ToLower(name[:1]) + name[1:]
		e, err := Decode(kind, []byte("{}"))
		if err != nil {
			t.Errorf("%s is not read: %v", name, err)
		} else if got := fmt.Sprintf("%T", e); got != "agent."+name || Kind(e) != kind {
			t.Errorf("%s is read as %s of kind %s", kind, got, Kind(e))
		}
	}
	if _, err := Decode("dreamt", []byte("{}")); err == nil || !strings.Contains(err.Error(), "dreamt") {
		t.Errorf("an unknown kind: %v", err)
	}
	if _, err := Decode("asked", []byte(`{"at":7}`)); err == nil {
		t.Error("an event of another form was read")
	}
}
