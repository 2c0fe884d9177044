package state

import (
	"jjm"
)

// Usage is what a gatekeeper is told that the grid job used.
func (g *Grid) Usage() *jjm.Usage {
	switch {
	case g.Job.Status.Final():
		return g.Job.Usage
	case len(g.Locals) != 1 || g.Locals[0].BatchID == "":
		return nil
	}
	l := &g.Locals[0]
	return &jjm.Usage{Batch: l.BatchID, Host: l.Host, Started: l.Started, Processors: processors(&g.Job.Spec)}
}

// Memo is what the gatekeeper wanted to be reminded of at the end.
func (g *Grid) Memo() string {
	if g.Job.Origin == nil || !g.Job.Status.Final() {
		return ""
	}
	return g.Job.Origin.Memo
}

// processors is how many cores each local job is given.
func processors(spec *jjm.Spec) int { return max(spec.Request.Cores, 1) }

// AddUsage counts what a local job used.
func AddUsage(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) {
	if job.Usage == nil {
		job.Usage = &jjm.Usage{Processors: processors(&job.Spec)}
	}
	job.Usage.Signal = 0
	if l.ID.N == 0 { // the first; the second takes the signal away again
		job.Usage.Batch, job.Usage.Host, job.Usage.Signal = l.BatchID, l.Host, jjm.SignalOf(ev)
	}
	job.Usage.Add(ev, l.Started, l.Ended)
}
