package model

import (
	"encoding/json"
	"io"
)

// body is a request body in parts. The messages are the caller's own bytes: nothing
// is decoded, encoded or joined, however long the conversation is.
type body struct {
	parts [][]byte
	size  int64

	toolChoice, streamOptions bool // whether these fields are in it
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
