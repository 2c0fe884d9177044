package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// fixed is a site with fixed figures.
type fixed struct {
	facts  health.Facts
	counts health.Counts
}

func (f fixed) Facts(context.Context) health.Facts { return f.facts }
func (f fixed) Counts() health.Counts              { return f.counts }

// secrets returns texts that occur in the facts of a site and that no metric may show.
func secrets() []string {
	return []string{"alice", "/DC=org/CN=Mallory", "17.3", "grid job 4711", "/home/alice", "tag-x7", "4711"}
}

// full returns a site of n clusters in which everything has happened, and a meter that observed it.
func full(n int) (*Meter, fixed) {
	now := jjm.Time(1_800_000_000_000)
	s := fixed{health.Facts{Now: now, Started: now.Add(-time.Hour), Around: health.Around{Version: "1.2 \"x\"\n"},
		Refuses: secrets()[4] + " is full",
		Disks: health.Disks{At: now, All: []health.Disk{{Of: "work", Path: secrets()[4], Bytes: 100, Free: 40},
			{Of: "records", Bytes: 10, Free: 4}, {Of: "state", Bytes: 10, Free: 4}}},
		Records: health.Records{Behind: 1, Unwritten: 2, Since: now.Add(-time.Minute), Error: secrets()[3], Fragments: 3,
			Oldest: now},
		Store: health.Store{File: 4096, WAL: 1024, Schema: 3},
		Spool: health.Spool{Entries: 5, Oldest: now.Add(-time.Minute)},
		Off:   []health.Off{{Type: "keys", Why: secrets()[0]}},
		Bans:  []jjm.Ban{{Name: secrets()[1], Reason: secrets()[2]}},
	}, health.Counts{Clusters: map[string]health.ClusterCounts{}, Attempts: map[health.End]int64{}, Collected: 12345}}
	for i := range s.counts.Grids {
		s.counts.Grids[i], s.counts.GridsEnded[i] = i+1, 1
	}
	for i := range s.counts.Locals {
		s.counts.Locals[i] = i + 1
	}
	for _, action := range append(verdicts(), "alice") {
		for _, level := range append(levels(), "alice") {
			for _, class := range append(classes(), "") {
				s.counts.Attempts[health.End{Action: jjm.Action(action), Level: strings.ToUpper(level), Class: class}] = 1
			}
		}
	}
	names := Names{Commands: []string{"submit", "list", "find", "account", "control", "probe"}}
	for _, v := range wire.Verbs() {
		names.Verbs = append(names.Verbs, v.Name)
	}
	for i := range n {
		name := fmt.Sprintf("cluster \"%d\"\n\\ü\xff{}#", i)
		names.Clusters = append(names.Clusters, name)
		s.facts.Clusters = append(s.facts.Clusters, wire.Cluster{Name: name, Kind: "slurm", Cause: secrets()[0], Slots: 8,
			Waiting: 3, LastSeen: now, Trouble: []string{secrets()[2]}, Breaker: &wire.Breaker{Cause: secrets()[4]},
			Accounting: &wire.Breaker{Cause: secrets()[4]}, Unsettled: &wire.Unknown{Bulks: 1, Jobs: 2, Since: now},
			Missing: &wire.Unknown{Jobs: 3, Since: now}, Learnt: []wire.LearntLimit{{Account: secrets()[0]}},
			Orders: []jjm.Order{{Kind: jjm.OrderCluster, Name: name, By: secrets()[0], Reason: secrets()[5]}}})
		s.counts.Clusters[name] = health.ClusterCounts{Submissions: 2, Submitted: 9}
	}
	m := New(names)
	m.Watch(s)
	errs := []error{nil, errors.New(secrets()[0])}
	for kind := jjm.Unclassified; kind <= jjm.Internal; kind++ {
		errs = append(errs, jjm.Errorf(kind, "%s", secrets()[2]))
	}
	for _, err := range errs {
		for _, verb := range append(names.Verbs, "", "alice") {
			m.Request(verb, err)
		}
		for _, name := range append(names.Clusters, "removed") {
			for _, command := range names.Commands {
				m.Command(name, command, time.Second, err)
			}
		}
	}
	m.Transaction(time.Millisecond)
	return m, s
}

// scrape returns the text of a scrape.
func scrape(t *testing.T, m *Meter) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series returns the lines of a scrape that are not comments, one for each series.
func series(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// A scrape has fewer than 2000 series for any number and any names of clusters. It contains no account, job or
// certificate.
func TestScrape_IsBoundedAndNamesNobody(t *testing.T) {
	for _, n := range []int{1, MostClusters, 200} {
		m, _ := full(n)
		text := scrape(t, m)
		if got := len(series(text)); got >= 2000 || got < 200 {
			t.Errorf("%d clusters: %d series, want 200 to 1999", n, got)
		}
		for _, secret := range secrets() {
			if strings.Contains(text, secret) {
				t.Errorf("%d clusters: %q occurs in the text", n, secret)
			}
		}
		want := fmt.Sprintf("jjm_clusters_without_series %d", max(0, n-MostClusters))
		if !slices.Contains(series(text), want) {
			t.Errorf("%d clusters: no line %q", n, want)
		}
	}
}

func TestScrape_ShowsFactsCountsAndEvents(t *testing.T) {
	m, _ := full(1)
	lines := series(scrape(t, m))
	name := `cluster="cluster \"0\"\n\\ü?{}#"`
	for _, want := range []string{
		`jjm_build_info{version="1.2 \"x\"\n"} 1`,
		`jjm_start_time_seconds 1.7999964e+09`,
		`jjm_accepting_work 0`,
		`jjm_health_checks{check="space",state="critical"} 1`,
		`jjm_health_checks{check="space",state="ok"} 0`,
		`jjm_grid_jobs{status="registered"} 1`,
		`jjm_local_jobs{state="submitting"} 2`,
		`jjm_grid_jobs_ended_total{status="done"} 1`,
		`jjm_attempts_ended_total{level="exit",verdict="fail"} 4`,
		`jjm_attempts_ended_total{level="other",verdict="other"} 4`,
		`jjm_retries_total{class="early"} 11`,
		`jjm_collected_bytes_total 12345`,
		`jjm_cluster_up{` + name + `} 0`,
		`jjm_cluster_breaker_open{` + name + `} 1`,
		`jjm_cluster_last_listing_timestamp_seconds{` + name + `} 1.8e+09`,
		`jjm_cluster_unsettled_submissions{` + name + `} 1`,
		`jjm_cluster_missing_jobs{` + name + `} 3`,
		`jjm_cluster_submitted_jobs_total{` + name + `} 9`,
		`jjm_cluster_command_duration_seconds_count{` + name + `,command="list"} 10`,
		`jjm_cluster_command_failures_total{` + name + `,kind="busy"} 6`,
		`jjm_requests_total{outcome="ok",verb="ping"} 1`,
		`jjm_requests_total{outcome="refused",verb="ping"} 4`,
		`jjm_requests_total{outcome="busy",verb="none"} 2`,
		`jjm_requests_total{outcome="failed",verb="submit"} 4`,
		`jjm_disk_free_bytes{area="work"} 40`,
		`jjm_records_unwritten 2`,
		`jjm_store_wal_size_bytes 1024`,
		`jjm_store_transaction_duration_seconds_count 1`,
		`jjm_spool_entries 5`,
		`jjm_spool_oldest_timestamp_seconds 1.79999994e+09`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
}

// A figure that is unknown is left out of the scrape instead of being shown as 0.
func TestScrape_LeavesOutWhatIsNotKnown(t *testing.T) {
	m := New(Names{Clusters: []string{"new"}})
	m.Watch(fixed{facts: health.Facts{Clusters: []wire.Cluster{{Name: "new", Healthy: true}},
		Store: health.Store{Error: "x"}, Spool: health.Spool{Error: "x"}}})
	text := scrape(t, m)
	for _, name := range []string{"jjm_cluster_last_listing", "jjm_store_size", "jjm_spool", "jjm_disk"} {
		if strings.Contains(text, "\n"+name) {
			t.Errorf("%s is there:\n%s", name, text)
		}
	}
	for _, check := range health.Names() {
		if !strings.Contains(text, `jjm_health_checks{check="`+check+`",state="critical"} `) {
			t.Errorf("no series of the check %s before its trouble:\n%s", check, text)
		}
	}
	if !strings.Contains(text, `jjm_cluster_up{cluster="new"} 1`) {
		t.Errorf("the cluster is missing:\n%s", text)
	}
}

func TestScrape_KeepsTheConventionsOfPrometheus(t *testing.T) {
	m, _ := full(2)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// docs/SERVICE.md lists exactly the figures that exist.
func TestScrape_ThePageListsEachFigure(t *testing.T) {
	page, err := os.ReadFile("../../../docs/SERVICE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(page), "\n## Metrics\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(chapter) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range regexp.MustCompile("`(jjm_[a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
				listed[name[1]] = true
			}
		}
	}
	m, _ := full(1)
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (jjm_\S+)`).FindAllStringSubmatch(scrape(t, m), -1) {
		if !listed[name[1]] {
			t.Errorf("the page does not list %s", name[1])
		}
		delete(listed, name[1])
	}
	for name := range listed {
		t.Errorf("the page lists %s, which does not exist", name)
	}
}

func TestHandler_AnswersOnlyGETOfMetrics(t *testing.T) {
	m, _ := full(1)
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/metrics", 200}, {"GET", "/metrics?x=1", 200}, {"HEAD", "/metrics", 405}, {"POST", "/metrics", 405},
		{"DELETE", "/metrics", 405}, {"GET", "/", 404}, {"GET", "/metrics/", 404}, {"GET", "/debug/pprof/", 404}} {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		body, err := io.ReadAll(w.Body)
		if w.Code != c.want || err != nil || c.want != 200 && strings.Contains(string(body), "jjm_") {
			t.Errorf("%s %s: %d, want %d: %.80s", c.method, c.path, w.Code, c.want, body)
		}
	}
}
