package reopen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// lookEvery is the time between two looks at a request that waits for its grid job to arrive in the history, or for an
// error to go away.
const lookEvery = time.Second

// Loop carries out the stored requests to reopen grid jobs, a chunk of each request at a time, until ctx ends.
func (ro *Reopener) Loop(ctx context.Context) {
	ro.settleAll(ctx)
	for ctx.Err() == nil {
		wait := time.Minute
		for _, r := range ro.open() {
			wait = min(wait, ro.step(ctx, &r))
			if ctx.Err() != nil {
				return
			}
		}
		if wait > 0 {
			fair.WaitKick(ctx, ro.kick, wait)
		}
	}
}

// open returns the requests that are not carried out or refused yet, oldest first.
func (ro *Reopener) open() (all []store.Reopening) {
	v := ro.s.View()
	defer v.Close()
	for _, r := range v.Reopenings() {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b store.Reopening) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

// step carries out the next step of a request and returns the time until the following step. If the request can never
// be carried out, it refuses the request.
func (ro *Reopener) step(ctx context.Context, r *store.Reopening) time.Duration {
	v := ro.s.View()
	live := v.Grid(r.Grid) != nil
	v.Close()
	if live {
		return lookEvery // the grid job is still on its way to the history
	}
	more, err := ro.revive(ctx, r)
	switch {
	case err == nil && more:
		return 0
	case err == nil:
		err = ro.begin(ctx, r)
	}
	if refuses(err) && ctx.Err() == nil {
		err = ro.refuse(ctx, r, err.Error())
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
		return 0
	}
	ro.b.Complain(slog.LevelError, "reopen/"+r.Grid.String(), "grid job could not be reopened, will try again",
		"job", r.Grid, "error", err)
	return lookEvery
}

// revive moves the next chunk of rows back from the history, and reports whether more remain.
func (ro *Reopener) revive(ctx context.Context, r *store.Reopening) (more bool, err error) {
	if more, err = ro.b.Store.Revive(ctx, r.Grid, ro.b.Chunk()); err != nil {
		return more, err
	}
	return more, ro.b.Crash("reopen.chunk")
}

// refuses reports whether an error means that a request can never be carried out, so that a retry is useless.
func refuses(err error) bool {
	if err == nil || errors.Is(err, base.ErrCrashed) {
		return false
	}
	switch jjm.KindOf(err) {
	case jjm.Conflict, jjm.Gone, jjm.Denied, jjm.Invalid:
		return true
	}
	return false
}

// begin begins the next generation of a grid job whose rows were moved back from the history.
func (ro *Reopener) begin(ctx context.Context, r *store.Reopening) error {
	job, err := ro.b.Store.Grid(ctx, r.Grid)
	if err != nil {
		return err
	}
	locals, err := ro.b.Store.Locals(ctx, r.Grid, 0, -1)
	if err != nil {
		return err
	}
	var w request
	if err := json.Unmarshal(r.Request, &w); err != nil {
		return jjm.Errorf(jjm.Invalid, "the request cannot be read: %w", err)
	}
	taken, err := ro.rooms.Prover.Elsewhere(ctx, &job) // no recovery is accepted while the request is open
	if err != nil {
		return err
	}
	carryOut := func(c *state.Change) error { return ro.carryOut(c, r, &w, taken) }
	if w.Resplit != nil {
		if carryOut, err = ro.cutting(&job, r, w.Resplit, taken); err != nil {
			return err
		}
	}
	ro.s.Adjust(func(a *state.Memo) { a.Revive(job, locals) })
	err = ro.s.Change(ctx, "reopen", carryOut)
	if err != nil {
		ro.s.Adjust(func(a *state.Memo) { a.Forget(r.Grid) })
		return err
	}
	ro.b.Log.Info("grid job is reopened", "job", r.Grid, "generation", r.Generation, "by", r.Actor, "why", r.Why)
	return nil
}

// carryOut begins the next generation and carries out the request.
func (ro *Reopener) carryOut(c *state.Change, r *store.Reopening, w *request, taken map[int32]string) error {
	if w.Retract != nil {
		return ro.makeAgain(c, r, *w.Retract, taken)
	}
	if w.Resubmit == nil {
		return jjm.Errorf(jjm.Invalid, "the request is none that this jjm knows: %.200s", r.Request)
	}
	again, err := w.Resubmit.again()
	if err != nil {
		return err
	}
	g := c.Live.Grid(r.Grid)
	run, _, err := ro.decide(c.Ctx, &g.Job, again, g.Locals, taken)
	if err != nil {
		return err
	}
	if len(run) == 0 {
		return jjm.Errorf(jjm.Conflict, "there is nothing left to run again")
	}
	to, err := ro.moves(&g.Job, g.Locals, run, again.asked)
	if err != nil {
		return err
	}
	if _, err := c.Reopen(r); err != nil {
		return err
	}
	return ro.runAgain(c, r.Grid, run, rerun{actor: r.Actor, to: to, args: again.args})
}

// refuse refuses a request that became impossible, and moves the rows back to the history.
func (ro *Reopener) refuse(ctx context.Context, r *store.Reopening, why string) error {
	err := ro.s.Change(ctx, "reopen-refuse", func(c *state.Change) error { return c.RefuseReopening(r, why) })
	if err != nil {
		return err
	}
	ro.b.Log.Warn("grid job is not reopened", "job", r.Grid, "by", r.Actor, "request", r.Why, "error", why)
	return ro.settle(ctx, r.Grid)
}

// settleAll moves rows back to the history: the rows of grid jobs whose requests were refused, if the daemon stopped
// before it had moved all of them.
func (ro *Reopener) settleAll(ctx context.Context) {
	ids, err := ro.b.Store.Unsettled(ctx)
	for _, id := range ids {
		if err == nil {
			err = ro.settle(ctx, id)
		}
	}
	if err != nil && ctx.Err() == nil {
		ro.b.Log.Error("rows of a grid job could not be moved back to the history", "error", err)
	}
}

// settle moves the rows of a grid job back to the history.
func (ro *Reopener) settle(ctx context.Context, id jjm.GridID) error {
	for {
		more, err := ro.b.Store.Archive(ctx, id, ro.b.Chunk())
		if err != nil || !more {
			return err
		}
		if err := ro.b.Crash("reopen.back"); err != nil {
			return err
		}
	}
}
