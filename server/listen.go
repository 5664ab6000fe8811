package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// ServeAll serves every client that connects, until ctx ends, or until no client has been there
// and nothing has run for idle, which is looked at every check.
func (r *Registry) ServeAll(ctx context.Context, l net.Listener, check, idle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients atomic.Int64
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	go r.endWhenIdle(ctx, cancel, check, func() bool {
		if clients.Load() > 0 || r.Live() {
			last.Store(time.Now().UnixNano())
		}
		return time.Since(time.Unix(0, last.Load())) >= idle
	})
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept clients: %w", err)
		}
		clients.Add(1)
		served := r.Serve(ctx, conn)
		go func() {
			<-served.Done()
			clients.Add(-1)
		}()
	}
}

// endWhenIdle ends the daemon when nobody needs it any more.
func (r *Registry) endWhenIdle(ctx context.Context, end func(), check time.Duration, idle func() bool) {
	tick := time.NewTicker(check)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if idle() {
				end()
				return
			}
		}
	}
}
