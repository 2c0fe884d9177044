package jjm

import "cmp"

// Owner is the local account a grid job belongs to.
type Owner struct {
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	User string `json:"user"`
}

// GridJob is what a gatekeeper handed over: one task, cut into local jobs.
type GridJob struct {
	ID     GridID     `json:"id"`
	Owner  Owner      `json:"owner"`
	Spec   Spec       `json:"spec"`
	Status GridStatus `json:"status"`
	// Kill is set once somebody asked to kill the grid job; KillBy names them.
	Kill   bool   `json:"kill,omitempty"`
	KillBy string `json:"kill_by,omitempty"`
	// Reason says why the status is failed, broken or pending.
	Reason string `json:"reason,omitempty"`
	// BaseDir is the folder relative input paths start from.
	BaseDir  string `json:"base_dir,omitempty"`
	Accepted Time   `json:"accepted"`
	Changed  Time   `json:"changed"`
	Ended    Time   `json:"ended,omitempty"`
	Step     Step   `json:"step"`
	// Merging is its second step, nil until it is prepared or if it merges
	// nothing. Local jobs of both steps are numbered in one sequence, and
	// Step.Made and Step.Expected count both.
	Merging *MergeStep `json:"merging,omitempty"`
	// Tar is the file name of the output tar below the grid job's folder, ""
	// until it is complete; TarBytes is its size.
	Tar       string `json:"tar,omitempty"`
	TarBytes  int64  `json:"tar_bytes,omitempty"`
	TarSHA256 string `json:"tar_sha256,omitempty"`
	// Counts are the local jobs by state, kept here once the grid job is final.
	Counts [NumStates]int `json:"counts"`
	// Exit is the grid job's exit code once it is final (decision R11).
	Exit int `json:"exit"`
	// Origin is where it came from, nil if nobody said. Usage is what it used,
	// nil until it is final.
	Origin *Origin `json:"origin,omitempty"`
	Usage  *Usage  `json:"usage,omitempty"`
}

// Step is one stage of a grid job: how its work is cut and how far the cutting
// has come. Plain grid jobs have one.
type Step struct {
	// Prepared is true once the work area and the sandbox exist; it is the
	// stored result that a restart skips.
	Prepared bool `json:"prepared"`
	// Clusters are where the local jobs may go, best first; Cluster is the first
	// of them.
	Cluster  string   `json:"cluster,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
	// Places are where files of its parts are that not all of the clusters can
	// read, and which of them can; local jobs name them by number.
	Places []Place `json:"places,omitempty"`
	// Splitter, and Why: what Prepare decided about the cutting.
	Splitter string   `json:"splitter,omitempty"`
	Why      []string `json:"why,omitempty"`
	// Expected is the number of local jobs the cutting will make in all.
	Expected int `json:"expected"`
	// Made is the number made so far; Closed says that no more will come.
	Made   int  `json:"made"`
	Closed bool `json:"closed"`
	// Carry is the splitter's memory between cuts, as JSON, committed with the
	// parts it led to.
	Carry []byte `json:"carry,omitempty"`
}

// ClusterJob is the part of a grid job that one cluster has: the local jobs
// whose current or last attempt went there (decision R22). It is a view, not a
// state of its own.
type ClusterJob struct {
	Cluster string         `json:"cluster"`
	Counts  [NumStates]int `json:"counts"`
}

// Jobs is the number of local jobs.
func (c ClusterJob) Jobs() int {
	n := 0
	for _, k := range c.Counts {
		n += k
	}
	return n
}

// ID names the cluster job of a grid job as people write it: "17@slurm".
func (c ClusterJob) ID(grid GridID) string { return grid.String() + "@" + c.Cluster }

// MaxFragment is the longest fragment that a writer outside jjm, or a job, may add to a
// record, in bytes, also in canonical form.
const MaxFragment = 64 << 10

// MaxJobFile is the longest job file, in bytes: far above what people write, and
// within what one request on the daemon's socket may hold.
const MaxJobFile = 4 << 20

// Spec is a grid job as its job file describes it, after defaults. It is
// stored as JSON and never changes once accepted.
type Spec struct {
	// Type names the job type whose handler instantiates the grid job.
	Type string `json:"type"`
	// Name is for people; by default the type.
	Name string `json:"name,omitempty"`
	// Key is the request key: the same key from the same owner is the same
	// grid job. Empty: every submission is a new one.
	Key string `json:"key,omitempty"`
	// KeyReuse allows the key anew once the grid job that holds it was
	// cancelled.
	KeyReuse bool `json:"key_reuse,omitempty"`
	// Mode is GBS_MODE: Production or Test.
	Mode string `json:"mode,omitempty"`
	// Clusters lists the candidates, best first: the local jobs are spread over
	// those that meet the request. AnyCluster alone means every cluster of the
	// site; empty means the site's default.
	Clusters []string `json:"clusters,omitempty"`
	// Result says how the job reports: "glf" or "exit" (decision R1). Empty:
	// the type's own way.
	Result string `json:"result,omitempty"`
	// Retry overrides the site's retry limits.
	Retry Limits `json:"retry,omitzero"`
	// Request is what each local job needs.
	Request Request `json:"request,omitzero"`
	// Env is added to the environment of the application.
	Env map[string]string `json:"env,omitempty"`
	// Inputs are packed in the sandbox, one package for all local jobs.
	Inputs []Input `json:"inputs,omitempty"`
	// Outputs are glob patterns, relative to the job's directory, of files to
	// collect besides standard output, standard error and the GBS log file.
	Outputs []string `json:"outputs,omitempty"`
	// OutputTemplates name outputs for good, with a number for each local job
	// (decision R29).
	OutputTemplates []OutputTemplate `json:"output_templates,omitempty"`
	// Credentials are the kinds that the jobs want, of those given with the
	// submission: ProxyKind, TokenKind.
	Credentials []string `json:"credentials,omitempty"`
	// Datasets are what the job reads: one master, and any number of secondary
	// ones. Empty: the type makes its work itself.
	Datasets []DatasetInput `json:"datasets,omitempty"`
	// Split says how the master dataset is cut, where the type leaves that open;
	// nil is the type's own way.
	Split *Splitting `json:"split,omitempty"`
	// OutputDataset gets the outputs of completed local jobs as files, whose
	// parents are the files that the local job owned (decision R27); "" is none.
	OutputDataset string `json:"output_dataset,omitempty"`
	// Merge asks for the outputs to be merged; nil leaves them as they are.
	Merge *Merge `json:"merge,omitempty"`
	// Only are the events or rows to process, by number, of those that the type
	// would make; nil is all. A recovery does what is missing so.
	Only []Span `json:"only,omitempty"`
	// OnlyFrom is a list of such ranges, an input of the job, which may be long: a
	// range a line, FIRST COUNT, and for files FIRST COUNT LFN.
	OnlyFrom string `json:"only_from,omitempty"`
	// Recovers is the grid job whose missing work this one does, 0 = none: the two
	// are verified together.
	Recovers GridID `json:"recovers,omitempty"`
	// FirstSerial is the number of the first part, 0 = 1: a recovery goes on after
	// those of the grid job that it is for, so that no seed comes twice.
	FirstSerial int64 `json:"first_serial,omitempty"`
	// Params are the job type's own settings.
	Params map[string]any `json:"params,omitempty"`
}

// AnyCluster stands for every cluster of the site.
const AnyCluster = "any"

// Request is what one local job needs from a batch system. Zero means the
// cluster's default. Two local jobs of equal requests may share a bulk.
type Request struct {
	Cores    int      `json:"cores,omitempty"`
	MemoryMB int64    `json:"memory_mb,omitempty"` // MiB
	Walltime Duration `json:"walltime,omitzero"`
	// CPUTime is how much processor time each process of a local job may use; 0 = no
	// limit. The wrapper sets it, alike in every batch system.
	CPUTime Duration `json:"cpu_time,omitzero"`
	// Queue is a queue or partition.
	Queue string `json:"queue,omitempty"`
	GPUs  int    `json:"gpus,omitempty"`
	// ScratchMB is disk space on the worker, in MiB.
	ScratchMB int64 `json:"scratch_mb,omitempty"`
	// Account is charged for the job; Project and QOS are further words of the
	// site's accounting and scheduling.
	Account string `json:"account,omitempty"`
	Project string `json:"project,omitempty"`
	QOS     string `json:"qos,omitempty"`
	// Directives are options in the batch system's own language, one a line.
	// A cluster takes them only if its configuration allows it.
	Directives string `json:"directives,omitempty"`
}

// With returns the request with what another one, which may be nil, asks for in its
// place.
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

// Input is one file for the sandbox.
type Input struct {
	// Path is a local file, relative to the job file's folder unless absolute.
	Path string `json:"path"`
	// Name is its name in the job's directory; by default Path's last element.
	Name string `json:"name,omitempty"`
	// SHA256, in hex, is checked when the sandbox is packed.
	SHA256 string `json:"sha256,omitempty"`
	// Executable sets the x bits.
	Executable bool `json:"executable,omitempty"`
}

// OutputTemplate names an output of each local job of the first step (JEDI's output
// templates).
type OutputTemplate struct {
	// Name is the file's name for good, in which ${SN} stands for a number that no
	// other local job of the grid job has.
	Name string `json:"name"`
	// Stream is the placeholder that stands for the name in commands.
	Stream string `json:"stream,omitempty"`
	// Source is the file that the application writes, relative to the job's
	// directory; empty: it writes one of that name.
	Source string `json:"source,omitempty"`
	// MaxSerial is the largest number that may be given, 0 = no bound.
	MaxSerial int64 `json:"max_serial,omitempty"`
	// Log says that it is the log of the job, which jjm makes.
	Log bool `json:"log,omitempty"`
}

// Limits are the GBS retry limits (GBS User Manual, section on the Manager
// configuration). A nil field means "not set here".
type Limits struct {
	EarlyMinutes  *int `json:"max_time_early_fails,omitempty"`     // minutes, default 5
	Early         *int `json:"max_retry_early,omitempty"`          // default 20
	LateHandled   *int `json:"max_retry_late_handled,omitempty"`   // default 5
	LateUnhandled *int `json:"max_retry_late_unhandled,omitempty"` // default 1
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

// DefaultLimits are the defaults of GBS.
func DefaultLimits() Limits {
	n := func(i int) *int { return &i }
	return Limits{EarlyMinutes: n(5), Early: n(20), LateHandled: n(5), LateUnhandled: n(1)}
}

// The two ways a job type reports its result (decision R1).
const (
	ResultGLF  = "glf"
	ResultExit = "exit"
)

// Merge asks for a second step: what the local jobs of a grid job make is merged
// into fewer, larger files while they still run. A zero number is the default.
type Merge struct {
	// Command merges the files of a part; exactly one of it and Concat is given.
	Command []string `json:"command,omitempty"`
	// Concat puts the bytes of the files one after another.
	Concat bool `json:"concat,omitempty"`
	// Output is the name of a merged file; default "merged".
	Output string `json:"output,omitempty"`
	// Files, Bytes and Events are the most that a merge has of each; a larger file
	// is merged alone. Defaults 50, 5 GB, 100 000 000.
	Files  int   `json:"files,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	Events int64 `json:"events,omitempty"`
	// MaxWait is how long a file waits for others; default 12 h.
	MaxWait Duration `json:"max_wait,omitzero"`
	// Attempts is how many local jobs may try one merge; default 3.
	Attempts int `json:"attempts,omitempty"`
	// Split has further settings of the splitter.
	Split *Splitting `json:"split,omitempty"`
}

// The defaults of merging: JEDI's numbers, but for the events and the wait,
// which are WMCore's.
const (
	MergeFiles    = 50
	MergeBytes    = 5_000_000_000
	MergeEvents   = 100_000_000
	MergeWait     = Duration(12 * 3600 * 1e9)
	MergeAttempts = 3
	MergeOutput   = "merged"
)

// The steps of a grid job.
const (
	StepWork  = 0 // what its type makes
	StepMerge = 1
)

// StepName is what people call a step.
func StepName(step int32) string {
	if step == StepMerge {
		return "merge"
	}
	return "process"
}

// StepCounts are the local jobs of one step of a grid job that has two.
type StepCounts struct {
	Step int32
	// Counts leave out those whose work others do again; GivenBack counts them.
	Counts    [NumStates]int
	GivenBack int
	// Merging of the completing ones have done their work, and wait for their
	// outputs to be merged.
	Merging int
	// Expected is how many of Counts there will be, as far as it is known; Closed
	// says that no more will be made.
	Expected int
	Closed   bool
}

// Done is how many have done their work.
func (c StepCounts) Done() int { return c.Counts[Completed] + c.Merging }

// MergeOutlook is how many merges a grid job would make, as far as that can be told
// before anything ran.
type MergeOutlook struct {
	Splitter string `json:"splitter"`
	// Outputs is how many files would be merged if every local job left what is
	// declared; 0 = not known.
	Outputs int64 `json:"outputs,omitempty"`
	// Least and Most bound the merges then.
	Least int64 `json:"least,omitempty"`
	Most  int64 `json:"most,omitempty"`
	// Estimated is how many they are if each output is as large as estimated; 0 =
	// there are no estimates.
	Estimated int64 `json:"estimated,omitempty"`
	// Text says it for people.
	Text string `json:"text"`
}

// MergeStep is how far the merging of a grid job has come.
type MergeStep struct {
	Splitter string `json:"splitter"`
	// Made counts the local jobs made for it; Closed says that no more will come.
	Made   int  `json:"made"`
	Closed bool `json:"closed"`
	// Carry is the splitter's memory between cuts, as JSON.
	Carry []byte `json:"carry,omitempty"`
}
