package share

import (
	"slices"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Closed returns, for people, the order that forbids to submit the local jobs of g with a place to a cluster now: a
// pause of the cluster or of their queue, or a maintenance window. It returns "" if no order does.
func (st *Site) Closed(mem state.Memory, g *state.Grid, place int32, name string, now jjm.Time) string {
	r := state.RequestAt(&g.Job, place)
	if o, paused := mem.OrderedAt(jjm.OrderPause, name, r, now); paused {
		return o.String()
	}
	return st.Window(mem, name, r, now)
}

// Window returns, for people, why a maintenance window forbids to submit local jobs with the request r to a cluster of
// the site now, "" if no window does.
func (st *Site) Window(mem state.Memory, name string, r jjm.Request, now jjm.Time) string {
	windows := mem.Windows(name, r, now)
	if len(windows) == 0 {
		return ""
	}
	return plan.Shut(windows, st.stay(name, r), now)
}

// WindowTimes returns since when the window of Window has forbidden to submit such local jobs, and the end of this
// window. The times are 0 if no window does.
func (st *Site) WindowTimes(mem state.Memory, name string, r jjm.Request, now jjm.Time) (since, until jjm.Time) {
	windows := mem.Windows(name, r, now)
	if len(windows) == 0 {
		return 0, 0
	}
	return plan.ShutTimes(windows, st.stay(name, r), now)
}

// stay returns how long local jobs with the request r may stay in a cluster.
func (st *Site) stay(name string, r jjm.Request) plan.Stay {
	c := st.all[name]
	return plan.StayOf(r, c.Config.DefaultWalltime.D(), c.Caps().MaxWalltime)
}

// Open returns the clusters to which local jobs of g with a place may go now: no pause and no maintenance window closes
// them. If at least one of these clusters is not drained, the drained ones are left out.
func (st *Site) Open(mem state.Memory, g *state.Grid, place int32, now jjm.Time) []string {
	names := slices.DeleteFunc(mem.Candidates(g, place), func(name string) bool {
		return st.Closed(mem, g, place, name, now) != ""
	})
	fit := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, drained := mem.OrderedAt(jjm.OrderDrain, name, state.RequestAt(&g.Job, place), now)
		return drained
	})
	if len(fit) > 0 {
		return fit
	}
	return names
}
