package asuser

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"jjm/internal/jjm"
)

// Pool holds the helpers of all accounts. Its methods may be called concurrently.
type Pool struct {
	limits Limits
	log    *slog.Logger
	word   string // the argument that makes this program a helper; tests have their own

	mu     sync.Mutex
	users  map[int]*User
	old    []*process // replaced helpers with unfinished calls
	closed bool
	stop   chan struct{}
	done   sync.WaitGroup
}

// NewPool returns a pool that has no helpers yet. The caller must close the pool.
func NewPool(limits Limits, log *slog.Logger) *Pool {
	p := &Pool{limits: limits.withDefaults(), log: log, word: word, users: map[int]*User{}, stop: make(chan struct{})}
	p.done.Go(p.tend)
	return p
}

// Close ends all helpers and their commands.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.stop)
	users := p.users
	old := p.old
	p.mu.Unlock()
	for _, u := range users {
		u.mu.Lock()
		if u.current != nil {
			u.current.end(errEnded, false)
		}
		u.mu.Unlock()
	}
	for _, l := range old {
		l.end(errEnded, false)
	}
	p.done.Wait()
	return nil
}

// For returns the User for the account of an owner, identified by its UID. It starts no process.
func (p *Pool) For(o jjm.Owner) *User {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.users[o.UID]
	if u == nil {
		u = &User{pool: p, owner: o}
		p.users[o.UID] = u
	}
	return u
}

// User is one account. Its methods are carried out by the helper of the account, which is started when it is needed.
type User struct {
	pool    *Pool
	owner   jjm.Owner
	unended atomic.Int32 // helpers that have not ended, or whose guards have not ended

	mu         sync.Mutex // held while a helper starts
	current    *process
	hangs      int
	asideUntil time.Time // end of the time for which the account is set aside
	why        error
}

// maxUnended is the largest number of helpers (each with its guard) that an account may have at the same time: the
// helper in use, helpers being replaced, and helpers that no signal ends because they wait for a file system of the
// account.
const maxUnended = 8

// shortAside is the time for which an account is set aside after its helper died without a request of the daemon.
const shortAside = time.Second

// helper returns the account's helper. If there is none, it starts a helper. The error is of kind Busy while the
// account is set aside or has maxUnended helpers.
func (u *User) helper(ctx context.Context) (*process, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if l := u.current; l != nil {
		select {
		case <-l.over:
			u.current = nil
			u.judge(l, now)
		default:
			if now.Sub(l.born) < u.pool.limits.Life {
				return l, nil
			}
			u.pool.retire(l)
			u.current = nil
		}
	}
	if left := u.asideUntil.Sub(now); left > 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s is set aside for %s: %w", u.owner.User, jjm.HowLong(left), u.why)
	}
	if n := u.unended.Load(); n >= maxUnended {
		return nil, jjm.Errorf(jjm.Busy, "%s of %s cannot be ended, waiting for a file system: "+
			"end the file systems (FUSE) of %s", jjm.Count(n, "helper"), u.owner.User, u.owner.User)
	}
	who, err := lookup(ctx, u.owner)
	if err != nil {
		return nil, err
	}
	u.pool.mu.Lock()
	closed := u.pool.closed
	u.pool.mu.Unlock()
	if closed {
		return nil, jjm.Errorf(jjm.Busy, "the daemon is stopping")
	}
	l, err := startHelper(who, u.pool.limits, u.pool.word, &u.unended)
	if err != nil {
		return nil, err
	}
	u.current = l
	return l, nil
}

// judge sets the account aside if its last helper hung, or died without a request of the daemon.
func (u *User) judge(l *process, now time.Time) {
	l.mu.Lock()
	why, hung := l.why, l.hung
	l.mu.Unlock()
	switch {
	case why == errEnded:
		u.hangs = 0
		return
	case hung:
		u.asideUntil = now.Add(u.pool.limits.Aside << min(u.hangs, 4))
		u.hangs++
	default:
		u.asideUntil = now.Add(min(shortAside, u.pool.limits.Aside))
	}
	u.why = why
	u.pool.log.Warn("a helper ended; its account is set aside", "user", u.owner.User, "uid", u.owner.UID, "until",
		u.asideUntil.Round(time.Millisecond), "error", why)
}

// retire puts a helper on the list of replaced helpers. The helper finishes its calls; then sweep ends it.
func (p *Pool) retire(l *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old = append(p.old, l)
}

// tend ends unneeded helpers until the pool closes.
func (p *Pool) tend() {
	t := time.NewTicker(min(p.limits.Idle, p.limits.Life) / 4)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-t.C:
			p.sweep(now)
		}
	}
}

// sweep ends helpers that are no longer needed: replaced helpers that have finished their calls, or that are older than
// twice Limits.Life and an hour; and helpers that have been idle too long.
func (p *Pool) sweep(now time.Time) {
	p.mu.Lock()
	users := make([]*User, 0, len(p.users))
	for _, u := range p.users {
		users = append(users, u)
	}
	var old []*process
	for _, l := range p.old {
		if l.idle(now) > 0 || l.idle(now) == 0 && now.Sub(l.born) > 2*p.limits.Life+time.Hour {
			l.end(errEnded, false)
		} else {
			old = append(old, l)
		}
	}
	p.old = old
	p.mu.Unlock()
	alive := 0
	for _, u := range users {
		if u.endIdle(now, p.limits.Idle) {
			alive++
		}
	}
	for _, u := range users { // too many helpers: end a helper after a short idle time
		if alive > p.limits.Helpers && !u.endIdle(now, p.limits.Idle/16) {
			alive--
		}
	}
}

// endIdle ends the helper if it has been idle longer than idle. It reports whether the account
// still has a helper.
func (u *User) endIdle(now time.Time, idle time.Duration) bool {
	if !u.mu.TryLock() {
		return true // held while a helper starts
	}
	defer u.mu.Unlock()
	if u.current == nil {
		return false
	}
	if u.current.idle(now) > idle {
		u.current.end(errEnded, false)
		u.current = nil
		u.hangs = 0
		return false
	}
	return true
}
