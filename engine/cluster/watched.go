package cluster

import (
	"maps"
	"slices"
	"time"

	"jjm"
	"jjm/plan"
)

// watchClock is how long the jobs of one account have been watched in a cluster. Only
// the watch loop uses it.
type watchClock struct {
	plan.Watched
	asked time.Time     // when the last good listing was asked for
	added time.Duration // what that one added
}

// listedBy counts a good listing of an account.
func (w *watcher) listedBy(account jjm.Owner, asked time.Time) {
	v := w.clocks[account]
	before := v.For
	v.Watched = v.Listed(asked.Sub(v.asked), w.farApart())
	v.asked, v.added = asked, v.For-before
	w.clocks[account] = v
}

// notListed stops the clock of an account that got no listing. What others are told
// counts for them all the same.
func (w *watcher) notListed(account jjm.Owner) {
	v := w.clocks[account]
	v.Watched = v.Failed()
	w.clocks[account] = v
}

// unwatched stops the clocks of the accounts that are not listed any more.
func (w *watcher) unwatched(listed []jjm.Owner) {
	gone := func(account jjm.Owner) bool { return !slices.Contains(listed, account) }
	maps.DeleteFunc(w.clocks, func(account jjm.Owner, _ watchClock) bool { return gone(account) })
	maps.DeleteFunc(w.asking.heard, func(account jjm.Owner, _ error) bool { return gone(account) })
}

// farApart is the most time that lies between two listings of a cluster that is
// well: one may take as long as a call may, and the interval adapts to that.
func (w *watcher) farApart() time.Duration {
	every, _, _ := w.interval()
	return 2*every + patience*w.c.deadline()
}
