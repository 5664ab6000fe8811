package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tandem/agent"
	"tandem/protocol"
)

// obliging is a world in which everything ends at once.
type obliging struct{}

func (obliging) Do(ctx context.Context, j Job) agent.Input {
	if _, asks := j.Job.(agent.Ask); asks {
		j.Said("hm")
		<-ctx.Done()
		return agent.AskFailed{Question: j.ID, Why: agent.FailCut}
	}
	return agent.Outcome{Op: j.ID, Text: "done"}
}

// Many talk to one session at once, come and go, and close it: nobody is told an event twice or
// out of order, no acknowledged word is lost, and everybody gets an answer.
func TestACrowd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s, _, err := Create(t.Context(), path, "", begin, Options{World: obliging{}})
	if err != nil {
		t.Fatal(err)
	}
	there := &ear{}
	attach(t, s, there)
	const people, words = 6, 15
	var crowd sync.WaitGroup
	for i := range people {
		crowd.Go(func() {
			for n := range words {
				e := &ear{}
				attach(t, s, e)
				text := fmt.Sprintf("person %d, word %d", i, n)
				if _, err := s.Post(context.Background(), text, agent.Steer{Text: text}); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				if _, err := s.History(0, 10); err != nil {
					t.Error(err)
				}
				s.Detach(e)
				if !inOrder(e) {
					t.Errorf("one who came and went was told %q", e.lines())
				}
			}
		})
	}
	crowd.Wait()
	for range 3 {
		crowd.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		crowd.Go(func() {
			_, err := s.Post(context.Background(), "", agent.SetAutonomy{Level: protocol.High})
			if err != nil && err != ErrEnded {
				t.Error(err)
			}
		})
	}
	crowd.Wait()
	if !inOrder(there) {
		t.Error("one who was there all the time was told events out of order, or twice")
	}
	said := spoken(t, path)
	if len(said) != people*words {
		t.Errorf("%d words are on disk, want %d", len(said), people*words)
	}
	for text, n := range said {
		if n != 1 {
			t.Errorf("%s is on disk %d times", text, n)
		}
	}
}

// spoken counts the steers that a journal holds, by their words.
func spoken(t *testing.T, path string) map[string]int {
	t.Helper()
	said := map[string]int{}
	for _, h := range onDisk(t, path) {
		e, err := agent.Decode(h.Kind, h.Data)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := e.(agent.Steered); ok {
			said[e.Steer.Text]++
		}
	}
	return said
}

func attach(t *testing.T, s *Session, e *ear) {
	now, err := s.Attach(context.Background(), e)
	if err != nil {
		t.Error(err)
		return
	}
	if err := s.Follow(context.Background(), e, 0, now); err != nil {
		t.Error(err)
	}
}

// inOrder says that durable events were told each once, in order.
func inOrder(e *ear) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	var seqs []int64
	for _, n := range e.told {
		if n.method != protocol.NoteText {
			seqs = append(seqs, seqOf(n.params))
		}
	}
	return slices.IsSorted(seqs) && len(slices.Compact(slices.Clone(seqs))) == len(seqs)
}
