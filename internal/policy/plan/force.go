package plan

import (
	"fmt"

	"jjm/internal/jjm"
)

// ForceFacts is everything that decides what becomes of a local job whose state a person forces.
type ForceFacts struct {
	Job *jjm.LocalJob
	// To is jjm.Completed or jjm.Failed.
	To jjm.State
	// Now says that the end of the attempt in the batch system is not waited for.
	Now bool
	// Merges says that the grid job has a merge step, Reads that the local job reads files of a dataset, Publishes that
	// its outputs enter a dataset.
	Merges, Reads, Publishes bool
}

// ForceDo is what becomes of the local job.
type ForceDo uint8

// The steps.
const (
	ForceRefused ForceDo = iota // the local job stays as it is
	ForceNothing                // it is in that state already, or is on its way there
	ForceMove                   // it changes its state
	ForceKill                   // it is killed, and is failed once the kill is over
	ForceEnd                    // it is failed now; its batch job is cancelled, and nobody waits for that
)

// Force decides what becomes of a local job whose state a person forces (Ganga, force_status; decision R8). why is the
// reason of a refusal:
//
//	state                             to failed                          to completed
//	failed                            nothing                            move
//	completed                         move, and its result is retracted  nothing
//	killed                            move                               refused
//	submitting, completing            kill                               refused
//	submitted, running                kill; with Now end                 refused
//	killed or failed, given back      refused; failed: nothing           refused
//	new, held                         refused                            refused
//
// Three more moves are refused. The grid job merges its outputs: a completed local job would leave files that other
// local jobs made incomplete, and one that failed has no outputs to merge. A completed local job reads files of a
// dataset, or its outputs are in one: a retraction does all that follows from that.
func Force(f ForceFacts) (do ForceDo, why string) {
	l := f.Job
	word := jjm.StateWord(l.State, l.Phase)
	switch {
	case l.State == f.To:
		return ForceNothing, ""
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
