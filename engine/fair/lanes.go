package fair

import (
	"sync"
	"time"

	"jjm"
)

// Lanes do what is done as an account, one thing after another for each: an account
// may hold up its own commands, and the others go on. Where all jobs run as one
// account, which nobody holds up, all is done at once by who asks for it.
type Lanes struct {
	Alone bool // one account
	Now   func() time.Time

	mu   sync.Mutex
	busy map[jjm.Owner]time.Time // since when
	All  sync.WaitGroup
}

// Do does something as an account whose lane is free, and then calls done.
func (l *Lanes) Do(account jjm.Owner, what, done func()) {
	if l.Alone {
		what()
		return
	}
	l.mu.Lock()
	if l.busy == nil {
		l.busy = map[jjm.Owner]time.Time{}
	}
	l.busy[account] = l.Now()
	l.mu.Unlock()
	l.All.Go(func() {
		what()
		l.mu.Lock()
		delete(l.busy, account)
		l.mu.Unlock()
		done()
	})
}

// Taken reports whether something is being done as an account.
func (l *Lanes) Taken(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, taken := l.busy[account]
	return taken
}

// laneFair is how long an account keeps its share of what is to be submitted while
// its lane is taken. Then the others share it.
const laneFair = 2 * time.Second

// Slow reports whether the lane of an account has been taken for long.
func (l *Lanes) Slow(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, taken := l.busy[account]
	gone := l.Now().Sub(since)
	return taken && (gone >= laneFair || gone < 0)
}

// Slows returns when the next lane will count as slow.
func (l *Lanes) Slows() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := time.Hour
	for _, since := range l.busy {
		if left := laneFair - l.Now().Sub(since); left > 0 {
			next = min(next, left)
		}
	}
	return next
}
