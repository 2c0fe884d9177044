package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// account returns the counts of the live grid jobs and local jobs of an account, which the caller may change. It makes
// the counts if the account has none.
func (s *State) account(uid int) *plan.PerUser {
	n := s.live[uid]
	if n == nil {
		n = &plan.PerUser{}
		s.live[uid] = n
	}
	return n
}

// untrack removes a grid job from memory and from the counts of its account. It does nothing if the grid job is not
// live.
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

// recount updates the account's count of live local jobs after the number of live local jobs of the grid job has
// changed.
func (g *Grid) recount() {
	if g.mine == nil {
		return // made by NewGrid for a row of the history
	}
	n := g.Live()
	g.mine.LocalJobs += n - g.counted
	g.counted = n
}
