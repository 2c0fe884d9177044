package answer

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// showSteps adds the steps from the store to the status of a grid job whose steps memory does not have.
func (an *Answers) showSteps(ctx context.Context, job *jjm.GridJob, s *wire.Status) error {
	if s.Steps != nil {
		return nil
	}
	all, err := an.s.StepsOf(ctx, job)
	s.Steps = wire.StepsOf(all)
	return err
}
