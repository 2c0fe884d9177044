package removal

import (
	"context"
	"errors"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// atOnce is the greatest number of removals that one transaction stores or ends, and that one round of an account
// carries out.
const atOnce = 100

// Remove orders the removal of ended grid jobs. It returns an answer for each grid job, in the order in which the
// request first names them. It decides in this order. If a removed grid job was the reason why another grid job of
// the request was refused, it decides about the other grid job again. With Force it also removes grid jobs whose end
// was not reported to their gatekeepers. With DryRun nothing changes.
func (re *Remover) Remove(ctx context.Context, caller wire.Caller, r wire.RemoveRequest) (wire.RemoveAnswer, error) {
	var out []wire.Removed
	at := map[jjm.GridID]int{}
	for _, ref := range r.Jobs {
		if _, known := at[ref.Grid]; !known {
			at[ref.Grid] = len(out)
			out = append(out, wire.Removed{ID: ref.Grid})
		}
	}
	ids := make([]jjm.GridID, len(out))
	for i := range out {
		ids[i] = out[i].ID
	}
	if err := re.flushTellings(ctx); err != nil {
		re.b.Log.Warn("what gatekeepers were told could not be stored", "error", err)
	}
	o := order{caller: caller, force: r.Force, dry: r.DryRun, errs: map[jjm.GridID]error{},
		scale: scale{re: re, left: measuring}, frees: map[jjm.GridID]*wire.Space{}}
	for len(ids) > 0 {
		for some := range slices.Chunk(ids, atOnce) {
			re.order(ctx, &o, some)
		}
		refused := slices.DeleteFunc(slices.Clone(ids), func(id jjm.GridID) bool { return o.errs[id] == nil })
		if o.dry || len(refused) == len(ids) {
			break
		}
		ids = refused // grid jobs of another chunk may have been the reason
	}
	for i := range out {
		if out[i].Error = wire.ErrorOf(o.errs[out[i].ID]); out[i].Error == nil {
			out[i].Frees = o.frees[out[i].ID]
		}
	}
	return wire.RemoveAnswer{Remove: out}, nil
}

// order is one request to remove grid jobs, with the errors for the grid jobs that are not removed, and the disk space
// that the removals free.
type order struct {
	caller     wire.Caller
	force, dry bool
	errs       map[jjm.GridID]error
	scale      scale
	frees      map[jjm.GridID]*wire.Space
}

// order stores the removals of some of the request's grid jobs in one transaction, and sets errs of each of them.
func (re *Remover) order(ctx context.Context, o *order, ids []jjm.GridID) {
	var jobs []jjm.GridJob
	for _, id := range ids {
		job, err := re.s.Find(ctx, o.caller, id)
		if err == nil {
			err = over(&job)
		}
		if o.errs[id] = err; err != nil {
			continue
		}
		if o.frees[id] == nil { // measured before the change, because the removal begins with the change
			o.frees[id] = o.scale.space(&job)
		}
		jobs = append(jobs, job)
	}
	err := re.s.Change(ctx, "remove", func(c *state.Change) error {
		left := jobs
		for {
			refused, err := re.removeAll(c, o, left)
			if err != nil {
				return err
			}
			if len(refused) == len(left) {
				break
			}
			left = refused
		}
		if o.dry || len(left) == len(jobs) {
			return state.ErrDryRun
		}
		return nil
	})
	if errors.Is(err, state.ErrDryRun) {
		return
	}
	for i := range jobs {
		if id := jobs[i].ID; err != nil && o.errs[id] == nil {
			o.errs[id] = err
		}
	}
}

// Ordered wakes the loop that carries out the removals of a committed change, and returns immediately.
func (re *Remover) Ordered(c *state.Change) {
	for _, r := range c.OrderedRemovals() {
		re.work.Kick(r.Owner.UID)
	}
}

// removeAll orders the removal of grid jobs, one after another, and returns the refused grid jobs.
func (re *Remover) removeAll(c *state.Change, o *order, jobs []jjm.GridJob) (refused []jjm.GridJob, err error) {
	for i := range jobs {
		id := jobs[i].ID
		if o.errs[id] = hindrance(c, id, o.force); o.errs[id] != nil {
			refused = append(refused, jobs[i])
			continue
		}
		if err := re.remove(c, &jobs[i], o.caller.Actor()); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// remove orders the removal of a grid job. A kept grid job ends as broken first.
func (re *Remover) remove(c *state.Change, job *jjm.GridJob, actor string) error {
	if live := c.Live.Grid(job.ID); live == nil || !live.Job.Kept() {
		return c.Remove(job, actor)
	}
	g := c.Grid(job.ID)
	c.Status(g, jjm.Broken, g.Reason, actor)
	g.Ended = c.Now
	g.Exit = plan.ExitCode(plan.ExitFacts{Status: g.Status, Exit: -1, NotDone: re.b.Conf().ExitNotDone})
	return c.Discard(g, actor)
}

// over returns an error for a grid job that is neither over nor kept.
func over(job *jjm.GridJob) error {
	switch {
	case job.Status.Final(), job.Kept():
		return nil
	case job.Kill:
		return jjm.Errorf(jjm.Conflict, "it is being killed: remove it once it is over")
	}
	return jjm.Errorf(jjm.Conflict, "it is %s: kill it first (jjm kill %s), and remove it once it is over", job.Status, job.ID)
}

// hindrance returns an error if a grid job cannot be removed. The grid job was over, or kept, when it was read before
// the change.
func hindrance(c *state.Change, id jjm.GridID, force bool) error {
	if r, doomed := c.Live.Removal(id); doomed {
		return r.Err()
	}
	g := c.Live.Grid(id)
	if g != nil && g.Job.Kept() {
		return c.Tx.Hindrance(id, true) // no gatekeeper submitted it
	}
	if g != nil && !g.Job.Status.Final() {
		return jjm.Errorf(jjm.Busy, "it was reopened or submitted just now: try again")
	}
	return c.Tx.Hindrance(id, force)
}
