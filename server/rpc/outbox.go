package rpc

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// A peer that has taken no frame for this long, while more than the limit waits, does not read.
	patience = 5 * time.Second
	// So many frames weigh as much as the limit in bytes.
	maxWaiting = 10_000
	// A peer that reads, but slower than we write, may have this many times the limit waiting: the
	// replay of a long session is written in one go.
	slack = 32
)

// outbox writes frames in the order in which they were put. To put never waits.
type outbox struct {
	w     io.Writer
	limit int64
	wake  chan struct{}
	ended chan struct{}
	err   error       // why run ended before its time; read once ended is closed
	slow  func(error) // told once, that the peer does not read

	mu      sync.Mutex
	frames  [][]byte
	bytes   int64 // in frames, without the one being written
	writing bool
	moved   time.Time // when the peer last took a frame, or the first after a rest was put
	closed  bool
}

func newOutbox(w io.Writer, limit int64, slow func(error)) *outbox {
	return &outbox{w: w, limit: limit, slow: slow, wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// put queues a frame, or ends the connection of a peer that does not read.
func (o *outbox) put(frame []byte) error {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return ErrClosed
	}
	now := time.Now()
	if !o.writing && len(o.frames) == 0 {
		o.moved = now
	}
	if err := o.overflow(now); err != nil {
		o.drop()
		o.mu.Unlock()
		o.slow(err)
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	o.frames = append(o.frames, frame)
	o.bytes += int64(len(frame))
	o.mu.Unlock()
	o.signal()
	return nil
}

// overflow judges what waits already, not the frame that comes: one answer may be of any length.
func (o *outbox) overflow(now time.Time) error {
	load := max(o.bytes/max(o.limit, 1), int64(len(o.frames)/maxWaiting))
	still := now.Sub(o.moved)
	if load < 1 || load < slack && still < patience {
		return nil
	}
	return fmt.Errorf("the client does not read: %d messages of %d bytes wait, none was taken for %v", len(o.frames), o.bytes, still.Round(time.Millisecond))
}

func (o *outbox) drop() {
	o.closed, o.frames, o.bytes = true, nil, 0
}

// finish lets run end when it has written what is queued; nothing more is taken.
func (o *outbox) finish() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes until finish, or until the peer cannot be written to. Each frame is one Write.
func (o *outbox) run() {
	defer close(o.ended)
	for {
		frame, more := o.next()
		if frame == nil && !more {
			return
		}
		if frame == nil {
			<-o.wake
			continue
		}
		if _, err := o.w.Write(frame); err != nil {
			o.mu.Lock()
			o.drop()
			o.mu.Unlock()
			o.err = fmt.Errorf("write to the client: %w", err)
			return
		}
	}
}

// next takes the first frame, nil when there is none; then more tells whether one may come.
func (o *outbox) next() (frame []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing {
		o.writing, o.moved = false, time.Now()
	}
	if len(o.frames) == 0 {
		o.frames = nil
		return nil, !o.closed
	}
	frame, o.frames[0] = o.frames[0], nil
	o.frames = o.frames[1:]
	o.bytes -= int64(len(frame))
	o.writing = true
	return frame, true
}
