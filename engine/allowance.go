package engine

import (
	"jjm"
	"jjm/plan"
)

// account gives the count of what an account has that is not over.
func (e *Engine) account(uid int) *plan.PerUser {
	n := e.live[uid]
	if n == nil {
		n = &plan.PerUser{}
		e.live[uid] = n
	}
	return n
}

// untrack takes a grid job out of memory and out of its account's count. Both locks
// are held.
func (e *Engine) untrack(id jjm.GridID) {
	g := e.grids[id]
	if g == nil {
		return
	}
	delete(e.grids, id)
	e.accounts.drop(id)
	g.mine.GridJobs--
	g.mine.LocalJobs -= g.counted
	if *g.mine == (plan.PerUser{}) {
		delete(e.live, g.job.Owner.UID)
	}
}

// recount keeps the account's count of local jobs in step with the grid job's.
func (g *grid) recount() {
	if g.mine == nil {
		return // not the engine's
	}
	n := g.live()
	g.mine.LocalJobs += n - g.counted
	g.counted = n
}
