package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

const (
	// A header line ends within this many bytes, or it is none.
	maxHeaderLine  = 8 << 10
	maxHeaderLines = 32
	// A frame above the limit is read and thrown away up to this length. Nobody means more: such
	// a number is a stream out of step.
	maxDrained = 1 << 30
	// The first allocation for a body; it then doubles as bytes arrive, so a header that promises
	// much costs nothing.
	firstRead = 64 << 10
)

// stream is a jsonrpc2.Stream. It answers by itself what cannot become a message, and goes on
// where the end of the faulty message is known.
type stream struct {
	in    *bufio.Reader
	out   *outbox
	max   int64
	log   *zap.Logger
	batch *json.Decoder // the rest of a batch, nil outside of one

	mu    sync.Mutex
	asked map[jsonrpc2.ID]bool // our calls without an answer
}

func newStream(r io.Reader, out *outbox, max int64, log *zap.Logger) *stream {
	return &stream{in: bufio.NewReaderSize(r, maxHeaderLine), out: out, max: max, log: log, asked: map[jsonrpc2.ID]bool{}}
}

// Read gives the next message. An error ends the connection: io.EOF is its proper end.
func (s *stream) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for {
		raw, err := s.next()
		if err != nil {
			return nil, 0, err
		}
		msg, fault := decode(raw)
		if fault != nil {
			s.log.Debug("refused a message", zap.Error(fault.err))
			s.answer(fault.id, fault.err)
			continue
		}
		if msg != nil && s.awaited(msg) {
			return msg, int64(len(raw)), nil
		}
	}
}

// awaited is false for an answer that no call waits for. The library's reader would wait for ever
// on the third answer to one call.
func (s *stream) awaited(msg jsonrpc2.Message) bool {
	answer, ok := msg.(*jsonrpc2.Response)
	return !ok || s.forget(answer.ID())
}

// forget takes a call off the list of those that wait; it tells whether it was there.
func (s *stream) forget(id jsonrpc2.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.asked[id]
	delete(s.asked, id)
	return was
}

// Write puts a message on the outgoing queue; it ignores the context, because an answer to a
// cancelled request must be sent too.
func (s *stream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	body, err := encode(msg)
	if err != nil {
		return 0, err
	}
	if call, ok := msg.(*jsonrpc2.Call); ok {
		s.mu.Lock()
		s.asked[call.ID()] = true
		s.mu.Unlock()
	}
	return int64(len(body)), s.out.put(frame(body))
}

// Close leaves the connection open: what is queued is still to be written, which the Conn sees to.
func (s *stream) Close() error { return nil }

func (s *stream) answer(id json.RawMessage, fault *jsonrpc2.Error) {
	body, err := encodeAnswer(id, nil, fault)
	if err != nil {
		s.log.Error("encode an answer", zap.Error(err))
		return
	}
	_ = s.out.put(frame(body)) // a queue that has closed says so to the reader by itself
}

// next gives the text of the next single message: an element of the batch at hand, or a body.
func (s *stream) next() (json.RawMessage, error) {
	for {
		if s.batch != nil && s.batch.More() {
			var raw json.RawMessage
			if err := s.batch.Decode(&raw); err != nil {
				return nil, fmt.Errorf("read batch: %w", err) // its JSON was valid: cannot be
			}
			return raw, nil
		}
		s.batch = nil
		body, err := s.body()
		if err != nil {
			return nil, err
		}
		if body != nil && !s.openBatch(body) {
			return body, nil
		}
	}
}

// openBatch takes body apart when it is a batch. Its elements are read one at a time: an array of
// a million elements costs no more than its text.
func (s *stream) openBatch(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] != '[' || !json.Valid(text) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil || !dec.More() {
		s.answer(nil, jsonrpc2.NewError(jsonrpc2.InvalidRequest, "an empty batch asks for nothing"))
		return true
	}
	s.batch = dec
	return true
}

// body reads one frame. It is nil for a frame that was too long and has been answered.
func (s *stream) body() ([]byte, error) {
	n, err := s.header()
	if malformed := (*headerError)(nil); errors.As(err, &malformed) {
		s.answer(nil, jsonrpc2.NewError(jsonrpc2.ParseError, err.Error()))
	}
	if err != nil {
		return nil, err
	}
	if n <= s.max {
		return s.read(n)
	}
	if _, err := io.CopyN(io.Discard, s.in, n); err != nil {
		return nil, fmt.Errorf("skip a message of %d bytes: %w", n, err)
	}
	s.answer(nil, jsonrpc2.Errorf(jsonrpc2.InvalidRequest, "a message of %d bytes is longer than the %d that are taken", n, s.max))
	return nil, nil
}

func (s *stream) read(n int64) ([]byte, error) {
	buf := make([]byte, 0, min(n, firstRead))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		k, err := s.in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+k]
		if err != nil && int64(len(buf)) < n {
			return nil, fmt.Errorf("read a message of %d bytes, %d came: %w", n, len(buf), unexpected(err))
		}
	}
	return buf, nil
}

// headerError is a header after which the place of the next message is not known.
type headerError struct{ text string }

func (e *headerError) Error() string { return e.text }

func malformed(format string, args ...any) error {
	return &headerError{fmt.Sprintf(format, args...)}
}

// header reads the lines before a body and gives its length. Empty lines before the first are
// passed over: people who frame by hand leave them.
func (s *stream) header() (int64, error) {
	length, lines := int64(-1), 0
	for {
		line, err := s.line(lines == 0)
		if err != nil {
			return 0, err
		}
		switch {
		case line == "" && lines == 0:
			continue
		case line == "" && length < 0:
			return 0, malformed("a header without Content-Length")
		case line == "":
			return length, nil
		case lines == maxHeaderLines:
			return 0, malformed("a header of more than %d lines", maxHeaderLines)
		}
		lines++
		if length, err = field(line, length); err != nil {
			return 0, err
		}
	}
}

// line reads one line of a header, without its end. At a first line the first byte is judged
// before the rest is waited for: a peer with another framing may never send a line's end.
func (s *stream) line(first bool) (string, error) {
	if first {
		b, err := s.in.Peek(1)
		if err != nil {
			return "", err
		}
		if b[0] == '{' || b[0] == '[' {
			return "", malformed("a message without a header: send «Content-Length: N», an empty line, then N bytes")
		}
		if b[0] != '\r' && b[0] != '\n' && !isToken(string(b)) {
			return "", malformed("a header that begins with byte %#02x", b[0])
		}
	}
	line, err := s.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", malformed("a header line of more than %d bytes", maxHeaderLine)
	case err != nil:
		return "", fmt.Errorf("read header: %w", unexpected(err))
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

// field reads one line; it gives the length that is known after it.
func field(line string, length int64) (int64, error) {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || !isToken(name) {
		return 0, malformed("a header line that is none: %.60q", line)
	}
	if !strings.EqualFold(name, jsonrpc2.HdrContentLength) {
		return length, nil
	}
	value = strings.TrimSpace(value)
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || int64(n) > maxDrained {
		return 0, malformed("a Content-Length of %.60q", value)
	}
	if length >= 0 && int64(n) != length {
		return 0, malformed("a Content-Length of %d and of %d", length, n)
	}
	return int64(n), nil
}

// isToken tells whether s can be a header's name.
func isToken(s string) bool {
	for _, b := range []byte(s) {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(b)) {
			return false
		}
	}
	return s != ""
}

// unexpected is err, for which an end within a message is not a proper end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func frame(body []byte) []byte {
	out := make([]byte, 0, len(body)+32)
	out = append(out, jsonrpc2.HdrContentLength+": "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, jsonrpc2.HdrContentSeparator...)
	return append(out, body...)
}
