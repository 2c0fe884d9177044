package reopen

import (
	"context"
	"errors"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// Retract declares outputs of a grid job lost (decision R34). An ended grid job is reopened and makes the outputs
// again, unless the request asks for a recovery or a new grid job. In all other cases Feeder.Retract carries out the
// request.
func (ro *Reopener) Retract(ctx context.Context, caller wire.Caller, r wire.RetractRequest) (wire.RetractAnswer,
	error) {
	out, err := ro.retract(ctx, caller, r.Grid(), *r.Retract)
	return wire.RetractAnswer{Retracted: &out}, err
}

func (ro *Reopener) retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted,
	error) {
	job, err := ro.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Retracted{ID: id}, err
	}
	if !job.Status.Final() || w.NewOutput || w.Recovery != "" {
		return ro.rooms.Feeder.Retract(ctx, caller, id, w)
	}
	out, err := ro.retractOver(ctx, caller, &job, w)
	if err != nil {
		return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
	}
	return out, nil
}

// retractOver stores the request to make lost outputs of an ended grid job again. With DryRun it stores nothing.
func (ro *Reopener) retractOver(ctx context.Context, caller wire.Caller, job *jjm.GridJob, w wire.Retract) (
	out wire.Retracted, err error) {
	if err := plan.MayReopen(job); err != nil {
		return out, jjm.Errorf(jjm.KindOf(err), "%w; or a new grid job makes them again (--new-output)", err)
	}
	out, locals, err := ro.rooms.Feeder.Lost(ctx, job, w)
	if err != nil {
		return out, err
	}
	taken, err := ro.rooms.Prover.Elsewhere(ctx, job)
	if err != nil {
		return out, err
	}
	if err := ownWork(job.ID, locals, taken); err != nil {
		return out, err
	}
	out.Generation = job.Generation + 1
	why := fmt.Sprintf("%s lost: %s", jjm.Count(len(out.Lost), "output"), w.Reason)
	if err := ro.put(ctx, caller, job, request{Retract: &w}, why, w.DryRun); !errors.Is(err, state.ErrDryRun) {
		return out, err
	}
	return out, nil
}

// ownWork returns an error of kind Conflict if a recovery did the work of one of the local jobs.
func ownWork(id jjm.GridID, locals []int32, taken map[int32]string) error {
	for _, n := range locals {
		if why := taken[n]; why != "" {
			return jjm.Errorf(jjm.Conflict, "local job %s: %s", jjm.LocalID{Grid: id, N: n}, why)
		}
	}
	return nil
}

// makeAgain begins the next generation, in which lost outputs are made again.
func (ro *Reopener) makeAgain(c *state.Change, r *store.Reopening, w wire.Retract, taken map[int32]string) error {
	job := c.Live.Grid(r.Grid).Job
	_, locals, err := ro.rooms.Feeder.Lost(c.Ctx, &job, w)
	if err != nil {
		return err
	}
	if err := ownWork(r.Grid, locals, taken); err != nil {
		return err
	}
	if _, err := c.Reopen(r); err != nil {
		return err
	}
	same, err := ro.rooms.Feeder.MakeAgain(c, r.Grid, r.Actor, w)
	if err != nil {
		return err
	}
	return ro.runAgain(c, r.Grid, same, rerun{actor: r.Actor})
}
