package engine

import (
	"jjm"
)

// usage is what a gatekeeper is told that the grid job used. The memory lock is
// held, or g is our own.
func (g *grid) usage() *jjm.Usage {
	switch {
	case g.job.Status.Final():
		return g.job.Usage
	case len(g.locals) != 1 || g.locals[0].BatchID == "":
		return nil
	}
	l := &g.locals[0]
	return &jjm.Usage{Batch: l.BatchID, Host: l.Host, Started: l.Started, Processors: processors(&g.job.Spec)}
}

// memo is what the gatekeeper wanted to be reminded of at the end.
func (g *grid) memo() string {
	if g.job.Origin == nil || !g.job.Status.Final() {
		return ""
	}
	return g.job.Origin.Memo
}

// processors is how many cores each local job is given.
func processors(spec *jjm.Spec) int { return max(spec.Request.Cores, 1) }

// addUsage counts what a local job used.
func addUsage(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) {
	if job.Usage == nil {
		job.Usage = &jjm.Usage{Processors: processors(&job.Spec)}
	}
	job.Usage.Signal = 0
	if l.ID.N == 0 { // the first; the second takes the signal away again
		job.Usage.Batch, job.Usage.Host, job.Usage.Signal = l.BatchID, l.Host, jjm.SignalOf(ev)
	}
	job.Usage.Add(ev)
}
