package watch

import (
	"maps"
	"slices"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// watchClock measures for how long the jobs of one account have been observed on a cluster. It stops while the listings
// of the account fail. Only the watch loop uses it.
type watchClock struct {
	plan.Watched
	asked time.Time     // when the last successful listing was started
	added time.Duration // the time that this listing added to Watched.For
}

// clocks are the clocks of the accounts that are listed on a cluster.
type clocks map[jjm.Owner]watchClock

// listed notes that a listing of an account, started at the time asked, succeeded: the account's clock advances.
// farApart is the longest time that may pass between two listings of a healthy cluster.
func (cs clocks) listed(account jjm.Owner, asked time.Time, farApart time.Duration) {
	v := cs[account]
	before := v.For
	v.Watched = v.Listed(asked.Sub(v.asked), farApart)
	v.asked, v.added = asked, v.For-before
	cs[account] = v
}

// failed stops the clock of an account whose listing failed. The clocks of other accounts
// are not affected.
func (cs clocks) failed(account jjm.Owner) {
	v := cs[account]
	v.Watched = v.Failed()
	cs[account] = v
}

// unwatched forgets, for accounts that are no longer listed, the clock, the last answer, and which unread records were
// logged.
func (w *Watcher) unwatched(listed []jjm.Owner) {
	gone := func(account jjm.Owner) bool { return !slices.Contains(listed, account) }
	maps.DeleteFunc(w.logged, func(account jjm.Owner, _ map[string]bool) bool { return gone(account) })
	maps.DeleteFunc(w.clocks, func(account jjm.Owner, _ watchClock) bool { return gone(account) })
	w.health.Unlisted.Forget(gone)
	maps.DeleteFunc(w.asking.heard, func(account jjm.Owner, _ error) bool { return gone(account) })
}

// farApart returns the longest time that may pass between two listings of a healthy cluster. It includes the longest
// time of one call, because the interval between rounds grows with slow listings.
func (w *Watcher) farApart() time.Duration {
	every, _, _ := w.interval()
	return 2*every + w.sys.CallTime()
}
