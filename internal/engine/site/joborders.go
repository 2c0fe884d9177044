package site

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Orders returns the orders in force that a caller may see: all orders except orders about
// other people and their grid jobs.
func (si *Site) Orders(caller wire.Caller) []jjm.Order {
	v := si.s.View()
	defer v.Close()
	return v.InForce(jjm.At(si.b.Now()), func(o jjm.Order) bool {
		switch o.Kind {
		case jjm.OrderJob:
		case jjm.OrderUser:
			return caller.Admin || o.Name == caller.User
		default:
			return true
		}
		g := v.Grid(jobOf(o))
		return g != nil && !g.Job.Status.Final() && caller.May(g.Job.Owner.UID)
	})
}

// jobOf returns the id of the grid job that an order is about, 0 if Name is not a reference.
func jobOf(o jjm.Order) jjm.GridID {
	ref, err := jjm.ParseRef(o.Name)
	if err != nil {
		return 0
	}
	return ref.Grid
}

// mayOrderJob returns an error for an order about a grid job that the caller may not see or
// that has ended. The error is of kind Denied if the order would change another caller's pause
// and the caller is not an administrator.
func (si *Site) mayOrderJob(ctx context.Context, caller wire.Caller, o *wire.Order) error {
	job, err := si.s.Find(ctx, caller, jobOf(jjm.Order{Name: o.Name}))
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", o.Verb, o.Kind, o.Name, err)
	}
	if job.Status.Final() {
		return jjm.Errorf(jjm.Conflict, "%s %s %s: the grid job has ended: it is %s", o.Verb, o.Kind, o.Name, job.Status)
	}
	v := si.s.View()
	defer v.Close()
	had, paused := v.Paused(job.ID, jjm.At(si.b.Now()))
	if paused && !caller.Admin && had.By != caller.Actor() {
		return jjm.Errorf(jjm.Denied, "%s %s %s: %s: only administrators may change that", o.Verb, o.Kind, o.Name, had)
	}
	return nil
}

// jobOver reports whether an order is about a grid job that has ended.
func jobOver(mem state.Memory, o jjm.Order) bool {
	if o.Kind != jjm.OrderJob {
		return false
	}
	g := mem.Grid(jobOf(o))
	return g == nil || g.Job.Status.Final()
}

// JobsOver wakes the loop that ends orders if the change ended a grid job.
func (si *Site) JobsOver(c *state.Change) {
	for _, g := range c.Grids {
		if g.Status.Final() {
			fair.Kick(si.orderKick)
			return
		}
	}
}
