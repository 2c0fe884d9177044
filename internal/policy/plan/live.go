package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// LiveInput is a local job and a batch report about its current attempt.
type LiveInput struct {
	State jjm.State
	Phase jjm.Phase
	// Restarts is the number of restarts by the batch system in the previous report.
	Restarts int
	// OwnHold is true while jjm itself holds the attempt, because its bulk is submitted
	// in two phases and not released yet.
	OwnHold bool
	Report  jjm.Report
}

// LiveChange is the state of the local job after the report.
type LiveChange struct {
	State    jjm.State
	Phase    jjm.Phase
	Restarts int
	// Changed is false if there is nothing to store: State and Phase are the same as before, and the report has no new
	// restart.
	Changed bool
	// Cause is the cause of the change, for the journal.
	Cause string
}

// Live returns the state of a local job after a batch report. A running job does not go back to queued or starting,
// because listings may arrive in the wrong order and schedulers may briefly report an old state, unless the batch
// system counts a new restart. A hold by the batch system is always shown, because a person has to act on it. Local
// jobs that no batch system has (new, ended, held, waiting for their next attempt) and completing local jobs are not
// changed.
func Live(in LiveInput) LiveChange {
	out := LiveChange{State: in.State, Phase: in.Phase, Restarts: max(in.Restarts, in.Report.Restarts)}
	if !listens(in) {
		out.Restarts = in.Restarts
		return out
	}
	restarted := in.Report.Restarts > in.Restarts
	state, phase := place(in.Report.State, in.OwnHold)
	if back := in.State == jjm.Running && state == jjm.Submitted; back && !restarted && phase != jjm.BatchHeld {
		return out
	}
	out.Changed = restarted || state != in.State || phase != in.Phase
	out.State, out.Phase = state, phase
	if out.Changed {
		out.Cause = liveCause(in.Report, restarted)
	}
	return out
}

// listens reports whether the report can change the local job.
func listens(in LiveInput) bool {
	switch {
	case !in.Report.State.Alive(), in.Phase == jjm.RetryWait:
		return false
	}
	return in.State == jjm.Submitting || in.State == jjm.Submitted || in.State == jjm.Running
}

// place returns the state and phase of a local job whose batch job is in state s.
func place(s jjm.BatchState, ownHold bool) (jjm.State, jjm.Phase) {
	switch s {
	case jjm.BatchRunning, jjm.BatchSuspended:
		return jjm.Running, ""
	case jjm.BatchStarting:
		return jjm.Submitted, jjm.Starting
	case jjm.BatchHold:
		if !ownHold {
			return jjm.Submitted, jjm.BatchHeld
		}
	}
	return jjm.Submitted, jjm.Queued
}

func liveCause(r jjm.Report, restarted bool) string {
	s := "batch system says " + r.State.String()
	if r.Host != "" {
		s += " on " + r.Host
	}
	if restarted {
		s += fmt.Sprintf(", restarted by it (restart %d)", r.Restarts)
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}
