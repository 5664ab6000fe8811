package session

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"tandem/agent"
)

// asTheyAre are the fields of inputs that are no words: they name a file, and would not name it any
// more. A secret that somebody has put into the name of a file stays in them.
var asTheyAre = []string{"Path", "URI", "Workspace", "Digest", "Link", "Commit"}

// redacted is an input without secrets, whoever said them. All its words are looked at, so that one
// that is new is not forgotten. The input that was given stays as it is.
func redacted(in agent.Input, clean func(string) string) agent.Input {
	return redactedValue(reflect.ValueOf(in), clean).Interface().(agent.Input)
}

var (
	stringType = reflect.TypeFor[string]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	timeType   = reflect.TypeFor[time.Time]()
)

// redactedValue is a copy of a value without secrets. Words are strings and raw JSON; strings of a
// type of their own are one of a few that the protocol names.
func redactedValue(v reflect.Value, clean func(string) string) reflect.Value {
	switch {
	case v.Type() == stringType:
		return reflect.ValueOf(clean(v.String()))
	case v.Type() == rawType && v.Len() > 0:
		return reflect.ValueOf(json.RawMessage(clean(string(v.Bytes()))))
	case v.Type() == timeType:
		return v
	}
	switch v.Kind() {
	case reflect.Struct:
		return redactedFields(v, clean)
	case reflect.Slice, reflect.Array:
		return redactedElements(v, clean)
	case reflect.Map:
		return redactedEntries(v, clean)
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(redactedValue(v.Elem(), clean))
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return redactedValue(v.Elem(), clean)
	}
	return v
}

func redactedFields(v reflect.Value, clean func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !slices.Contains(asTheyAre, f.Name) {
			out.Field(i).Set(redactedValue(v.Field(i), clean))
		}
	}
	return out
}

func redactedElements(v reflect.Value, clean func(string) string) reflect.Value {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Slice {
		out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	}
	for i := range v.Len() {
		out.Index(i).Set(redactedValue(v.Index(i), clean))
	}
	return out
}

func redactedEntries(v reflect.Value, clean func(string) string) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		out.SetMapIndex(redactedValue(entries.Key(), clean), redactedValue(entries.Value(), clean))
	}
	return out
}
