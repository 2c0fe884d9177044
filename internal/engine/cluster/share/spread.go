package share

import (
	"fmt"
	"slices"
	"time"

	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Serves reports whether local jobs of a grid job may be submitted to this cluster at all. It returns false if disk
// space is low, the owner's work area is too large, the grid job is being killed or an order pauses it, or the grid job
// may not use this cluster. It does not look at places and queues; see QueueOpen and Site.Open.
func (c *Cluster) Serves(mem state.Memory, g *state.Grid, now jjm.Time) bool {
	if c.s.Low() != "" || c.s.WorkUses.Excess(g.Job.Owner.UID) != "" || g.Job.Kill ||
		!slices.Contains(g.Job.Step.Clusters, c.Name) {
		return false
	}
	_, halted := mem.Halted(g, now)
	return !halted
}

// QueueOpen reports whether orders allow the submission of a grid job's local jobs with a place to this cluster now: no
// order about this cluster, or about the queue to which they would go, forbids it.
func (c *Cluster) QueueOpen(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool {
	return c.Site.Closed(mem, g, place, c.Name, now) == ""
}

// Rank returns how suitable the cluster is for new local jobs now: Barred if an order pauses it; else Troubled if it
// answers no listing or was busy; else Drained if an order drains it; else Fit.
func (c *Cluster) Rank(mem state.Memory, now jjm.Time) plan.Rank {
	if _, yes := mem.Ordered(jjm.OrderPause, jjm.OrderCluster, c.Name, now); yes {
		return plan.Barred
	}
	if !c.health.Healthy() || c.wasBusy(mem) {
		return plan.Troubled
	}
	if _, yes := mem.Ordered(jjm.OrderDrain, jjm.OrderCluster, c.Name, now); yes {
		return plan.Drained
	}
	return plan.Fit
}

// busyFirst and busyMost are the shortest and the longest time for which a cluster that answered Busy to a submission
// gets no local jobs that other clusters can run. The time doubles with each further Busy in a row.
const (
	busyFirst = time.Minute
	busyMost  = 16 * time.Minute
)

// SaidBusy notes that the submission of a bulk was answered Busy. For the time busyFirst, the answer counts against the
// cluster (wasBusy). A Busy during this time changes nothing. A Busy after this time counts for twice as long as the
// previous one, at most busyMost. The first accepted submission of the account ends all this.
func (c *Cluster) SaidBusy(tag jjm.Tag) {
	account := c.accountOf(tag)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, d := c.b.Now(), c.busy[account]; d.Left(now) == 0 {
		wait := min(max(2*d.Wait, busyFirst), busyMost)
		c.busy[account] = system.Deadline{Set: now, Wait: wait}
	}
}

// Took notes that the batch system accepted a bulk: its account is no longer busy, so that earlier Busy answers to the
// account no longer count, and it may have at least the jobs that it has now.
func (c *Cluster) Took(tag jjm.Tag) {
	v := c.s.View()
	var account jjm.Owner
	have := 0
	if b := v.Bulk(tag); b != nil {
		account, have = c.Account(b.Owner), c.JobsOf(v.Memory, b.Owner)
	}
	v.Close()
	c.mu.Lock()
	delete(c.busy, account)
	c.mu.Unlock()
	c.accepted(account, have)
}

// accountOf returns the account of an open bulk, or the zero Owner if the bulk is not open.
func (c *Cluster) accountOf(tag jjm.Tag) jjm.Owner {
	v := c.s.View()
	defer v.Close()
	if b := v.Bulk(tag); b != nil {
		return c.Account(b.Owner)
	}
	return jjm.Owner{}
}

// wasBusy reports whether Busy answers still count against the cluster (SaidBusy). It returns false if only one account
// got the answer Busy and the cluster has accepted open bulks of other accounts, because the cause then lies in that
// account.
func (c *Cluster) wasBusy(mem state.Memory) bool {
	h := plan.Heard{Own: c.b.Deps.Account != nil}
	var busy jjm.Owner
	c.mu.Lock()
	for account, d := range c.busy {
		if d.Left(c.b.Now()) > 0 {
			h.Silent++
			busy = account
		}
	}
	c.mu.Unlock()
	if h.Silent != 1 || h.Own {
		return h.Unhealthy()
	}
	for _, b := range mem.Bulks() {
		if b.Cluster == c.Name && b.ID != "" && c.Account(b.Owner) != busy {
			h.Answered = 1
			break
		}
	}
	return h.Unhealthy()
}

// Loads are the numbers of local jobs on each cluster of the site, by position in the configuration: all contains the
// numbers over all owners, owners those of each owner.
type Loads struct {
	all    []plan.Load
	owners map[jjm.Owner][]plan.Load
}

// Loads counts the local jobs that are in the batch systems or in bulks that are being formed.
func (st *Site) Loads(mem state.Memory) Loads {
	ls := Loads{all: make([]plan.Load, len(st.s.Names)), owners: map[jjm.Owner][]plan.Load{}}
	for _, g := range mem.Grids() {
		of := ls.owners[g.Job.Owner]
		if of == nil {
			of = make([]plan.Load, len(st.s.Names))
			ls.owners[g.Job.Owner] = of
		}
		for name, t := range g.ByCluster {
			if at, known := st.s.Positions[name]; known {
				l := t.Load()
				ls.all[at], of[at] = ls.all[at].Plus(l), of[at].Plus(l)
			}
		}
	}
	for _, b := range mem.Forming() {
		if at, known := st.s.Positions[b.Cluster]; known && mem.Bulk(b.Tag) == nil { // not stored yet
			l := plan.Load{Pending: len(b.Members)}
			ls.all[at] = ls.all[at].Plus(l)
			if of := ls.owners[b.Owner]; of != nil {
				of[at] = of[at].Plus(l)
			}
		}
	}
	return ls
}

// bounds returns the limits on all local jobs on the cluster together. The batch system's own limit concerns an
// account, so it is among these limits only if all jobs run as one account; else it is among the limits of each owner
// (boundsOf).
func (c *Cluster) bounds() plan.Bounds {
	all := plan.Bounds{Pending: c.MaxPending(), Running: c.Config.MaxRunning}
	if o := c.b.Deps.Account; o != nil {
		all.Queued = c.mostQueued(*o)
	}
	return all
}

// boundsOf returns the limits on the local jobs of one owner on the cluster.
func (c *Cluster) boundsOf(o jjm.Owner) plan.Bounds {
	each := plan.Bounds{Pending: c.Config.MaxPendingPerUser, Running: c.Config.MaxRunningPerUser}
	if c.b.Deps.Account == nil {
		each.Queued = c.mostQueued(o)
	}
	return each
}

// MaxPending returns how many local jobs may wait in this batch system: the setting of the cluster or, if there is
// none, of the site.
func (c *Cluster) MaxPending() int {
	if n := c.Config.MaxPending; n > 0 {
		return n
	}
	return c.b.Conf().MaxPending
}

// Standing returns the facts about all clusters that plan.Share needs. It also returns a function that returns the free
// room of one owner on each cluster, by position in the configuration.
func (st *Site) Standing(mem state.Memory, now jjm.Time) (site []plan.Candidate, roomOf func(jjm.Owner) []int) {
	loads := st.Loads(mem)
	for i, name := range st.s.Names {
		c := st.all[name]
		site = append(site, plan.Candidate{Name: name, Rank: c.Rank(mem, now), Slots: c.Caps().Slots,
			Load: loads.all[i].Pending + loads.all[i].Running, Room: plan.Room(loads.all[i], c.bounds())})
	}
	rooms := map[jjm.Owner][]int{}
	return site, func(o jjm.Owner) []int {
		if r, known := rooms[o]; known {
			return r
		}
		r := make([]int, len(st.s.Names))
		for i, name := range st.s.Names {
			var l plan.Load
			if of := loads.owners[o]; of != nil {
				l = of[i]
			}
			r[i] = plan.Room(l, st.all[name].boundsOf(o))
		}
		rooms[o] = r
		return r
	}
}

// Want returns the facts that plan.Share needs about a grid job that has ready local jobs with a place. here is the
// position of the cluster for which a bulk is formed; rooms is the owner's free room on each cluster.
func (st *Site) Want(mem state.Memory, g *state.Grid, place int32, here int, rooms []int, now jjm.Time) plan.Want {
	have := g.ByCluster[st.s.Names[here]]
	w := plan.Want{
		Demand: plan.Demand{Grid: g.Job.ID, Place: place, Ready: g.ReadyAt(place), InBatch: have.Of(place),
			Others: state.Sum(have.Load()) - have.Of(place), Priority: state.PriorityAt(&g.Job, place),
			Owner: fmt.Sprint(g.Job.Owner.UID, " ", g.Job.Owner.User)},
	}
	for _, name := range st.Open(mem, g, place, now) {
		at := st.s.Positions[name]
		w.Among, w.Rooms = append(w.Among, at), append(w.Rooms, rooms[at])
		w.At = append(w.At, g.ByCluster[name].Of(place))
	}
	return w
}

// Halted reports whether an order forbids to submit some member of a bulk to this cluster now: a pause of the member's
// grid job, job type, user or queue, a pause of this cluster, or a maintenance window.
func (c *Cluster) Halted(b *jjm.Bulk) bool {
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
		return halted || !c.QueueOpen(v.Memory, g, l.Place, now)
	})
}

// Elsewhere reports whether another cluster, not in trouble itself, may get the local jobs of g with a place now. It is
// called if this cluster is in trouble or accepts nothing.
func (c *Cluster) Elsewhere(mem state.Memory, g *state.Grid, place int32, now jjm.Time) bool {
	if _, halted := mem.Halted(g, now); halted {
		return false
	}
	return slices.ContainsFunc(c.Site.Open(mem, g, place, now), func(name string) bool {
		return name != c.Name && c.Site.all[name].Rank(mem, now) < plan.Troubled
	})
}

// JobsOf returns how many jobs the account of an owner has in the batch system, including jobs that are being
// submitted.
func (c *Cluster) JobsOf(mem state.Memory, o jjm.Owner) int {
	loads, at := c.Site.Loads(mem), c.s.Positions[c.Name]
	l := loads.all[at]
	if c.b.Deps.Account == nil {
		l = plan.Load{}
		if of := loads.owners[o]; of != nil {
			l = of[at]
		}
	}
	return l.Pending + l.Running
}
