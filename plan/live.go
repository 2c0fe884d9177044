package plan

import (
	"fmt"

	"jjm"
)

// LiveInput is a local job with a current attempt, and a batch report about
// that attempt.
type LiveInput struct {
	State jjm.State
	Phase jjm.Phase
	// Restarts is how often the batch system had restarted the attempt when it
	// was last seen.
	Restarts int
	// OwnHold is true while jjm itself holds the attempt: the bulk is two-phase
	// and not yet released.
	OwnHold bool
	Report  jjm.Report
}

// LiveChange is where the report puts the local job.
type LiveChange struct {
	State    jjm.State
	Phase    jjm.Phase
	Restarts int
	// Changed is false when State and Phase are as before and no restart was
	// seen: nothing to store or to journal.
	Changed bool
	// Cause is for the journal.
	Cause string
}

// Live moves a live attempt along by what its batch system says of it
// (decision R8).
//
//	report            local job becomes
//	QUEUED            submitted/queued
//	HELD              submitted/batch-held; submitted/queued if jjm holds it
//	STARTING          submitted/starting
//	RUNNING           running
//	SUSPENDED         running
//	UNKNOWN, ended    as it was: Missing and Ending decide about those
//
// It is monotone: a running job does not go back to queued or starting, for
// listings are out of order and schedulers flicker, unless the batch system
// counts a new restart. A hold by the batch system is always shown, because
// somebody has to act on it. Local jobs that are not in the batch system
// (new, over, held, or waiting for their next attempt) stay as they are, and
// so does one whose result is already being collected.
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

// listens reports whether a batch report can say anything about the local job.
func listens(in LiveInput) bool {
	switch {
	case !in.Report.State.Alive(), in.Phase == jjm.RetryWait:
		return false
	}
	return in.State == jjm.Submitting || in.State == jjm.Submitted || in.State == jjm.Running
}

// place maps the word of a live batch job to state and phase.
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
