package engine

import (
	"context"
	"log/slog"
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
	"jjm/wire"
)

// Release ends holds for a person and answers for each reference, in order: a
// local job that its application or a cancel in the batch system put on hold gets
// its next attempt with the arguments it asked for (GBS), one that its batch
// system holds is released there. That nothing is held is a success without
// change.
func (e *Engine) Release(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Released {
	out := make([]wire.Released, len(refs))
	for i, ref := range refs {
		n, err := e.releaseOne(ctx, caller, ref)
		out[i] = wire.Released{Ref: ref.String(), Jobs: n, NoChange: err == nil && n == 0, Error: wire.ErrorOf(err)}
	}
	return out
}

func (e *Engine) releaseOne(ctx context.Context, caller wire.Caller, ref jjm.Ref) (n int, err error) {
	job, err := e.find(ctx, caller, ref.Grid)
	if err != nil {
		return 0, err
	}
	if job.Status.Final() || job.Kill {
		return 0, nil
	}
	known := !ref.Locals || ref.Last < 0
	err = e.change(ctx, "release-held", func(c *change) error {
		g := e.grids[ref.Grid]
		if g == nil || g.job.Kill {
			return nil
		}
		for i := range g.locals {
			if l := &g.locals[i]; !ref.Locals || ref.Has(l.ID.N) {
				known = true
				if c.letGo(l, caller) {
					n++
				}
			}
		}
		if !known {
			return jjm.Errorf(jjm.Gone, "%s: the grid job has no such local job", ref)
		}
		return nil
	})
	return n, err
}

// letGo releases one local job and reports whether it was held.
func (c *change) letGo(live *jjm.LocalJob, caller wire.Caller) bool {
	by := "released by " + caller.Actor()
	switch {
	case live.Kill:
	case live.State == jjm.Held:
		l := c.local(live.ID)
		l.Holding = plan.HoldNext(l.Holding)
		l.Attempt, l.NotBefore, l.Message = l.Attempt+1, c.now, ""
		c.move(l, jjm.Submitting, jjm.RetryWait, by)
		c.journal[len(c.journal)-1].Actor = caller.Actor()
		return true
	case live.State == jjm.Submitted && live.Phase == jjm.BatchHeld && live.Holding.Now() && !live.Holding.GivenUp():
		h := *live.Holding
		h.Deed = "" // of a rule: the person outranks it
		h = plan.Decided(h, plan.HoldStep{Deed: jjm.HoldRelease, Why: by}, caller.Actor())
		l := c.local(live.ID)
		l.Holding = &h
		c.aside(l, by, caller.Actor())
		c.frees = append(c.frees, l.AttemptID())
		return true
	}
	return false
}

// askRelease hands attempts whose release is stored to the control loop.
func (c *cluster) askRelease(ids ...jjm.AttemptID) {
	if len(ids) == 0 {
		return
	}
	fresh := false
	c.mu.Lock()
	for _, id := range ids {
		if _, known := c.releases[id]; !known {
			c.releases[id] = c.e.now().Add(-c.e.conf().CancelAgain.D())
			fresh = true
		}
	}
	c.mu.Unlock()
	if fresh {
		kick(c.controlKick)
	}
}

// releaseHeld sends releases of an owner that are due, for many with one command.
func (c *cluster) releaseHeld(ctx context.Context, owner jjm.Owner, jobs []absentee) {
	for some := range slices.Chunk(jobs, absentees) {
		if err := c.sendRelease(ctx, owner, some); err != nil && ctx.Err() == nil {
			c.e.complain(slog.LevelWarn, "release/"+c.name+"/"+owner.User, "release of held jobs, to be repeated", "cluster", c.name, "jobs", len(some), "error", err)
		}
	}
}

// releasesDue lists what to release now and forgets what is done or over.
func (c *cluster) releasesDue() map[jjm.Owner][]absentee {
	now, again := c.e.now(), c.e.conf().CancelAgain.D()
	c.mu.Lock()
	var ids []jjm.AttemptID
	for id, last := range c.releases {
		if gone := now.Sub(last); gone >= again || gone < 0 { // < 0: the clock was set back
			ids = append(ids, id)
			c.releases[id] = now
		}
	}
	c.mu.Unlock()
	due := map[jjm.Owner][]absentee{}
	var over, wait []jjm.AttemptID
	for _, id := range ids { // without c.mu: it comes after the memory lock
		l, _, ok := c.e.attemptRow(id)
		ref, owner, known := c.e.refOf(&l)
		switch {
		case !ok || l.Kill || l.Holding == nil || l.Holding.Deed != jjm.HoldRelease:
			over = append(over, id)
		case known && c.controls.taken(c.account(owner)):
			wait = append(wait, id)
		case known:
			due[owner] = append(due[owner], absentee{id, ref})
		}
	}
	c.mu.Lock()
	for _, id := range over {
		delete(c.releases, id)
	}
	for _, id := range wait { // due again at once
		c.releases[id] = now.Add(-again)
	}
	c.mu.Unlock()
	return due
}

// sendRelease runs one command and stores what it came to. A refusal for good is
// an end too: the rule, or the person, is told.
func (c *cluster) sendRelease(ctx context.Context, owner jjm.Owner, jobs []absentee) error {
	refs := make([]adapters.Ref, len(jobs))
	for i := range jobs {
		refs[i] = jobs[i].ref
	}
	cmd, cancel := c.command(ctx, c.account(owner))
	defer cancel()
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Release, refs)
	if crashed := c.e.crash("hold.acted"); crashed != nil {
		return crashed
	}
	if err == nil && len(results) != len(refs) {
		err = jjm.Errorf(jjm.Internal, "%d answers for %d jobs", len(results), len(refs))
	}
	ends := map[jjm.AttemptID]string{} // with their trouble
	for i, j := range jobs {
		answer := err
		if err == nil {
			answer = results[i]
		}
		switch jjm.KindOf(answer) {
		case jjm.Busy, jjm.Ambiguous, jjm.Internal:
			err = answer
		case jjm.Gone:
			ends[j.id] = "" // absence will show it
		default:
			ends[j.id] = textOf(answer)
		}
	}
	if len(ends) == 0 {
		return err
	}
	kick(c.watchKick)
	if stored := c.released(ctx, ends); stored != nil {
		return stored
	}
	return err
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// released stores the ends of releases.
func (c *cluster) released(ctx context.Context, ends map[jjm.AttemptID]string) error {
	return c.e.change(ctx, "hold-done", func(ch *change) error {
		for id, trouble := range ends {
			live := c.e.current(id)
			if live == nil || live.Holding == nil || live.Holding.Deed != jjm.HoldRelease {
				continue
			}
			h := plan.Released(*live.Holding, trouble)
			l := ch.local(id.LocalID)
			l.Holding = &h
			if trouble != "" {
				ch.aside(l, "not released: "+trouble, "")
			}
		}
		return nil
	})
}
