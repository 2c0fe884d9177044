package cluster

import (
	"context"
	"log/slog"
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/plan"
)

// askRelease hands attempts whose release is stored to the control loop.
func (c *Cluster) askRelease(ids ...jjm.AttemptID) {
	if len(ids) == 0 {
		return
	}
	fresh := false
	c.mu.Lock()
	for _, id := range ids {
		if _, known := c.releases[id]; !known {
			c.releases[id] = c.b.Now().Add(-c.b.Conf().CancelAgain.D())
			fresh = true
		}
	}
	c.mu.Unlock()
	if fresh {
		fair.Kick(c.controlKick)
	}
}

// releaseHeld sends releases of an owner that are due, for many with one command.
func (c *Cluster) releaseHeld(ctx context.Context, owner jjm.Owner, jobs []absentee) {
	for some := range slices.Chunk(jobs, absentees) {
		if err := c.sendRelease(ctx, owner, some); err != nil && ctx.Err() == nil {
			c.b.Complain(slog.LevelWarn, "release/"+c.name+"/"+owner.User, "release of held jobs, to be repeated", "cluster", c.name, "jobs", len(some), "error", err)
		}
	}
}

// releasesDue lists what to release now and forgets what is done or over.
func (c *Cluster) releasesDue() map[jjm.Owner][]absentee {
	now, again := c.b.Now(), c.b.Conf().CancelAgain.D()
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
		l, _, ok := c.s.AttemptRow(id)
		ref, owner, known := c.cs.RefOf(&l)
		switch {
		case !ok || l.Kill || l.Holding == nil || l.Holding.Deed != jjm.HoldRelease:
			over = append(over, id)
		case known && c.controls.Taken(c.account(owner)):
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
func (c *Cluster) sendRelease(ctx context.Context, owner jjm.Owner, jobs []absentee) error {
	refs := make([]adapters.Ref, len(jobs))
	for i := range jobs {
		refs[i] = jobs[i].ref
	}
	cmd, cancel := c.command(ctx, c.account(owner))
	defer cancel()
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Release, refs)
	if crashed := c.b.Crash("hold.acted"); crashed != nil {
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
	fair.Kick(c.watchKick)
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
func (c *Cluster) released(ctx context.Context, ends map[jjm.AttemptID]string) error {
	return c.s.Change(ctx, "hold-done", func(ch *state.Change) error {
		for id, trouble := range ends {
			live := c.s.Current(id)
			if live == nil || live.Holding == nil || live.Holding.Deed != jjm.HoldRelease {
				continue
			}
			h := plan.Released(*live.Holding, trouble)
			l := ch.Local(id.LocalID)
			l.Holding = &h
			if trouble != "" {
				ch.Aside(l, "not released: "+trouble, "")
			}
		}
		return nil
	})
}

// WakeReleases hands the releases that a change decided to the control loops.
func (cs *Clusters) WakeReleases(c *state.Change) {
	for _, id := range c.Frees {
		if cl := cs.all[c.Locals[id.LocalID].Cluster]; cl != nil {
			cl.askRelease(id)
		}
	}
}
