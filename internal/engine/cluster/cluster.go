package cluster

import (
	"sync"
	"sync/atomic"
	"time"

	"jjm/internal/engine/cluster/control"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/share"
	"jjm/internal/engine/cluster/submit"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/cluster/watch"
	"jjm/internal/engine/floor/base"
)

// Cluster is one batch system of the site. Its loops (submit, watch, control) do not wait for one another. For example,
// a listing that hangs does not delay a kill.
type Cluster struct {
	*system.System
	b *base.Base

	// ready is closed after the first probe, whether the probe succeeded or not. If the adapter cannot probe,
	// Cluster.loops closes it.
	ready  chan struct{}
	probed sync.Once
	// unprobed is the present outage of probes; nil if the last probe succeeded or no probe was made.
	unprobed atomic.Pointer[unprobed]
	// reprobe wakes the probe loop. Its capacity is 1.
	reprobe chan struct{}
	// failing is the present outage of listings and submissions, for people.
	failing outage.Failing

	workers
}

// workers are the parts of a Cluster, each with one task. Each guards its own fields.
type workers struct {
	health     *outage.Health      // whether listings succeed, and which jobs have been unknown for too long
	submitter  *submit.Submitter   // forms bulks, submits them, and settles those in doubt
	watcher    *watch.Watcher      // lists the batch system and compares the listings with memory
	controller *control.Controller // cancels batch jobs and releases held ones
	halter     *control.Halter     // prevents the start of local jobs that are to be killed
	share      *share.Cluster      // what local jobs it may take, beside the other clusters
}

// newCluster returns the Cluster of a configured batch system.
func newCluster(cs *Clusters, of base.Cluster) *Cluster {
	c := &Cluster{System: system.New(of, cs.s, cs.areas), b: cs.b, ready: make(chan struct{}),
		reprobe: make(chan struct{}, 1)}
	c.health = outage.New(cs.s, c.Name, c.answersAgain)
	c.share = cs.site.Add(c.System, c.health)
	c.controller = control.New(c.System, cs.s, cs.areas, cs.sweeper, func() { c.watcher.Wake() })
	c.watcher = watch.New(c.System, cs.s, cs.ends, c.health, &c.failing, c.controller)
	c.halter = control.NewHalter(c.System, cs.s, cs.ends)
	here := submit.Here{Admission: c.share, Division: cs.site, Answers: c.share}
	c.submitter = submit.New(c.System, here, cs.s, cs.areas, cs.lineage, submit.Parts{Health: c.health,
		Failing: &c.failing, Halter: c.halter, Look: func() { c.watcher.Wake() }})
	return c
}

// pollSettle is the time for which a batch system cleans up after a job before it reports the job's end.
const pollSettle = 10 * time.Second

// batchSettle returns how long the result of an attempt waits for the batch system's final report. If the cluster's
// section sets the time, that is the result. Otherwise the result is the site's setting plus the lag that the adapter
// states. If the batch system does not signal changes, the site's setting is first raised to two intervals of listings
// plus pollSettle.
func (c *Cluster) batchSettle() time.Duration {
	if d := c.Config.BatchSettle.D(); d > 0 {
		return d
	}
	d := c.b.Conf().BatchSettle.D()
	if p := c.Polling(); !p.Hints {
		d = max(d, 2*p.Every(c.watcher.Pace())+pollSettle)
	}
	return d + c.Caps().Lag
}
