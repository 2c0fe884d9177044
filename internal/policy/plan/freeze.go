package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// Freeze returns the state that a local job has after a person freezes it (Ganga, freeze). A frozen local job keeps its
// state. why is the reason for a refusal:
//
//	completed                    completed_frozen
//	failed, killed               failed_frozen
//	frozen                       no change
//	failed or killed, given back refused
//	not over                     refused
func Freeze(l *jjm.LocalJob) (to jjm.State, why string) {
	if l.State.IsFrozen() {
		return l.State, ""
	}
	to, over := l.State.Frozen()
	switch {
	case !over:
		return l.State, fmt.Sprintf("it is %s: only a local job that is over can be frozen",
			jjm.StateWord(l.State, l.Phase))
	case l.Phase == jjm.GivenBack:
		return l.State, "its work was given back, and another local job does it"
	}
	return to, ""
}

// Unfreeze returns the state that a local job has after a person unfreezes it (Ganga, unfreeze). why is the reason for
// a refusal:
//
//	completed_frozen     completed
//	failed_frozen        failed, also if it was killed before it was frozen
//	frozen, given back   refused
//	completed, failed    no change
//	killed, or not over  refused
func Unfreeze(l *jjm.LocalJob) (to jjm.State, why string) {
	switch {
	case l.State.IsFrozen() && l.Phase == jjm.GivenBack:
		return l.State, "its work was given back, and another local job does it"
	case l.State.IsFrozen(), l.State == jjm.Completed, l.State == jjm.Failed:
		return l.State.Unfrozen(), ""
	}
	return l.State, fmt.Sprintf("it is %s: only a frozen local job can be unfrozen", jjm.StateWord(l.State, l.Phase))
}

// stillFrozen returns the reason why a command does not change a frozen local job.
func stillFrozen(l *jjm.LocalJob) string {
	return fmt.Sprintf("it is %s: unfreeze it first (jjm unfreeze %s)", l.State, l.ID)
}
