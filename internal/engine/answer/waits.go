package answer

import (
	"fmt"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// waitsFor returns, for people, the reason why local jobs of a grid job make no progress: the limits on submissions, or
// the batch system's reason for the local jobs that it has.
func (an *Answers) waitsFor(mem state.Memory, g *state.Grid) string {
	if why := an.rooms.Clusters.Full(mem, g, jjm.At(an.b.Now())); why != "" {
		return why
	}
	return batchWaits(g)
}

// batchWaits returns the most frequent reason why local jobs wait in their batch systems, and the number of unfinished
// local jobs with this reason; "" if no local job waits, or no batch system reports a reason. Held local jobs do not
// count: they are shown as holds.
func batchWaits(g *state.Grid) string {
	n := map[string]int{}
	live, most := 0, ""
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.Over() {
			continue
		}
		live++
		if l.State != jjm.Submitted || l.IsHeld() || l.Waits == nil || l.Waits.Reason == "" {
			continue
		}
		why := l.Waits.Reason
		if n[why]++; n[why] > n[most] {
			most = why
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d of %s)", most, n[most], jjm.Count(live, "local job"))
}

// awaited returns the unfinished grid jobs after whose end job begins.
func awaited(mem state.Memory, job *jjm.GridJob) (ids []jjm.GridID) {
	if job.Step.Prepared || job.Status.Final() || job.Kill {
		return nil
	}
	for _, id := range job.Spec.After {
		p := plan.Predecessor{ID: id, Status: jjm.Done} // a grid job that memory does not have is over
		if g := mem.Grid(id); g != nil {
			p.Status = g.Job.Status
		}
		if _, p.Reopening = mem.Reopening(id); !p.Over() {
			ids = append(ids, id)
		}
	}
	return ids
}
