package metrics

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/health"
)

// Site is the source of the figures of the site at each scrape. Its methods may be called from many goroutines.
type Site interface {
	// Facts returns the facts about the health of the site.
	Facts(context.Context) health.Facts
	// Counts returns the counts of jobs.
	Counts() health.Counts
}

// Watch adds the figures of a site to each scrape. It is called once, before the first scrape.
func (m *Meter) Watch(s Site) { m.registry.MustRegister(&watched{site: s, clusters: m.clusters}) }

// scrapeTime is the maximum duration of a scrape. By default, Prometheus waits 10 s.
const scrapeTime = 10 * time.Second

// watched collects the figures of a site.
type watched struct {
	site     Site
	clusters map[string]bool // the clusters that have series
}

// Describe sends nothing, because some figures do not always exist. For example, the age of a listing does not exist
// before the first listing.
func (*watched) Describe(chan<- *prometheus.Desc) {}

// Collect sends all figures.
func (w *watched) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	f, n := w.site.Facts(ctx), w.site.Counts()
	s := sink{ch}
	s.daemon(f)
	s.jobs(n)
	s.ends(n)
	for _, cl := range f.Clusters {
		if w.clusters[cl.Name] {
			s.cluster(valid(cl.Name), cl, n.Clusters[cl.Name])
		}
	}
	s.gauge("jjm_clusters_without_series", "Clusters beyond the first that have no series of their own.",
		float64(max(0, len(f.Clusters)-len(w.clusters))))
	s.storage(f)
}

// sink receives figures.
type sink struct{ ch chan<- prometheus.Metric }

// gauge sends a value that can rise and fall. labels alternates names and values of labels.
func (s sink) gauge(name, help string, value float64, labels ...string) {
	s.send(prometheus.GaugeValue, name, help, value, labels)
}

// counter sends a value that never falls.
func (s sink) counter(name, help string, value float64, labels ...string) {
	s.send(prometheus.CounterValue, name, help, value, labels)
}

// send sends one value with its labels.
func (s sink) send(typ prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for pair := range slices.Chunk(labels, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	desc := prometheus.NewDesc(name, help, names, nil)
	metric, err := prometheus.NewConstMetric(desc, typ, value, values...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(desc, err)
	}
	s.ch <- metric
}

// at sends a time. It sends nothing if the time is unknown.
func (s sink) at(name, help string, t jjm.Time, labels ...string) {
	if t != 0 {
		s.gauge(name, help, float64(t.Time().UnixMilli())/1000, labels...)
	}
}

// number returns 1 for true and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// daemon sends the figures of the daemon as a whole.
func (s sink) daemon(f health.Facts) {
	s.gauge("jjm_build_info", "The version of the daemon; the value is always 1.", 1, "version", valid(f.Version))
	s.at("jjm_start_time_seconds", "When the daemon started, in seconds since 1970.", f.Started)
	s.gauge("jjm_accepting_work", "1 if new grid jobs are accepted, 0 if space lacks or a folder is lost.",
		number(f.Refuses == ""))
	s.gauge("jjm_job_types_off", "Job types that are off because of mistakes in their files.", float64(len(f.Off)))
	type key struct{ check, state string }
	checks := map[key]int{}
	for _, c := range health.Checks(f) {
		checks[key{c.Name, c.State}]++
	}
	for _, name := range health.Names() { // checks that exist only during trouble have series before the trouble
		for _, state := range []string{health.OK, health.Warning, health.Critical, health.Unknown} {
			s.gauge("jjm_health_checks", "Checks of jjm health, by name and state.", float64(checks[key{name, state}]),
				"check", name, "state", strings.ToLower(state))
		}
	}
}

// jobs sends the numbers of jobs.
func (s sink) jobs(n health.Counts) {
	for status, jobs := range n.Grids {
		s.gauge("jjm_grid_jobs", "Live grid jobs, by status. Grid jobs in the history are not counted.", float64(jobs),
			"status", jjm.GridStatus(status).String())
	}
	for state, jobs := range n.Locals {
		s.gauge("jjm_local_jobs", "Local jobs of live grid jobs, by state.", float64(jobs),
			"state", jjm.State(state).String())
	}
}

// ends sends the numbers of jobs and attempts that ended since the daemon started.
func (s sink) ends(n health.Counts) {
	for status, ended := range n.GridsEnded {
		if jjm.GridStatus(status).Final() {
			s.counter("jjm_grid_jobs_ended_total", "Grid jobs that ended, by final status.", float64(ended),
				"status", jjm.GridStatus(status).String())
		}
	}
	type end struct{ verdict, level string }
	ends, retries := map[end]int64{}, map[string]int64{}
	for _, verdict := range verdicts() {
		for _, level := range levels() {
			ends[end{verdict, level}] = 0 // send the count 0, because a rate misses the first event of a new series
		}
	}
	for _, class := range append(classes(), other) {
		retries[class] = 0
	}
	for e, count := range n.Attempts {
		ends[end{oneOf(string(e.Action), verdicts()), oneOf(e.Level, levels())}] += count
		if e.Action == jjm.Retry {
			retries[oneOf(e.Class, classes())] += count
		}
	}
	for e, count := range ends {
		s.counter("jjm_attempts_ended_total",
			"Attempts that ended, by verdict and by the level of the evidence that decided (docs/RULES.md).",
			float64(count), "verdict", e.verdict, "level", e.level)
	}
	for class, count := range retries {
		s.counter("jjm_retries_total", "Attempts after which a local job is tried again, by the retry limit that counts them.",
			float64(count), "class", class)
	}
	s.counter("jjm_collected_bytes_total", "Bytes of the output tars of grid jobs that ended.", float64(n.Collected))
}

// other is the value of a label for all words outside its closed set.
const other = "other"

// verdicts, levels and classes return the closed sets of the labels about attempts.
func verdicts() []string {
	return []string{string(jjm.Complete), string(jjm.Retry), string(jjm.Hold), string(jjm.Fail), string(jjm.Cancel)}
}

func levels() []string {
	return lower(analyse.LevelGanga, analyse.LevelGrid, analyse.LevelBatch, analyse.LevelWorker,
		analyse.LevelApplication, analyse.LevelUser, analyse.LevelExit, analyse.LevelType, analyse.LevelIntent,
		analyse.LevelSubmit)
}

func classes() []string {
	return lower(analyse.Early, analyse.LateHandled, analyse.LateUnhandled)
}

// lower returns words in lower case.
func lower(words ...string) []string {
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return words
}

// oneOf returns a word in lower case if the word belongs to a closed set, and otherwise "other".
func oneOf(word string, set []string) string {
	if word = strings.ToLower(word); slices.Contains(set, word) {
		return word
	}
	return other
}

// cluster sends the figures of one cluster.
func (s sink) cluster(name string, cl wire.Cluster, n health.ClusterCounts) {
	gauge := func(figure, help string, value float64, labels ...string) {
		s.gauge("jjm_cluster_"+figure, help, value, append([]string{"cluster", name}, labels...)...)
	}
	for state, jobs := range n.Jobs {
		if jjm.State(state).InBatch() {
			gauge("jobs", "Local jobs that the batch system has or is about to get, by state.", float64(jobs),
				"state", jjm.State(state).String())
		}
	}
	gauge("waiting_jobs", "Local jobs that wait in jjm for a submission and may go to this cluster.", float64(cl.Waiting))
	gauge("slots", "Slots of the batch system, 0 if they are not known.", float64(cl.Slots))
	gauge("up", "1 if the batch system answers, 0 during an outage.", number(cl.Healthy && cl.Breaker == nil))
	gauge("breaker_open", "1 if the circuit breaker is not closed: no commands are sent but probes.",
		number(cl.Breaker != nil))
	gauge("accounting_breaker_open", "1 if the circuit breaker of the accounting commands is not closed.",
		number(cl.Accounting != nil))
	s.at("jjm_cluster_last_listing_timestamp_seconds", "When the last complete listing of jobs was made.", cl.LastSeen,
		"cluster", name)
	unsettled, missing := orNone(cl.Unsettled), orNone(cl.Missing)
	gauge("unsettled_submissions", "Submissions in doubt for longer than engine.unknown_warn.", float64(unsettled.Bulks))
	gauge("unsettled_jobs", "Local jobs of submissions in doubt for longer than engine.unknown_warn.",
		float64(unsettled.Jobs))
	gauge("missing_jobs", "Local jobs that listings have not shown for longer than engine.unknown_warn.",
		float64(missing.Jobs))
	s.counter("jjm_cluster_submissions_total", "Bulks that were made for a submission.", float64(n.Submissions),
		"cluster", name)
	s.counter("jjm_cluster_submitted_jobs_total", "Local jobs in bulks that were made for a submission.",
		float64(n.Submitted), "cluster", name)
}

// orNone returns the value of u, or a count of 0 if u is nil.
func orNone(u *wire.Unknown) wire.Unknown {
	if u == nil {
		return wire.Unknown{}
	}
	return *u
}

// storage sends the figures of disks, records, store and spool.
func (s sink) storage(f health.Facts) {
	for _, d := range f.Disks.All {
		s.gauge("jjm_disk_free_bytes", "Free space of a file system, by the first folder on it.", float64(d.Free),
			"area", d.Of)
		s.gauge("jjm_disk_size_bytes", "Size of a file system, by the first folder on it.", float64(d.Bytes), "area", d.Of)
	}
	s.gauge("jjm_records_behind", "Records of live grid jobs that are about to be written.", float64(f.Records.Behind))
	s.gauge("jjm_records_unwritten", "Records that could not be written at the last try.", float64(f.Records.Unwritten))
	s.gauge("jjm_record_fragments", "Fragments in the drop folder that wait for their record.",
		float64(f.Records.Fragments))
	if f.Store.Error == "" {
		s.gauge("jjm_store_size_bytes", "Size of the store.", float64(f.Store.File))
		s.gauge("jjm_store_wal_size_bytes", "Size of the store's write-ahead log.", float64(f.Store.WAL))
	}
	if f.Spool.Error == "" {
		s.gauge("jjm_spool_entries", "Requests of gatekeepers that wait in the spool.", float64(f.Spool.Entries))
		if f.Spool.Entries > 0 {
			s.at("jjm_spool_oldest_timestamp_seconds", "When the oldest request in the spool was written.", f.Spool.Oldest)
		}
	}
}
