package cluster

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"jjm/adapters"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// refusals contains, for a cluster, how many jobs each account may have there. jjm learns these limits from refused
// submissions. They are only in memory; after a restart they are learnt again.
type refusals struct {
	c *Cluster

	// mu is taken after the memory lock, never before.
	mu     sync.Mutex
	learnt map[jjm.Owner]plan.Learnt
	// alone is, by account, a refused bulk that has only one member. Until this bulk is accepted or taken back, the
	// account gets no other bulk.
	alone map[jjm.Owner]jjm.Tag
}

// newRefusals returns the refusals of a cluster from which nothing was learnt yet.
func newRefusals(c *Cluster) *refusals {
	return &refusals{c: c, learnt: map[jjm.Owner]plan.Learnt{}, alone: map[jjm.Owner]jjm.Tag{}}
}

// tooMany handles the answer to a submission that there are too many jobs. If no command was started and the bulk has
// several members, the bulk is larger than the cluster accepts in one submission now: it is broken up into smaller
// bulks, and nothing is learnt about the account. In all other cases, the account has too many jobs, and jjm learns the
// account's limit. A bulk of several members is then broken up. A bulk of one member waits, and until it is accepted or
// taken back, the account gets no other bulk.
func (sb *submitter) tooMany(ctx context.Context, tag jjm.Tag, cause error) error {
	b, have := sb.refusedBulk(tag)
	if b == nil {
		return nil
	}
	account, n := sb.c.Account(b.Owner), len(b.Members)
	if n > 1 && adapters.IsNotStarted(cause) {
		sb.b.Log.Info("bulk is too large for the cluster now, goes in smaller ones", "cluster", sb.name, "tag", tag,
			"error", cause)
		return sb.breakUp(ctx, tag, cause)
	}
	sb.c.refusals.refused(account, tag, plan.Refused(have, n, cause.Error(), jjm.At(sb.b.Now())), n == 1)
	sb.b.Complain(slog.LevelWarn, "too-many/"+sb.name+"/"+account.User, "batch system takes no more jobs of an account",
		"cluster", sb.name, "account", account.User, "refused", n, "others", have, "error", cause)
	if n == 1 {
		sb.c.settler.later(tag, asideFor) // after this wait, plan.Reconcile decides
		return sb.tried(ctx, tag, cause)
	}
	return sb.breakUp(ctx, tag, cause)
}

// refusedBulk returns a copy of an open bulk, and how many other jobs the account of its owner has on this cluster. The
// copy is nil if the bulk is closed.
func (sb *submitter) refusedBulk(tag jjm.Tag) (b *jjm.Bulk, have int) {
	v := sb.s.View()
	defer v.Close()
	live := v.Bulk(tag)
	if live == nil {
		return nil, 0
	}
	bulk := live.Bulk
	return &bulk, max(0, jobsOf(sb.c, v.Memory, bulk.Owner)-live.Open)
}

// jobsOf returns how many jobs the account of an owner has in the batch system, including jobs that are being
// submitted.
func jobsOf(c *Cluster, mem state.Memory, o jjm.Owner) int {
	loads, at := c.cs.loads(mem), c.s.Positions[c.Name]
	l := loads.all[at]
	if c.b.Deps.Account == nil {
		l = plan.Load{}
		if of := loads.owners[o]; of != nil {
			l = of[at]
		}
	}
	return l.Pending + l.Running
}

// breakUp takes back a bulk and makes its members ready again, so that they form smaller bulks. cause is the answer of
// the batch system.
func (sb *submitter) breakUp(ctx context.Context, tag jjm.Tag, cause error) error {
	err := sb.s.Change(ctx, "break-up", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		sb.takeBack(ch, b, "too many for "+sb.name+", goes in a smaller bulk: "+cause.Error(), triesAgain)
		b.Error = cause.Error()
		return nil
	})
	sb.wakeSubmit()
	return err
}

// refused stores in memory the limit l that was learnt about an account. If alone is true, it also stores the refused
// bulk of one member, for which the account's other local jobs must wait.
func (r *refusals) refused(account jjm.Owner, tag jjm.Tag, l plan.Learnt, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learnt[account] = l
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

// waitsAlone reports whether an account has a refused bulk of one member that was neither accepted nor taken back yet.
func (r *refusals) waitsAlone(mem state.Memory, account jjm.Owner) bool {
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

// most returns the limit on an account's jobs that was learnt from refused submissions, and the words of the batch
// system. The limit is 0 if none is known.
func (r *refusals) most(account jjm.Owner) (most int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.learnt[account].Most(jjm.At(r.c.b.Now()))
}

// limits returns the limits that were learnt from refused submissions, sorted by account. may reports whether the
// caller may see what belongs to an account. If all jobs run as one account, every caller sees its limit.
func (r *refusals) limits(may func(uid int) bool) (all []wire.LearntLimit) {
	now := jjm.At(r.c.b.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	for account, l := range r.learnt {
		if r.c.b.Deps.Account == nil && !may(account.UID) {
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
	told := r.c.Caps().MaxQueued
	learnt, _ := r.most(account)
	if told == 0 || learnt != 0 && learnt < told {
		return learnt
	}
	return told
}
