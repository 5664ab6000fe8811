package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// call reads a tool call. Its arguments go out as JSON with the keys in the order of the script.
func (p *parser) call(at source, st statement) (part, error) {
	tool, how, err := toolName(st.rest)
	if err != nil {
		return part{}, err
	}
	out := part{kind: callPart, tool: tool}
	switch {
	case st.rest == "":
		return out, errors.New("want the name of a tool")
	case how == "raw":
		out.text = strings.TrimSuffix(st.block, "\n")
		return out, nil
	case how == "quoted":
		if out.text, err = strconv.Unquote(strings.TrimSuffix(st.block, "\n")); err != nil {
			err = errors.New("the arguments below are not one text in double quotes")
		}
		return out, err
	case how != "":
		return out, errors.New("want «call TOOL», «call TOOL raw» or «call TOOL quoted»")
	case st.block == "":
		out.text = "{}"
		return out, nil
	}
	var arguments yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(st.block), &arguments, yaml.UseOrderedMap(), yaml.Strict()); err != nil {
		return out, yamlFault(at, st, err)
	}
	encoded, err := p.encode(nil, arguments)
	if err != nil {
		return out, at.fault(st.begin, "call %s: %v", tool, err)
	}
	out.text = string(encoded)
	return out, nil
}

// toolName takes the name of a tool off the line. One that is no plain word stands in double
// quotes: models make up any name.
func toolName(line string) (name, rest string, err error) {
	if !strings.HasPrefix(line, `"`) {
		name, rest, _ = strings.Cut(line, " ")
		return name, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", "", errors.New("the name of the tool has no closing quote")
	}
	name, err = strconv.Unquote(quoted)
	return name, strings.TrimSpace(line[len(quoted):]), err
}

// yamlFault puts the line of the archive in place of the line of the block.
func yamlFault(at source, st statement, err error) error {
	line, text := 0, err.Error()
	var known yaml.Error
	if errors.As(err, &known) {
		text = known.GetMessage()
		if t := known.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line - 1
		}
	}
	return at.fault(st.begin+line, "the arguments of %s are not YAML: %s", st.rest, bounded(text, 200))
}

// encode appends a value as JSON. Keys keep their order, and @ references become their text.
func (p *parser) encode(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case yaml.MapSlice:
		return p.encodeMap(out, v)
	case []any:
		out = append(out, '[')
		for i, element := range v {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = p.encode(out, element); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case string:
		text, err := p.resolve(v)
		if err != nil {
			return nil, err
		}
		return appendJSON(out, text)
	}
	return appendJSON(out, value)
}

func (p *parser) encodeMap(out []byte, m yaml.MapSlice) ([]byte, error) {
	out = append(out, '{')
	for i, item := range m {
		key, ok := item.Key.(string)
		if !ok {
			return nil, fmt.Errorf("the key %v is not text", item.Key)
		}
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendJSON(out, key); err != nil {
			return nil, err
		}
		if out, err = p.encode(append(out, ':'), item.Value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// resolve gives the text that an argument stands for.
func (p *parser) resolve(text string) (string, error) {
	name, reference := strings.CutPrefix(text, "@")
	if !reference || strings.HasPrefix(name, "@") {
		return name, nil
	}
	file, ok := p.files[name]
	if !ok || strings.HasPrefix(name, "beats/") {
		return "", fmt.Errorf("the archive holds no file %s (a text that begins with @ is written with @@)", name)
	}
	p.used = append(p.used, name)
	return file, nil
}

// appendJSON leaves <, > and & as they are: a person reads these texts.
func appendJSON(out []byte, value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}
