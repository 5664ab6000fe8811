package main

import (
	"fmt"
	"go/ast"
)

// shape is the form of a value on the wire.
type shape struct {
	kind kind
	name string // of a named type
	elem *shape // of a list, a dict, or what may be null
}

// kind tells the forms apart.
type kind int

const (
	text kind = iota
	boolean
	integer
	number
	moment  // a time, RFC 3339 in UTC
	unknown // any JSON
	ref     // a named type
	list
	dict // an object with free keys
	orNull
)

// scalars are the Go types that are one word in every language.
var scalars = map[string]kind{
	"string": text, "bool": boolean, "any": unknown, "float32": number, "float64": number,
	"int": integer, "int8": integer, "int16": integer, "int32": integer, "int64": integer,
	"uint": integer, "uint8": integer, "uint16": integer, "uint32": integer, "uint64": integer,
	"time.Time": moment, "json.RawMessage": unknown,
	"uri.URI": text, "lsp.URI": text, "lsp.DocumentURI": text,
}

// borrowed are the types of LSP that Tandem's own bear; their source is not ours to read, so
// their fields stand here, and a test holds them against the library.
var borrowed = map[string][]field{
	"Position": {
		{Name: "line", Doc: "Counted from 0.", Shape: shape{kind: integer}},
		{Name: "character", Doc: "Counted from 0, in units of the negotiated position encoding.", Shape: shape{kind: integer}},
	},
	"Range": {
		{Name: "start", Doc: "The first place in the range.", Shape: shape{kind: ref, name: "Position"}},
		{Name: "end", Doc: "The place behind the last one in the range.", Shape: shape{kind: ref, name: "Position"}},
	},
}

// shapeOf is the shape of a Go type. A pointer has the shape of what it points to: whether it may
// be absent or null is the field's to say.
func shapeOf(e ast.Expr) (shape, error) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return shapeOf(e.X)
	case *ast.ArrayType:
		return container(list, e.Elt)
	case *ast.IndexExpr:
		if id, ok := e.X.(*ast.Ident); ok && id.Name == "List" {
			return container(list, e.Index)
		}
	case *ast.MapType:
		return container(dict, e.Value)
	case *ast.InterfaceType:
		return shape{kind: unknown}, nil
	case *ast.Ident, *ast.SelectorExpr:
		return word(spelt(e)), nil
	}
	return shape{}, fmt.Errorf("no shape for %T: use a simpler type, or teach shapeOf this one", e)
}

func container(k kind, of ast.Expr) (shape, error) {
	elem, err := shapeOf(of)
	return shape{kind: k, elem: &elem}, err
}

// word is the shape of a name: a scalar, or a type that is declared somewhere.
func word(name string) shape {
	if k, ok := scalars[name]; ok {
		return shape{kind: k}
	}
	return shape{kind: ref, name: name}
}

// spelt is a name as it stands in the source, with its package.
func spelt(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return spelt(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return spelt(e.X)
	}
	return ""
}

// refs lists the named types that a shape bears.
func (s shape) refs() []string {
	if s.elem != nil {
		return s.elem.refs()
	}
	if s.kind == ref {
		return []string{s.name}
	}
	return nil
}

// dialect is how a language spells shapes.
type dialect struct {
	words  map[kind]string
	name   string // format of a named type
	list   string // format of a list
	dict   string // format of an object with free keys
	orNull string // format of what may be null
}

func (d dialect) spell(s shape) string {
	switch s.kind {
	case ref:
		return fmt.Sprintf(d.name, s.name)
	case list:
		return fmt.Sprintf(d.list, d.spell(*s.elem))
	case dict:
		return fmt.Sprintf(d.dict, d.spell(*s.elem))
	case orNull:
		return fmt.Sprintf(d.orNull, d.spell(*s.elem))
	}
	return d.words[s.kind]
}
