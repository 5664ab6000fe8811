package server

import (
	"context"
	"fmt"
	"slices"

	"tandem/agent"
	"tandem/protocol"
	"tandem/server/rpc"
)

// checkIn asks the agent to commit or to ask, beside the work.
func (c *client) checkIn(ctx context.Context, p protocol.CheckInParams) (protocol.CheckInResult, error) {
	a, err := c.beside(ctx, p.SessionID, p.Request, agent.CheckIn{Text: p.Text})
	if err != nil {
		return protocol.CheckInResult{}, err
	}
	return protocol.CheckInResult{CheckIn: *a.CheckIn}, nil
}

// ask asks a side question. What the record says of the place it is about goes with it.
func (c *client) ask(ctx context.Context, p protocol.AskParams) (protocol.AskResult, error) {
	in := agent.AskAside{Question: p.Question, Location: p.Location}
	if p.Location != nil {
		facts, err := c.factsOf(ctx, p.SessionID, *p.Location)
		if err != nil {
			return protocol.AskResult{}, err
		}
		in.Facts, in.Location = facts, &c.inward([]protocol.Location{*p.Location})[0]
	}
	a, err := c.beside(ctx, p.SessionID, protocol.Request{}, in)
	return protocol.AskResult{Answer: a.Answer}, err
}

// beside posts what is asked beside the work and waits for its answer; what follows from the same
// client does not.
func (c *client) beside(ctx context.Context, id string, r protocol.Request, in agent.Input) (agent.SideAnswer, error) {
	receipt, err := c.post(ctx, id, r, in)
	if err != nil {
		return agent.SideAnswer{}, err
	}
	rpc.Release(ctx)
	i := slices.IndexFunc(receipt.Events, is[agent.AskedAside])
	if i < 0 {
		return agent.SideAnswer{}, errKeyReused
	}
	aside := receipt.Events[i].(agent.AskedAside).ID
	var then agent.State
	err = c.on(id, func(s *running) error {
		then, err = s.Await(ctx, func(now agent.State) bool {
			_, over := now.SideAnswered(aside)
			return over || !now.AwaitsAside(aside)
		})
		return err
	})
	if err != nil {
		return agent.SideAnswer{}, err
	}
	answer, _ := then.SideAnswered(aside)
	switch {
	case answer.ID == "" && !then.Ended: // the request is as old as many others
		return answer, protocol.Errorf(protocol.NoSuchEntity, "the answer to this request is not kept any more; ask again")
	case answer.ID == "":
		return answer, &protocol.Error{Kind: protocol.WrongMode, Mode: protocol.Done, Text: "the session ended before the answer came"}
	case answer.Failed != "":
		return answer, protocol.Errorf(protocol.ModelUnavailable, "%s", answer.Failed)
	}
	return answer, nil
}

// mostFacts is how many regions of a place the agent is told of.
const mostFacts = 10

// factsOf is what the record says of a place: which operations wrote its lines, and why.
func (c *client) factsOf(ctx context.Context, id string, at protocol.Location) ([]string, error) {
	s, err := c.session(id)
	if err != nil {
		return nil, err
	}
	lines, err := c.blame(ctx, protocol.BlameParams(at))
	if err != nil {
		return []string{"the record cannot be read for it: " + err.Error()}, nil
	}
	now := s.Now().State
	var out []string
	for _, l := range lines.Lines {
		if len(out) == mostFacts {
			break
		}
		out = append(out, fact(now, l))
	}
	return out, nil
}

func fact(now agent.State, l protocol.BlamedLines) string {
	text := fmt.Sprintf("lines %d–%d were written by %s", l.Range.Start.Line+1, l.Range.End.Line, l.OperationID) // the range ends at the start of the line behind
	if p, ok := now.Past(l.OperationID); ok {
		text += fmt.Sprintf(" («%s»)", p.Op.Intent)
	}
	if l.StepID != "" {
		text += ", step " + l.StepID
	}
	if l.DecisionID != "" {
		text += ", decision " + l.DecisionID
	}
	if l.SteerID != "" {
		text += ", for steer " + l.SteerID
	}
	return text
}
