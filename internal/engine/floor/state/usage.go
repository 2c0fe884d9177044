package state

import (
	"jjm/internal/jjm"
)

// Usage returns the resources that the grid job used, for gatekeepers. Before the end of the grid job it returns nil,
// with one exception: if the only local job of the grid job has a batch id, Usage returns the batch id, the host, the
// start and the number of cores.
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

// Memo returns the text that the gatekeeper stored with its submission for its own use. It returns "" before the end of
// the grid job, and if no gatekeeper submitted it.
func (g *Grid) Memo() string {
	if g.Job.Origin == nil || !g.Job.Status.Final() {
		return ""
	}
	return g.Job.Origin.Memo
}

// processors returns how many cores each local job of a grid job has, at least 1.
func processors(spec *jjm.Spec) int { return max(spec.Request.Cores, 1) }

// AddUsage adds the resources that a local job used to the usage of its grid job. ev is the evidence about its last
// attempt. Callers must add local jobs in the order of their numbers.
func AddUsage(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) {
	if job.Usage == nil {
		job.Usage = &jjm.Usage{Processors: processors(&job.Spec)}
	}
	job.Usage.Signal = 0
	if l.ID.N == 0 { // local jobs come in the order of their numbers; a second local job clears the signal
		job.Usage.Batch, job.Usage.Host, job.Usage.Signal = l.BatchID, l.Host, jjm.SignalOf(ev)
	}
	job.Usage.Add(ev, l.Started, l.Ended)
}
