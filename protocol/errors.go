package protocol

import (
	"encoding/json"
	"fmt"
)

// ErrorKind names an error particular to Tandem; it stands in the error's data.kind.
type ErrorKind string

// The kinds of errors.
const (
	// StaleRevision answers a re-plan made on a revision that is not the current one: nothing was changed; read the plan and edit again.
	StaleRevision ErrorKind = "staleRevision"
	// NoSuchSession means that no session has this id.
	NoSuchSession ErrorKind = "noSuchSession"
	// WrongMode means that the session's mode, which data.mode names, does not take this request.
	WrongMode ErrorKind = "wrongMode"
	// NoSuchEntity means that the session has no step, operation, decision, pause, question, steer, watch or scenario of this name.
	NoSuchEntity ErrorKind = "noSuchEntity"
	// ModelUnavailable means that the model server cannot be reached or refuses: the message names the setting to change.
	ModelUnavailable ErrorKind = "modelUnavailable"
	// Untrusted means that the workspace is not trusted, so nothing is executed in it: trust it and ask again.
	Untrusted ErrorKind = "untrusted"
	// Overloaded means that the daemon has too much to do: send the request again later.
	Overloaded ErrorKind = "overloaded"
	// DriftUnacknowledged answers a resume when the live inputs are no longer those of the snapshot: look, then resume with acknowledgeDrift.
	DriftUnacknowledged ErrorKind = "driftUnacknowledged"
	// InvalidParams means that the params do not fit the method: the message names the field.
	InvalidParams ErrorKind = "invalidParams"
)

// The JSON-RPC codes of the errors.
const (
	CodeInvalidParams       = -32602
	CodeStaleRevision       = -32801
	CodeNoSuchSession       = -32001
	CodeWrongMode           = -32002
	CodeNoSuchEntity        = -32003
	CodeModelUnavailable    = -32004
	CodeUntrusted           = -32005
	CodeOverloaded          = -32006
	CodeDriftUnacknowledged = -32007
)

// Code is the JSON-RPC code of a kind.
func (k ErrorKind) Code() int {
	switch k {
	case StaleRevision:
		return CodeStaleRevision
	case NoSuchSession:
		return CodeNoSuchSession
	case WrongMode:
		return CodeWrongMode
	case NoSuchEntity:
		return CodeNoSuchEntity
	case ModelUnavailable:
		return CodeModelUnavailable
	case Untrusted:
		return CodeUntrusted
	case Overloaded:
		return CodeOverloaded
	case DriftUnacknowledged:
		return CodeDriftUnacknowledged
	}
	return CodeInvalidParams
}

// ErrorData is the data of an error.
type ErrorData struct {
	Kind ErrorKind `json:"kind"`
	// Mode is the session's mode, where the request does not fit it.
	Mode Mode `json:"mode,omitempty"`
}

// Error is a request's refusal: a sentence for the developer, and its kind for the client.
type Error struct {
	Kind ErrorKind
	Text string
	Mode Mode
}

func (e *Error) Error() string { return e.Text }

// Data is the error's data on the wire.
func (e *Error) Data() json.RawMessage {
	b, err := json.Marshal(ErrorData{Kind: e.Kind, Mode: e.Mode})
	if err != nil {
		panic(fmt.Sprintf("error data of %q: %v", e.Kind, err)) // three strings always encode
	}
	return b
}

// Errorf makes an error of a kind.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...)}
}
