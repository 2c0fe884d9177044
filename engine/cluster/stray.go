package cluster

import (
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/fair"
)

// strays are live batch jobs under tags of this store whose attempts are over: a
// double that was found too late, or a job that its batch system had lost and
// found again. One that stays is cancelled. Only the watch loop uses them.
type strays struct {
	seen map[strayKey]time.Time // since when
	// account and listed are of the listing at hand.
	account jjm.Owner
	listed  map[strayKey]bool
	// lately is when an account last had an open bulk.
	lately map[jjm.Owner]time.Time
}

type strayKey struct {
	account jjm.Owner
	tag     jjm.Tag
	id      string
}

// strayAge is how long a live job of an attempt that is over may take to end by
// itself: after its wrapper reported, the batch system still cleans up.
const strayAge = 10 * time.Minute

// maxStrays is how many of one account are kept in mind: a listing may name as
// many as its account likes.
const maxStrays = 10_000

// begin starts a listing.
func (s *strays) begin(account jjm.Owner) {
	s.account, s.listed = account, map[strayKey]bool{}
}

// stray notes a listing line that belongs to no current attempt.
func (c *Cluster) stray(r *jjm.Report) {
	if !r.State.Alive() || !strings.HasPrefix(string(r.Tag), "j"+c.b.Store.Nonce()) {
		return
	}
	if len(c.strays.listed) >= maxStrays {
		return
	}
	key := strayKey{c.strays.account, r.Tag, r.ID}
	c.strays.listed[key] = true
	now := c.b.Now()
	if since, known := c.strays.seen[key]; !known || now.Before(since) {
		c.strays.seen[key] = now
	}
}

// cancelStrays cancels those of the listing that stayed too long, and again
// after as long.
func (c *Cluster) cancelStrays() {
	now := c.b.Now()
	for key, since := range c.strays.seen {
		switch {
		case key.account != c.strays.account:
		case !c.strays.listed[key]:
			delete(c.strays.seen, key)
		case now.Sub(since) >= strayAge:
			c.strays.seen[key] = now
			c.b.Log.Error("a batch job of an attempt that is over goes on: cancelled", "cluster", c.name, "tag", key.tag, "batch", key.id)
			c.mu.Lock()
			if c.strangers == nil {
				c.strangers = map[jjm.Owner][]adapters.Ref{}
			}
			c.strangers[key.account] = append(c.strangers[key.account], adapters.Ref{Tag: key.tag, ID: key.id, Index: -1})
			c.mu.Unlock()
			fair.Kick(c.controlKick)
		}
	}
}

// also adds the accounts that had an open bulk not long ago, and remembers
// those that have one now.
func (s *strays) also(open []jjm.Owner, isOpen map[jjm.Owner]bool, now time.Time) []jjm.Owner {
	for key := range s.seen {
		s.lately[key.account] = now // until they are gone
	}
	for a, last := range s.lately {
		gone := now.Sub(last)
		switch {
		case isOpen[a]:
		case gone >= 0 && gone < 2*strayAge:
			open = append(open, a)
		default:
			delete(s.lately, a)
		}
	}
	for a := range isOpen {
		s.lately[a] = now
	}
	return open
}

// RecallAccounts lets the accounts of the grid jobs that were live at the last
// stop be listed for a while, though they may have no open bulk any more.
func (cs *Clusters) RecallAccounts() {
	for _, c := range cs.all {
		for _, g := range cs.s.Grids {
			c.strays.lately[c.account(g.Job.Owner)] = cs.b.Now()
		}
	}
}
