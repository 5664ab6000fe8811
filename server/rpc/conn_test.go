package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"tandem/protocol"
)

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 10)
		p, _ := on(t, Options{Ordered: []string{"tandem/steer"}, Handlers: methods(map[string]Handler{
			"slow": untilCancelled(began), "tandem/steer": untilCancelled(began), "echo": echo, "textDocument/didChange": untilCancelled(began),
			"done": func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return "posted", nil },
			"no": func(ctx context.Context, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				return nil, protocol.Errorf(protocol.NoSuchSession, "no session")
			},
			"wrapped": func(ctx context.Context, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				return nil, errors.New("signal: killed")
			},
		})})
		cancel := func(id string) { p.send(`"method":"$/cancelRequest","params":{"id":%s}`, id) }
		for _, id := range []string{"1", `"one"`, "4294967296"} {
			p.send(`"id":%s,"method":"slow"`, id)
			<-began
			cancel(id)
			p.want(id + ": -32800 slow was cancelled")
		}
		p.send(`"id":2,"method":"done"`)
		synctest.Wait() // it has begun, so what it did stands
		cancel("2")
		p.want(`2: "posted"`)
		p.send(`"id":3,"method":"no"`)
		synctest.Wait()
		cancel("3")
		p.want("3: -32001 no session")
		p.send(`"id":4,"method":"wrapped"`)
		synctest.Wait()
		cancel("4")
		p.want("4: -32800 wrapped was cancelled")

		// Whatever waits its turn is answered at once and never begun.
		p.send(`"id":5,"method":"tandem/steer"`)
		<-began
		p.send(`"id":6,"method":"tandem/steer"`)
		cancel("6")
		p.want("6: -32800 tandem/steer was cancelled")
		p.send(`"method":"textDocument/didChange"`)
		<-began
		p.send(`"id":7,"method":"slow"`)
		cancel("7")
		p.want("7: -32800 slow was cancelled")
		for _, nothing := range []string{"99", "1", `{}`, `null`} {
			cancel(nothing)
		}
		p.send(`"method":"$/cancelRequest"`)
		cancel("5")
		p.want("5: -32800 tandem/steer was cancelled")
		synctest.Wait()
		if len(began) != 0 {
			t.Error("a request began that had been cancelled")
		}
	})
}

// Two steers keep their order though the first takes its time over the answer; neither waits for
// a slow request, nor for a stuck edit.
func TestOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 10)
		var posted []string
		p, _ := on(t, Options{Ordered: []string{"tandem/steer"}, Handlers: methods(map[string]Handler{
			"tandem/ask": untilCancelled(began), "textDocument/didChange": untilCancelled(began),
			"tandem/steer": func(ctx context.Context, params json.RawMessage) (any, error) {
				posted = append(posted, string(params)) // no lock: the lane is the order
				if string(params) == `["slow"]` {
					Release(ctx)
					Release(ctx) // once more is no more
					time.Sleep(time.Second)
				}
				return params, nil
			},
		})})
		p.send(`"id":1,"method":"tandem/ask"`)
		<-began
		p.send(`"method":"textDocument/didChange"`)
		<-began
		p.send(`"id":2,"method":"tandem/steer","params":["slow"]`)
		p.send(`"id":3,"method":"tandem/steer","params":["b"]`)
		p.send(`"id":4,"method":"tandem/steer","params":["c"]`)
		p.want(`3: ["b"]`, `4: ["c"]`, `2: ["slow"]`)
		if got := strings.Join(posted, ""); got != `["slow"]["b"]["c"]` {
			t.Errorf("begun in the order %s", got)
		}
	})
}

// A request sees the edits that came before it; edits are applied one by one, in order.
func TestEditsComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := ""
		p, _ := on(t, Options{Handlers: methods(map[string]Handler{
			"textDocument/didChange": func(_ context.Context, params json.RawMessage) (any, error) {
				before := text
				time.Sleep(time.Millisecond)
				text = before + string(params[1:len(params)-1])
				return nil, nil
			},
			"textDocument/codeAction": func(context.Context, json.RawMessage) (any, error) { return len(text), nil },
		})})
		var all strings.Builder
		for range 1000 {
			all.WriteString(framed(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":[7]}`))
		}
		p.raw(all.String())
		p.send(`"id":1,"method":"textDocument/codeAction"`)
		p.want("1: 1000")
	})
}

// A steer sent right behind initialize finds it done.
func TestInitializeComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := false
		p, _ := on(t, Options{Ordered: []string{"tandem/steer"}, Handlers: methods(map[string]Handler{
			"initialize": func(context.Context, json.RawMessage) (any, error) {
				time.Sleep(time.Minute)
				ready = true
				return 1, nil
			},
			"tandem/steer": func(context.Context, json.RawMessage) (any, error) { return ready, nil },
			"tandem/plan":  func(context.Context, json.RawMessage) (any, error) { return ready, nil },
		})})
		p.send(`"id":1,"method":"initialize"`)
		p.send(`"id":2,"method":"tandem/steer"`)
		p.want("1: 1", "2: true")
		p.send(`"id":3,"method":"initialize"`)
		p.send(`"id":4,"method":"tandem/plan"`)
		p.want("3: 1", "4: true")
	})
}

type unencodable struct{ C chan int }

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("in the result") }

// Whatever a handler does gives one answer and the connection goes on.
func TestOutcomes(t *testing.T) {
	logs, seen := observer.New(zap.ErrorLevel)
	wrong := protocol.Errorf(protocol.WrongMode, "the session is paused; resume it first")
	wrong.Mode = protocol.Paused
	result := func(r any, err error) Handler {
		return func(context.Context, json.RawMessage) (any, error) { return r, err }
	}
	p, _ := on(t, Options{Log: zap.New(logs), Handlers: methods(map[string]Handler{
		"nil": result(nil, nil), "list": result(protocol.List[int](nil), nil), "refused": result(nil, fmt.Errorf("post: %w", wrong)),
		"fault": result(1, errors.New("open journal: disk full")), "cancelled": result(nil, fmt.Errorf("ask: %w", context.Canceled)),
		"channel": result(unencodable{}, nil), "late": result(nil, context.DeadlineExceeded), "result panics": result(panicking{}, nil),
		"panic": func(context.Context, json.RawMessage) (any, error) { panic("boom") },
		"nil pointer": func(context.Context, json.RawMessage) (any, error) {
			var none *protocol.Session
			return none.ID, nil
		},
		"textDocument/didOpen": func(context.Context, json.RawMessage) (any, error) { panic("boom") },
		"textDocument/didSave": result(nil, errors.New("no such document")),
	})})
	rows := []struct{ method, want string }{
		{"nil", "null"}, {"list", "[]"},
		{"refused", "-32002 the session is paused; resume it first"},
		{"fault", "-32803 open journal: disk full"},
		{"cancelled", "-32800 cancelled was cancelled"},
		{"late", "-32803 context deadline exceeded"},
		{"channel", "-32603 encode the result of channel: json: unsupported type: chan int"},
		{"panic", "-32603 panic: the daemon met a fault of its own; its log says which"},
		{"nil pointer", "-32603 nil pointer: the daemon met a fault of its own; its log says which"},
		{"result panics", "-32603 result panics: the daemon met a fault of its own; its log says which"},
	}
	for i, row := range rows {
		p.send(`"method":"textDocument/didOpen"`)
		p.send(`"method":"textDocument/didSave"`)
		p.send(`"id":%d,"method":"%s"`, i, row.method)
		a := p.next()
		if got := a.String(); got != fmt.Sprintf("%d: %s", i, row.want) {
			t.Errorf("%s: got %s", row.method, got)
		}
		if row.method == "refused" && string(a.Error.Data) != `{"kind":"wrongMode","mode":"paused"}` {
			t.Errorf("data of the refusal: %s", a.Error.Data)
		}
	}
	panics := seen.FilterMessage("a handler panicked").All()
	if len(panics) != 3+len(rows) {
		t.Errorf("%d panics in the log", len(panics))
	}
	for _, e := range panics {
		if stack, _ := e.ContextMap()["stack"].(string); !strings.Contains(stack, "conn_test.go") {
			t.Fatalf("the log does not say where: %v", e.ContextMap())
		}
	}
}

func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := on(t, Options{Ordered: []string{"tandem/session/attach"}, Handlers: func(c *Conn) map[string]Handler {
			return map[string]Handler{"tandem/session/attach": func(ctx context.Context, params json.RawMessage) (any, error) {
				After(ctx, func() { _ = c.Notify(ctx, "tandem/progress", map[string]int{"seq": 1}) })
				After(ctx, func() { panic("boom") })
				if string(params) == "[0]" {
					return nil, errors.New("no")
				}
				return "session", nil
			}}
		}})
		p.send(`"id":1,"method":"tandem/session/attach"`)
		p.send(`"id":2,"method":"tandem/session/attach","params":[0]`)
		p.send(`"id":3,"method":"tandem/session/attach","params":[0]`)
		p.want(`1: "session"`, `tandem/progress {"seq":1}`, "2: -32803 no", "3: -32803 no")
	})
}

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := on(t, Options{Handlers: func(c *Conn) map[string]Handler {
			return map[string]Handler{"edit": func(ctx context.Context, params json.RawMessage) (any, error) {
				var out protocol.ApplyEditResult
				err := c.Call(ctx, "workspace/applyEdit", params, &out)
				return out, err
			}}
		}})
		p.send(`"id":1,"method":"edit","params":{"edit":{}}`)
		p.want(`workspace/applyEdit {"edit":{}}`)
		for range 5 { // more answers than were asked for must not stop the reader
			p.send(`"id":1,"result":{"applied":true}`)
		}
		p.want(`1: {"applied":true}`)
		p.send(`"id":2,"method":"edit"`)
		p.next()
		p.send(`"id":2,"error":{"code":-32601,"message":"no applyEdit here"}`)
		p.want("2: -32803 workspace/applyEdit: the client refused: no applyEdit here (code -32601)")
		p.send(`"id":3,"method":"edit"`)
		p.next()
		p.send(`"id":3,"result":{"applied":"yes"}`)
		if a := p.next(); a.Error == nil || !strings.Contains(a.Error.Message, "decode the answer to workspace/applyEdit") {
			t.Errorf("an answer of another shape: %s", a)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed := make(chan error, 1)
		go func() { failed <- c.Call(ctx, "window/ask", nil, nil) }()
		p.want("window/ask ", `$/cancelRequest {"id":4}`)
		if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call without an answer: %v", err)
		}
		p.send(`"id":4,"result":null`) // too late, and nobody's
		p.send(`"id":5,"method":"none"`)
		p.want(`5: -32601 no method is named "none"`)
		if err := c.Notify(t.Context(), "x", make(chan int)); err == nil || errors.Is(err, ErrClosed) {
			t.Errorf("params that are no JSON: %v", err)
		}
	})
}

// The peer goes away in the middle of everything: calls and handlers end, what had come whole on
// a lane is begun, nothing is left running.
func TestPeerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 10)
		var heard []string
		p, c := on(t, Options{Ordered: []string{"tandem/steer"}, Handlers: func(c *Conn) map[string]Handler {
			return map[string]Handler{
				"slow": untilCancelled(began),
				"edit": func(ctx context.Context, _ json.RawMessage) (any, error) {
					began <- struct{}{}
					return nil, c.Call(context.WithoutCancel(ctx), "workspace/applyEdit", nil, nil)
				},
				"tandem/steer": func(ctx context.Context, params json.RawMessage) (any, error) {
					time.Sleep(100 * time.Millisecond)
					if ctx.Err() == nil {
						heard = append(heard, string(params))
					}
					return nil, ctx.Err()
				},
			}
		}})
		failed := make(chan error, 1)
		go func() { failed <- c.Call(context.Background(), "window/ask", nil, nil) }()
		p.want("window/ask ")
		p.send(`"id":1,"method":"slow"`)
		<-began
		p.send(`"id":2,"method":"edit"`)
		<-began
		p.next()
		p.send(`"id":3,"method":"tandem/steer","params":[1]`)
		p.send(`"id":4,"method":"tandem/steer","params":[2]`)
		p.c.Close()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("a call when the peer went: %v", err)
		}
		<-c.Done()
		if got := strings.Join(heard, ""); got != "[1][2]" {
			t.Errorf("of two steers that had come, these were begun: %s", got)
		}
		if err := c.Err(); err != nil {
			t.Errorf("a peer that hangs up is no fault: %v", err)
		}
		if err := c.Notify(t.Context(), "x", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("notify after the end: %v", err)
		}
		if err := c.Call(t.Context(), "x", nil, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("call after the end: %v", err)
		}
	})
}

// A client that has said all it has to say still gets the answers.
func TestHalfClosed(t *testing.T) {
	p, c := onSocket(t, Options{Ordered: []string{"tandem/steer"}, Handlers: methods(map[string]Handler{"tandem/steer": echo, "shutdown": echo})})
	p.send(`"id":1,"method":"tandem/steer"`)
	p.want("1: null")
	p.raw(framed(`{"jsonrpc":"2.0","id":2,"method":"tandem/steer"}`) + framed(`{"jsonrpc":"2.0","id":3,"method":"tandem/steer","params":[3]}`))
	if err := p.c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.want("2: null", "3: [3]")
	p.ended()
	<-c.Done()
}

// Close writes what is queued; a handler that takes no notice of its context holds Done back, and
// not the peer.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, stubborn := make(chan struct{}), make(chan struct{})
		p, c := on(t, Options{Handlers: func(c *Conn) map[string]Handler {
			return map[string]Handler{
				"shutdown": echo,
				"exit":     func(context.Context, json.RawMessage) (any, error) { c.Close(); return nil, nil },
				"stubborn": func(context.Context, json.RawMessage) (any, error) { close(began); <-stubborn; return 1, nil },
			}
		}})
		p.send(`"id":1,"method":"stubborn"`)
		<-began
		p.send(`"id":2,"method":"shutdown"`)
		p.send(`"method":"exit"`)
		p.want("2: null")
		p.ended()
		synctest.Wait()
		select {
		case <-c.Done():
			t.Error("done while a handler runs")
		default:
		}
		close(stubborn)
		<-c.Done()
		if c.Err() != nil {
			t.Errorf("closed on purpose, yet %v", c.Err())
		}
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ours, theirs := net.Pipe()
		c := Serve(ctx, ours, Options{})
		cancel()
		<-c.Done()
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			t.Error("the peer's end is still open")
		}
	})
}

// A client that stops reading is dropped, and until then nobody waits for it.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := on(t, Options{MaxQueue: 1 << 20})
		chunk := strings.Repeat("x", 64<<10)
		begin := time.Now()
		var err error
		for err == nil {
			err = c.Notify(t.Context(), "tandem/text", chunk)
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begin); took < patience || took > 2*patience {
			t.Errorf("dropped after %v", took)
		}
		if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("the sender learns: %v", err)
		}
		<-c.Done()
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "the client does not read") {
			t.Errorf("the reason of the end: %v", err)
		}
	})
}

// One that reads slowly gets everything, be it much at once; only past all bounds is it dropped.
func TestReplayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := on(t, Options{})
		const n = 3 * maxWaiting
		for i := range n {
			if err := c.Notify(t.Context(), "tandem/progress", i); err != nil {
				t.Fatalf("notification %d: %v", i, err)
			}
		}
		for i := range n {
			if i%1000 == 0 {
				time.Sleep(patience / 2)
				if err := c.Notify(t.Context(), "tandem/progress", n+i/1000); err != nil {
					t.Fatalf("while %d of %d were read: %v", i, n, err)
				}
			}
			if got := p.next(); string(got.Params) != fmt.Sprint(i) {
				t.Fatalf("notification %d: %s", i, got)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, c := on(t, Options{MaxQueue: 1000})
		sent, err := 0, error(nil)
		for ; err == nil; sent++ {
			err = c.Notify(t.Context(), "tandem/text", strings.Repeat("x", 100))
		}
		if sent < slack || sent > 10*slack+10 {
			t.Errorf("dropped after %d notifications: %v", sent, err)
		}
	})
}

func TestOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 100)
		p, _ := on(t, Options{MaxOpen: 3, Ordered: []string{"tandem/steer"}, Handlers: methods(map[string]Handler{
			"tandem/ask": untilCancelled(began), "tandem/steer": echo,
		})})
		for i := range 3 {
			p.send(`"id":%d,"method":"tandem/ask"`, i)
			<-began
		}
		p.send(`"id":3,"method":"tandem/ask"`)
		a := p.next()
		if a.Error == nil || a.Error.Code != protocol.CodeOverloaded || string(a.Error.Data) != `{"kind":"overloaded"}` {
			t.Errorf("the request above the limit: %s", a)
		}
		p.send(`"id":4,"method":"tandem/steer"`) // nobody's asking keeps the developer from steering
		p.want("4: null")
		p.send(`"method":"$/cancelRequest","params":{"id":0}`)
		p.want("0: -32800 tandem/ask was cancelled")
		p.send(`"id":5,"method":"tandem/ask"`)
		<-began
	})
}

// The client answers a call only when it has sent ten thousand documents, whose handler waits for
// that very answer: reading must not wait for handlers.
func TestReadingNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		p, _ := on(t, Options{Handlers: func(c *Conn) map[string]Handler {
			return map[string]Handler{
				"textDocument/didOpen": func(ctx context.Context, _ json.RawMessage) (any, error) {
					if opened++; opened == 1 {
						return nil, c.Call(ctx, "workspace/applyEdit", nil, nil)
					}
					return nil, nil
				},
				"count": func(context.Context, json.RawMessage) (any, error) { return opened, nil },
			}
		}})
		for range 10_000 {
			p.send(`"method":"textDocument/didOpen","params":{}`)
		}
		p.want("workspace/applyEdit ")
		p.send(`"id":1,"result":{"applied":true}`)
		p.send(`"id":2,"method":"count"`)
		p.want("2: 10000")
	})
}

// A lane whose handler is stuck does not hoard without end.
func TestStuckLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 1)
		p, c := on(t, Options{Handlers: methods(map[string]Handler{"textDocument/didOpen": untilCancelled(began)})})
		var many strings.Builder
		for range maxLaneJobs + 2 {
			many.WriteString(framed(`{"jsonrpc":"2.0","method":"textDocument/didOpen"}`))
		}
		_, err := p.c.Write([]byte(many.String()))
		<-c.Done()
		if c.Err() == nil || !strings.Contains(c.Err().Error(), "too much waits") {
			t.Errorf("ended with %v, the writer saw %v", c.Err(), err)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	ours, theirs := socketPair(t)
	server := Serve(t.Context(), ours, Options{Ordered: []string{"ordered"}, Handlers: methods(map[string]Handler{"plain": echo, "ordered": echo})})
	client := Serve(t.Context(), theirs, Options{})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			method := []string{"plain", "ordered"}[g%2]
			for i := range 150 {
				in, out := [2]int{g, i}, [2]int{}
				if err := client.Call(t.Context(), method, in, &out); err != nil || in != out {
					t.Errorf("%s %v: %v, %v", method, in, out, err)
					return
				}
			}
		})
	}
	all.Wait()
	client.Close()
	<-client.Done()
	<-server.Done()
}

func BenchmarkEcho(b *testing.B) {
	ours, theirs := socketPair(b)
	server := Serve(b.Context(), ours, Options{Handlers: methods(map[string]Handler{"echo": echo})})
	client := Serve(b.Context(), theirs, Options{})
	in := map[string]string{"text": strings.Repeat("x", 1000)}
	b.ReportAllocs()
	for b.Loop() {
		var out map[string]string
		if err := client.Call(b.Context(), "echo", in, &out); err != nil {
			b.Fatal(err)
		}
	}
	client.Close()
	<-client.Done()
	<-server.Done()
}
