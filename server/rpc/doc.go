// Package rpc is one JSON-RPC 2.0 connection in LSP framing, such that nothing a peer sends, or
// leaves unread, can hurt the process or another connection.
//
// A frame passes these layers, each of which exists because go.lsp.dev/jsonrpc2 v0.10.0, whose
// messages, Conn and Replier carry the traffic, does without it:
//
//	stream    framing: any spelling of the header, a limit, an answer to what cannot be read,
//	          batches split, ids of any size (the library's are int32: a request's id travels
//	          as a string that holds its JSON text, and is written back as it came)
//	outbox    one Write a frame, from a bounded queue: to send never waits for the peer to read
//	dispatch  $/cancelRequest, unknown methods, the limit on open requests
//	lanes     order: the life of the connection and the notifications on one lane, the methods
//	          in Options.Ordered on another; any other request runs beside them, begun after
//	          the notifications that came before it
//	guard     a panic, an error, a result that cannot be encoded: each gives one answer
//
// The reading goroutine runs no handler and waits for nothing but the peer, so a handler may call
// the peer and be cancelled. A lane runs one handler at a time; one that has done the part whose
// order matters says so with Release and may take as long as it likes.
//
// Handlers return an error to refuse: a *protocol.Error with its own code, context.Canceled as
// -32800, any other as -32803, LSP's word for a right request that failed; -32603 is a fault of
// this program. A request that was cancelled before it began is never begun. What
// arrived whole on a lane is still begun when the peer has gone, so that a word that was sent as
// the editor closed is not lost; everything else is cancelled then.
//
// The package knows neither sessions nor documents, opens no socket, and never tries again.
package rpc
