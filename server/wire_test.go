package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/protocol"
)

// wireFolder holds what clients receive, for the tests of the editors; its README.md says what is what.
var wireFolder = filepath.Join("..", "testdata", "wire")

// unrecorded are streams that no story gives yet: they are written by hand, from PROTOCOL.md's shapes.
var unrecorded = []string{"empty", "stopped"}

// TestWire plays the stories of testdata/wire, STORY.txtar, and holds what a client received against the
// recorded NAME.jsonl; with -update they are recorded anew. A story is a scenario as in TestScenarios, but
// what comes out stands in files of its own, and nothing waits by itself. It has these lines more:
//
//	until METHOD TEXT      waits for a notification that holds the text
//	later 14s              what comes behind it comes so much later: while a process runs the fake time stands still
//	cut NAME               what was received so far is NAME.jsonl
//	cut NAME loosely       the same, where work of the daemon goes on side by side: the order may differ, what
//	                       was told how often and the last message may not
//	away                   the client hangs up
//	back                   another client attaches; now what it receives is recorded
func TestWire(t *testing.T) {
	needsShell(t)
	stories, err := filepath.Glob(filepath.Join(wireFolder, "*.txtar"))
	if err != nil || len(stories) == 0 {
		t.Fatalf("there are no stories: %v", err)
	}
	for _, path := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { playWire(t, archive) })
		})
	}
}

// A wirePlay is a story while it is played.
type wirePlay struct {
	stagePlay
	tape *tape
	seen *int64        // the last event that a developer who comes back had seen
	late time.Duration // by which what comes now is late
}

func playWire(t *testing.T, a *txtar.Archive) {
	files, replies, script := partsOf(t, a)
	h := newHouse(t, files)
	h.model.will(replies...)
	h.model.first = atOnce / 2
	w := &wirePlay{stagePlay: stagePlay{t: t, house: h}}
	w.connect()
	for line := range strings.Lines(string(a.Files[script].Data)) {
		w.step(strings.TrimSpace(line))
	}
	if asked := len(h.model.asked()); asked < len(replies) {
		t.Errorf("the model was not asked for %d of its answers", len(replies)-asked)
	}
}

// connect is a client whose frames are kept.
func (w *wirePlay) connect() {
	ours, theirs := net.Pipe()
	served := w.house.Serve(context.Background(), ours)
	w.tape = &tape{Conn: theirs}
	w.peer = newPeer(w.t, w.tape, served.Done())
	w.peer.initialize(w.house.dir, true)
}

func (w *wirePlay) step(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "", "#":
	case "until":
		method, text, _ := strings.Cut(rest, " ")
		w.peer.untilHas("tandem/"+method, text)
	case "later":
		w.late += w.duration(rest)
		w.tape.delay(w.late)
	case "cut":
		name, how, _ := strings.Cut(rest, " ")
		w.keep(name, how == "loosely")
	case "wait":
		time.Sleep(w.duration(rest))
		synctest.Wait()
	case "away":
		seen := w.lastSeq()
		w.seen = &seen
		w.peer.hangUp()
	case "back":
		w.connect()
		w.peer.ok(protocol.MethodAttach, params{"sessionId": w.id, "since": 0}, nil)
	default:
		w.request(verb, strings.ReplaceAll(rest, "file:///workspace", fileURI(w.house.dir)))
	}
}

func (w *wirePlay) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *wirePlay) lastSeq() int64 {
	var last int64
	for _, m := range w.tape.messages(w.t) {
		var n struct{ Params protocol.Event }
		w.decode(m.Message, &n)
		last = max(last, n.Params.Seq)
	}
	return last
}

// keep holds what was received so far against what was recorded, or records it.
func (w *wirePlay) keep(name string, loosely bool) {
	path := filepath.Join(wireFolder, name+".jsonl")
	got := w.recorded()
	want, err := os.ReadFile(path)
	if err == nil && (bytes.Equal(got, want) || loosely && reflect.DeepEqual(w.gist(got), w.gist(want))) {
		return
	}
	if !*update {
		w.t.Errorf("%s is not what a client receives now (%v); run with -update and read the difference. First:\n%s", path, err, firstDifference(got, want))
		return
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// recorded is the stream as a file: the answer that gave the session, and the notifications, with the
// names that chance gave replaced.
func (w *wirePlay) recorded() []byte {
	var out bytes.Buffer
	names := strings.NewReplacer(fileURI(w.house.dir), "file:///workspace", w.house.dir, "/workspace", w.id, "20000101-000000-tandem")
	for _, m := range w.tape.messages(w.t) {
		var kind struct {
			Method string
			Result struct{ Session json.RawMessage }
		}
		w.decode(m.Message, &kind)
		first := kind.Result.Session != nil && out.Len() == 0
		if !first && !strings.HasPrefix(kind.Method, "tandem/") {
			continue
		}
		if first {
			m.Seen = w.seen
		} else if out.Len() == 0 {
			w.t.Fatalf("%s comes before the answer that gives the session", kind.Method)
		}
		line, err := json.Marshal(m)
		if err != nil {
			w.t.Fatal(err)
		}
		out.WriteString(names.Replace(string(line)))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// gist is what a stream tells whatever its order: how often each method was used, and the last
// message without its place.
func (w *wirePlay) gist(stream []byte) map[string]any {
	out := map[string]any{}
	var last map[string]any
	for line := range bytes.Lines(stream) {
		var l struct {
			Message struct {
				Method string
				Params map[string]any
			}
		}
		w.decode(line, &l)
		n, _ := out[l.Message.Method].(int)
		out[l.Message.Method], last = n+1, l.Message.Params
	}
	delete(last, "seq")
	out["last"] = last
	return out
}

func firstDifference(got, want []byte) string {
	ours, theirs := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i, line := range ours {
		if i >= len(theirs) || !bytes.Equal(line, theirs[i]) {
			return fmt.Sprintf("line %d: %.2000s", i+1, line)
		}
	}
	return "it is shorter"
}

// A wireLine is a line of a recorded stream.
type wireLine struct {
	At time.Time `json:"at"`
	// Seen is there where a client attaches again: the last event that its developer had seen.
	Seen    *int64          `json:"seen,omitempty"`
	Message json.RawMessage `json:"message"`
}

// A tape is a connection that keeps what comes, and when.
type tape struct {
	net.Conn
	mu   sync.Mutex
	came []byte
	ends []chunk
	late time.Duration
}

// chunk is a part of what came: where it ends, and when it was there.
type chunk struct {
	end int
	at  time.Time
}

func (t *tape) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came = append(t.came, p[:n]...)
	t.ends = append(t.ends, chunk{len(t.came), time.Now().Add(t.late).UTC()})
	return n, err
}

func (t *tape) delay(by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = by
}

// messages are the whole frames so far.
func (t *tape) messages(tt *testing.T) []wireLine {
	tt.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []wireLine
	for from := 0; from < len(t.came); {
		var n int
		head, _, ok := bytes.Cut(t.came[from:], []byte("\r\n\r\n"))
		if !ok {
			tt.Fatal("a frame's head is not whole")
		}
		if _, err := fmt.Sscanf(string(head), "Content-Length: %d", &n); err != nil {
			tt.Fatalf("%q: %v", head, err)
		}
		from += len(head) + 4
		if from+n > len(t.came) {
			tt.Fatal("a frame is not whole")
		}
		i := slices.IndexFunc(t.ends, func(c chunk) bool { return c.end >= from+n })
		out = append(out, wireLine{At: t.ends[i].at, Message: slices.Clone(t.came[from : from+n])})
		from += n
	}
	return out
}

// wireParams are the types of the notifications of a stream.
var wireParams = map[string]func() any{
	protocol.NoteProgress:     func() any { return new(protocol.ProgressParams) },
	protocol.NoteText:         func() any { return new(protocol.TextParams) },
	protocol.NotePlanChanged:  func() any { return new(protocol.PlanChangedParams) },
	protocol.NoteDecision:     func() any { return new(protocol.DecisionParams) },
	protocol.NoteModeChanged:  func() any { return new(protocol.ModeChangedParams) },
	protocol.NoteSteered:      func() any { return new(protocol.SteeredParams) },
	protocol.NoteWatched:      func() any { return new(protocol.WatchedParams) },
	protocol.NoteScenarioRan:  func() any { return new(protocol.ScenarioRanParams) },
	protocol.NoteFilesChanged: func() any { return new(protocol.FilesChangedParams) },
	protocol.NoteUsage:        func() any { return new(protocol.UsageParams) },
}

// Every stream, recorded or not, is exactly what the protocol's types write; each has the panel beside
// it that the editors are to draw, and each comes from a story or is known to come from none.
func TestWireIsTheProtocol(t *testing.T) {
	streams, err := filepath.Glob(filepath.Join(wireFolder, "*.jsonl"))
	if err != nil || len(streams) == 0 {
		t.Fatalf("there are no streams: %v", err)
	}
	cuts := cutsOfStories(t)
	for _, path := range streams {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			if cuts[name] == slices.Contains(unrecorded, name) {
				t.Error("a stream is cut from one story, or stands in the list of those that are written by hand")
			}
			checkPanel(t, strings.TrimSuffix(path, ".jsonl")+".txt")
			checkStream(t, path)
		})
		delete(cuts, name)
	}
	for _, name := range slices.Sorted(maps.Keys(cuts)) {
		t.Errorf("%s.jsonl was never recorded; run with -update", name)
	}
}

// cutsOfStories are the names of the streams that stories give.
func cutsOfStories(t *testing.T) map[string]bool {
	t.Helper()
	stories, err := filepath.Glob(filepath.Join(wireFolder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	cuts := map[string]bool{}
	for _, path := range stories {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Files[len(archive.Files)-1].Data)) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "cut ")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, " ")
			if cuts[name] {
				t.Errorf("%s: %s is cut twice", path, name)
			}
			cuts[name] = true
		}
	}
	return cuts
}

func checkPanel(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] != "" || len(lines) < 3 || strings.TrimSpace(lines[len(lines)-2]) == "" {
		t.Errorf("%s does not end in one end of line", path)
	}
	for i, line := range lines {
		if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("%s:%d ends in a space", path, i+1)
		}
	}
}

func checkStream(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var session protocol.Session
	var seq int64
	var at time.Time
	for i, line := range strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line == "" {
			continue // the empty state
		}
		var l wireLine
		exactly(t, []byte(line), &l)
		if l.At.Before(at) || l.Seen != nil && i > 0 {
			t.Errorf("line %d: it is from before the line above it, or says in the middle what was seen", i+1)
		}
		at = l.At
		if i == 0 {
			session = checkFirst(t, l.Message)
			continue
		}
		e := checkNote(t, l.Message)
		if e.SessionID != session.ID || e.Seq < seq {
			t.Errorf("line %d: %+v is not of this session, or not in order", i+1, e)
		}
		seq = e.Seq
	}
}

// checkFirst is the session that the first message of a stream gives.
func checkFirst(t *testing.T, raw []byte) protocol.Session {
	t.Helper()
	var first struct {
		JSONRPC string                 `json:"jsonrpc"`
		ID      int                    `json:"id"`
		Result  protocol.SessionResult `json:"result"`
	}
	exactly(t, raw, &first)
	return first.Result.Session
}

// checkNote is the head of a notification.
func checkNote(t *testing.T, raw []byte) protocol.Event {
	t.Helper()
	var note struct {
		JSONRPC string          `json:"jsonrpc"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	exactly(t, raw, &note)
	fresh, ok := wireParams[note.Method]
	if !ok {
		t.Fatalf("the protocol has no notification %q", note.Method)
	}
	exactly(t, note.Params, fresh())
	var e protocol.Event
	if err := json.Unmarshal(note.Params, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// exactly decodes what has exactly the fields that the type writes.
func exactly(t *testing.T, raw []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%.300s: %v", raw, err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := errors.Join(json.Unmarshal(again, &got), json.Unmarshal(raw, &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%.2000s\nis written by the protocol's type as\n%.2000s", raw, again)
	}
}
