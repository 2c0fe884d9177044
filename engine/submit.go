package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
	"jjm/sandbox"
)

// submitLoop forms bulks of what is ready and hands them over, and settles
// those whose submission is in doubt.
func (c *cluster) submitLoop(ctx context.Context) {
	for ctx.Err() == nil {
		next, err := c.submitOnce(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, errCrashed) {
			c.e.complain(slog.LevelError, "submit/"+c.name, "submission, trying again", "cluster", c.name, "error", err)
			next = asideFor
		}
		waitKick(ctx, c.submitKick, next)
	}
}

// submitOnce settles what is due, then submits until nothing is ready. The
// answer is how long nothing will be due.
func (c *cluster) submitOnce(ctx context.Context) (time.Duration, error) {
	wait, err := c.settleDue(ctx)
	if err != nil {
		return wait, err
	}
	for ctx.Err() == nil {
		b, as, err := c.form(ctx)
		switch {
		case err != nil:
			c.giveBack(b)
		case b == nil:
			return min(wait, c.nextDue()), nil
		default:
			err = c.launch(ctx, b, as)
		}
		if b == nil || errors.Is(err, errCrashed) || ctx.Err() != nil {
			return wait, err
		}
		if err != nil && ctx.Err() == nil {
			c.setAside(b.Owner, err)
			wait = min(wait, asideFor)
		}
	}
	return min(wait, c.nextDue()), nil
}

// asideFor is how long an owner waits whose work area makes trouble.
const asideFor = 5 * time.Second

// setAside lets the others go on.
func (c *cluster) setAside(owner jjm.Owner, err error) {
	c.e.complain(slog.LevelError, "submit/"+c.name+"/"+owner.User, "submission, trying again",
		"cluster", c.name, "owner", owner.User, "error", err)
	c.mu.Lock()
	c.aside[owner] = deadline{set: c.e.now(), wait: asideFor}
	c.mu.Unlock()
}

// waits gives how long an owner is still set aside.
func (c *cluster) waits(owner jjm.Owner) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.aside[owner].left(c.e.now())
	if left == 0 {
		delete(c.aside, owner)
	}
	return left
}

// form takes the next bulk out of what is ready: members of one owner and one
// shape, shared fairly among the grid jobs; and writes down what each is to run.
func (c *cluster) form(ctx context.Context) (*jjm.Bulk, []sandbox.Assignment, error) {
	b, members, err := c.choose()
	if b == nil || err != nil {
		return b, nil, err
	}
	as, err := c.e.assignments(ctx, members)
	return b, as, err
}

// choose takes the members of the next bulk out of what is ready.
func (c *cluster) choose() (*jjm.Bulk, []jjm.LocalJob, error) {
	e := c.e
	e.write.Lock()
	defer e.write.Unlock()
	e.mem.Lock() // the queues of what is ready change
	defer e.mem.Unlock()
	now := jjm.At(e.now())
	shares := c.shares(now)
	if len(shares) == 0 {
		return nil, nil, nil
	}
	lead := e.grids[shares[0].Grid]
	tag, err := jjm.NewTag(e.store.Nonce())
	if err != nil {
		return nil, nil, err
	}
	b := &jjm.Bulk{Tag: tag, Cluster: c.name, Owner: lead.job.Owner, Request: lead.job.Spec.Request, Created: now}
	return b, c.fill(b, shares, now), nil
}

// demand lists the grid jobs with something ready that may come here, oldest
// first.
func (c *cluster) demand(now jjm.Time) []jjm.GridID {
	var ids []jjm.GridID
	for _, id := range slices.Sorted(maps.Keys(c.e.grids)) {
		g := c.e.grids[id]
		if !c.serves(g, now) || c.waits(g.job.Owner) > 0 {
			continue
		}
		g.due(now)
		if g.trim(now) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// shape is what the members of a bulk have in common.
type shape struct {
	owner   jjm.Owner
	request jjm.Request
}

// shares says how many members of which grid jobs the next bulk has: what falls
// to this cluster is shared among all that have something ready, and of their
// shares those of the one shape with most come first, as far as a bulk goes.
// None while the cluster has no room.
func (c *cluster) shares(now jjm.Time) []plan.Budget {
	e := c.e
	here := e.places[c.name]
	ids := c.demand(now) // first: it also takes note of what has become due
	site, roomOf := e.standing(now)
	if len(ids) == 0 || site[here].Rank == plan.Barred || site[here].Room == 0 {
		return nil
	}
	var wants []plan.Want
	for _, id := range ids {
		g := e.grids[id]
		wants = append(wants, e.want(g, here, roomOf(g.job.Owner)))
	}
	demands := plan.Share(here, site, wants)
	return c.alike(demands, plan.Site(demands, site[here].Room))
}

// alike gives of the budgets those of the shape that has most, cut to one bulk.
func (c *cluster) alike(demands []plan.Demand, budgets []plan.Budget) []plan.Budget {
	shapeOf := func(id jjm.GridID) shape {
		g := c.e.grids[id]
		return shape{g.job.Owner, g.job.Spec.Request}
	}
	held := map[jjm.GridID]int{}
	for _, d := range demands {
		held[d.Grid] = d.InBatch
	}
	sums := map[shape]int{}
	var most shape
	for _, b := range budgets {
		s := shapeOf(b.Grid)
		if sums[s] += b.Jobs; sums[s] > sums[most] {
			most = s
		}
	}
	var alike []plan.Demand
	for _, b := range budgets {
		if shapeOf(b.Grid) == most {
			alike = append(alike, plan.Demand{Grid: b.Grid, Ready: b.Jobs, InBatch: held[b.Grid]})
		}
	}
	return plan.Site(alike, max(c.caps().MaxBulk, 1))
}

// fill takes the members of b and gives copies of their rows.
func (c *cluster) fill(b *jjm.Bulk, shares []plan.Budget, now jjm.Time) []jjm.LocalJob {
	var members []jjm.LocalJob
	for _, budget := range shares {
		g := c.e.grids[budget.Grid]
		for n := 0; n < budget.Jobs && g.trim(now) > 0; n++ {
			l := g.locals[g.ready[0]]
			g.ready = g.ready[1:]
			b.Members = append(b.Members, l.AttemptID())
			members = append(members, l)
		}
	}
	return members
}

// launch stores the intent and then acts on it.
func (c *cluster) launch(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	if len(b.Members) == 0 {
		return nil
	}
	if err := c.intend(ctx, b, as); err != nil {
		c.giveBack(b)
		if jjm.KindOf(err) == jjm.Conflict {
			c.discard(b)
			return nil // a member was killed meanwhile: form the bulk anew
		}
		return err
	}
	return c.act(ctx, b.Tag)
}

// giveBack returns members that were taken for a bulk that was not stored.
func (c *cluster) giveBack(b *jjm.Bulk) {
	if b == nil {
		return
	}
	c.e.write.Lock()
	defer c.e.write.Unlock()
	c.e.mem.Lock()
	defer c.e.mem.Unlock()
	for _, m := range b.Members {
		if g := c.e.grids[m.Grid]; g != nil {
			g.ready = append(g.ready, m.N)
		}
	}
}

// discard removes the folder of a bulk that was surely not stored.
func (c *cluster) discard(b *jjm.Bulk) {
	ar, err := c.e.areas.of(b.Owner)
	if err == nil {
		err = ar.RemoveBulk(b.Tag)
	}
	if err != nil {
		c.e.log.Warn("folder of a bulk that was not stored stays", "tag", b.Tag, "error", err)
	}
}

// intend writes the assignment file, then commits the bulk: a bulk in the store
// always has its assignment.
func (c *cluster) intend(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	ar, err := c.e.areas.of(b.Owner)
	if err != nil {
		return err
	}
	if err := ar.WriteAssignment(b.Tag, as); err != nil {
		c.discard(b)
		return fmt.Errorf("assignment of bulk %s: %w", b.Tag, err)
	}
	if err := c.e.crash("submit.assigned"); err != nil {
		return err
	}
	return c.e.change(ctx, "submit", func(ch *change) error {
		ch.created = append(ch.created, b)
		for pos, m := range b.Members {
			l := ch.local(m.LocalID)
			if l == nil || l.Attempt != m.Attempt || l.Kill || l.State.Final() {
				return jjm.Errorf(jjm.Conflict, "local job %s changed while its bulk was formed", m.LocalID)
			}
			l.Cluster, l.Tag, l.Pos = c.name, b.Tag, int32(pos)
			l.BatchID, l.Host = "", ""
			l.Submitted, l.Started, l.Ended = 0, 0, 0
			ch.move(l, jjm.Submitting, jjm.Spooled, "bulk "+string(b.Tag)+" for "+c.name)
		}
		return nil
	})
}

// act runs the submission of a stored bulk and stores what came of it.
func (c *cluster) act(ctx context.Context, tag jjm.Tag) error {
	e := c.e
	b, ar, err := c.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	order, err := c.order(ar, b)
	if err != nil {
		return err
	}
	e.mem.Lock()
	if live := e.bulks[tag]; live != nil {
		live.tried = jjm.At(e.now())
	}
	e.mem.Unlock()
	cmd, cancel := c.command(ctx, c.account(b.Owner))
	defer cancel()
	receipt, err := c.adapter.Submit(cmd, order)
	if crashed := e.crash("submit.acted"); crashed != nil {
		return crashed
	}
	return c.outcome(ctx, tag, receipt, err)
}

// openBulk copies a live bulk and opens its owner's area.
func (c *cluster) openBulk(tag jjm.Tag) (*jjm.Bulk, *area, error) {
	c.e.mem.RLock()
	live := c.e.bulks[tag]
	c.e.mem.RUnlock()
	if live == nil {
		return nil, nil, nil
	}
	b := live.Bulk
	ar, err := c.e.areas.of(b.Owner)
	return &b, ar, err
}

// outcome stores what a submission came to. Only an answer that is certain is
// acted on: doubt is left to plan.Reconcile.
func (c *cluster) outcome(ctx context.Context, tag jjm.Tag, receipt adapters.Receipt, err error) error {
	switch kind := jjm.KindOf(err); {
	case err == nil:
		return c.accepted(ctx, tag, receipt.ID)
	case kind == jjm.Invalid || kind == jjm.Denied:
		return c.refused(ctx, tag, err.Error())
	case kind == jjm.Busy:
		c.e.complain(slog.LevelWarn, "busy/"+c.name, "batch system is busy, bulk waits", "cluster", c.name, "tag", tag, "error", err)
		c.saidBusy()
		c.later(tag, 5*time.Second)
		return c.tried(ctx, tag, err)
	default:
		c.e.log.Warn("submission is in doubt", "cluster", c.name, "tag", tag, "error", err)
		c.later(tag, c.caps().Settle)
		return c.doubt(ctx, tag, err)
	}
}

// later postpones the next look at an unsettled bulk.
func (c *cluster) later(tag jjm.Tag, d time.Duration) {
	c.mu.Lock()
	c.retryAt[tag] = deadline{set: c.e.now(), wait: max(d, 100*time.Millisecond)}
	c.mu.Unlock()
}

// accepted stores the batch system's id; two-phase bulks are then released.
func (c *cluster) accepted(ctx context.Context, tag jjm.Tag, id string) error {
	err := c.e.change(ctx, "acknowledge", func(ch *change) error {
		b := ch.bulk(tag)
		if b == nil {
			return nil
		}
		b.ID, b.Settled, b.Error = id, ch.now, ""
		b.Tries++
		b.State = jjm.BulkAccepted
		if !c.caps().TwoPhase {
			b.State = jjm.BulkReleased
		}
		for _, m := range b.Members {
			if c.e.current(m) == nil {
				continue
			}
			l := ch.local(m.LocalID)
			l.Submitted = ch.now
			if l.BatchID != "" && id != "" && !partOf(l.BatchID, id) {
				l.BatchID = "" // a double was listed first: this one will be released
			}
			if l.State == jjm.Submitting {
				ch.move(l, jjm.Submitted, jjm.Queued, c.name+" "+id)
			}
		}
		return nil
	})
	c.mu.Lock()
	delete(c.retryAt, tag)
	c.busy = deadline{}
	c.mu.Unlock()
	if err == nil && c.caps().TwoPhase {
		err = c.release(ctx, tag)
	}
	kick(c.watchKick)
	return err
}

// release lets the jobs of a held bulk run, now that their ids are stored.
func (c *cluster) release(ctx context.Context, tag jjm.Tag) error {
	b, _, err := c.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	refs := make([]adapters.Ref, len(b.Members))
	for i := range refs {
		refs[i] = adapters.Ref{Tag: tag, ID: b.ID, Index: int32(i)}
	}
	cmd, cancel := c.command(ctx, c.account(b.Owner))
	defer cancel()
	results, err := c.adapter.Control(cmd, c.account(b.Owner), adapters.Release, refs)
	if err == nil {
		err = c.unreleased(b, results)
	}
	c.setReleased(tag)
	if err != nil {
		c.e.complain(slog.LevelWarn, "release/"+string(tag), "release of a held bulk, trying again", "cluster", c.name, "tag", tag, "error", err)
		c.later(tag, 5*time.Second)
		return nil
	}
	return c.e.change(ctx, "release", func(ch *change) error {
		if b := ch.bulk(tag); b != nil {
			b.State = jjm.BulkReleased
		}
		return nil
	})
}

// setReleased notes when a held bulk was released.
func (c *cluster) setReleased(tag jjm.Tag) {
	c.e.write.Lock()
	defer c.e.write.Unlock()
	c.e.mem.Lock()
	defer c.e.mem.Unlock()
	if live := c.e.bulks[tag]; live != nil {
		live.released = jjm.At(c.e.now())
	}
}

// unreleased gives the errors of a release that call for another. A job that is
// gone needs none: it ran and is forgotten, or was lost, which absence will
// show. But a batch system may know a bulk late.
func (c *cluster) unreleased(b *jjm.Bulk, results []error) error {
	late := jjm.At(c.e.now()).Sub(b.Settled) < c.caps().Settle
	return errors.Join(slices.DeleteFunc(slices.Clone(results), func(err error) bool {
		return err == nil || !late && jjm.KindOf(err) == jjm.Gone
	})...)
}

// refused settles a bulk that the batch system will never take: a member that
// may go to another cluster goes there, the others fail (decision R19).
func (c *cluster) refused(ctx context.Context, tag jjm.Tag, why string) error {
	return c.e.change(ctx, "refuse", func(ch *change) error {
		b := ch.bulk(tag)
		if b == nil {
			return nil
		}
		ch.refused = map[jjm.GridID]refusal{}
		text := "refused by " + c.name + ": " + why
		c.takeBack(ch, b, text, func(l *jjm.LocalJob, g *grid) bool {
			others := slices.ContainsFunc(c.e.candidates(g), func(name string) bool { return name != c.name })
			if others {
				ch.refused[g.job.ID] = refusal{c.name, why}
			}
			return others
		})
		b.Error = why
		return nil
	})
}

// takeBack ends the attempts of a bulk that the batch system surely does not
// have. A member that again names gets another attempt, anywhere; of the others
// those that were to be killed are, the rest fail.
func (c *cluster) takeBack(ch *change, b *jjm.Bulk, text string, again func(*jjm.LocalJob, *grid) bool) {
	for _, m := range b.Members {
		if c.e.current(m) == nil {
			continue
		}
		l := ch.local(m.LocalID)
		l.Message = text
		v := jjm.Verdict{Level: "SUBMIT", Action: jjm.Retry, Text: text, RetryArgs: l.RetryArgs, Counters: l.Counters}
		switch {
		case l.Kill:
			v.Action, v.Phase = jjm.Cancel, jjm.ByPerson
			l.Ended = ch.now
			ch.end(l, jjm.Evidence{}, v)
			ch.move(l, jjm.Killed, jjm.ByPerson, "never submitted")
		case again(l, c.e.grids[m.Grid]):
			ch.end(l, jjm.Evidence{}, v)
			l.Attempt, l.NotBefore = l.Attempt+1, ch.now
			ch.move(l, jjm.Submitting, jjm.RetryWait, text)
		default:
			v.Action, v.Phase = jjm.Fail, jjm.CreateFailed
			l.Ended = ch.now
			ch.end(l, jjm.Evidence{}, v)
			ch.move(l, jjm.Failed, jjm.CreateFailed, text)
		}
	}
	b.State = jjm.BulkRefused
}

// tried counts a try that certainly came to nothing. A bulk whose members can
// all go to a cluster that is well does so; else it is tried again here.
func (c *cluster) tried(ctx context.Context, tag jjm.Tag, cause error) error {
	return c.e.change(ctx, "submit-again", func(ch *change) error {
		b := ch.bulk(tag)
		if b == nil {
			return nil
		}
		b.Tries++
		b.Error = cause.Error()
		if c.movable(b, ch.now) {
			c.takeBack(ch, b, "not taken by "+c.name+", goes elsewhere: "+cause.Error(), func(*jjm.LocalJob, *grid) bool { return true })
		}
		return nil
	})
}

// moveOn takes a bulk back that the batch system surely does not have and that
// may not be submitted here now, if all its members may go elsewhere.
func (c *cluster) moveOn(ctx context.Context, b *jjm.Bulk) error {
	c.e.mem.RLock()
	movable := c.movable(b, jjm.At(c.e.now()))
	c.e.mem.RUnlock()
	if !movable {
		return nil
	}
	return c.tried(ctx, b.Tag, jjm.Errorf(jjm.Busy, "cluster %s is paused", c.name))
}

// movable reports whether every member of a bulk may go to a better cluster. A
// lock of the engine is held.
func (c *cluster) movable(b *jjm.Bulk, now jjm.Time) bool {
	movable := false
	for _, m := range b.Members {
		l := c.e.current(m)
		if l == nil || l.Kill {
			continue
		}
		if !c.elsewhere(c.e.grids[m.Grid], now) {
			return false
		}
		movable = true
	}
	return movable
}

// doubt marks the members of a bulk that may or may not have arrived.
func (c *cluster) doubt(ctx context.Context, tag jjm.Tag, cause error) error {
	return c.e.change(ctx, "doubt", func(ch *change) error {
		b := ch.bulk(tag)
		if b == nil {
			return nil
		}
		b.Tries++
		b.Error = cause.Error()
		for _, m := range b.Members {
			if c.e.current(m) == nil {
				continue
			}
			if l := ch.local(m.LocalID); l.State == jjm.Submitting && l.Phase != jjm.Doubtful {
				ch.move(l, jjm.Submitting, jjm.Doubtful, cause.Error())
			}
		}
		return nil
	})
}

// nextDue is when the next waiting local job of this cluster becomes ready.
func (c *cluster) nextDue() time.Duration {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	next := time.Hour
	now := jjm.At(c.e.now())
	for _, g := range c.e.grids {
		if !c.serves(g, now) {
			continue
		}
		if left := c.waits(g.job.Owner); left > 0 {
			next = min(next, left)
		} else if len(g.waiting) > 0 {
			next = min(next, max(g.waiting[0].at.Sub(now), 0))
		}
	}
	return next
}
