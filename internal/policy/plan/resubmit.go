package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// ResubmitFacts holds the facts that decide which local jobs of a grid job run again because a person requests it.
type ResubmitFacts struct {
	Locals []jjm.LocalJob
	// Whole is true if the request names the grid job. The request then selects the failed and the unsubmitted local jobs
	// and, with All, also the killed local jobs. Named, which may be nil, reports whether the request names a local job.
	Whole, All bool
	Named      func(n int32) bool
	// Unfit maps the numbers of local jobs that cannot run again to the reasons. It leaves out reasons that follow from
	// Locals.
	Unfit map[int32]string
}

// Left is a local job that a request selects, but that does not run again. Why is the reason.
type Left struct {
	N   int32
	Why string
}

// Resubmit decides which of the selected local jobs run again (Ganga, resubmit; decisions R7, R14, R15), and which are
// left:
//
//	state                          whole, failed only   whole, all    named
//	failed                         again                again         again
//	new, not to be submitted       again                again         again
//	killed                         -                    again         again
//	failed or killed, but unfit    left                 left          left
//	completed                      -                    -             left: its result counts
//	forced to completed            -                    -             left: it must be forced to failed first
//	given back                     -                    -             left: another local job does its work
//	never submitted for its part   left                 left          left
//	frozen                         -                    -             left: it must be unfrozen first
//	not over                       -                    -             left
func Resubmit(f ResubmitFacts) (again []int32, left []Left) {
	for i := range f.Locals {
		l := &f.Locals[i]
		named := f.Named != nil && f.Named(l.ID.N)
		ended := l.State == jjm.Failed || l.IsUnsubmitted() || f.All && l.State == jjm.Killed
		meant := named || f.Whole && l.Phase != jjm.GivenBack && ended
		if !meant {
			continue
		}
		if why := staysSo(l, f.Unfit); why != "" {
			left = append(left, Left{l.ID.N, why})
			continue
		}
		again = append(again, l.ID.N)
	}
	return again, left
}

// staysSo returns the reason why a local job cannot run again, "" if it can run again.
func staysSo(l *jjm.LocalJob, unfit map[int32]string) string {
	switch {
	case l.State.IsFrozen():
		return stillFrozen(l)
	case l.IsForced():
		return "a person forced it to completed: force it to failed first (jjm force-status ID failed)"
	case l.State == jjm.Completed:
		return "it is completed, and its result counts: retract that first (jjm retract)"
	case !l.Over():
		return fmt.Sprintf("it is %s: only what has ended is run again", jjm.StateWord(l.State, l.Phase))
	case l.Phase == jjm.GivenBack:
		return "its work was given back, and another local job does it"
	case l.Phase == jjm.CreateFailed && l.Tag == "":
		return "its part can never be submitted"
	}
	return unfit[l.ID.N]
}

// NoneAgain returns, for people, why no local job of a grid job runs again although the request names none that is
// refused. all is true if the request is also about killed local jobs.
func NoneAgain(job *jjm.GridJob, locals []jjm.LocalJob, all bool) string {
	if job.Kept() {
		return fmt.Sprintf("it is kept and was never submitted: jjm submit %s submits it", job.ID)
	}
	killed, frozen := 0, 0
	for i := range locals {
		switch locals[i].State {
		case jjm.Killed:
			killed++
		case jjm.FailedFrozen:
			frozen++
		}
	}
	text := "no local job failed"
	if frozen > 0 {
		text = fmt.Sprintf("%s failed and frozen: unfreeze first (jjm unfreeze %s)", are(frozen), job.ID)
	}
	if killed > 0 && !all {
		text += fmt.Sprintf("; %s killed: jjm resubmit %s --all runs the killed ones again", are(killed), job.ID)
	}
	return text
}

// are returns the number of local jobs with the verb that belongs to it.
func are(n int) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return jjm.Count(n, "local job") + " " + verb
}
