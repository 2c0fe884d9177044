package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/wire"
)

// Order stores what an administrator orders and gives what it changed; nil
// lists the orders in force.
func (e *Engine) Order(ctx context.Context, caller wire.Caller, o *wire.Order) ([]jjm.Order, error) {
	if o == nil {
		e.mem.RLock()
		defer e.mem.RUnlock()
		return e.inForce(jjm.At(e.now()), func(jjm.Order) bool { return true }), nil
	}
	if !caller.Admin {
		return nil, jjm.Errorf(jjm.Denied, "%s %s %s: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)", o.Verb, o.Kind, o.Name, caller.User)
	}
	if err := e.knownTarget(o); err != nil {
		return nil, err
	}
	now := jjm.At(e.now())
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: strings.TrimSpace(o.Reason), By: caller.Actor(), Since: now, Until: o.Until}
	if o.For > 0 {
		given.Until = now.Add(o.For.D())
	}
	if o.Verb == jjm.OrderResume {
		return e.resume(ctx, given)
	}
	if !given.InForce(now) {
		return nil, jjm.Errorf(jjm.Invalid, "%s %s %s until %s: that is over", o.Verb, o.Kind, o.Name, given.Until)
	}
	err := e.order(ctx, func(c *change) ([]jjm.Order, error) {
		c.journal = append(c.journal, orderEntry(given, given.Doing(), given.Reason))
		return []jjm.Order{given}, c.tx.PutOrder(given)
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", o.Verb, o.Kind, o.Name, err)
	}
	e.log.Info("order", "verb", o.Verb, "kind", o.Kind, "name", o.Name, "by", given.By, "reason", given.Reason, "until", given.Until)
	return []jjm.Order{given}, nil
}

// knownTarget refuses clusters and types that this site does not have. Users
// come and go.
func (e *Engine) knownTarget(o *wire.Order) error {
	var known []string
	switch o.Kind {
	case jjm.OrderCluster:
		known = e.names
	case jjm.OrderType:
		known = e.deps.Types.Types()
	default:
		return nil
	}
	stale := func(old jjm.Order) bool { return old.Kind == o.Kind && old.Name == o.Name }
	e.mem.RLock()
	ordered := slices.ContainsFunc(e.orders, stale)
	e.mem.RUnlock()
	if slices.Contains(known, o.Name) || o.Verb == jjm.OrderResume && ordered {
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "%s %s: unknown %s %.40q: this site has %v", o.Verb, o.Kind, o.Kind, o.Name, known)
}

// resume ends what is ordered about a target. That nothing is, is a success.
func (e *Engine) resume(ctx context.Context, by jjm.Order) ([]jjm.Order, error) {
	var ended []jjm.Order
	err := e.order(ctx, nil, func(c *change) ([]jjm.Order, error) {
		for _, o := range e.orders {
			if o.Kind != by.Kind || o.Name != by.Name {
				continue
			}
			ended = append(ended, o)
			entry := orderEntry(o, "resumed", by.Reason)
			entry.From, entry.Actor, entry.Time = o.Doing(), by.By, by.Since
			c.journal = append(c.journal, entry)
			if err := c.tx.DropOrder(o); err != nil {
				return nil, err
			}
		}
		return ended, nil
	})
	if err != nil {
		return nil, fmt.Errorf("resume %s %s: %w", by.Kind, by.Name, err)
	}
	if len(ended) > 0 {
		e.log.Info("order", "verb", "resume", "kind", by.Kind, "name", by.Name, "by", by.By, "reason", by.Reason)
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
func (e *Engine) order(ctx context.Context, begin, end func(*change) ([]jjm.Order, error)) error {
	var more, less []jjm.Order
	err := e.change(ctx, "order", func(c *change) (err error) {
		if begin != nil {
			more, err = begin(c)
		}
		if end != nil && err == nil {
			less, err = end(c)
		}
		c.orders = func() { // with the memory lock held
			for _, o := range append(slices.Clone(less), more...) {
				e.orders = slices.DeleteFunc(e.orders, func(old jjm.Order) bool {
					return old.Verb == o.Verb && old.Kind == o.Kind && old.Name == o.Name
				})
			}
			e.orders = append(e.orders, more...)
		}
		return err
	})
	if err == nil && len(more)+len(less) > 0 {
		e.orderChanged(append(more, less...))
	}
	return err
}

// orderChanged lets the grid jobs concerned, their records and the submit loops
// see it.
func (e *Engine) orderChanged(orders []jjm.Order) {
	e.mem.Lock()
	for id, g := range e.grids {
		if slices.ContainsFunc(orders, func(o jjm.Order) bool { return concerns(o, g) }) {
			g.headDirty = true
			g.version++
			e.wakeGrid(id)
		}
	}
	e.mem.Unlock()
	e.wakeSubmit()
	kick(e.pubKick)
	kick(e.orderKick)
}

// concerns reports whether an order is about a grid job.
func concerns(o jjm.Order, g *grid) bool {
	switch o.Kind {
	case jjm.OrderCluster:
		return slices.Contains(g.job.Step.Clusters, o.Name)
	case jjm.OrderType:
		return o.Name == g.job.Spec.Type
	}
	return o.Name == g.job.Owner.User
}

// ordersLoop ends orders when their time is over.
func (e *Engine) ordersLoop(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := e.endOrders(ctx)
		if err != nil && ctx.Err() == nil {
			e.complain(slog.LevelError, "orders", "orders that are over could not be ended, trying again", "error", err)
			wait = asideFor
		}
		waitKick(ctx, e.orderKick, wait)
	}
}

// endOrders deletes what is not in force any more; it was not obeyed since its
// time. The answer is when the next one ends.
func (e *Engine) endOrders(ctx context.Context) (time.Duration, error) {
	now := jjm.At(e.now())
	next := time.Hour
	var over []jjm.Order
	e.mem.RLock()
	for _, o := range e.orders {
		if !o.InForce(now) {
			over = append(over, o)
		} else if o.Until != 0 {
			next = min(next, max(o.Until.Sub(now), time.Millisecond))
		}
	}
	e.mem.RUnlock()
	if len(over) == 0 {
		return next, nil
	}
	return next, e.order(ctx, nil, func(c *change) ([]jjm.Order, error) {
		var ended []jjm.Order
		for _, o := range over {
			if !slices.Contains(e.orders, o) {
				continue // given anew meanwhile
			}
			entry := orderEntry(o, "resumed", "its time is over")
			entry.From, entry.Time, entry.Actor = o.Doing(), c.now, ""
			c.journal = append(c.journal, entry)
			ended = append(ended, o)
			if err := c.tx.DropOrder(o); err != nil {
				return nil, err
			}
		}
		return ended, nil
	})
}
