package engine

import (
	"context"
	"fmt"

	"jjm"
)

// load fills memory from the store: live grid jobs, their local jobs, open
// bulks. What was in the making when the last engine stopped is found again by
// looking: a bulk without ids is doubtful, a final grid job is published and
// archived.
func (e *Engine) load(ctx context.Context) error {
	live, err := e.store.Live(ctx)
	if err != nil {
		return fmt.Errorf("load live grid jobs: %w", err)
	}
	for _, job := range live.Grids {
		g := e.track(job)
		g.locals = make([]jjm.LocalJob, 0, job.Step.Made)
		e.grids[job.ID] = g
	}
	err = e.store.LiveLocals(ctx, func(l jjm.LocalJob) error {
		g := e.grids[l.ID.Grid]
		if c := e.clusters[l.Cluster]; c != nil {
			l.Cluster = c.name // one text for all
		}
		if g != nil && g.job.Status.Final() {
			g.count(&l, 1)
			g.tallyStep(&l, 1)
			return nil // on its way to the history: its other aggregates are in its row
		}
		if g == nil || int(l.ID.N) != len(g.locals) {
			return jjm.Errorf(jjm.Internal, "local job %s is out of sequence in the store", l.ID)
		}
		if int(l.Place) > len(g.job.Step.Places) {
			return jjm.Errorf(jjm.Internal, "local job %s is at place %d of %d in the store", l.ID, l.Place, len(g.job.Step.Places))
		}
		g.put(l)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load live local jobs: %w", err)
	}
	for _, b := range live.Bulks {
		e.adopt(b)
	}
	if e.orders, err = e.store.Orders(ctx); err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	if err := e.loadBans(ctx); err != nil {
		return err
	}
	e.resumeKills()
	e.recallAccounts()
	for _, g := range e.grids {
		e.unswept[g.job.Owner.UID] = append(e.unswept[g.job.Owner.UID], g.job.Owner)
	}
	for id, g := range e.grids {
		e.loadPending(g)
		e.loadHandle(g)
		e.work.kick(id)
		e.kickSources(&g.job)
	}
	return nil
}

// resumeKills takes up the kills whose local jobs are not over yet, and the
// attempts that were given up for a hold: no report need ever come of an attempt
// that goes on.
func (e *Engine) resumeKills() {
	for _, g := range e.grids {
		for i := range g.locals {
			if l := &g.locals[i]; (l.Kill || l.Holding.GivenUp()) && e.current(l.AttemptID()) != nil {
				e.endings.kill(l.AttemptID())
			}
		}
	}
}

// loadPending marks the shards for which fragments of a record still wait.
func (e *Engine) loadPending(g *grid) {
	shards, own, err := e.deps.Records.Pending(g.job.ID)
	if err != nil {
		e.log.Warn("waiting fragments cannot be listed", "job", g.job.ID, "error", err)
		return
	}
	g.headDirty = g.headDirty || own
	for _, n := range shards {
		g.dirty[n] = true
	}
}

// sweepOrphans removes, once after a start, the folders of an account's bulks that
// nothing points to any more: one whose intent was never stored, or whose removal
// was cut short.
func (e *Engine) sweepOrphans(ctx context.Context, uid int) {
	e.mem.Lock()
	owners := map[jjm.Owner]bool{}
	for _, owner := range e.unswept[uid] {
		owners[owner] = true
	}
	delete(e.unswept, uid)
	e.mem.Unlock()
	for owner := range owners {
		ar, err := e.areas.of(owner)
		if err != nil {
			e.log.Warn("work area", "owner", owner.User, "error", err)
			continue
		}
		tags, err := ar.Bulks()
		if err != nil {
			e.log.Warn("work area", "owner", owner.User, "error", err)
		}
		for _, tag := range tags {
			if e.inUse(tag) {
				continue
			}
			if err := ar.RemoveBulk(ctx, tag); err != nil {
				e.log.Warn("folder of a forgotten bulk stays", "tag", tag, "error", err)
			}
		}
	}
}

// inUse reports whether something points to a bulk, or will: it may just be formed.
func (e *Engine) inUse(tag jjm.Tag) bool {
	e.mem.RLock()
	defer e.mem.RUnlock()
	return e.bulks[tag] != nil || e.uses[tag] > 0 || e.forming[tag] != nil
}
