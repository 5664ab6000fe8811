package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// shortest is the shortest value, in bytes, that is taken for a secret: shorter ones stand in any
// text.
const shortest = 6

// fromEnvironment are the secrets of an environment: values of variables with such names, and
// passwords in the addresses that any variable holds.
func fromEnvironment(environ []string) []value {
	var out []value
	for _, e := range environ {
		name, text, _ := strings.Cut(e, "=")
		found := passwords(text)
		if isSecret(name) && !filepath.IsAbs(text) { // a path is not what lies there
			found = append(found, text)
		}
		for _, f := range found {
			if len(f) >= shortest && !slices.ContainsFunc(out, func(v value) bool { return v.text == f }) {
				out = append(out, value{f, markOf(name)})
			}
		}
	}
	return out
}

// The ends of variables' names whose values are secrets, in whatever case.
var secretEnds = []string{"_KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "_PASS", "_PWD", "_PAT", "_CREDENTIAL", "_CREDENTIALS"}

// isSecret tells the name of a variable whose value is a secret.
func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	if upper == "PASS" || upper == "CREDENTIALS" {
		return true
	}
	if upper == "PWD" || upper == "OLDPWD" { // a folder
		return false
	}
	return slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(upper, end) }) || betrays(name)
}

// passwords are those in an address, before its host or in its query, as they are spelt there and
// as they are meant.
func passwords(address string) []string {
	at := strings.Index(address, "://")
	if at < 0 {
		return nil
	}
	var out []string
	if spelt, ok := password(address[at+3:]); ok {
		out = append(out, spelt)
		if meant, err := url.PathUnescape(spelt); err == nil && meant != spelt {
			out = append(out, meant)
		}
	}
	if u, err := url.Parse(address); err == nil {
		query := u.Query()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if isSecret(name) || slices.Contains(queryKeys, strings.ToLower(name)) {
				out = append(out, query[name]...)
			}
		}
	}
	return out
}

// queryKeys are further names that secrets have in addresses.
var queryKeys = []string{"key", "sig", "signature", "code", "auth"}

// password is the one in the rest of an address behind its scheme. A slash may stand in it, which
// nobody should write and many do.
func password(rest string) (string, bool) {
	end := strings.LastIndex(rest, "@")
	if slash := strings.Index(rest, "/"); slash >= 0 && slash < end && !strings.Contains(rest[:slash], ":") {
		return "", false // the @ stands in the path
	}
	if end < 0 {
		return "", false
	}
	_, word, ok := strings.Cut(rest[:end], ":")
	return word, ok && word != ""
}

// forms are a value as it is and as it usually travels: in JSON, in an address, as base64, as hex.
func forms(text string) []string {
	out := []string{text}
	add := func(form string) {
		if len(form) >= shortest && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	for _, html := range []bool{false, true} {
		once := quoted(text, html)
		add(once)
		add(quoted(once, html)) // arguments of a call are JSON in JSON
	}
	for _, escape := range []func(string) string{url.QueryEscape, url.PathEscape} {
		add(escape(text))
		add(lowerEscapes(escape(text)))
	}
	for skipped := range 3 {
		add(inBase64(base64.RawStdEncoding, text, skipped))
		add(inBase64(base64.RawURLEncoding, text, skipped))
	}
	add(hex.EncodeToString([]byte(text)))
	add(strings.ToUpper(hex.EncodeToString([]byte(text))))
	return out
}

// quoted is a text as it stands within a JSON string, with or without the escapes that only HTML needs.
func quoted(text string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(text) != nil {
		return text // a string can be encoded
	}
	line := strings.TrimSpace(b.String())
	return line[1 : len(line)-1]
}

// lowerEscapes are percent escapes with lower-case digits.
func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], strings.ToLower(text[i+1:i+3]))
		}
	}
	return string(out)
}

// inBase64 is what is always there of a text in the base64 of a longer one, of which so many bytes,
// modulo three, stand before it.
func inBase64(enc *base64.Encoding, text string, before int) string {
	all := enc.EncodeToString(append(make([]byte, before), text...))
	whole := (before + len(text)) * 8 / 6
	return all[(before*8+5)/6 : whole]
}
