package engine

import (
	"context"
	"log/slog"

	"jjm"
	"jjm/store"
	"jjm/wire"
	"jjm/xmldb/head"
)

// Resolve gives the grid job that a handle names, of the caller's own or to an
// administrator.
func (e *Engine) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	if err := e.settle(ctx, caller, h); err != nil { // what was left a moment ago may be about another grid job
		return 0, err
	}
	named, err := e.store.Handle(ctx, h)
	switch {
	case err != nil:
		return 0, err
	case !caller.May(named.UID):
		return 0, jjm.Errorf(jjm.Denied, "%s belongs to another account", h)
	case named.Refused != "":
		return 0, &wire.Refused{Reason: named.Refused}
	}
	return named.Grid, nil
}

// keyed lets the handle of a request key mean a grid job.
func (c *change) keyed(uid int, key string, id jjm.GridID) error {
	if key == "" {
		return nil
	}
	return c.tx.PutHandle(jjm.HandleOf(uid, key), store.Handle{UID: uid, Grid: id, Time: c.now})
}

// nameAgain does so for a grid job that was there already: one that was
// accepted before jjm knew handles has none.
func (e *Engine) nameAgain(ctx context.Context, c *change, uid int, key string, id jjm.GridID) error {
	if h, err := e.store.Handle(ctx, jjm.HandleOf(uid, key)); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return c.keyed(uid, key, id)
}

// pointHandle lets clients find the record of a grid job by its handle while
// the daemon is down. It reports whether that is done.
func (e *Engine) pointHandle(g *grid) bool {
	e.mem.RLock()
	done, key, owner, id := g.pointed, g.job.Spec.Key, g.job.Owner.UID, g.job.ID
	e.mem.RUnlock()
	if done || key == "" {
		return true
	}
	if err := head.Point(e.deps.RecordDir, jjm.HandleOf(owner, key), id); err != nil {
		e.complain(slog.LevelError, "handle/"+id.String(), "handle could not be written down, trying again", "job", id, "error", err)
		return false
	}
	e.mem.Lock()
	g.pointed = true
	e.mem.Unlock()
	return true
}

// loadHandle marks a grid job whose handle does not lead to it yet.
func (e *Engine) loadHandle(g *grid) {
	if g.job.Spec.Key == "" {
		return
	}
	id, err := head.ByHandle(e.deps.RecordDir, jjm.HandleOf(g.job.Owner.UID, g.job.Spec.Key))
	g.pointed = err == nil && id >= g.job.ID
	g.headDirty = g.headDirty || !g.pointed
}

// usage is what a gatekeeper is told that the grid job used. The memory lock is
// held, or g is our own.
func (g *grid) usage() *jjm.Usage {
	switch {
	case g.job.Status.Final():
		return g.job.Usage
	case len(g.locals) != 1 || g.locals[0].BatchID == "":
		return nil
	}
	l := &g.locals[0]
	return &jjm.Usage{Batch: l.BatchID, Host: l.Host, Started: l.Started, Processors: processors(&g.job.Spec)}
}

// memo is what the gatekeeper wanted to be reminded of at the end.
func (g *grid) memo() string {
	if g.job.Origin == nil || !g.job.Status.Final() {
		return ""
	}
	return g.job.Origin.Memo
}

// processors is how many cores each local job is given.
func processors(spec *jjm.Spec) int { return max(spec.Request.Cores, 1) }

// addUsage counts what a local job used.
func addUsage(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) {
	if job.Usage == nil {
		job.Usage = &jjm.Usage{Processors: processors(&job.Spec)}
	}
	job.Usage.Signal = 0
	if l.ID.N == 0 { // the first; the second takes the signal away again
		job.Usage.Batch, job.Usage.Host, job.Usage.Signal = l.BatchID, l.Host, jjm.SignalOf(ev)
	}
	job.Usage.Add(ev, l.Started, l.Ended)
}
