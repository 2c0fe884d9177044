package engine

import (
	"context"
	"errors"
	"jjm"
	"jjm/adapters"
	"log/slog"
	"maps"
	"time"
)

// carries reports whether the workers of a bulk's cluster do not see the work
// area.
func (e *Engine) carries(tag jjm.Tag) bool {
	e.mem.RLock()
	defer e.mem.RUnlock()
	b := e.bulks[tag]
	if b == nil {
		return false
	}
	c := e.clusters[b.Cluster]
	return c != nil && !c.adapter.Capabilities().SharedFS
}

// controlLoop sends cancels and releases of held jobs, and sends them again until
// the end is confirmed.
func (c *cluster) controlLoop(ctx context.Context) {
	defer c.controls.all.Wait()
	for ctx.Err() == nil {
		cancels, releases := c.cancelsDue(), c.releasesDue()
		for owner := range owners(cancels, releases) {
			c.controls.do(c.account(owner), func() {
				if refs := cancels[owner]; len(refs) > 0 {
					c.cancel(ctx, owner, refs)
				}
				c.releaseHeld(ctx, owner, releases[owner])
			}, func() { kick(c.controlKick) })
		}
		waitKick(ctx, c.controlKick, c.e.conf().CancelAgain.D()/4)
	}
}

// owners are those of cancels and releases.
func owners(cancels map[jjm.Owner][]adapters.Ref, releases map[jjm.Owner][]absentee) map[jjm.Owner]bool {
	all := map[jjm.Owner]bool{}
	for o := range cancels {
		all[o] = true
	}
	for o := range releases {
		all[o] = true
	}
	return all
}

// cancelsDue lists the batch jobs to cancel now, strangers among them, and forgets
// those that are over. What is of an account as which something is being done waits.
func (c *cluster) cancelsDue() (due map[jjm.Owner][]adapters.Ref) {
	due = map[jjm.Owner][]adapters.Ref{}
	now := c.e.now()
	c.mu.Lock()
	cancels := maps.Clone(c.cancels)
	for owner, refs := range c.strangers {
		if !c.controls.taken(c.account(owner)) {
			due[owner] = refs
			delete(c.strangers, owner)
		}
	}
	c.mu.Unlock()
	var over, sent []jjm.AttemptID
	for id, last := range cancels { // without c.mu: it comes after the memory lock
		l, _, ok := c.e.attemptRow(id)
		if !ok {
			over = append(over, id)
			continue
		}
		ref, owner, known := c.e.refOf(&l)
		gone := now.Sub(last)
		if known && !c.controls.taken(c.account(owner)) && (gone >= c.e.conf().CancelAgain.D() || gone < 0) { // < 0: the clock was set back
			due[owner] = append(due[owner], ref)
			sent = append(sent, id)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range over {
		delete(c.cancels, id)
	}
	for _, id := range sent {
		c.cancels[id] = now
	}
	return due
}

// cancel runs one command; its failure only delays, for the cancel is repeated.
func (c *cluster) cancel(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) {
	cmd, done := c.command(ctx, c.account(owner))
	defer done()
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Cancel, refs)
	if err == nil {
		err = errors.Join(results...)
	}
	if err != nil && ctx.Err() == nil {
		c.e.complain(slog.LevelWarn, "cancel/"+c.name+"/"+owner.User, "cancel, to be repeated", "cluster", c.name, "jobs", len(refs), "error", err)
	}
	c.e.log.Debug("cancelled", "cluster", c.name, "jobs", len(refs))
	kick(c.watchKick)
	pause(ctx, 10*time.Millisecond)
}

// cancelStranger hands a second batch job of one attempt to the control loop.
func (e *Engine) cancelStranger(l *jjm.LocalJob, owner jjm.Owner, ref adapters.Ref) {
	e.mem.RLock()
	b := e.bulks[l.Tag]
	e.mem.RUnlock()
	if b == nil || e.clusters[b.Cluster] == nil {
		return
	}
	c := e.clusters[b.Cluster]
	c.mu.Lock()
	if c.strangers == nil {
		c.strangers = map[jjm.Owner][]adapters.Ref{}
	}
	c.strangers[owner] = append(c.strangers[owner], ref)
	c.mu.Unlock()
	kick(c.controlKick)
}

// clusterOf gives the cluster of an open bulk, or nil.
func (e *Engine) clusterOf(tag jjm.Tag) *cluster {
	e.mem.RLock()
	defer e.mem.RUnlock()
	if b := e.bulks[tag]; b != nil {
		return e.clusters[b.Cluster]
	}
	return nil
}

// askCancel hands an attempt to its cluster's control loop.
func (e *Engine) askCancel(l *jjm.LocalJob) {
	e.mem.RLock()
	b := e.bulks[l.Tag]
	var c *cluster
	if b != nil {
		c = e.clusters[b.Cluster]
	}
	e.mem.RUnlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	if _, known := c.cancels[l.AttemptID()]; !known {
		c.cancels[l.AttemptID()] = c.e.now().Add(-c.e.conf().CancelAgain.D())
	}
	c.mu.Unlock()
	kick(c.controlKick)
}

// refOf names the batch job of an attempt; ok is false while its id is not
// known.
func (e *Engine) refOf(l *jjm.LocalJob) (adapters.Ref, jjm.Owner, bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	b := e.bulks[l.Tag]
	if b == nil {
		return adapters.Ref{}, jjm.Owner{}, false
	}
	if l.BatchID != "" && !partOf(l.BatchID, b.ID) { // pointed to a double, or the bulk's own id was never learnt
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, b.Owner, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.Owner, b.ID != ""
}
