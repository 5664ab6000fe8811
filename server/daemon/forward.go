package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tandem/protocol"
)

var (
	// ErrUnanswered is Forward's error when the daemon hung up before it said a word: it was about
	// to end. Nothing of the client's was read, so it is right to Connect and Forward again.
	ErrUnanswered = errors.New("the daemon hung up before it answered")
	// ErrEnded is Forward's error when the daemon ended while its client was there.
	ErrEnded = errors.New("the daemon ended; attach again to go on where it was")
)

// A daemon that has not answered initialize for so long is not going to.
const answerTime = 30 * time.Second

// Forward sends hello to the daemon and then copies bytes both ways, until the client hangs up or
// says exit, for which it returns nil, or until the daemon ends or ctx does. It closes conn, and the
// client unless the daemon gave no answer. The client is best a Stdio: one whose Close does not end a
// Read that waits leaves that Read behind.
func Forward(ctx context.Context, client io.ReadWriteCloser, conn net.Conn, hello []byte) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	first, err := greet(conn, hello)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	up, down := &side{w: conn}, &side{w: client}
	go copyUp(up, client, conn)
	_, _ = io.Copy(down, io.MultiReader(bytes.NewReader(first), conn)) // each side remembers its fault
	over := up.hungUp() || down.broken()
	_ = client.Close() // both are of no more use, whatever closing them says
	_ = conn.Close()
	if over || ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrEnded
}

// copyUp copies what the client says. Its end is told to the daemon, whose last words still come.
func copyUp(up *side, client io.Reader, conn net.Conn) {
	_, _ = io.Copy(up, client) // to fail to read is the client's end as well
	up.end()
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it fails when the daemon has gone first, which ends us too
	}
}

// side is one direction. It remembers how it ended, and its last bytes.
type side struct {
	w io.Writer

	mu     sync.Mutex
	tail   []byte
	ended  bool // the client has hung up
	failed bool // w takes nothing more
}

// An exit notification fits in so many bytes, however it is spaced.
const exitLength = 128

func (s *side) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.tail = append(s.tail, b[max(0, len(b)-exitLength):]...)
	s.tail = s.tail[max(0, len(s.tail)-exitLength):]
	s.mu.Unlock()
	n, err := s.w.Write(b)
	if err != nil {
		s.mu.Lock()
		s.failed = true
		s.mu.Unlock()
	}
	return n, err
}

// end notes that the client has nothing more to say, unless it is w that takes nothing more.
func (s *side) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = !s.failed
}

func (s *side) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// hungUp tells whether the client has left: it is at its end, or its last message was exit.
func (s *side) hungUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last struct {
		Method string `json:"method"`
	}
	at := max(bytes.LastIndex(s.tail, []byte("\n\r\n")), bytes.LastIndex(s.tail, []byte("\n\n")))
	return s.ended || at >= 0 && json.Unmarshal(s.tail[at:], &last) == nil && last.Method == protocol.LSPExit
}

// greet sends the hello and waits for the first bytes of the answer, so that the client's own are
// not touched before the daemon is known to be there.
func greet(conn net.Conn, hello []byte) ([]byte, error) {
	if _, err := conn.Write(hello); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, fmt.Errorf("wait for the daemon: %w", err)
	}
	first := make([]byte, 4<<10)
	n, err := conn.Read(first)
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		return nil, fmt.Errorf("the daemon did not answer within %v", answerTime)
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return first[:n], conn.SetReadDeadline(time.Time{})
}
