package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// The benchmarks of stop conditions and check-ins in the whole daemon: its own work beside what a
// condition reads or runs and what the model takes.

// seen is what a client was shown, with the time at which it was.
type seen struct {
	at   time.Time
	op   protocol.Operation
	mode protocol.Mode
}

// eye gives what a client is shown of operations and modes to a channel.
func eye() (map[string]func(json.RawMessage), chan seen) {
	shown := make(chan seen, 64)
	return map[string]func(json.RawMessage){
		protocol.NoteProgress: func(raw json.RawMessage) {
			now := time.Now()
			var p protocol.ProgressParams
			if json.Unmarshal(raw, &p) == nil {
				shown <- seen{at: now, op: p.Operation}
			}
		},
		protocol.NoteModeChanged: func(raw json.RawMessage) {
			now := time.Now()
			var p protocol.ModeChangedParams
			if json.Unmarshal(raw, &p) == nil {
				shown <- seen{at: now, mode: p.Mode}
			}
		},
	}, shown
}

// look waits until the client is shown what is looked for.
func (b *bench) look(shown <-chan seen, what string, is func(seen) bool) seen {
	b.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case s := <-shown:
			if is(s) {
				return s
			}
		case <-limit:
			b.Fatalf("waited 20 s for %s", what)
		}
	}
}

func ended(target string, status protocol.OperationStatus) func(seen) bool {
	return func(s seen) bool { return s.op.Target == target && s.op.Status == status }
}

// writeCalls is a whole answer with a call of write_file for each path, with the same text.
func writeCalls(text string, paths ...string) string {
	var list []any
	for i, path := range paths {
		raw, err := json.Marshal(map[string]any{"intent": "I write the file that the step is about.", "step": "s1", "path": path, "content": text})
		if err != nil {
			panic(err)
		}
		list = append(list, map[string]any{"index": i, "id": fmt.Sprintf("w%d", i), "type": "function",
			"function": map[string]any{"name": "write_file", "arguments": string(raw)}})
	}
	raw, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": list}, "finish_reason": "tool_calls"}}})
	if err != nil {
		panic(err)
	}
	return "data: " + string(raw) + "\n\ndata: [DONE]\n\n"
}

// positive is the configuration of conditions that a field of a file is positive, each about a file
// of its own, the first about out/0.json.
func positive(conditions int) map[string]string {
	if conditions == 0 {
		return nil
	}
	var y strings.Builder
	y.WriteString("tripwires:\n")
	for i := range conditions {
		fmt.Fprintf(&y, "  - name: rows-%[1]d\n    range: {value: {json: out/%[1]d.json, at: /rows}, min: 0}\n", i)
	}
	return map[string]string{".tandem/config.yaml": y.String()}
}

// BenchmarkTripToStopped measures what lies between a write after which a condition does not hold
// and the stop: from the write's end to the refusal of the write behind it, as a client is told of
// both, and to the request that asks the agent for the facts. The condition's own work, which reads
// one small file, is in it.
func BenchmarkTripToStopped(b *testing.B) {
	for _, conditions := range []int{1, 50} {
		b.Run(fmt.Sprintf("conditions%d", conditions), func(b *testing.B) { benchmarkTrip(b, conditions) })
	}
}

func benchmarkTrip(b *testing.B, conditions int) {
	model := newStandIn(b, func(n int) string {
		switch {
		case n == 0:
			return planCall()
		case n%2 == 1:
			return writeCalls(fmt.Sprintf("{\"rows\": %d}\n", -n), "out/0.json", "next.txt")
		}
		return "" // it thinks about the pause until the developer resumes
	})
	heard, shown := eye()
	t := newBenchThatHears(b, model, positive(conditions), heard)
	t.await(model.asked)
	var refused, asked []time.Duration
	for b.Loop() {
		t.await(model.asked)
		done := t.look(shown, "the write to be done", ended("out/0.json", protocol.OpDone)).at
		stop := t.look(shown, "the next write to be refused", ended("next.txt", protocol.OpCancelled))
		refused = append(refused, stop.at.Sub(done))
		t.look(shown, "the pause", func(s seen) bool { return s.mode == protocol.Paused })
		asked = append(asked, t.await(model.asked).Sub(done))
		t.call(protocol.MethodResume, protocol.ResumeParams{SessionID: t.id}, nil)
		t.await(model.hung)
	}
	median(b, "ms-to-refusal", refused)
	median(b, "ms-to-request", asked)
}

// BenchmarkTripToFrozen measures from the end of such a write to a tree of three processes that
// stands still, which a command had started that ran beside it.
func BenchmarkTripToFrozen(b *testing.B) {
	g := newGrove(b)
	release := make(chan struct{})
	model := newStandIn(b, func(n int) string {
		switch {
		case n == 0:
			return planCall()
		case n == 1:
			return calls("run_command", map[string]any{"intent": "I run it beside the work.", "step": "s1", "command": g.line(), "background": true})
		case n%2 == 0:
			<-release
			return writeCalls(fmt.Sprintf("{\"rows\": %d}\n", -n), "out/0.json")
		}
		return ""
	})
	heard, shown := eye()
	t := newBenchThatHears(b, model, positive(1), heard)
	pids := g.grown()
	t.await(model.asked)
	t.await(model.asked)
	var frozen []time.Duration
	for b.Loop() {
		t.await(model.asked)
		release <- struct{}{}
		done := t.look(shown, "the write to be done", ended("out/0.json", protocol.OpDone)).at
		g.until("the tree to stand still", func() bool { return g.frozen(pids) })
		frozen = append(frozen, time.Since(done))
		t.await(model.asked)
		t.call(protocol.MethodResume, protocol.ResumeParams{SessionID: t.id}, nil)
		t.await(model.hung)
		g.until("the tree to go on", func() bool { return !anyIn(pids, "T") })
	}
	close(release)
	median(b, "ms-to-frozen", frozen)
}

// BenchmarkStepWithConditions measures a step as BenchmarkStep does, in which a file is written that
// one condition is about, and from the write's end to the next request, which waits for the check.
func BenchmarkStepWithConditions(b *testing.B) {
	for _, conditions := range []int{0, 1, 50} {
		b.Run(fmt.Sprintf("conditions%d", conditions), func(b *testing.B) { benchmarkGuardedStep(b, conditions) })
	}
}

func benchmarkGuardedStep(b *testing.B, conditions int) {
	gate := make(chan struct{})
	model := newStandIn(b, func(n int) string {
		if n == 0 {
			return planCall()
		}
		<-gate
		return writeCalls(fmt.Sprintf("{\"rows\": %d}\n", n), "out/0.json")
	})
	heard, shown := eye()
	t := newBenchThatHears(b, model, positive(conditions), heard)
	t.await(model.asked)
	t.await(model.asked)
	var took, after []time.Duration
	for b.Loop() {
		begin := time.Now()
		gate <- struct{}{}
		done := t.look(shown, "the write to be done", ended("out/0.json", protocol.OpDone)).at
		next := t.await(model.asked)
		took, after = append(took, next.Sub(begin)), append(after, next.Sub(done))
	}
	close(gate)
	median(b, "ms-a-step", took)
	median(b, "ms-after-the-write", after)
}

// BenchmarkCheckIn measures a check-in while a command runs, which it leaves alone: to the request
// at the model's server, and to the answer at the client.
func BenchmarkCheckIn(b *testing.B) {
	g := newGrove(b)
	model := newStandIn(b, func(n int) string {
		switch n {
		case 0:
			return planCall()
		case 1:
			return commandCall(g.line())
		}
		return calls("check_in", map[string]any{"verdict": "continue", "next_steps": []any{map[string]any{"step": "s1", "text": "I wait for the command."}},
			"brief": map[string]any{"goal": "work", "done": []any{}, "remaining": []any{"the command"}, "assumptions": []any{}, "risks": []any{}}})
	})
	t := newBench(b, model, nil)
	t.await(model.asked)
	t.await(model.asked)
	pids := g.grown()
	var asked, answered []time.Duration
	for b.Loop() {
		begin := time.Now()
		var r protocol.CheckInResult
		t.call(protocol.MethodCheckIn, protocol.CheckInParams{SessionID: t.id}, &r)
		answered = append(answered, time.Since(begin))
		asked = append(asked, t.await(model.asked).Sub(begin))
		if r.CheckIn.Verdict != protocol.Continue || len(r.CheckIn.Signals) > 0 {
			b.Fatalf("the check-in is %+v", r.CheckIn)
		}
	}
	if len(g.tree()) != len(pids) || anyIn(pids, "TZ") {
		b.Fatal("the command does not run on")
	}
	median(b, "ms-to-request", asked)
	median(b, "ms-to-answer", answered)
}
