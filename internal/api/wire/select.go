package wire

import (
	"jjm/internal/api/selection"
	"jjm/internal/jjm"
)

// VerbSelect is the verb "select": it returns references to the jobs that patterns and filters select. A client then
// sends these references with the verb that changes the jobs, so that exactly the jobs are changed that the client has
// counted and shown.
func VerbSelect() Verb[SelectRequest, SelectAnswer] {
	return Verb[SelectRequest, SelectAnswer]{About{Name: "select", MaxBytes: maxWithRefs,
		Help: "The jobs that patterns and filters select."}}
}

// MostSelected is the greatest number of references in one answer.
const MostSelected = 200_000

// SelectRequest selects jobs.
type SelectRequest struct {
	Head
	// Refs are patterns (package selection). Without patterns, the filters select among all jobs that the caller may
	// see.
	Refs []string `json:"refs,omitempty"`
	// Where are filters. A selected job matches all of these filters.
	Where selection.Filters `json:"where,omitzero"`
	// For is the command for which jobs are selected.
	For selection.Purpose `json:"for,omitempty"`
}

// resolve implements refers.
func (r *SelectRequest) resolve(_ About, find func(jjm.Handle) (jjm.GridID, error)) (err error) {
	r.Refs, err = resolvePatterns(r.Refs, find)
	return err
}

// Check checks the form of patterns and filters.
func (r SelectRequest) Check() error {
	switch {
	case len(r.Refs) == 0 && !r.Where.Any():
		return jjm.Errorf(jjm.Invalid, "select: want refs or where: nothing says which jobs")
	case len(r.Refs) > MaxRefs:
		return jjm.Errorf(jjm.Invalid, "select: %d refs: at most %d in one request", len(r.Refs), MaxRefs)
	}
	if _, err := selection.Parse(r.Refs); err != nil {
		return err
	}
	if err := r.Where.Check(); err != nil {
		return err
	}
	return r.For.Check()
}

// SelectAnswer contains the selected jobs.
type SelectAnswer struct {
	Reply
	Select *Selected `json:"select,omitempty"`
}

// Check requires the answer.
func (a SelectAnswer) Check() error { return present("select", a.Select != nil) }

// Selected are the jobs that patterns and filters select.
type Selected struct {
	// Refs name the selected jobs: whole grid jobs, and single local jobs or ranges of local jobs. With patterns they are
	// in the order of the patterns, otherwise in ascending order of ids. Without a filter, Refs may contain the ids of
	// jobs that do not exist, or that belong to another account.
	Refs []string `json:"refs,omitempty"`
	// Grids is the number of whole grid jobs in Refs, Locals the number of local jobs.
	Grids  int `json:"grids"`
	Locals int `json:"locals"`
}

// Jobs returns the number of selected jobs. A whole grid job counts as one job.
func (s *Selected) Jobs() int { return s.Grids + s.Locals }
