package server

import (
	"sync"

	"jjm/internal/jjm"
)

// memory counts the bytes that long requests and answers use, and limits them. A quarter of the limit is reserved for
// administrators. Any other account may use at most half of the rest.
type memory struct {
	limit int64

	mu    sync.Mutex
	used  int64
	users map[int]int64 // bytes of each ordinary account
}

func newMemory(limit int64) *memory { return &memory{limit: limit, users: make(map[int]int64)} }

// reserve takes n bytes for a caller, until release. If fewer bytes are free, it takes nothing and returns an error of
// kind Busy.
func (m *memory) reserve(c Caller, n int64) error {
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

func (m *memory) release(c Caller, n int64) {
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

// connections counts and limits the open connections: those of all ordinary accounts together, and those of each of
// them. Root, the administrators, and the daemon's account if it is an administrator, are counted separately, with the
// same limit for all of them together, so that other accounts cannot lock them out. One ordinary account may have at
// most as many connections as are still free. Therefore, even if n accounts open as many connections as they can,
// 1/(n+1) of the limit is left for the next account (dynamic thresholds, Choudhury and Hahne 1998).
type connections struct {
	all, perUser int
	trusted      func(uid int) bool

	mu       sync.Mutex
	open     int         // connections of ordinary accounts
	reserved int         // connections of trusted accounts
	users    map[int]int // connections of each ordinary account
}

// add counts a new connection of an account. If the account may have no further connection now, add returns an error of
// kind Busy.
func (d *connections) add(uid int) error {
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

func (d *connections) remove(uid int) {
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
