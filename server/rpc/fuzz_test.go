package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"tandem/protocol"
)

// FuzzPieces holds that it does not matter in which pieces the bytes of a peer come.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{framed(ping), "Content-Type: x\r\ncontent-length:  2 \n\n{}", "\r\n\n" + framed("["+ping+",7]"), framed("{") + framed(ping),
		"Content-Length: 1\r\nContent-Length: 1\r\n\r\n{", "Content-Length: 0\r\n\r\n" + framed(ping), "Content-Length: 4000\r\n\r\n" + strings.Repeat(" ", 4000) + framed(ping)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		n, answers, err := readAll(bytes.NewReader(in), 1<<10)
		slowN, slowAnswers, slowErr := readAll(iotest.OneByteReader(bytes.NewReader(in)), 1<<10)
		if n != slowN || !bytes.Equal(answers, slowAnswers) || err.Error() != slowErr.Error() {
			t.Errorf("at once %d messages, %q, %v; byte by byte %d, %q, %v", n, answers, err, slowN, slowAnswers, slowErr)
		}
	})
}

// decoders are those of params, of every shape that there is.
var decoders = []func(raw json.RawMessage) (any, error){
	decoder[protocol.InitializeParams], decoder[protocol.StartParams], decoder[protocol.AttachParams], decoder[protocol.SteerParams],
	decoder[protocol.ReplanParams], decoder[protocol.PauseParams], decoder[protocol.DecideParams], decoder[protocol.WatchParams], decoder[protocol.ScenarioRunParams],
	decoder[protocol.BlameParams], decoder[protocol.DidOpenParams], decoder[protocol.DidChangeParams], decoder[protocol.DidChangeFoldersParams],
	decoder[protocol.CodeActionParams], decoder[protocol.HoverParams], decoder[protocol.ExecuteCommandParams], decoder[protocol.ProgressTokenParams], decoder[needy],
}

func decoder[T any](raw json.RawMessage) (any, error) { return Decode[T](raw) }

// FuzzParams holds that params are either refused, in a sentence that names a field, or read so that
// what was read is read again from its own JSON.
func FuzzParams(f *testing.F) {
	for i, s := range []string{`{"rootUri":"file:///w","initializationOptions":{"tandem":{"trusted":7}}}`, `{"task":7}`, `{"since":1e400}`, `{"scope":{"location":{"range":{"start":{"line":-1}}}}}`,
		`{"edits":[{"step":{"dependsOn":[null]}},{"files":null}]}`, `[]`, `null`, `{"add":{"source":[]}}`, "{\"sessionId\":\"\xff\"}", `{"SESSIONID":"a","sessionId":"b"}`} {
		f.Add(uint8(i), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		if !json.Valid(raw) {
			return // such params never come so far
		}
		decode := decoders[int(which)%len(decoders)]
		p, err := decode(raw)
		if err != nil {
			refusal := (*protocol.Error)(nil)
			if !errors.As(err, &refusal) || refusal.Kind != protocol.InvalidParams || !strings.Contains(refusal.Text, ": ") {
				t.Errorf("%s: %v", raw, err)
			}
			return
		}
		first, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", raw, err)
		}
		again, err := decode(first)
		second, werr := json.Marshal(again)
		if err != nil || werr != nil || !bytes.Equal(first, second) {
			t.Errorf("%s became %s, then %s (%v, %v)", raw, first, second, err, werr)
		}
	})
}
