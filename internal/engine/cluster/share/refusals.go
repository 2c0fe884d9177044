package share

import (
	"slices"
	"strings"
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// refusals contains, for a cluster, how many jobs each account may have there. jjm learns these limits from refused
// submissions. They are only in memory; after a restart they are learnt again.
type refusals struct {
	sys *system.System
	b   *base.Base

	// mu is taken after the memory lock, never before.
	mu     sync.Mutex
	learnt map[jjm.Owner]plan.Learnt
	// alone is, by account, a refused bulk that has only one member. Until this bulk is accepted or taken back, the
	// account gets no other bulk.
	alone map[jjm.Owner]jjm.Tag
}

// newRefusals returns the refusals of a cluster from which nothing was learnt yet.
func newRefusals(sys *system.System, b *base.Base) *refusals {
	return &refusals{sys: sys, b: b, learnt: map[jjm.Owner]plan.Learnt{}, alone: map[jjm.Owner]jjm.Tag{}}
}

// Refused stores in memory the limit l that was learnt about an account. If alone is true, it also stores the refused
// bulk of one member, for which the account's other local jobs must wait.
func (r *refusals) Refused(account jjm.Owner, tag jjm.Tag, l plan.Learnt, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learnt[account] = l.After(r.learnt[account])
	if alone {
		r.alone[account] = tag
	}
}

// accepted notes that the batch system accepted a bulk of an account. have is the number of the account's jobs now; if
// the account has reached the learnt limit, the limit grows.
func (r *refusals) accepted(account jjm.Owner, have int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.alone, account)
	if l, known := r.learnt[account]; known {
		r.learnt[account] = l.Accepted(have)
	}
}

// WaitsAlone reports whether an account has a refused bulk of one member that was neither accepted nor taken back yet.
func (r *refusals) WaitsAlone(mem state.Memory, account jjm.Owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tag, waits := r.alone[account]
	if !waits {
		return false
	}
	if b := mem.Bulk(tag); b != nil && b.State == jjm.BulkIntent {
		return true
	}
	delete(r.alone, account)
	return false
}

// Most returns the limit on an account's jobs that was learnt from refused submissions, and the words of the batch
// system. The limit is 0 if none is known.
func (r *refusals) Most(account jjm.Owner) (most int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.learnt[account].Most(jjm.At(r.b.Now()))
}

// LimitSince returns the time of the first refusal of an account since which a limit has been known, 0 if none is
// known.
func (r *refusals) LimitSince(account jjm.Owner) jjm.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.learnt[account].First(jjm.At(r.b.Now()))
}

// Limits returns the limits that were learnt from refused submissions, sorted by account. may reports whether the
// caller may see what belongs to an account. If all jobs run as one account, every caller sees its limit.
func (r *refusals) Limits(may func(uid int) bool) (all []wire.LearntLimit) {
	now := jjm.At(r.b.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	for account, l := range r.learnt {
		if r.b.Deps.Account == nil && !may(account.UID) {
			continue
		}
		if most, since, until := l.Limit(now); most > 0 {
			_, why := l.Most(now)
			all = append(all, wire.LearntLimit{Account: jjm.ActorOf(account.User, account.UID), Jobs: most,
				Since: since, Until: until, Cause: why})
		}
	}
	slices.SortFunc(all, func(a, b wire.LearntLimit) int { return strings.Compare(a.Account, b.Account) })
	return all
}

// mostQueued returns how many jobs an account may have in the batch system: the smaller of the limit that the batch
// system reports and the limit that was learnt; 0 if there is no limit.
func (r *refusals) mostQueued(account jjm.Owner) int {
	told := r.sys.Caps().MaxQueued
	learnt, _ := r.Most(account)
	if told == 0 || learnt != 0 && learnt < told {
		return learnt
	}
	return told
}
