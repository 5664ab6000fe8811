package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
)

// Daemons of one state follow each other while the clock is set: each test of a bubble begins in the
// year 2000, so the second daemon lives before the first.

// movesTo makes a house of a state and a workspace that others had before it.
func (h *house) movesTo(state, dir string) {
	h.opts.State, h.dir = state, dir
	h.Registry = NewRegistry(h.opts)
}

// The clock is set back by two years between two daemons, and forward by three before the next: the
// session is listed, its wait and its veto window do not grow, a request that is sent again is not
// done again, and what it said is in order.
func TestTheClockIsSet(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	var id string
	start := params{"task": "work", "clientId": "c", "requestKey": "k"}
	daemon := func(name string, year time.Duration, play func(t *testing.T, h *house, p *peer)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(year * 365 * 24 * time.Hour)
				h := newHouse(t, nil)
				h.movesTo(state, dir)
				play(t, h, h.client())
			})
		})
	}
	daemon("ahead", 2, func(t *testing.T, h *house, p *peer) {
		h.model.will(work("announce_decision", `{"intent":"I choose.","step":"s1","summary":"so","rationale":"why","alternatives":[],"significance":"major"}`),
			reply{status: 429, after: 9 * time.Minute, body: `{"error":{"message":"slow down"}}`})
		id = p.start(start).ID
		p.untilHas(protocol.NoteModeChanged, "it is asked again in")
	})
	daemon("set back", 0, func(t *testing.T, h *house, p *peer) {
		if again := p.start(start).ID; again != id {
			t.Errorf("the same start began %s beside %s", again, id)
		}
		if s := p.session(id); s.Mode != protocol.Paused || s.StartedAt.Year() < 2001 {
			t.Errorf("it is listed as %+v", s)
		}
		p.ok(protocol.MethodAttach, at(id), nil)
		h.model.will(says("I go on."))
		p.ok(protocol.MethodResume, at(id), nil)
		began := time.Now()
		p.untilHas(protocol.NoteModeChanged, `"waiting"`)
		time.Sleep(20 * time.Second)
		if took := time.Since(began); took > time.Minute || len(h.model.asked()) != 1 {
			t.Errorf("after %v it was asked %d times", took, len(h.model.asked()))
		}
		for _, d := range p.session(id).Decisions {
			if d.Status != protocol.DecisionStanding {
				t.Errorf("after its window the decision is %+v", d)
			}
		}
		h.model.will(sse{saying("hm")}.hanging())
		p.ok(protocol.MethodSteer, at(id, "text", "earlier than before"), nil)
	})
	daemon("set forward", 3, func(t *testing.T, h *house, p *peer) {
		p.ok(protocol.MethodAttach, at(id), nil)
		h.model.will(finishing())
		p.ok(protocol.MethodResume, at(id), nil)
		p.untilHas(protocol.NoteModeChanged, `"done"`)
		strictly(t, h.model.asked())
		q := h.model.question(0)
		if a, b := strings.Index(q, "I go on."), strings.Index(q, "earlier than before"); a < 0 || b < a {
			t.Errorf("in the conversation stands\n%s", q)
		}
	})
}
