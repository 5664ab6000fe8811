package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"tandem/agent/command"
)

// ServeAll serves every client that connects, until ctx ends, or until no client has been there
// and nothing has run for idle, which is looked at every check. It returns when the last
// connection has ended.
func (r *Registry) ServeAll(ctx context.Context, l net.Listener, check, idle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	var clients atomic.Int64
	began := time.Now() // what passes is measured from here, by a clock that nobody sets
	var last atomic.Int64
	served.Go(func() {
		<-ctx.Done()
		l.Close()
	})
	served.Go(func() {
		for _, line := range command.EndLost() { // of a daemon that was killed, supervisor and all
			r.log.Warn("a command of a daemon that died was ended", zap.String("command", line))
		}
	})
	served.Go(func() {
		endWhenIdle(ctx, cancel, check, func() bool {
			r.Tidy(restTime)
			if clients.Load() > 0 || r.Live() {
				last.Store(int64(time.Since(began)))
			}
			return time.Since(began)-time.Duration(last.Load()) >= idle
		})
	})
	for {
		conn, err := r.accept(ctx, l)
		if err != nil || conn == nil {
			return err
		}
		clients.Add(1)
		served.Go(func() {
			<-r.Serve(ctx, conn).Done()
			last.Store(int64(time.Since(began)))
			clients.Add(-1)
		})
	}
}

// restTime is how long a session that rests, and that no client follows, is kept open.
const restTime = 30 * time.Second

// acceptRetry is how long the daemon waits for a file to be given back when it has no more.
const acceptRetry = 100 * time.Millisecond

// accept is the next client; nil when ctx has ended. That the system has no more files for now
// is no reason to end what runs.
func (r *Registry) accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil, nil
		case !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) && !errors.Is(err, syscall.ECONNABORTED):
			return nil, fmt.Errorf("accept clients: %w", err)
		}
		r.log.Warn("a client waits to be accepted", zap.Error(err))
		select {
		case <-time.After(acceptRetry):
		case <-ctx.Done():
		}
	}
}

// endWhenIdle ends the daemon when nobody needs it any more.
func endWhenIdle(ctx context.Context, end func(), check time.Duration, idle func() bool) {
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
