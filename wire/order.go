package wire

import (
	"slices"
	"strings"

	"jjm"
)

// VerbOrder returns an order, or lists those in force.
func VerbOrder() Verb[OrderRequest, OrderAnswer] {
	return Verb[OrderRequest, OrderAnswer]{About{Name: "order", MaxBytes: maxShort,
		Help: "Drain, pause, resume; or list the orders in force."}}
}

// OrderRequest is an order; without Order those in force are listed.
type OrderRequest struct {
	Head
	Order *Order `json:"order,omitempty"`
}

// Check implements Request.
func (r OrderRequest) Check() error {
	if r.Order == nil {
		return nil
	}
	return r.Order.check()
}

// Changes reports whether an order is given.
func (r OrderRequest) Changes() bool { return r.Order != nil }

// OrderAnswer holds what the order changed - of resume, what it ended - or the orders in force.
type OrderAnswer struct {
	Reply
	Orders []jjm.Order `json:"orders,omitempty"`
}

// Order is an order to drain, pause or resume a cluster, a queue of one, a job type or a
// user, by administrators; or to pause or resume a grid job, by its owner too.
type Order struct {
	Verb   string `json:"verb"` // drain, pause, resume
	Kind   string `json:"kind"` // cluster, queue, type, user, job
	Name   string `json:"name"` // of a queue CLUSTER/QUEUE, of a job its id or handle
	Reason string `json:"reason,omitempty"`
	// For or Until, at most one, let the order end by itself.
	For   jjm.Duration `json:"for,omitzero"`
	Until jjm.Time     `json:"until,omitempty"`
}

// check finds what is wrong with an order whatever the site is.
func (o *Order) check() error {
	switch {
	case !slices.Contains([]string{jjm.OrderDrain, jjm.OrderPause, jjm.OrderResume}, o.Verb):
		return jjm.Errorf(jjm.Invalid, "order.verb %.40q: want drain, pause or resume", o.Verb)
	case !slices.Contains(jjm.OrderKinds(), o.Kind):
		return jjm.Errorf(jjm.Invalid, "order.kind %.40q: want cluster, queue, type, user or job", o.Kind)
	case o.Kind == jjm.OrderJob && o.Verb == jjm.OrderDrain:
		return jjm.Errorf(jjm.Invalid, "order: a grid job cannot be drained, as it takes no new ones: pause it")
	case o.Kind == jjm.OrderQueue && !isQueueName(o.Name):
		return jjm.Errorf(jjm.Invalid, "order.name %.80q: want the cluster and its queue, such as slurm/long", o.Name)
	case o.Name == "" || len(o.Name) > maxWord || !oneLine(o.Name):
		return jjm.Errorf(jjm.Invalid, "order.name %.40q: want the name of a %s", o.Name, o.Kind)
	case len(o.Reason) > maxReason || !oneLine(o.Reason):
		return jjm.Errorf(jjm.Invalid, "order.reason %.40q: want one line of at most %d bytes", o.Reason, maxReason)
	case o.Verb == jjm.OrderResume && (o.For != 0 || o.Until != 0):
		return jjm.Errorf(jjm.Invalid, "order: resume ends an order at once: no time belongs to it")
	case o.Verb != jjm.OrderResume && o.Kind != jjm.OrderJob && strings.TrimSpace(o.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "order.reason is missing: say why, for those whose jobs wait")
	case o.For < 0 || o.Until < 0 || o.For != 0 && o.Until != 0:
		return jjm.Errorf(jjm.Invalid, "order: want for how long, or until when, or neither")
	}
	return nil
}

// isQueueName reports whether a text names a queue of a cluster.
func isQueueName(name string) bool {
	cluster, queue, _ := strings.Cut(name, "/")
	return cluster != "" && queue != ""
}
