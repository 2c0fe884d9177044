package engine

import (
	"sync"
	"time"

	"jjm"
)

// lanes do what is done as an account, one thing after another for each: an account
// may hold up its own commands, and the others go on. Where all jobs run as one
// account, which nobody holds up, all is done at once by who asks for it.
type lanes struct {
	alone bool // one account
	now   func() time.Time

	mu   sync.Mutex
	busy map[jjm.Owner]time.Time // since when
	all  sync.WaitGroup
}

// do does something as an account whose lane is free, and then calls done.
func (l *lanes) do(account jjm.Owner, what, done func()) {
	if l.alone {
		what()
		return
	}
	l.mu.Lock()
	if l.busy == nil {
		l.busy = map[jjm.Owner]time.Time{}
	}
	l.busy[account] = l.now()
	l.mu.Unlock()
	l.all.Go(func() {
		what()
		l.mu.Lock()
		delete(l.busy, account)
		l.mu.Unlock()
		done()
	})
}

// taken reports whether something is being done as an account.
func (l *lanes) taken(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, taken := l.busy[account]
	return taken
}

// laneFair is how long an account keeps its share of what is to be submitted while
// its lane is taken. Then the others share it.
const laneFair = 2 * time.Second

// slow reports whether the lane of an account has been taken for long.
func (l *lanes) slow(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, taken := l.busy[account]
	gone := l.now().Sub(since)
	return taken && (gone >= laneFair || gone < 0)
}

// slows gives when the next lane will count as slow.
func (l *lanes) slows() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := time.Hour
	for _, since := range l.busy {
		if left := laneFair - l.now().Sub(since); left > 0 {
			next = min(next, left)
		}
	}
	return next
}
