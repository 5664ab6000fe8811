package agent

import (
	"encoding/json"
	"time"

	"tandem/protocol"
)

// Work is a thing that should be running now. The session starts what is listed and does not
// run, cancels what runs and is not listed, and freezes what is listed frozen; nothing else in
// Tandem starts or cancels anything.
type Work struct {
	ID     string
	Again  int // how often it was begun and withheld: each time it is begun anew
	Frozen bool
	Job    Job
}

// Job is what a Work does.
type Job interface{ job() }

type (
	// Ask puts a question to the model.
	Ask struct {
		Model    string
		Messages chain[json.RawMessage]
		Force    string
		Silent   bool
		Attempt  int       // how many questions in a row got no answer before this one
		After    time.Time // it is not put before; the zero time is at once
	}
	// Run runs a tool of effect read, write or execute.
	Run struct {
		Tool      string
		Arguments string
		Proposed  []json.RawMessage // stop conditions of the agent that the developer keeps
		Network   bool              // its command may use the network
		Leave     []Need            // what it may touch by the developer's word
	}
	// Verify runs a step's verification.
	Verify struct {
		Command string
		Network bool
		Leave   []Need
	}
	// Revert takes the edits of operations back, the newest first. By hand says that the developer
	// does, so that the agent does not know of it yet.
	Revert struct {
		Edits  []Past
		ByHand bool
	}
	// Wait reports when a time has come.
	Wait struct{ Until time.Time }
)

func (Ask) job()    {}
func (Run) job()    {}
func (Verify) job() {}
func (Revert) job() {}
func (Wait) job()   {}

// All yields the messages of a question in order. It may be called from any goroutine.
func (a Ask) All(yield func(json.RawMessage) bool) { a.Messages.oldest(yield) }

// Work lists what should be running.
func (s State) Work() []Work {
	if !s.alive() && len(s.Open) == 0 {
		return nil
	}
	var work []Work
	if q := s.Question; q != nil {
		work = append(work, Work{ID: q.ID, Job: Ask{Model: s.Started.Model, Messages: s.talk,
			Force: q.Force, Silent: q.Silent, Attempt: s.Retry.InARow}})
	}
	for _, c := range s.Open {
		if c.Op.Status == protocol.OpQueued || c.Stop != nil {
			continue
		}
		if job := s.jobOf(c); job != nil {
			work = append(work, Work{ID: c.Op.ID, Again: c.Again, Frozen: c.Frozen, Job: job})
		}
	}
	if s.checkDue() {
		work = append(work, s.check())
	}
	work = append(work, s.asideWork()...)
	work = append(work, s.caseWork()...)
	work = append(work, s.wantedWork()...)
	work = append(work, s.commitWork()...)
	if next, ok := s.until(); ok && s.alive() {
		work = append(work, Work{ID: "wait " + next.Format(time.RFC3339Nano), Job: Wait{next}})
	}
	return work
}

func (s State) jobOf(c Call) Job {
	switch {
	case c.Reverts != nil:
		return Revert{Edits: s.editsOf(c), ByHand: true}
	case c.Op.Tool == toolVerify:
		return Verify{Command: c.Op.Target, Network: s.networked(c.Op.ID), Leave: s.leave(c.Op.ID)}
	case c.Op.Tool == toolUpdatePlan && c.Taken:
		return nil
	case c.Op.Tool == toolUpdatePlan:
		return Revert{Edits: s.editsOf(c)}
	}
	return Run{Tool: c.Op.Tool, Arguments: c.Arguments, Proposed: s.accepted(), Network: c.Op.Effect == protocol.EffectExecute && s.networked(c.Op.ID), Leave: s.leave(c.Op.ID)}
}
