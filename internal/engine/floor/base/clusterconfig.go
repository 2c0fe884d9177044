package base

import (
	"fmt"

	"jjm/adapters/idealize"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// ClusterConfig contains the settings that clusters of all kinds have. Where a comment says so, the value 0 stands for
// the engine's setting of the same name in Config.
type ClusterConfig struct {
	// Poll is the time between two periodic listings; 0 = Config.Poll.
	Poll jjm.Duration `toml:"poll"`
	// PollMax is the longest time to which slow listings may stretch Poll; 0 = Config.PollMax.
	PollMax jjm.Duration `toml:"poll_max"`
	// BatchSettle is how long a result on this cluster waits for the batch system's final report; 0 = Config.BatchSettle.
	// With 0, a cluster that sends no events and is only polled waits at least two intervals of listings and a fixed time
	// (pollSettle in package cluster).
	BatchSettle jjm.Duration `toml:"batch_settle"`
	// MaxPending is the greatest number of local jobs that may wait in this batch system; 0 = Config.MaxPending.
	MaxPending int `toml:"max_pending"`
	// MaxRunning is the greatest number of local jobs that may run in this cluster at the same time; 0 = no limit.
	MaxRunning int `toml:"max_running"`
	// MaxPendingPerUser and MaxRunningPerUser limit the waiting and the running local jobs of one owner; 0 = only the
	// cluster's limits apply.
	MaxPendingPerUser int `toml:"max_pending_per_user"`
	MaxRunningPerUser int `toml:"max_running_per_user"`
	// DefaultWalltime is the walltime that maintenance windows assume for a job that requests none; 0 = the longest that
	// the batch system allows any job.
	DefaultWalltime jjm.Duration `toml:"default_walltime"`
	// Storages are the names of the storages that the workers of this cluster can read, as in jjm.File.Locations; nil =
	// all storages.
	Storages []string `toml:"storages"`
	// Hold are rules about jobs that this cluster's batch system holds. They are applied before the rules of Config.Hold.
	Hold []plan.HoldRule `toml:"hold"`
	// Config contains the settings of the idealizer, the layer around the adapter that limits and repeats calls. The
	// engine itself reads only the setting Command; 0 = Config.Command of the engine.
	idealize.Config
}

// ClusterDefaults returns the settings of a cluster whose section sets nothing.
func (c Config) ClusterDefaults() ClusterConfig {
	out := ClusterConfig{Config: idealize.Defaults()}
	out.Command = c.Command
	return out
}

// Check returns a problem for each setting that is out of range. Problem.Field is the key of the setting within the
// cluster's section.
func (c ClusterConfig) Check() jjm.Problems {
	ps := c.Config.Check()
	for _, n := range []struct {
		field string
		value int
	}{
		{"max_pending", c.MaxPending}, {"max_running", c.MaxRunning},
		{"max_pending_per_user", c.MaxPendingPerUser}, {"max_running_per_user", c.MaxRunningPerUser},
	} {
		if n.value < 0 {
			ps = append(ps, jjm.Problem{Field: n.field, Text: "want a whole number, or 0 for no bound of its own"})
		}
	}
	if c.PollMax != 0 && c.PollMax < c.Poll {
		ps = append(ps, jjm.Problem{Field: "poll_max", Text: "want at least poll"})
	}
	return append(append(ps, c.checkStorages()...), checkHolds("hold", c.Hold)...)
}

// checkStorages returns a problem for each storage whose name no file can have, for each storage that is listed twice,
// and for an empty list.
func (c ClusterConfig) checkStorages() (ps jjm.Problems) {
	if c.Storages != nil && len(c.Storages) == 0 {
		return jjm.Problems{{Field: "storages", Text: "is empty: name at least one storage, or leave the key out if the workers can read all of them"}}
	}
	seen := map[string]bool{}
	for i, name := range c.Storages {
		bad := func(text string) {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("storages[%d]", i), Text: text})
		}
		if f := (jjm.File{LFN: "f", Locations: []string{name}}); len(f.Problems()) > 0 {
			bad(fmt.Sprintf("%.60q: want the name of a storage, as in the locations of files", name))
		} else if seen[name] {
			bad(fmt.Sprintf("%.60q is listed twice", name))
		}
		seen[name] = true
	}
	return ps
}
