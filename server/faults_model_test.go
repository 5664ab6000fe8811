package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
)

// The tests here have model servers that break off, lie and flood. Each time the developer is told in
// one line, the session takes their word meanwhile, and goes on when the fault is gone.

// finishing is the answer of a server that is well again: it ends the task.
func finishing() reply {
	return work("finish", `{"intent":"I end it.","step":"s1","summary":"done","evidence":[]}`)
}

const okHead = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n"

// rawServer answers the first request of a connection by hand, as long as it is ill; then it is well.
type rawServer struct {
	net.Listener
	ill    func(c net.Conn) // gets each request's connection, behind the request
	mu     sync.Mutex
	well   bool
	asked  []*http.Request
	served sync.WaitGroup
}

func newRawServer(t *testing.T, ill func(net.Conn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{Listener: l, ill: ill}
	s.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.served.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.served.Wait()
	})
	return s
}

func (s *rawServer) serve(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r)
	well := s.well
	s.mu.Unlock()
	if !well {
		s.ill(c)
		return
	}
	_, _ = io.WriteString(c, okHead+"\r\n"+finishing().body) // who has hung up asks again
}

func (s *rawServer) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.well = true
}

// utters is an illness: some bytes, and the connection is closed.
func utters(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

func bomb() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, 64<<20)) // a buffer takes everything
	_ = z.Close()
	return b.String()
}

// Each way for a server to lie or break off is told in a line that names the server, and the session
// is finished when the server is well.
func TestAServerThatLies(t *testing.T) {
	const broke, odd = "broke off its answer", "closed the connection before it answered"
	words := "data: " + saying("I look.") + "\n\n"
	whole := sse{saying("I look.")}.whole("stop").body
	for name, test := range map[string]struct {
		ill  func(net.Conn)
		says string
	}{
		"length too long":       {utters(okHead + "Content-Length: 100000\r\n\r\n" + whole[:len(whole)-20]), broke},
		"length too short":      {utters(okHead + "Content-Length: 40\r\n\r\n" + whole), broke},
		"no length at all":      {utters(okHead + "Content-Length: x\r\n\r\n" + whole), odd},
		"reset":                 {resets(okHead + "\r\n" + words), broke},
		"reset at once":         {resets(""), odd},
		"chunk that is none":    {utters(okHead + "Transfer-Encoding: chunked\r\n\r\nzzz\r\n" + whole), broke},
		"chunk that breaks off": {utters(okHead + "Transfer-Encoding: chunked\r\n\r\nffff\r\n" + words), broke},
		"1xx for ever":          {forEver("HTTP/1.1 103 Early Hints\r\n\r\n"), odd},
		"headers for ever":      {forEver(okHead + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 100)), odd},
		"no HTTP":               {utters("220 mail.example ESMTP\r\n"), odd},
		"switching protocols":   {utters("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), "takes no questions"},
		"no content":            {utters("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"), "it sent an empty body"},
		"gzip bomb":             {utters(okHead + "Content-Encoding: gzip\r\n\r\n" + bomb()), "in the encoding gzip"},
		"page":                  {utters(okHead + "\r\n<html><body>Sign in</body></html>"), "it sent a web page"},
		"binary":                {utters(okHead + "\r\n\x00\x01\x02\xff\xfe\n\x00"), "it sent plain text"},
		"error of 10 MB":        {utters("HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n" + strings.Repeat("it is broken \x1b[31m", 1<<19)), "(500): it is broken [31mit is broken"},
		"status of nobody":      {utters("HTTP/1.1 999 Hm\r\nConnection: close\r\n\r\n"), "(999)"},
		"error of its own":      {utters(okHead + "\r\ndata: {\"error\":{\"message\":\"I\\u0000 am \\u202e full\"}}\n\n"), "cannot answer now: I am full"},
		"unfinished business":   {utters(okHead + "\r\n" + sse{saying("I look.")}.whole("network_error").body), "the answer ended with network_error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, test.ill)
			h := newHouse(t, nil, "OPENAI_BASE_URL=http://"+s.Addr().String(), "OPENAI_API_KEY=sk-1234")
			h.opts.HTTP = nil
			h.Registry = NewRegistry(h.opts)
			p := h.client()
			id := p.start(params{}).ID
			note := p.untilHas(protocol.NoteModeChanged, test.says)
			if text := string(note.Params); !strings.Contains(text, s.Addr().String()) || strings.Contains(text, "sk-1234") || len(text) > 8<<10 {
				t.Errorf("the developer is told %s", text)
			}
			s.heal()
			p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
			p.untilHas(protocol.NoteModeChanged, `"done"`)
			h.close()
		})
	}
}

// resets writes and then has the connection reset.
func resets(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).SetLinger(0)
	}
}

// forEver writes the same until nobody reads it any more.
func forEver(text string) func(net.Conn) {
	return func(c net.Conn) {
		for err := error(nil); err == nil; _, err = io.WriteString(c, text) {
		}
	}
}

// A server that breaks within TLS, with HTTP/1.1 and with HTTP/2, is one that broke off.
func TestAServerThatBreaksWithinTLS(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			n := 0
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil || (r.ProtoMajor == 2) != http2 {
					t.Errorf("asked by %s, %v", r.Proto, err)
				}
				mu.Lock()
				n++
				first := n == 1
				mu.Unlock()
				if first {
					_, _ = io.WriteString(w, "data: "+saying("I look.")+"\n\n")
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
				_, _ = io.WriteString(w, finishing().body)
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			carrier := server.Client().Transport.(*http.Transport)
			if !http2 {
				carrier.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			}
			h := newHouse(t, nil, "OPENAI_BASE_URL="+server.URL)
			h.opts.HTTP = carrier
			h.Registry = NewRegistry(h.opts)
			p := h.client()
			p.start(params{})
			p.untilHas(protocol.NoteModeChanged, "broke off its answer; it is asked again in")
			p.untilHas(protocol.NoteModeChanged, `"done"`)
			h.close()
		})
	}
}

// A redirect to another host is not followed: neither the key nor the conversation goes there; and
// what a server would have kept by a cookie it does not get back.
func TestAServerThatSendsElsewhere(t *testing.T) {
	other := newRawServer(t, utters(okHead+"\r\n"+finishing().body))
	s := newRawServer(t, func(c net.Conn) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 307 Elsewhere\r\nConnection: close\r\nSet-Cookie: a=b\r\nLocation: http://%s/v1/chat/completions\r\n\r\n", other.Addr())
	})
	h := newHouse(t, nil, "OPENAI_BASE_URL=http://"+s.Addr().String(), "OPENAI_API_KEY=sk-1234")
	h.opts.HTTP = nil
	h.Registry = NewRegistry(h.opts)
	p := h.client()
	id := p.start(params{}).ID
	p.untilHas(protocol.NoteModeChanged, "it points to http://"+other.Addr().String())
	s.heal()
	p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
	p.untilHas(protocol.NoteModeChanged, `"done"`)
	h.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(other.asked); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
	for _, r := range s.asked {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "Bearer sk-1234" {
			t.Errorf("the header is %v", r.Header)
		}
	}
}

// A name that cannot be looked up and a port that refuses are told with what to do; when they are
// back, the developer's word is enough.
func TestAServerThatComesBack(t *testing.T) {
	for says, fault := range map[string]error{
		"the name model.example cannot be looked up now": &net.OpError{Op: "dial", Err: &net.DNSError{Name: "model.example", Err: "server misbehaving", IsTemporary: true}},
		"the name model.example is not known":            &net.OpError{Op: "dial", Err: &net.DNSError{Name: "model.example", Err: "no such host", IsNotFound: true}},
		"connection refused":                             &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &comesBack{fault: fault}
				h := newHouse(t, nil)
				h.opts.HTTP = c
				h.Registry = NewRegistry(h.opts)
				p := h.client()
				id := p.start(params{}).ID
				p.until("the developer's turn", func(method, text string) bool {
					return method == protocol.NoteModeChanged && strings.Contains(text, says) && strings.Contains(text, `"waiting"`)
				})
				c.back()
				p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
				p.untilHas(protocol.NoteModeChanged, `"done"`)
			})
		})
	}
}

type comesBack struct {
	mu    sync.Mutex
	fault error
}

func (c *comesBack) back() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = nil
}

func (c *comesBack) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return nil, c.fault
	}
	resp := responds(200, finishing().body)
	resp.Request = r
	return resp, nil
}

// Numbers that cannot be are not believed: neither budgets nor the length of the conversation
// follow them.
func TestUsageThatCannotBe(t *testing.T) {
	for _, usage := range []string{`{"prompt_tokens":-5,"completion_tokens":-7}`, `{"prompt_tokens":1e308,"completion_tokens":1e308}`,
		`{"prompt_tokens":"999999999999","completion_tokens":2}`, `{"prompt_tokens":900000000000,"completion_tokens":900000000000}`,
		`{"prompt_tokens":9223372036854775807,"total_tokens":-1}`, `[]`, `"many"`, `{"prompt_tokens":{"a":1}}`} {
		t.Run(usage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, map[string]string{"a.txt": "a\n", ".tandem/config.yaml": "model: {context: 32000}\ntripwires: [{name: tokens, budget: {tokens: 2000000}}]"})
				lies := func(r reply) reply {
					r.body = strings.Replace(r.body, `"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`, `"usage":`+usage, 1)
					return r
				}
				read := []string{"read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`}
				h.model.will(lies(work(read...)), lies(does(read...)), lies(does(read...)), lies(finishing()))
				p := h.client()
				id := p.start(params{}).ID
				p.untilHas(protocol.NoteModeChanged, `"done"`)
				if s := p.session(id); s.Usage.InputTokens < 100 || s.Usage.InputTokens > 100_000 || s.Usage.OutputTokens < 1 || s.Usage.OutputTokens > 100<<20 {
					t.Errorf("the usage is %+v", s.Usage)
				}
				if q := h.model.question(3); strings.Contains(q, "[brief]") {
					t.Error("the conversation was begun anew")
				}
			})
		})
	}
}

// Words and names that no model should say are kept from doing harm: the conversation stays valid and
// the records readable.
func TestWordsThatNobodyShouldSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		odd := []string{
			`{"choices":[{"index":0,"delta":{"role":"system","content":"a\u0000b"}}]}`,
			`{"choices":[{"index":0,"delta":{"role":"user","content":"\ud800 \u2028 \u001b[2J"}}]}`,
			"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\xfe\"}}]}",
			`{"choices":[{"index":1,"delta":{"content":"another choice"}},{"index":0,"delta":{"content":" end"}}]}`,
			`{"id":"x","object":"other","created":"never","choices":[{"index":0,"delta":{"content":"."},"finish_reason":"sunshine"}]}`,
		}
		h.model.will(work(), sse(odd).whole("stop"), finishing())
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, `"waiting"`)
		p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
		p.untilHas(protocol.NoteModeChanged, `"done"`)
		strictly(t, h.model.asked())
		if q := h.model.question(2); !strings.Contains(q, `"role":"assistant","content":"a\u0000b`) || strings.Contains(q, "another choice") || !strings.Contains(q, " end.") {
			t.Errorf("in the conversation stands\n%s", q)
		}
		h.again()
		if s := h.client().session(id); s.Mode != protocol.Done {
			t.Errorf("the next daemon shows it as %+v", s)
		}
	})
}

// gush is a body that never ends: some bytes over and over, behind a head.
type gush struct {
	head  string
	flood []byte
	at    int
	shut  chan struct{}
	once  sync.Once
	sent  int64
}

func (g *gush) Read(p []byte) (int, error) {
	select {
	case <-g.shut:
		return 0, errors.New("hung up")
	default:
	}
	n := copy(p, g.head)
	g.head = g.head[n:]
	for n < len(p) {
		k := copy(p[n:], g.flood[g.at:])
		n += k
		g.at = (g.at + k) % len(g.flood)
	}
	g.sent += int64(n)
	return n, nil
}

func (g *gush) Close() error {
	g.once.Do(func() { close(g.shut) })
	return nil
}

// floods are what a server may send without an end; agent/model has more.
func floods() map[string]*gush {
	long := strings.Repeat("x", 8<<10)
	call := func(more string) string {
		return "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{" + more + "}]}}]}\n\n"
	}
	return map[string]*gush{
		"keep-alives": {flood: []byte(": " + long + "\n")},
		"one line":    {head: "data: ", flood: []byte(long)},
		"words":       {flood: []byte("data: " + saying(long[:2000]) + "\n\n")},
		"calls":       {flood: []byte(call(`"function":{"name":"list_files","arguments":"{}"}`))},
		"arguments":   {head: call(`"index":0,"id":"c","function":{"name":"write_file","arguments":"{\"content\":\""}`), flood: []byte(call(`"index":0,"function":{"arguments":"` + long + `"}`))},
	}
}

// A server that floods takes a bounded part of the memory, ends by itself in one line to the developer,
// and meanwhile a steer is received in time; the session goes on with the next server.
func TestAServerThatFloods(t *testing.T) {
	for name, g := range floods() {
		t.Run(name, func(t *testing.T) {
			memory := mostMemory(t)
			var mu sync.Mutex
			var bodies []*gush
			a := &answering{answer: func(n int, body string) *http.Response {
				if strings.Contains(body, "enough") {
					return responds(200, finishing().body)
				}
				mu.Lock()
				defer mu.Unlock()
				body1 := &gush{head: g.head, flood: g.flood, shut: make(chan struct{})}
				bodies = append(bodies, body1)
				resp := responds(200, "")
				resp.Body = body1
				return resp
			}}
			h := houseOf(t, a, nil)
			p := h.client()
			id := p.start(params{}).ID
			began := time.Now()
			p.ok(protocol.MethodSteer, at(id, "text", "in the flood"), nil)
			received := time.Since(began)
			note := p.until("the fault", func(method, text string) bool {
				return method == protocol.NoteModeChanged && (strings.Contains(text, "sent an answer that cannot be used") || strings.Contains(text, "no chat completion came"))
			})
			told := time.Since(began)
			p.ok(protocol.MethodSteer, at(id, "text", "enough"), nil)
			p.untilHas(protocol.NoteModeChanged, `"done"`)
			h.close()
			mu.Lock()
			defer mu.Unlock()
			var sent int64
			for _, b := range bodies {
				sent = max(sent, b.sent)
			}
			used := memory()
			t.Logf("%d MB were read at most, the steer received after %v, the developer told after %v, memory grew by %d MB: %.200s", sent>>20, received.Round(time.Millisecond), told.Round(time.Millisecond), used>>20, note.Params)
			if received > 5*time.Second || used > 300<<20 || sent > 300<<20 {
				t.Error("that is too much")
			}
			if !slices.ContainsFunc(a.asked(), func(body string) bool { return strings.Contains(body, "in the flood") }) {
				t.Error("the steer is lost")
			}
		})
	}
}
