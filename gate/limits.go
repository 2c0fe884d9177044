package gate

import (
	"sync"
	"sync/atomic"

	"jjm"
)

// memory is the budget of bytes that long requests and answers may hold.
type memory struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes, or reports an error of kind Busy and reserves nothing.
func (m *memory) take(n int64) error {
	if used := m.used.Add(n); used > m.limit {
		m.used.Add(-n)
		return jjm.Errorf(jjm.Busy, "the daemon holds %d MiB of requests and answers, its limit: try again", m.limit>>20)
	}
	return nil
}

func (m *memory) give(n int64) { m.used.Add(-n) }

// doors counts connections, in all and per user.
type doors struct {
	all, perUser int
	trusted      func(uid int) bool

	mu    sync.Mutex
	open  int
	users map[int]int
}

// enter counts a connection in, or says why not.
func (d *doors) enter(uid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= d.all {
		return jjm.Errorf(jjm.Busy, "the daemon serves %d connections, its limit: try again", d.all)
	}
	if d.users[uid] >= d.perUser && !d.trusted(uid) {
		return jjm.Errorf(jjm.Busy, "the daemon serves %d connections of your account, its limit: try again", d.perUser)
	}
	d.open++
	d.users[uid]++
	return nil
}

func (d *doors) leave(uid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if d.users[uid]--; d.users[uid] == 0 {
		delete(d.users, uid)
	}
}
