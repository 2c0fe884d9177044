package wire

import "jjm/internal/jjm"

// VerbResplit is the verb "resplit": it cuts the work of failed local jobs again, into smaller local jobs.
func VerbResplit() Verb[ResplitRequest, ResplitAnswer] {
	return Verb[ResplitRequest, ResplitAnswer]{About{Name: "resplit", MaxBytes: maxWithRefs,
		Help: "Cut the work of failed local jobs into smaller local jobs; a grid job that is over is reopened."}}
}

// ResplitRequest names the jobs. The id of a grid job means its failed local jobs.
type ResplitRequest struct {
	Head
	Many
	ResplitHow
}

// ResplitHow contains the options of a resplit.
type ResplitHow struct {
	// Into is the number of new local jobs that do the work of one local job. EventsPerJob, FilesPerJob and LumisPerJob
	// are the sizes of the new local jobs. At most one of the four is set; without any, Into is 2.
	Into         int64 `json:"into,omitempty"`
	EventsPerJob int64 `json:"events_per_job,omitempty"`
	FilesPerJob  int64 `json:"files_per_job,omitempty"`
	LumisPerJob  int64 `json:"lumis_per_job,omitempty"`
	// DryRun changes nothing; the answer shows what would be cut.
	DryRun bool `json:"dry_run,omitempty"`
	// Stop ends the command at the first grid job that fails. All later grid jobs have the error that they were not
	// attempted.
	Stop bool `json:"stop,omitempty"`
}

// Check checks the references and the sizes.
func (r ResplitRequest) Check() error {
	if err := checkRefs("resplit", r.Refs); err != nil {
		return err
	}
	return r.ResplitHow.Check()
}

// Check returns an error of kind Invalid if a size is impossible or if more than one size is set.
func (h ResplitHow) Check() error {
	set := 0
	for _, size := range []int64{h.Into, h.EventsPerJob, h.FilesPerJob, h.LumisPerJob} {
		if size < 0 {
			return jjm.Errorf(jjm.Invalid, "resplit: a size is %d: want at least 1", size)
		}
		if size > 0 {
			set++
		}
	}
	switch {
	case set > 1:
		return jjm.Errorf(jjm.Invalid,
			"resplit: %d sizes: want one of into, events_per_job, files_per_job and lumis_per_job", set)
	case h.Into == 1:
		return jjm.Errorf(jjm.Invalid, "resplit: into is 1: want at least 2 local jobs of each")
	}
	return nil
}

// ResplitAnswer has a result for each grid job, in the order in which the references first name the grid jobs.
type ResplitAnswer struct {
	Reply
	Resplit []Resplit `json:"resplit,omitempty"`
}

// Resplit is the result for one grid job.
type Resplit struct {
	ID jjm.GridID `json:"id"`
	// Jobs is the number of local jobs whose work is cut again, Parts the number of new local jobs that do this work.
	Jobs  int `json:"jobs"`
	Parts int `json:"parts"`
	// Generation is the generation that begins with the new local jobs; 0 if the grid job is not over.
	Generation int `json:"generation,omitempty"`
	// Left are local jobs that the request names and that are not cut again. LeftOut is the number of further such local
	// jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job had to be cut again. This is a success. Notes say why.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}
