package wire

import "jjm"

// VerbLookup tells how grid jobs stand.
func VerbLookup() Verb[LookupRequest, LookupAnswer] {
	return Verb[LookupRequest, LookupAnswer]{About{Name: "lookup", MaxBytes: maxWithRefs,
		Help: "The one honest status of each grid job, for programs."}}
}

// LookupRequest names grid jobs, by ids or handles.
type LookupRequest struct {
	Head
	Refs []string `json:"refs,omitempty"`
}

// Check implements Request.
func (r LookupRequest) Check() error { return checkRefs("lookup", r.Refs) }

// LookupAnswer has an entry for each reference, in order; what is wrong with one is in its Error.
type LookupAnswer struct {
	Reply
	Lookup []Lookup `json:"lookup,omitempty"`
}

// Lookup is the one honest status of a grid job.
type Lookup struct {
	ID jjm.GridID `json:"id"`
	// Handle is set if the grid job was asked for by it.
	Handle jjm.Handle `json:"handle,omitempty"`
	Error  *Error     `json:"error,omitempty"`
	Status string     `json:"status"`
	GRAM   jjm.GRAM   `json:"gram"`
	// Code is the GRAM error code (17) when GRAM is FAILED.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Master is the Ganga master status.
	Master string `json:"master"`
	// Exit is the exit code of the grid job once it is final (decision R11).
	Exit   int    `json:"exit"`
	Counts Counts `json:"counts"`
	Tar    string `json:"tar,omitempty"` // absolute path once complete
	// Usage is what it used, once it is final; before, of a grid job of one
	// local job, its batch id, host and start as far as they are known.
	Usage *jjm.Usage `json:"usage,omitempty"`
	// Memo is the gatekeeper's own (jjm.Origin), once the grid job is final.
	Memo string `json:"memo,omitempty"`
	// Stale is set when the answer is from the record, the daemon being down;
	// AsOf is when the record was written.
	Stale bool     `json:"stale,omitempty"`
	AsOf  jjm.Time `json:"as_of,omitempty"`
}

// Counts are the local jobs by state. Expected is how many there will be;
// Total how many there are.
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
	// GivenBack are those whose work others do again: they are in Total alone.
	GivenBack int `json:"given_back,omitempty"`
}
