package submit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// settler settles bulks: it finds out whether the batch system has a bulk in doubt and acts accordingly, and it
// releases held bulks. A bulk is unsettled while its batch id is not stored or it is still held.
type settler struct {
	sb     *Submitter
	sys    *system.System
	b      *base.Base
	s      *state.State
	name   string
	health *outage.Health

	// mu is taken after the memory lock, never before.
	mu      sync.Mutex
	retryAt map[jjm.Tag]system.Deadline // when to look at an unsettled bulk again; a bulk without an entry is due now
	odd     map[jjm.Tag]oddRefusal      // by bulk: the refusals in words that the adapter does not know
}

// oddRefusal is a refusal in words that the adapter does not know ([adapters.Unexplained]).
type oddRefusal struct {
	since time.Time // when the first such refusal in a row came
	text  string    // the words of the last such refusal
}

// settleDue settles the unsettled bulks that are due. After a restart, every unsettled bulk is due immediately. The
// bulks of one account are settled one after another, in the account's lane; while the lane is taken, they are left for
// the next call. next is the time until the next bulk is due, at most an hour. The error is set only if all jobs run as
// one account, after a failpoint or when ctx ends.
func (st *settler) settleDue(ctx context.Context) (next time.Duration, err error) {
	next = time.Hour
	due := map[jjm.Owner][]jjm.Tag{}
	for tag, account := range st.unsettled() {
		if st.sb.submits.Taken(account) {
			continue // perhaps by this bulk; the submit loop is woken when the lane is free
		}
		if left := st.retryIn(tag); left > 0 {
			next = min(next, left)
			continue
		}
		due[account] = append(due[account], tag)
	}
	for account, tags := range due {
		st.sb.submits.Do(account, func() {
			crashed := st.settleAll(ctx, tags)
			if st.sb.submits.OneAccount {
				err = crashed
			}
		}, func() { fair.Kick(st.sb.kick) })
		if !st.sb.submits.OneAccount {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, tag := range tags {
			if left := st.retryIn(tag); left > 0 {
				next = min(next, left)
			}
		}
	}
	return next, nil
}

// settleAll settles bulks of one account. If one bulk cannot be settled, settleAll logs the error and continues with
// the next bulk. It returns an error only after a failpoint or when ctx ends.
func (st *settler) settleAll(ctx context.Context, tags []jjm.Tag) error {
	for _, tag := range tags {
		err := st.settle(ctx, tag)
		if err != nil {
			st.later(tag, asideFor)
		}
		if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
			return err
		}
		if err != nil {
			st.b.Complain(slog.LevelError, "settle/"+string(tag), "a bulk could not be settled, will try again", "cluster",
				st.name, "tag", tag, "error", err)
		}
	}
	return nil
}

// retryIn returns the time until an unsettled bulk is due, 0 if it is due now.
func (st *settler) retryIn(tag jjm.Tag) time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	at, waits := st.retryAt[tag]
	if !waits {
		return 0
	}
	return at.Left(st.b.Now())
}

// unsettled returns the unsettled bulks of this cluster, each with its account.
func (st *settler) unsettled() map[jjm.Tag]jjm.Owner {
	v := st.s.View()
	defer v.Close()
	tags := map[jjm.Tag]jjm.Owner{}
	for tag, b := range v.Bulks() {
		if b.Cluster == st.name && (b.State == jjm.BulkIntent || b.State == jjm.BulkAccepted) {
			tags[tag] = st.sys.Account(b.Owner)
		}
	}
	return tags
}

// settle settles one bulk. If the batch system accepted the bulk and holds it, settle releases it. If the bulk is in
// doubt, because of an ambiguous error or a crash, plan.Reconcile decides whether jjm adopts the bulk that was found,
// submits it, refuses it, or looks again later. If an order forbids to submit the bulk now (halted), settle moves the
// bulk to other clusters, provided that all members may go there. No other function ends a doubt.
func (st *settler) settle(ctx context.Context, tag jjm.Tag) error {
	b, _, err := st.sb.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	if b.State == jjm.BulkAccepted {
		return st.sb.release(ctx, tag)
	}
	facts, err := st.bulkFacts(ctx, b)
	if err != nil {
		return err
	}
	if err := st.b.Crash("reconcile.found"); err != nil {
		return err
	}
	act := plan.Reconcile(facts)
	if err := st.cancelExtra(ctx, b, act.Cancel); err != nil {
		return err
	}
	switch act.Do {
	case plan.BulkAdopt:
		st.b.Log.Info("bulk found again", "cluster", st.name, "tag", tag, "batch", act.ID, "why", act.Why)
		return st.sb.accepted(ctx, tag, act.ID)
	case plan.BulkSubmit:
		if st.sb.here.Halted(b) {
			st.later(tag, asideFor)
			return st.sb.moveOn(ctx, b)
		}
		return st.sb.act(ctx, tag, facts.Busy)
	case plan.BulkRefuse:
		return st.sb.refused(ctx, tag, st.whyRefused(tag, act.Why))
	}
	st.later(tag, act.After)
	return nil
}

// bulkFacts collects the facts for plan.Reconcile about a bulk in doubt: the answer of a search in the batch system and
// the claims of wrappers. It does not search if no command was started for the bulk. An error means that the work area
// cannot be used.
func (st *settler) bulkFacts(ctx context.Context, b *jjm.Bulk) (plan.BulkFacts, error) {
	ar, err := st.sb.areas.Of(b.Owner)
	if err != nil {
		return plan.BulkFacts{}, err
	}
	now := jjm.At(st.b.Now())
	var tried jjm.Time
	allKilled, unsent := true, false
	st.s.Mark(func(m *state.Marks) {
		tried, unsent = m.Tried(b.Tag, b.Created, now), m.Unsent(b.Tag)
		for _, id := range b.Members {
			if l := m.Current(id); l != nil && !l.Kill {
				allKilled = false
			}
		}
	})
	facts := plan.BulkFacts{Now: now, Tried: tried, Tries: b.Tries, Settle: st.sys.Caps().Settle,
		Refused: allKilled || st.isGivenUp(b.Tag), Back: st.health.BackSince(tried), Busy: unsent}
	if !unsent {
		st.find(ctx, b, &facts)
	}
	facts.Holders = map[string]int{}
	for _, claim := range wrapperClaims(ar, b) {
		facts.WrapperClaims++
		for _, id := range facts.Found.IDs {
			if state.PartOf(claim.Batch, id) {
				facts.Holders[id]++
			}
		}
	}
	return facts, nil
}

// find searches the batch system for a bulk and sets the answer in facts. If there is no answer, or the answer names
// bulks of other accounts, find sets facts.FindErr.
func (st *settler) find(ctx context.Context, b *jjm.Bulk, facts *plan.BulkFacts) {
	cmd, cancel := st.sys.Command(ctx, st.sys.Account(b.Owner))
	defer cancel()
	found, err := st.sys.Adapter.Find(cmd, st.sys.Account(b.Owner), []jjm.Tag{b.Tag})
	if err != nil || len(found) != 1 || found[0].Tag != b.Tag {
		if err != nil {
			st.b.Complain(slog.LevelWarn, "doubt/"+string(b.Tag), "the batch system could not be searched for a doubtful bulk", "cluster", st.name,
				"tag", b.Tag, "error", err)
		}
		facts.FindErr = true
	} else {
		facts.Found = st.sys.OwnFound(b.Owner, found[0])
		facts.FindErr = facts.Found.Presence == adapters.NotYetKnown && found[0].Presence != adapters.NotYetKnown
	}
}

// wrapperClaims returns the claims that wrappers hold on members of a bulk, by position. A claim is the file by which a
// wrapper or the daemon reserves an attempt for itself. A claim that cannot be read is left out; then the search by tag
// decides.
func wrapperClaims(ar *areas.Area, b *jjm.Bulk) map[int32]jjm.Claim {
	out := map[int32]jjm.Claim{}
	for pos := range b.Members {
		claim, err := ar.ReadClaim(b.Tag, int32(pos))
		if err == nil && claim != nil && claim.Holder == jjm.HolderWrapper {
			out[int32(pos)] = *claim
		}
	}
	return out
}

// cancelExtra cancels duplicates of a bulk, by their batch ids, and logs each duplicate as an error. It does not cancel
// a job that the claim of a wrapper names, because that job already runs; the attempt will refer to this job. The error
// is of kind Busy if a cancel fails.
func (st *settler) cancelExtra(ctx context.Context, b *jjm.Bulk, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ar, err := st.sb.areas.Of(b.Owner)
	if err != nil {
		return err
	}
	claims := wrapperClaims(ar, b)
	for _, id := range ids {
		st.b.Log.Error("a bulk was submitted twice: one is cancelled", "cluster", st.name, "tag", b.Tag, "batch", id)
		var refs []adapters.Ref
		for i := range b.Members {
			if claim, held := claims[int32(i)]; !held || !state.PartOf(claim.Batch, id) {
				refs = append(refs, adapters.Ref{Tag: b.Tag, ID: id, Index: int32(i)})
			}
		}
		cmd, cancel := st.sys.Command(ctx, st.sys.Account(b.Owner))
		results, err := st.sys.Adapter.Control(cmd, st.sys.Account(b.Owner), adapters.Cancel, refs)
		cancel()
		if err == nil {
			err = errors.Join(results...)
		}
		if err != nil {
			return jjm.Errorf(jjm.Busy, "cancel duplicate %s of the bulk with tag %s: %w", id, b.Tag, err)
		}
	}
	return nil
}

// settled forgets what the settler keeps about a bulk: when it is due, and its refusals in unknown words.
func (st *settler) settled(tag jjm.Tag) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.retryAt, tag)
	delete(st.odd, tag)
}

// unexplainedFor is how long jjm submits a bulk again while the batch system refuses it in words that the adapter does
// not know. Such a refusal may be because of a temporary limit or because of a mistake.
const unexplainedFor = 24 * time.Hour

// heard notes the outcome of a submission of a bulk. If it is a refusal in words that the adapter does not know, heard
// stores the refusal. After any other outcome, it forgets earlier such refusals of the bulk.
func (st *settler) heard(tag jjm.Tag, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !adapters.IsUnexplained(err) {
		delete(st.odd, tag)
		return
	}
	since := st.b.Now()
	if before, again := st.odd[tag]; again {
		since = before.since
	}
	st.odd[tag] = oddRefusal{since, err.Error()}
}

// isGivenUp reports whether a bulk has been refused in unknown words for unexplainedFor or longer.
func (st *settler) isGivenUp(tag jjm.Tag) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	r, odd := st.odd[tag]
	return odd && st.b.Now().Sub(r.since) >= unexplainedFor
}

// whyRefused returns the reason why a bulk is refused: if the bulk is given up, the words of the batch system, else
// why.
func (st *settler) whyRefused(tag jjm.Tag, why string) string {
	if !st.isGivenUp(tag) {
		return why
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return "for " + jjm.HowLong(unexplainedFor) + ", in words that its adapter does not know: " + st.odd[tag].text
}

// settleNow makes all unsettled bulks due now. It is called when the cluster answers again.
func (st *settler) settleNow() {
	st.mu.Lock()
	defer st.mu.Unlock()
	clear(st.retryAt)
}

// later makes an unsettled bulk due after the time d, or after 100 ms if d is shorter.
func (st *settler) later(tag jjm.Tag, d time.Duration) {
	st.mu.Lock()
	st.retryAt[tag] = system.Deadline{Set: st.b.Now(), Wait: max(d, 100*time.Millisecond)}
	st.mu.Unlock()
}
