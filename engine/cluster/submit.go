package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/sandbox"
)

// submitLoop forms bulks of what is ready and hands them over, and settles
// those whose submission is in doubt.
func (c *Cluster) submitLoop(ctx context.Context) {
	defer c.submits.All.Wait()
	for ctx.Err() == nil {
		next, err := c.submitOnce(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
			c.b.Complain(slog.LevelError, "submit/"+c.name, "submission, trying again", "cluster", c.name, "error", err)
			next = asideFor
		}
		fair.WaitKick(ctx, c.submitKick, next)
	}
}

// submitOnce settles what is due, then submits until nothing is ready of accounts
// as which nothing else is done now. The answer is how long nothing will be due.
func (c *Cluster) submitOnce(ctx context.Context) (time.Duration, error) {
	wait, err := c.settleDue(ctx)
	if err != nil {
		return wait, err
	}
	for ctx.Err() == nil {
		b, members, err := c.choose()
		if err != nil || b == nil {
			return min(wait, c.nextDue(), c.submits.Slows()), err
		}
		c.submits.Do(c.account(b.Owner), func() { err = c.hand(ctx, b, members) }, func() { fair.Kick(c.submitKick) })
		if c.submits.Alone && err != nil {
			if errors.Is(err, base.ErrCrashed) {
				return wait, err
			}
			wait = min(wait, asideFor)
		}
	}
	return min(wait, c.nextDue()), nil
}

// hand writes down what the members of a bulk are to run, stores it and hands it
// over. Its owner is set aside for trouble.
func (c *Cluster) hand(ctx context.Context, b *jjm.Bulk, members []jjm.LocalJob) error {
	as, err := c.cs.assignments(ctx, members)
	if err == nil {
		c.shorten(b, len(as))
	}
	if err == nil && slices.ContainsFunc(as, isTooLong) { // without them the others form a bulk anew
		c.giveBack(b)
		c.formed(b)
		err = c.failTooLong(ctx, members, as)
	} else if err != nil {
		c.giveBack(b)
		c.formed(b)
	} else {
		err = c.launch(ctx, b, as)
	}
	if err != nil && ctx.Err() == nil {
		c.setAside(b.Owner, err)
	}
	return err
}

// shorten leaves a bulk its first n members; the others are ready again.
func (c *Cluster) shorten(b *jjm.Bulk, n int) {
	if n == len(b.Members) {
		return
	}
	rest := *b
	rest.Members = b.Members[n:]
	c.s.Mem.Lock()
	b.Members = b.Members[:n:n]
	c.s.Mem.Unlock()
	c.giveBack(&rest)
}

func isTooLong(a sandbox.Assignment) bool { return a.TooLong() }

// failTooLong fails the local jobs that cannot be told what to do: another attempt
// would be as long.
func (c *Cluster) failTooLong(ctx context.Context, members []jjm.LocalJob, as []sandbox.Assignment) error {
	text := fmt.Sprintf("its command line, environment and list of inputs have more than %d bytes together: cut the work into "+
		"smaller parts, or shorten what each is told", sandbox.MaxAssignment)
	return c.s.Change(ctx, "refuse", func(ch *state.Change) error {
		for i := range as {
			if !as[i].TooLong() {
				continue
			}
			l := ch.Local(members[i].ID)
			if l == nil || l.Attempt != members[i].Attempt || l.Kill || l.State != members[i].State {
				continue
			}
			l.Message, l.Ended = text, ch.Now
			ch.Move(l, jjm.Failed, jjm.CreateFailed, text)
		}
		return nil
	})
}

// formed notes that a bulk is stored, or will not be.
func (c *Cluster) formed(b *jjm.Bulk) {
	c.s.Mem.Lock()
	delete(c.s.Forming, b.Tag)
	c.s.Mem.Unlock()
}

// asideFor is how long an owner waits whose work area makes trouble.
const asideFor = 5 * time.Second

// setAside lets the others go on.
func (c *Cluster) setAside(owner jjm.Owner, err error) {
	if !errors.Is(err, base.ErrCrashed) {
		c.complainOf(owner, err)
	}
	c.mu.Lock()
	c.aside[owner] = deadline{set: c.b.Now(), wait: asideFor}
	c.mu.Unlock()
}

func (c *Cluster) complainOf(owner jjm.Owner, err error) {
	c.b.Complain(slog.LevelError, "submit/"+c.name+"/"+owner.User, "submission, trying again",
		"cluster", c.name, "owner", owner.User, "error", err)
}

// waits gives how long an owner is still set aside.
func (c *Cluster) waits(owner jjm.Owner) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.aside[owner].left(c.b.Now())
	if left == 0 {
		delete(c.aside, owner)
	}
	return left
}

// launch stores the intent and then acts on it.
func (c *Cluster) launch(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	if len(b.Members) == 0 {
		c.formed(b)
		return nil
	}
	err := c.intend(ctx, b, as)
	c.formed(b)
	if err != nil {
		c.giveBack(b)
		if jjm.KindOf(err) == jjm.Conflict {
			c.discard(b)
			return nil // a member was killed meanwhile: form the bulk anew
		}
		return err
	}
	return c.act(ctx, b.Tag)
}

// discard removes the folder of a bulk that was surely not stored.
func (c *Cluster) discard(b *jjm.Bulk) {
	ar, err := c.cs.areas.Of(b.Owner)
	if err == nil {
		err = ar.RemoveBulk(context.Background(), b.Tag)
	}
	if err != nil {
		c.b.Log.Warn("folder of a bulk that was not stored stays", "tag", b.Tag, "error", err)
	}
}

// intend writes the assignment file, then commits the bulk: a bulk in the store
// always has its assignment.
func (c *Cluster) intend(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	ar, err := c.cs.areas.Of(b.Owner)
	if err != nil {
		return err
	}
	if err := ar.WriteAssignment(b.Tag, as); err != nil {
		c.discard(b)
		return fmt.Errorf("assignment of bulk %s: %w", b.Tag, err)
	}
	if err := c.b.Crash("submit.assigned"); err != nil {
		return err
	}
	return c.s.Change(ctx, "submit", func(ch *state.Change) error {
		ch.Created = append(ch.Created, b)
		for pos, m := range b.Members {
			l := ch.Local(m.LocalID)
			if l == nil || l.Attempt != m.Attempt || l.Kill || l.State.Final() {
				return jjm.Errorf(jjm.Conflict, "local job %s changed while its bulk was formed", m.LocalID)
			}
			l.Cluster, l.Tag, l.Pos = c.name, b.Tag, int32(pos)
			l.BatchID, l.Host = "", ""
			l.Submitted, l.Started, l.Ended = 0, 0, 0
			ch.Move(l, jjm.Submitting, jjm.Spooled, "bulk "+string(b.Tag)+" for "+c.name)
		}
		return nil
	})
}

// act runs the submission of a stored bulk and stores what came of it.
func (c *Cluster) act(ctx context.Context, tag jjm.Tag) error {
	e := c.cs
	b, ar, err := c.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	order, err := c.order(ar, b)
	if err != nil {
		return err
	}
	e.s.Mem.Lock()
	if live := e.s.Bulks[tag]; live != nil {
		live.Tried = jjm.At(e.b.Now())
	}
	e.s.Mem.Unlock()
	cmd, cancel := c.command(ctx, c.account(b.Owner))
	defer cancel()
	receipt, err := c.adapter.Submit(cmd, order)
	if crashed := e.b.Crash("submit.acted"); crashed != nil {
		return crashed
	}
	if err == nil {
		err = c.believed(b.Owner, receipt)
	}
	return c.outcome(ctx, tag, receipt, err)
}

// openBulk copies a live bulk and opens its owner's area.
func (c *Cluster) openBulk(tag jjm.Tag) (*jjm.Bulk, *areas.Area, error) {
	c.s.Mem.RLock()
	live := c.s.Bulks[tag]
	c.s.Mem.RUnlock()
	if live == nil {
		return nil, nil, nil
	}
	b := live.Bulk
	ar, err := c.cs.areas.Of(b.Owner)
	return &b, ar, err
}

// nextDue is when the next waiting local job of this cluster becomes ready.
func (c *Cluster) nextDue() time.Duration {
	c.s.Mem.RLock()
	defer c.s.Mem.RUnlock()
	next := time.Hour
	now := jjm.At(c.b.Now())
	for _, g := range c.s.Grids {
		if !c.serves(g, now) {
			continue
		}
		if left := c.waits(g.Job.Owner); left > 0 {
			next = min(next, left)
		} else if len(g.Waiting) > 0 {
			next = min(next, max(g.Waiting[0].At.Sub(now), 0))
		}
	}
	return next
}
