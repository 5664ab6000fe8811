package model

import (
	"bytes"
	"encoding/json"
	"io"
)

// body is a request body in parts. The messages are the caller's own bytes: nothing
// is decoded, encoded or joined, however long the conversation is.
type body struct {
	parts [][]byte
	size  int64

	toolChoice, streamOptions, reasoning bool // whether these fields are in it
}

func (b *body) add(part []byte) {
	b.parts = append(b.parts, part)
	b.size += int64(len(part))
}

var comma = []byte{','}

func (c *Client) body(r Request) body {
	var b body
	b.add([]byte(`{"model":` + quote(r.Model) + `,"messages":[`))
	first := true
	for m := range r.Messages {
		if !first {
			b.add(comma)
		}
		if thinks := bytes.Contains(m, []byte(reasoningField)); thinks && c.noReasoning.Load() {
			m = without(m, reasoningField)
		} else {
			b.reasoning = b.reasoning || thinks
		}
		b.add(m)
		first = false
	}
	b.add([]byte(`]`))
	if len(r.Tools) > 0 {
		b.add([]byte(`,"tools":`))
		b.add(r.Tools)
		b.toolChoice = r.ToolChoice != "" && !c.noToolChoice.Load()
	}
	if b.toolChoice {
		b.add([]byte(`,"tool_choice":` + toolChoice(r.ToolChoice)))
	}
	b.add([]byte(`,"stream":true`))
	if b.streamOptions = !c.noStreamOptions.Load(); b.streamOptions {
		b.add([]byte(`,"stream_options":{"include_usage":true}`))
	}
	b.add([]byte(`}`))
	return b
}

// reasoningField is where an earlier answer bears what the model thought before it. Some servers
// refuse a conversation in which it is missing, others one in which it stands.
const reasoningField = "reasoning_content"

// without is a message's bytes without one of its fields; the message itself where that is not in it.
func without(message json.RawMessage, field string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(message))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return message
	}
	for first := true; d.More(); first = false {
		start := d.InputOffset()
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return message
		}
		if key != field {
			continue
		}
		rest := message[d.InputOffset():]
		if first {
			rest = bytes.TrimPrefix(rest, comma)
		}
		return append(bytes.Clone(message[:start]), rest...)
	}
	return message
}

func toolChoice(choice string) string {
	if choice == "none" {
		return `"none"`
	}
	return `{"type":"function","function":{"name":` + quote(choice) + `}}`
}

// quote cannot fail: every string has a JSON form.
func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// open starts a new reading of the body; the readings share nothing that changes.
func (b *body) open() io.ReadCloser { return &bodyReader{parts: b.parts} }

type bodyReader struct {
	parts [][]byte
	at    int // within parts[0]
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.parts) > 0 {
		k := copy(p[n:], r.parts[0][r.at:])
		n += k
		if r.at += k; r.at == len(r.parts[0]) {
			r.parts, r.at = r.parts[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
