package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tandem/agent"
	"tandem/protocol"
)

// record is all facts of one decision, as the journal holds them.
type record struct {
	Seq    int64     `json:"seq"` // of the first event
	At     time.Time `json:"at"`
	Key    string    `json:"key,omitempty"` // of the request that led to it
	Events []fact    `json:"events"`
}

// fact is one event with its name.
type fact struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// encode is the record of events, without escapes that only HTML needs.
func encode(seq int64, at time.Time, key string, events []agent.Event) ([]byte, error) {
	r := record{Seq: seq, At: at, Key: key, Events: make([]fact, len(events))}
	for i, e := range events {
		data, err := plain(e)
		if err != nil {
			return nil, fmt.Errorf("encode event %T: %w", e, err)
		}
		r.Events[i] = fact{agent.Kind(e), data}
	}
	return plain(r)
}

func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// replay folds one record into a state and gives each event with the state before and after.
func (r record) replay(s agent.State, each func(before, after agent.State, e agent.Event)) (agent.State, error) {
	if r.Seq <= s.Seq {
		return s, fmt.Errorf("record of event %d: the events up to %d stand before it", r.Seq, s.Seq)
	}
	if r.Seq > s.Seq+1 {
		s.Seq = r.Seq - 1 // records before it were lost; the numbers that clients know stay
	}
	for _, f := range r.Events {
		e, err := agent.Decode(f.Kind, f.Data)
		if err != nil {
			return s, err
		}
		after := s.Apply(e)
		if each != nil {
			each(s, after, e)
		}
		s = after
	}
	return s, nil
}

func decodeRecord(line []byte) (record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// history are a record's events as history lists them.
func (r record) history() []protocol.HistoryEvent {
	out := make([]protocol.HistoryEvent, len(r.Events))
	for i, f := range r.Events {
		out[i] = protocol.HistoryEvent{Seq: r.Seq + int64(i), At: r.At, Kind: f.Kind, Data: f.Data}
	}
	return out
}
