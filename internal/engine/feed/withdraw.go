package feed

import (
	"context"
	"slices"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Withdraw ends some local jobs of a grid job: the local jobs that wait for submission and own files that were marked
// as unreadable. These local jobs give back their work, and successors do the work without the marked files. Local jobs
// that a batch system already has are not ended.
func (fd *Feeder) Withdraw(ctx context.Context, id jjm.GridID) error {
	marked, due := fd.withdrawDue(id)
	if !due {
		return nil
	}
	locals, err := fd.b.Store.MarkedOwned(ctx, id, jjm.StepWork)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(locals, fd.b.Chunk()) {
		if err := fd.withdrawSome(ctx, id, some); err != nil {
			return err
		}
	}
	fd.s.Adjust(func(a *state.Memo) { a.Withdrew(id, marked) })
	return nil
}

// withdrawDue reports whether files may have been marked since local jobs were last
// withdrawn, and returns the present count of marks.
func (fd *Feeder) withdrawDue(id jjm.GridID) (marked uint64, due bool) {
	v := fd.s.View()
	defer v.Close()
	g := v.Grid(id)
	if g == nil || g.Reads == nil || g.Job.Kill {
		return 0, false
	}
	return g.Reads.Marked(), g.Reads.ToWithdraw()
}

// withdrawSome ends the given local jobs, except local jobs that no longer wait for submission.
func (fd *Feeder) withdrawSome(ctx context.Context, id jjm.GridID, locals []int32) error {
	locals = slices.DeleteFunc(slices.Clone(locals), func(n int32) bool {
		return !fd.waitsToBeSent(jjm.LocalID{Grid: id, N: n})
	})
	if len(locals) == 0 {
		return nil
	}
	return fd.s.Change(ctx, "withdraw", func(c *state.Change) error {
		c.Withdrawn = map[jjm.LocalID]bool{}
		for _, n := range locals {
			at := jjm.LocalID{Grid: id, N: n}
			if live := c.Live.Local(at); live == nil || !state.Withdrawable(live) {
				continue // the local job was submitted or killed meanwhile
			}
			l := c.Local(at)
			c.Withdrawn[at] = true
			l.Ended, l.Message = c.Now, "some of what it would have read cannot be read any more"
			if l.NotBefore != 0 && l.Attempt > 0 {
				l.Attempt-- // Attempt was already the number of the next attempt
			}
			c.Move(l, jjm.Failed, jjm.BySystem, l.Message)
		}
		return nil
	})
}

// waitsToBeSent reports whether a local job waits for submission and is not being killed.
func (fd *Feeder) waitsToBeSent(id jjm.LocalID) bool {
	v := fd.s.View()
	defer v.Close()
	l := v.Local(id)
	return l != nil && state.Withdrawable(l)
}
