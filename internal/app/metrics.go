package app

import (
	"context"
	"net"
	"time"

	"jjm/adapters/idealize"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	policy "jjm/internal/policy/health"
	"jjm/internal/publish/metrics"
)

// metering holds the meter and the listener for scrapes, which publish metrics. Both are nil if the configuration does
// not set metrics.listen.
type metering struct {
	meter   *metrics.Meter
	scrapes net.Listener
}

// newMeter returns the meter of a configuration, nil if nothing listens for scrapes.
func newMeter(c *Config) *metrics.Meter {
	if c.Metrics.Listen == "" {
		return nil
	}
	var names metrics.Names
	for _, section := range c.Cluster {
		name, _ := section["name"].(string)
		names.Clusters = append(names.Clusters, name)
	}
	for _, verb := range idealize.Verbs() {
		names.Commands = append(names.Commands, verb.String())
	}
	for _, verb := range wire.Verbs() {
		names.Verbs = append(names.Verbs, verb.Name)
	}
	return metrics.New(names)
}

// observeStore returns the observer of the store's transactions, nil if there are no metrics.
func (a *App) observeStore() func(time.Duration) {
	if a.meter == nil {
		return nil
	}
	return a.meter.Transaction
}

// observeCommands returns the observer of a cluster's commands, nil if there are no metrics.
func (a *App) observeCommands(cluster string) func(idealize.Verb, time.Duration, error) {
	if a.meter == nil {
		return nil
	}
	return func(verb idealize.Verb, took time.Duration, err error) {
		a.meter.Command(cluster, verb.String(), took, err)
	}
}

// observedServer returns the settings of the server with the observer of requests.
func (a *App) observedServer() server.Config {
	c := a.config.Gate // a copy, because reload compares the settings, and functions cannot be compared
	if a.meter != nil {
		c.Observe = a.meter.Request
	}
	return c
}

// figures implements metrics.Site: at each scrape it provides the figures of the site.
type figures struct {
	engine  *engine.Engine
	brokers brokers
	version string
}

// Facts returns the facts about the site as an administrator sees them.
func (f figures) Facts(ctx context.Context) policy.Facts {
	admin := server.Caller{Admin: true}
	return f.engine.Facts(ctx, admin, f.brokers.around(admin, f.version))
}

// Counts returns the counts of jobs.
func (f figures) Counts() policy.Counts { return f.engine.Counts() }

// openMetrics opens the listener for scrapes. The error is of kind Invalid if the address cannot be used.
func (a *App) openMetrics(b brokers) (err error) {
	if a.meter == nil {
		return nil
	}
	a.meter.Watch(figures{a.engine, b, a.opts.Version})
	if listen := a.config.Metrics.Listen; a.config.Metrics.Socket() {
		a.scrapes, err = server.Listen(listen, server.Config{Mode: "0666"})
	} else {
		a.scrapes, err = net.Listen("tcp", listen)
	}
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "metrics.listen: %w: free the address, or set metrics.listen to another one", err)
	}
	if n := len(a.config.Cluster); n > metrics.MostClusters {
		a.log.Warn("only the first clusters have metrics of their own", "clusters", n, "most", metrics.MostClusters)
	}
	a.onClose("metrics", func() error { return ignoreClosed(a.scrapes.Close()) })
	return nil
}

// serveMetrics answers scrapes until ctx ends. If the listener fails, the daemon continues without it.
func (a *App) serveMetrics(ctx context.Context) {
	if a.meter == nil {
		return
	}
	a.log.Info("metrics are served", "listen", a.config.Metrics.Listen)
	if err := a.meter.Serve(ctx, a.scrapes, a.log); err != nil {
		a.log.Error("metrics are no longer served before a restart", "error", err)
	}
}
