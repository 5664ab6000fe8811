package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tandem/agent"
)

// printed is what the session's events tell of running commands' output.
func (c *scene) printed() []string {
	var out []string
	page, err := c.History(0, 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Kind != "printed" {
			continue
		}
		fact, err := agent.Decode(e.Kind, e.Data)
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, fact.(agent.Printed).Text)
	}
	return out
}

// TestOutputIsToldOnceASecond has a command write often: what it wrote is told each second, and
// nothing is told of a command that ends before that.
func TestOutputIsToldOnceASecond(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t).reply("", planCall(), runCall("make", false))
		command := c.stage.next(t)
		for range 25 {
			command.Said(".")
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if got, want := c.printed(), []string{"..........", ".........."}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if op := c.Now().View().Operations; op[len(op)-1].Output != "...................." {
			t.Errorf("shown: %q", op[len(op)-1].Output)
		}
		command.done("built")
		c.stage.ask(t).reply("", runCall("true", false))
		quick := c.stage.next(t)
		quick.Said("gone in a moment")
		quick.done("gone in a moment")
		c.stage.ask(t)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := c.printed(); len(got) != 2 {
			t.Errorf("told %q", got)
		}
	})
}

// TestAnIdleSessionIsGivenUp closes a session that rests and that nobody follows, and no other.
func TestAnIdleSessionIsGivenUp(t *testing.T) {
	play(t, begin, func(t *testing.T, c *scene) {
		c.stage.ask(t)
		time.Sleep(time.Hour)
		if c.CloseIdle(time.Minute) {
			t.Fatal("a session at work was given up")
		}
		if _, err := c.Post(t.Context(), "", agent.End{}); err != nil {
			t.Fatal(err)
		}
		follower := &quietClient{}
		now, err := c.Attach(t.Context(), follower)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Follow(t.Context(), follower, now.State.Seq, now); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if c.CloseIdle(time.Minute) {
			t.Fatal("a session that a client follows was given up")
		}
		c.Detach(follower)
		if c.CloseIdle(time.Minute) {
			t.Fatal("given up as soon as its client had left")
		}
		time.Sleep(time.Hour)
		if !c.CloseIdle(time.Minute) {
			t.Fatal("a session that rests was not given up")
		}
		again, err := Open(c.path, c.options())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := again.Now().State.Seq, c.Now().State.Seq; got != want {
			t.Errorf("opened again at event %d, was given up at %d", got, want)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

type quietClient struct{}

func (*quietClient) Notify(string, []byte) {}
