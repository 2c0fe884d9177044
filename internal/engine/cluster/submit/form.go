package submit

import (
	"slices"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// choose takes the members of the next bulk from the ready local jobs, and adds the bulk to the bulks that are being
// formed. The members have one owner and one shape, and are shared fairly among the grid jobs. members are copies of
// their rows. b is nil if nothing is to be submitted now. The error says that no tag could be made.
func (sb *Submitter) choose() (b *jjm.Bulk, members []jjm.LocalJob, err error) {
	tag, err := jjm.NewTag(sb.b.Store.Nonce())
	if err != nil {
		return nil, nil, err
	}
	now := jjm.At(sb.b.Now())
	sb.s.Adjust(func(a *state.Memo) {
		shares := sb.shares(a, now)
		if len(shares) == 0 {
			return
		}
		lead := a.Grid(shares[0].Grid)
		b = &jjm.Bulk{Tag: tag, Cluster: sb.name, Owner: lead.Job.Owner, Created: now,
			Request: state.RequestAt(&lead.Job, shares[0].Place)}
		members = sb.fill(a, b, shares, now)
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
func (sb *Submitter) demand(a *state.Memo, now jjm.Time) []placed {
	var all []placed
	for id, g := range a.InOrder() {
		if !sb.here.Serves(a.Memory, g, now) || sb.asideLeft(g.Job.Owner) > 0 ||
			sb.submits.Slow(sb.sys.Account(g.Job.Owner)) {
			continue
		}
		a.Due(g, now)
		if sb.here.WaitsAlone(a.Memory, sb.sys.Account(g.Job.Owner)) {
			continue
		}
		for place := range g.Places() {
			if a.Ready(g, place, now) > 0 && sb.here.QueueOpen(a.Memory, g, place, now) &&
				slices.Contains(a.Candidates(g, place), sb.name) {
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
func (sb *Submitter) shapeOf(job *jjm.GridJob, place int32) shape {
	s := shape{owner: job.Owner, request: state.RequestAt(job, place)}
	if caps := sb.sys.Adapter.Capabilities(); !caps.SharedFS && caps.RenewsProxies &&
		slices.Contains(job.Spec.Credentials, jjm.ProxyKind) {
		s.proxy = job.ID
	}
	return s
}

// shares returns how many members the next bulk takes from each grid job and place. First, plan.Share divides the ready
// local jobs among the clusters. Then plan.Site divides the free room of this cluster among the grid jobs. Finally, the
// budgets with one shape are selected (alike). The result is empty if there are no ready local jobs, or if the cluster
// is paused or has no room.
func (sb *Submitter) shares(a *state.Memo, now jjm.Time) []plan.Budget {
	here := sb.s.Positions[sb.name]
	all := sb.demand(a, now) // called first, because it also makes local jobs ready whose NotBefore has passed
	site, roomOf := sb.here.Site.Standing(a.Memory, now)
	if len(all) == 0 || site[here].Rank == plan.Barred || site[here].Room == 0 {
		return nil
	}
	var wants []plan.Want
	for _, p := range all {
		g := a.Grid(p.grid)
		wants = append(wants, sb.here.Site.Want(a.Memory, g, p.place, here, roomOf(g.Job.Owner), now))
	}
	demands := plan.Share(here, site, wants)
	return sb.alike(a.Memory, demands, plan.Site(demands, site[here].Room))
}

// alike returns the budgets with the shape that has the greatest number of local jobs, reduced to the size of one bulk.
// It ignores accounts whose lane is taken.
func (sb *Submitter) alike(mem state.Memory, demands []plan.Demand, budgets []plan.Budget) []plan.Budget {
	shapeOf := func(b plan.Budget) shape { return sb.shapeOf(&mem.Grid(b.Grid).Job, b.Place) }
	held := map[placed]plan.Demand{}
	for _, d := range demands {
		held[placed{d.Grid, d.Place}] = d
	}
	sums := map[shape]int{}
	var most shape
	for _, b := range budgets {
		s := shapeOf(b)
		if sb.submits.Taken(sb.sys.Account(s.owner)) {
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
	return plan.Site(alike, sb.sys.MaxBulk(most.request))
}

// fill takes the members of b from the ready local jobs according to shares, adds them to b, and returns copies of
// their rows.
func (sb *Submitter) fill(a *state.Memo, b *jjm.Bulk, shares []plan.Budget, now jjm.Time) []jjm.LocalJob {
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
func (sb *Submitter) giveBack(b *jjm.Bulk) {
	sb.s.Adjust(func(a *state.Memo) { a.GiveBack(b.Members) })
}
