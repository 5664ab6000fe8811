package model

import (
	"fmt"
	"net/url"
	"strings"
)

const (
	publicEndpoint  = "https://api.openai.com/v1"
	completionsPath = "/chat/completions"
)

// endpoint is where the questions go.
type endpoint struct {
	base  string // what go-openai appends its path to
	query string // kept from the base URL, without the question mark
	host  string // for messages
}

// shown is the address in a message; it holds no password.
func (e endpoint) shown() string {
	u, err := url.Parse(e.base + completionsPath)
	if err != nil {
		return e.host
	}
	return u.Redacted()
}

var versionSegment = lazily(`(^|/)v\d+[a-z]*\d*(/|$)`)

// Endpoint is the base URL that a client asks when it is given this one: in its plain form, up
// to and with the version, and with the query that each request bears. The error is a sentence
// that names the setting to change.
func Endpoint(base string) (*url.URL, error) {
	e, err := parseEndpoint(base)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(e.base)
	if err != nil {
		return nil, fmt.Errorf("OPENAI_BASE_URL (model.base_url) is not a URL; write it like http://localhost:11434/v1")
	}
	u.RawQuery = e.query
	return u, nil
}

// parseEndpoint reads a base URL in any of the forms that people paste.
func parseEndpoint(text string) (endpoint, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = publicEndpoint
	}
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("OPENAI_BASE_URL (model.base_url) is not a URL; write it like http://localhost:11434/v1")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("OPENAI_BASE_URL (model.base_url) is %q: it must be an http or https URL, like http://localhost:11434/v1", u.Redacted())
	}
	e := endpoint{query: u.RawQuery, host: u.Host}
	path := strings.TrimRight(u.Path, "/")
	whole, isWhole := strings.CutSuffix(path, completionsPath)
	switch {
	case isWhole:
		path = whole
	case !versionSegment().MatchString(path):
		path += "/v1"
	}
	u.RawQuery, u.Fragment, u.RawFragment, u.RawPath = "", "", "", ""
	u.Path = path
	e.base = u.String()
	return e, nil
}

// parseKey refuses what cannot stand in a header. Its error does not repeat the key.
func parseKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("OPENAI_API_KEY holds a character that no key has (%U): set it again", r)
		}
	}
	return key, nil
}
