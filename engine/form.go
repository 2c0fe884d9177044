package engine

import (
	"maps"
	"slices"

	"jjm"
	"jjm/plan"
)

// choose takes the members of the next bulk out of what is ready: of one owner and
// one shape, shared fairly among the grid jobs.
func (c *cluster) choose() (*jjm.Bulk, []jjm.LocalJob, error) {
	e := c.e
	e.write.Lock()
	defer e.write.Unlock()
	e.mem.Lock() // the queues of what is ready change
	defer e.mem.Unlock()
	now := jjm.At(e.now())
	shares := c.shares(now)
	if len(shares) == 0 {
		return nil, nil, nil
	}
	lead := e.grids[shares[0].Grid]
	tag, err := jjm.NewTag(e.store.Nonce())
	if err != nil {
		return nil, nil, err
	}
	b := &jjm.Bulk{Tag: tag, Cluster: c.name, Owner: lead.job.Owner, Request: lead.job.Spec.Request, Created: now}
	members := c.fill(b, shares, now)
	e.forming[tag] = b
	return b, members, nil
}

// placed is what a grid job has of one place.
type placed struct {
	grid  jjm.GridID
	place int32
}

// demand lists the grid jobs with something ready that may come here, by place,
// oldest first.
func (c *cluster) demand(now jjm.Time) []placed {
	var all []placed
	for _, id := range slices.Sorted(maps.Keys(c.e.grids)) {
		g := c.e.grids[id]
		if !c.serves(g, now) || c.waits(g.job.Owner) > 0 || c.submits.slow(c.account(g.job.Owner)) {
			continue
		}
		g.due(now)
		for place := range int32(len(g.ready)) {
			if g.trim(place, now) > 0 && slices.Contains(c.e.candidates(g, place), c.name) {
				all = append(all, placed{id, place})
			}
		}
	}
	return all
}

// shape is what the members of a bulk have in common.
type shape struct {
	owner   jjm.Owner
	request jjm.Request
	// proxy is the grid job whose proxy the batch system takes along.
	proxy jjm.GridID
}

// shapeOf gives the shape of a grid job's members here.
func (c *cluster) shapeOf(job *jjm.GridJob) shape {
	s := shape{owner: job.Owner, request: job.Spec.Request}
	if caps := c.adapter.Capabilities(); !caps.SharedFS && caps.RenewsProxies && slices.Contains(job.Spec.Credentials, jjm.ProxyKind) {
		s.proxy = job.ID
	}
	return s
}

// shares says how many members of which grid jobs the next bulk has: what falls
// to this cluster is shared among all that have something ready, and of their
// shares those of the one shape with most come first, as far as a bulk goes.
// None while the cluster has no room.
func (c *cluster) shares(now jjm.Time) []plan.Budget {
	e := c.e
	here := e.positions[c.name]
	all := c.demand(now) // first: it also takes note of what has become due
	site, roomOf := e.standing(now)
	if len(all) == 0 || site[here].Rank == plan.Barred || site[here].Room == 0 {
		return nil
	}
	var wants []plan.Want
	for _, p := range all {
		g := e.grids[p.grid]
		wants = append(wants, e.want(g, p.place, here, roomOf(g.job.Owner)))
	}
	demands := plan.Share(here, site, wants)
	return c.alike(demands, plan.Site(demands, site[here].Room))
}

// alike gives of the budgets those of the shape that has most, cut to one bulk.
func (c *cluster) alike(demands []plan.Demand, budgets []plan.Budget) []plan.Budget {
	shapeOf := func(id jjm.GridID) shape { return c.shapeOf(&c.e.grids[id].job) }
	held := map[placed]plan.Demand{}
	for _, d := range demands {
		held[placed{d.Grid, d.Place}] = d
	}
	sums := map[shape]int{}
	var most shape
	for _, b := range budgets {
		s := shapeOf(b.Grid)
		if c.submits.taken(c.account(s.owner)) {
			continue
		}
		if sums[s] += b.Jobs; sums[s] > sums[most] {
			most = s
		}
	}
	var alike []plan.Demand
	for _, b := range budgets {
		if shapeOf(b.Grid) == most {
			d := held[placed{b.Grid, b.Place}]
			d.Ready = b.Jobs
			alike = append(alike, d)
		}
	}
	return plan.Site(alike, max(c.caps().MaxBulk, 1))
}

// fill takes the members of b and gives copies of their rows.
func (c *cluster) fill(b *jjm.Bulk, shares []plan.Budget, now jjm.Time) []jjm.LocalJob {
	var members []jjm.LocalJob
	for _, budget := range shares {
		g := c.e.grids[budget.Grid]
		for n := 0; n < budget.Jobs && g.trim(budget.Place, now) > 0; n++ {
			q := g.ready.of(budget.Place)
			l := g.locals[q[0]]
			g.ready.set(budget.Place, q[1:])
			b.Members = append(b.Members, l.AttemptID())
			members = append(members, l)
		}
	}
	return members
}

// giveBack returns members that were taken for a bulk that was not stored.
func (c *cluster) giveBack(b *jjm.Bulk) {
	c.e.write.Lock()
	defer c.e.write.Unlock()
	c.e.mem.Lock()
	defer c.e.mem.Unlock()
	for _, m := range b.Members {
		if g := c.e.grids[m.Grid]; g != nil {
			g.ready.push(g.locals[m.N].Place, m.N)
		}
	}
}
