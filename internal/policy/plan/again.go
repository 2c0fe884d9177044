package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// AgainRules are the site's limits of automatic resubmission (Ganga, auto_resubmit).
type AgainRules struct {
	// Most is the greatest number of automatic resubmissions of a local job.
	Most int
	// FailedShare is a share of the ended local jobs, above 0 and at most 1. While failed/(failed+completed) is
	// FailedShare or more, no local job is resubmitted. The limit does not apply to a grid job of one local job.
	FailedShare float64
}

// AgainFacts holds the facts that decide which failed local jobs of a grid job are resubmitted automatically.
type AgainFacts struct {
	// Wanted is true if the job file enables automatic resubmission.
	Wanted bool
	// Status is the status of the grid job. Kill is true once a kill of the grid job was requested. Failure is the reason
	// why the grid job failed permanently, "" if it did not.
	Status  jjm.GridStatus
	Kill    bool
	Failure string
	// Closed is true if no more local jobs will be made.
	Closed bool
	// Counts are the local jobs by state, without local jobs that gave their work back. Unsubmitted is as in GridFacts.
	Counts      [jjm.NumStates]int
	Unsubmitted int
	Locals      []jjm.LocalJob
	Rules       AgainRules
}

// Again decides which local jobs are resubmitted automatically now. stopped lists the failed local jobs for which no
// automatic resubmission will follow, with the reasons. The first match counts:
//
//	grid job not asking for it, being killed, collected, failed or over   none
//	local job not failed, to be killed, or forced to failed by a person   none
//	work given back, part never submitted                                 none
//	stopped before                                                        none
//	resubmitted Most times                                                stopped
//	share of failed local jobs too large, all local jobs have ended       stopped
//	share of failed local jobs too large, others may still complete       none: the local job waits
//	else                                                                  resubmitted
func Again(f AgainFacts) (run []int32, stopped []Left) {
	failed, completed := f.Counts[jjm.Failed], completedOf(f.Counts)
	if !f.Wanted || f.Kill || f.Failure != "" || f.Status.Final() || f.Status == jjm.Prepared || failed == 0 {
		return nil, nil
	}
	alone := f.Closed && len(f.Locals) == 1
	share := float64(failed) / float64(failed+completed)
	brake := !alone && share >= f.Rules.FailedShare
	all := f.Closed && over(f.Counts)+f.Unsubmitted == total(f.Counts)
	for i := range f.Locals {
		l := &f.Locals[i]
		switch {
		case l.State != jjm.Failed || l.Kill || l.Phase == jjm.Forced || l.Again.Stopped != "" || staysSo(l, nil) != "":
		case l.Again.Times >= f.Rules.Most:
			stopped = append(stopped, Left{l.ID.N, fmt.Sprintf("%d of at most %d automatic resubmissions were made",
				l.Again.Times, f.Rules.Most)})
		case brake && all:
			stopped = append(stopped, Left{l.ID.N, fmt.Sprintf("%d of %s failed, a share of %.2f, and the share must be "+
				"below %.2f", failed, jjm.Count(failed+completed, "ended local job"), share, f.Rules.FailedShare)})
		case brake:
		default:
			run = append(run, l.ID.N)
		}
	}
	return run, stopped
}

// Able separates the local jobs that can do their work again from the local jobs that cannot. why returns the reason
// why a local job cannot do its work again, "" if it can.
func Able(run []int32, why func(n int32) string) (able []int32, unable []Left) {
	for _, n := range run {
		if text := why(n); text != "" {
			unable = append(unable, Left{n, text})
		} else {
			able = append(able, n)
		}
	}
	return able, unable
}

// AutoKill returns the reason why jjm kills a grid job by itself, "" if jjm does not (Ganga: no subjob completed, and
// too many failed). jjm kills the grid job if at least limit local jobs failed; it never does so if limit is 0 or less.
// counts are the local jobs by state, without local jobs that gave their work back; closed is true if no more will be
// made. jjm does not kill a grid job whose local jobs have all ended.
func AutoKill(limit int, counts [jjm.NumStates]int, closed bool) string {
	failed := counts[jjm.Failed]
	if limit <= 0 || failed < limit || completedOf(counts) > 0 || closed && over(counts) == total(counts) {
		return ""
	}
	return fmt.Sprintf("auto_kill = %d: %s failed, and none completed", limit, jjm.Count(failed, "local job"))
}
