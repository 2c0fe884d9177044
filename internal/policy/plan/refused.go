package plan

// RefusedFacts holds the facts that decide what becomes of a local job that a cluster refused at its submission. A
// refusal is an answer of kind Invalid or Denied: a busy cluster, or one whose answer is in doubt, refuses nothing
// (decision R18).
type RefusedFacts struct {
	// Elsewhere is true if the local job may go to another cluster.
	Elsewhere bool
	// OneByOne is true if the cluster takes one local job at each submission, false if it takes arrays.
	OneByOne bool
	// Taken is true if a batch system took an earlier attempt of the local job.
	Taken bool
	// Shares is true if the local job gives its work to others when it fails: it reads files of a dataset, or its grid job
	// merges outputs.
	Shares bool
	// KeepGoing is Spec.KeepGoing.
	KeepGoing bool
}

// RefusedDo is what becomes of a refused local job.
type RefusedDo uint8

// The steps.
const (
	RefusedFails      RefusedDo = iota // it fails
	RefusedTriesAgain                  // its next attempt may go to another cluster
	RefusedStaysNew                    // it is new and not submitted, until a person resubmits it
	RefusedStopsAll                    // as RefusedStaysNew, and so are the local jobs that were not attempted
)

// AfterRefusal decides what becomes of a refused local job (Ganga, submission; decision R19). The first match counts:
//
//	another cluster may take it                          RefusedTriesAgain
//	the cluster takes arrays                             RefusedFails
//	a batch system took an earlier attempt               RefusedFails
//	others do its work if it fails                       RefusedFails
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
