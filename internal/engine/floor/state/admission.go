package state

import (
	"maps"
	"slices"

	"jjm/internal/credential"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// WithinQuota returns an error of kind Denied if an account may have no further grid job, because the account has too
// many live grid jobs or local jobs, or because its work area is too large. A caller must call WithinQuota inside the
// change that stores the grid job: otherwise two submissions at the same time could both take the last place.
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

// WhomOf returns the owner of a grid job as a person to whom bans may apply. The subjects of the grid job's credentials
// are not included.
func WhomOf(job *jjm.GridJob) credential.Whom { return Whom(job.Owner, job.Origin, nil) }

// Whom returns a person to whom bans may apply: the local account, the subject that the gatekeeper reported in origin,
// and the subjects of the credentials given with the submission. origin may be nil.
func Whom(owner jjm.Owner, origin *jjm.Origin, given []credential.Parsed) credential.Whom {
	w := credential.Whom{User: owner.User, UID: owner.UID}
	if origin != nil && origin.Subject != "" {
		w.DNs = append(w.DNs, origin.Subject)
	}
	for _, c := range given {
		if c.Subject != "" {
			w.DNs = append(w.DNs, c.Subject)
		}
	}
	return w
}

// NotBanned returns an error of kind Denied if a ban applies to a person.
func (m Memory) NotBanned(w credential.Whom) error {
	for _, b := range m.s.bans {
		if credential.Excludes(b, w) {
			return jjm.Errorf(jjm.Denied, "no grid jobs are accepted: %s", b)
		}
	}
	return nil
}

// NotDrained returns an error of kind Denied if orders to drain exclude a new grid job: its job type or its user is
// drained, or each of its clusters is drained, as a whole or in the queue that the grid job would use. If clusters of
// the site that are not drained are left, the text of the error names one.
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

// undrained returns the clusters of the site that are neither in clusters nor drained, sorted by name.
func (m Memory) undrained(spec *jjm.Spec, clusters []string, now jjm.Time) (free []string) {
	for _, name := range slices.Sorted(maps.Keys(m.s.Positions)) {
		if _, drained := m.OrderedAt(jjm.OrderDrain, name, spec.Request, now); !drained &&
			!slices.Contains(clusters, name) {
			free = append(free, name)
		}
	}
	return free
}

// SetLow stores the text about the file system that lacks space, "" if none does, and returns the text that was stored
// before.
func (s *State) SetLow(low string) (before string) {
	if was := s.short.low.Load(); was != nil {
		before = *was
	}
	s.short.low.Store(&low)
	return before
}

// SetLost stores the text about the part of the site that is lost, "" if none is, and returns the text that was stored
// before. A part is lost if it was removed or replaced while the daemon runs.
func (s *State) SetLost(why string) (before string) {
	before = s.Lost()
	s.short.lost.Store(&why)
	return before
}

// Lost returns the text for people about the part of the site that was removed or replaced while the daemon runs, "" if
// there is none. It takes no lock.
func (s *State) Lost() string {
	if why := s.short.lost.Load(); why != nil {
		return *why
	}
	return ""
}

// Low returns the reason, for people, why no new work is accepted: the part of the site that is lost or, if none is,
// the file system that lacks space. It returns "" if new work is accepted. It takes no lock.
func (s *State) Low() string {
	if why := s.Lost(); why != "" {
		return why
	}
	if low := s.short.low.Load(); low != nil {
		return *low
	}
	return ""
}

// HasSpace returns an error of kind Busy if no new work is accepted, because a part of the site is lost or a file
// system lacks space.
func (s *State) HasSpace() error {
	if why := s.Lost(); why != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is accepted now: %s", why)
	}
	if low := s.Low(); low != "" {
		return jjm.Errorf(jjm.Busy, "no grid job is accepted now: %s: free some and try again", low)
	}
	return nil
}
