package submit

import (
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Here decides what one cluster may take, beside the other clusters of the site. Package share implements its parts.
type Here struct {
	Admission
	Division
	Answers
}

// Admission says whether local jobs may be submitted to the cluster now.
type Admission interface {
	// Serves reports whether any local jobs of a grid job may be submitted.
	Serves(mem state.Memory, g *state.Grid, now jjm.Time) bool
	// QueueOpen reports whether no order closes the cluster, or the queue to which local jobs with a place would go.
	QueueOpen(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool
	// WaitsAlone reports whether an account gets no other bulk before a refused bulk of one member is settled.
	WaitsAlone(mem state.Memory, account jjm.Owner) bool
	// Halted reports whether an order forbids to submit some member of a bulk.
	Halted(b *jjm.Bulk) bool
	// Elsewhere reports whether a better cluster may get local jobs with a place.
	Elsewhere(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool
}

// Division has the facts by which plan.Share divides the ready local jobs among the clusters.
type Division interface {
	// Standing returns the facts about all clusters, and a function that returns the free room of one owner on each.
	Standing(mem state.Memory, now jjm.Time) (site []plan.Candidate, roomOf func(jjm.Owner) []int)
	// Want returns the facts about a grid job that has ready local jobs with a place.
	Want(mem state.Memory, g *state.Grid, place int32, here int, rooms []int, now jjm.Time) plan.Want
}

// Answers keeps what the batch system answered to submissions, for the admission of later ones.
type Answers interface {
	// Took notes that a bulk was accepted.
	Took(tag jjm.Tag)
	// SaidBusy notes that a bulk was answered Busy.
	SaidBusy(tag jjm.Tag)
	// Refused stores the limit that was learnt about an account from a refused bulk. If alone is true, the bulk has one
	// member, for which the account's other local jobs wait.
	Refused(account jjm.Owner, tag jjm.Tag, l plan.Learnt, alone bool)
	// JobsOf returns how many jobs the account of an owner has in the batch system, or being submitted.
	JobsOf(mem state.Memory, o jjm.Owner) int
}
