package wire

import (
	"jjm/internal/api/selection"
	"jjm/internal/jjm"
)

// VerbStatus is the verb "status": it returns all details of jobs.
func VerbStatus() Verb[StatusRequest, StatusAnswer] {
	return Verb[StatusRequest, StatusAnswer]{About{Name: "status", MaxBytes: maxWithRefs,
		Help: "All details of grid jobs, with the local jobs that are named."}}
}

// StatusRequest names the jobs.
type StatusRequest struct {
	Head
	Many
	// Urgent adds some local jobs to the status of each grid job, nil for none. References to local jobs ignore Urgent.
	Urgent *Urgent `json:"urgent,omitempty"`
	// Hosts adds figures of the hosts to the status of each grid job whose local jobs are in the daemon's memory, that is,
	// until shortly after its end.
	Hosts bool `json:"hosts,omitempty"`
}

// Urgent selects a part of the local jobs of a grid job. The local jobs are in the order of their urgency
// ([jjm.MostUrgent]), and those with the same urgency are in the order of their numbers.
type Urgent struct {
	From  int `json:"from,omitempty"` // the position of the first local job, from 0
	Limit int `json:"limit"`          // at most MostUrgent
}

// MostUrgent is the greatest Limit of Urgent.
const MostUrgent = 1000

// Check checks the references and the part.
func (r StatusRequest) Check() error {
	switch u := r.Urgent; {
	case u == nil:
	case u.From < 0:
		return jjm.Errorf(jjm.Invalid, "status: urgent.from: want 0 or more")
	case u.Limit < 1 || u.Limit > MostUrgent:
		return jjm.Errorf(jjm.Invalid, "status: urgent.limit: want 1 to %d", MostUrgent)
	}
	return checkRefs("status", r.Refs)
}

// StatusAnswer has a status for each reference, in order. For "list" it has a status for each grid job, newest first.
// If a reference failed, the error is in the Lookup of its entry.
type StatusAnswer struct {
	Reply
	Status []Status `json:"status,omitempty"`
}

// VerbWait is the verb "wait": it answers with the state of jobs immediately, and with a further line at every change,
// until all jobs are final.
func VerbWait() Verb[WaitRequest, StatusAnswer] {
	return Verb[WaitRequest, StatusAnswer]{About{Name: "wait", MaxBytes: maxWithRefs,
		Help: "As status, with a further line at every change until all jobs are final."}}
}

// WaitRequest names the jobs to wait for.
type WaitRequest struct {
	Head
	Many
}

// Check checks the references.
func (r WaitRequest) Check() error { return checkRefs("wait", r.Refs) }

// VerbList is the verb "list": it lists grid jobs.
func VerbList() Verb[ListRequest, StatusAnswer] {
	return Verb[ListRequest, StatusAnswer]{About{Name: "list", MaxBytes: maxShort,
		Help: "Grid jobs, newest first."}}
}

// ListRequest selects the grid jobs to list. Without List, the daemon lists the caller's grid jobs that are not over.
type ListRequest struct {
	Head
	List *List `json:"list,omitempty"`
}

// resolve implements refers.
func (r *ListRequest) resolve(_ About, find func(jjm.Handle) (jjm.GridID, error)) error {
	if r.List == nil {
		return nil
	}
	refs, err := resolvePatterns(r.List.Refs, find)
	list := *r.List // the copy leaves the caller's request unchanged
	list.Refs, r.List = refs, &list
	return err
}

// Check checks the form of List.
func (r ListRequest) Check() error {
	switch {
	case r.List == nil:
		return nil
	case max(len(r.List.Status), len(r.List.Type), len(r.List.Owner)) > maxWord:
		return jjm.Errorf(jjm.Invalid, "list: a filter is longer than %d bytes", maxWord)
	case r.List.Limit < 0:
		return jjm.Errorf(jjm.Invalid, "list.limit: want 0 (the default) or more")
	case len(r.List.Refs) > MaxRefs:
		return jjm.Errorf(jjm.Invalid, "list: %d refs: at most %d in one request", len(r.List.Refs), MaxRefs)
	}
	if _, err := selection.Parse(r.List.Refs); err != nil {
		return err
	}
	return r.List.Where.Check()
}

// List selects grid jobs. The answer lists them newest first.
type List struct {
	All    bool   `json:"all,omitempty"`    // also grid jobs that are over
	Status string `json:"status,omitempty"` // statuses, separated by commas
	Type   string `json:"type,omitempty"`
	Owner  string `json:"owner,omitempty"`
	Limit  int    `json:"limit,omitempty"`  // default 50
	Before int64  `json:"before,omitempty"` // only smaller ids, for paging
	// Refs are patterns. List selects only grid jobs that match a pattern, or that have local jobs which match a pattern.
	Refs []string `json:"refs,omitempty"`
	// Where are more filters. A filter of local jobs selects the grid jobs that have a local job matching all these
	// filters.
	Where selection.Filters `json:"where,omitzero"`
}

// Status contains the details of a grid job, and of the requested local jobs.
type Status struct {
	Lookup Lookup `json:"lookup"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Model  string `json:"model,omitempty"` // the model whose settings complete the job file
	Owner  string `json:"owner"`
	Key    string `json:"key,omitempty"`
	// Handle is the name with which a gatekeeper refers to the grid job. Origin describes where the grid job came from.
	Handle jjm.Handle  `json:"handle,omitempty"`
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Clusters are the clusters to which local jobs may go, Cluster is the first of these clusters. ClusterJobs are the
	// clusters that have local jobs now or had local jobs last.
	Cluster     string       `json:"cluster"`
	Clusters    []string     `json:"clusters,omitempty"`
	ClusterJobs []ClusterJob `json:"cluster_jobs,omitempty"`
	// Generation is the generation of the status, if the grid job was reopened; Endings are the ends of the earlier
	// generations. Reopening is set while a grid job that is over is about to be reopened.
	Generation int        `json:"generation,omitempty"`
	Endings    []Ending   `json:"endings,omitempty"`
	Reopening  *Reopening `json:"reopening,omitempty"`
	Accepted   jjm.Time   `json:"accepted"`
	Ended      jjm.Time   `json:"ended,omitempty"`
	// Request contains the resources that the job file requests for each local job.
	Request jjm.Request `json:"request,omitzero"`
	// ExpectedEnd is set by "status" and "wait" for a grid job that runs, if it can be estimated.
	ExpectedEnd *ExpectedEnd `json:"expected_end,omitempty"`
	// NextAttempts is set by "status", "wait" and "list", nil if no local job waits for its next attempt.
	NextAttempts *NextAttempts `json:"next_attempts,omitempty"`
	// Why contains the reasons for the choice of the splitter.
	Why []string `json:"why,omitempty"`
	// Waits is the reason why no local jobs are made now although more will be made, "" if nothing prevents this.
	Waits string `json:"waits,omitempty"`
	// WaitsFor is set only by "status". It names the limits that prevent the submission of local jobs, or the most
	// frequent reason why local jobs wait in a batch system.
	WaitsFor string `json:"waits_for,omitempty"`
	// After are the grid jobs that must end before this grid job begins, and AfterEnd is the required way of their end
	// (docs/JOB-FILES.md). Awaited are the grid jobs of After that have not ended yet.
	After    []jjm.GridID `json:"after,omitempty"`
	AfterEnd string       `json:"after_end,omitempty"`
	Awaited  []jjm.GridID `json:"awaited,omitempty"`
	// Inputs are the datasets that the grid job reads.
	Inputs []Input `json:"inputs,omitempty"`
	// Steps are the steps in order, if the grid job has several steps.
	Steps []Step `json:"steps,omitempty"`
	// Proof is the kind of proof that all work is done: count, exit or type (docs/DATASETS.md). It is "" if the grid job
	// is not done, or if not all work is proven.
	Proof jjm.Proof `json:"proof,omitempty"`
	// Trouble contains the reason why the last internal step failed; jjm tries this step again. It also has a sentence for
	// each fact that has been unknown for long, with the time since when. "status" also adds the reason why the last
	// notice about the grid job, by mail or callback, was given up.
	Trouble []string `json:"trouble,omitempty"`
	// Warnings are facts that people should know and that no other member shows.
	Warnings []Warning `json:"warnings,omitempty"`
	// Holds are the kinds of holds: who holds, the reason, and the number of local jobs. If there are many kinds, only the
	// kinds with the most jobs are listed.
	Holds []Hold `json:"holds,omitempty"`
	// Causes are the reasons why local jobs failed or are tried again. If there are many causes, only the causes of the
	// most local jobs are listed.
	Causes []jjm.Cause `json:"causes,omitempty"`
	// Kept is set if the grid job could not be prepared, and is kept until a person submits, copies or removes it.
	// Lookup.Message is the reason.
	Kept bool `json:"kept,omitempty"`
	// RecoveredBy are the grid jobs that process, or processed, the work that this grid job left undone.
	RecoveredBy []jjm.GridID `json:"recovered_by,omitempty"`
	// Phases are the phases in which the running local jobs are, each with the sum of their progress.
	Phases []jjm.Progress `json:"phases,omitempty"`
	Locals []jjm.LocalJob `json:"locals,omitempty"`
	// Hosts are the figures of the hosts of the attempts, if they were requested. The host that differs most from the
	// other hosts is first. MoreHosts is the number of hosts that are left out.
	Hosts     []HostFigures `json:"hosts,omitempty"`
	MoreHosts int           `json:"more_hosts,omitempty"`
	// Detail contains more details of a local job, if the reference is to a single local job.
	Detail *LocalDetail `json:"detail,omitempty"`
	Record string       `json:"record,omitempty"` // path of the head of the record
}

// ExpectedEnd is a rough estimate of the end of all local jobs of a grid job, from the recent rate of ends.
type ExpectedEnd struct {
	At jjm.Time `json:"at"`
	// Ended is the number of local jobs that ended within the period up to now from which the rate is computed: an
	// hour, or the age of a younger grid job.
	Ended  int          `json:"ended"`
	Within jjm.Duration `json:"within"`
	// Held is the number of local jobs that the estimate leaves out, because they continue only after a release.
	Held int `json:"held,omitempty"`
}

// Over reports whether the grid job has ended and is not about to be reopened.
func (s *Status) Over() bool {
	var st jjm.GridStatus
	return st.UnmarshalText([]byte(s.Lookup.Status)) == nil && st.Final() && s.Reopening == nil
}

// Ending is the end of a past generation.
type Ending struct {
	Generation int      `json:"generation"`
	Status     string   `json:"status"`
	Message    string   `json:"message,omitempty"`
	Exit       int      `json:"exit"`
	Tar        string   `json:"tar,omitempty"`
	TarBytes   int64    `json:"tar_bytes,omitempty"`
	TarSHA256  string   `json:"tar_sha256,omitempty"`
	Ended      jjm.Time `json:"ended"`
	// Reopened is when the next generation began, By the person who requested it, and Why the reason.
	Reopened jjm.Time `json:"reopened"`
	By       string   `json:"by"`
	Why      string   `json:"why"`
}

// EndingOf converts the end of a generation for the wire.
func EndingOf(e *jjm.Ending, message, tar string) Ending {
	return Ending{Generation: e.Generation, Status: e.Status.String(), Message: message, Exit: e.Exit, Tar: tar,
		TarBytes: e.TarBytes, TarSHA256: e.TarSHA256, Ended: e.Ended, Reopened: e.Reopened, By: e.By, Why: e.Why}
}

// Reopening is a request to reopen that is about to be carried out.
type Reopening struct {
	Generation int      `json:"generation"` // the generation that begins
	By         string   `json:"by"`
	Why        string   `json:"why"`
	Since      jjm.Time `json:"since"`
}

// NextAttempts counts the local jobs that wait for some time after a failure before they are submitted again. First is
// the earliest time at which one of these local jobs may be submitted.
type NextAttempts struct {
	Jobs  int      `json:"jobs"`
	First jjm.Time `json:"first"`
}

// LocalDetail contains the further details of a single local job.
type LocalDetail struct {
	// Folder is the absolute path of the folder in which the application of the current or last attempt runs or ran, ""
	// if there was no attempt. The folder may have been removed.
	Folder string `json:"folder,omitempty"`
	// Silent is set if the cluster of the local job answers no listing, so that the state of the local job may be old.
	Silent *Silence `json:"silent,omitempty"`
	// Used contains the resources that the last ended attempt used, UsedBy the number of this attempt; nil if no
	// attempt has ended.
	Used   *jjm.Usage `json:"used,omitempty"`
	UsedBy int32      `json:"used_by,omitempty"`
	// UsedByAll contains the resources that all ended attempts used; nil if fewer than two attempts have ended.
	UsedByAll *jjm.Usage `json:"used_by_all,omitempty"`
	// Wasted is the share of UsedByAll that was used by attempts whose work is not needed (jjm.Verdict.Wasted); nil if
	// no attempt was wasted.
	Wasted *jjm.Usage `json:"wasted,omitempty"`
	// Evidence and Verdict belong to the last attempt that ended.
	Evidence *Evidence    `json:"evidence,omitempty"`
	Verdict  *jjm.Verdict `json:"verdict,omitempty"`
	// Limits are the retry limits in force.
	Limits jjm.Limits `json:"limits,omitzero"`
	// StartedFinal is set if a started attempt that fails is never followed by a retry: the job reports by its exit
	// code and its job file enables no retries. Limits then apply only to attempts that never started, and to attempts
	// that request a further attempt.
	StartedFinal bool `json:"started_final,omitempty"`
	// MaxAutoResubmits is the greatest number of automatic resubmissions of the local job, 0 if the job file does not
	// enable them.
	MaxAutoResubmits int `json:"max_auto_resubmits,omitempty"`
	// Asked contains the resources that resubmissions request in place of the job file's resources, nil if no
	// resubmission requested resources.
	Asked *jjm.Resources `json:"asked,omitempty"`
}

// Silence is the present outage of a cluster. Since is its beginning. AsOf is the time of the last listing, from which
// the states of the cluster's local jobs are known; 0 if there was none since the start of the daemon.
type Silence struct {
	AsOf  jjm.Time `json:"as_of,omitempty"`
	Since jjm.Time `json:"since"`
}

// Step is one step of a grid job that has several steps.
type Step struct {
	// Step is the number of the step, as in its local jobs. Name is the name for people: process or merge.
	Step int32  `json:"step"`
	Name string `json:"name"`
	// Done is the number of local jobs in Counts.Expected that have done their work. Merging is the number of local jobs
	// in Done whose outputs wait to be merged; these local jobs stay in state completing until the merge.
	Done    int `json:"done"`
	Merging int `json:"merging,omitempty"`
	// Closed is set if no further local jobs will be added, except to repeat failed work.
	Closed bool `json:"closed,omitempty"`
	// Counts are the local jobs of the step. Expected excludes local jobs whose work other local jobs repeat.
	Counts Counts `json:"counts"`
}

// ClusterJob is the part of a grid job that one cluster has now or had last.
type ClusterJob struct {
	ID      string `json:"id"` // "17@slurm"
	Cluster string `json:"cluster"`
	Counts  Counts `json:"counts"` // Expected is always 0
}

// Warning is one warning about a grid job.
type Warning struct {
	Kind string `json:"kind"`
	// Line is the whole warning for people. Text is the description of the fault, Count the number of attempts with this
	// fault, and First a local job with such an attempt: "17.3". First is "" if the warning is about the inputs of the
	// whole grid job.
	Line  string `json:"line"`
	Text  string `json:"text"`
	Count int    `json:"count"`
	First string `json:"first,omitempty"`
}

// Hold counts the local jobs of a grid job that the same party holds for the same reason.
type Hold struct {
	// By is "application", "batch system" or "operator". Code and Text are the reason in the words of By.
	By   string `json:"by"`
	Code string `json:"code,omitempty"`
	Text string `json:"text,omitempty"`
	Jobs int    `json:"jobs"`
	// First is the id of one of the held local jobs: "17.3".
	First string `json:"first"`
}
