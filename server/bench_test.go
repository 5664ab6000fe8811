package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/protocol"
	"tandem/server"
	"tandem/server/rpc"
)

// The benchmarks of what a developer feels, on loopback with a stand-in for the model's server
// that answers at once. Each reports the median beside the mean: make bench shows them all.

// standIn is a model's server that answers each request with the next of its replies, at once.
// A reply of "" is a stream that says a few words and then hangs until it is hung up on.
type standIn struct {
	*httptest.Server
	reply func(n int) string
	mu    sync.Mutex
	n     int
	asked chan time.Time // when a request had come
	hung  chan time.Time // when a stream that hung was hung up on
}

func newStandIn(b *testing.B, reply func(n int) string) *standIn {
	s := &standIn{reply: reply, asked: make(chan time.Time, 16), hung: make(chan time.Time, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	b.Cleanup(s.Close)
	return s
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	now := time.Now()
	s.mu.Lock()
	n := s.n
	s.n++
	s.mu.Unlock()
	s.asked <- now
	w.Header().Set("Content-Type", "text/event-stream")
	reply := s.reply(n)
	if reply != "" {
		fmt.Fprint(w, reply)
		return
	}
	fmt.Fprint(w, words("I am thinking about it"))
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	s.hung <- time.Now()
}

func words(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}

// calls is a whole answer with one call.
func calls(tool string, args any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%q}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", tool, raw)
}

func planCall() string {
	return calls("update_plan", map[string]any{"intent": "I lay out the work.", "step": "", "explanation": "one step",
		"steps": []any{map[string]any{"id": "s1", "title": "Work", "intent": "I work.", "status": "active"}}})
}

func readCall(path string) string {
	return calls("read_file", map[string]any{"intent": "I look at the file, because the next step builds on it.", "step": "s1", "path": path})
}

// bench is a client of a daemon in this process, over a Unix socket as an editor's would be.
type bench struct {
	*testing.B
	conn *rpc.Conn
	id   string
}

func newBench(b *testing.B, model *standIn, files map[string]string) *bench {
	return newBenchThatHears(b, model, files, nil)
}

// newBenchThatHears is one whose client gives each of some notifications to a function, in order.
func newBenchThatHears(b *testing.B, model *standIn, files map[string]string, heard map[string]func(json.RawMessage)) *bench {
	dir := b.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	r := server.NewRegistry(server.Options{State: b.TempDir(), Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "OPENAI_BASE_URL=" + model.URL, "TANDEM_MODEL=stand-in"}})
	b.Cleanup(func() { r.Close() })
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	go r.ServeAll(ctx, l, time.Minute, time.Hour)
	peer, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	quiet := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	handlers := map[string]rpc.Handler{}
	for _, m := range []string{protocol.NoteProgress, protocol.NoteText, protocol.NotePlanChanged, protocol.NoteSteered, protocol.NoteUsage, protocol.NoteModeChanged} {
		handlers[m] = quiet
	}
	for m, hear := range heard {
		handlers[m] = func(_ context.Context, raw json.RawMessage) (any, error) { hear(raw); return nil, nil }
	}
	conn := rpc.Serve(ctx, peer, rpc.Options{Handlers: func(*rpc.Conn) map[string]rpc.Handler { return handlers }})
	b.Cleanup(conn.Close)
	trusted := true
	uri := "file://" + dir
	t := &bench{B: b, conn: conn}
	t.call(protocol.LSPInitialize, protocol.InitializeParams{RootURI: protocol.DocumentURI(uri),
		Options: protocol.InitializationOptions{Tandem: &protocol.TandemOptions{Trusted: &trusted}}}, nil)
	var started protocol.SessionResult
	t.call(protocol.MethodStart, protocol.StartParams{Task: "work", Autonomy: protocol.High}, &started)
	t.id = started.Session.ID
	return t
}

func (b *bench) call(method string, params, result any) {
	if err := b.conn.Call(b.Context(), method, params, result); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) await(c <-chan time.Time) time.Time {
	select {
	case t := <-c:
		return t
	case <-time.After(20 * time.Second):
		b.Fatal("nothing came in 20 s")
		return time.Time{}
	}
}

// median reports the median of some durations.
func median(b *testing.B, what string, d []time.Duration) {
	if len(d) == 0 {
		return
	}
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, what)
}

// BenchmarkSteer measures from the steer on the wire to its receipt, to the old stream closed,
// and to the next request at the model's server.
func BenchmarkSteer(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"short", 0}, {"400KB", 400 << 10}} {
		b.Run(size.name, func(b *testing.B) { benchmarkSteer(b, size.bytes) })
	}
}

func benchmarkSteer(b *testing.B, size int) {
	const chunk = 40 << 10
	reads := size / chunk
	model := newStandIn(b, func(n int) string {
		switch {
		case n == 0:
			return planCall()
		case n <= reads:
			return readCall("big.txt")
		}
		return ""
	})
	t := newBench(b, model, map[string]string{"big.txt": strings.Repeat("a line of some file that is read\n", chunk/33)})
	for range reads + 2 {
		t.await(model.asked)
	}
	var acked, closed, next []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		t.call(protocol.MethodSteer, protocol.SteerParams{SessionID: t.id, Text: fmt.Sprintf("steer %d: keep the names", i)}, nil)
		acked = append(acked, time.Since(begin))
		closed = append(closed, t.await(model.hung).Sub(begin))
		next = append(next, t.await(model.asked).Sub(begin))
	}
	median(b, "ms-to-receipt", acked)
	median(b, "ms-to-closed", closed)
	median(b, "ms-to-request", next)
}

// BenchmarkStep measures the own cost of a step: from a request at the model's server, which is
// answered at once with a call that reads a file, to the next request there.
func BenchmarkStep(b *testing.B) {
	for _, before := range []int{10, 1000, 5000} {
		b.Run(fmt.Sprintf("after%d", before), func(b *testing.B) { benchmarkStep(b, before) })
	}
}

func benchmarkStep(b *testing.B, before int) {
	gate := make(chan struct{})
	model := newStandIn(b, func(n int) string {
		if n == 0 {
			return planCall()
		}
		if n > before {
			<-gate
		}
		return readCall("a.txt")
	})
	t := newBench(b, model, map[string]string{"a.txt": "one line\n"})
	for range before + 2 {
		t.await(model.asked)
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		gate <- struct{}{}
		took = append(took, t.await(model.asked).Sub(begin))
	}
	close(gate)
	median(b, "ms-a-step", took)
}
