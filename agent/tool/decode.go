package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tandem/agent/patch"
)

// arguments are those of any of the tools; a tool reads its own.
type arguments struct {
	path, glob, pattern, content, from, to string
	regex                                  bool
	first, last                            int
	edits                                  []Edit
	patch                                  []patch.File
}

// fields is a JSON object before its fields have types.
type fields map[string]json.RawMessage

// otherNames are names under which models know a field from elsewhere.
var otherNames = map[string][]string{
	"path":        {"file_path", "file", "filename"},
	"content":     {"contents", "file_text"},
	"pattern":     {"query"},
	"old":         {"old_string", "old_str", "old_text", "search"},
	"new":         {"new_string", "new_str", "new_text", "replace"},
	"from":        {"source", "old_path"},
	"to":          {"destination", "new_path"},
	"start_line":  {"start"},
	"end_line":    {"end"},
	"replace_all": {"replaceAll", "all"},
}

// decode reads the arguments of a call. Its errors name the field and show a right call.
func decode(name, args string) (arguments, error) {
	a, err := parse(name, args)
	if err != nil {
		return arguments{}, fmt.Errorf("%w. A right call: %s", err, examples[name])
	}
	return a, nil
}

func parse(name, args string) (a arguments, err error) {
	o, err := object(args)
	if err != nil {
		return a, err
	}
	switch name {
	case ListFiles:
		err = first(o.text(&a.path, "path"), o.text(&a.glob, "glob"))
	case Search:
		err = first(o.need(&a.pattern, "pattern"), o.text(&a.path, "path"), o.text(&a.glob, "glob"), o.flag(&a.regex, "regex"))
	case ReadFile:
		err = first(o.need(&a.path, "path"), o.number(&a.first, "start_line"), o.number(&a.last, "end_line"))
	case EditFile:
		err = a.change(o, args)
	case WriteFile:
		err = first(o.need(&a.path, "path"), o.present("content"), o.text(&a.content, "content"), a.wholePatch())
	case MoveFile:
		err = first(o.need(&a.from, "from"), o.need(&a.to, "to"))
	case DeleteFile:
		err = o.need(&a.path, "path")
	}
	return a, err
}

// change reads what edit_file shall do: a patch, in whichever field it came, or edits of one file.
func (a *arguments) change(o fields, args string) error {
	files, found, err := patch.In(args)
	if !found {
		if err := first(o.need(&a.path, "path"), o.edits(&a.edits)); err != nil {
			return err
		}
		a.patch = a.itself()
		return nil
	}
	raw, list := o.get("edits")
	_, old := o.get("old")
	if old || list && kind(raw) != "text" {
		return errors.New("a patch is given beside other edits: give one of them")
	}
	a.patch = files
	return err
}

// itself is a patch that an only edit would put into the very file which the patch is for. A patch
// for another file is text that may well stand in one.
func (a *arguments) itself() []patch.File {
	if len(a.edits) != 1 || a.edits[0].Old != "" && a.edits[0].New != "" {
		return nil
	}
	return patchOf(a.path, a.edits[0].Old+a.edits[0].New)
}

// patchOf is a patch for one file alone, which it neither moves nor deletes, or nil.
func patchOf(path, text string) []patch.File {
	if !patch.Begins(text) {
		return nil
	}
	files, err := patch.Parse(text, path)
	if err != nil || len(files) != 1 || files[0].Path != path || files[0].To != "" || files[0].Kind == patch.Delete {
		return nil
	}
	return files
}

// wholePatch refuses to put a patch of a file in its place.
func (a *arguments) wholePatch() error {
	if patchOf(a.path, a.content) == nil {
		return nil
	}
	return fmt.Errorf("content is a patch of %s and not its text: give it to edit_file as patch, or write the whole text", a.path)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// object reads a JSON object, also one that was put into a string once more.
func object(args string) (fields, error) {
	args = strings.TrimSpace(args)
	if args == "" {
		return fields{}, nil
	}
	var inner string
	if args[0] == '"' && json.Unmarshal([]byte(args), &inner) == nil {
		args = inner
	}
	var o fields
	if err := json.Unmarshal([]byte(args), &o); err != nil {
		if json.Valid([]byte(args)) {
			return nil, fmt.Errorf("the arguments must be a JSON object, not %s", kind(json.RawMessage(args)))
		}
		return nil, fmt.Errorf("the arguments are not valid JSON (%w)", err)
	}
	return o, nil
}

// kind says what a JSON value is, in words.
func kind(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0 || raw[0] == 'n':
		return "null"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "a list"
	case raw[0] == '"':
		return "text"
	case raw[0] == 't' || raw[0] == 'f':
		return "true or false"
	}
	return "a number"
}

// get gives a field by its name, or one of its other names; null is as if it were absent.
func (o fields) get(name string) (json.RawMessage, bool) {
	for _, n := range append([]string{name}, otherNames[name]...) {
		if raw, ok := o[n]; ok && kind(raw) != "null" {
			return raw, true
		}
	}
	return nil, false
}

func (o fields) present(name string) error {
	if _, ok := o.get(name); !ok {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

func (o fields) text(into *string, name string) error {
	raw, ok := o.get(name)
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("%s must be text in quotes, not %s", name, kind(raw))
	}
	return nil
}

// need is a text that must be there and not empty.
func (o fields) need(into *string, name string) error {
	if err := first(o.present(name), o.text(into, name)); err != nil {
		return err
	}
	if strings.TrimSpace(*into) == "" {
		return fmt.Errorf("%s is empty", name)
	}
	return nil
}

// peek is a text for display, "" when it is none.
func (o fields) peek(name string) string {
	s := ""
	if o.text(&s, name) != nil {
		return ""
	}
	return s
}

func (o fields) flag(into *bool, name string) error {
	raw, ok := o.get(name)
	if !ok || json.Unmarshal(raw, into) == nil {
		return nil
	}
	v, err := strconv.ParseBool(strings.ToLower(o.peek(name)))
	if err != nil {
		return fmt.Errorf("%s must be true or false, not %s", name, kind(raw))
	}
	*into = v
	return nil
}

func (o fields) number(into *int, name string) error {
	raw, ok := o.get(name)
	if !ok {
		return nil
	}
	s := o.peek(name)
	if s == "" {
		s = string(raw)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return fmt.Errorf("%s must be a number, not %s", name, kind(raw))
	}
	if v < 0 || v != math.Trunc(v) || v > math.MaxInt32 {
		return fmt.Errorf("%s must be a whole number from 1 on, not %s", name, s)
	}
	*into = int(v)
	return nil
}

// edits reads a list of edits, also as a list in quotes, as one edit without a list, or as
// the fields of one edit beside path.
func (of fields) edits(into *[]Edit) error {
	raw, ok := of.get("edits")
	if !ok {
		return of.alone(into)
	}
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		raw = json.RawMessage(inner)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		list = []json.RawMessage{raw}
	}
	if len(list) == 0 {
		return errors.New("edits is empty")
	}
	for i, raw := range list {
		var o fields
		if json.Unmarshal(raw, &o) != nil || o == nil {
			return fmt.Errorf("edits must be a list of objects with old and new, but number %d is none", i+1)
		}
		if err := first(of.sameFile(o, i+1), one(into, fmt.Sprintf("edits number %d", i+1), o)); err != nil {
			return err
		}
	}
	return nil
}

// sameFile refuses an edit of another file than the call's: it would be made in the wrong one.
func (o fields) sameFile(edit fields, number int) error {
	if name := edit.peek("path"); name != "" && name != o.peek("path") {
		return fmt.Errorf("edits number %d is for %s, but the call is for %s: make a call for each file, or give a patch of all of them", number, name, o.peek("path"))
	}
	return nil
}

// alone reads the one edit whose fields stand beside path.
func (o fields) alone(into *[]Edit) error {
	if _, ok := o.get("old"); ok {
		return one(into, "old and new", o)
	}
	if _, ok := o.get("content"); ok {
		return errors.New("edits is missing: for the whole text of a file call write_file")
	}
	if _, ok := o.get("start_line"); ok {
		return errors.New("edits is missing: a place is given by its old text, not by the numbers of lines")
	}
	return errors.New("edits is missing")
}

// one reads a single edit. A missing old or new is not taken for an empty one: that would
// overwrite, or delete.
func one(into *[]Edit, where string, o fields) error {
	var e Edit
	err := first(o.present("old"), o.present("new"), o.text(&e.Old, "old"), o.text(&e.New, "new"), o.flag(&e.ReplaceAll, "replace_all"))
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	*into = append(*into, e)
	return nil
}
