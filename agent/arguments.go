package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/agent/patch"
	"tandem/protocol"
)

// The arguments of the tools that the core works itself. Weak models are expected: a list of
// one may come as the one, a number as an id, a command without its object.
type (
	planArguments struct {
		Steps            []stepArgument `json:"steps"`
		Explanation      string         `json:"explanation"`
		Consequences     words          `json:"consequences"`
		Conflicts        words          `json:"conflicts"`
		CancelOperations words          `json:"cancel_operations"`
		RevertSteps      words          `json:"revert_steps"`
		Tripwires        objects        `json:"tripwires"`
	}
	stepArgument struct {
		ID        word    `json:"id"`
		Title     string  `json:"title"`
		Intent    string  `json:"intent"`
		Status    string  `json:"status"`
		Files     *words  `json:"files"`
		DependsOn *words  `json:"depends_on"`
		Verify    *verify `json:"verify"`
	}
	decisionArguments struct {
		Summary      string                `json:"summary"`
		Rationale    string                `json:"rationale"`
		Alternatives []alternativeArgument `json:"alternatives"`
		Path         string                `json:"path"`
		Line         int                   `json:"line"`
		Significance protocol.Significance `json:"significance"`
	}
	alternativeArgument struct {
		ID          word   `json:"id"`
		Title       string `json:"title"`
		Consequence string `json:"consequence"`
	}
	pauseArguments struct {
		Facts       words            `json:"facts"`
		LikelyCause string           `json:"likely_cause"`
		Options     []optionArgument `json:"options"`
	}
	optionArgument struct {
		Title   string `json:"title"`
		Detail  string `json:"detail"`
		Touches words  `json:"touches"`
		Files   words  `json:"files"`
	}
	questionArguments struct {
		Questions []questionArgument `json:"questions"`
	}
	questionArgument struct {
		Text    string `json:"text"`
		Options words  `json:"options"`
	}
	finishArguments struct {
		Summary  string `json:"summary"`
		Evidence words  `json:"evidence"`
	}
	checkInArguments struct {
		Verdict   string             `json:"verdict"`
		NextSteps []nextArgument     `json:"next_steps"`
		Questions []questionArgument `json:"questions"`
		Brief     briefArgument      `json:"brief"`
	}
	nextArgument struct {
		Step word   `json:"step"`
		Text string `json:"text"`
	}
	briefArgument struct {
		Goal        string         `json:"goal"`
		Done        []doneArgument `json:"done"`
		Remaining   words          `json:"remaining"`
		Assumptions words          `json:"assumptions"`
		Risks       words          `json:"risks"`
	}
	doneArgument struct {
		Text              string `json:"text"`
		EvidenceOperation word   `json:"evidence_operation"`
		EvidenceCommand   string `json:"evidence_command"`
	}
	stopArguments struct {
		Operation word `json:"operation"`
	}
	// commonArguments stand in every call.
	commonArguments struct {
		Intent     string `json:"intent"`
		Step       word   `json:"step"`
		Background bool   `json:"background"`
	}
)

// word is a string that a model may give as a number.
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*w = word(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("want a string, got %s", clip(string(b), 40))
	}
	*w = word(n.String())
	return nil
}

// words is a list of strings that a model may give as one string.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	var one word
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if one.UnmarshalJSON(b) == nil {
		if one != "" {
			*w = words{string(one)}
		}
		return nil
	}
	var many []word
	if err := json.Unmarshal(b, &many); err != nil {
		return fmt.Errorf("want a list of strings, got %s", clip(string(b), 40))
	}
	*w = words{}
	for _, one := range many {
		*w = append(*w, string(one))
	}
	return nil
}

// objects is a list of objects that a model may give as one; what is neither is none.
type objects []json.RawMessage

func (o *objects) UnmarshalJSON(b []byte) error {
	if isObject(string(b)) {
		*o = objects{bytes.Clone(b)}
		return nil
	}
	_ = json.Unmarshal(b, (*[]json.RawMessage)(o)) // a plan is not refused for it
	return nil
}

// UnmarshalJSON reads an option that a model gave as its title alone.
func (o *optionArgument) UnmarshalJSON(b []byte) error {
	type plain optionArgument
	if json.Unmarshal(b, &o.Title) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(o))
}

// UnmarshalJSON reads a question that a model gave as its text alone.
func (q *questionArgument) UnmarshalJSON(b []byte) error {
	type plain questionArgument
	if json.Unmarshal(b, &q.Text) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(q))
}

// UnmarshalJSON reads an alternative that a model gave as its title alone.
func (a *alternativeArgument) UnmarshalJSON(b []byte) error {
	type plain alternativeArgument
	if json.Unmarshal(b, &a.Title) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(a))
}

// UnmarshalJSON reads a next step that a model gave as its text alone.
func (n *nextArgument) UnmarshalJSON(b []byte) error {
	type plain nextArgument
	if json.Unmarshal(b, &n.Text) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(n))
}

// UnmarshalJSON reads a claim that a model gave as its text alone.
func (d *doneArgument) UnmarshalJSON(b []byte) error {
	type plain doneArgument
	if json.Unmarshal(b, &d.Text) == nil {
		return nil
	}
	return json.Unmarshal(b, (*plain)(d))
}

// verify is {"command": …}; a model may give the command alone.
type verify struct{ Command string }

func (v *verify) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &v.Command) == nil {
		return nil
	}
	var o struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return fmt.Errorf("want {\"command\": …}, got %s", clip(string(b), 40))
	}
	v.Command = o.Command
	return nil
}

// arguments reads a call's arguments. The error is for the model: it names what is wrong and
// shows a right call.
func arguments(tool, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the arguments of %s cannot be read: %s. A right call: %s", tool, reason(err), example(tool))
	}
	return nil
}

func reason(err error) string {
	if t, ok := err.(*json.UnmarshalTypeError); ok {
		return fmt.Sprintf("%s: got a JSON %s", t.Field, t.Value)
	}
	return err.Error()
}

// common reads what every call bears; arguments that are no object give nothing.
func common(text string) commonArguments {
	var c commonArguments
	var raw struct {
		Intent     json.RawMessage `json:"intent"`
		Step       json.RawMessage `json:"step"`
		Background json.RawMessage `json:"background"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return c
	}
	// Each is read alone, so that one of a wrong type does not hide the others.
	_ = json.Unmarshal(raw.Intent, &c.Intent)
	_ = json.Unmarshal(raw.Step, &c.Step)
	_ = json.Unmarshal(raw.Background, &c.Background)
	return c
}

// target is what a call is about, in one line: a path, a pattern or a command.
func target(tool, text string) string {
	var a struct {
		Path, Pattern, From, To, Command, Summary, Operation string
	}
	if json.Unmarshal([]byte(text), &a) != nil {
		return ""
	}
	switch tool {
	case toolEditFile:
		if files, _, err := patch.In(text); err == nil && len(files) > 0 {
			return clip(strings.Join(patch.Names(files), ", "), 200)
		}
	case toolSearch:
		return clip(a.Pattern, 200)
	case toolMoveFile:
		return clip(a.From+" → "+a.To, 200)
	case toolRunCommand:
		return clip(strings.TrimSpace(a.Command), 200)
	case toolAnnounce:
		return clip(a.Summary, 200)
	case toolStopCommand:
		return a.Operation
	}
	return clip(a.Path, 200)
}

// fileFields are the names by which agent/tool takes a file.
var fileFields = []string{"path", "file_path", "file", "filename", "from", "source", "old_path", "to", "destination", "new_path"}

// filesIn are the files that a call of a file tool may mean: each name that it takes, read alone, so
// that one of a wrong type does not hide the others, and all those of a patch.
func filesIn(text string) []string {
	patched, _, _ := patch.In(text) // one that is none is refused by the tool
	files := patch.Names(patched)
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil // the tool refuses it
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return files
		}
		var file string
		if name, ok := key.(string); ok && slices.Contains(fileFields, name) && json.Unmarshal(value, &file) == nil && file != "" {
			files = append(files, file)
		}
	}
	return files
}

// deletes is a file that a call deletes, or "".
func deletes(c Call) string {
	switch c.Op.Tool {
	case toolDeleteFile:
		if files := filesIn(c.Arguments); len(files) > 0 {
			return files[0]
		}
	case toolEditFile:
		patched, _, _ := patch.In(c.Arguments)
		for _, f := range patched {
			if f.Kind == patch.Delete {
				return f.Path
			}
		}
	}
	return ""
}

// toolApplyPatch is no tool of ours, but one that many models were taught: a call of it is one of
// edit_file with a patch.
const toolApplyPatch = "apply_patch"

// meant is a call as it is worked. What the conversation holds is what the model said.
func meant(c ModelCall) ModelCall {
	if c.Name != toolApplyPatch {
		return c
	}
	c.Name = toolEditFile
	if isObject(c.Arguments) {
		return c
	}
	var text string
	if json.Unmarshal([]byte(c.Arguments), &text) != nil {
		text = c.Arguments // the patch itself, as some give it
	}
	if !isObject(text) {
		text = encode(struct {
			Patch string `json:"patch"`
		}{text})
	}
	c.Arguments = text
	return c
}

// object is the arguments as the conversation holds them: always an object, never empty. What
// a model said that is none is kept as it was said.
func object(text string) string {
	if isObject(text) {
		return text
	}
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	return encode(struct {
		Unreadable string `json:"unreadable"`
	}{text})
}

// shape tells an object from other JSON without reading it.
type shape struct{ isObject bool }

func (m *shape) UnmarshalJSON(b []byte) error {
	m.isObject = len(b) > 0 && b[0] == '{'
	return nil
}

// number is the number in an id such as t12, or 0.
func number(id string) int {
	n, err := strconv.Atoi(strings.TrimLeft(id, "abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		return 0
	}
	return n
}

// fault says where a text stops to be JSON; nothing where it is some other JSON.
func fault(text string) string {
	var bad *json.SyntaxError
	if err := json.Unmarshal([]byte(text), &shape{}); errors.As(err, &bad) {
		return fmt.Sprintf(" (%v, at byte %d of %d)", bad, bad.Offset, len(text))
	}
	return ""
}

// isObject says that a call's arguments are a JSON object.
func isObject(text string) bool {
	var o shape
	return json.Unmarshal([]byte(text), &o) == nil && o.isObject
}
