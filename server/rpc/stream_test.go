package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}`

// What can be read is answered, what cannot is refused, and the connection goes on where the
// place of the next message is known.
func TestFraming(t *testing.T) {
	rows := []struct {
		name, in string
		want     []string
		ends     bool
	}{
		{"plain", framed(ping), []string{"1: [1]"}, false},
		{"lower case", "content-length: 53\r\n\r\n" + ping, []string{"1: [1]"}, false},
		{"LF alone", "Content-Length: 53\n\n" + ping, []string{"1: [1]"}, false},
		{"content type", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + framed(ping), []string{"1: [1]"}, false},
		{"same length twice", "Content-Length: 53\r\nCONTENT-LENGTH:53\r\n\r\n" + ping, []string{"1: [1]"}, false},
		{"empty lines between", framed(ping) + "\r\n\n" + framed(ping), []string{"1: [1]", "1: [1]"}, false},
		{"malformed JSON", framed(`{"broken"}`), []string{"null: -32700 not JSON: invalid character '}' after object key at byte 10"}, false},
		{"no body", framed(""), []string{"null: -32700 not JSON: unexpected end of JSON input at byte 0"}, false},
		{"two values", framed(ping + ping), []string{"null: -32700 not JSON: invalid character '{' after top-level value at byte 54"}, false},
		{"a number", framed("7"), []string{"null: -32600 a message is an object, or an array of them"}, false},
		{"version", framed(`{"jsonrpc":"1.0","id":3,"method":"echo"}`), []string{`3: -32600 jsonrpc: want "2.0"`}, false},
		{"no version", framed(`{"id":3,"method":"echo"}`), []string{`3: -32600 jsonrpc: want "2.0"`}, false},
		{"method is a number", framed(`{"jsonrpc":"2.0","id":3,"method":7}`), []string{"3: -32600 method: want the name of a method"}, false},
		{"nothing", framed(`{}`), []string{`null: -32600 jsonrpc: want "2.0"`}, false},
		{"fractional id", framed(`{"jsonrpc":"2.0","id":1.5,"method":"echo"}`), []string{"null: -32600 id: want a string or a whole number of 64 bits, got 1.5"}, false},
		{"null id", framed(`{"jsonrpc":"2.0","id":null,"method":"echo"}`), []string{"null: -32600 id: want a string or a whole number of 64 bits, got null"}, false},
		{"id of 65 bits", framed(`{"jsonrpc":"2.0","id":9223372036854775808,"method":"echo"}`), []string{"null: -32600 id: want a string or a whole number of 64 bits, got 9223372036854775808"}, false},
		{"answer to null", framed(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`), nil, false},
		{"answers to nothing", framed(`{"jsonrpc":"2.0","id":1,"result":1}`) + framed(`{"jsonrpc":"2.0","id":"x","result":1}`) + framed(`{"jsonrpc":"2.0","id":12345678901,"result":1}`), nil, false},
		{"unknown method", framed(`{"jsonrpc":"2.0","id":3,"method":"tandem/nothing"}`), []string{`3: -32601 no method is named "tandem/nothing"`}, false},
		{"unknown notification", framed(`{"jsonrpc":"2.0","method":"$/setTrace"}`), nil, false},
		{"batch", framed("[" + ping + `,7,{"jsonrpc":"2.0","id":2,"method":"none"}]`), []string{"1: [1]", "null: -32600 a message is an object, or an array of them", `2: -32601 no method is named "none"`}, false},
		{"empty batch", framed(" [ ]"), []string{"null: -32600 an empty batch asks for nothing"}, false},
		{"too long", framed(`{"x":"` + strings.Repeat("x", 5000) + `"}`), []string{"null: -32600 a message of 5008 bytes is longer than the 4096 that are taken"}, false},
		{"negative length", "Content-Length: -5\r\n\r\n", []string{`null: -32700 a Content-Length of "-5"`}, true},
		{"insane length", "Content-Length: 99999999999\r\n\r\n{", []string{`null: -32700 a Content-Length of "99999999999"`}, true},
		{"length in words", "Content-Length: abc\r\n\r\n", []string{`null: -32700 a Content-Length of "abc"`}, true},
		{"signed length", "Content-Length: +5\r\n\r\n", []string{`null: -32700 a Content-Length of "+5"`}, true},
		{"two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", []string{"null: -32700 a Content-Length of 5 and of 6"}, true},
		{"no length", "Content-Type: x\r\n\r\n", []string{"null: -32700 a header without Content-Length"}, true},
		{"no header", ping, []string{"null: -32700 a message without a header: send «Content-Length: N», an empty line, then N bytes"}, true},
		{"no colon", "Content-Length 5\r\n\r\n", []string{`null: -32700 a header line that is none: "Content-Length 5"`}, true},
		{"zeros", strings.Repeat("\x00", 9999), []string{"null: -32700 a header that begins with byte 0x00"}, true},
		{"endless line", strings.Repeat("a", 9999), []string{"null: -32700 a header line of more than 8192 bytes"}, true},
		{"endless header", strings.Repeat("a: b\n", 40), []string{"null: -32700 a header of more than 32 lines"}, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p, c := onSocket(t, Options{MaxFrame: 4096, Handlers: methods(map[string]Handler{"echo": echo})})
			p.raw(row.in)
			// Requests run beside one another: one answer at a time keeps the table in order.
			got := map[string]int{}
			for range row.want {
				got[p.next().String()]++
			}
			for _, w := range row.want {
				if got[w]--; got[w] < 0 {
					t.Fatalf("got %v, without %s", got, w)
				}
			}
			if row.ends {
				p.ended()
				<-c.Done()
				if c.Err() == nil {
					t.Error("the reason of the end is not told")
				}
				return
			}
			p.send(`"id":"still there","method":"echo"`)
			p.want(`"still there": null`)
		})
	}
}

// An id comes back as it was, and 7 is not "7".
func TestIDs(t *testing.T) {
	p, _ := on(t, Options{Handlers: methods(map[string]Handler{"echo": echo})})
	for _, id := range []string{"0", "7", `"7"`, "-1", "4294967296", "9223372036854775807", "-9223372036854775808", `""`, `"a b"`, `"é"`} {
		p.send(`"id":%s,"method":"echo","params":{"a":"<b>"}`, id)
		a := p.next()
		if string(a.ID) != id || a.Error != nil {
			t.Errorf("id %s: got %s", id, a)
		}
		var got struct{ A string }
		if err := json.Unmarshal(a.Result, &got); err != nil || got.A != "<b>" {
			t.Errorf("id %s: result %s: %v", id, a.Result, err)
		}
	}
}

// readAll counts the messages of a stream and keeps what it answered.
func readAll(in io.Reader, max int64) (n int, answers []byte, err error) {
	var out bytes.Buffer
	box := newOutbox(&out, 1<<30, func(error) {})
	go box.run()
	s := newStream(in, box, max, zap.NewNop())
	for ; err == nil; n++ {
		_, _, err = s.Read(context.Background())
	}
	box.finish()
	<-box.ended
	return n - 1, out.Bytes(), err
}

func TestPieces(t *testing.T) {
	big := framed(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`)
	n, answers, err := readAll(iotest.OneByteReader(strings.NewReader(big+framed(ping))), 2<<20)
	if n != 2 || len(answers) != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("byte by byte: %d messages, answered %q, then %v", n, answers, err)
	}
	for _, cut := range []int{5, 20, 24, 60} {
		_, _, err := readAll(strings.NewReader(framed(ping)[:cut]), 1000)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v, which is not told from a proper end", cut, err)
		}
	}
}

// One call has one answer: the library's reader would hang on the third.
func TestAnswersToOneCall(t *testing.T) {
	answer := framed(`{"jsonrpc":"2.0","id":1,"result":1}`)
	s := newStream(strings.NewReader(strings.Repeat(answer, 3)), newOutbox(io.Discard, 1<<20, nil), 1000, zap.NewNop())
	call, err := jsonrpc2.NewCall(jsonrpc2.NewNumberID(1), "window/ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if msg, _, err := s.Read(t.Context()); err != nil {
		t.Errorf("the first answer: %v, %v", msg, err)
	}
	if msg, _, err := s.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("another answer got through: %v, %v", msg, err)
	}
}

// A header's promise costs nothing until the bytes come.
func TestPromise(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := readAll(strings.NewReader("Content-Length: 1000000000\r\n\r\n{"), 1<<30)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("a promise of 1 GB took %d bytes", took)
	}
}

func TestLargeEcho(t *testing.T) {
	p, _ := onSocket(t, Options{Handlers: methods(map[string]Handler{"echo": echo})})
	text := strings.Repeat("0123456789abcdef", largeText/16)
	begin := time.Now()
	go p.send(`"id":1,"method":"echo","params":["%s"]`, text)
	var got []string
	if err := json.Unmarshal(p.next().Result, &got); err != nil || len(got) != 1 || got[0] != text {
		t.Fatalf("%d bytes did not come back: %v", largeText, err)
	}
	t.Logf("%d MiB there and back: %v", largeText>>20, time.Since(begin))
}

// writes keeps each Write.
type writes struct {
	io.Writer
	frames [][]byte
}

func (w *writes) Write(b []byte) (int, error) {
	w.frames = append(w.frames, bytes.Clone(b))
	return len(b), nil
}

func TestOneWriteAFrame(t *testing.T) {
	w := &writes{}
	box := newOutbox(w, 1<<20, func(error) {})
	for range 3 {
		if err := box.put(frame([]byte(ping))); err != nil {
			t.Fatal(err)
		}
	}
	box.finish()
	box.run()
	if len(w.frames) != 3 || string(w.frames[1]) != framed(ping) {
		t.Errorf("3 frames came as %d writes: %q", len(w.frames), w.frames)
	}
	if err := box.put(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("put after the end: %v", err)
	}
}

// Whatever comes, the stream neither panics nor hangs nor answers what is not a frame, and its
// errors say why.
func FuzzStream(f *testing.F) {
	for _, s := range []string{framed(ping), "content-length: 2\n\n{}", "Content-Length: -1\r\n\r\n", framed("[" + ping + "]"), framed(`[`), "\x00", ping,
		"Content-Length: 99999\r\n\r\n{}", framed(`{"jsonrpc":"2.0","id":"\ud800","method":"x"}`), framed(`{"jsonrpc":"2.0","id":1,"error":7}`)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, answers, err := readAll(bytes.NewReader(in), 1<<10)
		if err == nil {
			t.Fatal("the stream has no end")
		}
		p := &peer{t: t, in: bufio.NewReader(bytes.NewReader(answers))}
		for {
			a, err := p.read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || a.Error == nil || a.Error.Code > -32600 || a.Error.Message == "" {
				t.Fatalf("answered %s, %v", a, err)
			}
		}
	})
}
