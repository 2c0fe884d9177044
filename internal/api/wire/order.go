package wire

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// VerbOrder is the verb "order": it drains, pauses or resumes a part of the site or a grid job, or lists the orders in
// force.
func VerbOrder() Verb[OrderRequest, OrderAnswer] {
	return Verb[OrderRequest, OrderAnswer]{About{Name: "order", MaxBytes: maxShort,
		Help: "Drain, pause, resume; or list the orders in force."}}
}

// OrderRequest contains an order to set or end. Without Order, it lists the orders in force.
type OrderRequest struct {
	Head
	Order *Order `json:"order,omitempty"`
}

// Check checks the form of Order, if Order is set.
func (r OrderRequest) Check() error {
	if r.Order == nil {
		return nil
	}
	return r.Order.check()
}

// resolve implements refers.
func (r *OrderRequest) resolve(a About, find func(jjm.Handle) (jjm.GridID, error)) error {
	if r.Order == nil || r.Order.Kind != jjm.OrderJob {
		return nil
	}
	a.Grids = true
	o, m := *r.Order, Many{Refs: []string{r.Order.Name}}
	if err := m.resolve(a, find); err != nil {
		return err
	}
	o.Name = m.Jobs[0].Grid.String()
	r.Order = &o
	return nil
}

// Changes reports whether the request sets an order.
func (r OrderRequest) Changes() bool { return r.Order != nil }

// OrderAnswer contains the order that the request set or that was in force already, the orders that "resume" ended, or
// the orders in force.
type OrderAnswer struct {
	Reply
	Orders []jjm.Order `json:"orders,omitempty"`
	// NoChange is set if the request changed nothing, because the same order was in force already, or because there was
	// no order to end. This is a success. Notes say why nothing changed.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Order drains, pauses or resumes a cluster, a queue, a job type or a user; only administrators may do this. An order
// can also pause or resume a grid job; the owner of the grid job may do this too.
type Order struct {
	Verb   string `json:"verb"` // drain, pause or resume
	Kind   string `json:"kind"` // cluster, queue, type, user or job
	Name   string `json:"name"` // CLUSTER/QUEUE for a queue, the id or handle for a job
	Reason string `json:"reason,omitempty"`
	// At most one of For and Until is set. The order then ends at that time.
	For   jjm.Duration `json:"for,omitzero"`
	Until jjm.Time     `json:"until,omitempty"`
	// From changes the drain of a cluster or a queue to a maintenance window that begins at that time. Grid jobs are
	// accepted, but no local job is submitted that would still run at that time. A window needs an end. If From is set,
	// the time of the field For counts from the beginning of the window.
	From jjm.Time `json:"from,omitempty"`
}

// check returns the first mistake that can be found without knowledge of the site.
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
		return jjm.Errorf(jjm.Invalid, "order: resume ends an order at once: leave out for and until")
	case o.Verb != jjm.OrderResume && o.Kind != jjm.OrderJob && strings.TrimSpace(o.Reason) == "":
		return jjm.Errorf(jjm.Invalid, "order.reason is missing: say why, for those whose jobs wait")
	case o.For < 0 || o.Until < 0 || o.For != 0 && o.Until != 0:
		return jjm.Errorf(jjm.Invalid, "order: want for, until, or neither")
	}
	return o.checkWindow()
}

// checkWindow checks the members of a maintenance window.
func (o *Order) checkWindow() error {
	switch {
	case o.From == 0:
		return nil
	case o.From < 0:
		return jjm.Errorf(jjm.Invalid, "order.from %d: want a time", o.From)
	case o.Verb != jjm.OrderDrain:
		return jjm.Errorf(jjm.Invalid, "order.from: only a drain can begin later, as a maintenance window; a %s holds at once",
			o.Verb)
	case o.Kind != jjm.OrderCluster && o.Kind != jjm.OrderQueue:
		return jjm.Errorf(jjm.Invalid, "order.from: only a cluster or a queue can have a maintenance window, not a %s", o.Kind)
	case o.For == 0 && o.Until == 0:
		return jjm.Errorf(jjm.Invalid, "order: a maintenance window needs an end: say until when, or for how long")
	case o.Until != 0 && o.Until <= o.From:
		return jjm.Errorf(jjm.Invalid, "order: the maintenance window would end (%s) before it begins (%s)", o.Until.Local(),
			o.From.Local())
	}
	return nil
}

// isQueueName reports whether a text has the form CLUSTER/QUEUE.
func isQueueName(name string) bool {
	cluster, queue, _ := strings.Cut(name, "/")
	return cluster != "" && queue != ""
}
