package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// account returns the counts of live grid jobs and local jobs of an account. The caller may change them.
func (s *State) account(uid int) *plan.PerUser {
	n := s.live[uid]
	if n == nil {
		n = &plan.PerUser{}
		s.live[uid] = n
	}
	return n
}

// untrack removes a grid job from memory and from the numbers of its account.
func (s *State) untrack(id jjm.GridID) {
	g := s.grids[id]
	if g == nil {
		return
	}
	delete(s.grids, id)
	s.Accounts.Drop(id)
	g.mine.GridJobs--
	g.mine.LocalJobs -= g.counted
	if *g.mine == (plan.PerUser{}) {
		delete(s.live, g.Job.Owner.UID)
	}
}

// recount updates the account's number of local jobs after a change of the grid job's.
func (g *Grid) recount() {
	if g.mine == nil {
		return // made by NewGrid for a row of the history
	}
	n := g.Live()
	g.mine.LocalJobs += n - g.counted
	g.counted = n
}
