package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// ForceFacts holds the facts that decide how a local job changes if a person forces its state.
type ForceFacts struct {
	Job *jjm.LocalJob
	// To is jjm.Completed or jjm.Failed.
	To jjm.State
	// Now is true if jjm must not wait for the end of the attempt in the batch system.
	Now bool
	// Merges is true if the grid job has a merge step, Reads if the local job reads files of a dataset, Publishes if
	// its outputs enter a dataset.
	Merges, Reads, Publishes bool
}

// ForceDo is the way in which a forced local job changes.
type ForceDo uint8

// The steps.
const (
	ForceRefused ForceDo = iota // the request is refused, and the local job is not changed
	ForceNothing                // the local job already has the state, or is being killed to get it
	ForceMove                   // the local job changes its state now
	ForceKill                   // the local job is killed, and becomes failed when the kill is over
	ForceEnd                    // the local job becomes failed now; its batch job is cancelled, without a wait
)

// Force decides how a local job changes if a person forces its state (Ganga, force_status; decision R8). why is the
// reason for a refusal:
//
//	state                             to failed                          to completed
//	failed                            nothing                            move
//	completed                         move, and its result is retracted  nothing
//	killed                            move                               refused
//	submitting, completing            kill                               refused
//	submitted, running                kill; with Now end                 refused
//	killed or failed, given back      refused; failed: nothing           refused
//	new, held                         refused                            refused
//	frozen                            refused                            refused
//
// Three more moves are refused. If the grid job merges its outputs, a completed local job cannot be forced to failed,
// because files made by other local jobs would become incomplete; and a failed local job cannot be forced to completed,
// because it has no outputs to merge. If a completed local job reads files of a dataset, or its outputs are in a
// dataset, it cannot be forced to failed, unless a person had forced it to completed. A retraction is needed instead,
// which also corrects everything that depends on the result.
func Force(f ForceFacts) (do ForceDo, why string) {
	l := f.Job
	word := jjm.StateWord(l.State, l.Phase)
	switch {
	case l.State == f.To:
		return ForceNothing, ""
	case l.State.IsFrozen():
		return ForceRefused, stillFrozen(l)
	case l.Phase == jjm.GivenBack:
		return ForceRefused, "its work was given back, and another local job does it"
	case f.To == jjm.Completed && l.State != jjm.Failed:
		return ForceRefused, fmt.Sprintf("it is %s: only a failed local job can be forced to completed", word)
	case f.Merges && (f.To == jjm.Completed || l.State == jjm.Completed):
		return ForceRefused, fmt.Sprintf("it is %s, and its grid job merges outputs: what is merged would no longer be "+
			"what its local jobs made", word)
	case l.State == jjm.Completed && !l.IsForced() && (f.Reads || f.Publishes):
		return ForceRefused, "it is completed, and it reads a dataset or its outputs are in one: retract its outputs " +
			"(jjm retract)"
	case l.State == jjm.Completed, l.State == jjm.Failed, l.State == jjm.Killed:
		return ForceMove, ""
	case l.State == jjm.New:
		return ForceRefused, "it is new, and nothing has begun that could fail: kill it (jjm kill)"
	case l.State == jjm.Held:
		return ForceRefused, fmt.Sprintf("it is %s: release it or kill it (jjm release, jjm kill)", word)
	case f.Now && (l.State == jjm.Submitted || l.State == jjm.Running):
		return ForceEnd, ""
	case l.Failing != "":
		return ForceNothing, ""
	}
	return ForceKill, ""
}
