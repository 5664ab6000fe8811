package session

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"tandem/agent"
	"tandem/protocol"
)

// lively lets things happen that clients are told of.
func (c *scene) lively() {
	c.t.Helper()
	run := c.working(runCall("make", false))[0]
	c.post(agent.Pause{})
	c.post(agent.Resume{})
	run.done("made")
	c.stage.ask(c.t).reply("Done.")
	synctest.Wait()
	c.post(agent.Steer{Text: "once more"})
	c.stage.ask(c.t)
}

// after are the lines of what was told after an event.
func after(e *ear, since int64) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.told {
		if seqOf(n.params) > since {
			out = append(out, n.method+" "+string(n.params))
		}
	}
	return out
}

// Whoever attaches late is told what one was told who was there, from where they say.
func TestAttachSince(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		there := &ear{}
		c.follow(there, 0)
		c.lively()
		head := c.Now().State.Seq
		for since := range head + 3 {
			e := &ear{}
			c.follow(e, since)
			if got, want := e.lines(), after(there, since); !slices.Equal(got, want) {
				t.Fatalf("since %d, got %d notifications:\n%q\nwant %d:\n%q", since, len(got), got, len(want), want)
			}
			c.Detach(e)
		}
		late := &ear{}
		c.follow(late, -1)
		if got := late.lines(); len(got) > 0 {
			t.Errorf("without since it was told the past: %q", got)
		}
		c.post(agent.Pause{})
		if got, want := late.lines(), after(there, head); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("then %q, want %q", got, want)
		}
	})
}

// The past is read slowly while events come: each is told once, in order, without a gap.
func TestAttachWhileEventsCome(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		there := &ear{}
		c.follow(there, 0)
		c.lively()
		gate := make(chan struct{})
		slow := &ear{hears: func(string, []byte) { <-gate }}
		now, err := c.Attach(t.Context(), slow)
		if err != nil {
			t.Fatal(err)
		}
		followed := make(chan error)
		go func() { followed <- c.Follow(t.Context(), slow, 0, now) }()
		for i := range 20 { // it hangs in the past meanwhile
			synctest.Wait()
			c.post(agent.Pause{})
			c.post(agent.Resume{})
			if i%5 == 0 {
				gate <- struct{}{}
			}
		}
		close(gate)
		if err := <-followed; err != nil {
			t.Fatal(err)
		}
		c.post(agent.Pause{})
		synctest.Wait()
		if got, want := slow.lines(), there.lines(); !slices.Equal(got, want) {
			t.Errorf("got %d notifications, want %d; they differ from\n%s", len(got), len(want), firstDifference(got, want))
		}
	})
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%d: got  %s\nwant %s", i, got[i], want[i])
		}
	}
	return "the end of the shorter"
}

// Words are ephemeral: they bear the last durable seq, and none is told twice. Who is being told the
// past gets them behind it, and who comes later what the answer that still runs has said so far;
// one that comes back while it runs has these already.
func TestWordsOfTheRunningAnswer(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		there, attached := &ear{}, &ear{}
		c.follow(there, 0)
		now, err := c.Attach(t.Context(), attached)
		if err != nil {
			t.Fatal(err)
		}
		ask := c.stage.ask(t)
		ask.Said("hm")
		synctest.Wait()
		if err := c.Follow(t.Context(), attached, 0, now); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lines := there.lines()
		if want := fmt.Sprintf(`tandem/text {"sessionId":"s","seq":%d,"operationId":%q,"delta":"hm"}`, now.State.Seq, ask.ID); lines[len(lines)-1] != want {
			t.Errorf("got  %s\nwant %s", lines[len(lines)-1], want)
		}
		if got := attached.lines(); !slices.Equal(got, lines) {
			t.Errorf("one who was told the past meanwhile got %q", got)
		}
		late, back := &ear{}, &ear{}
		c.follow(late, 0)
		c.follow(back, now.State.Seq)
		synctest.Wait()
		if got := late.lines(); !slices.Equal(got, lines) {
			t.Errorf("one who came later got %q", got)
		}
		if got := back.lines(); len(got) > 0 {
			t.Errorf("one who came back got %q", got)
		}
		ask.Said(" well")
		synctest.Wait()
		if got, same := late.lines(), back.lines(); len(got) != len(lines)+1 || len(same) != 1 || got[len(lines)] != same[0] {
			t.Errorf("what comes next is %q and %q", got, same)
		}
	})
}

func TestClientsAreToldTheSame(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		ears := make([]*ear, 5)
		for i := range ears {
			ears[i] = &ear{}
			c.follow(ears[i], 0)
		}
		c.lively()
		for i, e := range ears[1:] {
			if !slices.Equal(e.lines(), ears[0].lines()) {
				t.Errorf("client %d was told otherwise", i+1)
			}
		}
	})
}

func TestDetachEndsTheStream(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e, other := &ear{}, &ear{}
		c.follow(e, 0)
		c.follow(other, 0)
		c.Detach(e)
		synctest.Wait()
		before := len(e.lines())
		c.post(agent.Pause{})
		if got := e.lines()[before:]; len(got) > 0 {
			t.Errorf("after it detached: %q", got)
		}
		if lines := other.lines(); len(lines) <= before {
			t.Error("the other client is told no more")
		}
		c.follow(e, 0) // once more, from the start
		if got := e.lines()[before:]; !slices.Equal(got, other.lines()) {
			t.Errorf("attached again it got %q", got)
		}
	})
}

// A client that attaches twice is still told each event once.
func TestAttachTwice(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		e := &ear{}
		c.follow(e, 0)
		seen := len(e.lines())
		c.follow(e, -1)
		c.post(agent.Pause{})
		if got := e.lines()[seen:]; len(got) != 1 {
			t.Errorf("one event gave %q", got)
		}
	})
}

func TestHistoryPages(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.lively()
		head := c.Now().State.Seq
		for _, limit := range []int{1, 3, int(head) - 1, int(head), int(head) + 1} {
			var all []protocol.HistoryEvent
			for more := true; more; {
				page, err := c.History(int64(len(all)), limit)
				if err != nil || len(page.Events) == 0 || len(page.Events) > limit {
					t.Fatalf("limit %d after %d: %d events, %v", limit, len(all), len(page.Events), err)
				}
				all, more = append(all, page.Events...), page.More
			}
			if int64(len(all)) != head {
				t.Errorf("limit %d: %d events, want %d", limit, len(all), head)
			}
			for i, e := range all {
				if e.Seq != int64(i)+1 || e.Kind == "" || len(e.Data) == 0 || e.At.IsZero() {
					t.Fatalf("limit %d: event %d is %+v", limit, i+1, e)
				}
			}
		}
		if page, err := c.History(head, 10); err != nil || len(page.Events) > 0 || page.More {
			t.Errorf("after the end: %+v, %v", page, err)
		}
	})
}
