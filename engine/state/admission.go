package state

import (
	"jjm"
	"jjm/plan"
	"jjm/sandbox"
)

// WithinQuota returns an error of kind Denied if an account may have no further grid job: it
// has too many grid jobs or local jobs, or too much in its work area. Called inside a change,
// it cannot let two submissions pass as the last one.
func (m Memory) WithinQuota(uid int) error {
	if why := m.s.WorkUses.Excess(uid); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is accepted: %s", why)
	}
	have := m.s.live[uid]
	if have == nil {
		return nil
	}
	cfg := m.s.B.Conf()
	most := plan.PerUser{GridJobs: cfg.MaxGridJobsPerUser, LocalJobs: cfg.MaxLocalJobsPerUser}
	if why := plan.Excess(*have, most); why != "" {
		return jjm.Errorf(jjm.Denied, "no grid job is accepted: %s", why)
	}
	return nil
}

// WhomOf returns the person that a grid job belongs to, as bans see it. The subjects of
// its credentials are not included.
func WhomOf(job *jjm.GridJob) jjm.Whom { return Whom(job.Owner, job.Origin, nil) }

// Whom returns a person for bans: the local account, with the subject that the gatekeeper
// reported and those of the credentials of the submission.
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

// NotBanned returns an error of kind Denied for a banned person.
func (m Memory) NotBanned(w jjm.Whom) error {
	for _, b := range m.s.bans {
		if b.Concerns(w) {
			return jjm.Errorf(jjm.Denied, "no grid jobs are accepted: %s", b)
		}
	}
	return nil
}

// NotDrained returns an error of kind Denied for a new grid job whose type or user is
// drained, or all of whose clusters or queues on them are.
func (m Memory) NotDrained(spec *jjm.Spec, user string, clusters []string, now jjm.Time) error {
	refuse := func(o jjm.Order) error {
		return jjm.Errorf(jjm.Denied, "no new grid jobs are accepted: %s", o)
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

// SetLow sets what Low returns, and returns its former value.
func (s *State) SetLow(low string) (before string) {
	before = s.Low()
	s.low.Store(&low)
	return before
}

// Low returns which file system lacks the space for new work, for people, or "" if none
// does. It takes no lock.
func (s *State) Low() string {
	if low := s.low.Load(); low != nil {
		return *low
	}
	return ""
}

// HasSpace returns an error of kind Busy while a file system lacks the space for new
// work.
func (s *State) HasSpace() error {
	if low := s.Low(); low != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is accepted now: %s: free some and try again", low)
	}
	return nil
}
