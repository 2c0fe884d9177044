package engine

import (
	"fmt"
	"slices"
	"time"

	"jjm"
	"jjm/plan"
)

// serves reports whether local jobs of a grid job may be submitted here, as far as
// their place lets them.
func (c *cluster) serves(g *grid, now jjm.Time) bool {
	if c.e.Low() != "" || c.e.workUses.over(g.job.Owner.UID) != "" || g.job.Kill || g.job.Status == jjm.Paused || !slices.Contains(g.job.Step.Clusters, c.name) {
		return false
	}
	_, halted := c.e.halted(g, now)
	return !halted
}

// rank is how much reason there is to send work here. A lock of the engine is
// held.
func (c *cluster) rank(now jjm.Time) plan.Rank {
	if _, yes := c.e.ordered(jjm.OrderPause, jjm.OrderCluster, c.name, now); yes {
		return plan.Barred
	}
	if !c.healthy() || c.wasBusy() {
		return plan.Troubled
	}
	if _, yes := c.e.ordered(jjm.OrderDrain, jjm.OrderCluster, c.name, now); yes {
		return plan.Drained
	}
	return plan.Fit
}

// busyFirst and busyMost bound how long a cluster that said Busy to a submission
// gets no work that can go elsewhere; each time in a row doubles it.
const (
	busyFirst = time.Minute
	busyMost  = 16 * time.Minute
)

// saidBusy notes that the submission of a bulk was not taken.
func (c *cluster) saidBusy(tag jjm.Tag) {
	account := c.accountOf(tag)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, d := c.e.now(), c.busy[account]; d.left(now) == 0 {
		wait := min(max(2*d.wait, busyFirst), busyMost)
		c.busy[account] = deadline{set: now, wait: wait}
	}
}

// accountOf is the account of a live bulk.
func (c *cluster) accountOf(tag jjm.Tag) jjm.Owner {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	if b := c.e.bulks[tag]; b != nil {
		return c.account(b.Owner)
	}
	return jjm.Owner{}
}

// wasBusy reports whether submissions were not taken lately: of one account, where
// others have bulks here that were taken, that is the account's own trouble. A lock
// of the engine is held.
func (c *cluster) wasBusy() bool {
	h := plan.Heard{Own: c.e.deps.Account != nil}
	var busy jjm.Owner
	c.mu.Lock()
	for account, d := range c.busy {
		if d.left(c.e.now()) > 0 {
			h.Silent++
			busy = account
		}
	}
	c.mu.Unlock()
	if h.Silent != 1 || h.Own {
		return h.Ill()
	}
	for _, b := range c.e.bulks {
		if b.Cluster == c.name && b.ID != "" && c.account(b.Owner) != busy {
			h.Answered = 1
			break
		}
	}
	return h.Ill()
}

// loads are what each cluster of the site has, in all and of each owner.
type loads struct {
	all    []plan.Load
	owners map[jjm.Owner][]plan.Load
}

// loads counts. A lock of the engine is held.
func (e *Engine) loads() loads {
	ls := loads{all: make([]plan.Load, len(e.names)), owners: map[jjm.Owner][]plan.Load{}}
	for _, g := range e.grids {
		of := ls.owners[g.job.Owner]
		if of == nil {
			of = make([]plan.Load, len(e.names))
			ls.owners[g.job.Owner] = of
		}
		for name, t := range g.on {
			if at, known := e.positions[name]; known {
				l := t.load()
				ls.all[at], of[at] = ls.all[at].Plus(l), of[at].Plus(l)
			}
		}
	}
	for _, b := range e.forming {
		if at, known := e.positions[b.Cluster]; known && e.bulks[b.Tag] == nil { // its members count nowhere yet
			l := plan.Load{Pending: len(b.Members)}
			ls.all[at] = ls.all[at].Plus(l)
			if of := ls.owners[b.Owner]; of != nil {
				of[at] = of[at].Plus(l)
			}
		}
	}
	return ls
}

// bounds are the limits of the cluster, and those of one owner there. The batch
// system's own limit is for an account: the service's, if all jobs run as that.
func (c *cluster) bounds() (all, each plan.Bounds) {
	all = plan.Bounds{Pending: c.maxPending(), Running: c.config.MaxRunning}
	each = plan.Bounds{Pending: c.config.MaxPendingPerUser, Running: c.config.MaxRunningPerUser}
	if c.e.deps.Account != nil {
		all.Queued = c.caps().MaxQueued
	} else {
		each.Queued = c.caps().MaxQueued
	}
	return all, each
}

// maxPending is how many local jobs may wait here.
func (c *cluster) maxPending() int {
	if n := c.config.MaxPending; n > 0 {
		return n
	}
	return c.e.conf().MaxPending
}

// standing is what plan.Share is to know of all clusters, and the room of one
// owner at each. A lock of the engine is held.
func (e *Engine) standing(now jjm.Time) (site []plan.Candidate, roomOf func(jjm.Owner) []int) {
	loads := e.loads()
	each := make([]plan.Bounds, len(e.names))
	for i, name := range e.names {
		c := e.clusters[name]
		all, own := c.bounds()
		each[i] = own
		site = append(site, plan.Candidate{Name: name, Rank: c.rank(now), Slots: c.caps().Slots,
			Load: loads.all[i].Pending + loads.all[i].Running, Room: plan.Room(loads.all[i], all)})
	}
	rooms := map[jjm.Owner][]int{}
	return site, func(o jjm.Owner) []int {
		if r, known := rooms[o]; known {
			return r
		}
		r := make([]int, len(each))
		for i, b := range each {
			var l plan.Load
			if of := loads.owners[o]; of != nil {
				l = of[i]
			}
			r[i] = plan.Room(l, b)
		}
		rooms[o] = r
		return r
	}
}

// want is what a grid job with something ready of a place wants of the cluster at
// position here.
func (e *Engine) want(g *grid, place int32, here int, rooms []int) plan.Want {
	have := g.on[e.names[here]]
	w := plan.Want{
		Demand: plan.Demand{Grid: g.job.ID, Place: place, Ready: len(g.ready.of(place)), InBatch: have.of(place), Others: sum(have.load()) - have.of(place)},
		Owner:  fmt.Sprint(g.job.Owner.UID, " ", g.job.Owner.User),
	}
	for _, name := range e.candidates(g, place) {
		at := e.positions[name]
		w.Among, w.Rooms = append(w.Among, at), append(w.Rooms, rooms[at])
		w.At = append(w.At, g.on[name].of(place))
	}
	return w
}

// halted reports whether somebody paused this cluster, or the type or the user of
// a member of a bulk.
func (c *cluster) halted(b *jjm.Bulk) bool {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	now := jjm.At(c.e.now())
	if _, yes := c.e.ordered(jjm.OrderPause, jjm.OrderCluster, c.name, now); yes {
		return true
	}
	return slices.ContainsFunc(b.Members, func(m jjm.AttemptID) bool {
		g := c.e.grids[m.Grid]
		if g == nil || c.e.current(m) == nil {
			return false
		}
		_, yes := c.e.halted(g, now)
		return yes
	})
}

// elsewhere reports whether a cluster better than this one, which is in trouble
// or takes nothing now, would take the local jobs of g of a place. A lock of the
// engine is held.
func (c *cluster) elsewhere(g *grid, place int32, now jjm.Time) bool {
	if _, halted := c.e.halted(g, now); halted {
		return false
	}
	return slices.ContainsFunc(c.e.candidates(g, place), func(name string) bool {
		return name != c.name && c.e.clusters[name].rank(now) < plan.Troubled
	})
}
