package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// inputLine is the line that is being typed at the bottom of the screen.
type inputLine struct {
	text []rune
	at   int // the cursor, in runes
	past []string
	seen int    // how far back in past the developer looks; 0 is the line itself
	kept string // the line while they look back
}

// empty says that nothing but spaces is typed.
func (l *inputLine) empty() bool { return strings.TrimSpace(string(l.text)) == "" }

// take ends the line and gives what was typed.
func (l *inputLine) take() string {
	text := strings.TrimSpace(string(l.text))
	if text != "" && (len(l.past) == 0 || l.past[len(l.past)-1] != text) {
		l.past = append(l.past, text)
	}
	l.set("")
	l.seen = 0
	return text
}

func (l *inputLine) set(text string) {
	l.text = []rune(text)
	l.at = len(l.text)
}

// press edits the line by one key. Keys that edit nothing leave it as it is.
func (l *inputLine) press(k key) {
	switch k.kind {
	case keyText:
		l.insert(k.text)
	case keyPaste:
		l.insert(strings.ReplaceAll(strings.ReplaceAll(k.text, "\r\n", "\n"), "\r", "\n"))
	case keyBackspace:
		l.cut(l.before(), l.at)
	case keyDelete:
		l.cut(l.at, l.after())
	case keyLeft:
		l.at = l.before()
	case keyRight:
		l.at = l.after()
	case keyHome:
		l.at = 0
	case keyEnd:
		l.at = len(l.text)
	case keyWordLeft:
		l.at = l.wordBefore()
	case keyWordRight:
		l.at = l.wordAfter()
	case keyKillLine:
		l.cut(0, l.at)
	case keyKillRest:
		l.cut(l.at, len(l.text))
	case keyKillWord:
		l.cut(l.wordBefore(), l.at)
	case keyUp:
		l.look(l.seen + 1)
	case keyDown:
		l.look(l.seen - 1)
	}
}

func (l *inputLine) insert(text string) {
	added := []rune(text)
	added = slices.DeleteFunc(added, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	l.text = slices.Insert(l.text, l.at, added...)
	l.at += len(added)
}

func (l *inputLine) cut(from, to int) {
	l.text = slices.Delete(l.text, from, to)
	l.at = from
}

// before and after step over a character with the marks that combine with it.
func (l *inputLine) before() int {
	at := l.at
	for at > 0 {
		at--
		if !combines(l.text[at]) && (at == 0 || l.text[at-1] != zeroJoiner) {
			break
		}
	}
	return at
}

func (l *inputLine) after() int {
	at := l.at
	for at < len(l.text) {
		at++
		if at == len(l.text) || !combines(l.text[at]) && l.text[at-1] != zeroJoiner {
			break
		}
	}
	return at
}

const zeroJoiner = '\u200d'

func combines(r rune) bool {
	return unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || r == zeroJoiner || r >= '\ufe00' && r <= '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff
}

func (l *inputLine) wordBefore() int {
	at := l.at
	for at > 0 && unicode.IsSpace(l.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(l.text[at-1]) {
		at--
	}
	return at
}

func (l *inputLine) wordAfter() int {
	at := l.at
	for at < len(l.text) && unicode.IsSpace(l.text[at]) {
		at++
	}
	for at < len(l.text) && !unicode.IsSpace(l.text[at]) {
		at++
	}
	return at
}

// look shows an earlier line in place of this one.
func (l *inputLine) look(back int) {
	if back < 0 || back > len(l.past) {
		return
	}
	if l.seen == 0 {
		l.kept = string(l.text)
	}
	l.seen = back
	if back == 0 {
		l.set(l.kept)
		return
	}
	l.set(l.past[len(l.past)-back])
}

// draw is the part of the line around the cursor that fits into the columns, and the column of the cursor in it.
func (l *inputLine) draw(columns int) (text string, cursor int) {
	shown := func(part []rune) string {
		return strings.NewReplacer("\n", "⏎", "\t", " ").Replace(string(part))
	}
	left, right := shown(l.text[:l.at]), shown(l.text[l.at:])
	if over := runewidth.StringWidth(left) - (columns - 2); over > 0 {
		left = runewidth.TruncateLeft(left, over+1, "…")
	}
	cursor = runewidth.StringWidth(left)
	return left + runewidth.Truncate(right, max(columns-cursor, 0), "…"), cursor
}
