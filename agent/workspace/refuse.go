package workspace

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of what a refusal shows.
const (
	shownPlaces = 5
	shownLines  = 8
	shownWidth  = 160
	// searched bounds the work of finding near misses; a longer file gets none.
	searched = 20_000
)

// refusal is a sentence for the reader, with a cause for the caller that is not part of it.
type refusal struct {
	text  string
	cause error
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.cause }

func refuse(cause error, format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...), cause: cause}
}

// ambiguous refuses to choose: it shows the places and says what would choose.
func (t *text) ambiguous(found []span, chooses string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "the old text stands there %d times%s: %s. The places:", len(found), matchedHow(found[0].how), chooses)
	for i, s := range found {
		if i == shownPlaces {
			fmt.Fprintf(&b, "\n… and %d more", len(found)-i)
			break
		}
		n := t.number(s.start)
		fmt.Fprintf(&b, "\n%d: %s", n, shorten(t.lines[n-1].text))
	}
	return errors.New(b.String())
}

func matchedHow(how string) string {
	if how == "" {
		return ""
	}
	return " (matched " + how + ")"
}

// notFound refuses and says why, as far as it can be told, and what stands nearest.
func (t *text) notFound(old, repl string) error {
	want, _ := contents(old)
	view, _ := t.unix()
	if strings.TrimSpace(repl) != "" && strings.Contains(view, strings.TrimSuffix(repl, "\n")) {
		return errors.New("the old text does not stand there, but the new text does: the edit seems to be applied already")
	}
	at, score := t.nearest(want)
	reason := t.reason(old, want, at, score)
	if score < 0.5 {
		return errors.New("the old text does not stand there" + reason + ", nor anything like it: read the file and copy the text as it is")
	}
	last := min(at+min(len(want), shownLines), len(t.lines))
	var b strings.Builder
	fmt.Fprintf(&b, "the old text does not stand there%s. Copy it as it is in the file. Nearest, from line %d:", reason, at+1)
	for i := at; i < last; i++ {
		fmt.Fprintf(&b, "\n%d: %s", i+1, shorten(t.lines[i].text))
	}
	if more := len(want) - shownLines; more > 0 {
		fmt.Fprintf(&b, "\n… and %d lines more", more)
	}
	return errors.New(b.String())
}

// reason says what is known about why nothing matched; "" when nothing is.
func (t *text) reason(old string, want []string, at int, score float64) string {
	view, _ := t.unix()
	if strings.Contains(view, strings.TrimSuffix(old, "\n")) {
		return ": it goes on to the end of a line where the file's line goes on further"
	}
	if strings.Contains(old, `\t`) && !strings.Contains(t.raw, `\t`) {
		return `: it holds a backslash and a «t» where a tab character may be meant`
	}
	if score < 0.5 {
		return ""
	}
	for i := at; i < min(at+len(want), len(t.lines)); i++ {
		if r, column := invisible(t.lines[i].text); r != 0 && !strings.ContainsRune(want[i-at], r) {
			return fmt.Sprintf(": line %d of the file holds an invisible U+%04X at column %d", i+1, r, column)
		}
	}
	if t.blanksOnly(want, at) {
		return ": only blanks, tabs or empty lines differ"
	}
	return ""
}

// blanksOnly tells whether the lines at an index are those wanted but for white space.
func (t *text) blanksOnly(want []string, at int) bool {
	var got strings.Builder
	for i := at; i < min(at+len(want), len(t.lines)); i++ {
		got.WriteString(t.lines[i].text)
	}
	return squeeze(got.String()) == squeeze(strings.Join(want, ""))
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// nearest finds the run of lines most like those wanted. The score is 1 for the same lines
// but for white space, and 0 when nothing is alike.
func (t *text) nearest(want []string) (at int, score float64) {
	want = want[:min(len(want), 50)]
	if len(t.lines) > searched {
		return 0, 0
	}
	trimmed := make([]string, len(t.lines))
	for i, l := range t.lines {
		trimmed[i] = strings.TrimSpace(l.text)
	}
	for i := range trimmed {
		sum := 0.0
		for j, w := range want {
			if i+j < len(trimmed) {
				sum += alike(trimmed[i+j], strings.TrimSpace(w))
			}
		}
		if s := sum / float64(len(want)); s > score {
			at, score = i, s
		}
	}
	return at, score
}

// alike measures two lines by how much of them is the same at the front and the back.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	short := min(len(a), len(b))
	front := 0
	for front < short && a[front] == b[front] {
		front++
	}
	back := 0
	for back < short-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	if front+back == short && short >= 8 {
		return 0.7
	}
	return float64(front+back) / float64(max(len(a), len(b)))
}

// shorten bounds a line that is shown, at a character's edge.
func shorten(s string) string {
	if len(s) <= shownWidth {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	cut := shownWidth
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:cut], "\ufffd"), len(s)-cut)
}

// An elision is a comment in place of code, such as «// ... existing code ...». A bare
// «...» is not taken for one: languages have it.
var elision = regexp.MustCompile(`(?i)^\s*(//|#|--|;|%|/\*|<!--|\{/\*|"""|\*)\s*(\.\.\.|…).*\b(existing|rest|remaining|unchanged|previous|same|other|omitted)\b` +
	`|^\s*(//|#|--|;|%|/\*|<!--|\{/\*|\*)\s*(the )?(existing|rest|remaining|unchanged|previous|same|other|omitted)\b.*(\.\.\.|…)\s*(\*/|-->|\*/\})?\s*$` +
	`|^\s*(//|#|--|/\*|<!--|\{/\*)\s*(\.\.\.|…)\s*(\*/|-->|\*/\})?\s*$`)

// elides refuses new text in which a comment stands for code that is not given: taken as
// it is, it would delete that code.
func elides(old, repl, file string) error {
	for l := range strings.SplitSeq(repl, "\n") {
		if elision.MatchString(l) && !strings.Contains(old, l) && !strings.Contains(file, strings.TrimSpace(l)) {
			return fmt.Errorf("the new text leaves code out with %q, which would delete that code: give every line", strings.TrimSpace(l))
		}
	}
	return nil
}

// hides refuses new text that a reader sees in another order than it runs, where the text
// before had no such characters.
func hides(old, repl string) error {
	if strings.ContainsFunc(old, isBidi) {
		return nil
	}
	if i := strings.IndexFunc(repl, isBidi); i >= 0 {
		r, _ := utf8.DecodeRuneInString(repl[i:])
		return fmt.Errorf("the new text holds the bidirectional control character U+%04X, which makes code read otherwise than it runs: write it as an escape, or ask the developer", r)
	}
	return nil
}
