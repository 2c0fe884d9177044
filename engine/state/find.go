package state

import (
	"context"

	"jjm"
	"jjm/wire"
)

// Find returns a grid job that the caller may see, live or finished.
func (s *State) Find(ctx context.Context, caller wire.Caller, id jjm.GridID) (jjm.GridJob, error) {
	s.mem.RLock()
	g := s.grids[id]
	var job jjm.GridJob
	if g != nil {
		job = g.Job
	}
	s.mem.RUnlock()
	if g == nil {
		var err error
		if job, err = s.B.Store.Grid(ctx, id); err != nil {
			return jjm.GridJob{}, err
		}
	}
	if !caller.May(job.Owner.UID) {
		return jjm.GridJob{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, job.Owner.User)
	}
	return job, nil
}
