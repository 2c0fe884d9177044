package jjm

import (
	"cmp"
	"fmt"
	"strings"
)

// Owner is the local account that a grid job belongs to.
type Owner struct {
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	User string `json:"user"`
}

// GridJob is one task that a gatekeeper or a person submitted. jjm cuts the task into local jobs.
type GridJob struct {
	ID     GridID     `json:"id"`
	Owner  Owner      `json:"owner"`
	Spec   Spec       `json:"spec"`
	Status GridStatus `json:"status"`
	// Generation is the number of the current generation, from 1. Reopening an ended grid job begins a new generation.
	// Endings describe the ends of the earlier generations, oldest first; they are never changed in place.
	Generation int      `json:"generation"`
	Endings    []Ending `json:"endings,omitempty"`
	// Kill is set once a kill of the grid job was requested. KillBy names the person or the part of jjm that asked.
	Kill   bool   `json:"kill,omitempty"`
	KillBy string `json:"kill_by,omitempty"`
	// Reason is the reason why the status is failed, broken or pending, or why the grid job is kept.
	Reason string `json:"reason,omitempty"`
	// Stopped is the reason why jjm no longer submits the local jobs that were never submitted, "" if nothing prevents
	// their submission. A resubmission clears Stopped.
	Stopped string `json:"stopped,omitempty"`
	// Rollback decides what happens to the grid job if it cannot be prepared or cut. It never changes.
	Rollback Rollback `json:"rollback,omitempty"`
	// BaseDir is the absolute folder that relative input paths start from.
	BaseDir  string `json:"base_dir,omitempty"`
	Accepted Time   `json:"accepted"`
	Changed  Time   `json:"changed"`
	Ended    Time   `json:"ended,omitempty"`
	Step     Step   `json:"step"`
	// Merging is the second step of the grid job. It is nil until the step is prepared, and for grid jobs that do not
	// merge. Local jobs of both steps are numbered in one sequence, and Step.Made and Step.Expected count both.
	Merging *MergeStep `json:"merging,omitempty"`
	// Tar is the file name of the output tar below the grid job's folder, "" until the tar is complete. TarBytes is the
	// size of the tar.
	Tar       string `json:"tar,omitempty"`
	TarBytes  int64  `json:"tar_bytes,omitempty"`
	TarSHA256 string `json:"tar_sha256,omitempty"`
	// Counts are the local jobs by state. They are set only after the grid job is final; before, they are counted in
	// memory.
	Counts [NumStates]int `json:"counts"`
	// Exit is the grid job's exit code once it is final (decision R11).
	Exit int `json:"exit"`
	// Origin is where the grid job came from, nil if the submitter did not say. Usage is nil until the grid job is
	// final.
	Origin *Origin `json:"origin,omitempty"`
	Usage  *Usage  `json:"usage,omitempty"`
	// Proof is the kind of proof on which the status done rests; "" if the grid job is not done, or if some of its work is
	// not proven.
	Proof Proof `json:"proof,omitempty"`
	// Warnings are never changed in place.
	Warnings []Warning `json:"warnings,omitempty"`
	// Causes are the reasons why local jobs failed; the cause of the most local jobs comes first. They are set only
	// after the grid job is final.
	Causes []Cause `json:"causes,omitempty"`
}

// Rollback decides what happens to a grid job that fails before a batch system gets any of its local jobs (decision
// R18). The zero value ends the grid job as broken, with its tar and message, as gatekeepers require.
type Rollback string

// The ways to roll back.
const (
	// RollbackRemove removes the grid job with all its data. Its id is not used again.
	RollbackRemove Rollback = "remove"
	// RollbackKeep makes the grid job registered again, with the reason. Its owner can then inspect, submit, copy or
	// remove the grid job.
	RollbackKeep Rollback = "keep"
)

// Kept reports whether the grid job was rolled back and waits until a person submits, removes or kills it.
func (g *GridJob) Kept() bool {
	return g.Rollback == RollbackKeep && g.Status == Registered && g.Reason != "" && !g.Kill
}

// Step is one stage of a grid job: how its work is cut, and how much is already cut. Only grid jobs that merge have a
// second step.
type Step struct {
	// Prepared is true if the work area and the sandbox exist. It is stored, so that a restart does not prepare the
	// step again.
	Prepared bool `json:"prepared"`
	// Clusters are the clusters that the local jobs may use, best first; Cluster is the first of these clusters.
	Cluster  string   `json:"cluster,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	// Places are the places of files that only some of the clusters can read. LocalJob.Place is a position in Places,
	// from 1.
	Places []Place `json:"places,omitempty"`
	// Splitter is the name of the splitter that the job type chose, and Why its reasons,
	// for people.
	Splitter string   `json:"splitter,omitempty"`
	Why      []string `json:"why,omitempty"`
	// Expected is the total number of local jobs that will be made, as far as it is known.
	Expected int `json:"expected"`
	// Made is the number of local jobs made so far. Closed is true if no more will be made.
	Made   int  `json:"made"`
	Closed bool `json:"closed"`
	// Carry is the splitter's state between calls, as JSON. It is stored in the same transaction as the parts of the
	// call that returned it.
	Carry []byte `json:"carry,omitempty"`
}

// ClusterJob is the share of a grid job on one cluster: the local jobs whose current or last attempt is there (decision
// R22). It is computed, not stored.
type ClusterJob struct {
	Cluster string         `json:"cluster"`
	Counts  [NumStates]int `json:"counts"`
}

// Jobs returns the number of local jobs.
func (c ClusterJob) Jobs() int {
	n := 0
	for _, k := range c.Counts {
		n += k
	}
	return n
}

// ID returns the name of the cluster job of a grid job as people write it: "17@slurm".
func (c ClusterJob) ID(grid GridID) string { return grid.String() + "@" + c.Cluster }

// MaxFragment is the greatest size in bytes of an XML fragment that a job, or a program outside jjm, may add to a
// record. It limits the text as written and its canonical form.
const MaxFragment = 64 << 10

// MaxJobFile is the greatest size of a job file in bytes. It is far above what people write, and small enough for one
// request on the daemon's socket.
const MaxJobFile = 4 << 20

// Spec is a grid job as described by its job file, after defaults. It is stored as JSON and never changes after
// acceptance.
type Spec struct {
	// Type names the job type, whose handler prepares the grid job.
	Type string `json:"type"`
	// Model is the name of the model whose keys complete the keys of the job file; "" means none. The Spec already
	// contains the model's keys.
	Model string `json:"model,omitempty"`
	// Name is for people; the default is the type.
	Name string `json:"name,omitempty"`
	// Key is the request key: two submissions of one owner with the same key are one grid job. Without a key, every
	// submission makes a new grid job.
	Key string `json:"key,omitempty"`
	// KeyReuse allows a new grid job if the grid job with the same key was cancelled.
	KeyReuse bool `json:"key_reuse,omitempty"`
	// Mode is GBS_MODE: Production or Test.
	Mode string `json:"mode,omitempty"`
	// Clusters are the candidates, best first. The local jobs are spread over the candidates that can meet the request. A
	// list that contains only AnyCluster stands for all clusters of the site. An empty list stands for the site's default.
	Clusters []string `json:"clusters,omitempty"`
	// Result is "glf" or "exit": how the job reports its end (decision R1). "" stands for the type's default.
	Result string `json:"result,omitempty"`
	// Retry overrides the site's retry limits, and says which failures are retried.
	Retry Retries `json:"retry,omitzero"`
	// AutoResubmit is true if failed local jobs are resubmitted automatically, within the limits of the site.
	AutoResubmit bool `json:"auto_resubmit,omitempty"`
	// KeepGoing decides what happens after a cluster that takes local jobs one by one refused a local job: if it is
	// true, the other local jobs are submitted; else they are not.
	KeepGoing bool `json:"keep_going,omitempty"`
	// AutoKill is the number of failed local jobs at which jjm kills the grid job if no local job completed. 0 and -1
	// mean never; nil means the site's number.
	AutoKill *int `json:"auto_kill,omitempty"`
	// Request contains the resources that each local job needs.
	Request Request `json:"request,omitzero"`
	// Env is added to the environment of the application.
	Env map[string]string `json:"env,omitempty"`
	// Inputs are files to be packed in the sandbox. All local jobs share one package.
	Inputs []Input `json:"inputs,omitempty"`
	// Outputs are glob patterns, relative to the job's directory, of files to
	// collect besides standard output, standard error and the GBS log file.
	Outputs []string `json:"outputs,omitempty"`
	// OutputsRequired are further patterns. If a local job leaves no file for one of these patterns, it has failed.
	OutputsRequired []string `json:"outputs_required,omitempty"`
	// OutputsOptional are further patterns. A local job need not leave a file for these patterns: the grid job is done
	// even if there is no such file, or if such files were left out.
	OutputsOptional []string `json:"outputs_optional,omitempty"`
	// OutputTemplates define output names that are unique in the grid job, because each contains a number of its local job
	// (decision R29).
	OutputTemplates []OutputTemplate `json:"output_templates,omitempty"`
	// Credentials are the kinds of credentials (ProxyKind, TokenKind) that the jobs get from the credentials that came
	// with the submission.
	Credentials []string `json:"credentials,omitempty"`
	// Datasets are the datasets that the job reads: at most one master, and any number of secondary
	// ones. Without a master the type generates its work itself.
	Datasets []DatasetInput `json:"datasets,omitempty"`
	// Split describes how the master dataset is cut, for types that leave this decision to the job file; nil is the
	// type's default.
	Split *Splitting `json:"split,omitempty"`
	// OutputDataset is the dataset to which the outputs of completed local jobs are
	// added; "" is none. The parents of each file are the files that its local job owned
	// (decision R27).
	OutputDataset string `json:"output_dataset,omitempty"`
	// Merge describes how outputs are merged; if it is nil, they are not merged.
	Merge *Merge `json:"merge,omitempty"`
	// Only restricts the grid job to these events or rows, by number, among those that the type would generate; nil
	// stands for all. Recoveries use Only to do only the missing work.
	Only []Span `json:"only,omitempty"`
	// OnlyFrom names an input file of the job that lists such ranges, for lists too long
	// for Only. Each line is FIRST COUNT, or FIRST COUNT LFN for ranges of files.
	OnlyFrom string `json:"only_from,omitempty"`
	// Recovers is the grid job whose missing work this grid job does, 0 = none. The work of both grid jobs is verified
	// together.
	Recovers GridID `json:"recovers,omitempty"`
	// RecoversGeneration is the generation of Recovers that ended without the missing work. 0 stands for the first one.
	RecoversGeneration int `json:"recovers_generation,omitempty"`
	// RecoversNumber is the number of this recovery among the recoveries of Recovers, from 1; 0 if the job file does not
	// say it. A recovery with a number is refused if another recovery took its number, and perhaps its work.
	RecoversNumber int `json:"recovers_number,omitempty"`
	// FirstSerial is the serial number of the first part, 0 = 1. A recovery continues the
	// numbers of the grid job that it recovers, so that no seed is used twice.
	FirstSerial int64 `json:"first_serial,omitempty"`
	// After are the grid jobs that must end before this grid job begins. AfterEnd, a word of AfterEnds, is the way in
	// which they must end; "" if After is empty.
	After    []GridID `json:"after,omitempty"`
	AfterEnd string   `json:"after_end,omitempty"`
	// Notify are the mail addresses to which jjm reports the end of the grid job.
	Notify []string `json:"notify,omitempty"`
	// Callback describes the server to which changes of the status are reported, nil if there is none.
	Callback *Callback `json:"callback,omitempty"`
	// Params are the job type's own settings.
	Params map[string]any `json:"params,omitempty"`
}

// NeedsOutputs reports whether the outputs are merged or added to a dataset. Then each local job must leave a file
// for each pattern of Outputs.
func (s *Spec) NeedsOutputs() bool { return s.Merge != nil || s.OutputDataset != "" }

// AnyCluster stands for every cluster of the site.
const AnyCluster = "any"

// Request contains the resources that one local job needs from a batch system. Zero stands for the cluster's default.
// Two local jobs with equal requests may share a bulk.
type Request struct {
	Cores    int      `json:"cores,omitempty"`
	MemoryMB int64    `json:"memory_mb,omitempty"` // MiB
	Walltime Duration `json:"walltime,omitzero"`
	// CPUTime is the processor time that each process of a local job may use; 0 = no limit. The wrapper sets the limit,
	// so that it is the same in every batch system.
	CPUTime Duration `json:"cpu_time,omitzero"`
	// Queue is a queue or partition.
	Queue string `json:"queue,omitempty"`
	GPUs  int    `json:"gpus,omitempty"`
	// ScratchMB is disk space on the worker, in MiB.
	ScratchMB int64 `json:"scratch_mb,omitempty"`
	// Account is the batch system's account that is charged; Project and QOS are the
	// batch system's project and quality of service.
	Account string `json:"account,omitempty"`
	Project string `json:"project,omitempty"`
	QOS     string `json:"qos,omitempty"`
	// Directives are options in the batch system's own language, one a line. A cluster accepts directives only if its
	// configuration allows this.
	Directives string `json:"directives,omitempty"`
}

// With returns a copy of r in which the fields that are set in o have the values of o; o may be nil.
func (r Request) With(o *Request) Request {
	if o == nil {
		return r
	}
	r.Cores, r.MemoryMB, r.Walltime = cmp.Or(o.Cores, r.Cores), cmp.Or(o.MemoryMB, r.MemoryMB),
		cmp.Or(o.Walltime, r.Walltime)
	r.CPUTime, r.Queue, r.GPUs = cmp.Or(o.CPUTime, r.CPUTime), cmp.Or(o.Queue, r.Queue), cmp.Or(o.GPUs, r.GPUs)
	r.ScratchMB, r.Account = cmp.Or(o.ScratchMB, r.ScratchMB), cmp.Or(o.Account, r.Account)
	r.Project, r.QOS = cmp.Or(o.Project, r.Project), cmp.Or(o.QOS, r.QOS)
	r.Directives = cmp.Or(o.Directives, r.Directives)
	return r
}

// Resources replace resources of the job file for local jobs that are resubmitted. A zero field replaces nothing.
type Resources struct {
	MemoryMB int64    `json:"memory_mb,omitempty"` // MiB
	Walltime Duration `json:"walltime,omitzero"`
	Queue    string   `json:"queue,omitempty"`
	// Cluster is one of the clusters of the grid job. The local jobs may then use only this cluster.
	Cluster string `json:"cluster,omitempty"`
}

// Request returns a request with the fields of r, except the cluster.
func (r Resources) Request() *Request {
	return &Request{MemoryMB: r.MemoryMB, Walltime: r.Walltime, Queue: r.Queue}
}

// With returns a copy of r in which the fields that are set in o have the values of o.
func (r Resources) With(o Resources) Resources {
	return Resources{MemoryMB: cmp.Or(o.MemoryMB, r.MemoryMB), Walltime: cmp.Or(o.Walltime, r.Walltime),
		Queue: cmp.Or(o.Queue, r.Queue), Cluster: cmp.Or(o.Cluster, r.Cluster)}
}

// String returns r for people: "memory 4000 MiB, walltime 2h".
func (r Resources) String() string {
	var texts []string
	if r.MemoryMB != 0 {
		texts = append(texts, fmt.Sprintf("memory %d MiB", r.MemoryMB))
	}
	if r.Walltime != 0 {
		texts = append(texts, "walltime "+r.Walltime.String())
	}
	if r.Queue != "" {
		texts = append(texts, "queue "+r.Queue)
	}
	if r.Cluster != "" {
		texts = append(texts, "cluster "+r.Cluster)
	}
	return strings.Join(texts, ", ")
}

// Input is one file for the sandbox.
type Input struct {
	// Path is a local file or folder, relative to the job file's folder unless absolute,
	// or a URL of http or https.
	Path string `json:"path"`
	// Name is its name in the job's directory; by default Path's last element.
	Name string `json:"name,omitempty"`
	// SHA256 is the expected checksum in hex, checked when the sandbox is packed. If it is "", the file is not checked.
	SHA256 string `json:"sha256,omitempty"`
	// Executable sets the x bits.
	Executable bool `json:"executable,omitempty"`
	// CredentialFile is a local file of the submitter with the credential for the server of a URL: a bearer token, or
	// user:password.
	CredentialFile string `json:"credential_file,omitempty"`
}

// OutputTemplate is the template for the name of an output of each local job of the first step (JEDI's output
// templates).
type OutputTemplate struct {
	// Name is the file's final name. ${SN} in it stands for a number that no other local
	// job of the grid job has.
	Name string `json:"name"`
	// Stream is the placeholder that stands for the name in commands.
	Stream string `json:"stream,omitempty"`
	// Source is the file that the application writes, relative to the job's directory; ""
	// if it writes the final name.
	Source string `json:"source,omitempty"`
	// MaxSerial is the largest number that may be used, 0 = no bound.
	MaxSerial int64 `json:"max_serial,omitempty"`
	// Log is true if the output is the log of the local job, which jjm itself makes.
	Log bool `json:"log,omitempty"`
	// Required is true if a local job without this output has failed.
	Required bool `json:"required,omitempty"`
	// Optional is true if the output may be missing even if the outputs are merged or added to a dataset.
	Optional bool `json:"optional,omitempty"`
}

// Limits are the GBS retry limits (GBS User Manual, section on the Manager configuration). A
// nil field is not set. DefaultLimits has the values of GBS.
type Limits struct {
	EarlyMinutes  *int `json:"max_time_early_fails,omitempty"` // minutes within which a failure is early
	Early         *int `json:"max_retry_early,omitempty"`
	LateHandled   *int `json:"max_retry_late_handled,omitempty"`   // retries that the application requested later
	LateUnhandled *int `json:"max_retry_late_unhandled,omitempty"` // retries of other later failures
}

// The bounds of Limits.
const (
	maxRetries      = 1000
	maxEarlyMinutes = 7 * 24 * 60
)

// Problems returns the limits that are out of range; Problem.Field is the key.
func (l Limits) Problems() (ps Problems) {
	limit := func(key string, n *int, most int) {
		if n != nil && (*n < 0 || *n > most) {
			ps = append(ps, Problem{Field: key, Text: fmt.Sprintf("%d is out of range: want 0 to %d", *n, most)})
		}
	}
	limit("max_time_early_fails", l.EarlyMinutes, maxEarlyMinutes)
	limit("max_retry_early", l.Early, maxRetries)
	limit("max_retry_late_handled", l.LateHandled, maxRetries)
	limit("max_retry_late_unhandled", l.LateUnhandled, maxRetries)
	return ps
}

// Or returns l with every unset field taken from d.
func (l Limits) Or(d Limits) Limits {
	pick := func(a, b *int) *int {
		if a != nil {
			return a
		}
		return b
	}
	return Limits{
		EarlyMinutes:  pick(l.EarlyMinutes, d.EarlyMinutes),
		Early:         pick(l.Early, d.Early),
		LateHandled:   pick(l.LateHandled, d.LateHandled),
		LateUnhandled: pick(l.LateUnhandled, d.LateUnhandled),
	}
}

// DefaultLimits returns the defaults of GBS.
func DefaultLimits() Limits {
	n := func(i int) *int { return &i }
	return Limits{EarlyMinutes: n(5), Early: n(20), LateHandled: n(5), LateUnhandled: n(1)}
}

// Retries are the retry settings of a job file.
type Retries struct {
	Limits
	// OnExit are the only exit codes after which a job that reports by its exit code is
	// retried; any other failure of a started attempt is final. If it is empty, only the
	// limits decide.
	OnExit []int `json:"on_exit,omitempty"`
}

// Asked reports whether the job file sets anything about retries. A job that reports by its
// exit code is retried only then (decision R1).
func (r Retries) Asked() bool { return r.Limits != (Limits{}) || len(r.OnExit) > 0 }

// The two ways a job type reports its result (decision R1).
const (
	ResultGLF  = "glf"
	ResultExit = "exit"
)

// Merge describes the second step of a grid job. It merges the outputs of the first step into fewer, larger files, and
// runs while the first step still runs. A number that is 0 stands for its default.
type Merge struct {
	// Command is the program that merges the files of a part. Exactly one of Command and
	// Concat is set.
	Command []string `json:"command,omitempty"`
	// Concat makes the wrapper concatenate the files.
	Concat bool `json:"concat,omitempty"`
	// Output is the name of a merged file; default "merged".
	Output string `json:"output,omitempty"`
	// Files, Bytes and Events limit the input of one merge; a file above a limit gets its own merge. Defaults: 50, 5
	// GB, 100 000 000. With JEDIMerge, Bytes limits the expected size of the merge's output.
	Files  int   `json:"files,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	Events int64 `json:"events,omitempty"`
	// MaxWait is how long a file waits for other files to be merged with; default 12 h.
	MaxWait Duration `json:"max_wait,omitzero"`
	// Attempts is the greatest number of local jobs that may try the same merge, one after another; default 3.
	Attempts int `json:"attempts,omitempty"`
	// Apart lists by what outputs are kept apart: ApartWords. Only JEDIMerge keeps outputs apart.
	Apart []string `json:"apart,omitempty"`
	// Split has further settings of the merging splitter.
	Split *Splitting `json:"split,omitempty"`
}

// The defaults of merging. MergeEvents and MergeWait are WMCore's numbers, the other numbers are JEDI's.
const (
	MergeFiles    = 50
	MergeBytes    = 5_000_000_000
	MergeEvents   = 100_000_000
	MergeWait     = Duration(12 * 3600 * 1e9)
	MergeAttempts = 3
	MergeOutput   = "merged"
)

// The words of Merge.Apart. Outputs are not merged together if these of their local jobs differ: the cluster that they
// ran on, the group of the files that they read (JEDI's boundary), or their priority.
const (
	ApartCluster  = "cluster"
	ApartGroup    = "group"
	ApartPriority = "priority"
)

// ApartWords returns the valid words of Merge.Apart.
func ApartWords() []string { return []string{ApartCluster, ApartGroup, ApartPriority} }

// The steps of a grid job.
const (
	StepWork  = 0 // the work of the job type
	StepMerge = 1 // the merge of the outputs of the first step
)

// StepName returns the name of a step for people.
func StepName(step int32) string {
	if step == StepMerge {
		return "merge"
	}
	return "process"
}

// StepCounts are the local jobs of one step of a grid job that has two steps.
type StepCounts struct {
	Step int32
	// Counts leaves out local jobs whose work other local jobs do again. GivenBack counts these local jobs.
	Counts    [NumStates]int
	GivenBack int
	// Merging is the number of completing local jobs that have ended and wait for their outputs to be merged.
	Merging int
	// Expected is the number that Counts will reach in all, as far as it is known. Closed is true if no more local jobs
	// will be made.
	Expected int
	Closed   bool
}

// Done returns the number of local jobs that have done their work, including those whose outputs are not yet merged.
func (c StepCounts) Done() int { return c.Counts[Completed] + c.Counts[CompletedFrozen] + c.Merging }

// MergeOutlook estimates, before a grid job runs, how many merges it will make.
type MergeOutlook struct {
	Splitter string `json:"splitter"`
	// Outputs is the number of files to be merged if every local job leaves all declared outputs; 0 = not known.
	Outputs int64 `json:"outputs,omitempty"`
	// Least and Most bound the number of merges of that many outputs.
	Least int64 `json:"least,omitempty"`
	Most  int64 `json:"most,omitempty"`
	// Estimated is the number of merges if each output is as large as estimated; 0 =
	// there is no estimate.
	Estimated int64 `json:"estimated,omitempty"`
	// Text is the same in words, for people.
	Text string `json:"text"`
}

// MergeStep is the progress of cutting the merge step of a grid job into local jobs.
type MergeStep struct {
	Splitter string `json:"splitter"`
	// Made is the number of merging local jobs made so far. Closed is true if no more will be made.
	Made   int  `json:"made"`
	Closed bool `json:"closed"`
	// Carry is the splitter's state between calls, as JSON; see Step.Carry.
	Carry []byte `json:"carry,omitempty"`
}
