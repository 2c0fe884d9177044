package advertise

import (
	"crypto/sha256"
	"encoding/hex"
)

// AdType is the MyType of a site's ad.
const AdType = "JJMSite"

// NameKey returns a word of hexadecimal digits that represents a site's name in constraints. Not every name can be
// written in a constraint, because constraints have other rules for quotes than ads.
func NameKey(site string) string {
	sum := sha256.Sum256([]byte(site))
	return hex.EncodeToString(sum[:8])
}

// Ad returns the site's ad. The collector itself uses three attributes: MyType is the table, Name is the key in the
// table, and ClassAdLifetime is the number of seconds after which the collector drops the ad. docs/ADVERTISING.md
// documents all attributes.
func (f Facts) Ad() Ad {
	t := f.totals()
	return Ad{
		{"MyType", AdType},
		{"Name", f.Site},
		{"NameKey", NameKey(f.Site)},
		{"Instance", f.Instance},
		{"ClassAdLifetime", f.Lifetime},
		{"Published", int64(f.At) / 1000},
		{"JJMVersion", f.Version},
		{"State", f.State()},
		{"TotalSlots", t.slots},
		{"RunningJobs", t.running},
		{"QueuedJobs", t.queued},
		{"WaitingJobs", f.Waiting},
		{"JobTypes", f.types(false)},
		{"DrainedJobTypes", f.types(true)},
		{"Gatekeepers", f.gatekeepers()},
		{"ClusterNames", f.names()},
		{"Clusters", f.clusters()},
	}
}

// types returns the names of the job types that accept new grid jobs. If drained is set, it returns the names of the
// other job types.
func (f Facts) types(drained bool) List {
	out := List{}
	for _, t := range f.Types {
		if t.Drained == drained {
			out = append(out, t.Name)
		}
	}
	return out
}

func (f Facts) gatekeepers() List {
	out := List{}
	for _, g := range f.Gatekeepers {
		out = append(out, Ad{{"Kind", g.Kind}, {"Contact", g.Contact}})
	}
	return out
}

func (f Facts) names() List {
	out := List{}
	for _, c := range f.Clusters {
		out = append(out, c.Name)
	}
	return out
}

func (f Facts) clusters() List {
	out := List{}
	for _, c := range f.Clusters {
		out = append(out, c.ad())
	}
	return out
}

// ad returns a cluster's part of the site's ad. Limits that do not exist or are unknown are left out.
func (c Cluster) ad() Ad {
	ad := Ad{{"Name", c.Name}, {"Kind", c.Kind}, {"State", c.State()}, {"Drained", c.Drained}, {"Paused", c.Paused}}
	if c.Health != HealthUnknown {
		ad = append(ad, Attr{"Answers", c.Health == Answering})
	}
	if c.Reason != "" {
		ad = append(ad, Attr{"Reason", c.Reason})
	}
	ad = append(ad, Ad{{"Slots", c.Slots}, {"RunningJobs", c.Running}, {"QueuedJobs", c.Queued},
		{"WaitingJobs", c.Waiting},
		{"Guarantee", c.Guarantee}}...)
	if c.LastSeen != 0 {
		ad = append(ad, Attr{"LastSeen", int64(c.LastSeen) / 1000})
	}
	queues := List{}
	for _, q := range c.Queues {
		queues = append(queues, q)
	}
	ad = append(ad, Attr{"Queues", queues})
	if c.Queue != "" {
		ad = append(ad, Attr{"DefaultQueue", c.Queue})
	}
	return append(ad, c.Limits.ad()...)
}

func (l Limits) ad() Ad {
	var ad Ad
	for _, b := range []struct {
		name  string
		bound int64
	}{
		{"MaxCores", int64(l.MaxCores)}, {"MaxMemoryMB", l.MaxMemoryMB}, {"MaxWallTime", l.MaxWallTime},
		{"MaxQueuedJobs", int64(l.MaxQueued)}, {"MaxPendingJobs", int64(l.MaxPending)},
		{"MaxRunningJobs", int64(l.MaxRunning)},
		{"MaxPendingJobsPerUser", int64(l.MaxPendingPerUser)}, {"MaxRunningJobsPerUser", int64(l.MaxRunningPerUser)},
	} {
		if b.bound > 0 {
			ad = append(ad, Attr{b.name, b.bound})
		}
	}
	return ad
}

// Withdrawal returns the query for condor_advertise INVALIDATE_ADS_GENERIC that removes a
// site's ad from a collector. It matches only the ad of the given instance.
func Withdrawal(site, instance string) string {
	return "MyType = \"Query\"\nTargetType = \"" + AdType + "\"\nRequirements = " + Constraint(site) +
		` && Instance == "` + instance + "\"\n"
}

// Constraint returns the expression for condor_status -constraint that selects all ads of a site, including ads of
// other instances.
func Constraint(site string) string {
	return `MyType == "` + AdType + `" && NameKey == "` + NameKey(site) + `"`
}
