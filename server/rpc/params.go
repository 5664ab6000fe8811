package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tandem/protocol"
)

// Validator is what params may be that know which of their fields must be there. Its error names
// the field; it is answered with -32602 unless it is a *protocol.Error of another kind.
type Validator interface{ Validate() error }

// Typed is the handler of a method whose params are a P and whose result is an R.
func Typed[P, R any](f func(ctx context.Context, params P) (R, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		params, err := Decode[P](raw)
		if err != nil {
			return nil, err
		}
		return f(ctx, params)
	}
}

// Decode reads params as a T. Absent params, null and [] (as Lua spells it) are an empty object;
// fields that T does not have are ignored. What is of another type than T's field is refused with -32602 and a sentence
// that names the field, as in «text: want a string, got a number». When T, or *T, is a Validator
// it has the last word.
func Decode[T any](params json.RawMessage) (T, error) {
	var p T
	if !isEmpty(params) {
		if err := json.Unmarshal(params, &p); err != nil {
			return p, badParams(params, err)
		}
	}
	v, ok := any(&p).(Validator) // the methods of *T are those of T too
	if !ok {
		return p, nil
	}
	if err := v.Validate(); err != nil {
		if refusal := (*protocol.Error)(nil); errors.As(err, &refusal) {
			return p, err
		}
		return p, protocol.Errorf(protocol.InvalidParams, "%v", err)
	}
	return p, nil
}

func isEmpty(params json.RawMessage) bool {
	text := bytes.TrimSpace(params)
	if len(text) > 1 && text[0] == '[' {
		return len(bytes.TrimSpace(text[1:len(text)-1])) == 0
	}
	return len(text) == 0 || bytes.Equal(text, []byte("null"))
}

func badParams(params json.RawMessage, err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return protocol.Errorf(protocol.InvalidParams, "params: %v", err)
	}
	path := pathAt(params, wrong.Offset)
	if !within(path, wrong.Field) {
		path = wrong.Field
	}
	return protocol.Errorf(protocol.InvalidParams, "%s: want %s, got %s", path, wanted(wrong.Type), found(wrong.Value))
}

// pathAt is the path of the value that ends, or for an object or array begins, at offset, as in
// «context[1].uri». The decoder's own path has the names of embedded structs and no indexes.
func pathAt(params json.RawMessage, offset int64) string {
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.UseNumber() // one that no float64 holds has a place too
	var at []level
	for {
		token, err := dec.Token()
		if err != nil {
			return "params"
		}
		at = name(at, token)
		if dec.InputOffset() >= offset {
			return path(at)
		}
		at = step(at, token)
	}
}

// within says that a path can be that of the decoder's field, which has the names of embedded structs
// besides, and no keys of maps. It is not where a type decodes itself: then the offset counts from the
// start of its own text.
func within(path, field string) bool {
	if field == "" { // it is the whole, or lies in an array that is the whole
		return true
	}
	names := strings.Split(field, ".")
	first, _, _ := strings.Cut(path, ".")
	last := path[strings.LastIndexByte(path, '.')+1:]
	return slices.Contains(names, bare(first)) && (bare(last) == names[len(names)-1] || strings.HasPrefix(path, field+"."))
}

// bare is a name without the index behind it.
func bare(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// level is a place in one object or array.
type level struct {
	array bool
	index int
	key   string
	named bool // the key has been read, its value comes next
}

// name takes token as a key, where one is due.
func name(at []level, token json.Token) []level {
	if n := len(at); n > 0 && !at[n-1].array && !at[n-1].named {
		if key, ok := token.(string); ok {
			at[n-1].key = key
		}
	}
	return at
}

// step goes past token.
func step(at []level, token json.Token) []level {
	n := len(at)
	switch token {
	case json.Delim('{'), json.Delim('['):
		return append(at, level{array: token == json.Delim('[')})
	case json.Delim('}'), json.Delim(']'):
		at = at[:n-1]
		n--
	default:
		if n > 0 && !at[n-1].array && !at[n-1].named {
			at[n-1].named = true
			return at
		}
	}
	if n > 0 {
		at[n-1].index++
		at[n-1].named = false
	}
	return at
}

func path(at []level) string {
	var b strings.Builder
	for _, l := range at {
		switch {
		case l.array:
			fmt.Fprintf(&b, "[%d]", l.index)
		case b.Len() > 0:
			b.WriteString("." + l.key)
		default:
			b.WriteString(l.key)
		}
	}
	if b.Len() == 0 {
		return "params"
	}
	return b.String()
}

// wanted says what a value of type t looks like in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 of " + fmt.Sprint(t.Bits()) + " bits"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "a " + t.String()
}

// found says what the decoder met, in the same words.
func found(value string) string {
	kind, literal, _ := strings.Cut(value, " ")
	switch {
	case literal != "":
		return literal
	case kind == "bool":
		return "true or false"
	case kind == "array" || kind == "object":
		return "an " + kind
	}
	return "a " + kind
}
