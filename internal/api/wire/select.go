package wire

import (
	"jjm/internal/api/selection"
	"jjm/internal/jjm"
)

// VerbSelect is the verb "select": it returns the jobs that patterns and filters select. A client then sends these
// references with the verb that changes the jobs, so that exactly the jobs are changed that it counted.
func VerbSelect() Verb[SelectRequest, SelectAnswer] {
	return Verb[SelectRequest, SelectAnswer]{About{Name: "select", MaxBytes: maxWithRefs,
		Help: "The jobs that patterns and filters select."}}
}

// MostSelected is the most references that one answer may hold.
const MostSelected = 200_000

// SelectRequest selects jobs.
type SelectRequest struct {
	Head
	// Refs are patterns (package selection). Without patterns, the filters select among all jobs that the caller may
	// see.
	Refs []string `json:"refs,omitempty"`
	// Where are filters: a selected job matches all of them.
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

// SelectAnswer holds the selected jobs.
type SelectAnswer struct {
	Reply
	Select *Selected `json:"select,omitempty"`
}

// Check requires the answer.
func (a SelectAnswer) Check() error { return present("select", a.Select != nil) }

// Selected are the jobs that patterns and filters select.
type Selected struct {
	// Refs name the selected jobs: whole grid jobs, and local jobs one by one or in ranges. With patterns they are in
	// the order of the patterns, else by ascending ids. If no filter is set, an id that names no job, or another
	// account's job, stays among them.
	Refs []string `json:"refs,omitempty"`
	// Grids is how many whole grid jobs are in Refs, Locals how many local jobs.
	Grids  int `json:"grids"`
	Locals int `json:"locals"`
}

// Jobs returns how many jobs are selected. A whole grid job counts as one.
func (s *Selected) Jobs() int { return s.Grids + s.Locals }
