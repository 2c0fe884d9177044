package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"jjm/internal/engine/cluster/share"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Waits returns, for people, why no cluster accepts the unsent local jobs of g now: one text for each place without a
// cluster that accepts its local jobs. some is true if a cluster accepts the local jobs of at least one place.
func (cs *Clusters) Waits(mem state.Memory, g *state.Grid, now jjm.Time) (why []string, some bool) {
	if o := cs.siteObstacle(mem, g, now); o.code != "" {
		return []string{o.text()}, false
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
	var texts []string
	for _, o := range cs.placeObstacles(mem, g, place, now) {
		texts = append(texts, o.text())
	}
	return strings.Join(texts, "; ")
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

// Shut reports whether a maintenance window forbids to submit some unsent local jobs of g to one of their clusters now.
func (cs *Clusters) Shut(mem state.Memory, g *state.Grid, now jjm.Time) bool {
	if g.Unsent() == 0 {
		return false
	}
	return slices.ContainsFunc(g.UnsentPlaces(), func(place int32) bool {
		r := state.RequestAt(&g.Job, place)
		return slices.ContainsFunc(mem.Candidates(g, place), func(name string) bool {
			return cs.site.Window(mem, name, r, now) != ""
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
	loads := sync.OnceValue(func() share.Loads { return cs.site.Loads(mem) })
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
				why = cs.site.Full(mem, g, l.Place, loads(), now)
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
// on numbers of jobs do not count; see share.Site.Full.
func (cs *Clusters) keeps(mem state.Memory, g *state.Grid, place int32, now jjm.Time) string {
	if o, halted := mem.Halted(g, now); halted {
		return o.String()
	}
	if len(g.Among(place)) == 0 {
		return ""
	}
	return cs.nobodyTakes(mem, g, place, now)
}

// Full returns, for people, the limits that prevent the submission of the ready local jobs of g. It returns "" if some
// of these local jobs can be submitted, or if something other than a limit prevents it (Waits).
func (cs *Clusters) Full(mem state.Memory, g *state.Grid, now jjm.Time) string {
	if _, some := cs.Waits(mem, g, now); !some {
		return ""
	}
	loads := cs.site.Loads(mem)
	var why []string
	for _, place := range g.UnsentPlaces() {
		switch text := cs.site.Full(mem, g, place, loads, now); {
		case text != "" && !slices.Contains(why, text):
			why = append(why, text)
		case text == "" && g.ReadyAt(place) > 0 && cs.keeps(mem, g, place, now) == "":
			return ""
		}
	}
	return strings.Join(why, "; ")
}
