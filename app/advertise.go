package app

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jjm"
	"jjm/gate"
	"jjm/publish/advertise"
	"jjm/publish/advertise/collector"
	"jjm/wire"
)

// openPublisher makes what tells brokers of this site.
func (a *App) openPublisher() {
	a.publisher = collector.New(a.config.Advertise, collector.Deps{
		Facts: a.facts, File: filepath.Join(a.config.State, wire.AdvertisedFile), Now: time.Now, Log: a.log,
	})
}

// brokers are those who hear of the site, for the verbs that tell of it.
type brokers struct {
	publisher *collector.Publisher
	// advertises is set if brokers are to hear of the site.
	advertises bool
	// low says why no new work is taken for want of space, "" if there is enough.
	low func() string
}

// advertised tells what brokers are told, which with now is sent first.
func (b brokers) advertised(ctx context.Context, now bool) (wire.Advertised, error) {
	if now && !b.advertises {
		return wire.Advertised{}, jjm.Errorf(jjm.Conflict, "advertise now: this site is not advertised: "+
			"name collectors below [advertise] in the configuration, and restart")
	}
	if now {
		b.publisher.Now(ctx)
	}
	return b.publisher.Status(), nil
}

// notes are what people should know of the site, beside its batch systems.
func (b brokers) notes() []string {
	var out []string
	if low := b.low(); low != "" {
		out = append(out, "no new work is taken: "+low)
	}
	for _, trouble := range b.publisher.Trouble() {
		out = append(out, "advertising: "+trouble)
	}
	return out
}

// facts are what this site has to tell just now.
func (a *App) facts() advertise.Facts {
	c := a.config.Advertise
	f := advertise.Facts{
		Site: c.Site, Instance: a.store.Nonce(), Version: a.opts.Version, Quality: c.Quality, At: jjm.At(time.Now()),
		Lifetime: int(c.Lifetime.D().Seconds()), Waiting: a.engine.Waiting(),
	}
	for i, w := range a.engine.Clusters(context.Background()) {
		f.Clusters = append(f.Clusters, clusterFacts(w, a.config.Cluster[i]))
	}
	orders, _ := a.engine.Order(context.Background(), gate.Caller{}, nil) // to list them cannot fail
	for _, typ := range a.engine.JobTypes() {
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

// clusterFacts are what is told of a batch system. While it does not answer only
// what jjm itself holds back is known.
func clusterFacts(w wire.Cluster, section map[string]any) advertise.Cluster {
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
			continue // about one of its queues
		}
		c.Drained, c.Paused = c.Drained || o.Verb == jjm.OrderDrain, c.Paused || o.Verb == jjm.OrderPause
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

// health says whether a batch system answers, and what is wrong if not. One that
// has told its slots or given a listing has answered; none is asked for listings
// while it has no jobs.
func health(w wire.Cluster) (h advertise.Health, why string) {
	switch {
	case w.Breaker != nil:
		return advertise.Silent, w.Breaker.Cause
	case !w.Healthy:
		return advertise.Silent, w.Cause
	case w.Slots > 0 || w.LastSeen != 0:
		return advertise.Answering, ""
	}
	return advertise.Unasked, ""
}

// queues are the names of queues in a cluster's section: that of jobs which name
// none, and all.
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

// siteName is the name of a site that sets none: the host's.
func siteName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
