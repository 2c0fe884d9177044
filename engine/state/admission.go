package state

import (
	"jjm"
	"jjm/plan"
	"jjm/sandbox"
)

// Allows refuses a new grid job of an account that has as much as one may have. In a
// change no two submissions can both be the last one that is allowed.
func (m Memory) Allows(uid int) error {
	if why := m.s.WorkUses.Over(uid); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is taken: %s", why)
	}
	have := m.s.live[uid]
	if have == nil {
		return nil
	}
	cfg := m.s.B.Conf()
	most := plan.PerUser{GridJobs: cfg.MaxGridJobsPerUser, LocalJobs: cfg.MaxLocalJobsPerUser}
	if why := plan.Excess(*have, most); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is taken: %s", why)
	}
	return nil
}

// WhomOf is whose a grid job is.
func WhomOf(job *jjm.GridJob) jjm.Whom { return Whom(job.Owner, job.Origin, nil) }

// Whom joins a local account with who its gatekeeper, and the credentials that were
// handed over, say it stands for.
func Whom(owner jjm.Owner, origin *jjm.Origin, given []jjm.Credential) jjm.Whom {
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

// Admitted refuses who is banned.
func (m Memory) Admitted(w jjm.Whom) error {
	for _, b := range m.s.bans {
		if b.Concerns(w) {
			return jjm.Errorf(jjm.Denied, "no grid jobs are taken: %s", b)
		}
	}
	return nil
}

// Admits refuses a new grid job that may go nowhere: its type, its user or all
// its clusters, or its queues there, are drained.
func (m Memory) Admits(spec *jjm.Spec, user string, clusters []string, now jjm.Time) error {
	refuse := func(o jjm.Order) error {
		return jjm.Errorf(jjm.Denied, "no new grid jobs are taken: %s", o)
	}
	if o, yes := m.Ordered(jjm.OrderDrain, jjm.OrderType, spec.Type, now); yes {
		return refuse(o)
	}
	if o, yes := m.Ordered(jjm.OrderDrain, jjm.OrderUser, user, now); yes {
		return refuse(o)
	}
	var first jjm.Order
	for _, name := range clusters {
		o, yes := m.OrderedAt(jjm.OrderDrain, name, spec.Request, now)
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

// SetLow notes why no new work is taken for want of space, "" if it is, and gives what
// was said before.
func (s *State) SetLow(low string) (before string) {
	before = s.Low()
	s.low.Store(&low)
	return before
}

// Low says why no new work is taken for want of space, "" if it is.
func (s *State) Low() string {
	if low := s.low.Load(); low != nil {
		return *low
	}
	return ""
}

// HasSpace refuses new grid jobs while a file system is full.
func (s *State) HasSpace() error {
	if low := s.Low(); low != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is taken now: %s: free some and try again", low)
	}
	return nil
}
