package engine

import (
	"time"

	"jjm"
	"jjm/plan"
)

// vigil is how long the jobs of one account have been watched in a cluster. Only
// the watch loop uses it.
type vigil struct {
	plan.Watched
	asked time.Time     // when the last good listing was asked for
	added time.Duration // what that one added
}

// listedWell counts a good listing of an account.
func (c *cluster) listedWell(account jjm.Owner, asked time.Time) {
	v := c.vigils[account]
	before := v.For
	v.Watched = v.Listed(asked.Sub(v.asked), c.farApart())
	v.asked, v.added = asked, v.For-before
	c.vigils[account] = v
}

// listedIll stops the clocks of all accounts: one failed listing ends the round.
func (c *cluster) listedIll() {
	for account, v := range c.vigils {
		v.Watched = v.Failed()
		c.vigils[account] = v
	}
}

// unwatched stops the clocks of the accounts that are not listed any more.
func (c *cluster) unwatched(listed []jjm.Owner) {
	if len(listed) == len(c.vigils) {
		return
	}
	still := map[jjm.Owner]vigil{}
	for _, account := range listed {
		if v, known := c.vigils[account]; known {
			still[account] = v
		}
	}
	c.vigils = still
}

// farApart is the most time that lies between two listings of a cluster that is
// well: one may take as long as a call may, and the interval adapts to that.
func (c *cluster) farApart() time.Duration {
	every, _, _ := c.interval()
	return 2*every + patience*c.deadline()
}
