package session

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/protocol"
)

// feed is a client that follows the session. While it is told what came before, what comes is
// held back for it.
type feed struct {
	client Client
	live   bool
	held   []note
	words  *note // those of the running answer, from before it was attached
	asked  int64 // the event that put its question
}

type note struct {
	method string
	params []byte
}

// Attach makes a client follow the session from its next event on, and says where the session
// stands. It is told nothing before Follow.
func (s *Session) Attach(ctx context.Context, c Client) (Snapshot, error) {
	at := make(chan Snapshot, 1)
	err := s.send(ctx, message{do: func(context.Context) {
		s.detach(c)
		f := &feed{client: c}
		f.words, f.asked = s.wordsSoFar()
		s.feeds = append(s.feeds, f)
		at <- s.Now()
	}})
	if err != nil {
		return Snapshot{}, err
	}
	select {
	case now := <-at:
		return now, nil
	case <-s.ended:
		return Snapshot{}, ErrEnded
	}
}

// Follow tells an attached client the events after since up to the snapshot at which it was
// attached, then what has come meanwhile, then what comes: each once, in order.
func (s *Session) Follow(ctx context.Context, c Client, since int64, at Snapshot) error {
	if since < at.State.Seq {
		if err := s.past(since, at.State.Seq, c); err != nil {
			return err
		}
	}
	return s.send(ctx, message{do: func(context.Context) { s.release(c, since) }})
}

// wordsSoFar are the words of the running answer that clients were told.
func (s *Session) wordsSoFar() (words *note, asked int64) {
	q := s.state.Question
	if q == nil {
		return nil, 0
	}
	j, ok := s.running[q.ID]
	if !ok || len(j.said) == len(j.unshown) {
		return nil, 0
	}
	told := string(j.said[:len(j.said)-len(j.unshown)])
	params, err := plain(protocol.TextParams{Event: s.head(), OperationID: q.ID, Delta: told})
	if err != nil {
		return nil, 0
	}
	return &note{protocol.NoteText, params}, q.Seq
}

// Detach ends what a client is told.
func (s *Session) Detach(c Client) {
	// A session that has ended tells nobody anything: nothing is left to do then.
	_ = s.send(context.Background(), message{do: func(context.Context) { s.detach(c) }})
}

func (s *Session) detach(c Client) {
	s.left = time.Now()
	kept := s.feeds[:0]
	for _, f := range s.feeds {
		if f.client != c {
			kept = append(kept, f)
		}
	}
	s.feeds = kept
}

// release lets a client have what was held back for it. One that has not heard of the running answer
// is told its words so far; any other was there, and has them.
func (s *Session) release(c Client, since int64) {
	for _, f := range s.feeds {
		if f.client == c && !f.live {
			if f.words != nil && since < f.asked {
				f.client.Notify(f.words.method, f.words.params)
			}
			f.words = nil
			for _, n := range f.held {
				f.client.Notify(n.method, n.params)
			}
			f.held, f.live = nil, true
		}
	}
}

// past tells a client the notifications of the events after since, up to upTo, from the journal.
func (s *Session) past(since, upTo int64, c Client) error {
	var state agent.State
	_, err := journal.Read(s.path, func(line []byte) error {
		r, err := decodeRecord(line)
		if err != nil || r.Seq > upTo {
			return nil // a bad record gives nothing, as when the session was opened
		}
		state, _ = r.replay(state, func(before, after agent.State, e agent.Event) {
			if after.Seq <= since || after.Seq > upTo {
				return
			}
			if n, ok := after.Notify(before, e); ok {
				if params, err := plain(n.Params); err == nil {
					c.Notify(n.Method, params)
				}
			}
		})
		return nil
	})
	return err
}

// History reads events after since from the journal, at most limit of them.
func (s *Session) History(since int64, limit int) (protocol.HistoryResult, error) {
	p := historyPage{since: since, upTo: s.Now().State.Seq, limit: limit} // what is not durable yet is no history
	var last []byte                                                       // of the records that begin at the page's first event or before it
	_, err := journal.Read(s.path, func(line []byte) error {
		if begins, ok := beginsAt(line); ok && begins <= since+1 {
			last = append(last[:0], line...)
			return nil
		}
		if err := p.add(last); err != nil {
			return err
		}
		last = nil
		return p.add(line)
	})
	if err == nil {
		err = p.add(last)
	}
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return p.HistoryResult, err
}

// historyPage is a page of history while it is read.
type historyPage struct {
	protocol.HistoryResult
	since, upTo int64
	limit       int
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("the page is full")

// add takes a record's events; one that cannot be read has none.
func (p *historyPage) add(line []byte) error {
	if line == nil {
		return nil
	}
	r, err := decodeRecord(line)
	if err != nil {
		return nil
	}
	for _, e := range r.history() {
		if e.Seq <= p.since || e.Seq > p.upTo {
			continue
		}
		if len(p.Events) == p.limit {
			p.More = true
			return errPageFull
		}
		p.Events = append(p.Events, e)
	}
	return nil
}

// beginsAt is the first event of a record, read without decoding it: a page late in a long history
// has to pass over many.
func beginsAt(record []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(record, []byte(`{"seq":`))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte(","))
	seq, err := strconv.ParseInt(string(digits), 10, 64)
	return seq, err == nil
}

func (s *Session) notify(before, after agent.State, e agent.Event) {
	if n, ok := after.Notify(before, e); ok {
		s.tell(n.Method, n.Params)
	}
}

// text streams words of the agent. They are ephemeral: seq is the last durable event.
func (s *Session) text(op, delta string) {
	if delta == "" {
		return
	}
	s.tell(protocol.NoteText, protocol.TextParams{Event: s.head(), OperationID: op, Delta: delta})
}

func (s *Session) head() protocol.Event {
	return protocol.Event{SessionID: s.state.Started.ID, Seq: s.state.Seq}
}

// tell tells every client, encoded once.
func (s *Session) tell(method string, params any) {
	if len(s.feeds) == 0 {
		return
	}
	encoded, err := plain(params)
	if err != nil {
		s.log("notify " + method + ": " + err.Error())
		return
	}
	for _, f := range s.feeds {
		if f.live {
			f.client.Notify(method, encoded)
		} else {
			f.held = append(f.held, note{method, encoded})
		}
	}
}
