package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/plan"
)

// Cluster is one batch system as the engine works it: three loops that do not
// wait for one another, so that a frozen listing holds up no kill.
type Cluster struct {
	cs      *Clusters
	b       *base.Base
	s       *state.State
	name    string
	kind    string
	config  base.ClusterConfig
	adapter adapters.Adapter

	submitKick, watchKick, controlKick chan struct{}
	// ready is closed once the batch system was probed for the first time, or
	// cannot be.
	ready  chan struct{}
	probed sync.Once

	// cycle numbers the listings, asked is when the one at hand began; only the watch loop touches it and what
	// follows.
	cycle    uint32
	asked    jjm.Time
	restarts map[jjm.AttemptID]int // by the batch system, as far as seen
	missing  map[jjm.AttemptID]plan.Absence
	vigils   map[jjm.Owner]vigil
	strays   strays
	asking   asking

	// submits and controls are done by account, absences are looked into.
	submits, controls, absents fair.Lanes

	// mu is taken after the engine's memory lock, never before.
	mu       sync.Mutex
	cause    string // why not healthy, "" = healthy
	badSince time.Time
	lastGood time.Time
	back     time.Time     // when it last gave a listing after it had given none
	took     time.Duration // what a round of listings takes, as far as they are answered (plan.Took)
	lastTook time.Duration // of the last round, -1 before the first
	// long is what has been unknown for too long.
	long    long
	busy    map[jjm.Owner]deadline      // a submission as an account was not taken: no work that can go elsewhere
	cancels map[jjm.AttemptID]time.Time // when a cancel was last sent
	// releases are decided and not known to be done, and when each was last sent.
	releases map[jjm.AttemptID]time.Time
	retryAt  map[jjm.Tag]deadline // doubtful or busy bulks: when to look again
	// aside are owners whose work area makes trouble, until when.
	aside map[jjm.Owner]deadline
	// strangers are second batch jobs of one attempt, to be cancelled.
	strangers map[jjm.Owner][]adapters.Ref
}

// deadline is a time to wait, which a clock that is set back does not prolong.
type deadline struct {
	set  time.Time
	wait time.Duration
}

// left is how long there is still to wait.
func (d deadline) left(now time.Time) time.Duration {
	gone := now.Sub(d.set)
	if gone < 0 {
		return 0
	}
	return max(d.wait-gone, 0)
}

func newCluster(cs *Clusters, c base.Cluster) *Cluster {
	of := func() fair.Lanes { return fair.Lanes{Alone: cs.b.Deps.Account != nil, Now: cs.b.Now} }
	return &Cluster{
		submits: of(), controls: of(), absents: of(),
		busy: map[jjm.Owner]deadline{},
		cs:   cs, b: cs.b, s: cs.s, name: c.Adapter.Name(), kind: c.Kind, config: c.Config, adapter: c.Adapter,
		submitKick: make(chan struct{}, 1), watchKick: make(chan struct{}, 1),
		controlKick: make(chan struct{}, 1),
		ready:       make(chan struct{}),
		missing:     map[jjm.AttemptID]plan.Absence{},
		vigils:      map[jjm.Owner]vigil{},
		restarts:    map[jjm.AttemptID]int{},
		aside:       map[jjm.Owner]deadline{},
		cancels:     map[jjm.AttemptID]time.Time{},
		releases:    map[jjm.AttemptID]time.Time{},
		retryAt:     map[jjm.Tag]deadline{},
		lastTook:    -1,
		asking:      newAsking(),
		strays:      strays{seen: map[strayKey]time.Time{}, lately: map[jjm.Owner]time.Time{}},
	}
}

// caps is what the adapter can do; a probe may have changed it since the last
// look.
func (c *Cluster) caps() adapters.Capabilities { return c.adapter.Capabilities() }

// kickGrids lets the grid jobs of this cluster see that its health changed.
func (c *Cluster) kickGrids() {
	c.s.Mem.RLock()
	defer c.s.Mem.RUnlock()
	for id, g := range c.s.Grids {
		if slices.Contains(g.Job.Step.Clusters, c.name) {
			c.s.WakeGrid(id)
		}
	}
	c.s.WakeSubmit() // what waits may go elsewhere now, or come here
}

// patience is how many times the deadline of a command a call may take: it waits
// for its turn, and may be tried again.
const patience = 3

// command bounds one call of the adapter for an account, which itself keeps each
// of its commands to the deadline.
func (c *Cluster) command(ctx context.Context, account jjm.Owner) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.cs.areas.As(ctx, account), patience*c.deadline())
}

// deadline is that of one command.
func (c *Cluster) deadline() time.Duration {
	if own := c.config.Command.D(); own > 0 {
		return own
	}
	return c.b.Conf().Command.D()
}

// hints gives the channel on which the batch system tells of changes, nil where
// it does not.
func (c *Cluster) hints() <-chan struct{} {
	if w, ok := c.adapter.(adapters.Watcher); ok {
		return w.Changed()
	}
	return nil
}

// polling says how often the cluster is listed.
func (c *Cluster) polling() plan.Polling {
	p := plan.Polling{Poll: c.config.Poll.D(), Max: c.config.PollMax.D(), Hints: c.hints() != nil}
	if p.Poll == 0 {
		p.Poll = c.b.Conf().Poll.D()
	}
	if p.Max == 0 {
		p.Max = c.b.Conf().PollMax.D()
	}
	return p
}

// pollSettle is how much longer than two intervals of its listings a result waits
// for the last word of a batch system that is only polled: it cleans up after a
// job before it shows the end.
const pollSettle = 10 * time.Second

// batchSettle is how long a result waits for the batch system's last word here.
func (c *Cluster) batchSettle() time.Duration {
	if d := c.config.BatchSettle.D(); d > 0 {
		return d
	}
	d := c.b.Conf().BatchSettle.D()
	if p := c.polling(); !p.Hints {
		c.mu.Lock()
		d = max(d, 2*p.Every(c.took)+pollSettle)
		c.mu.Unlock()
	}
	return d + c.caps().Lag
}

// account is the account that an owner's jobs run as in the batch system: the
// service's, if there is one.
func (c *Cluster) account(owner jjm.Owner) jjm.Owner {
	if a := c.b.Deps.Account; a != nil {
		return *a
	}
	return owner
}

// accounts lists the accounts with open bulks here, and those that had some not
// long ago.
func (c *Cluster) accounts() []jjm.Owner {
	c.s.Mem.RLock()
	defer c.s.Mem.RUnlock()
	seen := map[jjm.Owner]bool{}
	var out []jjm.Owner
	for _, b := range c.s.Bulks {
		if a := c.account(b.Owner); b.Cluster == c.name && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	out = c.strays.also(out, seen, c.b.Now())
	if len(out) == 0 && !c.healthy() { // nothing to list: find out for those who would come here
		for _, g := range c.s.Grids {
			if slices.Contains(g.Job.Step.Clusters, c.name) && !g.Job.Status.Final() {
				return []jjm.Owner{c.account(g.Job.Owner)}
			}
		}
	}
	return out
}
