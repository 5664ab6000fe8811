//go:build unix

package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tandem/agent"
	"tandem/agent/tripwire"
	"tandem/protocol"
)

// A pause in the middle of a check ends what it runs, and the check says nothing: it is made again
// after the pause. Standing still would use up the time that its condition has.
func TestPauseInACheck(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\n"})
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	conditions, err := tripwire.Compile([]tripwire.Spec{{Name: "tests", Command: &tripwire.Command{Run: "echo > " + shellWord(begun) + "; exec sleep 100", TimeoutS: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Guard = NewGuard(conditions, nil, p.Files)
	freeze, seen := make(chan bool, 1), make(chan agent.Evaluated, 1)
	c := agent.Check{After: []agent.Past{{Op: protocol.Operation{ID: "op1", Effect: protocol.EffectWrite}}}, Baseline: json.RawMessage(`{}`)}
	go func() {
		seen <- p.check(t.Context(), Job{Work: agent.Work{ID: "check 1"}, Freeze: freeze}, c).(agent.Evaluated)
	}()
	if _, err := os.ReadFile(begun); err != nil {
		t.Fatal(err)
	}
	freeze <- true
	if got := <-seen; !got.InVain || len(got.Findings) > 0 {
		t.Errorf("%+v", got)
	}
}
