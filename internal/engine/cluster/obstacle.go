package cluster

import (
	"fmt"
	"strings"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/policy/why"
)

// obstacle prevents the submission of local jobs. Its code is "" if nothing prevents it. The status of a grid job shows
// it as text, and jjm why as cause.
type obstacle struct {
	code    why.Code
	order   jjm.Order // that pauses the submission, if the code is why.Paused
	cluster string    // that does not answer, if the code is why.Silent
	reason  string    // for people; of a silent cluster, why it does not answer
	remedy  string    // what a person can do, if the code is why.Silent
	since   jjm.Time  // when it began, 0 if that is not known
	until   jjm.Time  // when it ends by itself, 0 if that is not known
	// shorten is the grid job whose local jobs could go if they requested a shorter walltime; 0 if that does not help.
	shorten jjm.GridID
}

// siteFacts are the facts that concern all local jobs of a grid job, wherever they may go.
type siteFacts struct {
	order  jjm.Order // the order that pauses the grid job
	halted bool      // whether there is such an order
	low    string    // why the site accepts no work, "" if it does
	full   string    // why the owner's work area is too large, "" if it is not
}

// obstacle returns what prevents the submission of local jobs to any cluster. The first fact counts.
func (f *siteFacts) obstacle() obstacle {
	switch {
	case f.halted:
		return obstacle{code: why.Paused, order: f.order}
	case f.low != "":
		return obstacle{code: why.DiskLow, reason: f.low}
	case f.full != "":
		return obstacle{code: why.WorkFull, reason: f.full}
	}
	return obstacle{}
}

// clusterFacts are the facts that concern the submission of local jobs to one cluster.
type clusterFacts struct {
	name   string
	order  jjm.Order // the order that pauses the cluster, or the queue of the local jobs
	paused bool      // whether there is such an order
	window string    // why a maintenance window closes the cluster, "" if none does
	// since is when the window began to close the cluster for the local jobs, until is the end of the window.
	since, until jjm.Time
	// early is the grid job if no window has begun yet, so that shorter local jobs would end before; else 0.
	early  jjm.GridID
	silent why.Cause // why the cluster does not answer, since when, and what to do; no text if it answers
}

// obstacle returns what prevents the submission of local jobs to the cluster. The first fact counts.
func (f *clusterFacts) obstacle() obstacle {
	switch {
	case f.paused:
		return obstacle{code: why.Paused, order: f.order}
	case f.window != "":
		return obstacle{code: why.Maintenance, reason: f.window, shorten: f.early, since: f.since, until: f.until}
	case f.silent.Text != "":
		return obstacle{code: why.Silent, cluster: f.name, reason: f.silent.Text,
			remedy: f.silent.Remedy, since: f.silent.Since}
	}
	return obstacle{}
}

// text returns the obstacle for the status of a grid job. The text does not say why a cluster does not answer.
func (o *obstacle) text() string {
	switch o.code {
	case why.Paused:
		return o.order.String()
	case why.Silent:
		return fmt.Sprintf("cluster %s does not answer", o.cluster)
	}
	return o.reason
}

// cause returns the obstacle as the cause for which local jobs of a user wait, with its remedy.
func (o *obstacle) cause(user string) why.Cause {
	c := why.Cause{Code: o.code, Text: o.text(), Since: o.since, Until: o.until}
	switch o.code {
	case why.Paused:
		c.Since, c.Until = o.order.Since, o.order.Until
		if o.order.Until == 0 {
			c.Remedy = fmt.Sprintf("jjm resume %s %s", o.order.Kind, o.order.Name)
		}
	case why.DiskLow:
		c.Remedy = "make room on that file system"
	case why.WorkFull:
		c.Remedy = "jjm remove grid jobs of " + user + " that are over"
	case why.Silent:
		c.Text += ": " + o.reason
		c.Remedy = o.remedy
	case why.Maintenance:
		if o.shorten != 0 {
			c.Remedy = fmt.Sprintf("jjm set %s --walltime TIME, if it needs no longer than until then", o.shorten)
		}
	case why.NoCluster:
		c.Remedy = "put the [[cluster]] back and start the daemon again"
	}
	return c
}

// siteObstacle returns what prevents now the submission of all local jobs of g.
func (cs *Clusters) siteObstacle(mem state.Memory, g *state.Grid, now jjm.Time) obstacle {
	f := siteFacts{low: cs.s.Low(), full: cs.s.WorkUses.Excess(g.Job.Owner.UID)}
	f.order, f.halted = mem.Halted(g, now)
	return f.obstacle()
}

// placeObstacles returns what prevents now the submission of the local jobs of g with a place: one obstacle for each
// cluster to which they may go. The result is empty if a cluster accepts them.
func (cs *Clusters) placeObstacles(mem state.Memory, g *state.Grid, place int32, now jjm.Time) (all []obstacle) {
	r := state.RequestAt(&g.Job, place)
	for _, name := range mem.Candidates(g, place) {
		f := clusterFacts{name: name, window: cs.site.Window(mem, name, r, now), silent: cs.all[name].silent()}
		f.since, f.until = cs.site.WindowTimes(mem, name, r, now)
		if !plan.Begun(mem.Windows(name, r, now), now) {
			f.early = g.Job.ID
		}
		f.order, f.paused = mem.OrderedAt(jjm.OrderPause, name, r, now)
		o := f.obstacle()
		if o.code == "" {
			return nil
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return []obstacle{{code: why.NoCluster,
			reason: "this site no longer has any of its clusters: " + strings.Join(g.Among(place), ", ")}}
	}
	return all
}
