package reopen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// resplitRequest is the JSON text that the store keeps of a request to cut local jobs again.
type resplitRequest struct {
	Refs []string    `json:"refs"`
	Want split.Finer `json:"want"`
}

// Resplit cuts the work of failed and killed local jobs again (Ganga, resplit). It returns an answer for each grid job
// that the request names. An unfinished grid job gets its new local jobs immediately; for an ended grid job, Resplit
// stores the request to reopen the grid job. With Stop, it attempts no further grid job after the first error.
func (ro *Reopener) Resplit(ctx context.Context, caller wire.Caller, r wire.ResplitRequest) (wire.ResplitAnswer,
	error) {
	want := split.Finer{Into: r.Into, EventsPerJob: r.EventsPerJob, FilesPerJob: r.FilesPerJob,
		LumisPerJob: r.LumisPerJob}
	if want == (split.Finer{}) {
		want.Into = 2
	}
	var out []wire.Resplit
	var failed error
	for _, w := range requestsOf(r.Jobs, wire.ResubmitHow{}) {
		got, err := wire.Resplit{}, failed
		if failed == nil {
			got, err = ro.resplit(ctx, caller, w, want, r.DryRun)
		}
		got.ID = w.refs[0].Grid
		if err != nil {
			got = wire.Resplit{ID: got.ID, Error: wire.ErrorOf(err)}
		}
		if err != nil && failed == nil && r.Stop {
			failed = wire.NotAttempted(got.ID.String())
		}
		out = append(out, got)
	}
	return wire.ResplitAnswer{Resplit: out}, nil
}

// finer is a request to cut local jobs of one grid job again, with the facts that are read before a change.
type finer struct {
	again
	want   split.Finer
	params split.Params
	// taken maps the local jobs whose work recoveries did to the reasons why they must not do the work again.
	taken map[int32]string
}

// resplit cuts local jobs of one grid job again. It asks the job type and looks for recoveries before the change,
// because both may take long. The results are still true in the change: a job type never changes its answer for a grid
// job, and no recovery can be accepted while the grid job is not over.
func (ro *Reopener) resplit(ctx context.Context, caller wire.Caller, w again, want split.Finer,
	dry bool) (out wire.Resplit, err error) {
	job, err := ro.s.Find(ctx, caller, w.refs[0].Grid)
	if err != nil {
		return out, err
	}
	if job.Spec.Merge != nil {
		return out, plan.Merges(job.ID)
	}
	if !job.Step.Prepared {
		return out, jjm.Errorf(jjm.Conflict, "it has no local jobs that failed: it is %s", job.Status)
	}
	f, err := ro.finerOf(ctx, &job, w, want)
	if err != nil {
		return out, err
	}
	var left []plan.Left
	if job.Status.Final() {
		out, left, err = ro.resplitOver(ctx, caller, &job, f, dry)
	} else {
		out, left, err = ro.resplitLive(ctx, caller, job.ID, f, dry)
	}
	if errors.Is(err, state.ErrDryRun) {
		err = nil
	}
	out.NoChange = out.Jobs == 0
	out.Left, out.LeftOut = named(job.ID, left)
	return out, err
}

// finerOf adds to a request the facts that are read before a change.
func (ro *Reopener) finerOf(ctx context.Context, job *jjm.GridJob, w again, want split.Finer) (f finer, err error) {
	cut, err := ro.rooms.Types.Ask(job)
	if err != nil {
		return f, fmt.Errorf("how it is cut cannot be read: %w", err)
	}
	f = finer{again: w, want: want, params: cut.Params}
	f.taken, err = ro.rooms.Prover.Elsewhere(ctx, job)
	return f, err
}

// divide returns the smaller parts of the local jobs that are cut again, and in left the requested local jobs that are
// not cut again. The error is of kind Gone if the request names a local job that does not exist, and of kind Conflict
// if none of the requested local jobs can be cut again.
func (ro *Reopener) divide(ctx context.Context, job *jjm.GridJob, f finer, locals []jjm.LocalJob) (d split.Division,
	left []plan.Left, err error) {
	if err := f.exists(len(locals)); err != nil {
		return d, nil, err
	}
	facts := f.facts(locals)
	meant, _ := plan.Resplit(facts)
	unfit, err := ro.rooms.Feeder.Unfit(ctx, job, meant)
	if err != nil {
		return d, nil, err
	}
	facts.Unfit = map[int32]string{}
	maps.Copy(facts.Unfit, unfit)
	maps.Copy(facts.Unfit, f.taken)
	cut, left := plan.Resplit(facts)
	var rows []jjm.LocalJob
	for _, n := range cut {
		rows = append(rows, locals[n])
	}
	if d, err = ro.rooms.Divider.Divided(ctx, job, f.params, rows, f.want); err != nil {
		return d, nil, err
	}
	for n, why := range d.Uncut {
		left = append(left, plan.Left{N: n, Why: why})
	}
	slices.SortFunc(left, func(a, b plan.Left) int { return cmp.Compare(a.N, b.N) })
	if len(d.Parts) == 0 && len(left) > 0 {
		return d, nil, jjm.Errorf(jjm.Conflict, "local job %s: %s", jjm.LocalID{Grid: job.ID, N: left[0].N}, left[0].Why)
	}
	return d, left, nil
}

// resplitLive cuts local jobs of an unfinished grid job again, in one change.
func (ro *Reopener) resplitLive(ctx context.Context, caller wire.Caller, id jjm.GridID, f finer,
	dry bool) (out wire.Resplit, left []plan.Left, err error) {
	err = ro.s.Change(ctx, "resplit", func(c *state.Change) error {
		g := c.Live.Grid(id)
		if err := mayRunAgain(g, id); err != nil {
			return err
		}
		d, stay, err := ro.divide(ctx, &g.Job, f, g.Locals)
		if err != nil {
			return err
		}
		left, out.Jobs, out.Parts = stay, len(d.Parts), d.Count()
		if out.Jobs == 0 {
			out.Notes = []string{plan.NoneCut(&g.Job, g.Locals)}
			return state.ErrDryRun
		}
		if err := ro.cutAgain(c, id, d, caller.Actor()); err != nil || !dry {
			return err
		}
		return state.ErrDryRun
	})
	return out, left, err
}

// cutAgain stores a division. If the submissions of the grid job were stopped, they continue.
func (ro *Reopener) cutAgain(c *state.Change, id jjm.GridID, d split.Division, actor string) error {
	if job := &c.Live.Grid(id).Job; job.Stopped != "" || job.Kept() {
		g := c.Grid(id)
		g.Stopped, g.Reason = "", ""
	}
	return ro.rooms.Divider.Divide(c, id, d, actor)
}

// resplitOver stores the request to cut local jobs of an ended grid job again. With dry, it stores nothing and the
// error is [state.ErrDryRun].
func (ro *Reopener) resplitOver(ctx context.Context, caller wire.Caller, job *jjm.GridJob, f finer,
	dry bool) (out wire.Resplit, left []plan.Left, err error) {
	if err := plan.MayReopen(job); err != nil {
		return out, nil, err
	}
	locals, err := ro.b.Store.Locals(ctx, job.ID, 0, -1)
	if err != nil {
		return out, nil, err
	}
	d, left, err := ro.divide(ctx, job, f, locals)
	if err != nil {
		return out, left, err
	}
	if len(d.Parts) == 0 {
		out.Notes = []string{plan.NoneCut(job, locals)}
		return out, left, nil
	}
	if err := ro.rooms.Divider.MayDivide(ctx, job, d.Count()); err != nil {
		return out, nil, err
	}
	out.Jobs, out.Parts, out.Generation = len(d.Parts), d.Count(), job.Generation+1
	r := resplitRequest{Want: f.want}
	for _, ref := range f.refs {
		r.Refs = append(r.Refs, ref.String())
	}
	why := fmt.Sprintf("resplit %s into %d", jjm.Count(out.Jobs, "local job"), out.Parts)
	err = ro.put(ctx, caller, job, request{Resplit: &r}, why, dry)
	return out, left, err
}

// cutting returns the function that, called in a change, begins the next generation of a grid job and makes the new
// local jobs of a resplit.
func (ro *Reopener) cutting(job *jjm.GridJob, r *store.Reopening, w *resplitRequest, taken map[int32]string) (
	func(*state.Change) error, error) {
	again, err := (&resubmitRequest{Refs: w.Refs}).again()
	if err != nil {
		return nil, err
	}
	cut, err := ro.rooms.Types.Ask(job)
	if err != nil {
		return nil, err
	}
	f := finer{again: again, want: w.Want, params: cut.Params, taken: taken}
	return func(c *state.Change) error {
		g := c.Live.Grid(r.Grid)
		d, _, err := ro.divide(c.Ctx, &g.Job, f, g.Locals)
		if err != nil {
			return err
		}
		if len(d.Parts) == 0 {
			return jjm.Errorf(jjm.Conflict, "there is nothing left to cut again")
		}
		if _, err := c.Reopen(r); err != nil {
			return err
		}
		return ro.cutAgain(c, r.Grid, d, r.Actor)
	}, nil
}
