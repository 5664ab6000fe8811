// Package protocol is every word that crosses the wire between Tandem and an editor: the
// methods, their params and results, the entities and the errors. Its doc comments are the
// protocol reference (README.md) and its types are the clients' types; protocol/gen writes
// both. It holds shapes alone: nothing in it decides, connects or remembers.
package protocol

//go:generate go run ./gen

// Version is the version of the Tandem protocol that this package describes.
// The initialize answer bears it in capabilities.experimental.tandem.version.
const Version = 1
