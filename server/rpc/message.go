package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"go.lsp.dev/jsonrpc2"
)

// A fault is what a message that cannot be taken is answered: with its id, where that can be read.
type fault struct {
	id  json.RawMessage
	err *jsonrpc2.Error
}

// envelope is any message, with nothing in it decided yet.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// decode makes a message of one JSON value. Both results are nil for an answer to nothing that we
// asked, which is dropped: to answer an answer would go on for ever.
func decode(raw []byte) (jsonrpc2.Message, *fault) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, unreadable(err)
	}
	if e.Method == nil && (e.Result != nil || e.Error != nil || e.ID != nil) {
		return decodeAnswer(e)
	}
	var id json.RawMessage
	if e.ID != nil {
		if _, err := idKey(e.ID); err != nil {
			return nil, invalid(nil, err.Error())
		}
		id = e.ID
	}
	var method string
	switch {
	case !isVersion(e.Version):
		return nil, invalid(id, `jsonrpc: want "2.0"`)
	case json.Unmarshal(e.Method, &method) != nil || method == "":
		return nil, invalid(id, "method: want the name of a method")
	case id == nil:
		return message(jsonrpc2.NewNotification(method, e.Params))
	}
	// The library's id is an int32 or a string. A string with the id's JSON text holds them all,
	// keeps 7 and "7" apart, and is written back as it is.
	return message(jsonrpc2.NewCall(jsonrpc2.NewStringID(string(id)), method, e.Params))
}

func message[M jsonrpc2.Message](m M, err error) (jsonrpc2.Message, *fault) {
	if err != nil {
		return nil, invalid(nil, err.Error())
	}
	return m, nil
}

func unreadable(err error) *fault {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return &fault{err: jsonrpc2.Errorf(jsonrpc2.ParseError, "not JSON: %v at byte %d", err, syntax.Offset)}
	}
	return invalid(nil, "a message is an object, or an array of them")
}

func invalid(id json.RawMessage, text string) *fault {
	return &fault{id: id, err: jsonrpc2.NewError(jsonrpc2.InvalidRequest, text)}
}

func isVersion(raw json.RawMessage) bool {
	var v string
	return json.Unmarshal(raw, &v) == nil && v == jsonrpc2.Version
}

// decodeAnswer takes answers with an id that we could have sent. An answer with the id null is the
// peer's word that it could not read us, and no call of ours waits for it.
func decodeAnswer(e envelope) (jsonrpc2.Message, *fault) {
	if !isVersion(e.Version) {
		return nil, invalid(nil, `jsonrpc: want "2.0"`)
	}
	n, err := strconv.ParseInt(string(e.ID), 10, 32)
	if err != nil {
		return nil, nil
	}
	id := jsonrpc2.NewNumberID(int32(n))
	if e.Error == nil || bytes.Equal(e.Error, []byte("null")) {
		return message(jsonrpc2.NewResponse(id, e.Result, nil))
	}
	refusal := new(jsonrpc2.Error)
	if err := json.Unmarshal(e.Error, refusal); err != nil {
		refusal = jsonrpc2.Errorf(jsonrpc2.UnknownError, "an error of another shape: %.200s", e.Error)
	}
	return message(jsonrpc2.NewResponse(id, nil, refusal))
}

// idKey is a request id as a key: the same for two spellings of one id. An id is a string or a
// whole number of at most 64 bits.
func idKey(raw json.RawMessage) (string, error) {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("id: %w", err)
		}
		return `"` + s, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return "", fmt.Errorf("id: want a string or a whole number of 64 bits, got %.40s", raw)
	}
	return strconv.FormatInt(n, 10), nil
}

// encode is the JSON of a message. It copies params and results as they are, which the library
// has made valid JSON when it made the message.
func encode(msg jsonrpc2.Message) ([]byte, error) {
	switch m := msg.(type) {
	case *jsonrpc2.Notification:
		return encodeRequest("", m.Method(), m.Params())
	case *jsonrpc2.Call:
		return encodeRequest(idText(m.ID()), m.Method(), m.Params())
	case *jsonrpc2.Response:
		return encodeAnswer(json.RawMessage(idText(m.ID())), m.Result(), m.Err())
	}
	return nil, fmt.Errorf("encode a %T: no such message", msg)
}

// idText is the JSON of an id: the digits of ours, the text that the peer's came with.
func idText(id jsonrpc2.ID) string { return fmt.Sprintf("%v", id) }

func encodeRequest(id, method string, params json.RawMessage) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, fmt.Errorf("encode method %q: %w", method, err)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(params)+len(name)+64))
	out.WriteString(`{"jsonrpc":"2.0"`)
	if id != "" {
		out.WriteString(`,"id":` + id)
	}
	out.WriteString(`,"method":`)
	out.Write(name)
	if len(params) > 0 && !bytes.Equal(params, []byte("null")) {
		out.WriteString(`,"params":`)
		out.Write(params)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encodeAnswer is an answer: a refusal when err is one, else the result. No id is null.
func encodeAnswer(id, result json.RawMessage, err error) ([]byte, error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	out := bytes.NewBuffer(make([]byte, 0, len(result)+len(id)+64))
	out.WriteString(`{"jsonrpc":"2.0","id":`)
	out.Write(id)
	if err != nil {
		text, merr := json.Marshal(wireError(err))
		if merr != nil {
			return nil, fmt.Errorf("encode the error %q: %w", err, merr)
		}
		out.WriteString(`,"error":`)
		out.Write(text)
	} else {
		out.WriteString(`,"result":`)
		if len(result) == 0 {
			result = json.RawMessage("null")
		}
		out.Write(result)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
