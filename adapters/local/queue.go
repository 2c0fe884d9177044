package local

import (
	"sort"
	"time"
)

// queue is what the adapter knows of one account: its waiting bulks, and what decides when it is next. The account with
// the fewest cores in use is; of several the one that was served longest ago. So a thousand waiting jobs of one account
// hold up nobody else's for longer than it takes until a core is free.
type queue struct {
	waiting []*bulk // with queued jobs, by id; some may have none any more
	cores   int     // in use
	served  int64   // how many jobs of all accounts had been started when its last one was, 0 for none
}

// queueOf returns the queue of a bulk's account. The caller holds a.mu, or is New.
func (a *Adapter) queueOf(b *bulk) *queue {
	q := a.queues[b.Owner.UID]
	if q == nil {
		q = &queue{}
		a.queues[b.Owner.UID] = q
	}
	return q
}

// take takes the cores of a job of a bulk, and takes back those of one that is over. The caller holds a.mu, or is New.
func (a *Adapter) take(b *bulk, cores int) {
	a.free -= cores
	a.queueOf(b).cores += cores
}

// enqueue inserts a bulk with queued jobs into the queue of its account, in order of ids. The caller holds a.mu, or is
// New.
func (a *Adapter) enqueue(b *bulk) {
	if b.inWaiting || b.queued == 0 {
		return
	}
	b.inWaiting = true
	q := a.queueOf(b)
	i := sort.Search(len(q.waiting), func(i int) bool { return q.waiting[i].ID > b.ID })
	q.waiting = append(q.waiting, nil)
	copy(q.waiting[i+1:], q.waiting[i:])
	q.waiting[i] = b
}

// first returns the bulk of the account whose job starts next, nil if it has none.
func (q *queue) first() *bulk {
	for len(q.waiting) > 0 && q.waiting[0].queued == 0 {
		q.waiting[0].inWaiting = false
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
	}
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// before reports whether a bulk of an account starts before one of another account.
func (q *queue) before(b *bulk, other *queue, of *bulk) bool {
	switch {
	case q.cores != other.cores:
		return q.cores < other.cores
	case q.served != other.served:
		return q.served < other.served
	}
	return b.ID < of.ID
}

// nextBulk returns the bulk whose job starts next, or nil. The caller holds a.mu.
func (a *Adapter) nextBulk(now time.Time) (next *bulk) {
	var best *queue
	for uid, q := range a.queues {
		b := q.first()
		switch {
		case b == nil || now.Before(a.pausedUntil[uid]):
		case next == nil || q.before(b, best, next):
			best, next = q, b
		}
	}
	return next
}
