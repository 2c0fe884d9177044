package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/fair"
)

// Carries reports whether the workers of a bulk's cluster do not see the work
// area.
func (cs *Clusters) Carries(tag jjm.Tag) bool {
	cs.s.Mem.RLock()
	defer cs.s.Mem.RUnlock()
	b := cs.s.Bulks[tag]
	if b == nil {
		return false
	}
	c := cs.all[b.Cluster]
	return c != nil && !c.adapter.Capabilities().SharedFS
}

// controlLoop sends cancels and releases of held jobs, and sends them again until
// the end is confirmed.
func (c *Cluster) controlLoop(ctx context.Context) {
	defer c.controls.All.Wait()
	for ctx.Err() == nil {
		cancels, releases := c.cancelsDue(), c.releasesDue()
		for owner := range owners(cancels, releases) {
			c.controls.Do(c.account(owner), func() {
				if refs := cancels[owner]; len(refs) > 0 {
					c.cancel(ctx, owner, refs)
				}
				c.releaseHeld(ctx, owner, releases[owner])
			}, func() { fair.Kick(c.controlKick) })
		}
		fair.WaitKick(ctx, c.controlKick, c.b.Conf().CancelAgain.D()/4)
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
func (c *Cluster) cancelsDue() (due map[jjm.Owner][]adapters.Ref) {
	due = map[jjm.Owner][]adapters.Ref{}
	now := c.b.Now()
	c.mu.Lock()
	cancels := maps.Clone(c.cancels)
	for owner, refs := range c.strangers {
		if !c.controls.Taken(c.account(owner)) {
			due[owner] = refs
			delete(c.strangers, owner)
		}
	}
	c.mu.Unlock()
	var over, sent []jjm.AttemptID
	for id, last := range cancels { // without c.mu: it comes after the memory lock
		l, _, ok := c.s.AttemptRow(id)
		if !ok {
			over = append(over, id)
			continue
		}
		ref, owner, known := c.cs.RefOf(&l)
		gone := now.Sub(last)
		if known && !c.controls.Taken(c.account(owner)) && (gone >= c.b.Conf().CancelAgain.D() || gone < 0) { // < 0: the clock was set back
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
func (c *Cluster) cancel(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) {
	cmd, done := c.command(ctx, c.account(owner))
	defer done()
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Cancel, refs)
	if err == nil {
		err = errors.Join(results...)
	}
	if err != nil && ctx.Err() == nil {
		c.b.Complain(slog.LevelWarn, "cancel/"+c.name+"/"+owner.User, "cancel, to be repeated", "cluster", c.name, "jobs", len(refs), "error", err)
	}
	c.b.Log.Debug("cancelled", "cluster", c.name, "jobs", len(refs))
	fair.Kick(c.watchKick)
	fair.Pause(ctx, 10*time.Millisecond)
}

// CancelStranger hands a second batch job of one attempt to the control loop.
func (cs *Clusters) CancelStranger(l *jjm.LocalJob, owner jjm.Owner, ref adapters.Ref) {
	cs.s.Mem.RLock()
	b := cs.s.Bulks[l.Tag]
	cs.s.Mem.RUnlock()
	if b == nil || cs.all[b.Cluster] == nil {
		return
	}
	c := cs.all[b.Cluster]
	c.mu.Lock()
	if c.strangers == nil {
		c.strangers = map[jjm.Owner][]adapters.Ref{}
	}
	c.strangers[owner] = append(c.strangers[owner], ref)
	c.mu.Unlock()
	fair.Kick(c.controlKick)
}

// clusterOf gives the cluster of an open bulk, or nil.
func (cs *Clusters) clusterOf(tag jjm.Tag) *Cluster {
	cs.s.Mem.RLock()
	defer cs.s.Mem.RUnlock()
	if b := cs.s.Bulks[tag]; b != nil {
		return cs.all[b.Cluster]
	}
	return nil
}

// AskCancel hands an attempt to its cluster's control loop.
func (cs *Clusters) AskCancel(l *jjm.LocalJob) {
	cs.s.Mem.RLock()
	b := cs.s.Bulks[l.Tag]
	var c *Cluster
	if b != nil {
		c = cs.all[b.Cluster]
	}
	cs.s.Mem.RUnlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	if _, known := c.cancels[l.AttemptID()]; !known {
		c.cancels[l.AttemptID()] = c.b.Now().Add(-c.b.Conf().CancelAgain.D())
	}
	c.mu.Unlock()
	fair.Kick(c.controlKick)
}

// RefOf names the batch job of an attempt; ok is false while its id is not
// known.
func (cs *Clusters) RefOf(l *jjm.LocalJob) (adapters.Ref, jjm.Owner, bool) {
	cs.s.Mem.RLock()
	defer cs.s.Mem.RUnlock()
	b := cs.s.Bulks[l.Tag]
	if b == nil {
		return adapters.Ref{}, jjm.Owner{}, false
	}
	if l.BatchID != "" && !partOf(l.BatchID, b.ID) { // pointed to a double, or the bulk's own id was never learnt
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, b.Owner, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.Owner, b.ID != ""
}

// Settle is how long a result of a bulk waits for the batch system's last word; open is
// false if the bulk is not open any more.
func (cs *Clusters) Settle(tag jjm.Tag) (d time.Duration, open bool) {
	c := cs.clusterOf(tag)
	if c == nil {
		return 0, false
	}
	return c.batchSettle(), true
}
