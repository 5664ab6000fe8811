package server

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"

	"go.uber.org/zap"

	"tandem/protocol"
	"tandem/server/document"
)

// Positions. Several clients, each with an encoding of its own, may follow one session. So a session
// holds positions in UTF-16, as LSP does where nothing is agreed upon: what a client says is turned
// into it at the door, and what it is told out of it, by the text as it is then. What the daemon
// says by itself names whole lines, whose character 0 is the same in each encoding.

// inward are places as a session holds them.
func (c *client) inward(places []protocol.Location) []protocol.Location {
	from := c.encoding()
	if from == protocol.UTF16 {
		return places
	}
	out := make([]protocol.Location, len(places))
	for i, l := range places {
		out[i] = l
		if l.Range == nil {
			continue
		}
		if text, ok := c.textAt(protocol.DocumentURI(l.URI)); ok {
			r := document.Convert(text, *l.Range, from, protocol.UTF16)
			out[i].Range = &r
		}
	}
	return out
}

// inwardScope is a scope as a session holds it.
func (c *client) inwardScope(s *protocol.Scope) *protocol.Scope {
	if s == nil || s.Location == nil {
		return s
	}
	out := *s
	out.Location = &c.inward([]protocol.Location{*s.Location})[0]
	return &out
}

// character finds a position that is not the same in each encoding.
var character = regexp.MustCompile(`"character":\s*[1-9]`)

// outward is a message of a session with the positions that the client counts. Each stands in a
// range beside the URI of its document.
func (c *client) outward(message []byte) []byte {
	to := c.encoding()
	if to == protocol.UTF16 || !character.Match(message) {
		return message
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	err := d.Decode(&v)
	if err == nil {
		c.turn(v, to)
		var out []byte
		if out, err = json.Marshal(v); err == nil {
			return out
		}
	}
	c.registry.log.Warn("positions are told in UTF-16", zap.Error(err))
	return message
}

// turn turns the ranges in a value that was decoded into an encoding.
func (c *client) turn(v any, to protocol.PositionEncoding) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			c.turn(e, to)
		}
	case map[string]any:
		for _, e := range v {
			c.turn(e, to)
		}
		at, _ := v["uri"].(string)
		r, ok := rangeOf(v["range"])
		if text, known := c.textAt(protocol.DocumentURI(at)); ok && known {
			v["range"] = document.Convert(text, r, protocol.UTF16, to)
		}
	}
}

func rangeOf(v any) (r protocol.Range, ok bool) {
	if _, ok := v.(map[string]any); !ok {
		return r, false
	}
	raw, err := json.Marshal(v)
	return r, err == nil && json.Unmarshal(raw, &r) == nil
}

// textAt is the text of a document, as the client has it, else as it counts for a session, else as
// it is on disk.
func (c *client) textAt(at protocol.DocumentURI) (string, bool) {
	if o := c.opened(at); o != nil {
		return c.registry.documents.now(o).Text, true
	}
	path, ok := filePath(at)
	if !ok {
		return "", false
	}
	if now, open := c.registry.documents.look(path); open {
		return now.Text, true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largestDocument {
		return "", false
	}
	data, err := os.ReadFile(path)
	return string(data), err == nil
}
