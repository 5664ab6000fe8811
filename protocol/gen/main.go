// Command gen writes what others read of package protocol: the reference (README.md), the types
// of the VS Code client (protocol.gen.ts) and those of the Neovim client (protocol.gen.lua). It
// reads the syntax and the comments of the Go source, so the source is the only place to edit.
// A type that no method bears stays out of all three. It checks no types: that is the compiler's
// work, and a package that does not compile is not worth generating from.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("protocol/gen: ")
	if err := write("."); err != nil {
		log.Fatal(err)
	}
}

// write puts the generated files of the package in dir beside its source.
func write(dir string) error {
	files, err := generate(dir)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// generate returns the generated files of the package in dir, by name.
func generate(dir string) (map[string]string, error) {
	ref, err := read(dir)
	if err != nil {
		return nil, err
	}
	readme, err := markdown(ref)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"README.md":        readme,
		"protocol.gen.ts":  typescript(ref),
		"protocol.gen.lua": lua(ref),
	}, nil
}

// reference is all that the generated files tell.
type reference struct {
	Version       string
	Requests      []method
	Notifications []method
	Errors        []refusal
	Types         []named // in order of declaration, only those that the wire bears
}

// method is a request, or a notification, whose Result is empty.
type method struct{ Name, Doc, Params, Result string }

// refusal is an error particular to Tandem.
type refusal struct{ Kind, Code, Doc string }

// named is a type: a struct with fields, a list of values, or neither and of one shape.
type named struct {
	Name, Doc string
	Embeds    []string
	Fields    []field
	Values    []value
	Shape     shape
}

// field is one field of a struct, under the name that it has on the wire.
type field struct {
	Name, Doc string
	Shape     shape
	Optional  bool
}

// value is one value of an enumeration, as a JSON literal.
type value struct{ Literal, Doc string }

// borne lists the names that methods give to their params and results.
func (r *reference) borne() []string {
	var names []string
	for _, m := range slices.Concat(r.Requests, r.Notifications) {
		for _, name := range []string{m.Params, m.Result} {
			if name != "" && name != null && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// null is the result of a request that has nothing to say.
const null = "null"
