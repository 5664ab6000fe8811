package agent

import (
	"fmt"
	"testing"
)

// Who asks for an answer that is so old that it is not kept is told so, and does not wait for ever.
func TestOldAnswersAreNotAwaited(t *testing.T) {
	w := newWorld()
	post := func(in Input) {
		t.Helper()
		if _, err := w.post(in); err != nil {
			t.Fatal(err)
		}
	}
	post(Start{ID: "x", Task: "go", Trusted: true})
	first := ""
	for n := range sideAnswers + 1 {
		post(AskAside{Question: fmt.Sprintf("Why %d?", n)})
		a := w.state.Asides[0]
		if !w.state.AwaitsAside(a.ID) {
			t.Fatalf("%s is not awaited", a.ID)
		}
		if n == 0 {
			first = a.ID
		}
		post(Replied{Question: a.workID(), Text: "Because."})
	}
	if _, kept := w.state.SideAnswered(first); kept || w.state.AwaitsAside(first) {
		t.Errorf("%s: kept %v, awaited %v", first, kept, w.state.AwaitsAside(first))
	}
}
