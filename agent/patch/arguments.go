package patch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The names under which models give a patch, and the path of its file beside it.
var (
	fields = []string{"patch", "diff", "input", "patch_text", "patchText", "unified_diff"}
	paths  = []string{"path", "file_path", "file", "filename"}
)

// In reads the patch that the arguments of a call to edit a file hold: in a field for it, or in
// place of the list of edits. Found is false where there is none.
func In(args string) (files []File, found bool, err error) {
	o := read(args)
	text, found, err := given(o)
	if err != nil || !found {
		return nil, found, err
	}
	beside := ""
	for _, name := range paths {
		if beside = word(o.get(name)); beside != "" {
			break
		}
	}
	files, err = Parse(text, beside)
	return files, true, err
}

// given is the text of the patch.
func given(o object) (text string, found bool, err error) {
	for _, name := range fields {
		raw := o.get(name)
		if raw == nil || string(raw) == "null" {
			continue
		}
		var value string
		if json.Unmarshal(raw, &value) != nil {
			return "", true, fmt.Errorf("%s must be the text of a patch in quotes", name)
		}
		if strings.TrimSpace(value) == "" {
			continue
		}
		if found {
			return "", true, fmt.Errorf("two patches are given, the second as %s: send one", name)
		}
		text, found = value, true
	}
	edits := strings.TrimSpace(word(o.get("edits")))
	if found || edits == "" || strings.ContainsRune("[{", rune(edits[0])) {
		return text, found, nil
	}
	lines, _ := unfenced(edits)
	return edits, form(lines) != unknown, nil
}

// object is the fields of a JSON object in their order.
type object []field

type field struct {
	name  string
	value json.RawMessage
}

// read gives the fields of an object; what is none has none.
func read(args string) object {
	d := json.NewDecoder(strings.NewReader(args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') || !json.Valid([]byte(args)) {
		return nil
	}
	var o object
	for d.More() {
		name, err := d.Token()
		var f field
		if err != nil || d.Decode(&f.value) != nil {
			return nil
		}
		f.name, _ = name.(string)
		o = append(o, f)
	}
	return o
}

// get is a field's value, the last where there are several, as for every reader of JSON here.
func (o object) get(name string) json.RawMessage {
	for _, f := range slices.Backward(o) {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// word is a text, or "" where there is none.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
