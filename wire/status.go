package wire

import "jjm"

// VerbStatus tells everything of jobs.
func VerbStatus() Verb[StatusRequest, StatusAnswer] {
	return Verb[StatusRequest, StatusAnswer]{About{Name: "status", MaxBytes: maxWithRefs,
		Help: "The detail of grid jobs, with the local jobs that are named."}}
}

// StatusRequest names jobs.
type StatusRequest struct {
	Head
	Refs []string `json:"refs,omitempty"`
}

// Check implements Request.
func (r StatusRequest) Check() error { return checkRefs("status", r.Refs) }

// StatusAnswer has an entry for each reference, in order, or for each grid job of a list, newest first. What is
// wrong with one is in the Error of its Lookup.
type StatusAnswer struct {
	Reply
	Status []Status `json:"status,omitempty"`
}

// VerbWait tells how jobs stand, at once and at every change, in a line each time, until all are final.
func VerbWait() Verb[WaitRequest, StatusAnswer] {
	return Verb[WaitRequest, StatusAnswer]{About{Name: "wait", MaxBytes: maxWithRefs,
		Help: "As status, again at every change until all is over."}}
}

// WaitRequest names the jobs to wait for.
type WaitRequest struct {
	Head
	Refs []string `json:"refs,omitempty"`
}

// Check implements Request.
func (r WaitRequest) Check() error { return checkRefs("wait", r.Refs) }

// VerbList lists grid jobs.
func VerbList() Verb[ListRequest, StatusAnswer] {
	return Verb[ListRequest, StatusAnswer]{About{Name: "list", MaxBytes: maxShort,
		Help: "Grid jobs, newest first."}}
}

// ListRequest says which grid jobs to list; without List those of the caller that are not over.
type ListRequest struct {
	Head
	List *List `json:"list,omitempty"`
}

// Check implements Request.
func (r ListRequest) Check() error {
	switch {
	case r.List == nil:
		return nil
	case max(len(r.List.Status), len(r.List.Type), len(r.List.Owner)) > maxWord:
		return jjm.Errorf(jjm.Invalid, "list: a filter is longer than %d bytes", maxWord)
	case r.List.Limit < 0:
		return jjm.Errorf(jjm.Invalid, "list.limit: want 0 (the default) or more")
	}
	return nil
}

// List filters grid jobs, newest first.
type List struct {
	All    bool   `json:"all,omitempty"` // finished ones too
	Status string `json:"status,omitempty"`
	Type   string `json:"type,omitempty"`
	Owner  string `json:"owner,omitempty"`
	Limit  int    `json:"limit,omitempty"`  // default 50
	Before int64  `json:"before,omitempty"` // ids below this, for paging
}

// Status is the detail of a grid job, and of the local jobs asked for.
type Status struct {
	Lookup Lookup `json:"lookup"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Owner  string `json:"owner"`
	Key    string `json:"key,omitempty"`
	// Handle is what a gatekeeper knows it by, and Origin where it came from.
	Handle jjm.Handle  `json:"handle,omitempty"`
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Cluster is the first of Clusters, which its local jobs may go to;
	// ClusterJobs are those that have some, or had them last.
	Cluster     string       `json:"cluster"`
	Clusters    []string     `json:"clusters,omitempty"`
	ClusterJobs []ClusterJob `json:"cluster_jobs,omitempty"`
	Accepted    jjm.Time     `json:"accepted"`
	Ended       jjm.Time     `json:"ended,omitempty"`
	Why         []string     `json:"why,omitempty"`
	// Waits is why no more local jobs are made now, though more may come; "" otherwise.
	Waits string `json:"waits,omitempty"`
	// Inputs are the datasets that it reads.
	Inputs []Input `json:"inputs,omitempty"`
	// Steps are its steps, in order, if it has more than one.
	Steps []Step `json:"steps,omitempty"`
	// Trouble tells what of it has been unknown for long, and since when.
	Trouble []string `json:"trouble,omitempty"`
	// Holds tells what of it is held, by whom and why; of many kinds those with
	// most local jobs.
	Holds []Hold `json:"holds,omitempty"`
	// Phases sums the progress of the running local jobs.
	Phases []jjm.Progress `json:"phases,omitempty"`
	Locals []jjm.LocalJob `json:"locals,omitempty"`
	Record string         `json:"record,omitempty"` // path of the record's head
}

// Step is one step of a grid job that has several, and its local jobs.
type Step struct {
	// Step is its number, that of its local jobs, and Name what people call it:
	// process, merge.
	Step int32  `json:"step"`
	Name string `json:"name"`
	// Done of Counts.Expected have done their work. Merging of these wait for their
	// outputs to be merged, and count as completing meanwhile.
	Done    int `json:"done"`
	Merging int `json:"merging,omitempty"`
	// Closed says that no more will be made, but to do again what failed.
	Closed bool `json:"closed,omitempty"`
	// Counts are its local jobs; Expected leaves out those whose work others do
	// again.
	Counts Counts `json:"counts"`
}

// ClusterJob is the part of a grid job that one cluster has or had last.
type ClusterJob struct {
	ID      string `json:"id"` // "17@slurm"
	Cluster string `json:"cluster"`
	Counts  Counts `json:"counts"` // Expected is 0
}

// Hold counts the local jobs of a grid job that are held alike.
type Hold struct {
	// By is "application", "batch system" or "operator"; Code and Text are its
	// words.
	By   string `json:"by"`
	Code string `json:"code,omitempty"`
	Text string `json:"text,omitempty"`
	Jobs int    `json:"jobs"`
	// First is one of them: "17.3".
	First string `json:"first"`
}
