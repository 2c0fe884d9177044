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

// listedBy notes that a listing of an account, started at the time asked, succeeded: the account's clock advances.
func (w *Watcher) listedBy(account jjm.Owner, asked time.Time) {
	v := w.clocks[account]
	before := v.For
	v.Watched = v.Listed(asked.Sub(v.asked), w.farApart())
	v.asked, v.added = asked, v.For-before
	w.clocks[account] = v
}

// notListed stops the clock of an account whose listing failed. The clocks of other accounts
// are not affected.
func (w *Watcher) notListed(account jjm.Owner) {
	v := w.clocks[account]
	v.Watched = v.Failed()
	w.clocks[account] = v
}

// unwatched forgets, for accounts that are no longer listed, the clock, the last answer, and which unread records were
// logged.
func (w *Watcher) unwatched(listed []jjm.Owner) {
	gone := func(account jjm.Owner) bool { return !slices.Contains(listed, account) }
	maps.DeleteFunc(w.logged, func(account jjm.Owner, _ map[string]bool) bool { return gone(account) })
	maps.DeleteFunc(w.clocks, func(account jjm.Owner, _ watchClock) bool { return gone(account) })
	maps.DeleteFunc(w.asking.heard, func(account jjm.Owner, _ error) bool { return gone(account) })
}

// farApart returns the longest time that may pass between two listings of a healthy cluster. It includes the longest
// time of one call, because the interval between rounds grows with slow listings.
func (w *Watcher) farApart() time.Duration {
	every, _, _ := w.interval()
	return 2*every + w.sys.CallTime()
}
