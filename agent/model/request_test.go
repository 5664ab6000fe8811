package model

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// TestBodyIsTheBytesGiven: odd spacing, key order and escapes reach the server as they are.
func TestBodyIsTheBytesGiven(t *testing.T) {
	r := Request{
		Model:      `so "odd"`,
		Messages:   messages(`{ "role":"system", "content":"a\u003cb" }`, `{"content":"","role":"tool"}`),
		Tools:      json.RawMessage(`[ {"type":"function"} ]`),
		ToolChoice: "update_plan",
	}
	const begin = `{"model":"so \"odd\"","messages":[{ "role":"system", "content":"a\u003cb" },{"content":"","role":"tool"}]`
	const rest = `,"stream":true,"stream_options":{"include_usage":true}}`
	const tools = `,"tools":[ {"type":"function"} ]`
	tests := []struct {
		name string
		edit func(*Request, *Client)
		want string
	}{
		{"all", func(*Request, *Client) {}, begin + tools + `,"tool_choice":{"type":"function","function":{"name":"update_plan"}}` + rest},
		{"no choice", func(r *Request, _ *Client) { r.ToolChoice = "" }, begin + tools + rest},
		{"none", func(r *Request, _ *Client) { r.ToolChoice = "none" }, begin + tools + `,"tool_choice":"none"` + rest},
		{"no tools to choose from", func(r *Request, _ *Client) { r.Tools = nil }, begin + rest},
		{"no messages", func(r *Request, _ *Client) { r.Messages, r.Tools = messages(), nil }, `{"model":"so \"odd\"","messages":[]` + rest},
		{"choice refused before", func(_ *Request, c *Client) { c.noToolChoice.Store(true) }, begin + tools + rest},
		{"options refused before", func(r *Request, c *Client) { r.Tools = nil; c.noStreamOptions.Store(true) }, begin + `,"stream":true}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, c := r, newClient(t, text(""))
			test.edit(&r, c)
			b := c.body(r)
			for range 2 { // the second reading is a redirect's or a lost connection's
				if err := iotest.TestReader(b.open(), []byte(test.want)); err != nil {
					t.Error(err)
				}
			}
			if b.size != int64(len(test.want)) || !json.Valid([]byte(test.want)) {
				t.Errorf("size %d, want %d", b.size, len(test.want))
			}
		})
	}
}

// TestRequestOnTheWire asks a real server, also by way of a redirect that keeps POST,
// and with the models whose names go-openai has opinions about.
func TestRequestOnTheWire(t *testing.T) {
	var seen *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved/v1/chat/completions" {
			http.Redirect(w, r, "/v1/chat/completions", http.StatusPermanentRedirect)
			return
		}
		seen = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, say("hi")+end("stop")+done)
	}))
	defer server.Close()
	for _, path := range []string{"", "/moved"} {
		c, err := New(Options{BaseURL: server.URL + path, Key: " sk-1234\n"})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"some-model", "o1-mini", "o3", "o4-mini", "gpt-5", "gpt-3.5-turbo-instruct", ""} {
			q := question()
			q.Model = name
			a, err := c.Ask(t.Context(), q, nil)
			if err != nil || a.Text != "hi" {
				t.Fatalf("%s: %+v, %v", name, a, err)
			}
			if seen.ContentLength != int64(len(body)) || !strings.HasPrefix(string(body), `{"model":`+quote(name)+`,"messages":[`) {
				t.Errorf("%s: length %d of %q", name, seen.ContentLength, body)
			}
		}
		c.Close()
	}
	h := seen.Header
	if h.Get("Authorization") != "Bearer sk-1234" || h.Get("Content-Type") != "application/json" || h.Get("Accept-Encoding") != "" {
		t.Errorf("header %v", h)
	}
}

func TestNoKeySendsNone(t *testing.T) {
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = io.WriteString(w, say("hi")+end("stop")+done)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Ask(t.Context(), question(), nil); err != nil {
		t.Fatal(err)
	}
	if v, sent := header["Authorization"]; sent {
		t.Errorf("sent %q", v)
	}
}

func TestBaseURLForms(t *testing.T) {
	tests := map[string]string{
		"":                                  "https://api.openai.com/v1/chat/completions",
		"http://localhost:11434":            "http://localhost:11434/v1/chat/completions",
		"http://localhost:11434/":           "http://localhost:11434/v1/chat/completions",
		"http://localhost:11434/v1":         "http://localhost:11434/v1/chat/completions",
		" http://localhost:11434/v1// ":     "http://localhost:11434/v1/chat/completions",
		"https://a.test/api/v1":             "https://a.test/api/v1/chat/completions",
		"https://a.test/api":                "https://a.test/api/v1/chat/completions",
		"https://a.test/v1beta/openai/":     "https://a.test/v1beta/openai/chat/completions",
		"https://a.test/paas/v4":            "https://a.test/paas/v4/chat/completions",
		"https://a.test/x/chat/completions": "https://a.test/x/chat/completions",
		"https://a.test/v1?api-version=2":   "https://a.test/v1/chat/completions?api-version=2",
		"https://a.test/v1#part":            "https://a.test/v1/chat/completions",
		"http://[::1]:8080":                 "http://[::1]:8080/v1/chat/completions",
	}
	for base, want := range tests {
		var got string
		carrier := text(done)
		c, err := New(Options{BaseURL: base, HTTP: watched{carrier, func(r *http.Request) { got = r.URL.String() }}})
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		_, _ = c.Ask(t.Context(), question(), nil) // only the address is looked at
		if got != want {
			t.Errorf("%q asks %s, want %s", base, got, want)
		}
	}
}

// watched shows each request before it is carried.
type watched struct {
	http.RoundTripper
	look func(*http.Request)
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.look(r)
	return w.RoundTripper.RoundTrip(r)
}

func TestPasswordInTheAddressIsNotShown(t *testing.T) {
	c, err := New(Options{BaseURL: "http://me:hunter2@a.test", HTTP: text("<html>")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Ask(t.Context(), question(), nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

// TestRedirectsThatTellTheConversation are not followed.
func TestRedirectsThatTellTheConversation(t *testing.T) {
	for _, to := range []string{"https://other.test/v1/chat/completions", "http://model.test/v1/chat/completions",
		"https://model.test:8443/v1/chat/completions", "http://model.test:443/v1/chat/completions"} {
		asked := 0
		carrier := watched{refusal(http.StatusTemporaryRedirect, "", "Location", to), func(*http.Request) { asked++ }}
		c, err := New(Options{BaseURL: "https://model.test", HTTP: carrier})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), question(), nil)
		if err == nil || asked != 1 || !strings.Contains(err.Error(), to) {
			t.Errorf("asked %d times, %v", asked, err)
		}
	}
}

// TestRedirectsToTheSameServer are followed, with the question and the key.
func TestRedirectsToTheSameServer(t *testing.T) {
	for from, to := range map[string]string{"http://model.test": "https://model.test/v1/x", "https://model.test": "https://model.test:443/v1/x", "http://model.test:80": "/v1/x"} {
		var bodies, keys []string
		carrier := carrier(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			bodies, keys = append(bodies, string(body)), append(keys, r.Header.Get("Authorization"))
			if err != nil || r.URL.Path == "/v1/x" {
				return text(say("hi") + end("stop") + done).RoundTrip(r)
			}
			return refusal(http.StatusPermanentRedirect, "", "Location", to).RoundTrip(r)
		})
		c, err := New(Options{BaseURL: from, Key: "sk-1234", HTTP: carrier})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := c.Ask(t.Context(), question(), nil); err != nil || a.Text != "hi" {
			t.Errorf("from %s to %s: %+v, %v", from, to, a, err)
		}
		if len(bodies) != 2 || bodies[0] != bodies[1] || keys[1] != "Bearer sk-1234" {
			t.Errorf("from %s to %s: %d requests, keys %q", from, to, len(bodies), keys)
		}
	}
}

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// TestReasoningIsLeftOutWhereItIsRefused: one server wants it back with the calls, another refuses a
// conversation that holds it; each gets what it takes, the second after one refusal.
func TestReasoningIsLeftOutWhereItIsRefused(t *testing.T) {
	const with, bare = `{"role":"assistant","content":null,"reasoning_content":"I \"think\", {so}","tool_calls":[]}`, `{"role":"assistant","content":null,"tool_calls":[]}`
	const spoken = `{"role":"user","content":"what is \"reasoning_content\":\"x\"?"}`
	var bodies []string
	c := newClient(t, carrier(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if bodies = append(bodies, string(body)); strings.Contains(string(body), with) {
			return refusal(400, `{"error":{"message":"messages[2]: the field reasoning_content is not allowed in the input"}}`).RoundTrip(r)
		}
		return text(say("hi") + end("stop") + done).RoundTrip(r)
	}))
	q := question()
	q.Messages = messages(spoken, with, `{"reasoning_content":"x","role":"assistant"}`, `{"role":"tool","content":"{"}`)
	_, err := c.Ask(t.Context(), q, nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != UnsupportedField || e.Field != "reasoning_content" || !e.Retryable() {
		t.Fatalf("the refusal is %v", err)
	}
	if a, err := c.Ask(t.Context(), q, nil); err != nil || a.Text != "hi" {
		t.Fatal(err)
	}
	want := strings.Join([]string{spoken, bare, `{"role":"assistant"}`, `{"role":"tool","content":"{"}`}, ",")
	if !strings.Contains(bodies[0], with) || !strings.Contains(bodies[1], want) {
		t.Errorf("it asked\n%s\nand then\n%s", bodies[0], bodies[1])
	}
	_, _, err = ask(t, refusal(400, `{"error":{"message":"the reasoning_content in the thinking mode must be passed back to the API"}}`))
	if !errors.As(err, &e) || e.Kind != BadRequest {
		t.Errorf("where it is missing: %v", err)
	}
}
