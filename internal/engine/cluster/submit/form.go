package submit

import (
	"slices"
	"time"

	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// former forms bulks of the ready local jobs that may be submitted to one cluster. It works in memory only: until a
// bulk is stored, its members are marked as members of a bulk that is being formed.
type former struct {
	b       *base.Base
	s       *state.State
	sys     *system.System
	here    Here
	submits *fair.Lanes // an account whose lane is taken or slow gets no other bulk
	aside   *aside
}

// choose takes the members of the next bulk from the ready local jobs, and adds the bulk to the bulks that are being
// formed. The members have one owner and one shape, and are shared fairly among the grid jobs. members are copies of
// their rows. b is nil if nothing is to be submitted now. The error says that no tag could be made.
func (fo *former) choose() (b *jjm.Bulk, members []jjm.LocalJob, err error) {
	tag, err := jjm.NewTag(fo.b.Store.Nonce())
	if err != nil {
		return nil, nil, err
	}
	now := jjm.At(fo.b.Now())
	fo.s.Adjust(func(a *state.Memo) {
		shares := fo.shares(a, now)
		if len(shares) == 0 {
			return
		}
		lead := a.Grid(shares[0].Grid)
		b = &jjm.Bulk{Tag: tag, Cluster: fo.sys.Name, Owner: lead.Job.Owner, Created: now,
			Request: state.RequestAt(&lead.Job, shares[0].Place)}
		members = fo.fill(a, b, shares, now)
		a.Form(b)
	})
	return b, members, nil
}

// placed identifies the local jobs of one grid job that have the same place.
type placed struct {
	grid  jjm.GridID
	place int32
}

// demand returns the grid jobs, each with a place, that have ready local jobs which may be submitted to this cluster
// now. The oldest grid job comes first. demand also makes those local jobs ready whose waiting time has passed.
func (fo *former) demand(a *state.Memo, now jjm.Time) []placed {
	var all []placed
	for id, g := range a.InOrder() {
		if !fo.here.Serves(a.Memory, g, now) || fo.aside.left(g.Job.Owner) > 0 ||
			fo.submits.Slow(fo.sys.Account(g.Job.Owner)) {
			continue
		}
		a.Due(g, now)
		if fo.here.WaitsAlone(a.Memory, fo.sys.Account(g.Job.Owner)) {
			continue
		}
		for place := range g.Places() {
			if a.Ready(g, place, now) > 0 && fo.here.QueueOpen(a.Memory, g, place, now) &&
				slices.Contains(a.Candidates(g, place), fo.sys.Name) {
				all = append(all, placed{id, place})
			}
		}
	}
	return all
}

// shape contains what all members of a bulk must have in common.
type shape struct {
	owner   jjm.Owner
	request jjm.Request
	// proxy is the grid job whose proxy certificate the batch system carries and renews, 0 if there is none. A bulk can
	// have only one proxy, so its members then belong to one grid job.
	proxy jjm.GridID
}

// shapeOf returns the shape of a grid job's local jobs with a place if they are submitted to this cluster.
func (fo *former) shapeOf(job *jjm.GridJob, place int32) shape {
	s := shape{owner: job.Owner, request: state.RequestAt(job, place)}
	if caps := fo.sys.Adapter.Capabilities(); !caps.SharedFS && caps.RenewsProxies &&
		slices.Contains(job.Spec.Credentials, jjm.ProxyKind) {
		s.proxy = job.ID
	}
	return s
}

// shares returns how many members the next bulk takes from each grid job and place. First, plan.Share divides the ready
// local jobs among the clusters. Then plan.Site divides the free room of this cluster among the grid jobs. Finally, the
// budgets with one shape are selected (alike). The result is empty if there are no ready local jobs, or if the cluster
// is paused or has no room.
func (fo *former) shares(a *state.Memo, now jjm.Time) []plan.Budget {
	here := fo.s.Positions[fo.sys.Name]
	all := fo.demand(a, now) // called first, because it also makes local jobs ready whose NotBefore has passed
	site, roomOf := fo.here.Standing(a.Memory, now)
	if len(all) == 0 || site[here].Rank == plan.Barred || site[here].Room == 0 {
		return nil
	}
	var wants []plan.Want
	for _, p := range all {
		g := a.Grid(p.grid)
		wants = append(wants, fo.here.Want(a.Memory, g, p.place, here, roomOf(g.Job.Owner), now))
	}
	demands := plan.Share(here, site, wants)
	return fo.alike(a.Memory, demands, plan.Site(demands, site[here].Room))
}

// alike returns the budgets with the shape that has the greatest number of local jobs, reduced to the size of one bulk.
// It ignores accounts whose lane is taken.
func (fo *former) alike(mem state.Memory, demands []plan.Demand, budgets []plan.Budget) []plan.Budget {
	shapeOf := func(b plan.Budget) shape { return fo.shapeOf(&mem.Grid(b.Grid).Job, b.Place) }
	held := map[placed]plan.Demand{}
	for _, d := range demands {
		held[placed{d.Grid, d.Place}] = d
	}
	sums := map[shape]int{}
	var most shape
	for _, b := range budgets {
		s := shapeOf(b)
		if fo.submits.Taken(fo.sys.Account(s.owner)) {
			continue
		}
		if sums[s] += b.Jobs; sums[s] > sums[most] {
			most = s
		}
	}
	var alike []plan.Demand
	for _, b := range budgets {
		if shapeOf(b) == most {
			d := held[placed{b.Grid, b.Place}]
			d.Ready = b.Jobs
			alike = append(alike, d)
		}
	}
	return plan.Site(alike, fo.sys.MaxBulk(most.request))
}

// fill takes the members of b from the ready local jobs according to shares, adds them to b, and returns copies of
// their rows.
func (fo *former) fill(a *state.Memo, b *jjm.Bulk, shares []plan.Budget, now jjm.Time) []jjm.LocalJob {
	var members []jjm.LocalJob
	for _, budget := range shares {
		g := a.Grid(budget.Grid)
		for range budget.Jobs {
			l, ok := a.Take(g, budget.Place, now)
			if !ok {
				break
			}
			b.Members = append(b.Members, l.AttemptID())
			members = append(members, l)
		}
	}
	return members
}

// giveBack makes the members of a bulk ready again, because the bulk was not stored.
func (fo *former) giveBack(b *jjm.Bulk) {
	fo.s.Adjust(func(a *state.Memo) { a.GiveBack(b.Members) })
}

// shorten reduces a bulk to its first n members, and makes the other members ready again.
func (fo *former) shorten(b *jjm.Bulk, n int) {
	if n == len(b.Members) {
		return
	}
	rest := *b
	rest.Members = b.Members[n:]
	fo.s.Mark(func(m *state.Marks) { m.Shorten(b, n) })
	fo.giveBack(&rest)
}

// formed notes that a bulk was stored or given up, so that its members no longer count as members of a bulk that is
// being formed.
func (fo *former) formed(b *jjm.Bulk) {
	fo.s.Mark(func(m *state.Marks) { m.Formed(b.Tag) })
}

// nextDue returns the time until the next local job that waits for its next attempt may become ready for this cluster,
// or until an owner is no longer set aside; at most an hour.
func (fo *former) nextDue() time.Duration {
	v := fo.s.View()
	defer v.Close()
	next := time.Hour
	now := jjm.At(fo.b.Now())
	for _, g := range v.Grids() {
		if !fo.here.Serves(v.Memory, g, now) {
			continue
		}
		if left := fo.aside.left(g.Job.Owner); left > 0 {
			next = min(next, left)
		} else if at := g.NextDue(); at != 0 {
			next = min(next, max(at.Sub(now), 0))
		}
	}
	return next
}
