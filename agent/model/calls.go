package model

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
)

// calls assembles tool calls from their deltas. Servers number them, name them by id,
// do both, or neither; some use one number for all.
type calls struct {
	list []*openCall
	size int // of the arguments, as they came
}

type openCall struct {
	index    int
	numbered bool // by the server
	id, name string
	args     []byte
	extra    json.RawMessage
}

// add puts a delta to the call that it belongs to.
func (c *calls) add(d callDelta) {
	c.size += len(d.Function.Arguments) + len(d.Extra)
	if d.ID == "" && d.Function.Name == "" && d.Function.Arguments == "" && len(d.Extra) == 0 {
		return
	}
	call := c.find(d)
	if call == nil || call.refuses(d) {
		call = c.open(d)
	}
	call.extend(d)
}

// addWhole adds a call of a whole completion, in which no call has two entries.
func (c *calls) addWhole(d callDelta) {
	c.size += len(d.Function.Arguments) + len(d.Extra)
	c.open(d).extend(d)
}

func (call *openCall) extend(d callDelta) {
	if call.id == "" {
		call.id = string(d.ID)
	}
	if name := string(d.Function.Name); name != call.name && len(call.name) < maxName {
		call.name += name[:min(len(name), maxName)]
	}
	call.grow(string(d.Function.Arguments))
	if len(d.Extra) > 0 && string(d.Extra) != "null" {
		call.extra = d.Extra
	}
}

// find returns the open call that d seems to continue, by its number, else its id,
// else as the next piece of the last one.
func (c *calls) find(d callDelta) *openCall {
	if len(c.list) == 0 {
		return nil
	}
	last := c.list[len(c.list)-1]
	for _, call := range slices.Backward(c.list) {
		if d.Index.known && call.numbered && call.index == d.Index.value {
			return call
		}
		if !(d.Index.known && call.numbered) && d.ID != "" && call.id == string(d.ID) {
			return call
		}
	}
	another := d.ID != "" && last.id != "" && last.complete() // whose name is still to come
	if !d.Index.known && d.Function.Name == "" && !another {
		return last
	}
	return nil
}

// refuses tells that d opens a new call although its number or id is call's.
func (call *openCall) refuses(d callDelta) bool {
	name, args := string(d.Function.Name), string(d.Function.Arguments)
	switch {
	case name == "":
		return false
	case d.ID != "" && call.id != "" && call.id != string(d.ID):
		return true
	case name != call.name:
		return len(call.args) > 0 && call.name != "" // else it is the next piece of the name
	}
	return args != "" && args != string(call.args) && string(call.args) != "{}" && call.complete()
}

func (c *calls) open(d callDelta) *openCall {
	call := &openCall{index: d.Index.value, numbered: d.Index.known}
	if !call.numbered && len(c.list) > 0 {
		call.index = c.list[len(c.list)-1].index // keeps its place in the order
	}
	c.list = append(c.list, call)
	return call
}

// grow appends a piece of the arguments. Behind a complete object nothing more can
// come, so the same again is a repetition, and an object behind an empty one is what
// the empty one stood for. Whether it is complete is dear to see, and so seen last.
func (call *openCall) grow(args string) {
	object := strings.HasPrefix(args, "{")
	switch {
	case object && args == string(call.args) && call.complete():
		return
	case object && string(call.args) == "{}":
		call.args = call.args[:0]
	}
	call.args = append(call.args, args...)
}

// complete looks at the last byte first: the check of the whole is dear, and asked
// for at every piece.
func (call *openCall) complete() bool {
	return bytes.HasSuffix(call.args, []byte("}")) && json.Valid(call.args)
}

func (c *calls) sound() bool {
	return !slices.ContainsFunc(c.list, func(call *openCall) bool {
		return len(call.args) > 0 && !json.Valid(call.args)
	})
}

// whole returns the calls in the model's order, each with an id that no other has.
func (c *calls) whole() []Call {
	slices.SortStableFunc(c.list, func(a, b *openCall) int { return cmp.Compare(a.index, b.index) })
	taken := map[string]bool{}
	var whole []Call
	for _, call := range c.list {
		if call.id == "" || taken[call.id] {
			call.id = newCallID()
		}
		taken[call.id] = true
		args := string(call.args)
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		whole = append(whole, Call{ID: call.id, Name: call.name, Arguments: args, Extra: call.extra})
	}
	return whole
}

// newCallID makes nine letters and digits, the form that the strictest server takes.
func newCallID() string { return rand.Text()[:9] }
