package cluster

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
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

	// ready is closed once the batch system was probed for the first time, or
	// cannot be.
	ready  chan struct{}
	probed sync.Once
	// unprobed says since when the last probes came to nothing, and why; nil = one came to
	// something, or there was none.
	unprobed atomic.Pointer[string]

	workers

	// mu is taken after the memory lock, never before.
	mu   sync.Mutex
	busy map[jjm.Owner]deadline // a submission as an account was not taken: no work that can go elsewhere
}

// workers do what is done with a cluster, each with a mutex of its own.
type workers struct {
	health     *health
	submitter  *submitter
	settler    *settler
	watcher    *watcher
	holder     *holder
	controller *controller
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

func newCluster(cs *Clusters, of base.Cluster) *Cluster {
	c := &Cluster{
		cs: cs, b: cs.b, s: cs.s, name: of.Adapter.Name(), kind: of.Kind, config: of.Config, adapter: of.Adapter,
		ready: make(chan struct{}),
		busy:  map[jjm.Owner]deadline{},
	}
	c.health = &health{c: c, b: c.b, s: c.s, name: c.name}
	c.submitter = newSubmitter(c)
	c.settler = &settler{c: c, b: c.b, s: c.s, name: c.name, retryAt: map[jjm.Tag]deadline{}}
	c.watcher = newWatcher(c)
	c.holder = &holder{c: c, b: c.b, s: c.s}
	c.controller = newController(c)
	return c
}

// lanes are of things that are done as accounts, one after another for each.
func (c *Cluster) lanes() fair.Lanes {
	return fair.Lanes{Alone: c.b.Deps.Account != nil, Now: c.b.Now}
}

// caps is what the adapter can do; a probe may have changed it since the last
// look.
func (c *Cluster) caps() adapters.Capabilities { return c.adapter.Capabilities() }

// kickGrids lets the grid jobs of this cluster see that its health changed.
func (c *Cluster) kickGrids() {
	v := c.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
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

// hints returns the channel on which the batch system tells of changes, nil where
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
		d = max(d, 2*p.Every(c.watcher.pace())+pollSettle)
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
