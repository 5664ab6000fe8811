package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	// maxEvent bounds one line and one event of a stream.
	maxEvent = 16 << 20
	// maxBody bounds what is read of one answer, whatever it consists of: an answer of 300,000
	// tokens, each in an event of its own, fits even in the wordiest dialect.
	maxBody = 256 << 20
	// lineCost is what each line counts beside its bytes, for the work that it makes.
	lineCost = 64
	// maxSample bounds what is kept of a body that is no answer.
	maxSample = 2 << 10
)

var (
	errEnded = errors.New("the stream ended")                 // cleanly, without [DONE]
	errTorn  = errors.New("the stream ended within an event") // its last event is half
	errLong  = errors.New("it sent a line longer than 16 MB") // or an event
	errFlood = &garbageError{what: "it sent more than 256 MB in one answer", final: true}
)

// brokenError is a body that could not be read to its end.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "read the answer: " + e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// garbageError is a body, or a piece of one, that is no chat completion.
type garbageError struct {
	what   string
	sample []byte
	astray bool // what answers there may be no model server
	final  bool // asking again would bring the same
}

func (e *garbageError) Error() string { return e.what }

// events turns a response body into clean lines, `data: {…}` one an event, as
// go-openai can read them: comments, ids and blank lines are dropped, split events
// joined, a body that is plain JSON becomes one event. Its end is told apart:
// [DONE] is passed on, every other end is an error of ours and not io.EOF.
type events struct {
	src   io.ReadCloser
	in    *bufio.Reader
	watch *idleWatch
	left  int64 // how much may still come

	long  []byte // a line that does not fit the reader's buffer
	data  []byte // lines of an event that is not whole yet
	bare  bool   // data came without a field name: JSON that is no event stream
	name  string // the event's name, of an `event:` line
	begun bool   // the first line was read
	any   bool   // an event was passed on
	odd   []byte // the first line that belongs to no event stream

	out bytes.Buffer
	err error // why there is no more behind out
}

func newEvents(src io.ReadCloser, watch *idleWatch) *events {
	return &events{src: src, in: bufio.NewReaderSize(src, 16<<10), watch: watch, left: maxBody}
}

func (e *events) Close() error { return e.src.Close() }

func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 && e.err == nil {
		e.step()
	}
	if e.out.Len() > 0 {
		return e.out.Read(p)
	}
	return 0, e.err
}

// settle reads what stands behind [DONE], for a moment only.
func (e *events) settle() {
	e.watch.limit = settleTime
	e.watch.heard()
	// An error here costs a connection, not an answer.
	_, _ = io.Copy(io.Discard, io.LimitReader(e.in, settleSize))
}

func (e *events) step() {
	line, err := e.line()
	if errors.Is(err, errLong) || errors.Is(err, errFlood) {
		e.err = err
		return
	}
	if err == nil || len(line) > 0 {
		e.take(line)
	}
	if err != nil && e.err == nil {
		e.finish(err)
	}
}

// line returns the next line without its end. At the end of the body the line may be
// torn; it is returned with the error.
func (e *events) line() ([]byte, error) {
	e.long = e.long[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		if len(e.long)+len(part) > maxEvent {
			return nil, errLong
		}
		if e.left -= int64(len(part) + lineCost); e.left < 0 {
			return nil, errFlood
		}
		if err == nil && len(e.long) == 0 {
			return e.trim(part), nil
		}
		e.long = append(e.long, part...)
		if err != bufio.ErrBufferFull {
			return e.trim(e.long), err
		}
	}
}

func (e *events) trim(line []byte) []byte {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.TrimRight(line, "\r\n")
}

// take handles one line by its field name.
func (e *events) take(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		e.blank()
	case len(field) == 0:
		// A comment keeps the connection alive and says nothing.
	case string(field) == "data":
		e.takeData(bytes.TrimSpace(value))
	case string(field) == "event":
		e.name = string(bytes.TrimSpace(value))
	case string(field) == "id", string(field) == "retry":
		// These serve a reader that reconnects; an answer cannot be resumed.
	default:
		e.takeBare(bytes.TrimSpace(line))
	}
}

func (e *events) blank() {
	if e.bare {
		return
	}
	e.flush(false)
	e.name = ""
}

// takeData passes a line on at once when it is a whole event: servers exist that
// forget the blank line between two.
func (e *events) takeData(value []byte) {
	if string(value) == "[DONE]" {
		if e.flush(false); e.err == nil {
			e.out.WriteString("data: [DONE]\n")
			e.err = io.EOF
		}
		return
	}
	if e.bare {
		e.flush(false)
	}
	if len(e.data) == 0 && isObject(value) {
		e.pass(value)
		return
	}
	e.hold(value)
}

// takeBare handles a line without a field name: JSON, whole or in lines, or a page.
func (e *events) takeBare(line []byte) {
	switch {
	case e.bare:
		e.hold(line)
	case line[0] != '{' && line[0] != '[':
		if e.odd == nil {
			e.odd = bytes.Clone(line[:min(len(line), maxSample)])
		}
		if line[0] == '<' && !e.any {
			e.err = &garbageError{what: "it sent a web page", sample: e.odd, astray: true, final: true}
		}
	case len(e.data) > 0:
		e.flush(false)
		e.takeAlone(line)
	default:
		e.takeAlone(line)
	}
}

func (e *events) takeAlone(line []byte) {
	if isObject(line) {
		e.pass(line)
		return
	}
	e.bare = true
	e.hold(line)
}

func (e *events) hold(line []byte) {
	if len(e.data)+len(line) > maxEvent {
		e.err = errLong
		return
	}
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, line...)
}

// flush passes on the event that was held. Half an event is an error, which at the
// end of the body says that the stream was cut.
func (e *events) flush(atEnd bool) {
	data := bytes.TrimSpace(e.data)
	e.data, e.bare = e.data[:0], false
	if len(data) == 0 || e.err != nil {
		return
	}
	switch {
	case isObject(data):
		e.pass(data)
	case json.Valid(data):
		e.passMembers(data)
	case atEnd:
		e.err = errTorn
	case e.name == "error":
		e.pass([]byte(`{"error":` + quote(string(data)) + `}`))
	case e.name == "" || e.name == "message":
		e.err = &garbageError{what: "it sent an event that is not JSON", sample: bytes.Clone(data[:min(len(data), maxSample)])}
	}
}

// passMembers passes on the objects of an array, the form in which some servers wrap
// an error. Other JSON values say nothing.
func (e *events) passMembers(data []byte) {
	var members []json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return
	}
	for _, m := range members {
		if isObject(m) {
			e.pass(m)
		}
	}
}

// pass appends one event as one line. The space behind the brace keeps go-openai from
// taking an error for its own kind, which loses half of the known forms.
func (e *events) pass(object []byte) {
	e.any = true
	start := e.out.Len()
	e.out.WriteString("data: { ")
	if e.name == "error" && !hasError(object) {
		e.out.WriteString(`"error":`)
		e.out.Write(object)
		e.out.WriteByte('}')
	} else {
		e.out.Write(object[1:])
	}
	line := e.out.Bytes()[start:]
	for i := range line {
		if line[i] == '\n' {
			line[i] = ' ' // between tokens only: no JSON string holds one
		}
	}
	e.out.WriteByte('\n')
}

// finish handles the end of the body.
func (e *events) finish(err error) {
	e.flush(true)
	switch {
	case e.err != nil:
	case err != io.EOF:
		e.err = &brokenError{cause: err}
	case !e.any && e.odd != nil:
		e.err = &garbageError{what: "it sent plain text", sample: e.odd, astray: true, final: true}
	case !e.any:
		e.err = &garbageError{what: "it sent an empty body", astray: true}
	default:
		e.err = errEnded
	}
}

func isObject(text []byte) bool {
	return len(text) > 1 && text[0] == '{' && json.Valid(text)
}

func hasError(object []byte) bool {
	var probe struct{ Error json.RawMessage }
	return json.Unmarshal(object, &probe) == nil && isSet(probe.Error)
}
