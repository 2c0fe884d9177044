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

// Unfreeze returns the state that a local job has after a person unfreezes it (Ganga, unfreeze). A local job that is
// not frozen keeps its state. A killed local job that was frozen becomes failed. If the work of a frozen local job was
// given back, the request is refused and why is the reason.
func Unfreeze(l *jjm.LocalJob) (to jjm.State, why string) {
	if l.State.IsFrozen() && l.Phase == jjm.GivenBack {
		return l.State, "its work was given back, and another local job does it"
	}
	return l.State.Unfrozen(), ""
}

// stillFrozen returns the reason why a command does not change a frozen local job.
func stillFrozen(l *jjm.LocalJob) string {
	return fmt.Sprintf("it is %s: unfreeze it first (jjm unfreeze %s)", l.State, l.ID)
}
