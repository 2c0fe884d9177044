package answer

import (
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// expectedEnd returns when a grid job will end at the pace of the last hour. It returns nil if the grid job is not
// running, if more local jobs may be made, or if too few local jobs have ended.
func expectedEnd(g *state.Grid, now jjm.Time) *wire.ExpectedEnd {
	known := g.Closed() || !g.Processes() && g.Merge == nil
	if g.Job.Status != jjm.GridRunning || g.Job.Kill || !known {
		return nil
	}
	p := plan.Pace{Now: now, Left: max(g.Job.Step.Expected, len(g.Locals))}
	held := 0
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.Started != 0 && (p.Began == 0 || l.Started < p.Began) {
			p.Began = l.Started
		}
		switch {
		case l.IsHeld():
			held++
		case l.Over():
			p.Left--
			if l.State != jjm.Killed && l.Ended >= plan.PaceSince(now) {
				p.Ended++
			}
		}
	}
	p.Left -= held // held local jobs continue only after a release
	end := p.End()
	if end == 0 {
		return nil
	}
	return &wire.ExpectedEnd{At: end, Ended: p.Ended, Within: jjm.Duration(p.Within()), Held: held}
}
