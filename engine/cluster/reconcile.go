package cluster

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/plan"
)

// settleDue looks at every bulk that is not settled and whose time has come:
// after a crash that is every bulk without ids, at once. What of an account is due
// is settled one after another.
func (c *Cluster) settleDue(ctx context.Context) (next time.Duration, err error) {
	next = time.Hour
	due := map[jjm.Owner][]jjm.Tag{}
	for tag, account := range c.unsettled() {
		if c.submits.Taken(account) {
			continue // maybe with this very bulk; after that it is looked at again
		}
		if left := c.retryIn(tag); left > 0 {
			next = min(next, left)
			continue
		}
		due[account] = append(due[account], tag)
	}
	for account, tags := range due {
		c.submits.Do(account, func() {
			crashed := c.settleAll(ctx, tags)
			if c.submits.Alone {
				err = crashed
			}
		}, func() { fair.Kick(c.submitKick) })
		if !c.submits.Alone {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, tag := range tags {
			if left := c.retryIn(tag); left > 0 {
				next = min(next, left)
			}
		}
	}
	return next, nil
}

// settleAll settles bulks. Trouble is of one, or of its owner's area: the others go
// on. The error is of a crash only.
func (c *Cluster) settleAll(ctx context.Context, tags []jjm.Tag) error {
	for _, tag := range tags {
		err := c.settle(ctx, tag)
		if err != nil {
			c.later(tag, asideFor)
		}
		if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
			return err
		}
		if err != nil {
			c.b.Complain(slog.LevelError, "settle/"+string(tag), "a bulk cannot be settled, trying again", "cluster", c.name, "tag", tag, "error", err)
		}
	}
	return nil
}

// retryIn is how long an unsettled bulk is left alone.
func (c *Cluster) retryIn(tag jjm.Tag) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, waits := c.retryAt[tag]
	if !waits {
		return 0
	}
	return at.left(c.b.Now())
}

// unsettled lists the bulks of this cluster whose ids are not stored, or that
// are not released, and the accounts that they are of.
func (c *Cluster) unsettled() map[jjm.Tag]jjm.Owner {
	c.s.Mem.RLock()
	defer c.s.Mem.RUnlock()
	tags := map[jjm.Tag]jjm.Owner{}
	for tag, b := range c.s.Bulks {
		if b.Cluster == c.name && (b.State == jjm.BulkIntent || b.State == jjm.BulkAccepted) {
			tags[tag] = c.account(b.Owner)
		}
	}
	return tags
}

// settle decides about one bulk. It is the only way out of doubt, whether an
// ambiguous error or a crash led into it.
func (c *Cluster) settle(ctx context.Context, tag jjm.Tag) error {
	b, _, err := c.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	if b.State == jjm.BulkAccepted {
		return c.release(ctx, tag)
	}
	facts, err := c.bulkFacts(ctx, b)
	if err != nil {
		return err
	}
	if err := c.b.Crash("reconcile.found"); err != nil {
		return err
	}
	act := plan.Reconcile(facts)
	if err := c.cancelExtra(ctx, b, act.Cancel); err != nil {
		return err
	}
	switch act.Do {
	case plan.BulkAdopt:
		c.b.Log.Info("bulk found again", "cluster", c.name, "tag", tag, "batch", act.ID, "why", act.Why)
		return c.accepted(ctx, tag, act.ID)
	case plan.BulkSubmit:
		if c.halted(b) {
			c.later(tag, asideFor)
			return c.moveOn(ctx, b)
		}
		return c.act(ctx, tag)
	case plan.BulkRefuse:
		return c.refused(ctx, tag, act.Why)
	}
	c.later(tag, act.After)
	return nil
}

// bulkFacts asks the batch system and the claims about a doubtful bulk.
func (c *Cluster) bulkFacts(ctx context.Context, b *jjm.Bulk) (plan.BulkFacts, error) {
	ar, err := c.cs.areas.Of(b.Owner)
	if err != nil {
		return plan.BulkFacts{}, err
	}
	now := jjm.At(c.b.Now())
	c.s.Mem.Lock()
	tried := b.Created
	allKilled := true
	if live := c.s.Bulks[b.Tag]; live != nil {
		if live.Tried == 0 {
			live.Tried = tried
		}
		live.Tried = min(live.Tried, now) // the clock was set back: wait anew, from now on
		tried = live.Tried
	}
	for _, m := range b.Members {
		if l := c.s.Current(m); l != nil && !l.Kill {
			allKilled = false
		}
	}
	c.s.Mem.Unlock()
	facts := plan.BulkFacts{Now: now, Tried: tried, Tries: b.Tries, Settle: c.caps().Settle, Refused: allKilled, Back: c.backSince(tried)}
	cmd, cancel := c.command(ctx, c.account(b.Owner))
	defer cancel()
	found, err := c.adapter.Find(cmd, c.account(b.Owner), []jjm.Tag{b.Tag})
	if err != nil || len(found) != 1 || found[0].Tag != b.Tag {
		if err != nil {
			c.b.Complain(slog.LevelWarn, "doubt/"+string(b.Tag), "a doubtful bulk cannot be looked up", "cluster", c.name, "tag", b.Tag, "error", err)
		}
		facts.FindErr = true
	} else {
		facts.Found = c.ownFound(b.Owner, found[0])
		facts.FindErr = facts.Found.Presence == adapters.NotYetKnown && found[0].Presence != adapters.NotYetKnown
	}
	facts.Holders = map[string]int{}
	for _, claim := range wrapperClaims(ar, b) {
		facts.WrapperClaims++
		for _, id := range facts.Found.IDs {
			if partOf(claim.Batch, id) {
				facts.Holders[id]++
			}
		}
	}
	return facts, nil
}

// wrapperClaims gives the claims that wrappers hold, by position. One that
// cannot be read counts as none: the search by tag decides then.
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

// partOf reports whether a job's batch id is one of a bulk's: the bulk's own id,
// followed by anything that does not go on with a digit ("42_7", "42.7").
func partOf(job, bulk string) bool {
	rest, ok := strings.CutPrefix(job, bulk)
	return ok && bulk != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// cancelExtra removes doubles of a bulk, loudly. Members that already run there
// stay: their attempts will be pointed to them.
func (c *Cluster) cancelExtra(ctx context.Context, b *jjm.Bulk, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ar, err := c.cs.areas.Of(b.Owner)
	if err != nil {
		return err
	}
	claims := wrapperClaims(ar, b)
	for _, id := range ids {
		c.b.Log.Error("a bulk was submitted twice: one is cancelled", "cluster", c.name, "tag", b.Tag, "batch", id)
		var refs []adapters.Ref
		for i := range b.Members {
			if claim, held := claims[int32(i)]; !held || !partOf(claim.Batch, id) {
				refs = append(refs, adapters.Ref{Tag: b.Tag, ID: id, Index: int32(i)})
			}
		}
		cmd, cancel := c.command(ctx, c.account(b.Owner))
		results, err := c.adapter.Control(cmd, c.account(b.Owner), adapters.Cancel, refs)
		cancel()
		if err == nil {
			err = errors.Join(results...)
		}
		if err != nil {
			return jjm.Errorf(jjm.Busy, "cancel double bulk %s of tag %s: %w", id, b.Tag, err)
		}
	}
	return nil
}
