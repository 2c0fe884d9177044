package jedi

import (
	"slices"
)

// Numbers is a pool of numbers 1, 2, 3, ...: seeds, or the sequence numbers of a
// list. A job takes the smallest one that is free. That of a job that failed is
// free again, for whichever job comes next; that of one that finished is never
// used again. The zero value is a new pool.
type Numbers struct {
	// Last is the largest number ever given.
	Last int64 `json:"last,omitempty"`
	// Free are the numbers given back, sorted.
	Free []int64 `json:"free,omitempty"`
}

// Take returns a number.
func (p *Numbers) Take() int64 {
	if len(p.Free) > 0 {
		n := p.Free[0]
		p.Free = slices.Clone(p.Free[1:])
		return n
	}
	p.Last++
	return p.Last
}

// GiveBack frees the number of a job that failed. Giving back twice, or what was
// never given, changes nothing.
func (p *Numbers) GiveBack(n int64) {
	i, found := slices.BinarySearch(p.Free, n)
	if found || n < 1 || n > p.Last {
		return
	}
	p.Free = slices.Insert(slices.Clone(p.Free), i, n)
}
