package jjm

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
