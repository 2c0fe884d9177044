package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// target is what an order applies to, such as a grid job or a cluster.
type target struct{ kind, name string }

func targetOf(o jjm.Order) target { return target{o.Kind, o.Name} }

// Orders returns the stored orders, including expired ones, sorted by kind, name, verb and
// From.
func (m Memory) Orders() []jjm.Order {
	var all []jjm.Order
	for orders := range maps.Values(m.s.orders) {
		all = append(all, orders...)
	}
	slices.SortFunc(all, func(a, b jjm.Order) int {
		return cmp.Or(strings.Compare(a.Kind+" "+a.Name+" "+a.Verb, b.Kind+" "+b.Name+" "+b.Verb),
			cmp.Compare(a.From, b.From))
	})
	return all
}

// InForce returns those of the orders in force for which the function which returns true, sorted as by Orders.
func (m Memory) InForce(now jjm.Time, which func(jjm.Order) bool) []jjm.Order {
	var out []jjm.Order
	for _, o := range m.Orders() {
		if o.InForce(now) && which(o) {
			out = append(out, o)
		}
	}
	return out
}

// Ordered returns the order with a verb about a target if it is in force now. The target is the thing with this kind
// and name. The last result is false if there is no such order.
func (m Memory) Ordered(verb, kind, name string, now jjm.Time) (jjm.Order, bool) {
	for _, o := range m.s.orders[target{kind, name}] {
		if o.Verb == verb && o.InForce(now) {
			return o, true
		}
	}
	return jjm.Order{}, false
}

// OrderedAt returns the order with a verb that is in force now and concerns local jobs with the request r on a cluster:
// an order about the cluster or, if there is none, about the queue. The queue is the one that r names, else the
// cluster's default queue. The last result is false if there is no such order.
func (m Memory) OrderedAt(verb, cluster string, r jjm.Request, now jjm.Time) (jjm.Order, bool) {
	if o, yes := m.Ordered(verb, jjm.OrderCluster, cluster, now); yes {
		return o, true
	}
	queue := m.queueOf(cluster, r)
	if queue == "" {
		return jjm.Order{}, false
	}
	return m.Ordered(verb, jjm.OrderQueue, jjm.QueueName(cluster, queue), now)
}

// queueOf returns the queue of a cluster to which local jobs with a request go: the queue that the request names, else
// the cluster's default queue; "" if the batch system chooses.
func (m Memory) queueOf(cluster string, r jjm.Request) string {
	if at, known := m.s.Positions[cluster]; known && r.Queue == "" {
		return m.s.B.Deps.Clusters[at].Queue
	}
	return r.Queue
}

// Windows returns the maintenance windows in force for local jobs with the request r on a cluster: the windows of the
// cluster and of the queue, which is the one that r names, else the cluster's default queue.
func (m Memory) Windows(cluster string, r jjm.Request, now jjm.Time) (all []jjm.Order) {
	if len(m.s.orders) == 0 { // called for each submission, and there are mostly no orders
		return nil
	}
	targets := []target{{jjm.OrderCluster, cluster}}
	if queue := m.queueOf(cluster, r); queue != "" {
		targets = append(targets, target{jjm.OrderQueue, jjm.QueueName(cluster, queue)})
	}
	for _, t := range targets {
		for _, o := range m.s.orders[t] {
			if o.Verb == jjm.OrderMaintenance && o.InForce(now) {
				all = append(all, o)
			}
		}
	}
	return all
}

// Paused returns the order in force that pauses a grid job itself; the last result is false if there is none. See
// Halted for its type and user.
func (m Memory) Paused(id jjm.GridID, now jjm.Time) (jjm.Order, bool) {
	return m.Ordered(jjm.OrderPause, jjm.OrderJob, id.String(), now)
}

// Halted returns the order in force that pauses a grid job, its job type or its user; the last result is false if there
// is none.
func (m Memory) Halted(g *Grid, now jjm.Time) (jjm.Order, bool) {
	if o, yes := m.Paused(g.Job.ID, now); yes {
		return o, true
	}
	if o, yes := m.Ordered(jjm.OrderPause, jjm.OrderType, g.Job.Spec.Type, now); yes {
		return o, true
	}
	return m.Ordered(jjm.OrderPause, jjm.OrderUser, g.Job.Owner.User, now)
}

// SetOrders removes the orders end and adds the orders begin. Each added order replaces the stored order with the same
// verb and target ([jjm.Order.Same]).
func (a *Memo) SetOrders(end, begin []jjm.Order) {
	for _, o := range append(slices.Clone(end), begin...) {
		left := slices.DeleteFunc(slices.Clone(a.s.orders[targetOf(o)]), func(old jjm.Order) bool {
			return old.Same(o)
		})
		if a.s.orders[targetOf(o)] = left; len(left) == 0 {
			delete(a.s.orders, targetOf(o))
		}
	}
	for _, o := range begin {
		a.s.orders[targetOf(o)] = append(a.s.orders[targetOf(o)], o)
	}
}
