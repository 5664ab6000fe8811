package model

import "testing"

func TestEndpointIsWhatAClientAsks(t *testing.T) {
	for base, want := range map[string]string{
		"":                        "https://api.openai.com/v1",
		" http://localhost:11434": "http://localhost:11434/v1",
		"http://localhost:11434/v1/chat/completions/":       "http://localhost:11434/v1",
		"https://host/openai/v1beta/":                       "https://host/openai/v1beta",
		"https://host/any/chat/completions?api-version=2#x": "https://host/any?api-version=2",
	} {
		u, err := Endpoint(base)
		if err != nil || u.String() != want {
			t.Errorf("of %q: %v, %v; want %s", base, u, err, want)
			continue
		}
		c, err := New(Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if u.RawQuery = ""; c.at.base != u.String() {
			t.Errorf("of %q the client asks %s, and the endpoint is %s", base, c.at.base, u)
		}
		c.Close()
	}
	for _, base := range []string{"host/v1", "ftp://host", "http://%zz"} {
		if u, err := Endpoint(base); err == nil {
			t.Errorf("of %q: %v", base, u)
		}
	}
}
