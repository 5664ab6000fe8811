package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// notYet are keys that this version refuses for a reason of their own: who sets them counts on
// what they do.
var notYet = map[string]string{
	"model.key": "a file is no place for a key; set OPENAI_API_KEY",
}

// fault is what is wrong at a line of a file.
type fault struct {
	line int
	text string
}

func (f fault) Error() string { return fmt.Sprintf("line %d: %s", f.line, f.text) }

// parse reads a file's text and checks its keys and their values, as far as each can be told by
// itself. It gives nil where the file sets nothing at all.
func parse(b []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, located(err)
	}
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.NullType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, nil
	case 1:
		return bodies[0], root.check("", bodies[0])
	}
	return nil, fault{line(bodies[1]), "a second document begins here; a configuration is one"}
}

// check checks what stands at a path, "" for the whole file.
func (s shape) check(path string, n ast.Node) error {
	switch {
	case n.Type() == ast.NullType && s.blank:
		return nil
	case s.value == section:
		return s.checkKeys(path, n)
	case s.value == list:
		return s.checkList(path, n)
	case s.value == operand && !isNumber(n):
		if _, ok := n.(ast.MapNode); !ok {
			return wrong(path, n, "a number or a value source is wanted")
		}
		return s.checkKeys(path, n)
	case (s.value == number || s.value == operand) && !isNumber(n):
		return wrong(path, n, "a number is wanted")
	case s.value == boolean && n.Type() != ast.BoolType:
		return wrong(path, n, "true or false is wanted")
	case s.value == whole:
		return s.checkWhole(path, n)
	case s.value == text:
		return s.checkText(path, n)
	}
	return nil
}

// wrong is a fault at a path.
func wrong(path string, n ast.Node, format string, args ...any) error {
	return fault{line(n), strings.TrimPrefix(path+": "+fmt.Sprintf(format, args...), ": ")}
}

func (s shape) checkKeys(path string, n ast.Node) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return wrong(path, n, "a section with keys is wanted here")
	}
	seen := map[string]bool{}
	for at := m.MapRange(); at.Next(); {
		key := keyName(at.Key())
		seen[key] = true
		name := strings.TrimPrefix(path+"."+key, ".")
		of, ok := s.keys[key]
		if why, refused := notYet[name]; refused {
			return wrong(name, at.Key(), "%s", why)
		}
		if !ok {
			return wrong(name, at.Key(), "there is no such key; there are %s", strings.Join(slices.Sorted(maps.Keys(s.keys)), ", "))
		}
		if err := of.check(name, at.Value()); err != nil {
			return err
		}
	}
	for _, key := range s.needs {
		if !seen[key] {
			return wrong(path, n, "the key %s is missing", key)
		}
	}
	return nil
}

func (s shape) checkList(path string, n ast.Node) error {
	all, ok := n.(*ast.SequenceNode)
	if !ok {
		return wrong(path, n, "a list is wanted")
	}
	if int64(len(all.Values)) < s.min {
		return wrong(path, n, "at least %d is wanted", s.min)
	}
	for i, v := range all.Values {
		if err := s.of.check(fmt.Sprintf("%s[%d]", path, i), v); err != nil {
			return err
		}
	}
	return nil
}

func (s shape) checkWhole(path string, n ast.Node) error {
	limits := fmt.Sprintf("from %d", s.min)
	if s.max > 0 {
		limits += fmt.Sprintf(" to %d", s.max)
	}
	i, err := strconv.ParseInt(plainText(n), 10, 64)
	if n.Type() != ast.IntegerType || err != nil || i < s.min || (s.max > 0 && i > s.max) {
		return wrong(path, n, "a whole number is wanted, %s", limits)
	}
	return nil
}

func (s shape) checkText(path string, n ast.Node) error {
	if n.Type() != ast.StringType && n.Type() != ast.LiteralType {
		return wrong(path, n, "a text is wanted; set it in quotes")
	}
	said, _ := plain(n).(string) // both kinds of nodes are texts
	switch {
	case len(s.words) > 0 && !slices.Contains(s.words, said):
		return wrong(path, n, "%q is none of %s", said, strings.Join(s.words, ", "))
	case s.min > 0 && strings.TrimSpace(said) == "":
		return wrong(path, n, "it is empty")
	case s.path:
		return checkPath(path, n, said)
	}
	return nil
}

// checkPath checks a path that has to lie in the workspace.
func checkPath(at string, n ast.Node, said string) error {
	clean := path.Clean(said)
	switch {
	case !filepath.IsLocal(filepath.FromSlash(said)) || clean == ".":
		return wrong(at, n, "%q is no path below the workspace", said)
	case strings.ContainsAny(said, "*?[\\"):
		return wrong(at, n, "%q is no plain path; name a folder or a file, with slashes", said)
	case slices.ContainsFunc(strings.Split(clean, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return wrong(at, n, "%q belongs to git, which takes back what is its own", said)
	}
	return nil
}

// isNumber says whether a node is a number that has an end.
func isNumber(n ast.Node) bool {
	return n.Type() == ast.IntegerType || n.Type() == ast.FloatType
}

// jsonNumber is how JSON writes a number.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// plain is what a checked node stands for, as encoding/json writes it. A number keeps its digits.
func plain(n ast.Node) any {
	switch n := n.(type) {
	case ast.MapNode:
		m := map[string]any{}
		for at := n.MapRange(); at.Next(); {
			m[keyName(at.Key())] = plain(at.Value())
		}
		return m
	case *ast.SequenceNode:
		l := []any{}
		for _, v := range n.Values {
			l = append(l, plain(v))
		}
		return l
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.ScalarNode:
		if isNumber(n) {
			return json.Number(plainText(n))
		}
		return n.GetValue()
	}
	return nil
}

// plainText is a number as JSON writes it, whatever way of YAML's it is written in.
func plainText(n ast.Node) string {
	if said := n.GetToken().Value; jsonNumber.MatchString(said) {
		return said
	}
	if s, ok := n.(ast.ScalarNode); ok {
		return fmt.Sprint(s.GetValue())
	}
	return ""
}

// keyName is a key without what YAML lets stand around it.
func keyName(key ast.Node) string {
	if k, ok := key.(*ast.MappingKeyNode); ok {
		key = k.Value
	}
	if k, ok := key.(*ast.StringNode); ok {
		return k.Value
	}
	return key.String()
}

// step matches one part of a path: a key, or an index in brackets.
var step = regexp.MustCompile(`[^.\[\]]+`)

// nodeAt is the node at a path such as tripwires[0].range.min, or the last one on the way to it.
func nodeAt(n ast.Node, path string) ast.Node {
	for _, part := range step.FindAllString(path, -1) {
		next := child(n, part)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func child(n ast.Node, part string) ast.Node {
	switch n := n.(type) {
	case ast.MapNode:
		for at := n.MapRange(); at.Next(); {
			if keyName(at.Key()) == part {
				return at.Value()
			}
		}
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Values) {
			return n.Values[i]
		}
	}
	return nil
}

func line(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle { // its token is the first colon
		return line(m.Values[0].Key)
	}
	return n.GetToken().Position.Line
}

// located is an error of the library with its line and without its picture.
func located(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fault{at.GetToken().Position.Line, at.GetMessage()}
	}
	return err
}
