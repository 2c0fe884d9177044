package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"jjm/internal/jjm"
)

// MostClusters is the maximum number of clusters with series. The limit keeps a scrape below 2000 series.
const MostClusters = 20

// Meter observes events and publishes all figures. Its methods may be called from many goroutines.
type Meter struct {
	registry *prometheus.Registry
	clusters map[string]bool // the clusters that have series
	verbs    map[string]bool // the known verbs of the socket

	requests     *prometheus.CounterVec
	commands     *prometheus.HistogramVec
	failures     *prometheus.CounterVec
	transactions prometheus.Histogram
}

// Names are the possible values of labels that name clusters, commands and verbs. They do not change while the daemon
// runs.
type Names struct {
	// Clusters are the configured clusters, in order.
	Clusters []string
	// Commands are the kinds of commands that are sent to batch systems. Verbs are the verbs of the socket.
	Commands, Verbs []string
}

// New returns a Meter whose counts of events are 0. Watch adds the figures of the site.
func New(names Names) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(), clusters: map[string]bool{}, verbs: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jjm_requests_total",
			Help: "Requests on the daemon's socket, by verb and outcome."}, []string{"verb", "outcome"}),
		commands: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "jjm_cluster_command_duration_seconds",
			Help:    "Duration of calls to the batch system, by kind.",
			Buckets: []float64{0.1, 1, 5, 30, 120}}, []string{"cluster", "command"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jjm_cluster_command_failures_total",
			Help: "Calls to the batch system that failed, by kind of error."}, []string{"cluster", "kind"}),
		transactions: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "jjm_store_transaction_duration_seconds",
			Help:    "Duration of write transactions of the store, without the wait for other transactions.",
			Buckets: []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}}),
	}
	for _, verb := range names.Verbs {
		m.verbs[verb] = true
		for _, outcome := range []string{answered, refused, busy, failed} {
			m.requests.WithLabelValues(verb, outcome) // a rate misses the first event of a new series
		}
	}
	for _, name := range names.Clusters[:min(len(names.Clusters), MostClusters)] {
		m.clusters[name] = true
		for _, command := range names.Commands {
			m.commands.WithLabelValues(valid(name), command)
		}
		for kind := jjm.Unclassified; kind <= jjm.Internal; kind++ {
			m.failures.WithLabelValues(valid(name), kindWord(kind))
		}
	}
	m.registry.MustRegister(m.requests, m.commands, m.failures, m.transactions,
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// The outcomes of requests.
const (
	answered = "ok"
	refused  = "refused" // the client is the cause
	busy     = "busy"    // the client may try again
	failed   = "failed"  // jjm is the cause, or the outcome is unknown
)

// outcomeOf returns the outcome of a request.
func outcomeOf(err error) string {
	if err == nil {
		return answered
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return refused
	case jjm.Busy:
		return busy
	}
	return failed
}

// kindWord returns the word of a kind of error.
func kindWord(kind jjm.Kind) string {
	if kind == jjm.Unclassified {
		return "unclassified"
	}
	return kind.String()
}

// Request counts a request on the socket. An unknown verb is counted as "none".
func (m *Meter) Request(verb string, err error) {
	if !m.verbs[verb] {
		verb = "none"
	}
	m.requests.WithLabelValues(verb, outcomeOf(err)).Inc()
}

// Command observes a call to the batch system of a cluster.
func (m *Meter) Command(cluster, command string, took time.Duration, err error) {
	if !m.clusters[cluster] {
		return
	}
	m.commands.WithLabelValues(valid(cluster), command).Observe(took.Seconds())
	if err != nil {
		m.failures.WithLabelValues(valid(cluster), kindWord(jjm.KindOf(err))).Inc()
	}
}

// Transaction observes a write transaction of the store.
func (m *Meter) Transaction(took time.Duration) { m.transactions.Observe(took.Seconds()) }

// valid returns a name as the value of a label. It replaces invalid UTF-8, because the value must be UTF-8.
func valid(name string) string { return strings.ToValidUTF8(name, "?") }
