package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"go.lsp.dev/jsonrpc2"

	"tandem/protocol"
)

// ErrClosed is the error of a call or a notification on a connection that has ended.
var ErrClosed = errors.New("the connection has ended")

// RefusedError is a peer's refusal of a call of ours.
type RefusedError struct {
	Method string
	// Code is the peer's JSON-RPC code.
	Code    int
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: the client refused: %s (code %d)", e.Method, e.Message, e.Code)
}

const (
	// codeCancelled is LSP's RequestCancelled.
	codeCancelled jsonrpc2.Code = -32800
	// codeFailed is LSP's RequestFailed: the request was right, and what it asked for could not be done.
	// InternalError is for faults of this program alone.
	codeFailed jsonrpc2.Code = -32803
)

func errCancelled(method string) error {
	return jsonrpc2.Errorf(codeCancelled, "%s was cancelled", method)
}

func errUnknown(method string) error {
	return jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "no method is named %.200q", method)
}

func errOverloaded(method string, limit int) error {
	return protocol.Errorf(protocol.Overloaded, "%s: %d requests of this client are open; try again when some are answered", method, limit)
}

func errInternal(method string) error {
	return jsonrpc2.Errorf(jsonrpc2.InternalError, "%s: the daemon met a fault of its own; its log says which", method)
}

// wireError is err in the form that it has on the wire.
func wireError(err error) *jsonrpc2.Error {
	wire := *asWire(err)
	wire.Message = sentence(wire.Message)
	return &wire
}

func asWire(err error) *jsonrpc2.Error {
	if wire := (*jsonrpc2.Error)(nil); errors.As(err, &wire) {
		return wire
	}
	if refusal := (*protocol.Error)(nil); errors.As(err, &refusal) {
		data := refusal.Data()
		return &jsonrpc2.Error{Code: jsonrpc2.Code(refusal.Kind.Code()), Message: refusal.Text, Data: &data}
	}
	if errors.Is(err, context.Canceled) {
		return jsonrpc2.NewError(codeCancelled, err.Error())
	}
	return jsonrpc2.NewError(codeFailed, err.Error())
}

const (
	// A refusal may say back what it was sent, which may be megabytes. Of one that is longer than mostSaid
	// bytes the beginning, which names the field, and the end, which gives the reason, are said.
	mostSaid = 1000
	endSaid  = 200
	cut      = " … "
)

// sentence is the text of a refusal as a person is shown it: of bounded length, and without what
// would steer their terminal.
func sentence(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if len(text) > mostSaid {
		text = strings.ToValidUTF8(text[:mostSaid-endSaid-len(cut)], "") + cut + strings.ToValidUTF8(text[len(text)-endSaid:], "")
	}
	return text
}

// encodeResult is the JSON of what a handler returned.
func encodeResult(method string, result any) (json.RawMessage, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "encode the result of %s: %v", method, err)
	}
	return raw, nil
}
