package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"

	"tandem/protocol"
)

const methodCancel = protocol.LSPCancelRequest

// request is one request or notification on its way through.
type request struct {
	method  string
	params  json.RawMessage
	handler Handler
	ctx     context.Context
	cancel  context.CancelFunc
	begun   atomic.Bool // by its turn, or by the cancellation that came before it
	open    *atomic.Int64
	next    func()           // hands the lane over
	after   []func()         // run by the handler's goroutine once the answer is queued
	reply   jsonrpc2.Replier // nil for a notification
	key     string
}

type requestKey struct{}

// Release, called in a handler of an ordered method, lets the next one begin. What has to keep its
// order is done before it; the answer may come as late as it likes. Elsewhere it does nothing.
func Release(ctx context.Context) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok && r.next != nil {
		r.next()
	}
}

// After has f run when the result of the request that ctx belongs to is queued, so that what f
// sends comes after it; f does not run when the request is refused. After is called by the handler
// itself, before it returns. f must not wait for long: an ordered lane goes on only behind it.
func After(ctx context.Context, f func()) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		r.after = append(r.after, f)
	}
}

// dispatch runs in the reading goroutine, so it waits for nothing. Its error is nil always: the
// library would end the connection for any other.
func (c *Conn) dispatch(_ context.Context, reply jsonrpc2.Replier, msg jsonrpc2.Request) error {
	if msg.Method() == methodCancel {
		c.cancelRequest(msg.Params())
		return nil
	}
	r := &request{method: msg.Method(), params: msg.Params(), handler: c.handlers[msg.Method()]}
	call, isCall := msg.(*jsonrpc2.Call)
	if isCall {
		r.reply = reply
	}
	if r.handler == nil {
		c.send(r, nil, errUnknown(r.method))
		return nil
	}
	r.ctx, r.cancel = context.WithCancel(context.WithValue(c.ctx, requestKey{}, r))
	if isCall {
		c.register(r, call.ID())
	}
	c.schedule(r)
	return nil
}

// schedule gives a request its place: see the package comment.
func (c *Conn) schedule(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		r.cancel()
		return
	}
	taken := true
	switch {
	case c.ordered[r.method]:
		taken = c.limited(r, &c.queued) || c.order.put(c.job(r))
	case r.method == protocol.LSPInitialize:
		taken = c.order.put(c.initialized(r)) && c.events.put(c.job(r))
	case r.reply == nil || isLifecycle(r.method):
		taken = c.events.put(c.job(r))
	default:
		taken = c.limited(r, &c.open) || c.events.put(job{size: len(r.params), run: func(func()) {
			c.work.Go(func() { c.serve(r) })
		}})
	}
	if !taken {
		c.abort(errors.New("the client sends more than can be taken: too much waits to be begun"))
	}
}

func isLifecycle(method string) bool {
	return method == protocol.LSPShutdown || method == protocol.LSPExit || method == protocol.LSPInitialized
}

func (c *Conn) job(r *request) job {
	return job{size: len(r.params), run: func(next func()) {
		r.next = next
		c.serve(r)
	}}
}

// initialized is a job that holds the ordered requests back until r, the initialize, is answered.
func (c *Conn) initialized(r *request) job {
	answered := r.ctx.Done()
	return job{run: func(func()) { <-answered }}
}

// limited counts a request as open, or refuses it when too many are.
func (c *Conn) limited(r *request, open *atomic.Int64) (refused bool) {
	if r.reply == nil {
		return false
	}
	if open.Load() >= int64(c.maxOpen) {
		c.finish(r, nil, errOverloaded(r.method, c.maxOpen))
		return true
	}
	open.Add(1)
	r.open = open
	return false
}

// register makes a request known to $/cancelRequest.
func (c *Conn) register(r *request, id jsonrpc2.ID) {
	key, err := idKey(json.RawMessage(idText(id)))
	if err != nil {
		c.log.Error("read back an id", zap.Error(err)) // the stream has read it before
		return
	}
	r.key = key
	c.ids.Lock()
	defer c.ids.Unlock()
	c.live[key] = r
}

// cancelRequest answers a request that has not begun at once, wherever it waits; the handler of
// one that has sees its context end. What is not open any more is no fault: answers cross cancels.
func (c *Conn) cancelRequest(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	key, err := "", json.Unmarshal(params, &p)
	if err == nil {
		key, err = idKey(p.ID)
	}
	if err != nil {
		c.log.Debug("a cancellation of nothing", zap.Error(err))
		return
	}
	c.ids.Lock()
	r := c.live[key]
	c.ids.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	if r.begun.CompareAndSwap(false, true) {
		c.finish(r, nil, errCancelled(r.method))
	}
}

// serve runs the handler and answers, unless that is done.
func (c *Conn) serve(r *request) {
	if !r.begun.CompareAndSwap(false, true) {
		return
	}
	result, err := c.guard(r, func() (json.RawMessage, error) {
		// The connection's own context ends before those of a hundred thousand requests do.
		if r.ctx.Err() != nil || c.ctx.Err() != nil {
			return nil, context.Canceled
		}
		result, err := r.handler(r.ctx, r.params)
		if err != nil || r.reply == nil {
			return nil, err
		}
		return encodeResult(r.method, result)
	})
	if err != nil && r.reply == nil {
		c.log.Debug("a notification was refused", zap.String("method", r.method), zap.Error(err))
	}
	if errors.Is(err, context.Canceled) || err != nil && r.ctx.Err() != nil && !isRefusal(err) {
		err = errCancelled(r.method)
	}
	c.finish(r, result, err)
	if err != nil {
		return
	}
	for _, f := range r.after {
		_, _ = c.guard(r, func() (json.RawMessage, error) { f(); return nil, nil })
	}
}

// isRefusal tells whether err is a handler's own word, which stands also when it was cancelled.
func isRefusal(err error) bool {
	refusal, wire := (*protocol.Error)(nil), (*jsonrpc2.Error)(nil)
	return errors.As(err, &refusal) || errors.As(err, &wire)
}

// guard turns a panic of f into an error and a line in the log.
func (c *Conn) guard(r *request, f func() (json.RawMessage, error)) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a handler panicked", zap.String("method", r.method), zap.Any("panic", p), zap.Stack("stack"))
			raw, err = nil, errInternal(r.method)
		}
	}()
	return f()
}

// finish answers a request, after which it can no more be cancelled.
func (c *Conn) finish(r *request, result json.RawMessage, err error) {
	c.ids.Lock()
	if c.live[r.key] == r { // a peer may have used the id again, before its time
		delete(c.live, r.key)
	}
	c.ids.Unlock()
	if r.open != nil { // before the peer has the answer, and may ask for more
		r.open.Add(-1)
	}
	c.send(r, result, err)
	r.cancel()
}

// send queues the one answer of a request; a notification has none.
func (c *Conn) send(r *request, result json.RawMessage, err error) {
	if r.reply == nil {
		return
	}
	var refusal error
	if err != nil {
		refusal = wireError(err)
	}
	if err := r.reply(context.WithoutCancel(c.ctx), result, refusal); err != nil && !errors.Is(err, ErrClosed) {
		c.log.Error("answer a request", zap.String("method", r.method), zap.Error(err))
	}
}
