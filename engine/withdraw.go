package engine

import (
	"context"
	"slices"

	"jjm"
)

// withdraw has the local jobs of a grid job that no batch system has yet give back
// what they own, if some of it was marked: others do the rest without it. What a
// batch system has goes on.
func (e *Engine) withdraw(ctx context.Context, id jjm.GridID) error {
	marked, due := e.withdrawDue(id)
	if !due {
		return nil
	}
	locals, err := e.store.MarkedOwned(ctx, id, jjm.StepWork)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(locals, e.chunk()) {
		if err := e.withdrawSome(ctx, id, some); err != nil {
			return err
		}
	}
	e.adjust(func() {
		if g := e.grids[id]; g != nil {
			g.reads.withdrawn = marked + 1
		}
	})
	return nil
}

// withdrawDue reports whether files were marked, or may have been before the start,
// since local jobs were last withdrawn.
func (e *Engine) withdrawDue(id jjm.GridID) (marked uint64, due bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	g := e.grids[id]
	if g == nil || g.reads == nil || g.job.Kill {
		return 0, false
	}
	return g.reads.marked, g.reads.withdrawn != g.reads.marked+1
}

// withdrawSome ends those of some local jobs that no batch system has.
func (e *Engine) withdrawSome(ctx context.Context, id jjm.GridID, locals []int32) error {
	locals = slices.DeleteFunc(slices.Clone(locals), func(n int32) bool { return !e.waitsToBeSent(jjm.LocalID{Grid: id, N: n}) })
	if len(locals) == 0 {
		return nil
	}
	return e.change(ctx, "withdraw", func(c *change) error {
		c.withdrawn = map[jjm.LocalID]bool{}
		for _, n := range locals {
			at := jjm.LocalID{Grid: id, N: n}
			if live := e.local(at); live == nil || !withdrawable(live) {
				continue // it was submitted meanwhile, or killed
			}
			l := c.local(at)
			c.withdrawn[at] = true
			l.Ended, l.Message = c.now, "some of what it would have read cannot be read any more"
			if l.NotBefore != 0 && l.Attempt > 0 {
				l.Attempt-- // the next one, whose number it had, will not be
			}
			c.move(l, jjm.Failed, jjm.BySystem, l.Message)
		}
		return nil
	})
}

// waitsToBeSent reports whether no batch system has a local job, and none had it in
// vain: it is new, or waits for its next attempt.
func (e *Engine) waitsToBeSent(id jjm.LocalID) bool {
	e.mem.RLock()
	defer e.mem.RUnlock()
	l := e.local(id)
	return l != nil && withdrawable(l)
}

func withdrawable(l *jjm.LocalJob) bool { return !l.Kill && unsent(l) > 0 }
