package app

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
	"jjm/internal/publish/advertise/collector"
)

// openPublisher creates the publisher of the site's ad.
func (a *App) openPublisher() {
	a.publisher = collector.New(a.config.Advertise, collector.Deps{
		Facts: a.facts, File: filepath.Join(a.config.State, wire.AdvertisedFile), Now: time.Now, Log: a.log,
	})
}

// brokers carries out the verbs about the site's ad, which brokers read. It also collects the problems of those parts
// of the daemon that the engine does not know.
type brokers struct {
	publisher *collector.Publisher
	// advertises is set if the configuration names collectors.
	advertises bool
	// low returns the reason why the site accepts no new work for lack of space, "" if there is enough space.
	low func() string
	// models returns the models of job files.
	models func() []wire.Model
	// sharedFolders returns notes about the folders in which accounts write.
	sharedFolders func(server.Caller) []string
	// page returns the problem of the web page, "" if there is none.
	page func() string
}

// advertised returns the ad and its state in each collector. If the request has Now set, it sends the ad first; the
// error is of kind Conflict if the configuration names no collector.
func (b brokers) advertised(ctx context.Context, _ wire.Caller, r wire.AdvertiseRequest) (wire.AdvertiseAnswer,
	error) {
	if r.Now && !b.advertises {
		return wire.AdvertiseAnswer{}, jjm.Errorf(jjm.Conflict, "advertise now: this site is not advertised: "+
			"name collectors below [advertise] in the configuration, and restart")
	}
	if r.Now {
		b.publisher.Now(ctx)
	}
	ad := b.publisher.Status()
	return wire.AdvertiseAnswer{Advertised: &ad}, nil
}

// notes returns the problems of the site that concern no single batch system.
func (b brokers) notes(c server.Caller) []string {
	out := b.sharedFolders(c)
	if low := b.low(); low != "" {
		out = append(out, "no new work is taken: "+low)
	}
	for _, trouble := range b.publisher.Trouble() {
		out = append(out, "advertising: "+trouble)
	}
	return out
}

// around returns the facts about the health of the site that the engine does not know.
func (b brokers) around(c server.Caller, version string) engine.Around {
	return engine.Around{Version: version, SharedFolders: b.sharedFolders(c), Advertising: b.publisher.Trouble(),
		Page: b.page()}
}

// facts returns the current facts about this site, for its ad.
func (a *App) facts() advertise.Facts {
	c := a.config.Advertise
	f := advertise.Facts{
		Site: c.Site, Instance: a.store.Nonce(), Version: a.opts.Version, Quality: c.Quality, At: jjm.At(time.Now()),
		Lifetime: int(c.Lifetime.D().Seconds()), Waiting: a.engine.Waiting(),
	}
	for i, w := range a.engine.Clusters(context.Background(), server.Caller{Admin: true}) {
		f.Clusters = append(f.Clusters, clusterFacts(w, a.config.Cluster[i], f.At))
	}
	orders := a.engine.Orders(server.Caller{})
	for _, typ := range a.engine.JobTypes() {
		if typ.Off {
			continue // the type accepts no jobs
		}
		name := typ.Type
		t := advertise.JobType{Name: name}
		for _, o := range orders {
			if o.Kind == jjm.OrderType && o.Name == name {
				t.Drained, t.Paused = t.Drained || o.Verb == jjm.OrderDrain, t.Paused || o.Verb == jjm.OrderPause
			}
		}
		f.Types = append(f.Types, t)
	}
	for _, g := range c.Gatekeeper {
		f.Gatekeepers = append(f.Gatekeepers, advertise.Gatekeeper{Kind: g.Kind, Contact: g.Contact})
	}
	return f
}

// clusterFacts returns the facts of a batch system. While the batch system does not answer, only the number of jobs
// that wait in jjm is known.
func clusterFacts(w wire.Cluster, section map[string]any, now jjm.Time) advertise.Cluster {
	c := advertise.Cluster{
		Name: w.Name, Kind: w.Kind, Guarantee: w.Guarantee, Waiting: w.Waiting, LastSeen: w.LastSeen,
		Limits: advertise.Limits{
			MaxCores: w.Limits.MaxCores, MaxMemoryMB: w.Limits.MaxMemoryMB,
			MaxWallTime: int64(w.Limits.MaxWalltime.D().Seconds()),
			MaxQueued:   w.Limits.MaxQueued, MaxPending: w.Limits.MaxPending, MaxRunning: w.Limits.MaxRunning,
			MaxPendingPerUser: w.Limits.MaxPendingPerUser, MaxRunningPerUser: w.Limits.MaxRunningPerUser,
		},
	}
	c.Queue, c.Queues = queues(section)
	c.Health, c.Reason = health(w)
	for _, o := range w.Orders {
		if o.Kind != jjm.OrderCluster {
			continue // an order for one of its queues
		}
		if !o.Begun(now) {
			continue // the maintenance window has not begun
		}
		c.Drained = c.Drained || o.Verb == jjm.OrderDrain
		c.Paused = c.Paused || o.Verb == jjm.OrderPause || o.Verb == jjm.OrderMaintenance
		c.Reason = o.Reason
	}
	if c.Health == advertise.Answering {
		c.Queued, c.Running = advertise.Known(w.Queued), advertise.Known(w.Running)
		if w.Slots > 0 {
			c.Slots = advertise.Known(w.Slots)
		}
	}
	return c
}

// health returns whether a batch system answers, and the reason if it does not. A batch system counts as answering once
// its slots are known or it has returned a listing. A batch system without jobs is not asked for listings.
func health(w wire.Cluster) (h advertise.Health, why string) {
	switch {
	case w.Breaker != nil:
		return advertise.NotAnswering, w.Breaker.Cause
	case !w.Healthy:
		return advertise.NotAnswering, w.Cause
	case w.Slots > 0 || w.LastSeen != 0:
		return advertise.Answering, ""
	}
	return advertise.HealthUnknown, ""
}

// queues returns the default queue of a cluster, and all its queues, from its section.
func queues(section map[string]any) (first string, all []string) {
	first, _ = section["queue"].(string)
	switch named := section["queues"].(type) {
	case map[string]any:
		all = slices.Sorted(maps.Keys(named))
	case []any:
		for _, v := range named {
			if s, ok := v.(string); ok {
				all = append(all, s)
			}
		}
	}
	if first != "" && !slices.Contains(all, first) {
		all = append(all, first)
	}
	return first, all
}

// siteName returns the default name of a site: the name of the host.
func siteName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
