package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// Freeze returns the state of a local job after a person froze it (Ganga, freeze): the state that it has if it is
// frozen already. why is the reason of a refusal:
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

// Unfreeze returns the state of a local job after a person unfroze it (Ganga, unfreeze): the state that it has if it is
// not frozen. A killed local job that was frozen becomes failed. why is the reason of a refusal: the work of the local
// job was given back, so the local job stays frozen.
func Unfreeze(l *jjm.LocalJob) (to jjm.State, why string) {
	if l.State.IsFrozen() && l.Phase == jjm.GivenBack {
		return l.State, "its work was given back, and another local job does it"
	}
	return l.State.Unfrozen(), ""
}

// stillFrozen is the reason why a command does not change a frozen local job.
func stillFrozen(l *jjm.LocalJob) string {
	return fmt.Sprintf("it is %s: unfreeze it first (jjm unfreeze %s)", l.State, l.ID)
}
