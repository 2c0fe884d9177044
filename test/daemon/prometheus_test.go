package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

const (
	alertRules = root + "/etc/prometheus/jjm-alerts.yml"
	dashboard  = root + "/etc/prometheus/jjm-dashboard.json"
)

// promtool runs promtool, and reports an error if the command fails.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "promtool", "prometheus"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Each alert has a test in which promtool simulates a site that is well, the fault, and a site that is well again. The
// alert fires only during the fault.
func TestPrometheus_AlertsFireOnTheirFaultsOnly(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	const tests = "testdata/prometheus/alerts_test.yml"
	promtool(t, "", "check", "rules", alertRules)
	promtool(t, "", "test", "rules", tests)
	tested, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range readRules(t) {
		course := ""
		evaluation := regexp.MustCompile(`alertname: ` + rule.name + `\n +eval_time: \w+\n +exp_alerts:( \[\])?\n`)
		for _, m := range evaluation.FindAllSubmatch(tested, -1) {
			if len(m[1]) > 0 {
				course += "silent "
			} else {
				course += "fires "
			}
		}
		if !regexp.MustCompile(`^(silent )+fires silent $`).MatchString(course) {
			t.Errorf("%s: the test shows %q, want an alert that is silent, fires, and is silent again", rule.name, course)
		}
	}
}

// prometheus is a Prometheus that scrapes one daemon.
type prometheus struct {
	t       *testing.T
	address string
}

// shortened returns alert rules that fire without the waits of the shipped rules: it removes each "for", and divides
// each age in seconds (an expression "time() - x > AGE") by 60. Nothing else changes; in particular the windows of
// rates stay, because a rule can fire long before its window is over.
func shortened(rules string) string {
	rules = regexp.MustCompile(`(?m)^ +for: \w+\n`).ReplaceAllString(rules, "")
	return regexp.MustCompile(`(time\(\) - \w+ > )(\d+)`).ReplaceAllStringFunc(rules, func(age string) string {
		at := strings.LastIndexByte(age, ' ') + 1
		seconds, err := strconv.Atoi(age[at:])
		if err != nil {
			return age
		}
		return age[:at] + strconv.Itoa(seconds/60)
	})
}

func TestShortened_ChangesOnlyWaits(t *testing.T) {
	const rule = "        expr: time() - jjm_x_seconds > 900 and rate(x[10m]) > 60\n        for: 5m\n        labels: {}\n"
	const want = "        expr: time() - jjm_x_seconds > 15 and rate(x[10m]) > 60\n        labels: {}\n"
	if got := shortened(rule); got != want {
		t.Errorf("%s", got)
	}
}

// startPrometheus starts Prometheus with the shipped alert rules, shortened.
func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	program, dir := needs.Program(t, "prometheus", "prometheus"), shortDir(t)
	rules, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"+
		"scrape_configs:\n- job_name: jjm\n  static_configs: [{targets: [%q]}]\n", target)
	for name, text := range map[string]string{"prometheus.yml": config, "rules.yml": shortened(string(rules))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &prometheus{t, fmt.Sprintf("127.0.0.1:%d", freePort(t))}
	cmd := exec.Command(program, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+p.address)
	log := &logBuffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the log of Prometheus:\n%s", log)
		}
	})
	return p
}

// get asks the API of Prometheus, and stores the data of the answer.
func (p *prometheus) get(path string, data any) error {
	r, err := http.Get("http://" + p.address + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// query returns the number of series that a query returns now.
func (p *prometheus) query(expr string) (int, error) {
	var data struct{ Result []json.RawMessage }
	err := p.get("query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// alert waits until the last evaluation of an alert has a state: inactive, pending or firing.
func (p *prometheus) alert(name, state string) {
	p.t.Helper()
	await.Nil(p.t, name+" is "+state, func() error {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, State, Health, LastError string }
			}
		}
		if err := p.get("rules?type=alert", &data); err != nil {
			return err
		}
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				if rule.Name == name && rule.Health == "ok" && rule.State == state {
					return nil
				}
			}
		}
		return fmt.Errorf("the rules are %+v", data)
	})
}

// has waits until a query has series.
func (p *prometheus) has(expr string) {
	p.t.Helper()
	await.Nil(p.t, expr, func() error {
		n, err := p.query(expr)
		if err == nil && n == 0 {
			err = fmt.Errorf("no series")
		}
		return err
	})
}

// panelQueries returns the queries of the dashboard's panels, with its variables replaced: for all daemons, and with
// rates over a minute.
func panelQueries(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			exprs = append(exprs, strings.NewReplacer("$__rate_interval", "1m", "$instance", ".+").Replace(target.Expr))
		}
		if panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("a panel lacks its title or its queries: %+v", panel)
		}
	}
	return exprs
}

// A real Prometheus scrapes a real daemon: each query of the dashboard returns data, and alerts fire on real faults.
func TestPrometheus_ScrapesTheDaemon(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	target := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	d := start(t, fmt.Sprintf("[metrics]\nlisten = %q\n", target))
	p := startPrometheus(t, target)
	p.has(`up{job="jjm"} == 1`)
	d.write("j.toml", "type = \"script\"\n[params]\ncommand = [\"/bin/true\"]\n")
	if out, code := d.says("submit", "j.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	promtool(t, scrape(t, "tcp", target), "check", "metrics")
	exprs := panelQueries(t)
	if len(exprs) < 30 {
		t.Errorf("the dashboard has only %d queries", len(exprs))
	}
	for _, expr := range exprs {
		p.has(expr)
	}
	for _, rule := range readRules(t) {
		p.alert(rule.name, "inactive")
	}
	records := filepath.Join(d.dir, "state", "records")
	if err := os.Rename(records, records+".away"); err != nil {
		t.Fatal(err)
	}
	p.alert("JJMRefusesWork", "firing")
	d.kill()
	p.alert("JJMDown", "firing")
}
