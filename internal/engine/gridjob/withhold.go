package gridjob

import (
	"context"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// withhold marks at most chunk new local jobs of a grid job as not to be submitted, because a refusal stopped the
// submissions of the grid job (GridJob.Stopped).
func withhold(ctx context.Context, s *state.State, id jjm.GridID, chunk int) error {
	return s.Change(ctx, "withhold", func(c *state.Change) error {
		g := c.Live.Grid(id)
		if g == nil {
			return nil
		}
		text := "not attempted: " + g.Job.Stopped
		for _, local := range state.ToWithhold(g, chunk) {
			l := c.Local(local)
			l.Message, l.Ended = text, c.Now
			c.Move(l, jjm.New, jjm.Unsubmitted, text)
		}
		return nil
	})
}
