package cluster

import (
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// strays are live batch jobs under tags of this store whose attempts have ended: a duplicate
// that was found too late, or a job that the batch system had lost and found again. A stray that
// stays is cancelled. Only the watch loop touches the fields.
type strays struct {
	seen map[strayKey]time.Time // when each stray was first listed, or last cancelled
	// account is the account of the listing that is being applied. listed are the strays in the listing.
	account jjm.Owner
	listed  map[strayKey]bool
	// lately holds, by account, when the account last had an open bulk or a stray. For some time after that, the
	// account is still listed.
	lately map[jjm.Owner]time.Time
}

type strayKey struct {
	account jjm.Owner
	tag     jjm.Tag
	id      string
}

// strayAge is how long a live batch job of an ended attempt may stay before it is cancelled, because the batch system
// cleans up after the wrapper has reported its end.
const strayAge = 10 * time.Minute

// maxStrays limits the strays remembered of one account, because a listing may contain any number.
const maxStrays = 10_000

// begin starts the application of a listing of an account.
func (s *strays) begin(account jjm.Owner) {
	s.account, s.listed = account, map[strayKey]bool{}
}

// stray notes a report that belongs to no current attempt, if its batch job is alive and its tag is from this store. It
// notes at most maxStrays reports of a listing.
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

// cancelStrays cancels strays of the listing that have stayed for strayAge, again every
// strayAge, and forgets the strays of the account that are gone.
func (w *watcher) cancelStrays() {
	now := w.b.Now()
	for key, since := range w.strays.seen {
		switch {
		case key.account != w.strays.account:
		case !w.strays.listed[key]:
			delete(w.strays.seen, key)
		case now.Sub(since) >= strayAge:
			w.strays.seen[key] = now
			w.b.Log.Error("a batch job of an ended attempt still runs: it is cancelled", "cluster", w.name, "tag", key.tag,
				"batch", key.id)
			w.c.controller.addDuplicate(key.account, adapters.Ref{Tag: key.tag, ID: key.id, Index: -1})
		}
	}
}

// also adds to open the accounts that had an open bulk or a stray lately, and remembers the accounts that have one now.
func (s *strays) also(open []jjm.Owner, isOpen map[jjm.Owner]bool, now time.Time) []jjm.Owner {
	for key := range s.seen {
		s.lately[key.account] = now
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

// RecallAccounts makes the watch loops list, for some time after a restart, the accounts of all live grid jobs, even
// accounts without an open bulk. Strays of these accounts may still run.
func (cs *Clusters) RecallAccounts() {
	v := cs.s.View()
	defer v.Close()
	for _, c := range cs.all {
		for _, g := range v.Grids() {
			c.watcher.recall(c.account(g.Job.Owner))
		}
	}
}
