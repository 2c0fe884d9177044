package plan

import "jjm/internal/jjm"

// Master returns the Ganga status of a grid job, computed on read (decision R23) from the
// states of its local jobs. The first match counts (Ganga, design of job splitting):
//
//	1  any submitted or submitting   submitted
//	2  any running or completing     running
//	3  any failed                    failed     a held local job counts as failed
//	4  any completed                 completed  frozen or not
//	5  any killed                    killed
//	   any failed and frozen         failed
//	   only new, or none             new
//
// runningFirst swaps rules 1 and 2 (Ganga's Savannah request 29843). New local jobs do not count if there are local
// jobs in other states. While more are to come (decision R12, see MoreToCome), rules 3-5 do not apply: the status is
// submitted if all local jobs that are not new were killed, else running.
func Master(counts [jjm.NumStates]int, moreToCome, runningFirst bool) string {
	submitted := counts[jjm.Submitted]+counts[jjm.Submitting] > 0
	running := counts[jjm.Running]+counts[jjm.Completing] > 0
	switch {
	case running && (runningFirst || !submitted):
		return "running"
	case submitted:
		return "submitted"
	case total(counts) == counts[jjm.New]:
		return "new"
	case moreToCome && total(counts) == counts[jjm.New]+counts[jjm.Killed]:
		return "submitted"
	case moreToCome:
		return "running"
	case counts[jjm.Failed]+counts[jjm.Held] > 0:
		return "failed"
	case completedOf(counts) > 0:
		return "completed"
	case counts[jjm.Killed] > 0:
		return "killed"
	}
	return "failed" // the rest are failed_frozen and new local jobs
}

// MoreToCome reports whether local jobs must still be made or submitted (decision R12), so that the ended local jobs do
// not yet decide the status of the grid job. unsent counts the new local jobs that are to be submitted. It returns
// false if the grid job is being killed, collects its outputs, or has ended.
func MoreToCome(status jjm.GridStatus, kill, closed bool, unsent int) bool {
	return !kill && !status.Final() && status != jjm.Prepared && (!closed || unsent > 0)
}

// GRAMFacts holds the facts that decide the state shown to a gatekeeper.
type GRAMFacts struct {
	Status jjm.GridStatus
	// Counts, GivenBack, EverSubmitted and EverRan are as in GridFacts.
	Counts                 [jjm.NumStates]int
	GivenBack              int
	EverSubmitted, EverRan bool
	// Unsubmitted counts the local jobs in Counts that are new and not to be submitted (jjm.Unsubmitted).
	Unsubmitted int
	// Closed is true if no more local jobs will be made.
	Closed bool
	// Reason is GridJob.Reason.
	Reason string
}

// GRAM returns the state that a gatekeeper sees, its error code (0 unless FAILED) and a
// message for people (requirement J11, decisions R9-R12):
//
//	done, finished, aborted                               8 DONE: the tar is complete
//	failed, broken                                        4 FAILED, code 17
//	paused                                                16 SUSPENDED
//	prepared                                              2 ACTIVE: outputs are being collected
//	closed, and all local jobs that have not ended held   16 SUSPENDED
//	a local job ever ran, or all have ended               2 ACTIVE, except if all were refused, or it is registered
//	a local job was ever submitted                        1 PENDING
//	otherwise                                             32 UNSUBMITTED
//
// It never returns DONE or FAILED for a grid job that is not final, and never goes back in the
// order 32, 1, 2.
func GRAM(f GRAMFacts) (state jjm.GRAM, code int, message string) {
	n := total(f.Counts)
	live := n - over(f.Counts) - f.Unsubmitted
	// a grid job all of whose local jobs were refused may become registered again, which is told as UNSUBMITTED
	allEnded := n > f.Unsubmitted && live == 0 && f.Status != jjm.Registered
	message = also(f.Reason, Summary(f.Counts, f.GivenBack))
	switch f.Status {
	case jjm.Done, jjm.Finished, jjm.Aborted:
		return jjm.GRAMDone, 0, finalMessage(f)
	case jjm.GridFailed, jjm.Broken:
		return jjm.GRAMFailed, jjm.GRAMExecutionFailed, finalMessage(f)
	case jjm.Paused:
		return jjm.GRAMSuspended, 0, message
	case jjm.Prepared:
		return jjm.GRAMActive, 0, message
	}
	switch {
	case f.Closed && live > 0 && live == f.Counts[jjm.Held] && f.Status != jjm.Aborting:
		return jjm.GRAMSuspended, 0, message
	case f.EverRan, allEnded && (f.Closed || f.Status == jjm.Aborting):
		return jjm.GRAMActive, 0, message
	case f.EverSubmitted:
		return jjm.GRAMPending, 0, message
	}
	return jjm.GRAMUnsubmitted, 0, message
}

// finalMessage returns the reason of a final status, which already includes the counts. If there is no reason, it
// returns the counts.
func finalMessage(f GRAMFacts) string {
	if f.Reason != "" {
		return f.Reason
	}
	return Summary(f.Counts, f.GivenBack)
}

// ExitFacts holds the facts that decide the exit code of a grid job.
type ExitFacts struct {
	Status jjm.GridStatus
	// Locals is the number of local jobs; Exit is the exit code of the only local job, -1 if
	// there is none.
	Locals int
	Exit   int
	// NotDone is the code of a grid job of several local jobs that is not done
	// (engine.exit_not_done; 0 means 1).
	NotDone int
}

// ExitCode returns the exit code of a grid job (decision R11), -1 while the grid job is not final. The code is 0 only
// if the grid job is done, because an application may report FAILED and exit with 0. Otherwise the code is the exit
// code of the only local job if that exit code is above 0, else NotDone.
func ExitCode(f ExitFacts) int {
	notDone := f.NotDone
	if notDone == 0 {
		notDone = 1
	}
	switch {
	case !f.Status.Final():
		return -1
	case f.Status == jjm.Done:
		return 0
	case f.Locals == 1 && f.Exit > 0:
		return f.Exit
	}
	return notDone
}
