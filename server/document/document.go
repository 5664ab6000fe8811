// Package document is one open document as its editor has it: its text, its version, and the
// positions of LSP in it.
//
// A position counts lines and, in a line, units of the negotiated encoding; the package turns it
// into an offset in bytes and back. What a peer says is never refused: a line behind the last is
// the end of the text, a character behind the end of its line is that end, one within a rune is
// the rune's beginning, and a range whose ends are swapped is turned around, as editors do it.
// Lines end with "\n", "\r\n" or "\r"; no position lies within "\r\n".
//
// Edits between two texts are minimal: lines that both have are not touched, and of those that
// differ only what differs, so that the editor's cursor, its folds and its undo stay good.
//
// The package does not know files, editors or connections, holds no state, and decides nothing.
package document

import "tandem/protocol"

// Document is one open document. It is a value: a change gives another.
type Document struct {
	// URI is the document's name as its editor spells it.
	URI protocol.DocumentURI
	// Language is the editor's name for the document's language, as in «go»; it may be "".
	Language string
	// Version is the editor's number of the text.
	Version int32
	// Text is the whole text, with the line ends that the editor told.
	Text string
}

// Changed is the document with changes made in it, in order, at a new version.
func (d Document) Changed(version int32, changes []protocol.ContentChange, enc protocol.PositionEncoding) Document {
	d.Version = version
	for _, c := range changes {
		if c.Range == nil {
			d.Text = c.Text
			continue
		}
		start, end := Span(d.Text, *c.Range, enc)
		d.Text = d.Text[:start] + c.Text + d.Text[end:]
	}
	return d
}
