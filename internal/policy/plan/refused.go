package plan

// RefusedFacts holds the facts that decide how a local job changes after a cluster refused its submission. A refusal is
// an error of kind Invalid or Denied. Errors of kind Busy or Ambiguous are not refusals (decision R18).
type RefusedFacts struct {
	// Elsewhere is true if the local job may go to another cluster.
	Elsewhere bool
	// OneByOne is true if the cluster takes one local job at each submission, false if it takes arrays.
	OneByOne bool
	// Taken is true if a batch system took an earlier attempt of the local job.
	Taken bool
	// Shares is true if other local jobs do the work of the local job after it fails: it reads files of a dataset, or its
	// grid job merges outputs.
	Shares bool
	// KeepGoing is Spec.KeepGoing.
	KeepGoing bool
}

// RefusedDo is the change of a refused local job.
type RefusedDo uint8

// The steps.
const (
	RefusedFails      RefusedDo = iota // the local job fails
	RefusedTriesAgain                  // the next attempt of the local job may go to another cluster
	RefusedStaysNew                    // the local job is new and not submitted, until a person resubmits it
	RefusedStopsAll                    // as RefusedStaysNew, also for local jobs that were not tried yet
)

// AfterRefusal decides how a refused local job changes (Ganga, submission; decision R19). The first match counts:
//
//	another cluster may take it                          RefusedTriesAgain
//	the cluster takes arrays                             RefusedFails
//	a batch system took an earlier attempt               RefusedFails
//	other local jobs do its work if it fails             RefusedFails
//	keep_going                                           RefusedStaysNew
//	else                                                 RefusedStopsAll
func AfterRefusal(f RefusedFacts) RefusedDo {
	switch {
	case f.Elsewhere:
		return RefusedTriesAgain
	case !f.OneByOne, f.Taken, f.Shares:
		return RefusedFails
	case f.KeepGoing:
		return RefusedStaysNew
	}
	return RefusedStopsAll
}
