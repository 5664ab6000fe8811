package tripwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tandem/protocol"
)

// Value is a compiled value source: what a watch shows, or one side of a condition. It never
// changes and may be used from any goroutine.
type Value struct{ source }

// source is what the kinds of sources have in common. String is the source in words.
type source interface {
	files() []string
	touched(Operation) bool
	read(*look) (reading, error)
	String() string
}

// reading is a value as it was read: its text, and the array or object that it is, if it is one.
// Where says where it stands; it is nil for what stands in no file, and costs time to call.
type reading struct {
	text  string
	data  any
	where func() place
}

func (r reading) place() place {
	if r.where == nil {
		return place{}
	}
	return r.where()
}

// CompileSource makes a value of a source, of which exactly one kind has to be given. Its error
// is a *SpecError.
func CompileSource(s protocol.Source) (Value, error) {
	if err := oneSource(s); err != nil {
		return Value{}, err
	}
	var v source
	var err error
	switch {
	case s.JSON != "":
		v, err = compileJSON(s)
	case s.CSV != "":
		v, err = compileCSV(s)
	case s.SQL != "":
		v, err = compileSQL(s)
	case s.Output != "":
		v, err = compileOutput(s.Output)
	default:
		v = fromCommand{s.Command}
	}
	return Value{v}, err
}

// oneSource checks that a source is of one kind, and has no key of another.
func oneSource(s protocol.Source) error {
	var kinds []string
	for _, k := range []struct{ key, value string }{{"json", s.JSON}, {"csv", s.CSV}, {"sql", s.SQL}, {"output", s.Output}, {"command", s.Command}} {
		if k.value != "" {
			kinds = append(kinds, k.key)
		}
	}
	const all = "json (with at), csv (with column, agg), sql (with query), output, command"
	switch {
	case len(kinds) == 0:
		return wrong("", "a value source is wanted: one of %s", all)
	case len(kinds) > 1:
		return wrong("", "the value source has %s; give exactly one of %s", strings.Join(kinds, " and "), all)
	case s.At != "" && s.JSON == "":
		return wrong("at", "it goes with json, not with %s", kinds[0])
	case (s.Column != "" || s.Agg != "") && s.CSV == "":
		return wrong("column", "column and agg go with csv, not with %s", kinds[0])
	case s.Query != "" && s.SQL == "":
		return wrong("query", "it goes with sql, not with %s", kinds[0])
	}
	return nil
}

// Files are the files that the value is read from, sorted.
func (v Value) Files() []string { return tidy(v.files()) }

// Touches says whether an operation could have changed the value.
func (v Value) Touches(op Operation) bool { return v.touched(op) }

// Read reads the value now, as text; an array or an object is compact JSON. What is not there
// yet is an error that wraps ErrNotYet.
func (v Value) Read(ctx context.Context, env Env) (string, error) {
	r, err := v.read(&look{ctx: ctx, env: env})
	if err != nil {
		return "", err
	}
	return shown(r.text), nil
}

// operand compiles one side of a condition.
func (o Operand) operand() (source, error) {
	if o.Number != "" {
		return literal(o.Number), nil
	}
	v, err := CompileSource(o.Source)
	return v.source, err
}

// literal is a number as it was written.
type literal string

func (literal) files() []string               { return nil }
func (literal) touched(Operation) bool        { return false }
func (l literal) read(*look) (reading, error) { return reading{text: string(l)}, nil }
func (l literal) String() string              { return string(l) }

// fromJSON is a field of a JSON file.
type fromJSON struct {
	file string
	at   pointer
}

func compileJSON(s protocol.Source) (source, error) {
	file, err := workspaceFile("json", s.JSON)
	if err != nil {
		return nil, err
	}
	at, err := parsePointer(s.At)
	return fromJSON{file, at}, below("at", err)
}

func (f fromJSON) files() []string           { return []string{f.file} }
func (f fromJSON) touched(op Operation) bool { return op.wrote(is(f.file)) }

func (f fromJSON) String() string { return strings.TrimSpace(f.file + " " + f.at.String()) }

func (f fromJSON) read(l *look) (reading, error) {
	d, err := l.json(f.file)
	if err != nil {
		return reading{}, err
	}
	v, upTo, ok := f.at.in(d.root)
	if !ok {
		return reading{}, placedError{fmt.Errorf("%s has no field %s", f.file, f.at), l.field(d, upTo)}
	}
	r := reading{text: jsonText(v), where: func() place { return l.field(d, f.at) }}
	switch v.(type) {
	case map[string]any, []any:
		r.data = v
	}
	return r, nil
}

// jsonText is a value of a JSON file as text: a string without its quotes.
func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// fromOutput is what a regular expression finds in the last command's output: the last match,
// and of it the first group if there is one.
type fromOutput struct{ *regexp.Regexp }

func compileOutput(expr string) (source, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil, wrong("output", "it is no regular expression of RE2's syntax: %v", err)
	}
	return fromOutput{re}, nil
}

func (fromOutput) files() []string           { return nil }
func (fromOutput) touched(op Operation) bool { return op.Effect == protocol.EffectExecute }

func (f fromOutput) String() string {
	return fmt.Sprintf("the last command's output by /%s/", strings.TrimPrefix(f.Regexp.String(), "(?m)"))
}

func (f fromOutput) read(l *look) (reading, error) {
	if l.env.Output == nil {
		return reading{}, fmt.Errorf("output of a command is %w", ErrNotYet)
	}
	all := f.FindAllStringSubmatch(*l.env.Output, -1)
	if len(all) == 0 {
		return reading{}, fmt.Errorf("%s: nothing of the kind was printed, it is %w", f, ErrNotYet)
	}
	last := all[len(all)-1]
	return reading{text: strings.TrimSpace(last[min(1, len(last)-1)])}, nil
}

// fromCommand is what a command prints.
type fromCommand struct{ line string }

func (fromCommand) files() []string           { return nil }
func (fromCommand) touched(op Operation) bool { return op.acted() }
func (f fromCommand) String() string          { return "the output of «" + f.line + "»" }

func (f fromCommand) read(l *look) (reading, error) {
	var ran Ran
	err := l.within(l.env.bound(), "«"+f.line+"»", func(ctx context.Context) (err error) {
		ran, err = l.env.run(ctx, f.line)
		return err
	})
	if err == nil && ran.Code != 0 {
		err = fmt.Errorf("«%s» ended with exit code %d: %s", f.line, ran.Code, lastLines(ran.Output))
	}
	return reading{text: strings.TrimSpace(ran.Output)}, err
}

// run runs a command, and takes one whose time is up as one that failed.
func (e Env) run(ctx context.Context, line string) (Ran, error) {
	if e.Run == nil {
		return Ran{}, errors.New("commands cannot be run here")
	}
	ran, err := e.Run(ctx, line)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("«%s»: %w", line, err)
	}
	return ran, err
}

// is picks one file.
func is(file string) func(string) bool {
	return func(path string) bool { return path == file }
}

// oneOf picks some files.
func oneOf(files ...string) func(string) bool {
	return func(path string) bool { return slices.Contains(files, path) }
}
