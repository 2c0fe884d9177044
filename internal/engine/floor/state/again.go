package state

import (
	"cmp"

	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// AgainFacts returns the input of plan.Again, which decides which failed local jobs of a grid job are resubmitted
// automatically.
func AgainFacts(g *Grid, conf *base.Config) plan.AgainFacts {
	spec := &g.Job.Spec
	return plan.AgainFacts{Wanted: spec.AutoResubmit && spec.Merge == nil, Status: g.Job.Status, Kill: g.Job.Kill,
		Failure: g.Failure(), Closed: g.Closed(), Counts: g.Counts, Unsubmitted: g.Unsubmitted, Locals: g.Locals,
		Rules: plan.AgainRules{Most: conf.MaxAutoResubmits, FailedShare: conf.AutoResubmitShare}}
}

// AutoKillReason returns the reason why jjm itself kills a grid job, "" if it does not. The reason is that many local
// jobs failed and none completed (plan.AutoKill).
func AutoKillReason(g *Grid, conf *base.Config) string {
	limit := *cmp.Or(g.Job.Spec.AutoKill, &conf.AutoKill)
	return plan.AutoKill(limit, g.Counts, g.Closed())
}

// AgainLimit returns how often a local job of a grid job may be resubmitted automatically; 0 if the job file does not
// enable automatic resubmission.
func AgainLimit(job *jjm.GridJob, conf *base.Config) int {
	if !job.Spec.AutoResubmit {
		return 0
	}
	return conf.MaxAutoResubmits
}
