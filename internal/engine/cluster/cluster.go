package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Cluster is one batch system of the site. Its loops (submit, watch, control) do not wait for one another. For example,
// a listing that hangs does not delay a kill.
type Cluster struct {
	cs      *Clusters
	b       *base.Base
	s       *state.State
	name    string
	kind    string
	config  base.ClusterConfig
	adapter adapters.Adapter

	// ready is closed after the first probe, whether the probe succeeded or not. If the adapter cannot probe,
	// Cluster.loops closes it.
	ready  chan struct{}
	probed sync.Once
	// unprobed is the present outage of probes; nil if the last probe succeeded or no probe was made.
	unprobed atomic.Pointer[unprobed]
	// failing is the present outage of listings and submissions, for people.
	failing outage.Failing

	workers

	// mu is taken after the memory lock, never before.
	mu sync.Mutex
	// busy contains the accounts whose last submission was answered Busy, each with the time until which the answer counts
	// against the cluster (wasBusy). Until then, local jobs that can run on other clusters go there.
	busy map[jjm.Owner]deadline
}

// workers are the parts of a Cluster, each with one task. Each guards its own fields.
type workers struct {
	health     *outage.Health // whether listings succeed, and which jobs have been unknown for too long
	submitter  *submitter     // forms bulks and submits them
	settler    *settler       // finds out whether the batch system has the bulks of doubtful submissions
	watcher    *watcher       // lists the batch system and compares the listings with memory
	holder     *holder        // decides about local jobs that the batch system holds
	controller *controller    // cancels batch jobs and releases held ones
	halter     *halter        // prevents the start of local jobs that are to be killed
	refusals   *refusals      // the limits on the jobs of accounts, learnt from refused submissions
}

// deadline is the end of a wait. It is stored as the start and the length of the wait, so that setting the clock back
// does not prolong the wait.
type deadline struct {
	set  time.Time
	wait time.Duration
}

// left returns how long there is still to wait.
func (d deadline) left(now time.Time) time.Duration {
	gone := now.Sub(d.set)
	if gone < 0 {
		return 0
	}
	return max(d.wait-gone, 0)
}

// newCluster returns the Cluster of a configured batch system.
func newCluster(cs *Clusters, of base.Cluster) *Cluster {
	c := &Cluster{
		cs: cs, b: cs.b, s: cs.s, name: of.Adapter.Name(), kind: of.Kind, config: of.Config, adapter: of.Adapter,
		ready: make(chan struct{}),
		busy:  map[jjm.Owner]deadline{},
	}
	c.health = outage.New(c.s, c.name, func() { c.settler.settleNow() })
	c.submitter = newSubmitter(c)
	c.refusals = newRefusals(c)
	c.settler = &settler{c: c, b: c.b, s: c.s, name: c.name,
		retryAt: map[jjm.Tag]deadline{}, odd: map[jjm.Tag]oddRefusal{}}
	c.watcher = newWatcher(c)
	c.holder = &holder{c: c, b: c.b, s: c.s}
	c.controller = newController(c)
	c.halter = &halter{c: c}
	return c
}

// lanes returns a new Lanes, which runs the commands of each account one after another.
func (c *Cluster) lanes() fair.Lanes {
	return fair.Lanes{OneAccount: c.b.Deps.Account != nil, Now: c.b.Now}
}

// caps returns the adapter's capabilities. Callers must not keep them, because a probe may change them at any time.
func (c *Cluster) caps() adapters.Capabilities { return c.adapter.Capabilities() }

// patience is the deadline of one call of an adapter, in multiples of the deadline of one command. It is more than 1
// because a call waits for its turn and may run a command twice.
const patience = 3

// command returns a context for one call of the adapter on behalf of an account, with a deadline of patience times the
// deadline of one command. The adapter itself limits each of its commands.
func (c *Cluster) command(ctx context.Context, account jjm.Owner) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.cs.areas.As(ctx, account), patience*c.deadline())
}

// deadline returns the longest time that one command of the batch system may take.
func (c *Cluster) deadline() time.Duration {
	if own := c.config.Command.D(); own > 0 {
		return own
	}
	return c.b.Conf().Command.D()
}

// hints returns the channel on which the batch system signals changes, nil if it signals
// none.
func (c *Cluster) hints() <-chan struct{} {
	if w, ok := c.adapter.(adapters.Watcher); ok {
		return w.Changed()
	}
	return nil
}

// polling returns the settings that decide how often the cluster is listed.
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

// pollSettle is the time for which a batch system cleans up after a job before it reports the job's end.
const pollSettle = 10 * time.Second

// batchSettle returns how long the result of an attempt waits for the batch system's final report. If the cluster's
// section sets the time, that is the result. Otherwise the result is the site's setting plus the lag that the adapter
// states. If the batch system does not signal changes, the site's setting is first raised to two intervals of listings
// plus pollSettle.
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

// account returns the account that runs an owner's jobs: the service account if there is one, else the owner.
func (c *Cluster) account(owner jjm.Owner) jjm.Owner {
	if a := c.b.Deps.Account; a != nil {
		return *a
	}
	return owner
}
