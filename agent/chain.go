package agent

import "slices"

// chunkSize is how many values one chunk holds: large enough that a long list is few objects,
// small enough that copying a chunk for each value added costs next to nothing.
const chunkSize = 16

// A chain is a list that grows at its end in constant time and can be shared by any number of
// states: adding to one never changes another. The zero chain is empty.
type chain[T any] struct {
	last *chunk[T]
	size int
}

type chunk[T any] struct {
	before *chunk[T]
	values []T
}

func (c chain[T]) add(v T) chain[T] {
	next := &chunk[T]{before: c.last}
	if c.last != nil && len(c.last.values) < chunkSize {
		next.before = c.last.before
		next.values = make([]T, 0, chunkSize)
		next.values = append(next.values, c.last.values...)
	}
	next.values = append(next.values, v)
	return chain[T]{last: next, size: c.size + 1}
}

// latest is the value that was added last; ok is false for an empty chain.
func (c chain[T]) latest() (v T, ok bool) {
	if c.last == nil {
		return v, false
	}
	return c.last.values[len(c.last.values)-1], true
}

// newest yields the values, the last one first.
func (c chain[T]) newest(yield func(T) bool) {
	for k := c.last; k != nil; k = k.before {
		for _, v := range slices.Backward(k.values) {
			if !yield(v) {
				return
			}
		}
	}
}

// oldest yields the values, the first one first.
func (c chain[T]) oldest(yield func(T) bool) {
	var chunks []*chunk[T]
	for k := c.last; k != nil; k = k.before {
		chunks = append(chunks, k)
	}
	for _, k := range slices.Backward(chunks) {
		for _, v := range k.values {
			if !yield(v) {
				return
			}
		}
	}
}

// all is the values, the first one first.
func (c chain[T]) all() []T { return slices.AppendSeq(make([]T, 0, c.size), c.oldest) }
