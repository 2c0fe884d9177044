package engine

import (
	"context"
	"jjm"
	"jjm/wire"
)

// find gives a grid job that the caller may see, live or finished.
func (e *Engine) find(ctx context.Context, caller wire.Caller, id jjm.GridID) (jjm.GridJob, error) {
	e.mem.RLock()
	g := e.grids[id]
	var job jjm.GridJob
	if g != nil {
		job = g.job
	}
	e.mem.RUnlock()
	if g == nil {
		var err error
		if job, err = e.store.Grid(ctx, id); err != nil {
			return jjm.GridJob{}, err
		}
	}
	if !caller.May(job.Owner.UID) {
		return jjm.GridJob{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, job.Owner.User)
	}
	return job, nil
}
