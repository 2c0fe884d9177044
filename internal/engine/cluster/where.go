package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Waits returns, for people, why no cluster accepts the unsent local jobs of g now: one text for each place without a
// cluster that accepts its local jobs. some is true if a cluster accepts the local jobs of at least one place.
func (cs *Clusters) Waits(mem state.Memory, g *state.Grid, now jjm.Time) (why []string, some bool) {
	if o, halted := mem.Halted(g, now); halted {
		return []string{o.String()}, false
	}
	if low := cs.s.Low(); low != "" {
		return []string{low}, false
	}
	if why := cs.s.WorkUses.Excess(g.Job.Owner.UID); why != "" {
		return []string{why}, false
	}
	if len(g.Job.Step.Clusters) == 0 {
		return nil, true
	}
	for _, place := range g.UnsentPlaces() {
		text := cs.nobodyTakes(mem, g, place, now)
		switch {
		case text == "":
			some = true
		case place == 0:
			why = append(why, text)
		default:
			why = append(why, fmt.Sprintf("waiting for %s: %s: %s", state.PlaceText(g, place),
				jjm.Count(g.UnsentAt.Of(place), "local job"), text))
		}
	}
	return why, some
}

// nobodyTakes returns, for people, why no cluster accepts the local jobs of g with a place now, "" if a cluster does.
func (cs *Clusters) nobodyTakes(mem state.Memory, g *state.Grid, place int32, now jjm.Time) string {
	var why []string
	for _, name := range mem.Candidates(g, place) {
		if text := cs.closed(mem, g, place, name, now); text != "" {
			why = append(why, text)
		} else if !cs.all[name].health.Healthy() {
			why = append(why, fmt.Sprintf("cluster %s does not answer", name))
		} else {
			return ""
		}
	}
	if len(why) == 0 {
		return fmt.Sprintf("this site no longer has any of its clusters: %s", strings.Join(g.Among(place), ", "))
	}
	return strings.Join(why, "; ")
}

// WaitsFor returns, for people, why no cluster accepts any unsent local job of g now, "" if a cluster accepts some of
// them.
func (cs *Clusters) WaitsFor(mem state.Memory, g *state.Grid, now jjm.Time) string {
	why, some := cs.Waits(mem, g, now)
	if some {
		return ""
	}
	return strings.Join(why, "; ")
}

// closed returns, for people, the order that forbids to submit the local jobs of g with a place to a cluster now: a
// pause of the cluster or of their queue, or a maintenance window. It returns "" if no order does.
func (cs *Clusters) closed(mem state.Memory, g *state.Grid, place int32, name string, now jjm.Time) string {
	r := state.RequestAt(&g.Job, place)
	if o, paused := mem.OrderedAt(jjm.OrderPause, name, r, now); paused {
		return o.String()
	}
	return cs.window(mem, name, r, now)
}

// window returns, for people, why a maintenance window forbids to submit local jobs with the request r to a cluster of
// the site now, "" if no window does.
func (cs *Clusters) window(mem state.Memory, name string, r jjm.Request, now jjm.Time) string {
	windows := mem.Windows(name, r, now)
	if len(windows) == 0 {
		return ""
	}
	c := cs.all[name]
	return plan.Shut(windows, plan.StayOf(r, c.Config.DefaultWalltime.D(), c.Caps().MaxWalltime), now)
}

// Shut reports whether a maintenance window forbids to submit some unsent local jobs of g to one of their clusters now.
func (cs *Clusters) Shut(mem state.Memory, g *state.Grid, now jjm.Time) bool {
	if g.Unsent() == 0 {
		return false
	}
	return slices.ContainsFunc(g.UnsentPlaces(), func(place int32) bool {
		r := state.RequestAt(&g.Job, place)
		return slices.ContainsFunc(mem.Candidates(g, place), func(name string) bool {
			return cs.window(mem, name, r, now) != ""
		})
	})
}

// ShowWaits sets the field Waits of local jobs in rows, which are copies of rows of g. For an unsent local job, Waits
// names the clusters to which the local job may go, if these are not all clusters of the grid job, and says why none of
// them accepts it now. For a local job on a cluster that the site no longer has, Waits says so. The caller holds the
// memory lock.
func (cs *Clusters) ShowWaits(mem state.Memory, g *state.Grid, rows []jjm.LocalJob, now jjm.Time) {
	state.ShowPlaces(g, rows, now)
	texts := map[int32]*jjm.Waiting{} // by place; nil if a cluster accepts its local jobs
	loads := sync.OnceValue(func() loads { return cs.loads(mem) })
	for i := range rows {
		l := &rows[i]
		if _, known := cs.s.Positions[l.Cluster]; !known && l.Cluster != "" && l.State.InBatch() && state.Unsent(l) == 0 {
			l.Waits = &jjm.Waiting{Reason: removedText(l.Cluster), Source: "jjm", At: now}
			continue
		}
		if state.Unsent(l) == 0 {
			continue
		}
		if _, known := texts[l.Place]; !known {
			texts[l.Place] = nil
			why := cs.keeps(mem, g, l.Place, now)
			if why == "" {
				why = fullFor(cs, mem, g, l.Place, loads(), now)
			}
			if why != "" {
				if l.Waits != nil {
					why = l.Waits.Reason + ": " + why
				}
				texts[l.Place] = &jjm.Waiting{Reason: why, Source: "jjm", At: now}
			}
		}
		if texts[l.Place] != nil {
			l.Waits = texts[l.Place]
		}
	}
}

// keeps returns, for people, why no cluster accepts the local jobs of g with a place now; "" if a cluster does. Limits
// on numbers of jobs do not count; see fullFor.
func (cs *Clusters) keeps(mem state.Memory, g *state.Grid, place int32, now jjm.Time) string {
	if o, halted := mem.Halted(g, now); halted {
		return o.String()
	}
	if len(g.Among(place)) == 0 {
		return ""
	}
	return cs.nobodyTakes(mem, g, place, now)
}

// open returns the clusters to which local jobs of g with a place may go now: no pause and no maintenance window closes
// them. If at least one of these clusters is not drained, the drained ones are left out.
func (cs *Clusters) open(mem state.Memory, g *state.Grid, place int32, now jjm.Time) []string {
	names := slices.DeleteFunc(mem.Candidates(g, place), func(name string) bool {
		return cs.closed(mem, g, place, name, now) != ""
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
