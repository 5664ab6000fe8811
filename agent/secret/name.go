package secret

import (
	"slices"
	"strings"
)

// said are the words of which one in a name says that its value is a secret. They stand in a name
// that is split into lower-case parts with _ between them, and before and behind it.
var said = []string{"password", "passwd", "passphrase", "secret", "credential", "token_", "_pwd_", "_pass_",
	"api_key", "apikey", "access_key", "accesskey", "private_key", "privatekey", "secret_key", "auth_key", "authkey",
	"account_key", "accountkey", "encryption_key", "signing_key", "master_key", "shared_key", "service_key", "license_key"}

// denied are the parts of which one in a name says that its value is none: it is about a secret.
var denied = []string{"hash", "hashed", "sha", "sha1", "sha256", "digest", "checksum", "fingerprint", "id", "ids", "name", "names", "url", "uri",
	"path", "file", "files", "dir", "type", "kind", "public", "length", "len", "count", "max", "min", "size", "limit", "field", "header",
	"prefix", "suffix", "regex", "regexp", "pattern", "expiry", "expires", "ttl", "timeout", "policy", "version", "format", "index", "usage",
	"budget", "per", "next", "page", "continuation", "cancellation", "cancel"}

// betrays says that a name is one of a secret: api_key, dbPassword, SECRET_KEY_BASE; not
// token_count, not public_key.
func betrays(name string) bool {
	parts := split(name)
	if len(parts) == 1 && parts[0] == "pass" { // what a test did
		return false
	}
	for _, p := range parts {
		if slices.Contains(denied, p) {
			return false
		}
	}
	whole := "_" + strings.Join(parts, "_") + "_"
	return slices.ContainsFunc(said, func(word string) bool { return strings.Contains(whole, word) })
}

// isPassword says that a secret of this name is one that a person thought of.
func isPassword(name string) bool {
	folded := strings.ToLower(name)
	return strings.Contains(folded, "pass") || strings.Contains(folded, "pwd")
}

// split are the parts of a name, in lower case: apart are what _ - . or a change to upper case parts.
func split(name string) []string {
	var parts []string
	begin := 0
	cut := func(end, next int) {
		if end > begin {
			parts = append(parts, strings.ToLower(name[begin:end]))
		}
		begin = next
	}
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '_' || name[i] == '-' || name[i] == '.':
			cut(i, i+1)
		case isUpper(name[i]) && i > 0 && (isLower(name[i-1]) || isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])):
			cut(i, i)
		}
	}
	cut(len(name), len(name))
	return parts
}

func isUpper(b byte) bool  { return 'A' <= b && b <= 'Z' }
func isLower(b byte) bool  { return 'a' <= b && b <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isLetter(b byte) bool { return isUpper(b) || isLower(b) }
func isAlnum(b byte) bool  { return isLetter(b) || isDigit(b) }

// set is a set of bytes.
type set [256]bool

func setOf(is func(byte) bool) (s set) {
	for b := range s {
		s[b] = is(byte(b))
	}
	return s
}

var (
	wordBytes = setOf(func(b byte) bool { return isAlnum(b) || b == '_' })
	nameBytes = setOf(func(b byte) bool { return inWord(b) || b == '-' || b == '.' })
	// bareEnds end a value without quotes.
	bareEnds = setOf(func(b byte) bool { return b <= ' ' || b == 0x7f || strings.IndexByte("\"'`<>,;(){}[]|&\\", b) >= 0 })
	hostEnds = setOf(func(b byte) bool { return b <= ' ' || strings.IndexByte("/?#\"'`<>\\", b) >= 0 })
)

func inWord(b byte) bool { return wordBytes[b] }
func inName(b byte) bool { return nameBytes[b] }

// free says that what begins at a place is not the rest of a word. A letter behind a backslash is
// an escape, and no part of one; so are two digits behind a percent sign.
func free(text string, at int) bool {
	if at == 0 || !inWord(text[at-1]) {
		return true
	}
	if at >= 2 && text[at-2] == '\\' && strings.IndexByte("nrtbf", text[at-1]) >= 0 {
		return true
	}
	return at >= 3 && text[at-3] == '%' || at >= 6 && text[at-6] == '\\' && text[at-5] == 'u'
}

// nameAround is the name within which a place lies, bounded. An escape before it is no part of it.
func nameAround(text string, at int) (from, to int) {
	from, to = at, at
	for from > 0 && at-from < longestName && inName(text[from-1]) {
		from--
	}
	for to < len(text) && to-at < longestName && inName(text[to]) {
		to++
	}
	if from > 0 && text[from-1] == '\\' && from < at {
		from++
	}
	for from < to && (text[from] == '-' || text[from] == '.') {
		from++
	}
	return from, to
}

// longestName is how far a name is looked at to both sides, in bytes.
const longestName = 64
