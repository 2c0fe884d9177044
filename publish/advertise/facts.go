package advertise

import (
	"jjm"
)

// Facts are what a site tells of itself.
type Facts struct {
	// Site is its name among sites: any text.
	Site string
	// Instance tells this jjm from any other, whatever its site is called: a word
	// of letters and digits.
	Instance string
	// Version is jjm's.
	Version string
	// Quality is GLUE's QualityLevel_t: "production", "pre-production", "testing"
	// or "development".
	Quality string
	// At is when this was so.
	At jjm.Time
	// Lifetime is how many seconds it may be believed.
	Lifetime int
	// Waiting are the local jobs that no batch system has yet, each counted once.
	Waiting     int
	Clusters    []Cluster
	Types       []JobType
	Gatekeepers []Gatekeeper
}

// Cluster is one batch system.
type Cluster struct {
	// Name and Kind are those of the configuration; Guarantee is how strong
	// "submitted exactly once" is there, and why.
	Name, Kind, Guarantee string
	// Health is whether it answers.
	Health Health
	// Drained clusters take no new grid jobs, Paused ones get nothing submitted;
	// Reason is why the administrator wants it so, or why it does not answer.
	Drained, Paused bool
	Reason          string
	// Slots is how many jobs can run at once; Queued and Running are jjm's own
	// local jobs there.
	Slots, Queued, Running Count
	// Waiting are the local jobs that may go here and that no batch system has
	// yet; one that may go to several clusters counts at each.
	Waiting int
	// LastSeen is when it last gave a listing; 0 = not so far.
	LastSeen jjm.Time
	Limits   Limits
	// Queue is the queue of jobs that name none, Queues are all that the
	// configuration names: any text.
	Queue  string
	Queues []string
}

// Limits bound jobs; 0 means no bound, or none that is known.
type Limits struct {
	// MaxCores, MaxMemoryMB and MaxWallTime (seconds) are one job's.
	MaxCores    int
	MaxMemoryMB int64
	MaxWallTime int64
	// MaxQueued is how many jobs one account may have in the batch system,
	// MaxPending and MaxRunning how many of jjm's may wait and run there, and the
	// last two how many of one user's.
	MaxQueued                            int
	MaxPending, MaxRunning               int
	MaxPendingPerUser, MaxRunningPerUser int
}

// JobType is one job type. Drained types take no new grid jobs, Paused ones get
// nothing submitted.
type JobType struct {
	Name            string
	Drained, Paused bool
}

// Gatekeeper is a door of the site: where grid jobs are handed in.
type Gatekeeper struct {
	// Kind is one of Kinds.
	Kind string
	// Contact is what clients call: "ce.example.org:2119/jobmanager-jjm".
	Contact string
}

// Kinds lists the kinds of gatekeepers that can be advertised: those that clients
// reach by a contact.
func Kinds() []string { return []string{"gram5", "htcondor-ce", "arc"} }

// Count is a number that may not be known. The zero Count is one that is not.
type Count struct {
	n     int
	known bool
}

// Known makes a Count of a number.
func Known(n int) Count { return Count{n, true} }

// Get returns the number, if it is known.
func (c Count) Get() (n int, known bool) { return c.n, c.known }

// sum adds; with an unknown part the sum is not known.
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

// Health is whether a batch system answers.
type Health uint8

// The three healths. Unasked is of a batch system that has not been asked, or
// has not answered, since jjm started.
const (
	Unasked Health = iota
	Answering
	Silent
)

// The states in which a cluster or a whole site is.
const (
	Open        = "open"        // takes grid jobs and runs them
	Drained     = "drained"     // takes no new grid jobs; those it has go on
	Paused      = "paused"      // takes grid jobs, and submits nothing
	Unreachable = "unreachable" // takes grid jobs, which wait until the batch system answers
	Unknown     = "unknown"     // takes grid jobs; the batch system was not asked so far
)

// State is the state in a word: what an administrator wants first.
func (c Cluster) State() string {
	switch {
	case c.Drained:
		return Drained
	case c.Paused:
		return Paused
	case c.Health == Silent:
		return Unreachable
	case c.Health == Unasked:
		return Unknown
	}
	return Open
}

// State is the best state of any cluster: a site is open if a grid job can run
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

// Offer is what the site takes just now, in one text to compare: its name, and
// the state of each cluster and job type. When it changes brokers should hear of
// it at once; counts can wait until the ad is sent again anyway.
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

func (t JobType) state() string {
	switch {
	case t.Drained:
		return Drained
	case t.Paused:
		return Paused
	}
	return Open
}

// totals are sums over the clusters.
type totals struct{ slots, queued, running Count }

func (f Facts) totals() totals {
	var slots, queued, running []Count
	for _, c := range f.Clusters {
		slots, queued, running = append(slots, c.Slots), append(queued, c.Queued), append(running, c.Running)
	}
	return totals{sum(slots), sum(queued), sum(running)}
}
