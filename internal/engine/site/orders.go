package site

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Order stores or ends an order and returns the orders that it changed. Without an order it lists the
// orders in force that the caller may see. Owners and administrators pause and resume grid
// jobs; only administrators give other orders. Kinds of errors:
//
//	Denied    the caller may not give the order
//	Gone      there is no such grid job
//	Conflict  the grid job has ended
//	Invalid   the site has no such cluster, queue or type, or Until is past
func (si *Site) Order(ctx context.Context, caller wire.Caller, r wire.OrderRequest) (wire.OrderAnswer, error) {
	if r.Order == nil {
		return wire.OrderAnswer{Orders: si.Orders(caller)}, nil
	}
	return si.obey(ctx, caller, r.Order)
}

func (si *Site) obey(ctx context.Context, caller wire.Caller, o *wire.Order) (out wire.OrderAnswer, err error) {
	if err := si.mayOrder(ctx, caller, o); err != nil {
		return out, err
	}
	now := jjm.At(si.b.Now())
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: strings.TrimSpace(o.Reason), By: caller.Actor(),
		Since: now, Until: o.Until}
	if o.From != 0 { // the request is a drain, but a maintenance window still accepts grid jobs
		given.Verb, given.From = jjm.OrderMaintenance, o.From
	}
	if o.For > 0 {
		given.Until = max(now, given.From).Add(o.For.D())
	}
	if o.Verb == jjm.OrderResume {
		return si.resume(ctx, given)
	}
	if !given.InForce(now) {
		return out, jjm.Errorf(jjm.Invalid, "%s %s %s until %s: that time is past: want a later one", o.Verb, o.Kind,
			o.Name, given.Until.Local())
	}
	err = si.order(ctx, func(c *state.Change) ([]jjm.Order, error) {
		out = wire.OrderAnswer{Orders: []jjm.Order{given}}
		present := c.Live.Orders()
		if at := slices.IndexFunc(present, given.Repeats); at >= 0 {
			out = wire.OrderAnswer{Orders: present[at : at+1], NoChange: true, Notes: []string{present[at].String()}}
			return nil, nil
		}
		c.Journal = append(c.Journal, orderEntry(given, given.Doing(), given.Reason))
		return []jjm.Order{given}, c.Tx.PutOrder(given)
	}, nil)
	switch {
	case err != nil:
		return wire.OrderAnswer{}, fmt.Errorf("%s %s %s: %w", o.Verb, o.Kind, o.Name, err)
	case out.NoChange:
		return out, nil
	}
	si.b.Log.Info("order", "verb", given.Verb, "kind", o.Kind, "name", o.Name, "by", given.By, "reason", given.Reason,
		"from", given.From, "until", given.Until)
	return out, nil
}

// mayOrder returns an error if the caller may not give the order, or if the site does not have the order's target.
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

// knownTarget returns an error of kind Invalid for a cluster, queue or job type that this site does not have. A target
// that a stored order names can always be resumed. Users are not checked. For the queues that the site has, see the
// method queues.
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
	return jjm.Errorf(jjm.Invalid, "%s %s: unknown %s %.80q: this site has %s", o.Verb, o.Kind, o.Kind, o.Name,
		cmp.Or(strings.Join(known, ", "), "none"))
}

// queues returns the queues that the configuration names. named is a queue and its cluster ("CLUSTER/QUEUE"). any is
// true if any queue is accepted, because the section of this cluster names no queues and the cluster is not the
// embedded batch system.
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

// localKind is the kind of the embedded batch system, which has no queues.
const localKind = "local"

// resume ends the orders about a target and returns these orders. It succeeds if there are no such orders.
func (si *Site) resume(ctx context.Context, by jjm.Order) (wire.OrderAnswer, error) {
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
		return wire.OrderAnswer{}, fmt.Errorf("resume %s %s: %w", by.Kind, by.Name, err)
	}
	if len(ended) == 0 {
		return wire.OrderAnswer{NoChange: true, Notes: []string{by.Kind + " " + by.Name + " has no order to end"}}, nil
	}
	si.b.Log.Info("order", "verb", "resume", "kind", by.Kind, "name", by.Name, "by", by.By, "reason", by.Reason)
	return wire.OrderAnswer{Orders: ended}, nil
}

// orderEntry returns the journal entry of an order, which belongs to no grid job.
func orderEntry(o jjm.Order, became, cause string) jjm.JournalEntry {
	text := o.Kind + " " + o.Name
	if cause != "" {
		text += ": " + cause
	}
	switch {
	case became != o.Doing():
	case o.From != 0:
		text += " (from " + o.From.Local() + " until " + o.Until.Local() + ")"
	case o.Until != 0:
		text += " (until " + o.Until.String() + ")"
	}
	return jjm.JournalEntry{Time: o.Since, First: -1, Last: -1, To: became, Cause: text, Source: "order", Actor: o.By}
}

// order makes one change. In the change, begin stores the orders that it returns, and end deletes the orders that it
// returns. Either function may be nil. After the change, memory shows the orders, and order wakes everything that the
// orders affect.
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

// orderChanged wakes everything that stored or ended orders affect: grid jobs, the publisher of their records, the
// submit loops, and the loop that ends orders.
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

// concerns reports whether an order affects a grid job: the order is about a cluster that the grid job may use or about
// a queue of such a cluster, or about the grid job itself, its type or its user.
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

// ordersLoop ends orders whose time is up or whose grid job has ended, and wakes the grid jobs that a near maintenance
// window affects.
func (si *Site) ordersLoop(ctx context.Context) {
	end := func(ctx context.Context) (time.Duration, error) {
		defer si.lookAtWindows()
		return si.endOrders(ctx)
	}
	fair.EndLoop(ctx, si.orderKick, end, func(err error) {
		si.b.Complain(slog.LevelError, "orders", "expired orders could not be ended, will try again", "error", err)
	})
}

// endOrders deletes the orders whose time is up or whose grid job has ended. InForce already ignores orders whose time
// is up. endOrders returns the time after which the next order may begin or end; if no order has an end, it returns an
// hour.
func (si *Site) endOrders(ctx context.Context) (time.Duration, error) {
	now := jjm.At(si.b.Now())
	next := time.Hour
	var over []jjm.Order
	v := si.s.View()
	for _, o := range v.Orders() {
		if !o.InForce(now) || jobOver(v.Memory, o) {
			over = append(over, o)
		} else if o.Until != 0 {
			next = fair.UntilEnd(next, o.Until.Sub(now))
			if o.From > now {
				next = min(next, o.From.Sub(now))
			}
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
				continue // a new order has replaced this order meanwhile
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
