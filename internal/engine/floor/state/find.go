package state

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Find returns the row of a live grid job, or of a grid job in the history. The error is of kind Gone if the grid job
// does not exist, was removed or is to be removed, and Denied if the caller may not see it. State.Kept also returns a
// removed grid job.
func (s *State) Find(ctx context.Context, caller wire.Caller, id jjm.GridID) (jjm.GridJob, error) {
	job, gone, err := s.Kept(ctx, caller, id)
	if err != nil {
		return jjm.GridJob{}, err
	}
	if gone != nil {
		return jjm.GridJob{}, gone.Err()
	}
	return job, nil
}
