package outage

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Unlisted contains the accounts whose listings fail on a cluster, for people. A cluster can answer a probe, or other
// accounts, while it lists no jobs of an account. The zero value is ready; all methods may be called from many
// goroutines.
type Unlisted struct {
	mu       sync.Mutex
	accounts map[jjm.Owner]listing
}

// listing says how the listings of an account ended: when the last one succeeded, and since when and why they fail.
type listing struct {
	good, since jjm.Time
	cause       string
}

// Note notes how a listing of an account ended that was started at the time at.
func (u *Unlisted) Note(account jjm.Owner, err error, at jjm.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.accounts == nil {
		u.accounts = map[jjm.Owner]listing{}
	}
	l := u.accounts[account]
	if err == nil {
		l = listing{good: at}
	} else {
		l.since, l.cause = cmp.Or(l.since, at), err.Error()
	}
	u.accounts[account] = l
}

// Forget forgets the accounts for which gone returns true.
func (u *Unlisted) Forget(gone func(jjm.Owner) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.accounts, func(account jjm.Owner, _ listing) bool { return gone(account) })
}

// All returns the accounts whose listings fail, sorted by name. may selects the accounts.
func (u *Unlisted) All(may func(uid int) bool) (all []wire.Unlisted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for account, l := range u.accounts {
		if l.since != 0 && may(account.UID) {
			all = append(all, wire.Unlisted{Account: jjm.ActorOf(account.User, account.UID), Last: l.good, Since: l.since,
				Cause: l.cause})
		}
	}
	slices.SortFunc(all, func(a, b wire.Unlisted) int { return cmp.Compare(a.Account, b.Account) })
	return all
}
