package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tandem/protocol"
)

type place struct {
	URI   string         `json:"uri"`
	Range protocol.Range `json:"range"`
}

type needy struct {
	protocol.Request
	Text    string               `json:"text"`
	Since   *int64               `json:"since"`
	Trusted bool                 `json:"trusted"`
	Ratio   float64              `json:"ratio"`
	Context []place              `json:"context"`
	By      map[string]place     `json:"by"`
	Raw     json.RawMessage      `json:"raw"`
	Token   protocol.SteerParams `json:"token"`
	Own     itself               `json:"own"`
}

// itself decodes itself, so that the decoder tells places of its text and not of the whole.
type itself struct {
	In struct {
		Names []string `json:"names"`
	} `json:"in"`
}

func (i *itself) UnmarshalJSON(data []byte) error {
	type plain itself
	return json.Unmarshal(data, (*plain)(i))
}

type strict struct {
	Text string `json:"text"`
}

func (s strict) Validate() error {
	switch s.Text {
	case "":
		return errors.New("text: missing")
	case "gone":
		return protocol.Errorf(protocol.NoSuchSession, "no session")
	}
	return nil
}

func TestDecode(t *testing.T) {
	rows := []struct{ in, want string }{
		{`{"text":7}`, "text: want a string, got a number"},
		{`{"text":{"a":[1,2,{"b":3}]}}`, "text: want a string, got an object"},
		{`{"raw":{"text":[{}]},"clientId":true}`, "clientId: want a string, got true or false"},
		{`{"since":"4"}`, "since: want a whole number, got a string"},
		{`{"since":1.5}`, "since: want a whole number, got 1.5"},
		{`{"since":99999999999999999999}`, "since: want a whole number, got 99999999999999999999"},
		{`{"trusted":1}`, "trusted: want true or false, got a number"},
		{`{"ratio":"1"}`, "ratio: want a number, got a string"},
		{`{"context":{}}`, "context: want an array, got an object"},
		{`{"context":[{"uri":"a"},{"uri":"b"},{"uri":[]}]}`, "context[2].uri: want a string, got an array"},
		{`{"context":[{"range":{"start":{"line":-1}}}]}`, "context[0].range.start.line: want a whole number from 0 of 32 bits, got -1"},
		{`{"by":{"x":{"uri":"a"},"y":{"uri":5}}}`, "by.y.uri: want a string, got a number"},
		{`{ "text" : "a" , "token" : { "context" : [ { "uri" : 1 } ] } }`, "token.context[0].uri: want a string, got a number"},
		{`{"by":{"x":5}}`, "by.x: want an object, got a number"},
		{`{"own":{"in":{"names":true}}}`, "own.in.names: want an array, got true or false"},
		{`{"text":"aaaaaaaaaaaaaaa","own":{"in":5}}`, "own.in: want an object, got a number"},
		{`{"ratio":1e400}`, "ratio: want a number, got 1e400"},
		{`{"text":1e400}`, "text: want a string, got a number"},
		{`[1]`, "params: want an object, got an array"},
		{`"x"`, "params: want an object, got a string"},
	}
	for _, row := range rows {
		_, err := Decode[needy]([]byte(row.in))
		refusal := (*protocol.Error)(nil)
		if !errors.As(err, &refusal) || refusal.Kind.Code() != -32602 || refusal.Text != row.want {
			t.Errorf("%s\ngot  %v\nwant %s", row.in, err, row.want)
		}
	}
	for _, in := range []string{"", "null", "[]", "[ ]", " {} ", `{"new":1}`, `{"since":null}`} {
		if p, err := Decode[needy]([]byte(in)); err != nil || p.Since != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for in, want := range map[string]int{"null": -32602, `{"text":"gone"}`: -32001} {
		_, err := Decode[strict]([]byte(in))
		if refusal := (*protocol.Error)(nil); !errors.As(err, &refusal) || refusal.Kind.Code() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// A refusal may say back what it was sent: whatever that is, it stays a sentence.
func TestARefusalIsShort(t *testing.T) {
	for _, row := range []struct{ said, want string }{
		{"text: missing", "text: missing"},
		{"uri: /a\x00\x1b[2J\u009b b\nand\tmore", "uri: /a\ufffd\ufffd[2J\ufffd b\nand\tmore"},
		{"uri: " + strings.Repeat("é", 5000) + " is no file", "uri: " + strings.Repeat("é", 395) + " … " + strings.Repeat("é", 94) + " is no file"},
	} {
		for _, err := range []error{protocol.Errorf(protocol.InvalidParams, "%s", row.said), errors.New(row.said)} {
			if got := wireError(err).Message; got != row.want || len(got) > mostSaid {
				t.Errorf("got %q, want %q", got, row.want)
			}
		}
	}
}

func TestTyped(t *testing.T) {
	p, _ := on(t, Options{Handlers: methods(map[string]Handler{
		"upper": Typed(func(_ context.Context, s strict) (protocol.ListParams, error) {
			return protocol.ListParams{Workspace: s.Text + "!"}, nil
		}),
	})})
	p.send(`"id":1,"method":"upper","params":{"text":"a"}`)
	p.send(`"id":2,"method":"upper","params":{"text":7}`)
	p.send(`"id":3,"method":"upper"`)
	got := map[string]bool{p.next().String(): true, p.next().String(): true, p.next().String(): true}
	for _, want := range []string{`1: {"workspace":"a!"}`, "2: -32602 text: want a string, got a number", "3: -32602 text: missing"} {
		if !got[want] {
			t.Errorf("got %v, without %s", got, want)
		}
	}
}
