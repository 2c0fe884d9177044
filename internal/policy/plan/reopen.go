package plan

import "jjm/internal/jjm"

// MayReopen returns an error of kind Conflict for an ended grid job that cannot be reopened.
func MayReopen(job *jjm.GridJob) error {
	switch {
	case job.Spec.Merge != nil:
		return Merges(job.ID)
	case job.Spec.Recovers != 0:
		return jjm.Errorf(jjm.Conflict, "it recovers grid job %s, which may do the same work again: reopen that one",
			job.Spec.Recovers)
	case len(job.Spec.Credentials) > 0:
		return jjm.Errorf(jjm.Conflict, "its credentials were removed when it ended: submit it again")
	case job.Step.Made == 0:
		return jjm.Errorf(jjm.Conflict, "it made no local jobs, so none can run again: jjm copy %s makes a new grid job "+
			"of its job file", job.ID)
	}
	return nil
}

// Merges returns an error of kind Conflict, for a grid job that merges its outputs and therefore cannot run local jobs
// again.
func Merges(id jjm.GridID) error {
	return jjm.Errorf(jjm.Conflict, "it merges its outputs, and those that were not merged are dropped: "+
		"a recovery does what is missing: jjm verify %s --recovery FILE", id)
}

// ResubmitHelps reports whether a person can resubmit a grid job of which the given number of local jobs failed. Texts
// that propose jjm resubmit ask it.
func ResubmitHelps(job *jjm.GridJob, failed int) bool {
	switch {
	case failed == 0 || job.Spec.Merge != nil:
		return false
	case job.Status.Final():
		return MayReopen(job) == nil
	}
	return !job.Kill && job.Status != jjm.Prepared
}
