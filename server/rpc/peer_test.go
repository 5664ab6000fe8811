package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the other end, with bytes and no library, as an editor would be.
type peer struct {
	t  testing.TB
	c  net.Conn
	in *bufio.Reader
}

// answer is any message that the peer gets.
type answer struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (a answer) String() string {
	switch {
	case a.Method != "":
		return fmt.Sprintf("%s %s", a.Method, a.Params)
	case a.Error != nil:
		return fmt.Sprintf("%s: %d %s", a.ID, a.Error.Code, a.Error.Message)
	}
	return fmt.Sprintf("%s: %s", a.ID, a.Result)
}

// on serves handlers to a peer over a pipe, which has no buffer: a byte is written when it is read.
func on(t testing.TB, o Options) (*peer, *Conn) {
	ours, theirs := net.Pipe()
	return serve(t, o, ours, theirs)
}

// onSocket does so over a socket as the daemon has it.
func onSocket(t testing.TB, o Options) (*peer, *Conn) {
	ours, theirs := socketPair(t)
	return serve(t, o, ours, theirs)
}

func socketPair(t testing.TB) (ours, theirs net.Conn) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err = net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func serve(t testing.TB, o Options, ours, theirs net.Conn) (*peer, *Conn) {
	c := Serve(context.Background(), ours, o)
	p := &peer{t: t, c: theirs, in: bufio.NewReader(theirs)}
	t.Cleanup(func() {
		theirs.Close()
		c.Close()
		<-c.Done()
	})
	return p, c
}

func methods(m map[string]Handler) func(*Conn) map[string]Handler {
	return func(*Conn) map[string]Handler { return m }
}

func (p *peer) raw(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.c, s); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func framed(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	p.raw(framed(`{"jsonrpc":"2.0",` + fmt.Sprintf(format, args...) + `}`))
}

func (p *peer) read() (answer, error) {
	var a answer
	header, err := textproto.NewReader(p.in).ReadMIMEHeader()
	if err != nil {
		return a, err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return a, err
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(p.in, body); err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

func (p *peer) next() answer {
	p.t.Helper()
	a, err := p.read()
	if err != nil {
		p.t.Fatalf("receive: %v", err)
	}
	return a
}

func (p *peer) want(wants ...string) {
	p.t.Helper()
	for _, want := range wants {
		if got := p.next().String(); got != want {
			p.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// ended waits for the connection's end and fails when something else comes.
func (p *peer) ended() {
	p.t.Helper()
	if a, err := p.read(); err == nil {
		p.t.Fatalf("got %s, want the end of the connection", a)
	}
}

func echo(_ context.Context, params json.RawMessage) (any, error) { return params, nil }

// untilCancelled is a handler that ends with its context; began tells that it runs.
func untilCancelled(began chan<- struct{}) Handler {
	return func(ctx context.Context, _ json.RawMessage) (any, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}
