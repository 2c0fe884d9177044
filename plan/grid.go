package plan

import (
	"fmt"

	"jjm"
)

// GridFacts is all that decides the next step of a grid job.
type GridFacts struct {
	Status jjm.GridStatus
	// Kill is true once somebody asked to kill it. KillAsked is true when every
	// local job that is not over carries that intent already; false makes Grid
	// answer KillLocals (again).
	Kill      bool
	KillAsked bool
	// Prepared: work area and sandbox exist. Closed: no more local jobs will be
	// made. Made and Expected count local jobs.
	Prepared, Closed bool
	Made, Expected   int
	// Counts are the local jobs by state.
	Counts [jjm.NumStates]int
	// EverSubmitted and EverRan: did any local job ever reach a batch system,
	// did any ever run.
	EverSubmitted, EverRan bool
	// Merging counts the local jobs that only wait for their outputs to be merged.
	Merging int
	// TarReady: the output tar is complete. Of the Recorded outputs of completed
	// local jobs, whose size and checksum their wrappers noted, Lost are gone or
	// are not what they were.
	TarReady       bool
	Recorded, Lost int
	// Unproven says why it is not proven that all of the work was done exactly
	// once, "" if it is.
	Unproven string
	// Undecided says, of work that is done as far as jjm can tell, what it cannot
	// tell, as verify says it; "" if all is proven.
	Undecided string
	// Waits says why no cluster takes any of its local jobs now, "" if one does.
	Waits string
	// Paused says who paused it and why, "" if nobody did.
	Paused string
	// Idle says why no more local jobs can be made just now, although the cutting
	// is not over: their input is still to come. "" if they can.
	Idle string
	// Failure says why preparing or generating failed for good, "" if it did
	// not.
	Failure string
}

// GridDo is the next step of a grid job.
type GridDo uint8

// The steps.
const (
	Nothing    GridDo = iota // wait for local jobs, the cluster or a person
	Prepare                  // make work area and sandbox
	Generate                 // make (more) local jobs
	KillLocals               // ask every local job that is not over to stop
	Collect                  // make the tar; then ask again with TarReady
	Finish                   // commit the final status together with the tar
)

func (d GridDo) String() string {
	return [...]string{"nothing", "prepare", "generate", "kill-locals", "collect", "finish"}[d]
}

// GridAction is the next step, with the status that the grid job has now
// (before the step is done; for Finish: the final one, to be committed with
// it).
type GridAction struct {
	Do     GridDo
	Status jjm.GridStatus
	// Reason explains a status that is pending, or final and not done.
	Reason string
}

// Grid decides the next step of a grid job (decisions R9-R13, R18). First
// match:
//
//	final                                      Nothing
//	a local job is not over, kill              aborting    KillLocals, or Nothing once all were asked
//	all local jobs over, kill                  aborting    Collect; Finish as aborted, even if some completed
//	failure, a local job is not over           as below    KillLocals if none was ever submitted;
//	                                                       else Nothing: what reached the batch system goes on
//	failure                                    prepared    Collect, Finish as broken, or by its local jobs if any went
//	somebody paused it, something left to do   paused      Nothing
//	not prepared                               registered  Prepare
//	not closed, idle                           pending or running                   Nothing
//	not closed                                 defined, ready, pending or running   Generate
//	a local job is not over                    ready, pending or running            Nothing
//	all over                                   prepared    Collect; Finish as done, finished, failed or aborted
//
// A held local job (GBS HOLD) is not over, so its grid job runs on until a
// person kills it (R9). Before anything was submitted the status
// is pending while no cluster takes its local jobs; afterwards running, whatever
// the clusters do. The status is prepared from the moment the last local job
// is over until the tar is complete, also when nothing ever ran (R10, R18).
func Grid(f GridFacts) GridAction {
	switch {
	case f.Status.Final():
		return GridAction{Status: f.Status}
	case f.Kill:
		return gridKilled(f)
	case f.Failure != "":
		return gridFailing(f)
	case f.Prepared && f.Closed && allOver(f):
		return gridCollect(f, jjm.Prepared)
	case f.Paused != "":
		return GridAction{Status: jjm.Paused, Reason: f.Paused}
	case !f.Prepared:
		return GridAction{Do: Prepare, Status: jjm.Registered}
	case !f.Closed && f.Idle != "" && f.Made == 0:
		return GridAction{Status: jjm.Pending, Reason: f.Idle}
	case !f.Closed && f.Idle == "":
		return gridLive(f, Generate)
	}
	return gridLive(f, Nothing)
}

// allOver reports whether every local job made so far is over. Where the counts
// and Made disagree the larger one is believed.
func allOver(f GridFacts) bool { return over(f.Counts) == max(f.Made, total(f.Counts)) }

func gridKilled(f GridFacts) GridAction {
	switch {
	case allOver(f):
		return gridCollect(f, jjm.Aborting)
	case f.KillAsked:
		return GridAction{Status: jjm.Aborting}
	}
	return GridAction{Do: KillLocals, Status: jjm.Aborting}
}

func gridFailing(f GridFacts) GridAction {
	if allOver(f) {
		return gridCollect(f, jjm.Prepared)
	}
	a := gridLive(f, KillLocals)
	waits := total(f.Counts) - over(f.Counts) // for a merge that nobody makes any more
	if f.EverSubmitted && (f.Merging == 0 || f.Merging < waits) || f.KillAsked {
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

// Final is the status that a grid job ends with, and the reason if that is not
// done, or if not all of it is proven. It is meaningful once all its local jobs are over:
//
//	killed on request, or every local job killed by itself   aborted
//	failure, nothing ever submitted                          broken
//	no local jobs                                            broken
//	all completed (and no failure), nothing of it lost,
//	and it is proven that all of the work was done           done
//	some completed                                           finished
//	none completed                                           failed
func Final(f GridFacts) (jjm.GridStatus, string) {
	n, completed := total(f.Counts), f.Counts[jjm.Completed]
	switch {
	case f.Kill:
		return jjm.Aborted, also("killed on request", Summary(f.Counts))
	case f.Failure != "" && !f.EverSubmitted:
		return jjm.Broken, f.Failure
	case n == 0:
		return jjm.Broken, "the grid job made no local jobs"
	case completed == n && f.Failure == "" && f.Lost == 0 && f.Unproven == "":
		return jjm.Done, f.Undecided
	case completed > 0:
		return jjm.Finished, also(f.Failure, also(Summary(f.Counts), also(lost(f), f.Unproven)))
	case f.Counts[jjm.Killed] == n && f.Failure == "":
		return jjm.Aborted, also("every local job was killed", Summary(f.Counts))
	}
	return jjm.GridFailed, also(f.Failure, Summary(f.Counts))
}

// lost says how many outputs are not what they were (decision R34).
func lost(f GridFacts) string {
	if f.Lost == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%d of %d recorded outputs were changed or removed before they were collected: the tar's manifest names them",
		f.Lost, f.Recorded)
}

// Summary counts the local jobs for people: "7 of 10 local jobs completed, 2
// failed, 1 killed". It is "no local jobs" when there are none.
func Summary(counts [jjm.NumStates]int) string {
	n := total(counts)
	if n == 0 {
		return "no local jobs"
	}
	s := fmt.Sprintf("%d of %d local jobs completed", counts[jjm.Completed], n)
	for _, st := range [...]jjm.State{jjm.Failed, jjm.Killed, jjm.Held, jjm.Running, jjm.Completing,
		jjm.Submitted, jjm.Submitting, jjm.New} {
		if counts[st] > 0 {
			s += fmt.Sprintf(", %d %s", counts[st], st)
		}
	}
	return s
}

// also joins two clauses, either of which may be empty.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// total counts all local jobs, over those that are over.
func total(counts [jjm.NumStates]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func over(counts [jjm.NumStates]int) int {
	return counts[jjm.Completed] + counts[jjm.Failed] + counts[jjm.Killed]
}
