package engine

import (
	"context"
	"sync"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/plan"
)

// cluster is one batch system as the engine works it: three loops that do not
// wait for one another, so that a frozen listing holds up no kill.
type cluster struct {
	e       *Engine
	name    string
	kind    string
	adapter adapters.Adapter
	caps    adapters.Capabilities

	submitKick, watchKick, controlKick chan struct{}

	// cycle numbers the listings; only the watch loop touches it and the two
	// maps.
	cycle    uint32
	restarts map[jjm.AttemptID]int // by the batch system, as far as seen
	missing  map[jjm.AttemptID]plan.Absence
	strays   strays

	// mu is taken after the engine's memory lock, never before.
	mu       sync.Mutex
	cause    string // why not healthy, "" = healthy
	lastGood time.Time
	cancels  map[jjm.AttemptID]time.Time // when a cancel was last sent
	retryAt  map[jjm.Tag]deadline        // doubtful or busy bulks: when to look again
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

func newCluster(e *Engine, c Cluster) *cluster {
	return &cluster{
		e: e, name: c.Adapter.Name(), kind: c.Kind, adapter: c.Adapter,
		caps:       c.Adapter.Capabilities(),
		submitKick: make(chan struct{}, 1), watchKick: make(chan struct{}, 1),
		controlKick: make(chan struct{}, 1),
		missing:     map[jjm.AttemptID]plan.Absence{},
		restarts:    map[jjm.AttemptID]int{},
		aside:       map[jjm.Owner]deadline{},
		cancels:     map[jjm.AttemptID]time.Time{},
		retryAt:     map[jjm.Tag]deadline{},
		strays:      strays{seen: map[strayKey]time.Time{}, lately: map[jjm.Owner]time.Time{}},
	}
}

// healthy reports whether the last listing, or the first one still to come,
// gives no reason for doubt.
func (c *cluster) healthy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause == ""
}

// health records the outcome of a listing and logs a change of it.
func (c *cluster) health(err error) {
	cause := ""
	if err != nil {
		cause = err.Error()
	}
	c.mu.Lock()
	before := c.cause
	c.cause = cause
	if err == nil {
		c.lastGood = c.e.now()
	}
	c.mu.Unlock()
	switch {
	case cause == before:
	case cause == "":
		c.e.log.Info("batch system answers again", "cluster", c.name)
		c.kickGrids()
	default:
		c.e.log.Warn("batch system gives no listing; its jobs keep their last state", "cluster", c.name, "error", cause)
		c.kickGrids()
	}
}

// kickGrids lets the grid jobs of this cluster see that its health changed.
func (c *cluster) kickGrids() {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	for id, g := range c.e.grids {
		if g.job.Step.Cluster == c.name {
			c.e.work.kick(id)
		}
	}
}

// command gives a context with the deadline of one command.
func (c *cluster) command(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.e.conf().Command.D())
}

// account is the account that an owner's jobs run as in the batch system: the
// service's, if there is one.
func (c *cluster) account(owner jjm.Owner) jjm.Owner {
	if a := c.e.deps.Account; a != nil {
		return *a
	}
	return owner
}

// accounts lists the accounts with open bulks here, and those that had some not
// long ago.
func (c *cluster) accounts() []jjm.Owner {
	c.e.mem.RLock()
	defer c.e.mem.RUnlock()
	seen := map[jjm.Owner]bool{}
	var out []jjm.Owner
	for _, b := range c.e.bulks {
		if a := c.account(b.Owner); b.Cluster == c.name && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return c.strays.also(out, seen, c.e.now())
}
