package reopen

import (
	"context"
	"errors"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Set changes the resources and the priority of local jobs that wait for their first or next submission, or are held
// before it. A reference to a grid job also means the local jobs still to be made. Set returns an answer for each grid
// job that the request names.
func (ro *Reopener) Set(ctx context.Context, caller wire.Caller, r wire.SetRequest) (wire.SetAnswer, error) {
	how := asked{priority: r.Priority}
	if r.Resources != nil {
		how.Resources = *r.Resources
	}
	var out []wire.Changed
	for _, w := range requestsOf(r.Jobs, wire.ResubmitHow{}) {
		got, err := ro.set(ctx, caller, w, how, r.DryRun)
		if err != nil && !errors.Is(err, state.ErrDryRun) {
			got = wire.Changed{Error: wire.ErrorOf(err)}
		}
		got.ID, got.NoChange = w.refs[0].Grid, got.Jobs == 0 && !got.Later && got.Error == nil
		out = append(out, got)
	}
	return wire.SetAnswer{Set: out}, nil
}

// set changes the resources and the priority of local jobs of one grid job. The error is [state.ErrDryRun] if nothing
// was changed, because of dry or because there was nothing to change.
func (ro *Reopener) set(ctx context.Context, caller wire.Caller, w again, how asked, dry bool) (out wire.Changed,
	err error) {
	if ps := jobfile.CheckResources(how.Resources); len(ps) > 0 {
		return out, jjm.Errorf(jjm.Invalid, "%w", ps)
	}
	job, err := ro.s.Find(ctx, caller, w.refs[0].Grid)
	if err != nil {
		return out, err
	}
	err = ro.s.Change(ctx, "set-resources", func(c *state.Change) error {
		g := c.Live.Grid(job.ID)
		if err := maySet(g, w, job.ID); err != nil {
			return err
		}
		facts := w.facts(g.Locals)
		set, left := plan.Settable(facts)
		out.Left, out.LeftOut = named(job.ID, left)
		out.Jobs, out.Later = len(set), facts.Whole && !g.Closed()
		switch {
		case out.Jobs > 0 || out.Later:
		case len(left) > 0:
			return jjm.Errorf(jjm.Conflict, "local job %s: %s", jjm.LocalID{Grid: job.ID, N: left[0].N}, left[0].Why)
		default:
			out.Notes = []string{plan.Unchanged(&g.Job, selected(facts), "no local job waits for its submission")}
			return state.ErrDryRun
		}
		to, err := ro.movesOf(&g.Job, placesOf(g, set, out.Later), how)
		if err != nil {
			return err
		}
		out.Notes = to.notes
		if dry {
			return state.ErrDryRun
		}
		return storeSet(c, g, set, out.Later, to, caller.Actor())
	})
	return out, err
}

// selected returns the local jobs that a request names.
func selected(f plan.ResubmitFacts) (all []*jjm.LocalJob) {
	for i := range f.Locals {
		if l := &f.Locals[i]; f.Whole || f.Named(l.ID.N) {
			all = append(all, l)
		}
	}
	return all
}

// maySet returns an error if no local job of the grid job can be changed now, or if the request names a local job that
// does not exist.
func maySet(g *state.Grid, w again, id jjm.GridID) error {
	switch {
	case g == nil || g.Job.Status.Final():
		return jjm.Errorf(jjm.Conflict, "grid job %s is over: jjm resubmit changes what its local jobs request when they "+
			"run again", id)
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "grid job %s is being killed", id)
	case !g.Job.Step.Prepared:
		return jjm.Errorf(jjm.Busy, "grid job %s has no clusters yet, because it is still being prepared: try again when it "+
			"is defined, or kill it and copy it with other resources: jjm copy %[1]s --set KEY=VALUE", id)
	}
	return w.exists(len(g.Locals))
}

// placesOf returns the places of the local jobs set and, if later is set, of the local jobs still to be made.
func placesOf(g *state.Grid, set []int32, later bool) (places []int32) {
	if later {
		places = plan.Defaults(g.Job.Step.Places)
	}
	for _, n := range set {
		places = append(places, g.Locals[n].Place)
	}
	return places
}

// storeSet stores the new places of the local jobs set and, if later is set, of the local jobs still to be made.
func storeSet(c *state.Change, g *state.Grid, set []int32, later bool, to *moves, actor string) error {
	if later {
		for _, from := range plan.Defaults(g.Job.Step.Places) {
			to.places = plan.SetDefault(to.places, to.of[from])
		}
		c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: g.Job.ID, First: -1, Last: -1,
			From: g.Job.Status.String(), To: g.Job.Status.String(), Source: c.Name, Actor: actor,
			Cause: fmt.Sprintf("local jobs still to be made get %s", to.asked)})
	}
	c.Grid(g.Job.ID).Step.Places = to.places
	for _, n := range set {
		l := c.Local(jjm.LocalID{Grid: g.Job.ID, N: n})
		if err := to.move(c, l); err != nil {
			return err
		}
		c.Aside(l, fmt.Sprintf("set to %s", to.asked), actor)
	}
	return nil
}
