package cluster

import (
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
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
func (w *watcher) stray(r *jjm.Report) {
	if !r.State.Alive() || !strings.HasPrefix(string(r.Tag), "j"+w.b.Store.Nonce()) {
		return
	}
	if len(w.strays.listed) >= maxStrays {
		return
	}
	key := strayKey{w.strays.account, r.Tag, r.ID}
	w.strays.listed[key] = true
	now := w.b.Now()
	if since, known := w.strays.seen[key]; !known || now.Before(since) {
		w.strays.seen[key] = now
	}
}

// cancelStrays cancels those of the listing that stayed too long, and again
// after as long.
func (w *watcher) cancelStrays() {
	now := w.b.Now()
	for key, since := range w.strays.seen {
		switch {
		case key.account != w.strays.account:
		case !w.strays.listed[key]:
			delete(w.strays.seen, key)
		case now.Sub(since) >= strayAge:
			w.strays.seen[key] = now
			w.b.Log.Error("a batch job of an attempt that is over goes on: cancelled", "cluster", w.name, "tag", key.tag,
				"batch", key.id)
			w.c.controller.addDuplicate(key.account, adapters.Ref{Tag: key.tag, ID: key.id, Index: -1})
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
	v := cs.s.View()
	defer v.Close()
	for _, c := range cs.all {
		for _, g := range v.Grids() {
			c.watcher.recall(c.account(g.Job.Owner))
		}
	}
}
