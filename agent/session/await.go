package session

import (
	"context"
	"slices"

	"tandem/agent"
)

// await is somebody who waits until the session is in some state.
type await struct {
	ctx   context.Context
	ready func(agent.State) bool
	at    chan<- agent.State
}

// Await waits until ready says of the session's state that it is what the caller waits for, and
// gives that state. It may be so already. ready is called by the session's own goroutine, perhaps once
// more when Await has returned because ctx ended: it looks at the state it is given and writes nothing.
func (s *Session) Await(ctx context.Context, ready func(agent.State) bool) (agent.State, error) {
	at := make(chan agent.State, 1)
	if err := s.send(ctx, message{do: func(context.Context) {
		s.awaits = append(s.awaits, await{ctx, ready, at})
		s.answerAwaits()
	}}); err != nil {
		return agent.State{}, err
	}
	select {
	case state := <-at:
		return state, nil
	case <-ctx.Done():
		return agent.State{}, ctx.Err()
	case <-s.ended:
	}
	select {
	case state := <-at: // it was so before the session ended
		return state, nil
	default:
		return agent.State{}, ErrEnded
	}
}

// answerAwaits tells those whose state has come, and forgets those who have gone.
func (s *Session) answerAwaits() {
	s.awaits = slices.DeleteFunc(s.awaits, func(a await) bool {
		if a.ctx.Err() != nil {
			return true
		}
		ready := a.ready(s.state)
		if ready {
			a.at <- s.state
		}
		return ready
	})
}

// Past waits until an operation has ended and gives it. The caller knows of the operation from a
// receipt.
func (s *Session) Past(ctx context.Context, op string) (agent.Past, error) {
	state, err := s.Await(ctx, func(state agent.State) bool {
		_, ended := state.Past(op)
		return ended
	})
	past, _ := state.Past(op)
	return past, err
}
