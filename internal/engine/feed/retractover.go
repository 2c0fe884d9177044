package feed

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Lost returns the outputs of an ended grid job that would be lost if the outputs named in w were retracted, and the
// numbers of the local jobs that made these outputs. It changes nothing. The error is of kind Conflict if these local
// jobs cannot make the outputs again, and of kind Gone if no local job made a named output.
func (fd *Feeder) Lost(ctx context.Context, job *jjm.GridJob, w wire.Retract) (wire.Retracted, []int32, error) {
	out := wire.Retracted{ID: job.ID}
	made, err := fd.b.Store.MadeBy(ctx, job.ID)
	if err != nil {
		return out, nil, err
	}
	if job.Spec.Master() == nil && len(made) > 0 {
		return out, nil, jjm.Errorf(jjm.Conflict, "its outputs are in the dataset %s, and it would make them again under the "+
			"same names: a new grid job makes them under others (--new-output)", job.Spec.OutputDataset)
	}
	r := &retraction{fd: fd, ctx: ctx, job: job, request: w}
	if err := r.find(); err != nil {
		return out, nil, err
	}
	before, err := fd.b.Store.Retracted(ctx, job.ID)
	if err != nil {
		return out, nil, err
	}
	for _, n := range r.work {
		_, was := before[n]
		out.Locals = append(out.Locals, wire.RetractedLocal{Local: jjm.LocalID{Grid: job.ID, N: n}.String(),
			Outputs: r.made[n], Before: was})
		out.Lost = append(out.Lost, r.made[n]...)
	}
	return out, r.work, nil
}

// MakeAgain retracts the outputs that w declares lost, in a grid job that change c reopens. If the grid job processes a
// dataset, new local jobs process the files of the lost outputs again, and same is nil. If the grid job generates its
// work, a part of the work cannot move to another local job: same then holds the numbers of the local jobs that made
// the lost outputs, and the caller must run these local jobs again. The error is of kind Gone if no local job made a
// named output, and of kind Conflict if a local job has not completed or can no longer read its files.
func (fd *Feeder) MakeAgain(c *state.Change, id jjm.GridID, actor string, w wire.Retract) (same []int32, err error) {
	g := c.Live.Grid(id)
	r := &retraction{fd: fd, ctx: c.Ctx, job: &g.Job, request: w, caller: wire.Caller{User: actor}}
	if err := r.find(); err != nil {
		return nil, err
	}
	for _, n := range r.work {
		l := jjm.LocalID{Grid: id, N: n}
		if _, err := c.Tx.Retract(l, actor, w.Reason); err != nil {
			return nil, err
		}
		r.lost = append(r.lost, r.made[n]...)
		if !g.Processes() {
			same = append(same, n)
			continue
		}
		if _, err := redo(c, c.Local(l), fmt.Sprintf("what it made is lost: %s", w.Reason), actor); err != nil {
			return nil, err
		}
	}
	return same, r.markLost(c, w.Reason)
}
