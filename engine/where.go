package engine

import (
	"fmt"
	"jjm"
	"strings"
)

// waits says of each place of g of which local jobs are still to be sent, and that
// no cluster takes now, why; some is true if a cluster takes those of another. A
// lock of the engine is held.
func (e *Engine) waits(g *grid, now jjm.Time) (why []string, some bool) {
	if o, halted := e.halted(g, now); halted {
		return []string{o.String()}, false
	}
	if low := e.Low(); low != "" {
		return []string{low}, false
	}
	if why := e.workUses.over(g.job.Owner.UID); why != "" {
		return []string{why}, false
	}
	if len(g.job.Step.Clusters) == 0 {
		return nil, true
	}
	for _, place := range g.unsentPlaces() {
		text := e.nobodyTakes(g, place, now)
		switch {
		case text == "":
			some = true
		case place == 0:
			why = append(why, text)
		default:
			why = append(why, fmt.Sprintf("%d local jobs wait for %s: %s", g.unsentAt.of(place), placeText(g, place), text))
		}
	}
	return why, some
}

// nobodyTakes says why no cluster takes the local jobs of a place now, "" if one
// does.
func (e *Engine) nobodyTakes(g *grid, place int32, now jjm.Time) string {
	var why []string
	for _, name := range e.candidates(g, place) {
		if o, paused := e.ordered(jjm.OrderPause, jjm.OrderCluster, name, now); paused {
			why = append(why, o.String())
		} else if !e.clusters[name].healthy() {
			why = append(why, fmt.Sprintf("cluster %s does not answer", name))
		} else {
			return ""
		}
	}
	if len(why) == 0 {
		return fmt.Sprintf("this site has none of its clusters any more: %s", strings.Join(g.among(place), ", "))
	}
	return strings.Join(why, "; ")
}

// waitsFor says why no cluster takes the local jobs of g now, "" if one takes some
// of them. A lock of the engine is held.
func (e *Engine) waitsFor(g *grid, now jjm.Time) string {
	why, some := e.waits(g, now)
	if some {
		return ""
	}
	return strings.Join(why, "; ")
}
