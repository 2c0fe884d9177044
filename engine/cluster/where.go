package cluster

import (
	"fmt"
	"slices"
	"strings"

	"jjm"
	"jjm/engine/state"
)

// Waits says of each place of g of which local jobs are still to be sent, and that
// no cluster takes now, why; some is true if a cluster takes those of another.
func (cs *Clusters) Waits(mem state.Memory, g *state.Grid, now jjm.Time) (why []string, some bool) {
	if o, halted := mem.Halted(g, now); halted {
		return []string{o.String()}, false
	}
	if low := cs.s.Low(); low != "" {
		return []string{low}, false
	}
	if why := cs.s.WorkUses.Over(g.Job.Owner.UID); why != "" {
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
			why = append(why, fmt.Sprintf("%d local jobs wait for %s: %s", g.UnsentAt.Of(place), state.PlaceText(g, place),
				text))
		}
	}
	return why, some
}

// nobodyTakes says why no cluster takes the local jobs of a place now, "" if one
// does.
func (cs *Clusters) nobodyTakes(mem state.Memory, g *state.Grid, place int32, now jjm.Time) string {
	var why []string
	for _, name := range mem.Candidates(g, place) {
		if o, paused := mem.OrderedAt(jjm.OrderPause, name, state.RequestAt(&g.Job, place), now); paused {
			why = append(why, o.String())
		} else if !cs.all[name].health.healthy() {
			why = append(why, fmt.Sprintf("cluster %s does not answer", name))
		} else {
			return ""
		}
	}
	if len(why) == 0 {
		return fmt.Sprintf("this site has none of its clusters any more: %s", strings.Join(g.Among(place), ", "))
	}
	return strings.Join(why, "; ")
}

// WaitsFor says why no cluster takes the local jobs of g now, "" if one takes some
// of them.
func (cs *Clusters) WaitsFor(mem state.Memory, g *state.Grid, now jjm.Time) string {
	why, some := cs.Waits(mem, g, now)
	if some {
		return ""
	}
	return strings.Join(why, "; ")
}

// open returns the clusters that local jobs of g of a place may go to now: those whose
// queue for them nobody paused, and of these, as long as there is one, those whose queue
// nobody drained.
func (cs *Clusters) open(mem state.Memory, g *state.Grid, place int32, now jjm.Time) []string {
	names := slices.DeleteFunc(mem.Candidates(g, place), func(name string) bool {
		_, paused := mem.OrderedAt(jjm.OrderPause, name, state.RequestAt(&g.Job, place), now)
		return paused
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
