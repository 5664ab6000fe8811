package face

import (
	"encoding/json"
	"strings"

	"tandem/protocol"
)

// The commands of the face. The daemon runs Do and Look; Ask is the client's own.
const (
	// Do sends the request of the action that is its argument, as if the client had sent it.
	Do = "tandem.do"
	// Look takes the lens from a change that was looked at; its argument is a Change.
	Look = "tandem.look"
	// Ask has the client ask the developer for what the action that is its argument lacks, and
	// send that. Only a client of Tandem's own knows it.
	Ask = "tandem.ask"
)

// Commands are those that the daemon runs.
func Commands() []string { return []string{Do, Look} }

// Act is something that can be done by a command: an action, its params of any method.
type Act struct {
	Title  string              `json:"title"`
	Method string              `json:"method"`
	Params any                 `json:"params"`
	Ask    *protocol.ActionAsk `json:"ask,omitempty"`
	Kind   protocol.ActionKind `json:"kind,omitempty"`
}

// Request is the request that a command's argument bears.
type Request struct {
	Title  string          `json:"title"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Change names what one operation wrote in one document.
type Change struct {
	URI         string `json:"uri"`
	SessionID   string `json:"sessionId"`
	OperationID string `json:"operationId"`
}

// ReadRequest reads the arguments of Do. Only what begins with tandem/ is a request to send so.
func ReadRequest(args []json.RawMessage) (Request, error) {
	var r Request
	if err := readOnly(Do, args, &r); err != nil {
		return r, err
	}
	if !strings.HasPrefix(r.Method, "tandem/") {
		return r, protocol.Errorf(protocol.InvalidParams, "arguments[0].method: %q is no request of tandem/", clip(r.Method, 60))
	}
	return r, nil
}

// ReadChange reads the arguments of Look.
func ReadChange(args []json.RawMessage) (Change, error) {
	var c Change
	return c, readOnly(Look, args, &c)
}

func readOnly(command string, args []json.RawMessage, into any) error {
	if len(args) != 1 {
		return protocol.Errorf(protocol.InvalidParams, "arguments: %s takes one, as the daemon gave it out", command)
	}
	if err := json.Unmarshal(args[0], into); err != nil {
		return protocol.Errorf(protocol.InvalidParams, "arguments[0]: %v", err)
	}
	return nil
}

// command is an act as a command of LSP, under a title.
func (a Act) command(title string) *protocol.Command {
	id := Do
	if a.Ask != nil {
		id = Ask
	}
	return &protocol.Command{Title: title, Command: id, Arguments: []any{a}}
}

func actOf(a protocol.Action) Act {
	return Act{Title: a.Title, Method: a.Method, Params: a.Params, Ask: a.Ask, Kind: a.Kind}
}

// offered says that a client can be offered an act.
func (v View) offered(a Act) bool { return v.Can(a.Method) && (a.Ask == nil || v.Asks) }

// asked puts a question without a change to the work.
func asked(sessionID, title, question string, at *protocol.Location) Act {
	return Act{Title: title, Method: protocol.MethodAsk,
		Params: protocol.AskParams{SessionID: sessionID, Question: question, Location: at}}
}
