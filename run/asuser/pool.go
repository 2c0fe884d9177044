package asuser

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"jjm"
)

// Pool holds the helpers of all accounts. Its methods may be called from many
// goroutines.
type Pool struct {
	limits Limits
	log    *slog.Logger
	word   string // what a helper is told to be; tests have liars

	mu     sync.Mutex
	users  map[int]*User
	old    []*life // replaced, with calls under way
	closed bool
	stop   chan struct{}
	done   sync.WaitGroup
}

// NewPool makes a pool without helpers; Close ends it.
func NewPool(limits Limits, log *slog.Logger) *Pool {
	p := &Pool{limits: limits.withDefaults(), log: log, word: word, users: map[int]*User{}, stop: make(chan struct{})}
	p.done.Go(p.tend)
	return p
}

// Close ends all helpers, and with them their commands.
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
		if u.now != nil {
			u.now.end(errEnded, false)
		}
		u.mu.Unlock()
	}
	for _, l := range old {
		l.end(errEnded, false)
	}
	p.done.Wait()
	return nil
}

// For returns the account of an owner. It starts nothing.
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

// User is one account. Its methods are those of the daemon that the account's
// helper carries out.
type User struct {
	pool  *Pool
	owner jjm.Owner
	left  atomic.Int32 // helpers that have not ended, or whose guards have not

	mu    sync.Mutex // held while a helper starts
	now   *life
	hangs int
	until time.Time // set aside
	why   error
}

// maxLeft is how many helpers with their guards an account may have at once: that
// in use, those that are being replaced, and those that no signal ends because
// they wait for a file system of the account's.
const maxLeft = 8

// short is how long an account is set aside whose helper died unasked.
const short = time.Second

// helper returns the account's helper, and starts one where there is none.
func (u *User) helper(ctx context.Context) (*life, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if l := u.now; l != nil {
		select {
		case <-l.over:
			u.now = nil
			u.judge(l, now)
		default:
			if now.Sub(l.born) < u.pool.limits.Life {
				return l, nil
			}
			u.pool.retire(l)
			u.now = nil
		}
	}
	if left := u.until.Sub(now); left > 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s is set aside for %v: %w", u.owner.User, left.Round(time.Millisecond), u.why)
	}
	if n := u.left.Load(); n >= maxLeft {
		return nil, jjm.Errorf(jjm.Busy, "%d helpers of %s wait for a file system and cannot be ended: "+
			"end the file systems (FUSE) of %s", n, u.owner.User, u.owner.User)
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
	l, err := begin(who, u.pool.limits, u.pool.word, &u.left)
	if err != nil {
		return nil, err
	}
	u.now = l
	return l, nil
}

// judge sets an account aside according to how its helper ended.
func (u *User) judge(l *life, now time.Time) {
	l.mu.Lock()
	why, hung := l.why, l.hung
	l.mu.Unlock()
	switch {
	case why == errEnded:
		u.hangs = 0
		return
	case hung:
		u.until = now.Add(u.pool.limits.Aside << min(u.hangs, 4))
		u.hangs++
	default:
		u.until = now.Add(min(short, u.pool.limits.Aside))
	}
	u.why = why
	u.pool.log.Warn("a helper ended; its account is set aside", "user", u.owner.User, "uid", u.owner.UID, "until",
		u.until.Round(time.Millisecond), "error", why)
}

// retire lets a helper finish what it does.
func (p *Pool) retire(l *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old = append(p.old, l)
}

// tend ends helpers that are not needed any more.
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

func (p *Pool) sweep(now time.Time) {
	p.mu.Lock()
	users := make([]*User, 0, len(p.users))
	for _, u := range p.users {
		users = append(users, u)
	}
	var old []*life
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
		if u.rest(now, p.limits.Idle) {
			alive++
		}
	}
	for _, u := range users { // too many: those that rest for a moment go too
		if alive > p.limits.Helpers && !u.rest(now, p.limits.Idle/16) {
			alive--
		}
	}
}

// rest ends the helper if it has been idle for so long, and reports whether
// there still is one.
func (u *User) rest(now time.Time, idle time.Duration) bool {
	if !u.mu.TryLock() {
		return true // one is being started
	}
	defer u.mu.Unlock()
	if u.now == nil {
		return false
	}
	if u.now.idle(now) > idle {
		u.now.end(errEnded, false)
		u.now = nil
		u.hangs = 0
		return false
	}
	return true
}
