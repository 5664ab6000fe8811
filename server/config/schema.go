package config

import "encoding/json"

// Schema is the JSON schema of a configuration file. It tells each key and what it takes; what
// only the daemon can tell, such as that a scenario is there or a query is a SELECT, it lets pass.
func Schema() []byte {
	top := root.schema()
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Tandem's configuration"
	b, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		panic(err) // it is made of maps, lists and texts
	}
	return append(b, '\n')
}

type object = map[string]any

func (s shape) schema() object {
	var o object
	switch s.value {
	case section:
		o = s.sectionSchema()
	case operand:
		o = object{"anyOf": []any{object{"type": "number"}, s.sectionSchema()}}
	case list:
		o = object{"type": "array", "items": s.of.schema()}
		if s.min > 0 {
			o["minItems"] = s.min
		}
	case boolean:
		o = object{"type": "boolean"}
	case number:
		o = object{"type": "number"}
	case whole:
		o = object{"type": "integer", "minimum": s.min}
		if s.max > 0 {
			o["maximum"] = s.max
		}
	default:
		o = s.textSchema()
	}
	if s.what != "" {
		o["description"] = s.what
	}
	if s.blank {
		o = nullable(o)
	}
	return o
}

func nullable(o object) object {
	o["type"] = []any{o["type"], "null"}
	if words, ok := o["enum"].([]any); ok {
		o["enum"] = append(words, nil)
	}
	return o
}

func (s shape) textSchema() object {
	o := object{"type": "string"}
	if s.min > 0 {
		o["pattern"] = `\S`
	}
	if len(s.words) > 0 {
		var words []any
		for _, w := range s.words {
			words = append(words, w)
		}
		o["enum"] = words
	}
	return o
}

func (s shape) sectionSchema() object {
	properties := object{}
	for k, v := range s.keys {
		properties[k] = v.schema()
	}
	o := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(s.needs) > 0 {
		o["required"] = s.needs
	}
	if len(s.one) > 0 {
		o["oneOf"] = each(s.one)
	}
	if len(s.some) > 0 {
		o["anyOf"] = each(s.some)
	}
	if len(s.with) > 0 {
		dependent := object{}
		for key, other := range s.with {
			dependent[key] = []string{other}
		}
		o["dependentRequired"] = dependent
	}
	return o
}

// each requires each of the keys, one in each of the alternatives.
func each(keys []string) []any {
	var out []any
	for _, k := range keys {
		out = append(out, object{"required": []string{k}})
	}
	return out
}
