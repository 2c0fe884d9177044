package wire

import "jjm/internal/jjm"

// VerbSet is the verb "set": it changes the resources and the priority of waiting local jobs.
func VerbSet() Verb[SetRequest, SetAnswer] {
	return Verb[SetRequest, SetAnswer]{About{Name: "set", MaxBytes: maxWithRefs,
		Help: "Change the resources and the priority of local jobs that wait for their submission."}}
}

// SetRequest names the jobs. The id of a grid job means its waiting local jobs, and the local jobs that it makes later.
type SetRequest struct {
	Head
	Many
	SetHow
}

// MaxPriority is the greatest priority of a local job, -MaxPriority the smallest.
const MaxPriority = 1000

// SetHow contains the new resources and the new priority of the local jobs.
type SetHow struct {
	// Resources replace the resources of the job file, or of an earlier change. A resource that is not set stays
	// unchanged.
	Resources *jjm.Resources `json:"resources,omitempty"`
	// Priority is the new priority. It orders the waiting local jobs of an owner: greater numbers are submitted first. The
	// default is 0; nil changes nothing.
	Priority *int `json:"priority,omitempty"`
	// DryRun changes nothing; the answer shows the jobs that would be changed.
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references, and that the request changes something.
func (r SetRequest) Check() error {
	if err := checkRefs("set", r.Refs); err != nil {
		return err
	}
	if r.Priority == nil && (r.Resources == nil || *r.Resources == (jjm.Resources{})) {
		return jjm.Errorf(jjm.Invalid, "set: want member resources or priority: what the jobs are to request")
	}
	if r.Priority != nil && (*r.Priority < -MaxPriority || *r.Priority > MaxPriority) {
		return jjm.Errorf(jjm.Invalid, "set: priority %d: want a number from %d to %d", *r.Priority,
			-MaxPriority, MaxPriority)
	}
	return nil
}

// SetAnswer has an entry for each grid job, in the order in which the references first name the grid jobs.
type SetAnswer struct {
	Reply
	Set []Changed `json:"set,omitempty"`
}

// Changed is the result for one grid job.
type Changed struct {
	ID jjm.GridID `json:"id"`
	// Jobs is the number of waiting local jobs that get the resources and the priority.
	Jobs int `json:"jobs"`
	// Later is set if local jobs that are made later also get the resources and the priority.
	Later bool `json:"later,omitempty"`
	// Notes name the clusters that cannot meet the resources, with the reasons. If NoChange is set, Notes say why nothing
	// changed.
	Notes []string `json:"notes,omitempty"`
	// Left are local jobs that the request names and that are not changed. LeftOut is the number of further such local
	// jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job could be changed. This is a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}
