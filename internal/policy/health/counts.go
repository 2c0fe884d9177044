package health

import "jjm/internal/jjm"

// Counts are the numbers of jobs at the site, and of events since the daemon started.
type Counts struct {
	// Grids are the live grid jobs, by status. Locals are the local jobs of these grid jobs, by state, without the local
	// jobs that gave their work back.
	Grids  [jjm.NumGridStatuses]int
	Locals [jjm.NumStates]int
	// Clusters has an entry for each configured cluster, by name.
	Clusters map[string]ClusterCounts
	// Attempts are the ended attempts. GridsEnded are the ends of grid jobs, by status; a grid job that is reopened can
	// end several times.
	Attempts   map[End]int64
	GridsEnded [jjm.NumGridStatuses]int64
	// Collected is the total size, in bytes, of the output tars of ended grid jobs.
	Collected int64
}

// ClusterCounts are the counts of one cluster.
type ClusterCounts struct {
	// Jobs are the local jobs, by state, that the batch system has or is about to get.
	Jobs [jjm.NumStates]int
	// Submissions are the bulks that were made for the cluster since the daemon started, and Submitted their local jobs.
	Submissions, Submitted int64
}

// End is the kind of an attempt's end: the action, the level and the class of its verdict (jjm.Verdict).
type End struct {
	Action       jjm.Action
	Level, Class string
}
