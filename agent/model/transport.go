package model

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxErrorBody bounds what is read of a refusal.
	maxErrorBody = 64 << 10
	// settleTime is how long a finished answer may hold us up for the end of its
	// body, which is what lets the connection carry the next question.
	settleTime = 20 * time.Millisecond
	settleSize = 4 << 10
)

var errIdle = errors.New("idle limit reached")

// newTransport is the carrier used when the caller brings none.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConns:          16,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        16 << 10,
		// A compressed stream may be held back until a block is full.
		DisableCompression: true,
	}
}

// checkRedirect follows what keeps the question a POST to the same host and port, or to TLS there, and
// does not fall back to plain HTTP. The rest would ask for a page and show it as an answer, or
// tell the conversation and the key to someone whom nobody named.
func checkRedirect(next *http.Request, past []*http.Request) error {
	first := past[0].URL
	if next.Method != http.MethodPost || !sameServer(first, next.URL) || len(past) >= 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

func sameServer(a, b *url.URL) bool {
	upgraded := a.Scheme == "http" && b.Scheme == "https" && portOf(a) == "80" && portOf(b) == "443"
	return a.Hostname() == b.Hostname() && (upgraded || a.Scheme == b.Scheme && portOf(a) == portOf(b))
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// idleWatch ends its context when nothing was heard for the limit.
type idleWatch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func newIdleWatch(ctx context.Context, limit time.Duration) *idleWatch {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errIdle) })
	return &idleWatch{ctx: ctx, cancel: cancel, timer: timer, limit: limit}
}

func (w *idleWatch) heard() { w.timer.Reset(w.limit) }

func (w *idleWatch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// heardBody tells the watch of every byte that arrives.
type heardBody struct {
	io.ReadCloser
	watch *idleWatch
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.heard()
	}
	return n, err
}

// exchange is one request and its response: the HTTPDoer under go-openai for the
// length of one question.
type exchange struct {
	client *Client
	model  string
	body   body
	watch  *idleWatch
	events *events // once the server has answered with success
}

// Do sends the question with its own body and returns either a response whose body
// is clean event lines, or an error. go-openai never sees a refusal: it would read
// all of it and drop its headers.
func (x *exchange) Do(r *http.Request) (*http.Response, error) {
	r.Body, r.ContentLength = x.body.open(), x.body.size
	r.GetBody = func() (io.ReadCloser, error) { return x.body.open(), nil }
	r.URL.RawQuery = x.client.at.query
	r.Header.Set("User-Agent", "tandem")
	resp, err := x.client.http.Do(r)
	if err != nil {
		return nil, err
	}
	x.watch.heard()
	resp.Body = &heardBody{ReadCloser: resp.Body, watch: x.watch}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, readRefusal(resp)
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		resp.Body.Close() // it could unfold to any size, and nobody has asked for it
		return nil, &garbageError{what: "it sent a body in the encoding " + coding, final: true}
	}
	x.events = newEvents(resp.Body, x.watch)
	resp.Body = x.events
	return resp, nil
}

// readRefusal reads a response that is no answer. What cannot be read of its body is
// left out: the status alone says enough.
func readRefusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	f := readFault(text)
	f.status = resp.StatusCode
	if wait := retryAfter(resp.Header); wait > 0 {
		f.wait = wait
	}
	if at := resp.Header.Get("Location"); at != "" && resp.StatusCode < 400 {
		f.message = strings.TrimSpace("it points to " + at + " " + f.message)
	}
	return f
}
