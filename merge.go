package jjm

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
