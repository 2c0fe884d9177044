package base

import (
	"fmt"

	"jjm"
	"jjm/adapters/idealize"
	"jjm/plan"
)

// ClusterConfig are the settings that every cluster has, whatever its kind. In
// the zero value all are inherited from Config.
type ClusterConfig struct {
	// Poll is the least time between two listings that nothing asked for;
	// 0 = Config.Poll.
	Poll jjm.Duration `toml:"poll"`
	// PollMax bounds what a slow listing makes of Poll; 0 = Config.PollMax.
	PollMax jjm.Duration `toml:"poll_max"`
	// BatchSettle is Config.BatchSettle for this cluster; 0 = that, and for
	// clusters that are only polled Poll and pollSettle more.
	BatchSettle jjm.Duration `toml:"batch_settle"`
	// MaxPending is how many local jobs may wait inside this cluster;
	// 0 = Config.MaxPending.
	MaxPending int `toml:"max_pending"`
	// MaxRunning is how many local jobs may run here at once; 0 = as many as
	// the batch system starts.
	MaxRunning int `toml:"max_running"`
	// MaxPendingPerUser and MaxRunningPerUser bound those of one owner; 0 = no
	// bound but the cluster's.
	MaxPendingPerUser int `toml:"max_pending_per_user"`
	MaxRunningPerUser int `toml:"max_running_per_user"`
	// Storages are the names of those that the workers here can read files from,
	// as files of datasets tell their locations; nil = all of them.
	Storages []string `toml:"storages"`
	// Hold are rules about what this cluster holds; Config.Hold come after them.
	Hold []plan.HoldRule `toml:"hold"`
	// Config are the settings of the idealizer around the adapter; the engine
	// itself reads only Command (0 = Config.Command of the engine).
	idealize.Config
}

// ClusterDefaults are the settings of a cluster whose section sets nothing.
func (c Config) ClusterDefaults() ClusterConfig {
	out := ClusterConfig{Config: idealize.Defaults()}
	out.Command = c.Command
	return out
}

// Check finds settings out of range. The fields of the problems are bare keys.
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

// checkStorages finds storages that no file can name.
func (c ClusterConfig) checkStorages() (ps jjm.Problems) {
	if c.Storages != nil && len(c.Storages) == 0 {
		return jjm.Problems{{Field: "storages", Text: "names none: name at least one, or leave it out where all can be read"}}
	}
	seen := map[string]bool{}
	for i, name := range c.Storages {
		bad := func(text string) {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("storages[%d]", i), Text: text})
		}
		if f := (jjm.File{LFN: "f", Locations: []string{name}}); len(f.Problems()) > 0 {
			bad(fmt.Sprintf("%.60q: want the name of a storage, as files tell it in locations", name))
		} else if seen[name] {
			bad(fmt.Sprintf("%.60q is there twice", name))
		}
		seen[name] = true
	}
	return ps
}
