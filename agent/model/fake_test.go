package model

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds for every test of the package: no goroutine is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canned is a server without sockets: it answers each request with the same response.
type canned struct {
	status int
	header http.Header
	body   func() io.Reader
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Body: io.NopCloser(c.body()), Request: r}, nil
}

// text answers with 200 and a body.
func text(body string) canned {
	return canned{status: 200, header: http.Header{}, body: func() io.Reader { return bytes.NewReader([]byte(body)) }}
}

// refusal answers with a status and a body, and headers as pairs.
func refusal(status int, body string, header ...string) canned {
	c := text(body)
	c.status = status
	for pair := range slices.Chunk(header, 2) {
		c.header.Set(pair[0], pair[1])
	}
	return c
}

// oneByte gives one byte at each Read.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.r.Read(p[:1])
}

// broken reads as text and then fails with err.
type broken struct {
	r   io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func messages(texts ...string) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for _, t := range texts {
			if !yield(json.RawMessage(t)) {
				return
			}
		}
	}
}

// question carries all optional fields.
func question() Request {
	return Request{
		Model:      "some-model",
		Messages:   messages(`{"role":"user","content":"hello"}`),
		Tools:      json.RawMessage(`[{"type":"function","function":{"name":"read"}}]`),
		ToolChoice: "read",
	}
}

func newClient(t testing.TB, carrier http.RoundTripper) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: "http://model.test:8080", Key: "sk-secret-0123", HTTP: carrier})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ask asks carrier once and also returns what was said on the way.
func ask(t testing.TB, carrier http.RoundTripper) (Answer, string, error) {
	t.Helper()
	var said []byte
	a, err := newClient(t, carrier).Ask(context.Background(), question(), func(d Delta) {
		said = append(said, d.Text...)
	})
	return a, string(said), err
}
