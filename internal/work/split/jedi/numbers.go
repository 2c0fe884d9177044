package jedi

import (
	"slices"
)

// Numbers is a pool of the numbers 1, 2, 3, and so on, for seeds and sequence numbers. A job takes the smallest free
// number. The number of a failed job becomes free again; the number of a completed job is never used again. The zero
// value is a new pool.
type Numbers struct {
	// Last is the largest number taken so far.
	Last int64 `json:"last,omitempty"`
	// Free are the numbers that were returned, sorted.
	Free []int64 `json:"free,omitempty"`
}

// Take returns the smallest free number.
func (p *Numbers) Take() int64 {
	if len(p.Free) > 0 {
		n := p.Free[0]
		p.Free = slices.Clone(p.Free[1:])
		return n
	}
	p.Last++
	return p.Last
}

// TakeBack takes a returned number again. It returns false if the number is no longer free.
func (p *Numbers) TakeBack(n int64) bool {
	i, free := slices.BinarySearch(p.Free, n)
	if free {
		p.Free = slices.Delete(slices.Clone(p.Free), i, i+1)
	}
	return free
}

// GiveBack frees the number of a failed job. It ignores a number that is already free or was never taken.
func (p *Numbers) GiveBack(n int64) {
	i, found := slices.BinarySearch(p.Free, n)
	if found || n < 1 || n > p.Last {
		return
	}
	p.Free = slices.Insert(slices.Clone(p.Free), i, n)
}
