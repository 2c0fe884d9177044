package engine

import (
	"jjm"
	"jjm/plan"
	"jjm/sandbox"
	"slices"
	"strings"
)

// allows refuses a new grid job of an account that has as much as one may have. A
// lock of the engine is held: while it is the one of changes, no two submissions
// can both be the last one that is allowed.
func (e *Engine) allows(uid int) error {
	if why := e.workUses.over(uid); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is taken: %s", why)
	}
	have := e.live[uid]
	if have == nil {
		return nil
	}
	cfg := e.conf()
	most := plan.PerUser{GridJobs: cfg.MaxGridJobsPerUser, LocalJobs: cfg.MaxLocalJobsPerUser}
	if why := plan.Excess(*have, most); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is taken: %s", why)
	}
	return nil
}

// without gives the bans but those of the same person, in a list of its own:
// the old one may be in use.
func without(bans []jjm.Ban, b jjm.Ban) []jjm.Ban {
	return slices.DeleteFunc(slices.Clone(bans), b.Same)
}

// whomOf is whose a grid job is.
func whomOf(job *jjm.GridJob) jjm.Whom { return whom(job.Owner, job.Origin, nil) }

// whom joins a local account with who its gatekeeper, and the credentials that were
// handed over, say it stands for.
func whom(owner jjm.Owner, origin *jjm.Origin, given []jjm.Credential) jjm.Whom {
	w := jjm.Whom{User: owner.User, UID: owner.UID}
	if origin != nil && origin.Subject != "" {
		w.DNs = append(w.DNs, origin.Subject)
	}
	for _, c := range given {
		if subject, _, _ := sandbox.Whose(c); subject != "" {
			w.DNs = append(w.DNs, subject)
		}
	}
	return w
}

// admitted refuses who is banned. A lock of the engine is held.
func (e *Engine) admitted(w jjm.Whom) error {
	for _, b := range e.bans {
		if b.Concerns(w) {
			return jjm.Errorf(jjm.Denied, "no grid jobs are taken: %s", b)
		}
	}
	return nil
}

// inForce gives the orders that hold now. The memory lock is held.
func (e *Engine) inForce(now jjm.Time, which func(jjm.Order) bool) []jjm.Order {
	var out []jjm.Order
	for _, o := range e.orders {
		if o.InForce(now) && which(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b jjm.Order) int {
		return strings.Compare(a.Kind+" "+a.Name+" "+a.Verb, b.Kind+" "+b.Name+" "+b.Verb)
	})
	return out
}

// ordered gives an order in force about a target. A lock of the engine is held.
func (e *Engine) ordered(verb, kind, name string, now jjm.Time) (jjm.Order, bool) {
	for _, o := range e.orders {
		if o.Verb == verb && o.Kind == kind && o.Name == name && o.InForce(now) {
			return o, true
		}
	}
	return jjm.Order{}, false
}

// halted gives the order that keeps the local jobs of a type or a user waiting.
// A lock of the engine is held.
func (e *Engine) halted(g *grid, now jjm.Time) (jjm.Order, bool) {
	if o, yes := e.ordered(jjm.OrderPause, jjm.OrderType, g.job.Spec.Type, now); yes {
		return o, true
	}
	return e.ordered(jjm.OrderPause, jjm.OrderUser, g.job.Owner.User, now)
}

// admits refuses a new grid job that may go nowhere: its type, its user or all
// its clusters are drained. A lock of the engine is held.
func (e *Engine) admits(spec *jjm.Spec, user string, clusters []string, now jjm.Time) error {
	refuse := func(o jjm.Order) error {
		return jjm.Errorf(jjm.Denied, "no new grid jobs are taken: %s", o)
	}
	if o, yes := e.ordered(jjm.OrderDrain, jjm.OrderType, spec.Type, now); yes {
		return refuse(o)
	}
	if o, yes := e.ordered(jjm.OrderDrain, jjm.OrderUser, user, now); yes {
		return refuse(o)
	}
	var first jjm.Order
	for _, name := range clusters {
		o, yes := e.ordered(jjm.OrderDrain, jjm.OrderCluster, name, now)
		if !yes {
			return nil
		}
		if first.Name == "" {
			first = o
		}
	}
	if first.Name != "" {
		return refuse(first)
	}
	return nil
}

// Low says why no new work is taken for want of space, "" if it is.
func (e *Engine) Low() string {
	if low := e.low.Load(); low != nil {
		return *low
	}
	return ""
}

// hasSpace refuses new grid jobs while a file system is full.
func (e *Engine) hasSpace() error {
	if low := e.Low(); low != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is taken now: %s: free some and try again", low)
	}
	return nil
}
