package daemon_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scraped are the series of a scrape: the values of each label, by the name of the figure and of the label. A figure
// without labels has an empty entry.
type scraped map[string]map[string][]string

// readScrape reads the text of a scrape.
func readScrape(text string) scraped {
	all := scraped{}
	series := regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	for _, m := range series.FindAllStringSubmatch(text, -1) {
		if all[m[1]] == nil {
			all[m[1]] = map[string][]string{}
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			all[m[1]][l[1]] = append(all[m[1]][l[1]], l[2])
		}
	}
	return all
}

// ofPrometheus are the labels that Prometheus adds to each series that it scrapes.
var ofPrometheus = []string{"instance", "job"}

// misnamed returns what an expression of Prometheus names and a scrape does not have: figures, labels, values of
// labels. It reports a label that by, on or a text names if no figure of the expression has the label.
func (s scraped) misnamed(expr string) (wrong []string) {
	labels := slices.Clone(ofPrometheus)
	figure := regexp.MustCompile(`\b((?:jjm|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	for _, m := range figure.FindAllStringSubmatch(expr, -1) {
		has, exists := s[m[1]]
		if !exists {
			wrong = append(wrong, m[1])
			continue
		}
		labels = slices.AppendSeq(labels, maps.Keys(has))
		for _, l := range regexp.MustCompile(`([a-z_]+)(=~|!=|!~|=)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			if slices.Contains(ofPrometheus, l[1]) {
				continue
			}
			for value := range strings.SplitSeq(l[3], "|") {
				if !slices.Contains(has[l[1]], value) {
					wrong = append(wrong, fmt.Sprintf("%s{%s=%q}", m[1], l[1], value))
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(labels, name) {
				wrong = append(wrong, m[0])
			}
		}
	}
	for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(labels, m[1]) {
			wrong = append(wrong, m[0])
		}
	}
	return wrong
}

// alertRule is a rule of the file of alerts. All is its whole text.
type alertRule struct{ name, remedy, all string }

// readRules returns the shipped alert rules.
func readRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	text, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range strings.Split(string(text), "- alert: ")[1:] {
		name, _, _ := strings.Cut(all, "\n")
		remedy := regexp.MustCompile(`(?m)^ +remedy: "(.*)"$`).FindStringSubmatch(all)
		if remedy == nil {
			t.Fatalf("%s has no remedy", name)
		}
		rules = append(rules, alertRule{name, remedy[1], all})
	}
	if len(rules) < 16 {
		t.Fatalf("only %d alerts were found", len(rules))
	}
	return rules
}

// The alert rules and the dashboard name only figures, labels and values of labels that a daemon without any trouble
// exports. An alert whose series exists only during its fault would miss the beginning of the fault.
func TestPrometheus_FilesNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	target := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	d := start(t, fmt.Sprintf("[metrics]\nlisten = %q\n", target))
	d.write("j.toml", "type = \"script\"\n[params]\ncommand = [\"/bin/true\"]\n")
	if out, code := d.says("submit", "j.toml", "--wait"); code != 0 { // there is no time of a listing before the first job
		t.Fatalf("exit %d\n%s", code, out)
	}
	real := readScrape(scrape(t, "tcp", target))
	const waits = "jjm_spool_oldest_timestamp_seconds" // exists only while a request waits
	if real[waits] == nil {
		real[waits] = map[string][]string{}
	}
	for _, rule := range readRules(t) {
		for _, name := range real.misnamed(rule.all) {
			t.Errorf("%s names %s, which does not exist", rule.name, name)
		}
	}
	queries := panelQueries(t)
	if len(queries) < 30 {
		t.Errorf("the dashboard has only %d queries", len(queries))
	}
	for _, expr := range queries {
		for _, name := range real.misnamed(expr) {
			t.Errorf("the dashboard's %s names %s, which does not exist", expr, name)
		}
	}
	for expr, want := range map[string]string{
		`jjm_no_figure`: `jjm_no_figure`,
		`jjm_health_checks{check=~"folders|no",state="critical"}`:                 `jjm_health_checks{check="no"}`,
		`jjm_cluster_up{name="local"}`:                                            `jjm_cluster_up{name="local"}`,
		`sum by (instance, verb) (jjm_requests_total{outcome="failed"})`:          "",
		`sum by (instance, queue) (jjm_requests_total)`:                           `by (instance, queue)`,
		`jjm_accepting_work == 0 "{{ $labels.check }} on {{ $labels.instance }}"`: `$labels.check`,
	} {
		if got := strings.Join(real.misnamed(expr), " "); got != want {
			t.Errorf("%s: found %q, want %q", expr, got, want)
		}
	}
}

// docs/SERVICE.md lists exactly the alerts that exist, in their order, with their remedies.
func TestPrometheus_ThePageListsEachAlert(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/SERVICE.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, listed []string
	for _, rule := range readRules(t) {
		want = append(want, rule.name+": "+rule.remedy)
	}
	rows := regexp.MustCompile("(?m)^\\| `(JJM\\w+)` \\| .+ \\| (.+) \\|$")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1]+": "+row[2])
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("the alerts of the page (-want +got):\n%s", diff)
	}
}
