package state

import (
	"maps"
	"slices"
	"strings"

	"jjm"
)

// target is what an order is about.
type target struct{ kind, name string }

func targetOf(o jjm.Order) target { return target{o.Kind, o.Name} }

// Orders are those stored, also ones whose time is over, by kind, name and verb.
func (m Memory) Orders() []jjm.Order {
	var all []jjm.Order
	for orders := range maps.Values(m.s.orders) {
		all = append(all, orders...)
	}
	slices.SortFunc(all, func(a, b jjm.Order) int {
		return strings.Compare(a.Kind+" "+a.Name+" "+a.Verb, b.Kind+" "+b.Name+" "+b.Verb)
	})
	return all
}

// InForce returns the orders that hold now, sorted as Orders are.
func (m Memory) InForce(now jjm.Time, which func(jjm.Order) bool) []jjm.Order {
	var out []jjm.Order
	for _, o := range m.Orders() {
		if o.InForce(now) && which(o) {
			out = append(out, o)
		}
	}
	return out
}

// Ordered returns an order in force about a target.
func (m Memory) Ordered(verb, kind, name string, now jjm.Time) (jjm.Order, bool) {
	for _, o := range m.s.orders[target{kind, name}] {
		if o.Verb == verb && o.InForce(now) {
			return o, true
		}
	}
	return jjm.Order{}, false
}

// OrderedAt returns an order in force about a cluster, or about the queue of it that a
// request comes to: the one that it names, or the cluster's own.
func (m Memory) OrderedAt(verb, cluster string, r jjm.Request, now jjm.Time) (jjm.Order, bool) {
	if o, yes := m.Ordered(verb, jjm.OrderCluster, cluster, now); yes {
		return o, true
	}
	queue := r.Queue
	if at, known := m.s.Positions[cluster]; known && queue == "" {
		queue = m.s.B.Deps.Clusters[at].Queue
	}
	if queue == "" {
		return jjm.Order{}, false
	}
	return m.Ordered(verb, jjm.OrderQueue, jjm.QueueName(cluster, queue), now)
}

// Paused returns the order in force that pauses a grid job.
func (m Memory) Paused(id jjm.GridID, now jjm.Time) (jjm.Order, bool) {
	return m.Ordered(jjm.OrderPause, jjm.OrderJob, id.String(), now)
}

// Halted returns the order that keeps the local jobs of a grid job, of its type or of its
// user waiting.
func (m Memory) Halted(g *Grid, now jjm.Time) (jjm.Order, bool) {
	if o, yes := m.Paused(g.Job.ID, now); yes {
		return o, true
	}
	if o, yes := m.Ordered(jjm.OrderPause, jjm.OrderType, g.Job.Spec.Type, now); yes {
		return o, true
	}
	return m.Ordered(jjm.OrderPause, jjm.OrderUser, g.Job.Owner.User, now)
}

// SetOrders ends and begins orders. One that begins takes the place of that which said the
// same of the same.
func (a *Memo) SetOrders(end, begin []jjm.Order) {
	for _, o := range append(slices.Clone(end), begin...) {
		left := slices.DeleteFunc(slices.Clone(a.s.orders[targetOf(o)]), func(old jjm.Order) bool { return old.Verb == o.Verb })
		if a.s.orders[targetOf(o)] = left; len(left) == 0 {
			delete(a.s.orders, targetOf(o))
		}
	}
	for _, o := range begin {
		a.s.orders[targetOf(o)] = append(a.s.orders[targetOf(o)], o)
	}
}
