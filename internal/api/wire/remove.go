package wire

import "jjm/internal/jjm"

// VerbRemove is the verb "remove": it removes grid jobs that are over.
func VerbRemove() Verb[RemoveRequest, RemoveAnswer] {
	return Verb[RemoveRequest, RemoveAnswer]{About{Name: "remove", MaxBytes: maxWithRefs, Grids: true,
		Help: "Remove grid jobs that are over, with all that is stored of them."}}
}

// RemoveRequest names the grid jobs. Force also removes grid jobs whose ends are not yet reported to their gatekeepers.
// With DryRun nothing is changed, and the answer shows the grid jobs that would be removed.
type RemoveRequest struct {
	Head
	Many
	Force  bool `json:"force,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references.
func (r RemoveRequest) Check() error { return checkRefs("remove", r.Refs) }

// RemoveAnswer has a result for each grid job, in the order in which the references first name the grid jobs.
type RemoveAnswer struct {
	Reply
	Remove []Removed `json:"remove,omitempty"`
}

// Removed is the result for one grid job. If Error is not set, the removal is ordered: people no longer see the grid
// job, and its data is deleted as soon as possible.
type Removed struct {
	ID    jjm.GridID `json:"id"`
	Error *Error     `json:"error,omitempty"`
}

// Removal contains who removed a grid job, when the removal was requested, and when all data was deleted.
type Removal struct {
	By   string   `json:"by"`
	Time jjm.Time `json:"time"`
	Done jjm.Time `json:"done,omitempty"`
}
