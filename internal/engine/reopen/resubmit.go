package reopen

import (
	"context"
	"errors"
	"maps"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// mostLeft is the greatest number of local jobs that an answer names as not run again.
const mostLeft = 20

// Resubmit runs failed and killed local jobs again. It returns an answer for each grid job that the request names. The
// local jobs of an unfinished grid job run again immediately; for an ended grid job, Resubmit stores the request to
// reopen the grid job. With Stop, it attempts no further grid job after the first error.
func (ro *Reopener) Resubmit(ctx context.Context, caller wire.Caller, r wire.ResubmitRequest) (wire.ResubmitAnswer,
	error) {
	var out []wire.Resubmitted
	var failed error
	for _, w := range requestsOf(r.Jobs, r.ResubmitHow) {
		got, err := wire.Resubmitted{}, failed
		if failed == nil {
			got, err = ro.resubmit(ctx, caller, w, r.DryRun)
		}
		got.ID = w.refs[0].Grid
		if err != nil {
			got = wire.Resubmitted{ID: got.ID, Error: wire.ErrorOf(err)}
		}
		if err != nil && failed == nil && r.Stop {
			failed = wire.NotAttempted(got.ID.String())
		}
		out = append(out, got)
	}
	return wire.ResubmitAnswer{Resubmit: out}, nil
}

// again is a request to run local jobs of one grid job again.
type again struct {
	refs []jjm.Ref
	all  bool
	// asked are the resources that the local jobs request from now on, nil for the same as before.
	asked *jjm.Resources
	// args replace the retry arguments of the local jobs; none keeps them.
	args []string
}

// requestsOf groups references by grid job, in the order in which the grid jobs are first named.
func requestsOf(refs []jjm.Ref, how wire.ResubmitHow) (requests []again) {
	for _, ref := range refs {
		i := slices.IndexFunc(requests, func(w again) bool { return w.refs[0].Grid == ref.Grid })
		if i < 0 {
			i, requests = len(requests), append(requests, again{all: how.All, asked: how.Resources, args: how.Args})
		}
		requests[i].refs = append(requests[i].refs, ref)
	}
	return requests
}

// facts returns the input of plan.Resubmit, without Unfit. A reference to all local jobs counts as a reference to the
// grid job.
func (w again) facts(locals []jjm.LocalJob) plan.ResubmitFacts {
	f := plan.ResubmitFacts{Locals: locals, All: w.all}
	var named []jjm.Ref
	for _, ref := range w.refs {
		if !ref.Locals || ref.First == 0 && ref.Last < 0 {
			f.Whole = true
		} else {
			named = append(named, ref)
		}
	}
	f.Named = func(n int32) bool { return slices.ContainsFunc(named, func(r jjm.Ref) bool { return r.Has(n) }) }
	return f
}

// exists returns an error of kind Gone if a reference names a local job that does not exist.
func (w again) exists(made int) error {
	for _, ref := range w.refs {
		if ref.Locals && int(max(ref.First, ref.Last)) >= made {
			return jjm.Errorf(jjm.Gone, "%s: grid job %s has %s, numbered from 0", ref, ref.Grid, jjm.Count(made, "local job"))
		}
	}
	return nil
}

// decide returns in run the local jobs that run again, and in left the requested local jobs that do not run again.
// taken are the local jobs whose work recoveries did. The error is of kind Gone if the request names a local job that
// does not exist, and of kind Conflict if none of the requested local jobs can run again.
func (ro *Reopener) decide(ctx context.Context, job *jjm.GridJob, w again, locals []jjm.LocalJob,
	taken map[int32]string) (run []int32, left []plan.Left, err error) {
	if err := w.exists(len(locals)); err != nil {
		return nil, nil, err
	}
	facts := w.facts(locals)
	meant, _ := plan.Resubmit(facts)
	if facts.Unfit, err = ro.rooms.Feeder.Unfit(ctx, job, meant); err != nil {
		return nil, nil, err
	}
	if facts.Unfit == nil {
		facts.Unfit = map[int32]string{}
	}
	maps.Copy(facts.Unfit, taken)
	run, left = plan.Resubmit(facts)
	if len(run) == 0 && len(left) > 0 {
		return nil, nil, jjm.Errorf(jjm.Conflict, "local job %s: %s", jjm.LocalID{Grid: job.ID, N: left[0].N}, left[0].Why)
	}
	return run, left, nil
}

func (ro *Reopener) resubmit(ctx context.Context, caller wire.Caller, w again, dry bool) (out wire.Resubmitted,
	err error) {
	if w.asked != nil {
		if ps := jobfile.CheckResources(*w.asked); len(ps) > 0 {
			return out, jjm.Errorf(jjm.Invalid, "%w", ps)
		}
	}
	job, err := ro.s.Find(ctx, caller, w.refs[0].Grid)
	if err != nil {
		return out, err
	}
	var left []plan.Left
	if job.Status.Final() {
		out, left, err = ro.resubmitOver(ctx, caller, &job, w, dry)
	} else {
		out, left, err = ro.resubmitLive(ctx, caller, &job, w, dry)
	}
	if errors.Is(err, state.ErrDryRun) {
		err = nil
	}
	out.NoChange = out.Jobs == 0
	out.Left, out.LeftOut = named(job.ID, left)
	if err == nil && out.Jobs > 0 {
		out.Changed, out.NotCompared = ro.rooms.Types.Changed(&job)
	}
	return out, err
}

// named returns the first mostLeft local jobs that stay as they are, in the form of an answer, and the number of all
// further local jobs in left.
func named(id jjm.GridID, left []plan.Left) (first []wire.Left, more int) {
	for i, l := range left {
		if i == mostLeft {
			return first, len(left) - mostLeft
		}
		first = append(first, wire.Left{Local: jjm.LocalID{Grid: id, N: l.N}.String(), Why: l.Why})
	}
	return first, 0
}

// resubmitLive runs local jobs of an unfinished grid job again. It looks for the work of recoveries before the change,
// because the search may take long. No recovery can be accepted meanwhile, because the grid job is not over.
func (ro *Reopener) resubmitLive(ctx context.Context, caller wire.Caller, job *jjm.GridJob, w again,
	dry bool) (out wire.Resubmitted, left []plan.Left, err error) {
	id := job.ID
	taken, err := ro.rooms.Prover.Elsewhere(ctx, job)
	if err != nil {
		return out, nil, err
	}
	err = ro.s.Change(ctx, "resubmit", func(c *state.Change) error {
		g := c.Live.Grid(id)
		if err := mayRunAgain(g, id); err != nil {
			return err
		}
		run, stay, err := ro.decide(ctx, &g.Job, w, g.Locals, taken)
		if err != nil {
			return err
		}
		left, out.Jobs = stay, len(run)
		if len(run) == 0 {
			out.Notes = []string{plan.NoneAgain(&g.Job, g.Locals, w.all)}
			return state.ErrDryRun
		}
		to, err := ro.moves(&g.Job, g.Locals, run, w.asked)
		if err != nil {
			return err
		}
		if to != nil {
			out.Resources, out.Notes = w.asked, to.notes
		}
		if dry {
			return state.ErrDryRun
		}
		return ro.runAgain(c, id, run, rerun{actor: caller.Actor(), to: to, args: w.args})
	})
	return out, left, err
}

// mayRunAgain returns an error if an unfinished grid job cannot run local jobs again now: of kind Busy if a later
// attempt of the request can succeed, else of kind Conflict.
func mayRunAgain(g *state.Grid, id jjm.GridID) error {
	switch {
	case g == nil || g.Job.Status.Final():
		return jjm.Errorf(jjm.Busy, "it has just ended: try again")
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "it is being killed: once it has ended it can be reopened")
	case g.Job.Status == jjm.Prepared:
		return jjm.Errorf(jjm.Busy, "its outputs are being collected: try again once it has ended")
	case g.Job.Spec.Merge != nil:
		return plan.Merges(id)
	case g.Job.Stopped != "" && (len(state.ToWithhold(g, 1)) > 0 || !g.Closed()):
		return jjm.Errorf(jjm.Busy, "a refusal stops its submissions just now: try again")
	}
	return nil
}

// rerun says how local jobs run again: at the places of to and with the retry arguments args. If to is nil, or if args
// is empty, local jobs keep their previous places or arguments. actor is the person who requested it, "" for jjm
// itself.
type rerun struct {
	actor string
	to    *moves
	args  []string
}

// runAgain makes local jobs run again, with the same work, names and seeds, and with retry counters at zero.
func (ro *Reopener) runAgain(c *state.Change, id jjm.GridID, run []int32, how rerun) error {
	to := how.to
	if err := ro.rooms.Feeder.Resume(c, id, run); err != nil {
		return err
	}
	if job := &c.Live.Grid(id).Job; job.Stopped != "" || job.Kept() {
		g := c.Grid(id)
		g.Stopped, g.Reason = "", ""
	}
	cause := "resubmitted"
	if to != nil {
		c.Grid(id).Step.Places = to.places
		cause += " with " + to.asked.String()
	}
	for _, n := range run {
		l := c.Local(jjm.LocalID{Grid: id, N: n})
		if to != nil {
			if err := to.move(c, l); err != nil {
				return err
			}
		}
		l.Counters, l.Again, l.Holding = jjm.Counters{}, jjm.Again{}, nil
		if err := restart(c, l, cause, how); err != nil {
			return err
		}
	}
	return nil
}

// SubmitKept submits the refused local jobs of a kept grid job again, as a part of change c.
func (ro *Reopener) SubmitKept(c *state.Change, id jjm.GridID, actor string) error {
	var run []int32
	locals := c.Live.Grid(id).Locals
	for i := range locals {
		if locals[i].IsUnsubmitted() {
			run = append(run, locals[i].ID.N)
		}
	}
	if len(run) == 0 {
		return nil
	}
	return ro.runAgain(c, id, run, rerun{actor: actor})
}

// restart makes an ended local job wait for the submission of its next attempt. If no batch system ever had the local
// job, it begins as new, and takes no retry arguments because its attempt is the first.
func restart(c *state.Change, l *jjm.LocalJob, cause string, how rerun) error {
	next, err := c.Tx.NextAttempt(l.ID)
	if err != nil {
		return err
	}
	l.Kill, l.Failing, l.Message = false, "", ""
	l.Ended, l.Exit, l.NotBefore = 0, -1, 0
	begins, phase := jjm.New, jjm.Phase("")
	if next > 0 {
		begins, phase = jjm.Submitting, jjm.RetryWait
		l.Attempt, l.NotBefore = next, c.Now
		if len(how.args) > 0 {
			l.RetryArgs = how.args
			cause += plan.WithWords(how.args)
		}
	}
	c.Move(l, begins, phase, cause)
	c.Journal[len(c.Journal)-1].Actor = how.actor
	return nil
}
