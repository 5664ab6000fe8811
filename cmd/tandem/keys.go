package main

import (
	"strings"
	"unicode/utf8"
)

// key is what a developer pressed, or pasted.
type key struct {
	kind keyKind
	text string // of keyText and keyPaste
}

type keyKind int

const (
	keyText keyKind = iota
	keyPaste
	keyEnter
	keyAltEnter
	keyEscape
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyHome
	keyEnd
	keyUp
	keyDown
	keyWordLeft
	keyWordRight
	keyKillLine  // to the start
	keyKillRest  // to the end
	keyKillWord  // the word before
	keyRedraw    // the screen anew
	keyInterrupt // Ctrl-C
	keyEOF       // Ctrl-D
	keySuspend   // Ctrl-Z
)

// controls are the keys that are one control character.
var controls = map[byte]keyKind{
	'\r': keyEnter, '\n': keyEnter, 0x7f: keyBackspace, 0x08: keyBackspace,
	0x01: keyHome, 0x05: keyEnd, 0x02: keyLeft, 0x06: keyRight, 0x10: keyUp, 0x0e: keyDown,
	0x15: keyKillLine, 0x0b: keyKillRest, 0x17: keyKillWord, 0x0c: keyRedraw, 0x03: keyInterrupt, 0x04: keyEOF, 0x1a: keySuspend,
}

// sequences are the keys that are an escape and more, without the escape.
var sequences = map[string]keyKind{
	"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "OA": keyUp, "OB": keyDown, "OC": keyRight, "OD": keyLeft,
	"[H": keyHome, "[F": keyEnd, "OH": keyHome, "OF": keyEnd, "[1~": keyHome, "[7~": keyHome, "[4~": keyEnd, "[8~": keyEnd, "[3~": keyDelete,
	"[1;5D": keyWordLeft, "[1;5C": keyWordRight, "[1;3D": keyWordLeft, "[1;3C": keyWordRight, "b": keyWordLeft, "f": keyWordRight,
	"\r": keyAltEnter, "\n": keyAltEnter, "\x7f": keyKillWord, "[13;3u": keyAltEnter,
}

// pasteStart and pasteEnd enclose what is pasted, where the terminal says so.
const (
	pasteStart = "[200~"
	pasteEnd   = "\x1b[201~"
)

// keyReader makes keys of the bytes of a terminal. A key may come in pieces; a lone escape is
// known for one only when nothing follows it for a moment, which flush says.
type keyReader struct{ rest string }

// feed takes bytes and gives the keys that are whole.
func (r *keyReader) feed(b []byte) []key {
	r.rest += string(b)
	var out []key
	for r.rest != "" {
		k, n := next(r.rest)
		if n == 0 {
			return out
		}
		r.rest = r.rest[n:]
		if k.kind != keyText || k.text != "" {
			out = append(out, k)
		}
	}
	return out
}

// waiting says that a key has begun whose end has not come.
func (r *keyReader) waiting() bool {
	return r.rest != "" && !strings.HasPrefix(r.rest, "\x1b"+pasteStart)
}

// flush gives up waiting for the rest of a key.
func (r *keyReader) flush() []key {
	if r.rest == "\x1b" {
		r.rest = ""
		return []key{{kind: keyEscape}}
	}
	r.rest = ""
	return nil
}

// next is the first key of the bytes and its length; length 0 asks for more bytes.
func next(s string) (key, int) {
	if s[0] == 0x1b {
		return escape(s)
	}
	if kind, ok := controls[s[0]]; ok {
		return key{kind: kind}, 1
	}
	if s[0] < ' ' {
		return key{}, 1 // another control character is no key of ours
	}
	if !utf8.FullRuneInString(s) {
		return key{}, 0
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return key{}, 1
	}
	return key{text: s[:n]}, n
}

// escape reads a key that begins with an escape.
func escape(s string) (key, int) {
	body := s[1:]
	switch {
	case body == "":
		return key{}, 0
	case strings.HasPrefix(body, pasteStart):
		text, _, ok := strings.Cut(body[len(pasteStart):], pasteEnd)
		if !ok {
			return key{}, 0
		}
		return key{kind: keyPaste, text: text}, 1 + len(pasteStart) + len(text) + len(pasteEnd)
	case body[0] == 0x1b:
		return key{kind: keyEscape}, 1
	case body[0] != '[' && body[0] != 'O':
		if kind, ok := sequences[body[:1]]; ok {
			return key{kind: kind}, 2
		}
		return key{}, 2 // Alt with another key
	}
	end := sequenceEnd(body)
	if end == 0 {
		return key{}, 0
	}
	if kind, ok := sequences[body[:end]]; ok {
		return key{kind: kind}, 1 + end
	}
	return key{}, 1 + end
}

// sequenceEnd is the length of a control sequence; 0 when its end has not come.
func sequenceEnd(body string) int {
	if body[0] == 'O' {
		if len(body) < 2 {
			return 0
		}
		return 2
	}
	for i := 1; i < len(body); i++ {
		if body[i] >= 0x40 && body[i] <= 0x7e {
			return i + 1
		}
	}
	return 0
}
