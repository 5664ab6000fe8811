package secret

import (
	"encoding/base64"
	"strings"
)

// The marks of what is known by where it stands.
var (
	secretMark   = markOf("secret")
	passwordMark = markOf("password")
	bearerMark   = markOf("credentials")
)

const (
	// longestValue is how far a value is read, in bytes, and judged how much of it is looked at.
	longestValue = 512
	judged       = 128
)

// assigned looks at a value beside a name that says secret: password = "…", "api_key": "…",
// TOKEN=…, <secret>…</secret>, --token ….
func assigned(text string, at int) hit {
	from, end := nameAround(text, at)
	name := text[from:end]
	v, ok := valueBehind(text, end)
	if !ok || !betrays(name) && !allCaps(name, "_KEY") {
		return hit{}
	}
	if v.sign == ":" || v.sign == " " { // a type may stand between name and value
		if typed, ok := valueBehind(text, v.to); ok && typed.sign == "=" && typed.quoted {
			v = typed
		}
	}
	h := hit{open: v.to == len(text), begin: v.from}
	if v.secret(text, name) {
		h.span = span{v.from, v.to, secretMark}
	}
	return h
}

// allCaps says that a name is written as those of the environment are, with such an end.
func allCaps(name, end string) bool {
	return strings.HasSuffix(name, end) && name == strings.ToUpper(name)
}

// valueAt is a value and what stands before it.
type valueAt struct {
	from, to int
	sign     string // what assigns it: = : > ( or a blank
	quoted   bool
	spaced   bool // blanks stand around the sign
}

// valueBehind is the value that is assigned behind a name.
func valueBehind(text string, at int) (v valueAt, ok bool) {
	at = skip(text, at, "\\\"'`])", 8)
	named := at
	at = skip(text, at, " \t", 8)
	spaced := at > named
	sign := skip(text, at, ":=>!", 3)
	switch {
	case sign > at && (!spaced || text[at] != '>'):
		v.sign = text[at : at+1]
		if text[sign-1] == '=' {
			v.sign = "="
		}
	case at < len(text) && text[at] == '(' && !spaced:
		v.sign, sign = "(", at+1
	case spaced:
		v.sign, sign = " ", at
	default:
		return v, false
	}
	at = skip(text, sign, " \t", 8)
	v.spaced = spaced || at > sign
	if at+1 < len(text) && strings.IndexByte("bruf", text[at]|0x20) >= 0 && strings.IndexByte(`"'`, text[at+1]) >= 0 {
		at++ // a prefix of the string, as Python and Rust have it
	}
	slashes := skip(text, at, `\`, 4)
	if slashes < len(text) && strings.IndexByte("\"'`", text[slashes]) >= 0 {
		v.from, v.quoted = slashes+1, true
		v.to = closing(text, v.from, text[at:slashes+1])
		return v, v.to > v.from
	}
	v.from, v.to = at, bare(text, at)
	return v, v.to > v.from && v.sign != "("
}

// skip passes over bytes of a set, at most so many.
func skip(text string, at int, set string, most int) int {
	for n := 0; n < most && at < len(text) && strings.IndexByte(set, text[at]) >= 0; n++ {
		at++
	}
	return at
}

// closing is where a string ends that was opened with a quote, which may itself be escaped.
func closing(text string, at int, quote string) int {
	end := min(len(text), at+longestValue)
	for i := at; i < end; i++ {
		switch {
		case text[i] == '\n':
			return i
		case strings.HasPrefix(text[i:], quote):
			return i
		case text[i] == '\\' && len(quote) == 1:
			i++
		}
	}
	return end
}

// bare is where a value without quotes ends.
func bare(text string, at int) int {
	end := min(len(text), at+longestValue)
	for i := at; i < end; i++ {
		if bareEnds[text[i]] {
			return i
		}
	}
	return end
}

// secret says that a value is one, and no word, expression or example.
func (v valueAt) secret(text, name string) bool {
	word := text[v.from:min(v.to, v.from+judged)]
	called := v.to < len(text) && (text[v.to] == '(' || text[v.to] == '[')
	if strings.ContainsAny(word, " \t\n") || called && !v.quoted || isUUID(word) || strings.Contains(word, "://") {
		return false
	}
	if random(word, 16) {
		return v.sign != " " || len(word) >= 20
	}
	return v.chosen(word, name) && !placeholder(word)
}

// chosen says that a word is a password as people choose them, where nothing but one can stand: in
// quotes behind such a name, or behind a name of the environment.
func (v valueAt) chosen(word, name string) bool {
	switch {
	case len(word) < 8:
		return false
	case v.quoted:
		return isPassword(name) && classes(word) >= 3
	case v.sign == "=" && !v.spaced && allCaps(name, ""):
		return classes(word) >= 2 && strings.ContainsAny(word, "0123456789") && word[0] != '/' && word[0] != '.'
	}
	return false
}

// placeholder tells what stands where a secret is to be put.
func placeholder(word string) bool {
	if strings.IndexByte("$<{%[*.", word[0]) >= 0 || strings.Contains(word, "${") || strings.Contains(word, "{{") {
		return true
	}
	folded := strings.ToLower(word)
	for _, said := range []string{"example", "changeme", "change_me", "placeholder", "your", "xxxx", "****", "redacted", "dummy", "process.env", "os.environ"} {
		if strings.Contains(folded, said) {
			return true
		}
	}
	return false
}

// classes counts the kinds of characters in a word: lower and upper case, digits, others.
func classes(word string) int {
	var seen [4]int
	for i := range len(word) {
		switch b := word[i]; {
		case isLower(b):
			seen[0] = 1
		case isUpper(b):
			seen[1] = 1
		case isDigit(b):
			seen[2] = 1
		default:
			seen[3] = 1
		}
	}
	return seen[0] + seen[1] + seen[2] + seen[3]
}

// random says that a word is at least so long and looks as if it was drawn: many different
// characters, letters and digits, and one kind of them follows the other far more often than in any
// word, name or path of code.
func random(word string, atLeast int) bool {
	if len(word) < atLeast {
		return false
	}
	word = word[:min(len(word), judged)]
	var seen set
	distinct, counted, changes, digits, last := 0, 0, 0, 0, 0
	for i := range len(word) {
		b := word[i]
		if !seen[b] {
			seen[b] = true
			distinct++
		}
		kind := kindOf(b)
		if kind == 0 {
			continue
		}
		if counted++; counted > 1 && kind != last {
			changes++
		}
		if kind == digit {
			digits++
		}
		last = kind
	}
	return distinct >= 8 && digits >= 1 && digits < counted-1 && counted*4 >= len(word)*3 && changes*100 >= (counted-1)*28
}

const digit = 3

func kindOf(b byte) int {
	switch {
	case isLower(b):
		return 1
	case isUpper(b):
		return 2
	case isDigit(b):
		return digit
	}
	return 0
}

func isUUID(word string) bool {
	if len(word) != 36 {
		return false
	}
	for i := range len(word) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (word[i] == '-') || !dash && !isAlnum(word[i]) {
			return false
		}
	}
	return true
}

// userinfo looks at the password in an address, or at a token that stands there for a user.
func userinfo(text string, at int) hit {
	if at == 0 || !isAlnum(text[at-1]) {
		return hit{}
	}
	from := at + len("://")
	end := min(len(text), from+longestValue)
	to := from
	for to < end && !hostEnds[text[to]] {
		to++
	}
	h := hit{open: to == len(text), begin: from}
	whole := text[from:to]
	host := strings.LastIndexByte(whole, '@')
	if host < 0 {
		return h
	}
	user, word, ok := strings.Cut(whole[:host], ":")
	switch {
	case ok && word != "" && !placeholder(word) && strings.Trim(word, "x*") != "":
		h.span = span{from + len(user) + 1, from + host, passwordMark}
	case !ok && random(user, 16):
		h.span = span{from, from + host, secretMark}
	}
	return h
}

// bearer looks at what stands behind Bearer.
func bearer(text string, at int) hit {
	from := at + len("bearer ")
	to := bare(text, from)
	word := text[from:to]
	h := hit{open: to == len(text), begin: from}
	if word != "" && (random(word, 16) || len(word) >= 8 && strings.ContainsAny(word, "0123456789") && !placeholder(word)) {
		h.span = span{from, to, bearerMark}
	}
	return h
}

// basic looks at what stands behind Basic: base64 of a name, a colon and a password.
func basic(text string, at int) hit {
	from := at + len("basic ")
	to := bare(text, from)
	word := text[from:to]
	h := hit{open: to == len(text), begin: from}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(word, "="))
	if _, password, ok := strings.Cut(string(plain), ":"); err == nil && ok && password != "" {
		h.span = span{from, to, bearerMark}
	}
	return h
}
