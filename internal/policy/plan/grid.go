package plan

import (
	"cmp"
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// GridFacts holds the facts that decide the next step of a grid job.
type GridFacts struct {
	Status jjm.GridStatus
	// Kill is true once a kill of the grid job was requested. KillAsked is true if all local
	// jobs that have not ended are marked to be killed; while it is false, Grid returns
	// KillLocals.
	Kill      bool
	KillAsked bool
	// KillReason is the reason why jjm kills the grid job, "" if a person or gatekeeper requested the kill.
	KillReason string
	// Prepared is true if work area and sandbox exist, Closed if no more local jobs will be made. Made and Expected are
	// numbers of local jobs.
	Prepared, Closed bool
	Made, Expected   int
	// Counts are the local jobs by state, without the local jobs whose work others do again. GivenBack counts these.
	Counts    [jjm.NumStates]int
	GivenBack int
	// Forced counts the local jobs that a person forced to completed. Nothing proves that their work is done.
	Forced int
	// EverSubmitted is true if a local job ever reached a batch system, EverRan if a local job ever ran.
	EverSubmitted, EverRan bool
	// Merging counts the local jobs that only wait for their outputs to be merged.
	Merging int
	// TarReady is true if the output tar is complete. Recorded is the number of outputs of completed local jobs whose
	// size and checksum the wrappers recorded. Lost is the number of these outputs that are gone or have changed.
	TarReady       bool
	Recorded, Lost int
	// Unproven is the reason why jjm could not prove that all work was done exactly once, "" if the proof did not fail.
	Unproven string
	// LeftOut is the work and the outputs that were left out.
	LeftOut jjm.LeftList
	// Undecided describes the work that is assumed to be done without a proof, in the words of verify; "" if all work
	// is proven.
	Undecided string
	// Proof is the basis of the proof that all work was done exactly once.
	Proof jjm.Proof
	// Unsubmitted counts the local jobs in Counts that are new and not to be submitted (jjm.Unsubmitted). Refusal is the
	// reason for the first of these local jobs. ToWithhold is true if the submissions were stopped, and not all new local
	// jobs are marked yet.
	Unsubmitted int
	Refusal     string
	ToWithhold  bool
	// Waits is the reason why no cluster accepts any of the local jobs now, "" if a cluster does.
	Waits string
	// Paused names the person who paused the grid job, and the reason; "" if the grid job is not paused.
	Paused string
	// AfterUnknown is true if the grid job begins after other grid jobs whose statuses are not known. After names the grid
	// jobs for which the grid job waits, "" if all have ended as required.
	AfterUnknown bool
	After        string
	// Fetching names the input that is being fetched before the grid job can be prepared, "" for none.
	Fetching string
	// Idle is the reason why no more local jobs can be made now although more will follow, because their input does not
	// exist yet; "" if more can be made.
	Idle string
	// Causes are the causes of failures of local jobs, the most frequent first.
	Causes []jjm.Cause
	// Failure is the reason why preparing or generating failed permanently, "" if it did not.
	Failure string
	// Keep is true if the grid job is kept if it fails before it has local jobs (jjm.RollbackKeep). Kept is true if the
	// grid job has been kept, and nobody has submitted it again since.
	Keep, Kept bool
	// Again is true if failed local jobs are to be resubmitted automatically now, or if their automatic resubmission
	// stops now; see the function Again.
	Again bool
	// AutoKill is the reason why jjm kills the grid job, "" if jjm does not; see the function AutoKill.
	AutoKill string
}

// GridDo is the next step of a grid job.
type GridDo uint8

// The steps.
const (
	Nothing    GridDo = iota // wait for local jobs, the cluster or a person
	Await                    // read the statuses of the grid jobs after which this grid job begins
	Prepare                  // make work area and sandbox
	Generate                 // make (more) local jobs
	KillLocals               // mark every local job that has not ended to be killed
	Collect                  // make the tar; then ask again with TarReady
	Finish                   // commit the final status together with the tar
	RunAgain                 // resubmit failed local jobs automatically
	KillItself               // store that jjm kills the grid job
	Withhold                 // mark new local jobs as not to be submitted
	RollBack                 // make the grid job registered again, and keep it with the reason
)

func (d GridDo) String() string {
	return [...]string{"nothing", "await", "prepare", "generate", "kill-locals", "collect", "finish", "run-again",
		"kill-itself", "withhold", "roll-back"}[d]
}

// GridAction is the next step of a grid job. Status is the status of the grid job until the step is done; for Finish,
// it is the final status to commit.
type GridAction struct {
	Do     GridDo
	Status jjm.GridStatus
	// Reason explains a status that is pending, or final and not done.
	Reason string
}

// Grid decides the next step of a grid job (decisions R9-R13, R18). The first match counts:
//
//	final                                      Nothing
//	a local job has not ended, kill            aborting    KillLocals, or Nothing once all are marked
//	all local jobs ended, kill                 aborting    Collect; Finish as aborted, even if some completed
//	kept                                       registered  Nothing, until a person submits it again
//	a refusal stopped the submissions          paused, ready, pending or running   Withhold
//	failure or no local jobs at all, to be kept            as before   RollBack
//	no local job was submitted, to be kept     as before   RollBack
//	failure, a local job has not ended         as below    KillLocals if none was ever submitted, or all that have not
//	                                                       ended wait for a merge; Nothing once all are marked, or
//	                                                       while a local job that reached a batch system goes on
//	failure                                    prepared    Collect, Finish as broken, or by its local jobs if any ran
//	local jobs run again by themselves         paused, ready or running            RunAgain
//	too many failed, none completed            as before   KillItself
//	paused by a person, something left to do   paused      Nothing
//	not prepared, begins after others          as before   Await, then Nothing while it waits for them, as pending
//	not prepared, an input is being fetched    pending     Nothing
//	not prepared                               registered  Prepare
//	not closed, idle                           pending or running                   Nothing
//	not closed                                 defined, ready, pending or running   Generate
//	a local job has not ended                  ready, pending or running            Nothing
//	all ended                                  prepared    Collect; Finish as done, finished, failed or aborted
//
// A held local job (GBS HOLD) has not ended, so its grid job is running until a person releases or kills it (R9).
// Before the first submission, the status is pending while no cluster accepts the local jobs. After the first
// submission it is running, even if no cluster accepts local jobs. The status is prepared from the end of the last
// local job until the tar is complete, even if no local job ever ran (R10, R18).
func Grid(f GridFacts) GridAction {
	switch {
	case f.Status.Final():
		return GridAction{Status: f.Status}
	case f.Kill:
		return gridKilled(f)
	case f.Kept:
		return GridAction{Status: jjm.Registered}
	case f.ToWithhold:
		return gridWorks(f, Withhold)
	case f.Keep && rollsBack(f):
		return GridAction{Do: RollBack, Status: f.Status, Reason: cmp.Or(f.Failure, allRefused(f), noLocalJobs)}
	case f.Failure != "":
		return gridFailing(f)
	case f.Again:
		return gridWorks(f, RunAgain)
	case f.Prepared && f.Closed && allOver(f):
		return gridCollect(f, jjm.Prepared)
	case f.AutoKill != "":
		return GridAction{Do: KillItself, Status: f.Status, Reason: f.AutoKill}
	case f.Paused != "":
		return GridAction{Status: jjm.Paused, Reason: f.Paused}
	case !f.Prepared && f.AfterUnknown:
		return gridAwait(f)
	case !f.Prepared && f.After != "":
		return GridAction{Status: jjm.Pending, Reason: f.After}
	case !f.Prepared && f.Fetching != "":
		return GridAction{Status: jjm.Pending, Reason: f.Fetching}
	case !f.Prepared:
		return GridAction{Do: Prepare, Status: jjm.Registered}
	case !f.Closed && f.Idle != "" && f.Made == 0:
		return GridAction{Status: jjm.Pending, Reason: f.Idle}
	case !f.Closed && f.Idle == "":
		return gridLive(f, Generate)
	}
	return gridLive(f, Nothing)
}

// noLocalJobs is the reason of a grid job that ended without local jobs.
const noLocalJobs = "the grid job made no local jobs"

// rollsBack reports whether a grid job failed before a batch system accepted any of its local jobs: it could not be
// prepared or cut, there was nothing to cut (ganga.md 5.1), or all local jobs were refused (ganga.md 5.4).
func rollsBack(f GridFacts) bool {
	none := max(f.Made, total(f.Counts)) == 0 && !f.EverSubmitted
	cut := f.Prepared && f.Closed
	return none && (f.Failure != "" || cut) || cut && f.Failure == "" && allRefused(f) != ""
}

// allRefused returns the refusal if no local job of a grid job was ever submitted and none will be, else "".
func allRefused(f GridFacts) string {
	if n := max(f.Made, total(f.Counts)); n == 0 || f.Unsubmitted != n || f.EverSubmitted {
		return ""
	}
	return also("no local job was submitted", f.Refusal)
}

// allOver reports whether all local jobs made so far have ended. If Counts and Made
// disagree, the larger number counts.
func allOver(f GridFacts) bool { return over(f.Counts)+f.Unsubmitted == max(f.Made, total(f.Counts)) }

// gridAwait keeps the status registered, and changes any other status to pending.
func gridAwait(f GridFacts) GridAction {
	if f.Status == jjm.Registered {
		return GridAction{Do: Await, Status: jjm.Registered}
	}
	return GridAction{Do: Await, Status: jjm.Pending, Reason: "looks how the grid jobs are that it begins after"}
}

func gridKilled(f GridFacts) GridAction {
	switch {
	case allOver(f) && f.Unsubmitted == 0:
		return gridCollect(f, jjm.Aborting)
	case f.KillAsked && f.Unsubmitted == 0:
		return GridAction{Status: jjm.Aborting}
	}
	return GridAction{Do: KillLocals, Status: jjm.Aborting}
}

func gridFailing(f GridFacts) GridAction {
	if allOver(f) {
		return gridCollect(f, jjm.Prepared)
	}
	a := gridLive(f, KillLocals)
	live := total(f.Counts) - over(f.Counts) - f.Unsubmitted // these local jobs wait for a merge that can no longer happen
	if f.EverSubmitted && (f.Merging == 0 || f.Merging < live) || f.KillAsked {
		a.Do = Nothing
	}
	a.Reason = f.Failure
	return a
}

func gridCollect(f GridFacts, meanwhile jjm.GridStatus) GridAction {
	if !f.TarReady {
		return GridAction{Do: Collect, Status: meanwhile}
	}
	status, reason := Final(f)
	return GridAction{Do: Finish, Status: status, Reason: reason}
}

// gridWorks returns a step that a pause does not prevent. A paused grid job stays paused.
func gridWorks(f GridFacts, do GridDo) GridAction {
	if f.Paused != "" {
		return GridAction{Do: do, Status: jjm.Paused, Reason: f.Paused}
	}
	return gridLive(f, do)
}

func gridLive(f GridFacts, do GridDo) GridAction {
	switch {
	case f.EverSubmitted:
		return GridAction{Do: do, Status: jjm.GridRunning}
	case f.Made == 0:
		return GridAction{Do: do, Status: jjm.Defined}
	case f.Waits != "":
		return GridAction{Do: do, Status: jjm.Pending, Reason: f.Waits}
	}
	return GridAction{Do: do, Status: jjm.Ready}
}

// Final returns the status with which a grid job ends. It also returns the reason, if the status is not done or not all
// work is proven. The reason always ends with a list of the work and outputs that were left out. The result is
// meaningful only after all local jobs have ended:
//
//	killed on request                                        aborted
//	failure, nothing ever submitted                          broken
//	no local jobs                                            broken
//	no local job submitted, now or in an earlier generation  broken
//	all completed, none of them forced, no failure, no output lost, nothing left
//	out that the job file does not ask for, and the proof
//	that all work was done did not fail                      done
//	some completed                                           finished
//	every local job killed one by one, no failure            aborted
//	none completed                                           failed
//
// A frozen local job that completed counts as completed. The work of a frozen local job that failed is not done, unless
// it was given back, in which case f.Counts does not count the local job.
func Final(f GridFacts) (jjm.GridStatus, string) {
	status, reason := ending(f)
	return status, also(reason, f.LeftOut.String())
}

// ending returns the status of Final, and the reason without the list of work and outputs left out.
func ending(f GridFacts) (jjm.GridStatus, string) {
	n, completed := total(f.Counts), completedOf(f.Counts)
	switch {
	case f.Kill:
		return jjm.Aborted, also(cmp.Or(f.KillReason, "killed on request"), ended(f))
	case f.Failure != "" && !f.EverSubmitted:
		return jjm.Broken, f.Failure
	case n == 0:
		return jjm.Broken, noLocalJobs
	case allRefused(f) != "":
		return jjm.Broken, allRefused(f)
	case completed == n && f.Failure == "" && f.Lost == 0 && f.Forced == 0 && f.Unproven == "" &&
		len(f.LeftOut.Unasked()) == 0:
		return jjm.Done, f.Undecided
	case completed > 0:
		return jjm.Finished, also(f.Failure, also(ended(f), also(forced(f), also(lost(f), f.Unproven))))
	case f.Counts[jjm.Killed] == n && f.Failure == "":
		return jjm.Aborted, also("every local job was killed", ended(f))
	}
	return jjm.GridFailed, also(f.Failure, ended(f))
}

// forced returns a text with the number of local jobs that a person forced to completed; "" for none.
func forced(f GridFacts) string {
	if f.Forced == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the completed local jobs forced by a person, which proves nothing", f.Forced)
}

// lost returns a text with the number of outputs that were lost before they were collected (decision R34); "" for none.
func lost(f GridFacts) string {
	if f.Lost == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%d of %s changed or removed before they were collected: the tar's manifest names them",
		f.Lost, jjm.Count(f.Recorded, "recorded output"))
}

// ended returns the summary of the local jobs, with the most frequent cause of failures:
// "18 of 20 local jobs done, 2 failed: exit code 3".
func ended(f GridFacts) string {
	s := Summary(f.Counts, f.GivenBack)
	if f.Unsubmitted > 0 && f.Counts[jjm.Failed] == 0 {
		return also(s, f.Refusal)
	}
	if len(f.Causes) == 0 || f.Causes[0].Text == "" || f.Causes[0].Again {
		return s
	}
	cause := f.Causes[0].Text
	if n := f.Counts[jjm.Failed] - f.Causes[0].Jobs; n > 0 {
		cause += fmt.Sprintf(", and %d for other reasons", n)
	}
	failed := fmt.Sprintf(", %d failed", f.Counts[jjm.Failed])
	if before, after, more := strings.Cut(s, failed+","); more {
		return before + failed + " (" + cause + ")," + after
	}
	return s + ": " + cause
}

// Summary returns the counts of local jobs for people, with the words of plain.Counts: "7 of 10 local jobs done, 2
// failed, 1 given back", or "no local jobs". back is the number of local jobs whose work others do again;
// counts leaves these local jobs out.
func Summary(counts [jjm.NumStates]int, back int) string {
	n := total(counts) + back
	if n == 0 {
		return "no local jobs"
	}
	return fmt.Sprintf("%d of %s done", completedOf(counts), jjm.Count(n, "local job")) + jjm.OtherCounts(counts, back)
}

// also joins two clauses with a semicolon; either may be empty.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// total returns the number of local jobs.
func total(counts [jjm.NumStates]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func over(counts [jjm.NumStates]int) int { return jjm.Ended(counts) }

// completedOf returns the number of local jobs that count as completed, frozen or not.
func completedOf(counts [jjm.NumStates]int) int {
	return counts[jjm.Completed] + counts[jjm.CompletedFrozen]
}
