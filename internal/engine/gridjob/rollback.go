package gridjob

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// rollBack sets a grid job of which no local job was submitted back to registered, and keeps the grid job with the
// reason why (jjm.RollbackKeep). If the grid job has no local jobs, it is prepared again when its owner submits it
// again; until then, the owner can inspect the contents of its work area. If it has refused local jobs, these stay and
// are submitted again unchanged.
func rollBack(ctx context.Context, js *Jobs, id jjm.GridID, why string) error {
	err := js.s.Change(ctx, "roll-back", func(c *state.Change) error {
		g := c.Grid(id)
		if g == nil || g.Kill || g.Step.Made != c.Live.Grid(id).Unsubmitted {
			return nil
		}
		c.Note(id, g.Status.String(), jjm.Registered.String(), "kept: "+why, "")
		g.Status, g.Reason = jjm.Registered, why
		if g.Step.Made == 0 {
			g.Step = jjm.Step{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	js.s.Adjust(func(a *state.Memo) {
		a.Fail(id, "")
		a.SetCutting(id, nil)
	})
	js.rooms.Records.PublishNow(ctx, id) // a person has to act, also while the daemon is down
	return nil
}

// submitAgain submits a kept grid job again, under its id: the grid job is prepared again, or its refused local jobs
// are submitted again. The error is of kind Conflict if the grid job is not kept, and of kind Denied if the caller is
// not its owner, because the grid job would run as the owner.
func submitAgain(ctx context.Context, js *Jobs, caller wire.Caller, id jjm.GridID) (wire.Submitted, error) {
	if err := js.b.MayRun(caller); err != nil {
		return wire.Submitted{}, err
	}
	job, err := js.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Submitted{}, err
	}
	if job.Owner.UID != caller.UID {
		return wire.Submitted{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s: only its owner submits it again", id,
			job.Owner.User)
	}
	err = js.s.Change(ctx, "kept-submit", func(c *state.Change) error {
		g := c.Grid(id)
		if g == nil || !g.Kept() {
			return jjm.Errorf(jjm.Conflict, "grid job %s is %s: only a grid job that jjm submit --keep kept is submitted "+
				"again; jjm resubmit %[1]s runs failed local jobs again, jjm copy %[1]s makes a new grid job", id, job.Status)
		}
		if err := c.Live.NotBanned(state.WhomOf(g)); err != nil {
			return err
		}
		if err := js.s.HasSpace(); err != nil {
			return err
		}
		c.Note(id, g.Status.String(), g.Status.String(), "submitted again", caller.Actor())
		g.Reason = ""
		return js.again.SubmitKept(c, id, caller.Actor())
	})
	if err != nil {
		return wire.Submitted{}, fmt.Errorf("submit grid job %s again: %w", id, err)
	}
	js.rooms.Records.PublishNow(ctx, id)
	return wire.Submitted{ID: id}, nil
}

// clearAway orders the removal of a grid job that ended as broken, if its submission requested this
// (jjm.RollbackRemove), and releases its request key. If other grid jobs depend on the grid job, it is not removed.
func clearAway(c *state.Change, g *jjm.GridJob) error {
	if g.Rollback != jjm.RollbackRemove || g.Status != jjm.Broken {
		return nil
	}
	if err := c.Tx.Hindrance(g.ID, true); jjm.KindOf(err) == jjm.Conflict {
		c.Note(g.ID, "", "not rolled back", err.Error(), "")
		return nil
	} else if err != nil {
		return err
	}
	return c.Discard(g, fmt.Sprintf("%s (uid %d, submitting with --wait)", g.Owner.User, g.Owner.UID))
}
