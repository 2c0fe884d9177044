package fair

import (
	"sync"
	"time"

	"jjm/internal/jjm"
)

// Lanes run commands as accounts, one command at a time for each account, in a goroutine for each command. A slow
// account delays only its own commands. If all jobs run as one account, which no user can delay, the caller runs each
// command itself.
type Lanes struct {
	OneAccount bool // all jobs run as one account
	Now        func() time.Time

	mu      sync.Mutex
	busy    map[jjm.Owner]time.Time // accounts whose lane is taken, and since when
	Running sync.WaitGroup          // the goroutines of Do; the owner of the lanes waits for them at its end
}

// Do runs the function what in the account's lane, which must be free, and then calls done. With OneAccount, Do runs
// what before it returns, and does not call done.
func (l *Lanes) Do(account jjm.Owner, what, done func()) {
	if l.OneAccount {
		what()
		return
	}
	l.mu.Lock()
	if l.busy == nil {
		l.busy = map[jjm.Owner]time.Time{}
	}
	l.busy[account] = l.Now()
	l.mu.Unlock()
	l.Running.Go(func() {
		what()
		l.mu.Lock()
		delete(l.busy, account)
		l.mu.Unlock()
		done()
	})
}

// Taken reports whether something runs in the account's lane.
func (l *Lanes) Taken(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, taken := l.busy[account]
	return taken
}

// laneFair is the time for which an account keeps its share of the next submissions while its lane is taken. After that
// time the other accounts get this share.
const laneFair = 2 * time.Second

// Slow reports whether the account's lane has been taken for laneFair or longer. It also returns true if the lane was
// taken at a time in the future, because then the clock was set back.
func (l *Lanes) Slow(account jjm.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, taken := l.busy[account]
	gone := l.Now().Sub(since)
	return taken && (gone >= laneFair || gone < 0)
}

// NextSlow returns the time until the next lane counts as slow, at most an hour.
func (l *Lanes) NextSlow() time.Duration {
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
