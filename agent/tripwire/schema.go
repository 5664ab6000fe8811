package tripwire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// shaped wants a file to be as a JSON Schema says.
type shaped struct{ file, schema string }

func (s *Schema) compile() (kind, error) {
	file, err := workspaceFile("file", s.File)
	if err != nil {
		return nil, err
	}
	if f := format(file); f != inJSON && f != inLines {
		return nil, wrong("file", "%q is no JSON by its name; it ends in .json, .jsonl or .ndjson", file)
	}
	schema, err := workspaceFile("schema", s.Schema)
	return shaped{file, schema}, err
}

func (s shaped) files() []string { return []string{s.file, s.schema} }

// A schema may refer to others beside it.
func (s shaped) touched(op Operation) bool {
	return op.wrote(func(p string) bool {
		return p == s.file || p == s.schema || (path.Dir(p) == path.Dir(s.schema) && path.Ext(p) == ".json")
	})
}

func (s shaped) check(l *look) verdict {
	expected := "as " + s.schema + " says"
	bad, err := s.differences(l)
	if err != nil {
		return l.failed(expected, err)
	}
	if len(bad.list) == 0 {
		return verdict{ok: true, expected: expected, observed: "it is"}
	}
	return verdict{expected: expected, observed: bad.summary(), evidence: bad}
}

// differences finds where the file is not as the schema says. A missing schema is never one to
// come: the file that it is about is there.
func (s shaped) differences(l *look) (pile, error) {
	var found pile
	if err := l.there(s.file); err != nil {
		return found, err
	}
	schema, err := s.load(l)
	if err != nil {
		return found, err
	}
	if format(s.file) == inLines {
		err := l.lines(s.file, func(n int, v any) error {
			faults(schema, v, &found, func(p pointer, says string) evidence {
				return evidence{text: fmt.Sprintf("%s, line %d %s", s.file, n, says), at: l.row(s.file, n)}
			})
			return nil
		})
		return found, err
	}
	d, err := l.json(s.file)
	if err == nil {
		faults(schema, d.root, &found, func(p pointer, says string) evidence {
			return evidence{text: s.file + " " + says, at: l.field(d, p)}
		})
	}
	return found, err
}

// load compiles the schema. What it refers to is read from the workspace, and from nowhere else.
func (s shaped) load(l *look) (*jsonschema.Schema, error) {
	o := &loader{l: l}
	c := jsonschema.NewCompiler().SetAssertFormat(true)
	for _, scheme := range []string{"http", "https"} {
		c.RegisterLoader(scheme, o.open)
	}
	for _, name := range sizes {
		c.RegisterFormat(name, func(any) bool { return true })
	}
	data, err := o.read(fileURL(s.schema))
	if err != nil {
		return nil, err
	}
	schema, err := c.Compile(data, fileURL(s.schema))
	if err == nil {
		err = o.complete(c, schema)
	}
	if o.err != nil {
		return nil, o.err
	}
	if err != nil {
		return nil, placedError{fmt.Errorf("%s is no JSON schema: %s", s.schema, oneLine(strings.ReplaceAll(err.Error(), workspaceURL, ""))), l.file(s.schema)}
	}
	return schema, nil
}

// sizes are formats of OpenAPI that say how a value is stored, and rule no value out. Any other
// format that is not known is a reason to stop: what it asks for would not be checked.
var sizes = []string{"int32", "int64", "float", "double", "byte", "binary", "password"}

// dialects are what a schema may declare itself to be.
var dialects = []jsonschema.Dialect{jsonschema.Draft202012, jsonschema.Draft201909, jsonschema.Draft7, jsonschema.Draft6, jsonschema.Draft4}

// workspaceURL is where the files of the workspace stand for references between schemas. Nothing
// is fetched: the host is nobody's.
const workspaceURL = "http://workspace.invalid/"

func fileURL(name string) string {
	return workspaceURL + (&url.URL{Path: name}).EscapedPath()
}

// loader reads schemas from the workspace. The library goes on without what cannot be read, so the
// first reason is kept.
type loader struct {
	l      *look
	others []string // the addresses that were read for references
	err    error
}

// open reads a schema that another one refers to.
func (o *loader) open(address string) (io.ReadCloser, error) {
	address, _, _ = strings.Cut(address, "#")
	data, err := o.read(address)
	if err != nil {
		o.err = cmp.Or(o.err, err)
		return nil, err
	}
	o.others = append(o.others, address)
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (o *loader) read(address string) ([]byte, error) {
	rest, ok := strings.CutPrefix(address, workspaceURL)
	name, err := url.PathUnescape(rest)
	if !ok || err != nil {
		return nil, placedError{error: fmt.Errorf("the schema %s is not in the workspace; nothing is fetched", address)}
	}
	data, err := o.l.read(name)
	if errors.Is(err, ErrNotYet) {
		return nil, placedError{fmt.Errorf("the schema %s is missing", name), o.l.file(name)}
	}
	if err != nil {
		return nil, err
	}
	if err := known(data); err != nil {
		return nil, placedError{fmt.Errorf("the schema %s %w", name, err), o.l.file(name)}
	}
	return data, nil
}

// known says why a schema cannot be read as it is meant.
func known(data []byte) error {
	var any json.RawMessage
	if err := json.Unmarshal(data, &any); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	var head struct {
		Schema string `json:"$schema"`
	}
	if json.Unmarshal(data, &head) != nil || head.Schema == "" {
		return nil // it is of the newest dialect, or the compiler says what is wrong with it
	}
	declared := strings.TrimSuffix(head.Schema, "#")
	if slices.ContainsFunc(dialects, func(d jsonschema.Dialect) bool { return strings.TrimSuffix(string(d), "#") == declared }) {
		return nil
	}
	return fmt.Errorf("declares itself as %s, which is not known", head.Schema)
}

// complete says which reference of a schema, or of one that it refers to, leads nowhere. The library
// takes such a one for met.
func (o *loader) complete(c *jsonschema.Compiler, schema *jsonschema.Schema) error {
	all := []*jsonschema.Schema{schema}
	for _, address := range o.others {
		other, err := c.Schema(address)
		if err != nil {
			return err
		}
		all = append(all, other)
	}
	for _, s := range all {
		if open := s.UnresolvedReferenceURIs(); len(open) > 0 {
			return fmt.Errorf("its reference %s leads nowhere", slices.Min(open))
		}
	}
	return nil
}

// faults finds the places at which a value is not as a schema says, in their order.
func faults(schema *jsonschema.Schema, v any, found *pile, at func(p pointer, says string) evidence) {
	result := schema.Validate(v)
	if result.IsValid() {
		return
	}
	all := leaves(result, nil)
	slices.SortFunc(all, func(a, b fault) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, byPlace), cmp.Compare(a.says, b.says))
	})
	for _, leaf := range slices.CompactFunc(all, func(a, b fault) bool { return slices.Equal(a.at, b.at) && a.says == b.says }) {
		found.add(func() evidence {
			e := at(leaf.at, strings.TrimPrefix(leaf.at.String()+": "+leaf.says, ": "))
			there, _, _ := leaf.at.in(v)
			e.observed = jsonText(there)
			return e
		})
	}
}

// byPlace has the tenth item stand behind the ninth.
func byPlace(a, b string) int {
	m, isIndex := index(a)
	n, isOther := index(b)
	if isIndex && isOther {
		return cmp.Compare(m, n)
	}
	return cmp.Compare(a, b)
}

// fault is one thing that is wrong with a value, where it is.
type fault struct {
	at   pointer
	says string
}

// leaves are the errors of a result that have no others below them, of which they are made.
func leaves(r *jsonschema.EvaluationResult, at pointer) []fault {
	var out []fault
	for _, keyword := range slices.Sorted(maps.Keys(r.Errors)) {
		e := r.Errors[keyword]
		below := len(out)
		if e.Code != "one_of_multiple_matches" && keyword != "not" {
			for _, d := range r.Details {
				if !d.IsValid() && belongs(d, keyword) && !refused(d) {
					out = append(out, leaves(d, within(d, at))...)
				}
			}
		}
		if len(out) == below {
			says := e.Error()
			out = append(out, fault{at, strings.ToLower(says[:1]) + says[1:]})
		}
	}
	return out
}

// belongs says that a result below another one led to its error of a keyword. What was evaluated for
// other keywords may be invalid without harm, such as the condition of an if.
func belongs(d *jsonschema.EvaluationResult, keyword string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(d.EvaluationPath, "/"), "/")
	switch first {
	case "": // the library gives these no path
		return keyword == "$ref" || keyword == "$dynamicRef" || keyword == "else"
	case "contains":
		return false // which of the items should have been there nobody knows
	case "unevaluatedProperties":
		return keyword == "properties" || keyword == first
	}
	return keyword == first
}

// refused says that a value must not be there at all, which is said better by the one around it.
func refused(d *jsonschema.EvaluationResult) bool {
	return d.Errors["schema"] != nil && len(d.Errors) == 1
}

// within is the place of a result that stands below another.
func within(d *jsonschema.EvaluationResult, at pointer) pointer {
	if d.InstanceLocation == "" || strings.HasPrefix(d.EvaluationPath, "/dependentSchemas") {
		return at
	}
	return at.child(strings.TrimPrefix(d.InstanceLocation, "/"))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
