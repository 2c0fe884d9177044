package wire

import (
	"errors"

	"jjm/internal/jjm"
)

// VerbLookup is the verb "lookup": it returns the status of grid jobs.
func VerbLookup() Verb[LookupRequest, LookupAnswer] {
	return Verb[LookupRequest, LookupAnswer]{About{Name: "lookup", MaxBytes: maxWithRefs, Grids: true, Each: true,
		Help: "The status of grid jobs, for programs."}}
}

// LookupRequest names grid jobs by id or handle.
type LookupRequest struct {
	Head
	Many
}

// Check checks the references.
func (r LookupRequest) Check() error { return checkRefs("lookup", r.Refs) }

// LookupAnswer has a status for each reference, in order. If a reference failed, Error is set in its entry.
type LookupAnswer struct {
	Reply
	Lookup []Lookup `json:"lookup,omitempty"`
}

func (a *LookupAnswer) entries() int { return len(a.Lookup) }

// insert adds the entries of the references whose handles have no grid job. If the submission was read from the spool
// and refused, the entry says that the grid job has failed.
func (a *LookupAnswer) insert(all []Asked) {
	out, made := make([]Lookup, len(all)), a.Lookup
	for i, one := range all {
		var r *Refused
		switch {
		case errors.As(one.Err, &r):
			out[i] = Lookup{Status: jjm.Broken.String(), GRAM: jjm.GRAMFailed, Code: jjm.GRAMExecutionFailed,
				Message: r.Error(), Master: "failed", Exit: 1}
		case one.Err != nil:
			out[i].Error = ErrorOf(one.Err)
		default:
			out[i], made = made[0], made[1:]
		}
		out[i].Handle = one.Handle
	}
	a.Lookup = out
}

// Lookup is the status of a grid job, both for gatekeepers and for people.
type Lookup struct {
	ID jjm.GridID `json:"id"`
	// Handle is set if the request named the grid job by its handle.
	Handle jjm.Handle `json:"handle,omitempty"`
	Error  *Error     `json:"error,omitempty"`
	Status string     `json:"status"`
	GRAM   jjm.GRAM   `json:"gram"`
	// Code is the GRAM error code (17) if GRAM is FAILED.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Master is the status of the Ganga master job.
	Master string `json:"master"`
	// Exit is the exit code of the grid job, -1 while it is not final (decision R11).
	Exit   int    `json:"exit"`
	Counts Counts `json:"counts"`
	Tar    string `json:"tar,omitempty"` // absolute path, set once the tar is complete
	// Usage is the resource usage of a final grid job. Before the end, a grid job with only one local job has the local
	// job's batch id, host and start time here, if they are known.
	Usage *jjm.Usage `json:"usage,omitempty"`
	// Memo is the text that the gatekeeper stored with the grid job (jjm.Origin). It is set only after the grid job is
	// final.
	Memo string `json:"memo,omitempty"`
	// Removed describes the removal of the grid job. After a removal only the reported end is kept.
	Removed *Removal `json:"removed,omitempty"`
	// Stale is set if no daemon answered and the client read the record instead. AsOf is the time at which the record was
	// written.
	Stale bool     `json:"stale,omitempty"`
	AsOf  jjm.Time `json:"as_of,omitempty"`
}

// Counts are the numbers of local jobs by state. Expected is the final number of local jobs, Total the present number.
type Counts struct {
	Expected   int `json:"expected"`
	Total      int `json:"total"`
	New        int `json:"new"`
	Submitting int `json:"submitting"`
	Submitted  int `json:"submitted"`
	Running    int `json:"running"`
	Completing int `json:"completing"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Killed     int `json:"killed"`
	Held       int `json:"held"`
	// CompletedFrozen is the number of frozen local jobs that Completed includes. FailedFrozen is the number of frozen
	// local jobs that Failed includes.
	CompletedFrozen int `json:"completed_frozen,omitempty"`
	FailedFrozen    int `json:"failed_frozen,omitempty"`
	// GivenBack is the number of local jobs whose work other local jobs repeat. Total includes these local jobs; no other
	// number does.
	GivenBack int `json:"given_back,omitempty"`
}
