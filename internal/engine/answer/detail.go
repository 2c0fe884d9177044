package answer

import (
	"context"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// showDetail adds details to the status of a single local job that its row does not have: the folder in which it works,
// how its last attempt was judged, and the resources that it used.
func (an *Answers) showDetail(ctx context.Context, job *jjm.GridJob, s *wire.Status) error {
	l := &s.Locals[0]
	d := limitsOf(&job.Spec, l, an.b.Conf().Retry)
	d.Asked, d.MaxAutoResubmits = state.AskedAt(job, l.Place), state.AgainLimit(job, an.b.Conf())
	if l.Tag != "" {
		d.Folder = an.areas.WorkPath(job.Owner, shownAttempt(l))
	}
	attempts, err := attemptsOf(ctx, an.b.Store, job, l)
	if err != nil {
		return err
	}
	showUsed(d, attempts, l.RetryArgs)
	d.Silent = silenceOf(an.s, an.rooms.Clusters, job.Owner, l)
	s.Detail = d
	return nil
}

// silenceOf returns since when the cluster that has a local job of an owner has listed none of the owner's jobs, nil if
// it lists them or no cluster has the local job.
func silenceOf(s *state.State, clusters Clusters, owner jjm.Owner, l *jjm.LocalJob) *wire.Silence {
	if l.Over() || state.Unsent(l) != 0 || !slices.Contains(s.Names, l.Cluster) {
		return nil
	}
	v := s.View()
	defer v.Close()
	none := func(jjm.GridID) bool { return false }
	c := clusters.View(v.Memory, l.Cluster, none, func(uid int) bool { return uid == owner.UID })
	if len(c.Unlisted) > 0 {
		return &wire.Silence{AsOf: c.Unlisted[0].Last, Since: c.Unlisted[0].Since}
	}
	if c.Healthy {
		return nil
	}
	return &wire.Silence{AsOf: c.LastSeen, Since: c.Since}
}

// showUsed adds how the last ended attempt was judged, the resources that this attempt used, and the resources that all
// attempts used together. args are the present retry arguments of the local job.
func showUsed(d *wire.LocalDetail, attempts []wire.Attempt, args []string) {
	ended, lost := 0, 0
	all, wasted := &jjm.Usage{}, &jjm.Usage{}
	for i := range attempts {
		a := &attempts[i]
		if a.Used == nil {
			continue
		}
		d.Used, d.UsedBy, d.Evidence, d.Verdict = a.Used, a.Attempt, a.Evidence, a.Verdict
		all.Sum(a.Used)
		ended++
		if wire.Wasted(attempts, i, args) {
			wasted.Sum(a.Used)
			lost++
		}
	}
	if ended > 1 {
		d.UsedByAll = all
		if lost > 0 {
			d.Wasted = wasted
		}
	}
}

// limitsOf returns the limits on retries of a local job: the limits of the job file, and the limits of the site where
// the job file sets none. It also sets StartedFinal.
func limitsOf(spec *jjm.Spec, l *jjm.LocalJob, site jjm.Limits) *wire.LocalDetail {
	d := &wire.LocalDetail{Limits: spec.Retry.Or(site)}
	byLog := spec.Result == jjm.ResultGLF && l.Step != jjm.StepMerge
	if d.StartedFinal = !byLog && !spec.Retry.Asked(); d.StartedFinal {
		d.Limits.LateUnhandled = new(int)
	}
	return d
}
