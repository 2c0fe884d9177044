package engine

import (
	"context"
	"time"

	"jjm"
	"jjm/xmldb"
)

// dropRescan is how often the drop folder is scanned beside the kernel's
// notifications.
const dropRescan = 10 * time.Second

// dropPatience is how long a fragment may wait for a record that is not there
// yet.
const dropPatience = time.Hour

// dropLoop takes fragments of records that outside programs leave in the drop
// folder.
func (e *Engine) dropLoop(ctx context.Context) {
	if e.deps.DropDir == "" {
		return
	}
	d, err := xmldb.OpenDrop(e.deps.DropDir, e.log.Warn)
	if err != nil {
		e.log.Error("fragments of records are not taken", "error", err)
		return
	}
	defer d.Close()
	var hint <-chan struct{}
	if e.deps.Notify {
		hint = d.Watch(ctx)
	}
	for ctx.Err() == nil {
		if err := e.takeDropped(ctx, d); err != nil && ctx.Err() == nil {
			e.log.Warn("drop folder", "error", err)
		}
		waitKick(ctx, hint, dropRescan)
	}
}

// takeDropped merges what lies in the folder. A fragment is taken only from the
// owner of the job it is about, or from an account that may do everything.
func (e *Engine) takeDropped(ctx context.Context, d *xmldb.Drop) error {
	found, err := d.Scan(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		err := e.mayDrop(f)
		if err == nil {
			err = e.addFragment(ctx, f.Fragment)
		}
		switch {
		case jjm.KindOf(err) == jjm.Busy && e.now().Sub(f.Modified) < dropPatience:
			// found again by the next scan
		case err != nil:
			f.Refuse(err)
		default:
			e.markDirty(f.Fragment.Grid, f.Fragment.Local)
			if err := f.Accept(); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFragment hands a fragment to the records. A job that the record on disk
// does not show yet is published first.
func (e *Engine) addFragment(ctx context.Context, f xmldb.Fragment) error {
	err := e.deps.Records.Add(f)
	if jjm.KindOf(err) != jjm.Gone {
		return err
	}
	e.publishNow(ctx, f.Grid)
	return e.deps.Records.Add(f)
}

// mayDrop says why the writer of a fragment may not speak for its job.
func (e *Engine) mayDrop(f xmldb.Dropped) error {
	e.mem.RLock()
	defer e.mem.RUnlock()
	g := e.grids[f.Fragment.Grid]
	if g == nil {
		return jjm.Errorf(jjm.Gone, "%s: no such live grid job", f.Fragment.Ref())
	}
	if f.UID != g.job.Owner.UID && f.UID != 0 {
		return jjm.Errorf(jjm.Denied, "%s belongs to %s (uid %d); the file to uid %d",
			f.Fragment.Ref(), g.job.Owner.User, g.job.Owner.UID, f.UID)
	}
	if int(f.Fragment.Local) >= len(g.locals) {
		return jjm.Errorf(jjm.Gone, "%s: the grid job has %d local jobs, numbered from 0", f.Fragment.Ref(), len(g.locals))
	}
	return nil
}

// markDirty lets the part of the record that a fragment is about be rewritten.
func (e *Engine) markDirty(id jjm.GridID, local int32) {
	e.mem.Lock()
	if g := e.grids[id]; g != nil {
		g.headDirty = true
		if local >= 0 {
			g.dirty[shardOf(local)] = true
		}
	}
	e.mem.Unlock()
	kick(e.pubKick)
}
