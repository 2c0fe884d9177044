package share

import (
	"fmt"
	"strings"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Full returns, for people, the limits that prevent the submission of the ready local jobs of g with a place now. It
// looks at the best of the clusters that are open to these local jobs. It returns "" if one of them has room, if no
// cluster is open, or if no local job is ready.
func (st *Site) Full(mem state.Memory, g *state.Grid, place int32, loads Loads, now jjm.Time) string {
	text, _ := st.FullSince(mem, g, place, loads, now)
	return text
}

// FullSince returns the text of Full, and the latest of the first refusals from which the limits were learnt. The time
// is 0 if one of the limits was not learnt, because nothing stores when such a limit was reached.
func (st *Site) FullSince(mem state.Memory, g *state.Grid, place int32, loads Loads, now jjm.Time) (string, jjm.Time) {
	if g.ReadyAt(place) == 0 {
		return "", 0
	}
	var open []plan.Candidate
	for _, name := range st.Open(mem, g, place, now) {
		open = append(open, plan.Candidate{Name: name, Rank: st.all[name].Rank(mem, now)})
	}
	best := plan.Best(open)
	var why []string
	var latest jjm.Time
	learnt := true
	for _, o := range open {
		if o.Rank != best {
			continue
		}
		text, since := st.all[o.Name].full(loads, g.Job.Owner)
		if text == "" {
			return "", 0
		}
		why, latest, learnt = append(why, text), max(latest, since), learnt && since != 0
	}
	if !learnt {
		latest = 0
	}
	return strings.Join(why, "; "), latest
}

// full returns, for people, the limit that prevents the submission of more local jobs of an owner to c, "" if there is
// room. If the limit was learnt, it also returns the time of the first refusal.
func (c *Cluster) full(loads Loads, o jjm.Owner) (string, jjm.Time) {
	at := c.s.Positions[c.Name]
	if limit, full := plan.Full(loads.all[at], c.bounds()); full {
		return c.limitText(limit, "", o), c.learntAt(limit, o)
	}
	if of := loads.owners[o]; of != nil {
		if limit, full := plan.Full(of[at], c.boundsOf(o)); full {
			return c.limitText(limit, "_per_user", o), c.learntAt(limit, o)
		}
	}
	return "", 0
}

// learntAt returns the time of the first refusal from which a limit that an owner has reached was learnt, 0 if it was
// not learnt.
func (c *Cluster) learntAt(l plan.Limit, o jjm.Owner) jjm.Time {
	if learnt, _ := c.Most(c.Account(o)); l.Bound != plan.BoundQueued || l.Most != learnt {
		return 0
	}
	return c.LimitSince(c.Account(o))
}

// limitText returns the text about a limit that an owner has reached: the name of its setting, or the reason that the
// batch system gave. perUser is "_per_user" for a limit on each owner, else "".
func (c *Cluster) limitText(l plan.Limit, perUser string, o jjm.Owner) string {
	name := ""
	_, why := c.Most(c.Account(o))
	switch {
	case c.learntAt(l, o) != 0:
		return fmt.Sprintf("the batch system takes no more jobs of this account (%d are there): %s", l.Have, why)
	case l.Bound == plan.BoundQueued:
		name = "the batch system's limit on jobs of one account, cluster " + c.Name
	case l.Bound == plan.BoundRunning:
		name = "max_running" + perUser + " of cluster " + c.Name
	case perUser == "" && c.Config.MaxPending == 0:
		name = "engine.max_pending, which counts for cluster " + c.Name
	default:
		name = "max_pending" + perUser + " of cluster " + c.Name
	}
	return fmt.Sprintf("%s (%d of %d)", name, l.Have, l.Most)
}
