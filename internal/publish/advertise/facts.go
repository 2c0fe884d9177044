package advertise

import (
	"jjm/internal/jjm"
)

// Facts are the facts that a site publishes about itself.
type Facts struct {
	// Site is the name of the site. It may be any text.
	Site string
	// Instance identifies this jjm, independent of the name of its site. It consists of letters and digits.
	Instance string
	// Version is the version of jjm.
	Version string
	// Quality is a QualityLevel_t of GLUE: "production", "pre-production", "testing" or
	// "development".
	Quality string
	// At is the time of the facts.
	At jjm.Time
	// Lifetime is the number of seconds for which a reader may rely on the facts.
	Lifetime int
	// Waiting is the number of local jobs that no batch system has yet. A local job that may go to several clusters is
	// counted once.
	Waiting     int
	Clusters    []Cluster
	Types       []JobType
	Gatekeepers []Gatekeeper
}

// Cluster is one batch system.
type Cluster struct {
	// Name and Kind are the cluster's name and kind in the configuration. Guarantee describes how reliably a job is
	// submitted exactly once to this cluster, and why.
	Name, Kind, Guarantee string
	// Health reports whether the batch system answers.
	Health Health
	// If Drained is set, the cluster accepts no new grid jobs. If Paused is set, jjm submits nothing to the cluster.
	// Reason is the administrator's reason, or the reason why the cluster does not answer.
	Drained, Paused bool
	Reason          string
	// Slots is the number of jobs that can run at the same time. Queued and Running count jjm's own local jobs in the
	// batch system.
	Slots, Queued, Running Count
	// Waiting is the number of local jobs that may go to this cluster and are in no batch system yet. A local job that may
	// go to several clusters is counted at each of these clusters.
	Waiting int
	// LastSeen is the time of the last listing, 0 if there was none yet.
	LastSeen jjm.Time
	Limits   Limits
	// Queue is the queue of jobs that name no queue. Queues are all queues in the configuration, as any text.
	Queue  string
	Queues []string
}

// Limits are the limits for jobs. 0 means that there is no limit, or that the limit is unknown.
type Limits struct {
	// MaxCores, MaxMemoryMB (MiB) and MaxWallTime (seconds) bound one job.
	MaxCores    int
	MaxMemoryMB int64
	MaxWallTime int64
	// MaxQueued is the maximum number of jobs that one account may have in the batch system. MaxPending and MaxRunning are
	// the maximum numbers of jobs of jjm that may wait or run there. MaxPendingPerUser and MaxRunningPerUser are the same
	// limits for the jobs of one user.
	MaxQueued                            int
	MaxPending, MaxRunning               int
	MaxPendingPerUser, MaxRunningPerUser int
}

// JobType is one job type. If Drained is set, the type accepts no new grid jobs. If Paused is set, jjm submits no jobs
// of the type.
type JobType struct {
	Name            string
	Drained, Paused bool
}

// Gatekeeper is one way to submit grid jobs to the site.
type Gatekeeper struct {
	// Kind is one of Kinds.
	Kind string
	// Contact is the address that clients use: "ce.example.org:2119/jobmanager-jjm".
	Contact string
}

// Kinds returns the kinds of gatekeepers that can be advertised: the kinds that clients reach by a contact.
func Kinds() []string { return []string{"gram5", "htcondor-ce", "arc"} }

// Count is a number that may be unknown. The zero Count is unknown.
type Count struct {
	n     int
	known bool
}

// Known returns the Count of a known number.
func Known(n int) Count { return Count{n, true} }

// Get returns the number and whether it is known.
func (c Count) Get() (n int, known bool) { return c.n, c.known }

// sum adds counts. The sum is unknown if any count is unknown.
func sum(counts []Count) Count {
	total := Known(0)
	for _, c := range counts {
		total = Count{total.n + c.n, total.known && c.known}
	}
	if !total.known {
		return Count{}
	}
	return total
}

// Health is the observed health of a batch system: whether it answers.
type Health uint8

// The values of Health. HealthUnknown means that the batch system has not answered yet
// since jjm started.
const (
	HealthUnknown Health = iota
	Answering
	NotAnswering
)

// The states of a cluster or a site.
const (
	Open        = "open"        // accepts grid jobs and runs them
	Drained     = "drained"     // accepts no new grid jobs; existing grid jobs continue
	Paused      = "paused"      // accepts grid jobs and submits nothing
	Unreachable = "unreachable" // accepts grid jobs, which wait until the batch system answers
	Unknown     = "unknown"     // accepts grid jobs; the batch system has not answered yet
)

// State returns the state of the cluster. An order of an administrator takes precedence over an observation.
func (c Cluster) State() string {
	switch {
	case c.Drained:
		return Drained
	case c.Paused:
		return Paused
	case c.Health == NotAnswering:
		return Unreachable
	case c.Health == HealthUnknown:
		return Unknown
	}
	return Open
}

// State returns the best state of all clusters: the site is open if a grid job can run
// somewhere.
func (f Facts) State() string {
	for _, state := range []string{Open, Unknown, Unreachable, Paused} {
		for _, c := range f.Clusters {
			if c.State() == state {
				return state
			}
		}
	}
	return Drained
}

// Offer returns the current offer of the site as one text, which is compared with earlier offers. It contains the name
// of the site and the state of each cluster and job type, but no counts: brokers should learn of a changed offer
// immediately, while changed counts can wait until the ad is sent the next time.
func (f Facts) Offer() string {
	text := f.Site
	for _, c := range f.Clusters {
		text += "\n" + c.Name + " " + c.State()
	}
	for _, t := range f.Types {
		text += "\n" + t.Name + " " + t.state()
	}
	return text
}

// state returns the state of the job type.
func (t JobType) state() string {
	switch {
	case t.Drained:
		return Drained
	case t.Paused:
		return Paused
	}
	return Open
}

// totals are the sums over all clusters.
type totals struct{ slots, queued, running Count }

func (f Facts) totals() totals {
	var slots, queued, running []Count
	for _, c := range f.Clusters {
		slots, queued, running = append(slots, c.Slots), append(queued, c.Queued), append(running, c.Running)
	}
	return totals{sum(slots), sum(queued), sum(running)}
}
