package wire

import "jjm/internal/jjm"

// VerbHistory is the verb "history": it reads the journal.
func VerbHistory() Verb[HistoryRequest, HistoryAnswer] {
	return Verb[HistoryRequest, HistoryAnswer]{About{Name: "history", MaxBytes: maxShort,
		Help: "Every change of a job, or every order of administrators."}}
}

// MostHistory is the greatest number of references in one request for histories.
const MostHistory = 64

// HistoryRequest names one job, several local jobs of one grid job, or requests the orders of administrators.
type HistoryRequest struct {
	Head
	Many
	// Limit is the maximum number of returned entries; 0 means the daemon's default.
	Limit int `json:"limit,omitempty"`
	// Orders requests the journal of administrators' orders instead of the journal of a job.
	Orders bool `json:"orders,omitempty"`
}

// Check requires references, or Orders.
func (r HistoryRequest) Check() error {
	switch {
	case r.Limit < 0:
		return jjm.Errorf(jjm.Invalid, "limit: want 0 (the default) or more")
	case r.Orders && len(r.Refs) > 0:
		return jjm.Errorf(jjm.Invalid, "history: orders belong to no job: want orders or an id, not both")
	case r.Orders:
		return nil
	case len(r.Refs) == 0 || len(r.Refs) > MostHistory:
		return jjm.Errorf(jjm.Invalid, "history: %d refs: want 1 to %d ids, or orders", len(r.Refs), MostHistory)
	}
	return checkRefs("history", r.Refs)
}

// HistoryAnswer contains journal entries, oldest first. If the request names one local job, it also contains the
// attempts.
type HistoryAnswer struct {
	Reply
	History  []jjm.JournalEntry `json:"history,omitempty"`
	Attempts []Attempt          `json:"attempts,omitempty"`
}
