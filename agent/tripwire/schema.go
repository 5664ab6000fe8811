package tripwire

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(loader{l})
	schema, err := c.Compile(fileURL(s.schema))
	if err != nil {
		var e *jsonschema.LoadURLError
		if errors.As(err, &e) {
			return nil, e.Err
		}
		return nil, placedError{fmt.Errorf("%s is no JSON schema: %s", s.schema, oneLine(strings.ReplaceAll(err.Error(), workspaceURL, ""))), l.file(s.schema)}
	}
	return schema, nil
}

// workspaceURL is where the files of the workspace stand for references between schemas. Nothing
// is fetched: the host is nobody's.
const workspaceURL = "http://workspace.invalid/"

func fileURL(name string) string {
	return workspaceURL + (&url.URL{Path: name}).EscapedPath()
}

// loader reads schemas from the workspace.
type loader struct{ l *look }

func (o loader) Load(address string) (any, error) {
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
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, placedError{fmt.Errorf("the schema %s is not JSON: %w", name, err), o.l.file(name)}
	}
	return v, nil
}

// faults finds the places at which a value is not as a schema says.
func faults(schema *jsonschema.Schema, v any, found *pile, at func(p pointer, says string) evidence) {
	var e *jsonschema.ValidationError
	if err := schema.Validate(v); !errors.As(err, &e) {
		return
	}
	english := message.NewPrinter(language.English)
	for _, leaf := range leaves(e) {
		found.add(func() evidence {
			p := pointer(leaf.InstanceLocation)
			e := at(p, strings.TrimPrefix(p.String()+": "+leaf.ErrorKind.LocalizedString(english), ": "))
			there, _, _ := p.in(v)
			e.observed = jsonText(there)
			return e
		})
	}
}

// leaves are the errors that have no others below them, of which they are made.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var out []*jsonschema.ValidationError
	for _, c := range e.Causes {
		out = append(out, leaves(c)...)
	}
	return out
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
