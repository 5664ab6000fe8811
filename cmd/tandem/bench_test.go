package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// built builds the program once more as a user has it, without the race detector.
func built(b *testing.B) string {
	b.Helper()
	exe := filepath.Join(b.TempDir(), "tandem")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// outside is `tandem lsp --isolated` as an editor runs it.
type outside struct {
	*testing.B
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func editor(b *testing.B, exe, home, work, model string) *outside {
	b.Helper()
	o := &outside{B: b, cmd: exec.Command(exe, "lsp", "--isolated")}
	o.cmd.Dir = work
	o.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_BASE_URL=" + model, "TANDEM_MODEL=stand-in"}
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	o.out = bufio.NewReader(out)
	if err := o.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return o
}

// call sends a request and reads until its answer, past the notifications.
func (o *outside) call(method, params string) {
	o.id++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, o.id, method, params)
	if _, err := fmt.Fprintf(o.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		o.Fatal(err)
	}
	for m := o.read(); m.ID != o.id; m = o.read() {
	}
}

type frame struct {
	ID     int
	Method string
	Params struct{ Mode protocol.Mode }
}

func (o *outside) read() frame {
	var size int
	for {
		line, err := o.out.ReadString('\n')
		if err != nil {
			o.Fatal(err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(n); err != nil {
				o.Fatal(err)
			}
		}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(o.out, body); err != nil {
		o.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(body, &f); err != nil {
		o.Fatal(err)
	}
	return f
}

func (o *outside) close() {
	o.in.Close()
	if err := o.cmd.Wait(); err != nil {
		o.Error(err)
	}
}

func hello(work string) string {
	return fmt.Sprintf(`{"processId":1,"rootUri":"file://%s","capabilities":{},"initializationOptions":{"tandem":{"trusted":true}}}`, work)
}

// BenchmarkStart measures from the start of the process to the answer of initialize.
func BenchmarkStart(b *testing.B) {
	exe, home, work := built(b), b.TempDir(), b.TempDir()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		o := editor(b, exe, home, work, "http://127.0.0.1:1")
		o.call("initialize", hello(work))
		took = append(took, time.Since(begin))
		o.close()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-to-initialized")
}

// BenchmarkMemory runs a session of 200 steps and reports the most memory that the process held.
func BenchmarkMemory(b *testing.B) {
	const steps = 200
	exe := built(b)
	for b.Loop() {
		n := 0
		model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			n++
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, reply(n, steps))
		}))
		work := b.TempDir()
		if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte(strings.Repeat("a line of text\n", 100)), 0o644); err != nil {
			b.Fatal(err)
		}
		o := editor(b, exe, b.TempDir(), work, model.URL)
		o.call("initialize", hello(work))
		o.call(protocol.MethodStart, `{"task":"work","autonomy":"high"}`)
		for f := o.read(); f.Params.Mode != protocol.Done; f = o.read() {
		}
		b.ReportMetric(peak(b, o.cmd.Process.Pid), "MB-peak")
		o.close()
		model.Close()
	}
}

// reply is the n-th answer of a model that plans, reads a file in each step, and finishes.
func reply(n, steps int) string {
	tool, args := "read_file", `{"intent":"I look at the file.","step":"s1","path":"a.txt"}`
	switch {
	case n == 1:
		tool, args = "update_plan", `{"intent":"I plan.","step":"","explanation":"one","steps":[{"id":"s1","title":"Work","intent":"I work.","status":"active"}]}`
	case n > steps:
		tool, args = "finish", `{"intent":"It is done.","step":"s1","summary":"done"}`
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":%q,\"arguments\":%q}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", tool, args)
}

// peak is the most memory that a process held at once, in MB.
func peak(b *testing.B, pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skipf("the peak of memory is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kb) / 1024
		}
	}
	b.Fatal("no VmHWM in /proc")
	return 0
}
