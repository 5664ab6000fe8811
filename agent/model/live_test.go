package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// piped is a server in a bubble: its script writes the body and may wait. Like a real
// carrier it ends the body when the request's context ends.
type piped struct {
	header time.Duration // before the response begins
	script func(w io.Writer, pause func(time.Duration))
}

func (p piped) RoundTrip(r *http.Request) (*http.Response, error) {
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	if pause(p.header); r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	reader, writer := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		p.script(writer, pause)
		_ = writer.Close()
	}()
	return &http.Response{StatusCode: 200, Body: reader, Request: r}, nil
}

func write(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

func stalled(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != Stalled || !e.Retryable() || !strings.Contains(e.Text, "2m0s") {
		t.Errorf("error %v, want a stall of 2m0s", err)
	}
}

func TestIdleLimit(t *testing.T) {
	t.Run("before the response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			_, _, err := ask(t, piped{header: time.Hour})
			stalled(t, err)
			if d := time.Since(begin); d != defaultIdle {
				t.Errorf("took %v", d)
			}
		})
	})
	t.Run("within the answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, _, err := ask(t, piped{script: func(w io.Writer, pause func(time.Duration)) {
				write(w, say("hi"))
				pause(time.Hour)
			}})
			stalled(t, err)
			if a.Text != "hi" {
				t.Errorf("kept %q", a.Text)
			}
		})
	})
	t.Run("a slow server is no silent one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, _, err := ask(t, piped{header: 119 * time.Second, script: func(w io.Writer, pause func(time.Duration)) {
				for range 30 {
					pause(119 * time.Second)
					write(w, ": wait\n\n")
				}
				write(w, say("hi"))
				pause(119 * time.Second)
				write(w, end("stop")+done)
			}})
			if err != nil || a.Text != "hi" {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	})
}

// TestLingeringBody: an answer is there with [DONE], however long the server keeps the
// connection open behind it.
func TestLingeringBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		a, _, err := ask(t, piped{script: func(w io.Writer, pause func(time.Duration)) {
			write(w, say("hi")+end("stop")+done)
			pause(time.Hour)
		}})
		if d := time.Since(begin); err != nil || a.Text != "hi" || d > 100*time.Millisecond {
			t.Errorf("got %+v, %v after %v", a, err, d)
		}
	})
}

// holding is a server that says one piece and then waits for its client to go.
func holding(t *testing.T, http2 bool) (server *httptest.Server, gone chan time.Time) {
	gone = make(chan time.Time, 1)
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if (r.ProtoMajor == 2) != http2 {
			t.Errorf("asked by %s", r.Proto)
		}
		write(w, say("hi"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- time.Now()
	}))
	if server.EnableHTTP2 = http2; http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, gone
}

func clientOf(t *testing.T, server *httptest.Server) *Client {
	t.Helper()
	carrier := newTransport()
	carrier.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	c, err := New(Options{BaseURL: server.URL, HTTP: carrier})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestCancelIsSeenByTheServer ends the context in mid-answer: the text is kept, the
// error is the context's, the server sees its client go.
func TestCancelIsSeenByTheServer(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server, gone := holding(t, http2)
			c := clientOf(t, server)
			var worst time.Duration
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				var at time.Time
				a, err := c.Ask(ctx, question(), func(Delta) { at = time.Now(); cancel() })
				var e *Error
				if !errors.Is(err, context.Canceled) || errors.As(err, &e) || a.Text != "hi" {
					t.Fatalf("got %+v, %v", a, err)
				}
				worst = max(worst, (<-gone).Sub(at))
			}
			t.Logf("the server saw the end after at most %v", worst)
			if worst > time.Second {
				t.Errorf("the server saw the end only after %v", worst)
			}
		})
	}
}

// spied is a body that tells whether it was read to its end before it was closed.
type spied struct {
	io.Reader
	ended, closed bool
}

func (s *spied) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.ended = s.ended || err == io.EOF && !s.closed
	return n, err
}

func (s *spied) Close() error { s.closed = true; return nil }

type spying struct {
	body    *spied
	request *http.Request
}

func (s *spying) RoundTrip(r *http.Request) (*http.Response, error) {
	s.request = r
	return &http.Response{StatusCode: 200, Body: s.body, Request: r}, nil
}

// TestEveryEndFreesTheRequest: the body is closed and the request's context ended,
// however the answer ended; a whole one is read to its end, so that the connection
// can carry the next question, a broken one is not.
func TestEveryEndFreesTheRequest(t *testing.T) {
	tests := map[string]struct {
		body string
		read bool
	}{
		"whole":   {hi + done, true},
		"error":   {say("hi") + `data: {"error":"busy"}` + "\n\n" + strings.Repeat(say("more"), 1000), false},
		"garbled": {say("hi") + "data: {bad}\n\n" + strings.Repeat(say("more"), 1000), false},
		"endless": {hi + done + strings.Repeat(say("more"), 10_000), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			carrier := &spying{body: &spied{Reader: oneEvent{strings.NewReader(test.body)}}}
			_, _, _ = ask(t, carrier) // how it ends is another test's matter
			if !carrier.body.closed || carrier.request.Context().Err() == nil {
				t.Error("the body is open or the request runs on")
			}
			if carrier.body.ended != test.read {
				t.Errorf("read to the end: %v", carrier.body.ended)
			}
		})
	}
}

// oneEvent gives at most 64 bytes at a Read, and never the end with the last of them.
type oneEvent struct{ r io.Reader }

func (o oneEvent) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 64)]) }

// TestConnectionIsUsedAgain asks thrice over one connection.
func TestConnectionIsUsedAgain(t *testing.T) {
	peers := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		write(w, say("hi")+end("stop"))
		_ = http.NewResponseController(w).Flush()
		write(w, done)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if _, err := c.Ask(t.Context(), question(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for three questions", len(peers))
	}
}

// TestNothingIsLeftBehind: after a cancel, a stall, a cut and an error no goroutine runs.
func TestNothingIsLeftBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		write(w, say("hi"))
		_ = http.NewResponseController(w).Flush()
		if bytes.Contains(body, []byte("hold")) {
			<-r.Context().Done()
			return
		}
		if bytes.Contains(body, []byte("fail")) {
			write(w, `data: {"error":"busy"}`+"\n\n")
			return
		}
		panic(http.ErrAbortHandler) // cuts the connection
	}))
	c, err := New(Options{BaseURL: server.URL, Idle: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]Kind{"hold": Stalled, "fail": Busy, "cut": Cut}
	for word, kind := range kinds {
		q := question()
		q.Messages = messages(quote(word))
		_, err := c.Ask(t.Context(), q, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("%s: %v", word, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Ask(ctx, q, func(Delta) { cancel() }); err == nil {
			t.Errorf("%s: cancelled, and no error", word)
		}
		cancel()
	}
	c.Close()
	server.Close()
	goleak.VerifyNone(t, before)
}

// BenchmarkAsk400KB measures a question with a long conversation against a server on
// the loopback: from Ask to the whole of a short answer.
func BenchmarkAsk400KB(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		write(w, say("hi")+end("stop")+done)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	all := make([]string, 400)
	for i := range all {
		all[i] = `{"role":"user","content":"` + strings.Repeat("x", 1000) + `"}`
	}
	raw := make([]json.RawMessage, len(all))
	for i, m := range all {
		raw[i] = json.RawMessage(m)
	}
	q := question()
	q.Messages = func(yield func(json.RawMessage) bool) {
		for _, m := range raw {
			if !yield(m) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Ask(context.Background(), q, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead measures what reading costs for a thousand events.
func BenchmarkRead(b *testing.B) {
	body := strings.Repeat(say("some words of an answer "), 1000) + end("stop") + done
	c := newClient(b, text(body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Ask(context.Background(), question(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
