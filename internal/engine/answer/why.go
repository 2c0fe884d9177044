package answer

import (
	"cmp"
	"context"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// mostCauses is the greatest number of causes that an answer lists for a grid job.
const mostCauses = 20

// Causes finds out why local jobs wait; package cluster implements it.
type Causes interface {
	// Judge returns the Judge of the unfinished local jobs of g, for use while the memory lock is held.
	Judge(mem state.Memory, g *state.Grid, now jjm.Time) why.Judge
}

// Reasons finds out what unfinished jobs wait for. Its methods may be called from many goroutines.
type Reasons struct {
	b      *base.Base
	s      *state.State
	causes Causes
}

// NewReasons returns a Reasons.
func NewReasons(s *state.State, causes Causes) *Reasons {
	return &Reasons{b: s.B, s: s, causes: causes}
}

// Why returns the causes for which grid jobs, or the local jobs that the request selects, wait. An error about one
// reference is in its Why.Error; the returned error means that ctx ended.
func (rs *Reasons) Why(ctx context.Context, caller wire.Caller, r wire.WhyRequest) (a wire.WhyAnswer, err error) {
	a.Why = make([]wire.Why, 0, len(r.Jobs))
	for _, ref := range r.Jobs {
		w, err := rs.why(ctx, caller, ref)
		if err != nil && ctx.Err() != nil {
			return a, err
		}
		if err != nil {
			w = wire.Why{ID: ref.Grid, Error: wire.ErrorOf(err)}
		}
		a.Why = append(a.Why, w)
	}
	return a, nil
}

func (rs *Reasons) why(ctx context.Context, caller wire.Caller, ref jjm.Ref) (wire.Why, error) {
	job, err := rs.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return wire.Why{}, err
	}
	out, known, err := rs.remembered(job, ref)
	if err != nil || known || !ref.Locals {
		return out, err
	}
	locals, err := rs.b.Store.Locals(ctx, ref.Grid, ref.First, ref.Last)
	if err != nil {
		return wire.Why{}, err
	}
	if len(locals) == 0 && ref.Last >= 0 {
		return wire.Why{}, jjm.Errorf(jjm.Gone, "%s: grid job %s is over, and has no such local job", ref, ref.Grid)
	}
	out.Total = len(locals)
	out.Ended, out.LeftOut = endsOf(locals)
	return out, nil
}

// remembered returns the answer from memory. known is false if the grid job has ended and its local jobs are only in
// the store.
func (rs *Reasons) remembered(job jjm.GridJob, ref jjm.Ref) (out wire.Why, known bool, err error) {
	v := rs.s.View()
	defer v.Close()
	g := v.Grid(ref.Grid)
	if g == nil {
		g = state.NewGrid(job)
	}
	out = wire.Why{ID: ref.Grid, Status: g.Job.Status.String()}
	if c, any := why.OfGrid(factsOf(v.Memory, g)); any {
		out.Grid = causeOf(c)
	}
	if len(g.Locals) == 0 && g.Job.Status.Final() {
		return out, false, nil
	}
	locals, err := selected(g, ref)
	if err != nil {
		return wire.Why{}, true, err
	}
	out.Total = len(locals)
	judge := rs.causes.Judge(v.Memory, g, jjm.At(rs.b.Now()))
	var groups why.Groups
	if groups, out.Unfinished = judge.Groups(locals); len(locals) == 1 && out.Unfinished == 1 {
		groups = why.Groups{}
		groups.Add(locals[0].ID, why.WithAgain(judge.Cause(&locals[0]), &locals[0], state.AgainLimit(&g.Job, rs.b.Conf())))
	}
	out.Causes, out.LeftOut = causesOf(&groups)
	if ref.Locals {
		var left int
		out.Ended, left = endsOf(locals)
		out.LeftOut += left
	}
	return out, true, nil
}

// endsOf returns the ways in which the ended local jobs ended, with the number of local jobs of each. left is the
// number of ended local jobs that are left out.
func endsOf(locals []jjm.LocalJob) (ends []wire.Cause, left int) {
	var groups why.Groups
	for i := range locals {
		if l := &locals[i]; l.Over() {
			groups.Add(l.ID, why.OfEnded(l))
		}
	}
	return causesOf(&groups)
}

// causesOf returns the largest groups of local jobs with the same cause, as the answer on the socket has them. left is
// the number of local jobs in all other groups.
func causesOf(groups *why.Groups) (causes []wire.Cause, left int) {
	all, left := groups.All(mostCauses)
	for _, group := range all {
		c := causeOf(group.Cause)
		c.Jobs, c.First = group.Jobs, group.First.String()
		causes = append(causes, *c)
	}
	return causes, left
}

// selected returns the local jobs that ref selects. The error is of kind Gone if ref names local jobs that do not
// exist.
func selected(g *state.Grid, ref jjm.Ref) ([]jjm.LocalJob, error) {
	if !ref.Locals {
		return g.Locals, nil
	}
	from := min(int(ref.First), len(g.Locals))
	to := len(g.Locals)
	if ref.Last >= 0 {
		to = min(int(ref.Last)+1, to)
	}
	if from >= to && ref.Last >= 0 {
		return nil, jjm.Errorf(jjm.Gone, "%s: grid job %s has %s so far, numbered from 0", ref, ref.Grid,
			jjm.Count(len(g.Locals), "local job"))
	}
	return g.Locals[from:max(from, to)], nil
}

// factsOf returns the facts about a grid job as a whole.
func factsOf(mem state.Memory, g *state.Grid) why.GridFacts {
	f := why.GridFacts{ID: g.Job.ID, Status: g.Job.Status, Reason: g.Job.Reason, Accepted: g.Job.Accepted,
		Ended: g.Job.Ended, Trouble: g.Trouble(), Awaited: awaited(mem, &g.Job), Prepared: g.Job.Step.Prepared,
		Closed: g.Closed(), Idle: g.Idle(), Unfinished: g.Live(),
		LastMade: g.Job.Step.LastMade}
	if !g.Job.Step.Closed {
		for _, d := range g.Job.Spec.Datasets {
			f.Reads = append(f.Reads, cmp.Or(d.Name, d.Container))
		}
		f.Filling = filling(mem, g.Job.Owner.UID, f.Reads)
	}
	if r, yes := mem.Reopening(g.Job.ID); yes {
		f.Reopening, f.Reopened = true, r.Time
	}
	return f
}

// filling returns the unfinished grid jobs of an account that fill datasets or containers with their outputs, in order.
func filling(mem state.Memory, uid int, names []string) (ids []jjm.GridID) {
	for id, g := range mem.Grids() {
		if g.Job.Owner.UID == uid && !g.Job.Status.Final() && slices.Contains(names, g.Job.Spec.OutputDataset) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// causeOf returns a cause as the answer on the socket has it.
func causeOf(c why.Cause) *wire.Cause {
	return &wire.Cause{Code: string(c.Code), Text: c.Text, Since: c.Since, Until: c.Until, Remedy: c.Remedy}
}
