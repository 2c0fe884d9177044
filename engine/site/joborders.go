package site

import (
	"context"
	"fmt"

	"jjm"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/wire"
)

// ordersFor returns the orders in force that a caller may see: of grid jobs, those about
// the caller's own.
func (si *Site) ordersFor(caller wire.Caller) []jjm.Order {
	v := si.s.View()
	defer v.Close()
	return v.InForce(jjm.At(si.b.Now()), func(o jjm.Order) bool {
		if o.Kind != jjm.OrderJob {
			return true
		}
		g := v.Grid(jobOf(o))
		return g != nil && !g.Job.Status.Final() && caller.May(g.Job.Owner.UID)
	})
}

// jobOf returns the grid job that an order names, 0 if it names none.
func jobOf(o jjm.Order) jjm.GridID {
	ref, err := jjm.ParseRef(o.Name)
	if err != nil {
		return 0
	}
	return ref.Grid
}

// mayOrderJob refuses orders about the grid jobs of others, and those that would undo an
// administrator's.
func (si *Site) mayOrderJob(ctx context.Context, caller wire.Caller, o *wire.Order) error {
	job, err := si.s.Find(ctx, caller, jobOf(jjm.Order{Name: o.Name}))
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", o.Verb, o.Kind, o.Name, err)
	}
	if job.Status.Final() {
		return jjm.Errorf(jjm.Conflict, "%s %s %s: it is over: %s", o.Verb, o.Kind, o.Name, job.Status)
	}
	v := si.s.View()
	defer v.Close()
	had, paused := v.Paused(job.ID, jjm.At(si.b.Now()))
	if paused && !caller.Admin && had.By != caller.Actor() {
		return jjm.Errorf(jjm.Denied, "%s %s %s: %s: only administrators may change that", o.Verb, o.Kind, o.Name, had)
	}
	return nil
}

// jobOver reports whether an order is about a grid job that is over.
func jobOver(mem state.Memory, o jjm.Order) bool {
	if o.Kind != jjm.OrderJob {
		return false
	}
	g := mem.Grid(jobOf(o))
	return g == nil || g.Job.Status.Final()
}

// JobsOver has the orders about grid jobs that a change ended looked for.
func (si *Site) JobsOver(c *state.Change) {
	for _, g := range c.Grids {
		if g.Status.Final() {
			fair.Kick(si.orderKick)
			return
		}
	}
}
