package site

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/wire"
)

// Order stores what somebody orders and returns what it changed; nil lists the orders in
// force that the caller may see. Grid jobs are paused and resumed by their owners and by
// administrators, all else is ordered by administrators. The errors are Denied; Gone for
// no grid job; Invalid for what this site does not have or what is over.
func (si *Site) Order(ctx context.Context, caller wire.Caller, o *wire.Order) ([]jjm.Order, error) {
	if o == nil {
		return si.ordersFor(caller), nil
	}
	if err := si.mayOrder(ctx, caller, o); err != nil {
		return nil, err
	}
	now := jjm.At(si.b.Now())
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: strings.TrimSpace(o.Reason), By: caller.Actor(),
		Since: now, Until: o.Until}
	if o.For > 0 {
		given.Until = now.Add(o.For.D())
	}
	if o.Verb == jjm.OrderResume {
		return si.resume(ctx, given)
	}
	if !given.InForce(now) {
		return nil, jjm.Errorf(jjm.Invalid, "%s %s %s until %s: that is over", o.Verb, o.Kind, o.Name, given.Until)
	}
	err := si.order(ctx, func(c *state.Change) ([]jjm.Order, error) {
		c.Journal = append(c.Journal, orderEntry(given, given.Doing(), given.Reason))
		return []jjm.Order{given}, c.Tx.PutOrder(given)
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", o.Verb, o.Kind, o.Name, err)
	}
	si.b.Log.Info("order", "verb", o.Verb, "kind", o.Kind, "name", o.Name, "by", given.By, "reason", given.Reason, "until",
		given.Until)
	return []jjm.Order{given}, nil
}

// mayOrder refuses who may not give an order, and what it cannot be about.
func (si *Site) mayOrder(ctx context.Context, caller wire.Caller, o *wire.Order) error {
	switch {
	case o.Kind == jjm.OrderJob:
		return si.mayOrderJob(ctx, caller, o)
	case !caller.Admin:
		return jjm.Errorf(jjm.Denied,
			"%s %s %s: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)",
			o.Verb, o.Kind, o.Name, caller.User)
	}
	return si.knownTarget(o)
}

// knownTarget refuses clusters, queues and types that this site does not have. Users come
// and go; of the queues those are known that the cluster's section names, if it names any.
func (si *Site) knownTarget(o *wire.Order) error {
	var known []string
	switch o.Kind {
	case jjm.OrderCluster:
		known = si.s.Names
	case jjm.OrderQueue:
		var any bool
		if known, any = si.queues(o.Name); any {
			return nil
		}
	case jjm.OrderType:
		known = si.b.Deps.Types.Types()
	default:
		return nil
	}
	v := si.s.View()
	ordered := slices.ContainsFunc(v.Orders(), func(old jjm.Order) bool {
		return old.Kind == o.Kind && old.Name == o.Name
	})
	v.Close()
	if slices.Contains(known, o.Name) || o.Verb == jjm.OrderResume && ordered {
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "%s %s: unknown %s %.80q: this site has %v", o.Verb, o.Kind, o.Kind, o.Name, known)
}

// queues returns the queues that the site knows; any means that the cluster of the queue
// named has some that its section does not name.
func (si *Site) queues(named string) (known []string, any bool) {
	of, _, _ := strings.Cut(named, "/")
	for i, cluster := range si.s.Names {
		c := si.b.Deps.Clusters[i]
		if cluster == of && len(c.Queues) == 0 && c.Kind != localKind {
			return nil, true
		}
		for _, queue := range c.Queues {
			known = append(known, jjm.QueueName(cluster, queue))
		}
	}
	return known, false
}

// localKind is the embedded batch system, which has no queues.
const localKind = "local"

// resume ends what is ordered about a target. That nothing is, is a success.
func (si *Site) resume(ctx context.Context, by jjm.Order) ([]jjm.Order, error) {
	var ended []jjm.Order
	err := si.order(ctx, nil, func(c *state.Change) ([]jjm.Order, error) {
		for _, o := range c.Live.Orders() {
			if o.Kind != by.Kind || o.Name != by.Name {
				continue
			}
			ended = append(ended, o)
			entry := orderEntry(o, "resumed", by.Reason)
			entry.From, entry.Actor, entry.Time = o.Doing(), by.By, by.Since
			c.Journal = append(c.Journal, entry)
			if err := c.Tx.DropOrder(o); err != nil {
				return nil, err
			}
		}
		return ended, nil
	})
	if err != nil {
		return nil, fmt.Errorf("resume %s %s: %w", by.Kind, by.Name, err)
	}
	if len(ended) > 0 {
		si.b.Log.Info("order", "verb", "resume", "kind", by.Kind, "name", by.Name, "by", by.By, "reason", by.Reason)
	}
	return ended, nil
}

// orderEntry journals an order; it belongs to no grid job.
func orderEntry(o jjm.Order, became, cause string) jjm.JournalEntry {
	text := o.Kind + " " + o.Name
	if cause != "" {
		text += ": " + cause
	}
	if o.Until != 0 && became == o.Doing() {
		text += " (until " + o.Until.String() + ")"
	}
	return jjm.JournalEntry{Time: o.Since, First: -1, Last: -1, To: became, Cause: text, Source: "order", Actor: o.By}
}

// order stores orders that begin and orders that end, and lets all see them.
func (si *Site) order(ctx context.Context, begin, end func(*state.Change) ([]jjm.Order, error)) error {
	var more, less []jjm.Order
	err := si.s.Change(ctx, "order", func(c *state.Change) (err error) {
		if begin != nil {
			if more, err = begin(c); err != nil {
				return err
			}
		}
		if end != nil {
			if less, err = end(c); err != nil {
				return err
			}
		}
		c.Orders = func(a *state.Memo) { a.SetOrders(less, more) }
		return nil
	})
	if err != nil {
		return err
	}
	if len(more)+len(less) > 0 {
		si.orderChanged(append(more, less...))
	}
	return nil
}

// orderChanged lets the grid jobs concerned, their records and the submit loops
// see it.
func (si *Site) orderChanged(orders []jjm.Order) {
	var ids []jjm.GridID
	si.s.Mark(func(m *state.Marks) {
		ids = m.StaleWhere(func(g *state.Grid) bool {
			return slices.ContainsFunc(orders, func(o jjm.Order) bool { return concerns(o, g) })
		})
	})
	for _, id := range ids {
		si.s.WakeGrid(id)
	}
	si.s.WakeSubmit()
	fair.Kick(si.s.PubKick)
	fair.Kick(si.orderKick)
}

// concerns reports whether an order is about a grid job.
func concerns(o jjm.Order, g *state.Grid) bool {
	switch o.Kind {
	case jjm.OrderCluster:
		return slices.Contains(g.Job.Step.Clusters, o.Name)
	case jjm.OrderQueue:
		cluster, _, _ := strings.Cut(o.Name, "/")
		return slices.Contains(g.Job.Step.Clusters, cluster)
	case jjm.OrderType:
		return o.Name == g.Job.Spec.Type
	case jjm.OrderJob:
		return o.Name == g.Job.ID.String()
	}
	return o.Name == g.Job.Owner.User
}

// endAgain is when orders that could not be ended are tried again.
const endAgain = 5 * time.Second

// ordersLoop ends orders when their time is over.
func (si *Site) ordersLoop(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := si.endOrders(ctx)
		if err != nil && ctx.Err() == nil {
			si.b.Complain(slog.LevelError, "orders", "orders that are over could not be ended, trying again", "error", err)
			wait = endAgain
		}
		fair.WaitKick(ctx, si.orderKick, wait)
	}
}

// endOrders deletes what is not in force any more; it was not obeyed since its
// time, or its grid job is over. The answer is when the next one ends.
func (si *Site) endOrders(ctx context.Context) (time.Duration, error) {
	now := jjm.At(si.b.Now())
	next := time.Hour
	var over []jjm.Order
	v := si.s.View()
	for _, o := range v.Orders() {
		if !o.InForce(now) || jobOver(v.Memory, o) {
			over = append(over, o)
		} else if o.Until != 0 {
			next = min(next, max(o.Until.Sub(now), time.Millisecond))
		}
	}
	v.Close()
	if len(over) == 0 {
		return next, nil
	}
	return next, si.order(ctx, nil, func(c *state.Change) ([]jjm.Order, error) {
		var ended []jjm.Order
		for _, o := range over {
			if !slices.Contains(c.Live.Orders(), o) {
				continue // given anew meanwhile
			}
			why := "its time is over"
			if o.InForce(c.Now) {
				why = "the grid job is over"
			}
			entry := orderEntry(o, "resumed", why)
			entry.From, entry.Time, entry.Actor = o.Doing(), c.Now, ""
			c.Journal = append(c.Journal, entry)
			ended = append(ended, o)
			if err := c.Tx.DropOrder(o); err != nil {
				return nil, err
			}
		}
		return ended, nil
	})
}
