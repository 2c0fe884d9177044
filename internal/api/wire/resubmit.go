package wire

import "jjm/internal/jjm"

// VerbResubmit is the verb "resubmit": it runs local jobs again that failed or were killed.
func VerbResubmit() Verb[ResubmitRequest, ResubmitAnswer] {
	return Verb[ResubmitRequest, ResubmitAnswer]{About{Name: "resubmit", MaxBytes: maxWithRefs,
		Help: "Run local jobs again that failed or were killed; a grid job that is over is reopened."}}
}

// ResubmitRequest names the jobs. The id of a grid job means its failed local jobs.
type ResubmitRequest struct {
	Head
	Many
	ResubmitHow
}

// ResubmitHow contains the options of a resubmission.
type ResubmitHow struct {
	// If All is set, the id of a grid job also means its killed local jobs.
	All bool `json:"all,omitempty"`
	// DryRun changes nothing; the answer shows the local jobs that would run again.
	DryRun bool `json:"dry_run,omitempty"`
	// Stop ends the command at the first grid job that fails. All later grid jobs have the error that they were not
	// attempted.
	Stop bool `json:"stop,omitempty"`
	// Resources are the resources that the local jobs that run again request, in place of the resources of the job file
	// or of an earlier resubmission; nil changes nothing.
	Resources *jjm.Resources `json:"resources,omitempty"`
	// Args are the retry arguments of the next attempt. They replace the arguments of the last attempt; no Args keep these
	// arguments.
	Args []string `json:"args,omitempty"`
}

// Check checks the references and Args.
func (r ResubmitRequest) Check() error {
	if err := checkRefs("resubmit", r.Refs); err != nil {
		return err
	}
	return checkWords("resubmit", r.Args)
}

// ResubmitAnswer has a result for each grid job, in the order in which the references first name the grid jobs.
type ResubmitAnswer struct {
	Reply
	Resubmit []Resubmitted `json:"resubmit,omitempty"`
}

// Resubmitted is the result for one grid job.
type Resubmitted struct {
	ID jjm.GridID `json:"id"`
	// Jobs is the number of local jobs that run again.
	Jobs int `json:"jobs"`
	// Generation is the generation that begins with these local jobs; 0 if the grid job is not over.
	Generation int `json:"generation,omitempty"`
	// Resources are the resources in the request, nil if the request has none. Notes name the clusters that cannot meet
	// the resources, and the reasons. If NoChange is set, Notes say why no local job runs again.
	Resources *jjm.Resources `json:"resources,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
	// Changed are inputs whose files or folders differ from the packed ones, with which the local jobs run again.
	// NotCompared are inputs of which this is not known: URLs, inputs that the owner cannot read, and large inputs.
	Changed     []string     `json:"changed,omitempty"`
	NotCompared []Uncompared `json:"not_compared,omitempty"`
	// Left are local jobs that the request names and that do not run again. LeftOut is the number of further such local
	// jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job had to run again. This is a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Uncompared is an input that was not compared with the packed one, with the reason.
type Uncompared struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Left is a local job that a command did not change, with the reason.
type Left struct {
	Local string `json:"local"`
	Why   string `json:"why"`
}
