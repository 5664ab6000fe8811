package main

import (
	"context"
	"fmt"
	"time"

	"tandem/agent"
	"tandem/protocol"
)

// fact is one fact of a session with the states around it.
type fact struct {
	at            time.Time
	event         agent.Event
	before, after agent.State
}

// recount reads all facts of a session from its first on, shows each to see, which may be nil, and
// gives the state that they add up to. That is what the daemon knows: a session is its events. No
// model is asked. A fact that this version cannot read is an error, since what follows rests on it.
func recount(ctx context.Context, cl *client, id string, see func(fact)) (agent.State, error) {
	var state agent.State
	for {
		r, err := ask[protocol.HistoryResult](ctx, cl, protocol.MethodHistory, protocol.HistoryParams{SessionID: id, Since: state.Seq})
		if err != nil {
			return state, err
		}
		for _, e := range r.Events {
			event, err := agent.Decode(e.Kind, e.Data)
			if err != nil {
				return state, fmt.Errorf("event %d of session %s: %w", e.Seq, id, err)
			}
			before := state
			before.Seq = e.Seq - 1 // a damaged journal has gaps; its numbers stay
			state = before.Apply(event)
			if see != nil {
				see(fact{e.At, event, before, state})
			}
		}
		if !r.More {
			return state, nil
		}
	}
}
