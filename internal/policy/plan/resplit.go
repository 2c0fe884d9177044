package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// Resplit decides which of the selected local jobs may be cut again (Ganga, resplit), and which are left. All of the
// facts is ignored:
//
//	state                          whole    named
//	failed                         cut      cut
//	killed                         -        cut
//	failed or killed, but unfit    left     left
//	never submitted for its part   left     left
//	new, not to be submitted       -        left: it is submitted as it is
//	completed                      -        left: its result counts, until it is retracted (decision R15)
//	forced to completed            -        left: it must be forced to failed first
//	given back                     -        left: other local jobs do its work
//	frozen                         -        left: it must be unfrozen first
//	not over                       -        left
func Resplit(f ResubmitFacts) (cut []int32, left []Left) {
	for i := range f.Locals {
		l := &f.Locals[i]
		named := f.Named != nil && f.Named(l.ID.N)
		if !named && !(f.Whole && l.State == jjm.Failed && l.Phase != jjm.GivenBack) {
			continue
		}
		why := staysSo(l, f.Unfit)
		if l.IsUnsubmitted() {
			why = fmt.Sprintf("it is %s: only what failed or was killed is cut again (jjm resubmit %s submits it as it is)",
				jjm.StateWord(l.State, l.Phase), l.ID)
		}
		if why != "" {
			left = append(left, Left{l.ID.N, why})
			continue
		}
		cut = append(cut, l.ID.N)
	}
	return cut, left
}

// NoneCut returns, for people, why no local job of a grid job is cut again although the request names none that is
// refused.
func NoneCut(job *jjm.GridJob, locals []jjm.LocalJob) string {
	text := NoneAgain(job, locals, true)
	for i := range locals {
		if l := &locals[i]; l.State == jjm.Killed && !job.Kept() {
			return text + fmt.Sprintf("; a killed local job is cut only if it is named: jjm resplit %s", l.ID)
		}
	}
	return text
}
