package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// lastingSetting tests a setting that is a time or that limits a time. With the short value of the setting, the
// function see takes less than between; with the long value it takes more.
type lastingSetting struct {
	set         func(c *engineConfig, d time.Duration)
	short, long time.Duration
	between     time.Duration
	o           options
	see         func(w *world)
}

// over waits for the end of a script grid job with one local job.
func over(w *world) { w.final(100*time.Hour, w.submit(alice, plain(1))) }

// vanished makes the batch system forget a running local job without a heartbeat, and waits until the local job counts
// as lost.
func vanished(w *world) {
	id := w.submit(alice, plain(1))
	w.running(id, 1)
	w.sim.Vanish(w.refs(id, 0)...)
	w.until(100*time.Hour, "lost", func() bool { return w.lookup(id).Counts.Running == 0 })
}

// quickAbsence sets short times after which missing jobs count as lost.
func quickAbsence(c *engineConfig) {
	c.Poll, c.AbsentListings, c.AbsentFor, c.HeartbeatStale = minutes(1), 3, minutes(1), minutes(1)
}

// lastings returns the settings of the engine that are tested by the time that something takes.
func lastings() map[string]lastingSetting {
	long := adaptertest.SimConfig{Life: 50 * time.Hour}
	held := func(jjm.AttemptID, int) (string, string) { return "9/9", "out of luck" }
	return map[string]lastingSetting{
		"harvest": {set: func(c *engineConfig, d time.Duration) { c.Harvest, c.Poll = jjm.Duration(d), minutes(600) },
			short: 10 * time.Second, long: 2 * time.Hour, between: time.Hour, o: options{sim: long}, see: func(w *world) {
				id := w.submit(alice, plain(1))
				w.running(id, 1)
				w.progress(w.locals(id)[0], "sim", 1, 2)
				w.until(100*time.Hour, "told", func() bool { return w.locals(id)[0].Progress.Done == 1 })
			}},
		"result_settle": {set: func(c *engineConfig, d time.Duration) { c.ResultSettle = jjm.Duration(d) },
			short: 30 * time.Second, long: 2 * time.Hour, between: time.Hour,
			o: options{play: always(adaptertest.Play{NoResult: true, Exit: 1})}, see: over},
		"cancel_again": {set: func(c *engineConfig, d time.Duration) { c.CancelAgain = jjm.Duration(d) },
			short: 30 * time.Second, long: 3 * time.Hour, between: time.Hour, o: options{sim: long}, see: func(w *world) {
				id := w.submit(alice, plain(1))
				w.running(id, 1)
				w.sim.IgnoreCancels(1)
				w.kill(id.String())
				w.final(100*time.Hour, id)
			}},
		"absent_for": {set: func(c *engineConfig, d time.Duration) { quickAbsence(c); c.AbsentFor = jjm.Duration(d) },
			short: time.Minute, long: 3 * time.Hour, between: time.Hour, o: options{sim: long}, see: vanished},
		"absent_listings": {
			set:   func(c *engineConfig, d time.Duration) { quickAbsence(c); c.AbsentListings = int(d.Minutes()) },
			short: 3 * time.Minute, long: 180 * time.Minute, between: time.Hour, o: options{sim: long}, see: vanished},
		"heartbeat_stale": {
			set:   func(c *engineConfig, d time.Duration) { quickAbsence(c); c.HeartbeatStale = jjm.Duration(d) },
			short: time.Minute, long: 3 * time.Hour, between: time.Hour, o: options{sim: long}, see: func(w *world) {
				id := w.submit(alice, plain(1))
				w.running(id, 1)
				w.beat(id)() // sends one heartbeat
				w.sim.Vanish(w.refs(id, 0)...)
				w.until(100*time.Hour, "lost", func() bool { return w.lookup(id).Counts.Running == 0 })
			}},
		"backoff": {set: func(c *engineConfig, d time.Duration) { c.Backoff = jjm.Duration(d) },
			short: time.Second, long: time.Hour, between: time.Hour,
			o: options{play: func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
				if id.Attempt == 0 {
					return adaptertest.Play{Keyword: "-", Exit: 1}
				}
				return adaptertest.Play{}
			}}, see: func(w *world) { w.final(100*time.Hour, w.submit(alice, mc(1))) }},
		"hold_max_age": {set: func(c *engineConfig, d time.Duration) { c.HoldMaxAge = jjm.Duration(d) },
			short: 10 * time.Minute, long: 5 * time.Hour, between: time.Hour, o: options{hold: held}, see: over},
		"hold_max_age_glf": {set: func(c *engineConfig, d time.Duration) { c.HoldMaxAgeGLF = jjm.Duration(d) },
			short: 10 * time.Minute, long: 5 * time.Hour, between: time.Hour, o: options{hold: held},
			see: func(w *world) { w.final(100*time.Hour, w.submit(alice, mc(1))) }},
	}
}

func TestSetting_WhatIsATimeLastsSoLong(t *testing.T) {
	t.Parallel()
	for key, c := range lastings() {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			lasts := map[time.Duration]time.Duration{}
			for _, d := range []time.Duration{c.short, c.long} {
				o := c.o
				o.config = func(config *engineConfig) { c.set(config, d) }
				inWorld(t, o, func(_ *testing.T, w *world) {
					began := time.Now()
					c.see(w)
					lasts[d] = time.Since(began)
				})
			}
			if lasts[c.short] >= c.between || lasts[c.long] <= c.between {
				t.Errorf("%v lasts %v and %v lasts %v: want less and more than %v", c.short, lasts[c.short], c.long,
					lasts[c.long], c.between)
			}
		})
	}
}

// The shortest time between listings is the setting of the cluster, or if it has none, the setting of the site. The
// same is true of the longest time, which applies to slow listings.
func TestSetting_PollIsTheTimeBetweenListings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ site, own, want time.Duration }{
		{20 * time.Second, 0, 20 * time.Second}, {time.Minute, 0, time.Minute},
		{time.Minute, 5 * time.Second, 5 * time.Second},
	} {
		o := options{config: with(func(config *engine.Config) { config.Poll = jjm.Duration(c.site) }),
			configs: map[string]engine.ClusterConfig{"sim": {Poll: jjm.Duration(c.own)}},
			sim:     adaptertest.SimConfig{Life: 10 * time.Hour}}
		inWorld(t, o, func(t *testing.T, w *world) {
			w.running(w.submit(alice, plain(1)), 1)
			before := w.sim.Calls().Lists
			w.pass(time.Hour)
			got := time.Hour / time.Duration(w.sim.Calls().Lists-before)
			if got < c.want-2*time.Second || got > c.want+15*time.Second {
				t.Errorf("poll = %v, of the cluster %v: listed every %v", c.site, c.own, got)
			}
		})
	}
}

// The longest time between the listings of a slow cluster is the cluster's own setting, if it has one.
func TestSetting_PollMaxOfACluster(t *testing.T) {
	t.Parallel()
	for own, want := range map[time.Duration]time.Duration{0: 200 * time.Second, 40 * time.Second: 40 * time.Second} {
		o := options{play: always(adaptertest.Play{Life: 2 * time.Hour}), clusters: func(w *world) []engine.Cluster {
			slow := w.add("slow")
			slow.slow.Store(int64(20 * time.Second))
			return []engine.Cluster{{Kind: "sim", Adapter: slow, Config: engine.ClusterConfig{PollMax: jjm.Duration(own)}}}
		}}
		inWorld(t, o, func(t *testing.T, w *world) {
			w.running(w.submit(alice, mc(2)), 2)
			w.pass(20 * time.Minute)
			if got := w.site("slow").Interval.D(); got != want {
				t.Errorf("poll_max = %v: listed every %v, want %v", own, got, want)
			}
		})
	}
}

// deadlines records the deadlines of a cluster's commands.
type deadlines struct {
	*faulty
	mu   sync.Mutex
	seen []time.Duration
}

func (d *deadlines) List(ctx context.Context, o jjm.Owner, since time.Time) (adapters.Listing, error) {
	if at, ok := ctx.Deadline(); ok {
		d.mu.Lock()
		d.seen = append(d.seen, time.Until(at))
		d.mu.Unlock()
	}
	return d.faulty.List(ctx, o, since)
}

// The deadline of one command is the cluster's own setting; if it has none, the site's setting.
func TestSetting_CommandIsTheDeadlineOfOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ site, own, want time.Duration }{
		{10 * time.Second, 0, 10 * time.Second}, {2 * time.Minute, 0, 2 * time.Minute},
		{10 * time.Second, 40 * time.Second, 40 * time.Second},
	} {
		var d *deadlines
		o := options{config: with(func(config *engine.Config) { config.Command = jjm.Duration(c.site) }),
			clusters: func(w *world) []engine.Cluster {
				d = &deadlines{faulty: w.adapter}
				config := w.config.ClusterDefaults()
				if c.own > 0 {
					config.Command = jjm.Duration(c.own)
				}
				return []engine.Cluster{{Kind: "sim", Adapter: d, Config: config}}
			}}
		inWorld(t, o, func(t *testing.T, w *world) {
			w.final(time.Hour, w.submit(alice, plain(1)))
			d.mu.Lock()
			defer d.mu.Unlock()
			if len(d.seen) == 0 || d.seen[0] != 3*c.want { // three times: waiting and repeating included
				t.Errorf("command = %v, of the cluster %v: deadlines of %v", c.site, c.own, d.seen)
			}
		})
	}
}
