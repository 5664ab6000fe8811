package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// source is a package as it was read: every type, and the constants that tell something.
type source struct {
	types  []named             // in order of declaration, Go-only ones too
	values map[string][]value  // by type
	kinds  map[string]refusal  // by the Go name of the kind
	order  []string            // of the kinds
	codes  map[string]string   // by the Go name of the constant
	calls  map[string][]method // by prefix: Method or Note
	ver    string
}

// roots are the types that cross the wire without being a method's params or result.
var roots = []string{"ErrorData", "TandemOptions", "TandemOffer"}

// read makes the reference of the package in dir. Files are read by name, so that the same source
// always makes the same reference.
func read(dir string) (*reference, error) {
	files, err := parse(dir)
	if err != nil {
		return nil, err
	}
	src := &source{values: map[string][]value{}, kinds: map[string]refusal{}, codes: map[string]string{}, calls: map[string][]method{}}
	for _, file := range files {
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				err = errors.Join(err, src.declare(d))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return src.reference()
}

// parse reads every Go file of a folder but tests.
func parse(dir string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (s *source) declare(d *ast.GenDecl) (err error) {
	var above *ast.CommentGroup // a comment above a group is not that of each in it
	if !d.Lparen.IsValid() {
		above = d.Doc
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			err = errors.Join(err, s.addType(spec, plain(spec.Doc, above)))
		case *ast.ValueSpec:
			if d.Tok == token.CONST {
				err = errors.Join(err, s.addConst(spec, plain(spec.Doc, above)))
			}
		}
	}
	return err
}

// plain is the first comment that is there, in one line.
func plain(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if c != nil {
			return strings.Join(strings.Fields(c.Text()), " ")
		}
	}
	return ""
}

func (s *source) addType(spec *ast.TypeSpec, doc string) error {
	t := named{Name: spec.Name.Name, Doc: doc}
	if fields, ok := borrowed[t.Name]; ok && spec.Assign.IsValid() {
		t.Fields = fields
		s.types = append(s.types, t)
		return nil
	}
	if spec.TypeParams != nil {
		return nil // List, which every use of it spells out
	}
	var err error
	if st, ok := spec.Type.(*ast.StructType); ok {
		err = t.addFields(st)
	} else {
		t.Shape, err = shapeOf(spec.Type)
	}
	if err != nil {
		return fmt.Errorf("type %s: %w", t.Name, err)
	}
	s.types = append(s.types, t)
	return nil
}

// addFields takes the fields that have a name on the wire, and the embedded structs.
func (t *named) addFields(st *ast.StructType) error {
	goNames := map[string]string{}
	for _, f := range st.Fields.List {
		name, options := tag(f)
		switch {
		case len(f.Names) == 0 && name == "":
			t.Embeds = append(t.Embeds, spelt(f.Type))
		case name == "" || name == "-":
		default:
			made, err := fieldOf(f, name, options)
			if err != nil {
				return fmt.Errorf("field %s: %w", name, err)
			}
			t.Fields = append(t.Fields, made)
			goNames[f.Names[0].Name] = name
		}
	}
	t.Doc = onTheWire(t.Doc, goNames)
	for i := range t.Fields {
		t.Fields[i].Doc = onTheWire(t.Fields[i].Doc, goNames)
	}
	return nil
}

// tag is a field's name on the wire and its options.
func tag(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	name, options, _ = strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	return name, options
}

// fieldOf makes a field. What is left out when it is empty is optional; a pointer that is never
// left out may be null.
func fieldOf(f *ast.Field, name, options string) (field, error) {
	doc := untitled(plain(f.Doc, f.Comment), f.Names[0].Name)
	made := field{Name: name, Doc: doc, Optional: strings.Contains(options, "omit")}
	form, err := shapeOf(f.Type)
	if _, pointer := f.Type.(*ast.StarExpr); pointer && !made.Optional {
		made.Shape = shape{kind: orNull, elem: &form}
		return made, err
	}
	made.Shape = form
	return made, err
}

// untitled takes the name off a comment's front, which what is generated shows beside it anyway:
// «Seq is the last event.» becomes «The last event.»
func untitled(doc, name string) string {
	rest, titled := strings.CutPrefix(doc, name+" ")
	if !titled || strings.HasPrefix(rest, "and ") {
		return doc
	}
	for _, verb := range []string{"is ", "are ", "means that ", "means "} {
		if after, ok := strings.CutPrefix(rest, verb); ok {
			rest = after
			break
		}
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

var capitalised = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// onTheWire gives the fields that a comment names the names that they have on the wire. A word all
// in capitals, such as URI, is more often the thing than the field.
func onTheWire(doc string, goNames map[string]string) string {
	return capitalised.ReplaceAllStringFunc(doc, func(word string) string {
		if name, ok := goNames[word]; ok && word != strings.ToUpper(word) {
			return "`" + name + "`"
		}
		return word
	})
}

// addConst files a constant under what it tells: a method, an error's code, a value of a type, or
// the version. Others are of Go alone.
func (s *source) addConst(spec *ast.ValueSpec, doc string) error {
	if len(spec.Values) != 1 {
		return nil
	}
	name, literal := spec.Names[0].Name, literalOf(spec.Values[0])
	switch {
	case spec.Type != nil:
		if doc == "" {
			doc = plain(spec.Comment)
		}
		s.addValue(spelt(spec.Type), name, value{Literal: literal, Doc: untitled(doc, name)})
	case strings.HasPrefix(literal, `"tandem/`):
		return s.addMethod(name, literal, untitled(doc, name), plain(spec.Comment))
	case strings.HasPrefix(name, "Code"):
		s.codes[name] = literal
	case name == "Version":
		s.ver = literal
	}
	return nil
}

// literalOf is the text of a constant that is one literal, signed or not.
func literalOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.UnaryExpr:
		return e.Op.String() + literalOf(e.X)
	}
	return ""
}

func (s *source) addValue(typ, name string, v value) {
	if v.Literal == "" {
		return
	}
	s.values[typ] = append(s.values[typ], v)
	if typ != "ErrorKind" {
		return
	}
	s.order = append(s.order, name)
	s.kinds[name] = refusal{Kind: strings.Trim(v.Literal, `"`), Doc: v.Doc}
}

// addMethod reads a method: its constant says Method or Note, the comment above it what it does,
// and the comment behind it its params and result.
func (s *source) addMethod(name, literal, doc, bears string) error {
	words := strings.Split(bears, ", ")
	method := method{Name: strings.Trim(literal, `"`), Doc: doc, Params: words[0]}
	prefix := "Note"
	switch {
	case strings.HasPrefix(name, "Method") && len(words) == 2:
		prefix, method.Result = "Method", words[1]
	case strings.HasPrefix(name, "Note") && len(words) == 1:
	default:
		return fmt.Errorf("constant %s: a request is MethodX followed by «// Params, Result», a notification NoteX followed by «// Params»", name)
	}
	if method.Doc == "" || method.Params == "" {
		return fmt.Errorf("constant %s: say above it what it does and behind it what it bears", name)
	}
	s.calls[prefix] = append(s.calls[prefix], method)
	return nil
}

// reference is what the wire bears of the source.
func (s *source) reference() (*reference, error) {
	r := &reference{Version: s.ver, Requests: s.calls["Method"], Notifications: s.calls["Note"]}
	for _, name := range s.order {
		kind := s.kinds[name]
		kind.Code = s.codes["Code"+name]
		if kind.Code == "" || kind.Doc == "" {
			return nil, fmt.Errorf("error kind %s: give it a comment and a constant Code%s", name, name)
		}
		r.Errors = append(r.Errors, kind)
	}
	reached, err := s.reach(slices.Concat(r.borne(), roots))
	if err != nil {
		return nil, err
	}
	for _, t := range s.types {
		if reached[t.Name] {
			t.Values = s.values[t.Name]
			r.Types = append(r.Types, t)
		}
	}
	return r, nil
}

// reach finds the types that the named ones bear, and those that these bear, and so on.
func (s *source) reach(names []string) (map[string]bool, error) {
	reached := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if reached[name] {
			continue
		}
		i := slices.IndexFunc(s.types, func(t named) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("type %s crosses the wire and is not declared in package protocol: declare it, or add its shape to borrowed", name)
		}
		reached[name] = true
		names = append(names, s.types[i].refs()...)
	}
	return reached, nil
}

// refs lists the named types that a type bears.
func (t named) refs() []string {
	names := slices.Concat(t.Embeds, t.Shape.refs())
	for _, f := range t.Fields {
		names = append(names, f.Shape.refs()...)
	}
	return names
}
