package wire

import "jjm/internal/jjm"

// VerbClusters is the verb "clusters": it shows the state of each batch system.
func VerbClusters() Verb[ClustersRequest, ClustersAnswer] {
	return Verb[ClustersRequest, ClustersAnswer]{About{Name: "clusters", MaxBytes: maxShort,
		Help: "The state of each batch system."}}
}

// ClustersRequest has no members except the common members of requests.
type ClustersRequest struct{ Head }

// Check accepts every request.
func (ClustersRequest) Check() error { return nil }

// ClustersAnswer is the answer of "clusters".
type ClustersAnswer struct {
	Reply
	Clusters []Cluster `json:"clusters,omitempty"`
	// Notes are further facts about the site for people, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// VerbReset is the verb "reset": it closes the circuit breaker of a cluster.
func VerbReset() Verb[ResetRequest, None] {
	return Verb[ResetRequest, None]{About{Name: "reset", MaxBytes: maxShort,
		Help: "Close the circuit breaker of a batch system."}}
}

// ResetRequest names the cluster.
type ResetRequest struct {
	Head
	Cluster string `json:"cluster,omitempty"`
}

// Check requires a name of at most maxWord bytes.
func (r ResetRequest) Check() error {
	if r.Cluster == "" || len(r.Cluster) > maxWord {
		return jjm.Errorf(jjm.Invalid, "cluster %.40q: want the name of a cluster", r.Cluster)
	}
	return nil
}

// Breaker is the state of a circuit breaker that is not closed.
type Breaker struct {
	State     string   `json:"state"` // open, half-open
	Since     jjm.Time `json:"since"` // time of the first failure
	Cause     string   `json:"cause"`
	NextProbe jjm.Time `json:"next_probe"`
}

// Cluster is the state of one batch system.
type Cluster struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Healthy bool   `json:"healthy"`
	Cause   string `json:"cause,omitempty"` // the reason why it is not healthy
	// Remedy is what a person can do if the cluster is not healthy or its circuit breaker is not closed; else "".
	Remedy    string `json:"remedy,omitempty"`
	Guarantee string `json:"guarantee"`
	Slots     int    `json:"slots"`
	// Storages are the storages whose files its workers can read. Empty means all.
	Storages []string `json:"storages,omitempty"`
	// Waiting is the number of local jobs that are not submitted yet. A job that may go to several clusters is counted at
	// each of these clusters.
	Waiting  int      `json:"waiting"`
	Queued   int      `json:"queued"`
	Running  int      `json:"running"`
	LastSeen jjm.Time `json:"last_seen,omitempty"` // time of the last complete listing
	// Since is when the cluster stopped being healthy. Trouble has a sentence for each fact that has been unknown for
	// long.
	Since   jjm.Time `json:"since,omitempty"`
	Trouble []string `json:"trouble,omitempty"`
	// Unsettled are the submissions whose answer was lost, and Missing the local jobs that listings do not show, for
	// engine.unknown_warn or longer; nil if there are none.
	Unsettled *Unknown `json:"unsettled,omitempty"`
	Missing   *Unknown `json:"missing,omitempty"`
	// Listing is the duration of the last listing of all jobs. Interval is the time from the start of a listing to the
	// start of the next listing; it is longer while the cluster has no jobs, and 0 if such a cluster is not listed.
	Listing  jjm.Duration `json:"listing,omitzero"`
	Interval jjm.Duration `json:"interval,omitzero"`
	// Commands is the number of commands started in the last minute. Ceiling is the greatest number that may be started
	// in a minute; 0 means no limit.
	Commands int `json:"commands"`
	Ceiling  int `json:"ceiling"`
	// Breaker is nil while the circuit breaker is closed. While the breaker is not closed, jjm sends only probes.
	// Accounting is the breaker of the accounting commands only.
	Breaker    *Breaker `json:"breaker,omitempty"`
	Accounting *Breaker `json:"accounting,omitempty"`
	// Orders are the orders in force about this cluster.
	Orders []jjm.Order `json:"orders,omitempty"`
	// Limits are the limits of the cluster for jobs.
	Limits Limits `json:"limits,omitzero"`
	// Learnt are the limits on submitted jobs that jjm learnt from refusals of the batch system, for each account whose
	// jobs were refused. A caller sees only the limits of the account that runs the caller's jobs.
	Learnt []LearntLimit `json:"learnt,omitempty"`
	// Unlisted are the accounts whose jobs the batch system does not list although it answers. It is empty if all jobs
	// run as one account. A caller sees only accounts whose jobs the caller may see.
	Unlisted []Unlisted `json:"unlisted,omitempty"`
}

// Unknown counts local jobs of unknown state, over all accounts.
type Unknown struct {
	Bulks int      `json:"bulks,omitempty"` // number of submissions
	Jobs  int      `json:"jobs"`            // number of local jobs
	Since jjm.Time `json:"since"`           // the beginning of the longest unknown state
}

// Unlisted is an account whose listings fail.
type Unlisted struct {
	Account string   `json:"account"`
	Last    jjm.Time `json:"last,omitempty"` // when the last listing that succeeded began; 0 if there was none
	Since   jjm.Time `json:"since"`          // when the first listing failed after that
	Cause   string   `json:"cause"`
}

// LearntLimit is the number of jobs that an account may have in a batch system, as learnt from refusals.
type LearntLimit struct {
	Account string   `json:"account"`
	Jobs    int      `json:"jobs"`
	Since   jjm.Time `json:"since"` // time of the last refusal
	Until   jjm.Time `json:"until"` // when the limit is forgotten
	Cause   string   `json:"cause"` // the batch system's words
}

// Limits are the limits of a cluster. 0 means that there is no limit, or that the limit is not known.
type Limits struct {
	// MaxCores, MaxMemoryMB (in MiB) and MaxWalltime limit each job.
	MaxCores    int          `json:"max_cores,omitempty"`
	MaxMemoryMB int64        `json:"max_memory_mb,omitempty"`
	MaxWalltime jjm.Duration `json:"max_walltime,omitzero"`
	// MaxQueued is the greatest number of jobs that one account may have in the batch system.
	MaxQueued int `json:"max_queued,omitempty"`
	// MaxPending and MaxRunning are the greatest numbers of jjm's jobs that may wait and run in the batch system.
	// MaxPendingPerUser and MaxRunningPerUser are the same limits for the jobs of one user.
	MaxPending        int `json:"max_pending,omitempty"`
	MaxRunning        int `json:"max_running,omitempty"`
	MaxPendingPerUser int `json:"max_pending_per_user,omitempty"`
	MaxRunningPerUser int `json:"max_running_per_user,omitempty"`
}
