package cluster

import (
	"context"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Carries reports whether the batch system of a bulk must carry files to and from the workers, because the workers do
// not see the work area. It returns false if the bulk is not open or the site no longer has its cluster.
func (cs *Clusters) Carries(tag jjm.Tag) bool {
	v := cs.s.View()
	defer v.Close()
	b := v.Bulk(tag)
	if b == nil {
		return false
	}
	c := cs.all[b.Cluster]
	return c != nil && !c.Adapter.Capabilities().SharedFS
}

// CancelDuplicate orders the control loop to cancel ref, a second batch job of the current attempt of l. It does
// nothing if the bulk of the attempt is closed, or if the site no longer has the cluster.
func (cs *Clusters) CancelDuplicate(l *jjm.LocalJob, owner jjm.Owner, ref adapters.Ref) {
	v := cs.s.View()
	b := v.Bulk(l.Tag)
	v.Close()
	if b == nil || cs.all[b.Cluster] == nil {
		return
	}
	c := cs.all[b.Cluster]
	c.controller.AddDuplicate(owner, ref)
}

// clusterOf returns the cluster of an open bulk. It returns nil if the bulk is not open or the site no longer has the
// cluster.
func (cs *Clusters) clusterOf(tag jjm.Tag) *Cluster {
	v := cs.s.View()
	defer v.Close()
	if b := v.Bulk(tag); b != nil {
		return cs.all[b.Cluster]
	}
	return nil
}

// AskCancel orders the control loop to cancel the batch job of the current attempt of l. It does nothing if the bulk is
// closed, or if the site no longer has the cluster.
func (cs *Clusters) AskCancel(l *jjm.LocalJob) {
	v := cs.s.View()
	b := v.Bulk(l.Tag)
	var c *Cluster
	if b != nil {
		c = cs.all[b.Cluster]
	}
	v.Close()
	if c == nil {
		return
	}
	c.controller.AddCancel(l.AttemptID())
}

// Leaving returns a function for the case that jjm stops waiting for the batch job of a local job. The function gets
// the bulk and the local job while both are live, and returns a second function that orders one cancel of the batch
// job. The second function also works after the attempt and its bulk are over. It does nothing if the batch id is
// unknown or the site no longer has the cluster.
func Leaving(cs *Clusters) func(*state.Bulk, *jjm.LocalJob) func() {
	return func(b *state.Bulk, l *jjm.LocalJob) func() {
		ref, known := system.RefIn(b, l)
		c, owner := cs.all[b.Cluster], b.Owner
		if !known || c == nil {
			return func() {}
		}
		return func() { c.controller.AddDuplicate(owner, ref) }
	}
}

// RefOf returns the batch job of the current attempt of l, and the owner of its bulk. ok is false if the bulk is
// closed, or if the batch system's id is not known.
func (cs *Clusters) RefOf(l *jjm.LocalJob) (ref adapters.Ref, owner jjm.Owner, ok bool) {
	return system.RefOf(cs.s, l)
}

// Settle returns how long a result of a bulk waits for the batch system's final report. open is false if the bulk is
// not open or the site no longer has the cluster.
func (cs *Clusters) Settle(tag jjm.Tag) (d time.Duration, open bool) {
	c := cs.clusterOf(tag)
	if c == nil {
		return 0, false
	}
	return c.batchSettle(), true
}

// WakeReleases orders the control loops to carry out the releases that a change stored.
func (cs *Clusters) WakeReleases(c *state.Change) {
	for _, id := range c.Releases {
		if cl := cs.all[c.Locals[id.LocalID].Cluster]; cl != nil {
			cl.controller.AskRelease(id)
		}
	}
}

// Halting returns a function that cancels the batch jobs of a grid job's local jobs that are to be killed, on the
// clusters where a cancel is final. After the function has returned, none of the cancelled jobs starts. If a cancel
// fails, the function logs the error, and the control loop sends the cancel again. On other clusters the function does
// nothing: there, the claims of the daemon prevent wrappers from starting the application.
func Halting(cs *Clusters) func(context.Context, jjm.GridID) {
	return func(ctx context.Context, id jjm.GridID) {
		for _, name := range cs.s.Names {
			cs.all[name].halter.All(ctx, func(g *state.Grid) bool { return g.Job.ID == id })
		}
	}
}

// RecallAccounts makes the watch loops list the accounts of all live grid jobs for some time after a restart, even
// accounts without an open bulk, because strays of these accounts may still run.
func (cs *Clusters) RecallAccounts() {
	v := cs.s.View()
	defer v.Close()
	for _, c := range cs.all {
		for _, g := range v.Grids() {
			c.watcher.Recall(c.Account(g.Job.Owner))
		}
	}
}
