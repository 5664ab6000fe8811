package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

const (
	defaultMaxFrame = 128 << 20
	defaultMaxQueue = 8 << 20
	defaultMaxOpen  = 1024

	// When the peer has gone, what it sent before gets this long to be begun; when the connection
	// ends, what is queued gets this long to be written.
	grace = time.Second
)

// Handler answers one method. Params are the JSON that came, «null» when none did; Decode reads
// them. The result is encoded as JSON; that of a notification is dropped. The context ends when
// the request is cancelled, and with the connection.
type Handler func(ctx context.Context, params json.RawMessage) (result any, err error)

// Options of a connection. The zero value has no methods and the default limits.
type Options struct {
	// Handlers makes the methods that the peer may call. It is called once, before the first
	// frame is read, with the connection that it makes them for; it must not wait for the peer.
	Handlers func(*Conn) map[string]Handler
	// Ordered are the requests that are begun in the order in which they came, one at a time.
	// The life of the connection (initialize, initialized, shutdown, exit) and notifications
	// have an order of their own; a notification listed here is begun in this one instead.
	Ordered []string
	// Log gets the stacks of panics and the reason of each end that is not the peer's; nil: none.
	Log *zap.Logger
	// MaxFrame is the longest message taken, in bytes; 0: 128 MiB, at most 1 GiB.
	MaxFrame int64
	// MaxQueue is how much may wait for a peer that does not read, in bytes; 0: 8 MiB.
	MaxQueue int64
	// MaxOpen is how many requests may be open before more are refused as overloaded, of the
	// ordered ones and of the others each; 0: 1024.
	MaxOpen int
}

// Conn is one connection. All of its methods may be called from any goroutine, also in handlers.
type Conn struct {
	rwc   io.ReadWriteCloser
	inner jsonrpc2.Conn
	in    *stream
	out   *outbox
	log   *zap.Logger

	ctx    context.Context // of the handlers
	cancel context.CancelCauseFunc
	peer   context.Context // ends as soon as the peer has gone
	gone   context.CancelFunc
	done   chan struct{}

	handlers map[string]Handler
	ordered  map[string]bool
	maxOpen  int
	order    lane // Options.Ordered
	events   lane // the life of the connection, and notifications
	open     atomic.Int64
	queued   atomic.Int64 // open ones of Options.Ordered

	work   sync.WaitGroup // every goroutine that runs handlers
	mu     sync.Mutex
	ending bool // nothing is added to work any more

	ids  sync.Mutex
	live map[string]*request // by the key of their id, until they are answered
}

// Serve speaks JSON-RPC over rwc, which it closes in the end, until the peer goes away, ctx ends
// or Close is called. It returns at once. Closing rwc has to end a Read that waits: a program's
// own stdin does not do so.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, o Options) *Conn {
	c := &Conn{
		rwc: rwc, log: o.Log, done: make(chan struct{}),
		ordered: map[string]bool{}, live: map[string]*request{}, maxOpen: orDefault(o.MaxOpen, defaultMaxOpen),
	}
	if c.log == nil {
		c.log = zap.NewNop()
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.peer, c.gone = context.WithCancel(c.ctx)
	c.order.work, c.events.work = &c.work, &c.work
	for _, m := range o.Ordered {
		c.ordered[m] = true
	}
	c.out = newOutbox(rwc, orDefault(o.MaxQueue, defaultMaxQueue), c.abort)
	c.in = newStream(rwc, c.out, min(orDefault(o.MaxFrame, defaultMaxFrame), maxDrained), c.log)
	c.inner = jsonrpc2.NewConn(c.in)
	if o.Handlers != nil {
		c.handlers = o.Handlers(c)
	}
	c.inner.Go(c.ctx, c.dispatch)
	go c.out.run()
	go c.supervise()
	return c
}

func orDefault[N int | int64](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// Notify queues a notification. It never waits for the peer; order is kept. The error is ErrClosed
// when the connection has ended, or that params cannot be encoded.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	if err := c.inner.Notify(ctx, method, json.RawMessage(raw)); err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// Call asks the peer and waits for its answer, which it decodes into result unless that is nil. It
// ends with ErrClosed when the peer goes away, with the context's error when that ends, for which
// the peer is told to cancel, and with a *RefusedError when the peer refuses.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	asked, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.peer, stop)()
	var answer json.RawMessage
	id, err := c.inner.Call(asked, method, json.RawMessage(raw), &answer)
	refusal := (*jsonrpc2.Error)(nil)
	switch {
	case errors.As(err, &refusal):
		return &RefusedError{Method: method, Code: int(refusal.Code), Message: refusal.Message}
	case err != nil && c.peer.Err() != nil:
		return fmt.Errorf("call %s: %w", method, ErrClosed)
	case err != nil && ctx.Err() != nil:
		c.withdraw(method, id)
		return fmt.Errorf("call %s: %w", method, ctx.Err())
	case err != nil:
		return fmt.Errorf("call %s: %w", method, err)
	case result == nil || len(answer) == 0:
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", method, err)
	}
	return nil
}

// withdraw tells the peer that nobody waits for an answer any more.
func (c *Conn) withdraw(method string, id jsonrpc2.ID) {
	c.in.forget(id)
	params := map[string]json.RawMessage{"id": json.RawMessage(idText(id))}
	if err := c.Notify(c.ctx, methodCancel, params); err != nil {
		c.log.Debug("withdraw a call", zap.String("method", method), zap.Error(err))
	}
}

// Close ends the connection: handlers are cancelled, what is queued is written unless the peer
// takes longer than a second over it. It does not wait; Done tells when it is over.
func (c *Conn) Close() { c.cancel(ErrClosed) }

// Done is closed when the connection has ended and nothing of it runs any more.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is why the connection ended, once Done is closed: nil when the peer closed it between two
// messages, or Close did.
func (c *Conn) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if cause := context.Cause(c.ctx); !errors.Is(cause, ErrClosed) {
		return cause
	}
	return nil
}

// abort ends the connection without waiting for a peer that cannot be talked to.
func (c *Conn) abort(why error) {
	if c.ctx.Err() == nil {
		c.log.Warn("dropped a connection", zap.Error(why))
	}
	c.cancel(why)
	_ = c.rwc.Close() // its end is what we want; it has none to report to
}

// supervise sees to the end: in order, what came is begun, handlers end, answers are written.
func (c *Conn) supervise() {
	select {
	case <-c.inner.Done():
		c.lost()
	case <-c.out.ended:
		c.lost()
	case <-c.ctx.Done():
	}
	hangUp := time.AfterFunc(grace, func() { _ = c.rwc.Close() })
	defer hangUp.Stop()
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.work.Wait()
	c.out.finish()
	<-c.out.ended
	_ = c.rwc.Close() // the peer may have closed it before
	<-c.inner.Done()
	close(c.done)
}

// lost ends a connection whose peer has gone. One that cannot be written to may still have words
// in the pipe, which its end follows at once.
func (c *Conn) lost() {
	c.gone()
	wait := time.NewTimer(grace)
	defer wait.Stop()
	select {
	case <-c.inner.Done():
		c.settle()
		c.cancel(c.readError())
	case <-wait.C:
		c.cancel(c.out.err)
	case <-c.ctx.Done():
	}
}

// readError is why reading ended, ErrClosed when that is as it should be.
func (c *Conn) readError() error {
	err := c.inner.Err()
	if err == nil || errors.Is(err, io.EOF) {
		return ErrClosed
	}
	c.log.Info("a connection ended", zap.Error(err))
	return err
}

// settle waits until both lanes have begun what the peer had sent, for as long as grace allows.
func (c *Conn) settle() {
	var lanes sync.WaitGroup
	for _, l := range []*lane{&c.events, &c.order} {
		lanes.Add(1)
		if !l.put(job{run: func(func()) { lanes.Done() }}) {
			lanes.Done()
		}
	}
	settled := make(chan struct{})
	c.work.Go(func() { lanes.Wait(); close(settled) })
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	select {
	case <-settled:
	case <-timeout.C:
	case <-c.ctx.Done():
	}
}
