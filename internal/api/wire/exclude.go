package wire

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// VerbExclude is the verb "exclude": it keeps jjm's jobs off hosts, ends that, or lists the excluded hosts.
func VerbExclude() Verb[ExcludeRequest, ExcludeAnswer] {
	return Verb[ExcludeRequest, ExcludeAnswer]{About{Name: "exclude", MaxBytes: maxShort,
		Help: "Keep jobs off hosts, end that; or list the excluded hosts."}}
}

// ExcludeRequest excludes hosts, or includes hosts again. Without Exclude, it lists the excluded hosts.
type ExcludeRequest struct {
	Head
	Exclude *Exclude `json:"exclude,omitempty"`
}

// Check checks the form of Exclude, if Exclude is set.
func (r ExcludeRequest) Check() error {
	if r.Exclude == nil {
		return nil
	}
	return r.Exclude.check()
}

// Changes reports whether the request excludes or includes hosts.
func (r ExcludeRequest) Changes() bool { return r.Exclude != nil }

// ExcludeAnswer is the answer of "exclude".
type ExcludeAnswer struct {
	Reply
	Excluded *Excluded `json:"excluded,omitempty"`
}

// Check requires the member excluded.
func (a ExcludeAnswer) Check() error { return present("excluded", a.Excluded != nil) }

// Exclude is an administrator's request to keep jjm's jobs off hosts of a cluster, or to end that.
type Exclude struct {
	// Include ends the exclusions instead of setting them.
	Include bool `json:"include,omitempty"`
	// Cluster is the cluster that has the hosts. It may be left out if the site has one cluster. If Include is set and
	// Cluster is left out, the hosts are included in every cluster.
	Cluster string   `json:"cluster,omitempty"`
	Hosts   []string `json:"hosts"`
	Reason  string   `json:"reason,omitempty"`
	// At most one of For and Until is set. The exclusion then ends at that time.
	For   jjm.Duration `json:"for,omitzero"`
	Until jjm.Time     `json:"until,omitempty"`
}

// Excluded is the result of an ExcludeRequest.
type Excluded struct {
	// Hosts are the exclusions that were set or ended, and those in force already that the request sets
	// again. If the request had no Exclude, they are the exclusions in force.
	Hosts []jjm.Exclusion `json:"hosts"`
	// Running is the number of local jobs that run on the hosts, and continue. Queued is the number of local jobs that
	// were submitted to the cluster before the exclusion and wait there; they may still start on the hosts. Both are 0
	// unless the request excluded hosts.
	Running int `json:"running,omitempty"`
	Queued  int `json:"queued,omitempty"`
	// NoChange are the hosts of the request for which nothing changed: they were excluded already, for the same reason and
	// until the same time, or there was no exclusion to end. This is a success. Notes say why nothing changed, one
	// sentence for each of these hosts.
	NoChange []string `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// MaxHosts is the largest number of hosts in one request, and of excluded hosts of one cluster. Every submission names
// all excluded hosts of the cluster.
const MaxHosts = 100

// check returns the first mistake that can be found without knowledge of the site.
func (e *Exclude) check() error {
	for i, host := range e.Hosts {
		if !jjm.IsHost(host) {
			return jjm.Errorf(jjm.Invalid, "exclude.hosts[%d] %.40q: want the name of a host as the batch system shows it: "+
				"letters, digits and . - _, at most %d bytes", i, host, jjm.MaxHost)
		}
		if slices.Contains(e.Hosts[:i], host) {
			return jjm.Errorf(jjm.Invalid, "exclude.hosts[%d] %.40q: it is named twice: leave one out", i, host)
		}
	}
	switch {
	case len(e.Hosts) == 0 || len(e.Hosts) > MaxHosts:
		return jjm.Errorf(jjm.Invalid, "exclude.hosts: %d names: want 1 to %d", len(e.Hosts), MaxHosts)
	case len(e.Cluster) > maxWord || !oneLine(e.Cluster):
		return jjm.Errorf(jjm.Invalid, "exclude.cluster %.40q: want the name of a cluster", e.Cluster)
	case len(e.Reason) > maxReason || !oneLine(e.Reason):
		return jjm.Errorf(jjm.Invalid, "exclude.reason %.40q: want one line of at most %d bytes", e.Reason, maxReason)
	case e.Include && (e.For != 0 || e.Until != 0):
		return jjm.Errorf(jjm.Invalid, "exclude: include ends an exclusion at once: leave out for and until")
	case !e.Include && strings.TrimSpace(e.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "exclude.reason is missing: say why, for those who look for the host")
	case e.For < 0 || e.Until < 0 || e.For != 0 && e.Until != 0:
		return jjm.Errorf(jjm.Invalid, "exclude: want for, until, or neither")
	}
	return nil
}
