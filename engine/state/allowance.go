package state

import (
	"jjm"
	"jjm/plan"
)

// account returns the count of what an account has that is not over.
func (s *State) account(uid int) *plan.PerUser {
	n := s.live[uid]
	if n == nil {
		n = &plan.PerUser{}
		s.live[uid] = n
	}
	return n
}

// untrack takes a grid job out of memory and out of its account's count.
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

// recount keeps the account's count of local jobs in step with the grid job's.
func (g *Grid) recount() {
	if g.mine == nil {
		return // not the engine's
	}
	n := g.Live()
	g.mine.LocalJobs += n - g.counted
	g.counted = n
}
