package watch

import (
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
)

// strays are batch jobs that are alive although their attempts have ended. Their tags show that this daemon's store
// made them. A stray is a duplicate that was found too late, or a job that the batch system had lost and found again. A
// stray that does not end by itself is cancelled. Only the watch loop uses the fields.
type strays struct {
	sys     *system.System
	b       *base.Base
	control Control
	seen    map[strayKey]time.Time // when each stray was first listed, or last cancelled
	// account is the account whose listing is being applied. listed are the strays that this listing shows.
	account jjm.Owner
	listed  map[strayKey]bool
	// lately is, by account, when the account last had an open bulk or a stray. For twice strayAge after that, the account
	// is still listed.
	lately map[jjm.Owner]time.Time
}

// strayKey identifies a stray: the account whose listing shows it, its tag and its batch id.
type strayKey struct {
	account jjm.Owner
	tag     jjm.Tag
	id      string
}

// strayAge is how long a live batch job of an ended attempt may stay before it is cancelled. Some time is needed,
// because the batch system cleans up after the wrapper has reported its end.
const strayAge = 10 * time.Minute

// maxStrays is the greatest number of strays that jjm notes in one listing of an account. A listing may contain any
// number of jobs.
const maxStrays = 10_000

// begin prepares for applying a listing of an account.
func (s *strays) begin(account jjm.Owner) {
	s.account, s.listed = account, map[strayKey]bool{}
}

// note notes a report that belongs to no current attempt as a stray, if its batch job is alive and its tag is from
// this store.
func (s *strays) note(r *jjm.Report) {
	if !r.State.Alive() || !strings.HasPrefix(string(r.Tag), "j"+s.b.Store.Nonce()) {
		return
	}
	if len(s.listed) >= maxStrays {
		return
	}
	key := strayKey{s.account, r.Tag, r.ID}
	s.listed[key] = true
	now := s.b.Now()
	if since, known := s.seen[key]; !known || now.Before(since) {
		s.seen[key] = now
	}
}

// cancel cancels the strays of the listing that have been listed for strayAge; if they stay, it cancels them
// again after each further strayAge. It forgets the strays of the account that the listing no longer shows.
func (s *strays) cancel() {
	now := s.b.Now()
	for key, since := range s.seen {
		switch {
		case key.account != s.account:
		case !s.listed[key]:
			delete(s.seen, key)
		case now.Sub(since) >= strayAge:
			s.seen[key] = now
			s.b.Log.Error("a batch job of an ended attempt still runs: it is cancelled", "cluster", s.sys.Name, "tag", key.tag,
				"batch", key.id)
			s.control.AddDuplicate(key.account, adapters.Ref{Tag: key.tag, ID: key.id, Index: -1})
		}
	}
}

// also returns the accounts open, which have an open bulk, and in addition the accounts that had an open bulk or a
// stray lately. It also notes which accounts have one now. isOpen contains the same accounts as open.
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
