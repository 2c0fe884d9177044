package state

import (
	"jjm/internal/jjm"
)

// Usage returns the resources that the grid job used. Before the end of the grid job it returns nil, except for a grid
// job with only one local job, which has a batch id.
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

// Memo returns the gatekeeper's note to itself once the grid job is final, else "".
func (g *Grid) Memo() string {
	if g.Job.Origin == nil || !g.Job.Status.Final() {
		return ""
	}
	return g.Job.Origin.Memo
}

// processors returns how many cores each local job has.
func processors(spec *jjm.Spec) int { return max(spec.Request.Cores, 1) }

// AddUsage adds what a local job used to the usage of its grid job. ev is the evidence of
// its last attempt.
func AddUsage(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) {
	if job.Usage == nil {
		job.Usage = &jjm.Usage{Processors: processors(&job.Spec)}
	}
	job.Usage.Signal = 0
	if l.ID.N == 0 { // local jobs come in order; a second local job clears the signal
		job.Usage.Batch, job.Usage.Host, job.Usage.Signal = l.BatchID, l.Host, jjm.SignalOf(ev)
	}
	job.Usage.Add(ev, l.Started, l.Ended)
}
