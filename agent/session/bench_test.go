package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// BenchmarkLoad reads a journal of 100,000 events and folds them.
func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.jsonl")
	events := writeSession(b, path, 100_000)
	b.ReportMetric(float64(events), "events")
	for b.Loop() {
		now, err := Load(path)
		if err != nil || now.State.Seq < int64(events) {
			b.Fatalf("read %d of %d events: %v", now.State.Seq, events, err)
		}
	}
}

// writeSession writes the journal of a session that read files until there were so many events.
func writeSession(b *testing.B, path string, least int) int {
	b.Helper()
	var file bytes.Buffer
	var state agent.State
	decide := func(in agent.Input) {
		at := time.Unix(int64(state.Seq), 0)
		events, err := state.Decide(agent.At{Time: at, Input: in})
		if err != nil {
			b.Fatal(err)
		}
		record, err := encode(state.Seq+1, at, "", events)
		if err != nil {
			b.Fatal(err)
		}
		file.Write(journal.Line(record))
		for _, e := range events {
			state = state.Apply(e)
		}
	}
	decide(agent.Start{ID: "s", Workspace: "file:///w", Task: "work", Model: "m", Trusted: true, Autonomy: protocol.High})
	for state.Seq < int64(least) {
		decide(agent.Replied{Question: state.Question.ID, Calls: []agent.ModelCall{{Name: "read_file", Arguments: `{"intent":"I look at it.","step":"s1","path":"a.txt"}`}}})
		for _, c := range state.Open {
			decide(agent.Outcome{Op: c.Op.ID, Text: "a.txt, lines 1-1 of 1\none line", Output: "read a.txt"})
		}
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return int(state.Seq)
}
