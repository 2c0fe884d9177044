package answer

import (
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// nextAttempts counts the local jobs of a grid job that must wait before their next attempt
// may be submitted; nil if there are none.
func nextAttempts(g *state.Grid, now jjm.Time) *wire.NextAttempts {
	if g.Counts[jjm.Submitting] == 0 || g.Job.Kill {
		return nil
	}
	var next wire.NextAttempts
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.State != jjm.Submitting || l.Phase != jjm.RetryWait || l.NotBefore <= now {
			continue
		}
		if next.Jobs++; next.Jobs == 1 || l.NotBefore < next.First {
			next.First = l.NotBefore
		}
	}
	if next.Jobs == 0 {
		return nil
	}
	return &next
}
