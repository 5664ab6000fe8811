package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/protocol"
)

// The benchmarks of what a developer feels while a command runs, with real processes.

// A grove is a command with a tree of three processes, one of which has left its session.
type grove struct {
	*testing.B
	nap int // how long the tree sleeps: by it the processes are known, also from outside their sandbox
}

func newGrove(b *testing.B) *grove {
	if runtime.GOOS != "linux" {
		b.Skip("the state of processes is read from /proc")
	}
	return &grove{b, 1_000_000 + os.Getpid()*100}
}

// line is the command line of another tree.
func (g *grove) line() string {
	g.nap++
	return fmt.Sprintf("sleep %[1]d & setsid sleep %[1]d & wait", g.nap)
}

// grown waits for the whole tree and gives its processes.
func (g *grove) grown() []string {
	var pids []string
	g.until("the tree to be there", func() bool {
		pids = g.tree()
		return len(pids) == 3 && !anyIn(pids, "Z")
	})
	return pids
}

// tree is what there is of the tree: the shell, where both of its children run, and these.
func (g *grove) tree() []string {
	var pids []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		g.Fatal(err)
	}
	for _, file := range lines {
		if line, err := os.ReadFile(file); err == nil && string(line) == fmt.Sprintf("sleep\x00%d\x00", g.nap) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	if len(pids) != 2 {
		return nil
	}
	raw, err := os.ReadFile("/proc/" + pids[0] + "/stat")
	if err != nil {
		return nil
	}
	return append(pids, strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))[1])
}

// until looks again and again, as nobody tells of what is waited for.
func (g *grove) until(what string, is func() bool) {
	g.Helper()
	limit := time.Now().Add(20 * time.Second)
	for !is() {
		if time.Now().After(limit) {
			g.Fatalf("waited 20 s for %s", what)
		}
		<-time.After(100 * time.Microsecond)
	}
}

// anyIn says whether one of the processes is in one of the states; "" is gone.
func anyIn(pids []string, states string) bool {
	for _, pid := range pids {
		if state := stateOf(pid); state != "" && strings.Contains(states, state) {
			return true
		}
	}
	return false
}

// stateOf is the letter of a process's state; "" when it is gone.
func stateOf(pid string) string {
	raw, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	return fields[0]
}

func (g *grove) frozen(pids []string) bool {
	return !slices.ContainsFunc(pids, func(pid string) bool { return stateOf(pid) != "T" })
}

func (g *grove) dead(pids []string) bool { return !anyIn(pids, "RSDITt") }

func commandCall(line string) string {
	return calls("run_command", map[string]any{"intent": "I run it, and it takes its time.", "step": "s1", "command": line})
}

// replanCall is the plan once more, with the commands that became useless.
func replanCall(op string) string {
	return calls("update_plan", map[string]any{"intent": "I plan anew.", "step": "", "explanation": "as you say", "cancel_operations": []string{op},
		"steps": []any{map[string]any{"id": "s1", "title": "Work", "intent": "I work.", "status": "active"}}})
}

// running is the command that was begun last: one before it may still be ending.
func (b *bench) running() string {
	var r protocol.ListResult
	b.call(protocol.MethodList, protocol.ListParams{}, &r)
	for _, o := range slices.Backward(r.Sessions[0].Operations) {
		if o.Status == protocol.OpRunning && o.Effect == protocol.EffectExecute {
			return o.ID
		}
	}
	b.Fatal("no command runs")
	return ""
}

// BenchmarkSteerWhileCommandRuns measures from a steer on the wire, while a command runs that goes
// on, to the next request at the model's server.
func BenchmarkSteerWhileCommandRuns(b *testing.B) {
	g := newGrove(b)
	var obsolete atomic.Value
	model := newStandIn(b, func(n int) string {
		switch {
		case n == 0:
			return planCall()
		case n%2 == 1:
			return commandCall(g.line())
		}
		return replanCall(obsolete.Load().(string)) // the command is ended only now
	})
	t := newBench(b, model, nil)
	t.await(model.asked)
	var acked, next []time.Duration
	for i := 0; b.Loop(); i++ {
		t.await(model.asked)
		pids := g.grown()
		obsolete.Store(t.running())
		begin := time.Now()
		t.call(protocol.MethodSteer, protocol.SteerParams{SessionID: t.id, Text: fmt.Sprintf("steer %d: keep the names", i)}, nil)
		acked = append(acked, time.Since(begin))
		next = append(next, t.await(model.asked).Sub(begin))
		g.until("the useless command to be gone", func() bool { return g.dead(pids) })
	}
	median(b, "ms-to-receipt", acked)
	median(b, "ms-to-request", next)
}

// BenchmarkPauseToFrozen measures from a pause on the wire to its receipt, and until every process
// of the running command stands still.
func BenchmarkPauseToFrozen(b *testing.B) {
	g := newGrove(b)
	model := newStandIn(b, func(n int) string {
		if n == 0 {
			return planCall()
		}
		return commandCall(g.line())
	})
	t := newBench(b, model, nil)
	pids := g.grown()
	var acked, frozen []time.Duration
	for b.Loop() {
		begin := time.Now()
		t.call(protocol.MethodPause, protocol.PauseParams{SessionID: t.id}, nil)
		acked = append(acked, time.Since(begin))
		g.until("the tree to stand still", func() bool { return g.frozen(pids) })
		frozen = append(frozen, time.Since(begin))
		t.call(protocol.MethodResume, protocol.ResumeParams{SessionID: t.id}, nil)
		g.until("the tree to go on", func() bool { return !anyIn(pids, "T") })
	}
	median(b, "ms-to-receipt", acked)
	median(b, "ms-to-frozen", frozen)
}

// BenchmarkCancelToDead measures from a steer that names the step of a running command to its
// receipt, to the next request, and until every process of the command is gone.
func BenchmarkCancelToDead(b *testing.B) {
	g := newGrove(b)
	model := newStandIn(b, func(n int) string {
		if n%2 == 0 {
			return planCall()
		}
		return commandCall(g.line())
	})
	t := newBench(b, model, nil)
	t.await(model.asked)
	var acked, next, dead []time.Duration
	for i := 0; b.Loop(); i++ {
		t.await(model.asked)
		pids := g.grown()
		begin := time.Now()
		t.call(protocol.MethodSteer, protocol.SteerParams{SessionID: t.id, Text: fmt.Sprintf("steer %d: not that", i), Scope: &protocol.Scope{StepID: "s1"}}, nil)
		acked = append(acked, time.Since(begin))
		g.until("the tree to be gone", func() bool { return g.dead(pids) })
		dead = append(dead, time.Since(begin))
		next = append(next, t.await(model.asked).Sub(begin))
	}
	median(b, "ms-to-receipt", acked)
	median(b, "ms-to-request", next)
	median(b, "ms-to-dead", dead)
}
