package engine

import (
	"context"
	"log/slog"
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
)

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

// wakeReleases hands the releases that a change decided to the control loops.
func (e *Engine) wakeReleases(c *change) {
	for _, id := range c.frees {
		if cl := e.clusters[c.locals[id.LocalID].Cluster]; cl != nil {
			cl.askRelease(id)
		}
	}
}
