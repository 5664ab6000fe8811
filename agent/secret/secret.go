package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Redactor takes secrets out of text. It may be used by several goroutines, and learn while it is
// used. The nil Redactor knows of no values, and of all that is a secret by its look.
type Redactor struct {
	known atomic.Pointer[index]
}

// value is a secret by its value, and the mark that stands in its place.
type value struct{ text, mark string }

// shapes is what everybody looks for.
var shapes = sync.OnceValue(func() *index { return newIndex(nil) })

// New makes the redactor of an environment.
func New(environ []string) *Redactor {
	r := &Redactor{}
	r.known.Store(newIndex(fromEnvironment(environ)))
	return r
}

// Learn adds a secret by its value; name stands in its mark. A value that is too short to be told
// from other text, or known already, adds nothing.
func (r *Redactor) Learn(name, text string) {
	for {
		old := r.index()
		if len(text) < shortest || slices.ContainsFunc(old.values, func(v value) bool { return v.text == text }) {
			return
		}
		if r.known.CompareAndSwap(old, newIndex(append(slices.Clip(old.values), value{text, markOf(name)}))) {
			return
		}
	}
}

// LearnAddress adds the password that stands in an address, as in postgres://USER:PASSWORD@HOST.
func (r *Redactor) LearnAddress(name, address string) {
	for _, password := range passwords(address) {
		r.Learn(name, password)
	}
}

func (r *Redactor) index() *index {
	if r == nil {
		return shapes()
	}
	return r.known.Load()
}

// Text is a text without secrets.
func (r *Redactor) Text(text string) string {
	return without(text, 0, r.index().find(text).spans)
}

// Mark is the first mark in a text that stands in place of a secret, or "".
func (r *Redactor) Mark(text string) string {
	if !strings.Contains(text, markEnd) {
		return ""
	}
	for _, mark := range r.index().marks {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

// markEnd ends each mark.
const markEnd = " redacted]"

func markOf(name string) string { return "[" + name + markEnd }

// without is what stands from a place on, with marks in place of the secrets.
func without(text string, from int, spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.to <= from || s.mark == text[s.from:s.to] {
			continue
		}
		b.WriteString(text[from:max(s.from, from)])
		b.WriteString(s.mark)
		from = s.to
	}
	if b.Len() == 0 {
		return text[from:]
	}
	b.WriteString(text[from:])
	return b.String()
}
