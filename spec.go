package jjm

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

// Limits are the GBS retry limits (GBS User Manual, section on the Manager
// configuration). A nil field means "not set here".
type Limits struct {
	EarlyMinutes  *int `json:"max_time_early_fails,omitempty"`     // minutes, default 5
	Early         *int `json:"max_retry_early,omitempty"`          // default 20
	LateHandled   *int `json:"max_retry_late_handled,omitempty"`   // default 5
	LateUnhandled *int `json:"max_retry_late_unhandled,omitempty"` // default 1
}

// Or gives l with every unset field taken from d.
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
