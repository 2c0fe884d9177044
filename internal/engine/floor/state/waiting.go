package state

import (
	"container/heap"

	"jjm/internal/jjm"
)

// NextDue returns the earliest time at which a local job that waits for its next attempt may be submitted, 0 if none
// waits.
func (g *Grid) NextDue() jjm.Time {
	if len(g.waiting) == 0 {
		return 0
	}
	return g.waiting[0].at
}

// due moves the waiting local jobs whose time has come from waiting to the queues of ready local jobs.
func (g *Grid) due(now jjm.Time) {
	for len(g.waiting) > 0 && g.waiting[0].at <= now {
		w := heap.Pop(&g.waiting).(waiting)
		g.makeReady(w.n)
	}
}

// waiting is an entry for the local job with the number n, which may be submitted from the time at on.
type waiting struct {
	at jjm.Time
	n  int32
}

// waitHeap is a heap of the waiting local jobs of a grid job: the earliest time comes first.
type waitHeap []waiting

func (h waitHeap) Len() int { return len(h) }

func (h waitHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h waitHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *waitHeap) Push(x any) { *h = append(*h, x.(waiting)) }

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
