package wire

import "jjm/internal/jjm"

// VerbWhy is the verb "why": it shows the causes for which unfinished jobs wait, or the present work of jjm for these
// jobs.
func VerbWhy() Verb[WhyRequest, WhyAnswer] {
	return Verb[WhyRequest, WhyAnswer]{About{Name: "why", MaxBytes: maxWithRefs,
		Help: "What unfinished jobs wait for, or what is being done."}}
}

// WhyRequest names grid jobs or local jobs.
type WhyRequest struct {
	Head
	Many
}

// Check checks the references.
func (r WhyRequest) Check() error { return checkRefs("why", r.Refs) }

// WhyAnswer has an entry for each reference, in order.
type WhyAnswer struct {
	Reply
	Why []Why `json:"why,omitempty"`
}

// Why shows the causes of a grid job, or of the local jobs that a reference selects. If the reference failed, only ID
// and Error are set.
type Why struct {
	ID     jjm.GridID `json:"id"`
	Status string     `json:"status,omitempty"`
	Error  *Error     `json:"error,omitempty"`
	// Grid is the cause for which the grid job as a whole waits, nil if only its local jobs have causes.
	Grid *Cause `json:"grid,omitempty"`
	// Unfinished is the number of local jobs among the Total selected local jobs that have not ended. Causes are the
	// causes of these local jobs: first the causes that need a person, then in the order of the numbers of local jobs.
	// LeftOut is the number of local jobs with other causes, which are not listed.
	Unfinished int     `json:"unfinished"`
	Total      int     `json:"total"`
	Causes     []Cause `json:"causes,omitempty"`
	LeftOut    int     `json:"left_out,omitempty"`
	// Ended contains the ends of the selected local jobs that are over, if the reference selects local jobs. Since is the
	// earliest end.
	Ended []Cause `json:"ended,omitempty"`
	// Stale is set if no daemon answered and the client read the record instead. AsOf is then the time of the record.
	Stale bool     `json:"stale,omitempty"`
	AsOf  jjm.Time `json:"as_of,omitempty"`
}

// Cause is one cause, with the local jobs that have it.
type Cause struct {
	// Code is a word of the list in docs/WORDS.md; Text is the evidence.
	Code string `json:"code"`
	Text string `json:"text"`
	// Since is when the cause began for the local job that has had the cause longest; 0 means unknown. Until is when the
	// cause ends without an action; 0 means unknown.
	Since jjm.Time `json:"since,omitempty"`
	Until jjm.Time `json:"until,omitempty"`
	// Remedy is advice to a person, "" if nothing needs to be done.
	Remedy string `json:"remedy,omitempty"`
	// Jobs is the number of local jobs with the cause, First the lowest id of these local jobs: "17.3". Both are absent
	// for a grid job.
	Jobs  int    `json:"jobs,omitempty"`
	First string `json:"first,omitempty"`
}
