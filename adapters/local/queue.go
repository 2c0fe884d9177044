package local

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// queue holds the waiting bulks of one account, and the account's standing (see whoseTurn).
type queue struct {
	waiting []*bulk // bulks by id; some may no longer have queued jobs
	standing
}

// standing holds the numbers by which accounts are compared for the next start.
type standing struct {
	cores  int   // number of cores in use
	served int64 // number of starts in all accounts, up to and including the last start of this account; 0 for none
	passed int   // number of starts of other accounts that passed this account while it was next and its job did not fit
}

// turn is one account in the choice of the next start. It has a job that may start.
type turn struct {
	standing
	need int   // number of cores for its next job
	id   int64 // id of that job's bulk
}

// before reports whether an account is served before another.
func (t turn) before(other turn) bool {
	switch {
	case t.cores != other.cores:
		return t.cores < other.cores
	case t.served != other.served:
		return t.served < other.served
	}
	return t.id < other.id
}

// whoseTurn chooses the account whose job starts next. It returns the index of that account, or -1 if no job starts,
// and the indices of the accounts that the job passes, because their turn came before and their jobs did not fit. free
// is the number of free cores.
//
// The account with the fewest cores in use is next. If several accounts have the fewest, the account that was served
// longest ago is next. A thousand waiting jobs of one account therefore delay other accounts only until a core is free.
// If the next job of that account needs more cores than are free, fitting jobs of other accounts start meanwhile, as
// many as there are slots; after that, free cores are reserved for the next job. Therefore cores do not idle for long
// because of one wide job, and small jobs cannot prevent a wide job from starting forever.
func whoseTurn(turns []turn, free, slots int) (next int, passed []int) {
	order := make([]int, len(turns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int {
		if turns[i].before(turns[k]) {
			return -1
		}
		return 1
	})
	for _, i := range order {
		switch t := turns[i]; {
		case t.need <= free:
			return i, passed
		case t.passed >= slots || free == 0:
			return -1, nil
		}
		passed = append(passed, i)
	}
	return -1, nil
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

// take assigns cores to a job of a bulk; a negative number frees the cores of an ended job. The caller holds a.mu, or
// is New.
func (a *Adapter) take(b *bulk, cores int) {
	a.free -= cores
	a.queueOf(b).cores += cores
}

// enqueue inserts a bulk with queued jobs into the queue of its account, ordered by id. The caller holds a.mu, or is
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

// first returns the bulk of the account whose job starts next, nil if the account has none.
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

// nextBulk returns the bulk whose job starts next, or nil if no job starts now. It also returns the queues of the
// accounts that this job passes (see whoseTurn). The caller holds a.mu.
func (a *Adapter) nextBulk(now time.Time) (next *bulk, passed []*queue) {
	var turns []turn
	var queues []*queue
	for uid, q := range a.queues {
		if b := q.first(); b != nil && !now.Before(a.pausedUntil[uid]) {
			turns, queues = append(turns, turn{q.standing, b.need, b.ID}), append(queues, q)
		}
	}
	i, over := whoseTurn(turns, a.free, a.config.Slots)
	if i < 0 {
		return nil, nil
	}
	for _, k := range over {
		passed = append(passed, queues[k])
	}
	return queues[i].first(), passed
}

// served records that a job of a bulk starts before the jobs of the passed accounts. The caller holds a.mu.
func (a *Adapter) served(b *bulk, passed []*queue) {
	a.take(b, b.need)
	a.started++
	q := a.queueOf(b)
	q.served, q.passed = a.started, 0
	for _, other := range passed {
		other.passed++
	}
}

// waitReason returns the reason why a job of a bulk waits. The caller holds a.mu.
func (a *Adapter) waitReason(b *bulk) string {
	accounts := 0
	for _, q := range a.queues {
		if q.first() != nil {
			accounts++
		}
	}
	return waitText(b.need, a.config.Slots, a.free, a.queueOf(b).cores, accounts)
}

// waitText returns the reason why a job that needs some cores waits. The text says how many of the slots are in use,
// how many of these the job's own account uses, and how many accounts have waiting jobs.
func waitText(need, slots, free, own, accounts int) string {
	text := fmt.Sprintf("free cores: %d of %d taken, %d by this account", slots-free, slots, own)
	if need > 1 {
		text = fmt.Sprintf("%d %s", need, text)
	}
	if accounts > 1 {
		text += fmt.Sprintf("; %d accounts take turns", accounts)
	}
	return text
}
