package state

import (
	"maps"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// WithinQuota returns an error of kind Denied if an account may have no further grid job, because the account has too
// many grid jobs or local jobs, or because its work area is too large. Two submissions cannot both take the last place
// if each calls WithinQuota inside its change.
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
// reported and the subjects of the credentials of the submission.
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
// drained, or whose clusters are all drained, as a whole or in the queue that it would use.
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
	if first.Name == "" {
		return nil
	}
	if free := m.undrained(spec, clusters, now); len(free) > 0 {
		return jjm.Errorf(jjm.Denied, "no new grid jobs are accepted: %s; other clusters accept them: clusters = [%q] in the "+
			"job file, or \"any\"", first, free[0])
	}
	return refuse(first)
}

// undrained returns the clusters of the site that are not in clusters and not drained, sorted by name.
func (m Memory) undrained(spec *jjm.Spec, clusters []string, now jjm.Time) (free []string) {
	for _, name := range slices.Sorted(maps.Keys(m.s.Positions)) {
		if _, drained := m.OrderedAt(jjm.OrderDrain, name, spec.Request, now); !drained &&
			!slices.Contains(clusters, name) {
			free = append(free, name)
		}
	}
	return free
}

// SetLow stores which file system lacks space, "" if none does, and returns the text that was stored before.
func (s *State) SetLow(low string) (before string) {
	if was := s.short.low.Load(); was != nil {
		before = *was
	}
	s.short.low.Store(&low)
	return before
}

// SetLost stores which part of the site is lost, "" if none is, and returns the text that was stored before.
func (s *State) SetLost(why string) (before string) {
	before = s.Lost()
	s.short.lost.Store(&why)
	return before
}

// Lost returns which part of the site was removed or replaced under the daemon, for people, or "". It takes no lock.
func (s *State) Lost() string {
	if why := s.short.lost.Load(); why != nil {
		return *why
	}
	return ""
}

// Low returns why no new work is accepted, for people: the part of the site that is lost or, if none is, the file
// system that lacks space. It returns "" if new work is accepted. It takes no lock.
func (s *State) Low() string {
	if why := s.Lost(); why != "" {
		return why
	}
	if low := s.short.low.Load(); low != nil {
		return *low
	}
	return ""
}

// HasSpace returns an error of kind Busy while a part of the site is lost or a file system
// lacks the space for new work.
func (s *State) HasSpace() error {
	if why := s.Lost(); why != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is accepted now: %s", why)
	}
	if low := s.Low(); low != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is accepted now: %s: free some and try again", low)
	}
	return nil
}
