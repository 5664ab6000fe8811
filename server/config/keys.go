package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// value is what a key takes.
type value int

const (
	text value = iota
	seconds
	section
)

// keys are the keys of a configuration file, with those of a section behind its name.
var keys = map[string]value{
	"model": section, "model.name": text, "model.base_url": text, "model.idle_s": seconds,
	"autonomy": text,
	"commands": section, "commands.timeout_s": seconds,
}

// notYet are keys that this version refuses for a reason of their own: who sets them counts on
// what they do.
var notYet = map[string]string{
	"tripwires":        "this version does not enforce stop conditions yet; take them out to work without them",
	"watches":          "this version does not read watches yet; take them out to work without them",
	"scenarios":        "this version does not rerun scenarios yet; take them out to work without them",
	"commands.network": "this version cannot keep commands off the network yet; take it out to let them use it",
	"model.context":    "this version does not use it yet: it learns the limit from the model's server",
	"model.key":        "a file is no place for a key; set OPENAI_API_KEY",
}

// fault is what is wrong at a line of a file.
type fault struct {
	line int
	text string
}

func (f fault) Error() string { return fmt.Sprintf("line %d: %s", f.line, f.text) }

// parse reads a file's text and checks its keys. Empty is true where it sets nothing at all.
func parse(b []byte) (empty bool, err error) {
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		return false, located(err)
	}
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType && d.Body.Type() != ast.NullType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return true, nil
	case 1:
		return false, checkKeys("", bodies[0])
	}
	return false, fault{line(bodies[1]), "a second document begins here; a configuration is one"}
}

// checkKeys checks the keys of the mapping at a path, "" for the whole file.
func checkKeys(path string, n ast.Node) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return fault{line(n), strings.TrimPrefix(path+": a section with keys is wanted here", ": ")}
	}
	for at := m.MapRange(); at.Next(); {
		name := strings.TrimPrefix(path+"."+keyName(at.Key()), ".")
		if err := checkKey(name, at.Key(), at.Value()); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(name string, key, v ast.Node) error {
	if why, ok := notYet[name]; ok {
		return fault{line(key), name + ": " + why}
	}
	kind, ok := keys[name]
	if !ok {
		return fault{line(key), fmt.Sprintf("%s: there is no such key; there are %s", name, siblings(name))}
	}
	switch {
	case v.Type() == ast.NullType:
		return nil
	case kind == section:
		return checkKeys(name, v)
	case kind == seconds && v.Type() != ast.IntegerType:
		return fault{line(v), name + ": a whole number of seconds is wanted"}
	case kind == text && v.Type() != ast.StringType && v.Type() != ast.LiteralType:
		return fault{line(v), name + ": a text is wanted; set it in quotes"}
	}
	return nil
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

// siblings are the keys that stand beside one.
func siblings(name string) string {
	path := name[:strings.LastIndex(name, ".")+1]
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if rest, ok := strings.CutPrefix(k, path); ok && !strings.Contains(rest, ".") {
			out = append(out, k)
		}
	}
	return strings.Join(out, ", ")
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

// located is an error of the library with its line and without its picture.
func located(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fault{at.GetToken().Position.Line, at.GetMessage()}
	}
	return err
}
