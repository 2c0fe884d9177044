package wire

import "jjm/internal/jjm"

// VerbResubmit is the verb "resubmit": it runs local jobs again that failed or were killed.
func VerbResubmit() Verb[ResubmitRequest, ResubmitAnswer] {
	return Verb[ResubmitRequest, ResubmitAnswer]{About{Name: "resubmit", MaxBytes: maxWithRefs,
		Help: "Run local jobs again that failed or were killed; a grid job that is over is reopened."}}
}

// ResubmitRequest names the jobs. A grid job stands for its failed local jobs.
type ResubmitRequest struct {
	Head
	Many
	ResubmitHow
}

// ResubmitHow says how local jobs run again.
type ResubmitHow struct {
	// All lets a grid job stand for its killed local jobs too.
	All bool `json:"all,omitempty"`
	// DryRun changes nothing; the answer shows what would be done.
	DryRun bool `json:"dry_run,omitempty"`
	// Stop stops at the first grid job that fails. All later grid jobs have an error that says so.
	Stop bool `json:"stop,omitempty"`
	// Resources are the resources that the local jobs that run again request, in place of the resources of the job file
	// or of an earlier resubmission; nil changes nothing.
	Resources *jjm.Resources `json:"resources,omitempty"`
	// Args are the words that the next attempt finds as its retry arguments, in place of those that the last attempt had;
	// none keeps those.
	Args []string `json:"args,omitempty"`
}

// Check checks the references and the words.
func (r ResubmitRequest) Check() error {
	if err := checkRefs("resubmit", r.Refs); err != nil {
		return err
	}
	return checkWords("resubmit", r.Args)
}

// ResubmitAnswer has an entry for each grid job, in the order in which the references name
// them first.
type ResubmitAnswer struct {
	Reply
	Resubmit []Resubmitted `json:"resubmit,omitempty"`
}

// Resubmitted is the result for one grid job.
type Resubmitted struct {
	ID jjm.GridID `json:"id"`
	// Jobs is how many local jobs run again.
	Jobs int `json:"jobs"`
	// Generation is the generation that begins with these local jobs; 0 if the grid job is not over.
	Generation int `json:"generation,omitempty"`
	// Resources are the resources in the request, nil if it has none. Notes say which
	// clusters cannot meet them, and why.
	Resources *jjm.Resources `json:"resources,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
	// Left are local jobs that the request names and that stay as they are, LeftOut how many more there are.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if there was nothing to run again. That is a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Left names a local job that is not resubmitted, and why.
type Left struct {
	Local string `json:"local"`
	Why   string `json:"why"`
}
