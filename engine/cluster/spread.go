package cluster

import (
	"fmt"
	"slices"
	"time"

	"jjm"
	"jjm/engine/state"
	"jjm/plan"
)

// serves reports whether local jobs of a grid job may be submitted here, as far as
// their place lets them.
func (c *Cluster) serves(mem state.Memory, g *state.Grid, now jjm.Time) bool {
	if c.s.Low() != "" || c.s.WorkUses.Over(g.Job.Owner.UID) != "" || g.Job.Kill ||
		!slices.Contains(g.Job.Step.Clusters, c.name) {
		return false
	}
	_, halted := mem.Halted(g, now)
	return !halted
}

// takes reports whether local jobs of a grid job and place may be submitted here: as far
// as their queue goes.
func (c *Cluster) takes(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool {
	_, paused := mem.OrderedAt(jjm.OrderPause, c.name, state.RequestAt(&g.Job, place), now)
	return !paused
}

// rank is how much reason there is to send work here.
func (c *Cluster) rank(mem state.Memory, now jjm.Time) plan.Rank {
	if _, yes := mem.Ordered(jjm.OrderPause, jjm.OrderCluster, c.name, now); yes {
		return plan.Barred
	}
	if !c.health.healthy() || c.wasBusy(mem) {
		return plan.Troubled
	}
	if _, yes := mem.Ordered(jjm.OrderDrain, jjm.OrderCluster, c.name, now); yes {
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
func (c *Cluster) saidBusy(tag jjm.Tag) {
	account := c.accountOf(tag)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, d := c.b.Now(), c.busy[account]; d.left(now) == 0 {
		wait := min(max(2*d.wait, busyFirst), busyMost)
		c.busy[account] = deadline{set: now, wait: wait}
	}
}

// accountOf is the account of a live bulk.
func (c *Cluster) accountOf(tag jjm.Tag) jjm.Owner {
	v := c.s.View()
	defer v.Close()
	if b := v.Bulk(tag); b != nil {
		return c.account(b.Owner)
	}
	return jjm.Owner{}
}

// wasBusy reports whether submissions were not taken lately: of one account, where
// others have bulks here that were taken, that is the account's own trouble.
func (c *Cluster) wasBusy(mem state.Memory) bool {
	h := plan.Heard{Own: c.b.Deps.Account != nil}
	var busy jjm.Owner
	c.mu.Lock()
	for account, d := range c.busy {
		if d.left(c.b.Now()) > 0 {
			h.Silent++
			busy = account
		}
	}
	c.mu.Unlock()
	if h.Silent != 1 || h.Own {
		return h.Unhealthy()
	}
	for _, b := range mem.Bulks() {
		if b.Cluster == c.name && b.ID != "" && c.account(b.Owner) != busy {
			h.Answered = 1
			break
		}
	}
	return h.Unhealthy()
}

// loads are what each cluster of the site has, in all and of each owner.
type loads struct {
	all    []plan.Load
	owners map[jjm.Owner][]plan.Load
}

// loads counts.
func (cs *Clusters) loads(mem state.Memory) loads {
	ls := loads{all: make([]plan.Load, len(cs.s.Names)), owners: map[jjm.Owner][]plan.Load{}}
	for _, g := range mem.Grids() {
		of := ls.owners[g.Job.Owner]
		if of == nil {
			of = make([]plan.Load, len(cs.s.Names))
			ls.owners[g.Job.Owner] = of
		}
		for name, t := range g.On {
			if at, known := cs.s.Positions[name]; known {
				l := t.Load()
				ls.all[at], of[at] = ls.all[at].Plus(l), of[at].Plus(l)
			}
		}
	}
	for _, b := range mem.Forming() {
		if at, known := cs.s.Positions[b.Cluster]; known && mem.Bulk(b.Tag) == nil { // its members count nowhere yet
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
func (c *Cluster) bounds() (all, each plan.Bounds) {
	all = plan.Bounds{Pending: c.maxPending(), Running: c.config.MaxRunning}
	each = plan.Bounds{Pending: c.config.MaxPendingPerUser, Running: c.config.MaxRunningPerUser}
	if c.b.Deps.Account != nil {
		all.Queued = c.caps().MaxQueued
	} else {
		each.Queued = c.caps().MaxQueued
	}
	return all, each
}

// maxPending is how many local jobs may wait here.
func (c *Cluster) maxPending() int {
	if n := c.config.MaxPending; n > 0 {
		return n
	}
	return c.b.Conf().MaxPending
}

// standing is what plan.Share is to know of all clusters, and the room of one
// owner at each.
func (cs *Clusters) standing(mem state.Memory, now jjm.Time) (site []plan.Candidate, roomOf func(jjm.Owner) []int) {
	loads := cs.loads(mem)
	each := make([]plan.Bounds, len(cs.s.Names))
	for i, name := range cs.s.Names {
		c := cs.all[name]
		all, own := c.bounds()
		each[i] = own
		site = append(site, plan.Candidate{Name: name, Rank: c.rank(mem, now), Slots: c.caps().Slots,
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
func (cs *Clusters) want(mem state.Memory, g *state.Grid, place int32, here int, rooms []int, now jjm.Time) plan.Want {
	have := g.On[cs.s.Names[here]]
	w := plan.Want{
		Demand: plan.Demand{Grid: g.Job.ID, Place: place, Ready: g.ReadyAt(place), InBatch: have.Of(place),
			Others: state.Sum(have.Load()) - have.Of(place)},
		Owner: fmt.Sprint(g.Job.Owner.UID, " ", g.Job.Owner.User),
	}
	for _, name := range cs.open(mem, g, place, now) {
		at := cs.s.Positions[name]
		w.Among, w.Rooms = append(w.Among, at), append(w.Rooms, rooms[at])
		w.At = append(w.At, g.On[name].Of(place))
	}
	return w
}

// halted reports whether somebody paused this cluster, its queue, or the grid job, the
// type or the user of a member of a bulk.
func (c *Cluster) halted(b *jjm.Bulk) bool {
	v := c.s.View()
	defer v.Close()
	now := jjm.At(c.b.Now())
	return slices.ContainsFunc(b.Members, func(m jjm.AttemptID) bool {
		g := v.Grid(m.Grid)
		l := v.Current(m)
		if g == nil || l == nil {
			return false
		}
		_, halted := v.Halted(g, now)
		return halted || !c.takes(v.Memory, g, l.Place, now)
	})
}

// elsewhere reports whether a cluster better than this one, which is in trouble
// or takes nothing now, would take the local jobs of g of a place.
func (c *Cluster) elsewhere(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool {
	if _, halted := mem.Halted(g, now); halted {
		return false
	}
	return slices.ContainsFunc(c.cs.open(mem, g, place, now), func(name string) bool {
		return name != c.name && c.cs.all[name].rank(mem, now) < plan.Troubled
	})
}

// notBusy notes that a submission as an account was taken.
func (c *Cluster) notBusy(account jjm.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, account)
}
