package wire

import "jjm"

// VerbClusters tells how the batch systems are.
func VerbClusters() Verb[ClustersRequest, ClustersAnswer] {
	return Verb[ClustersRequest, ClustersAnswer]{About{Name: "clusters", MaxBytes: maxShort,
		Help: "The batch systems: well or not, and how busy."}}
}

// ClustersRequest takes nothing.
type ClustersRequest struct{ Head }

// Check implements Request.
func (ClustersRequest) Check() error { return nil }

// ClustersAnswer answers clusters.
type ClustersAnswer struct {
	Reply
	Clusters []Cluster `json:"clusters,omitempty"`
	// Notes are what else people should know of the site.
	Notes []string `json:"notes,omitempty"`
}

// VerbReset closes the circuit breaker of a cluster.
func VerbReset() Verb[ResetRequest, None] {
	return Verb[ResetRequest, None]{About{Name: "reset", MaxBytes: maxShort,
		Help: "Close the circuit breaker of a batch system."}}
}

// ResetRequest names a cluster.
type ResetRequest struct {
	Head
	Cluster string `json:"cluster,omitempty"`
}

// Check implements Request.
func (r ResetRequest) Check() error {
	if r.Cluster == "" || len(r.Cluster) > maxWord {
		return jjm.Errorf(jjm.Invalid, "cluster %.40q: want the name of a cluster", r.Cluster)
	}
	return nil
}

// Breaker is a circuit breaker that is not closed.
type Breaker struct {
	State     string   `json:"state"` // open, half-open
	Since     jjm.Time `json:"since"` // the first of the failures
	Cause     string   `json:"cause"`
	NextProbe jjm.Time `json:"next_probe"`
}

// Cluster is the state of one batch system.
type Cluster struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Healthy   bool   `json:"healthy"`
	Cause     string `json:"cause,omitempty"` // why not healthy
	Guarantee string `json:"guarantee"`
	Slots     int    `json:"slots"`
	// Storages are those that its workers can read files from; none = all.
	Storages []string `json:"storages,omitempty"`
	// Waiting are not yet handed over; one that may go to several clusters
	// counts at each.
	Waiting  int      `json:"waiting"`
	Queued   int      `json:"queued"`
	Running  int      `json:"running"`
	LastSeen jjm.Time `json:"last_seen,omitempty"` // last good listing
	// Since is when the trouble began; Trouble tells what has been unknown for
	// long.
	Since   jjm.Time `json:"since,omitempty"`
	Trouble []string `json:"trouble,omitempty"`
	// Listing is how long a round of listings takes, Interval the time from one
	// to the next.
	Listing  jjm.Duration `json:"listing,omitzero"`
	Interval jjm.Duration `json:"interval,omitzero"`
	// Commands is how many commands were begun within the last minute, Ceiling
	// the most there may be; 0 = no ceiling.
	Commands int `json:"commands"`
	Ceiling  int `json:"ceiling"`
	// Breaker is set while the circuit breaker is not closed: no command is sent
	// but a probe. Accounting is that of the accounting alone.
	Breaker    *Breaker `json:"breaker,omitempty"`
	Accounting *Breaker `json:"accounting,omitempty"`
	// Orders are those in force about this cluster.
	Orders []jjm.Order `json:"orders,omitempty"`
	// Limits bound its jobs.
	Limits Limits `json:"limits,omitzero"`
}

// Limits are the bounds of a cluster; 0 means none, or none that is known.
type Limits struct {
	// MaxCores, MaxMemoryMB and MaxWalltime are one job's.
	MaxCores    int          `json:"max_cores,omitempty"`
	MaxMemoryMB int64        `json:"max_memory_mb,omitempty"`
	MaxWalltime jjm.Duration `json:"max_walltime,omitzero"`
	// MaxQueued is how many jobs one account may have in the batch system.
	MaxQueued int `json:"max_queued,omitempty"`
	// MaxPending and MaxRunning are how many of jjm's may wait and run there, and
	// the last two how many of one user's.
	MaxPending        int `json:"max_pending,omitempty"`
	MaxRunning        int `json:"max_running,omitempty"`
	MaxPendingPerUser int `json:"max_pending_per_user,omitempty"`
	MaxRunningPerUser int `json:"max_running_per_user,omitempty"`
}
