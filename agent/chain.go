package agent

import "slices"

// A chain is a list that grows at its end in constant time and can be shared by any number of
// states: adding to one never changes another. The zero chain is empty.
type chain[T any] struct {
	last *link[T]
	size int
}

type link[T any] struct {
	before *link[T]
	value  T
}

func (c chain[T]) add(v T) chain[T] {
	return chain[T]{last: &link[T]{before: c.last, value: v}, size: c.size + 1}
}

// newest yields the values, the last one first.
func (c chain[T]) newest(yield func(T) bool) {
	for l := c.last; l != nil; l = l.before {
		if !yield(l.value) {
			return
		}
	}
}

// all is the values, the first one first.
func (c chain[T]) all() []T {
	out := make([]T, 0, c.size)
	for v := range c.newest {
		out = append(out, v)
	}
	slices.Reverse(out)
	return out
}
