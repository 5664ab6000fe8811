package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// A daemon that does not listen after this long never will.
	startTime = 10 * time.Second
	firstWait = 2 * time.Millisecond
	lastWait  = 50 * time.Millisecond
)

// Start starts a daemon and does not wait for it. The channel gives one value when the daemon ends
// before its client does: nil when it ended well, as one does that finds another running.
type Start func() (ended <-chan error, err error)

// Connect connects to the workspace's daemon of this build. When none runs it calls start and
// waits until it listens, for ten seconds at most; a daemon that ends before that for a reason
// ends the waiting with that reason.
func Connect(ctx context.Context, workspace, build string, start Start) (net.Conn, error) {
	path, err := Path(workspace, build)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errSlow)
	defer cancel()
	var ended <-chan error // of the daemon that we started and that still runs
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		conn, err := Dial(ctx, path)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("connect to the daemon for %s: %w", workspace, context.Cause(ctx))
		case !absent(err) && !busy(err):
			return nil, err
		case absent(err) && ended == nil:
			if ended, err = start(); err != nil {
				return nil, fmt.Errorf("start the daemon for %s: %w", workspace, err)
			}
		}
		if err := pause(ctx, wait, &ended); err != nil {
			return nil, fmt.Errorf("the daemon for %s ended before it answered: %w", workspace, err)
		}
	}
}

var errSlow = errors.New("it did not answer within ten seconds")

// pause waits before the next try. A daemon that ends well in this time has found another, which
// may itself be about to end: ended becomes nil, and the next try may start one again.
func pause(ctx context.Context, wait time.Duration, ended *<-chan error) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	over := *ended
	for {
		select {
		case err := <-over:
			if err != nil {
				return err
			}
			*ended, over = nil, nil
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil // the caller sees it too
		}
	}
}
