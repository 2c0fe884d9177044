package gate

import (
	"sync"

	"jjm"
)

// memory is the budget of bytes that long requests and answers may hold. A quarter of
// it is for administrators alone, and no account takes more than half of the rest.
type memory struct {
	limit int64

	mu    sync.Mutex
	used  int64
	users map[int]int64 // of ordinary accounts
}

func newMemory(limit int64) *memory { return &memory{limit: limit, users: make(map[int]int64)} }

// take reserves n bytes for an account, or reports an error of kind Busy and reserves
// nothing.
func (m *memory) take(c Caller, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit := m.limit
	if !c.Admin {
		limit -= limit / 4
	}
	if m.used+n > limit {
		return jjm.Errorf(jjm.Busy, "the daemon holds %d MiB of requests and answers, its limit: try again", limit>>20)
	}
	if !c.Admin {
		if m.users[c.UID]+n > limit/2 {
			return jjm.Errorf(jjm.Busy, "the daemon holds %d MiB of requests and answers of your account, its limit: try again",
				limit>>21)
		}
		m.users[c.UID] += n
	}
	m.used += n
	return nil
}

func (m *memory) give(c Caller, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
	if c.Admin {
		return
	}
	if m.users[c.UID] -= n; m.users[c.UID] == 0 {
		delete(m.users, c.UID)
	}
}

// doors counts connections, in all and per user. Those of root, the daemon's account and
// administrators are counted apart: they have as many seats as all others together,
// whatever these do. An ordinary account holds no more than are free, so that n of them
// that take all they can leave one of n+1 parts to the next (dynamic thresholds,
// Choudhury and Hahne 1998).
type doors struct {
	all, perUser int
	trusted      func(uid int) bool

	mu       sync.Mutex
	open     int // of ordinary accounts
	reserved int
	users    map[int]int
}

// enter counts a connection in, or says why not.
func (d *doors) enter(uid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trusted(uid) {
		if d.reserved >= d.all {
			return jjm.Errorf(jjm.Busy, "the daemon serves %d connections of administrators, its limit: try again", d.all)
		}
		d.reserved++
		return nil
	}
	if d.open >= d.all {
		return jjm.Errorf(jjm.Busy, "the daemon serves %d connections, its limit: try again", d.all)
	}
	if limit := min(d.perUser, d.all-d.open); d.users[uid] >= limit {
		return jjm.Errorf(jjm.Busy, "the daemon serves %d connections of your account, its limit now: try again",
			d.users[uid])
	}
	d.open++
	d.users[uid]++
	return nil
}

func (d *doors) leave(uid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trusted(uid) {
		d.reserved--
		return
	}
	d.open--
	if d.users[uid]--; d.users[uid] == 0 {
		delete(d.users, uid)
	}
}
