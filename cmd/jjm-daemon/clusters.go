package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"jjm"
	"jjm/adapters/conformance"
	"jjm/app"
)

type clustersGroup struct {
	Test clusterTest `cmd:"" help:"Test a cluster with real jobs."`
}

// clusterTest is "jjm clusters test".
type clusterTest struct {
	Name     string        `arg:"" help:"The cluster's name in the configuration."`
	JSON     bool          `name:"json" help:"One JSON object per check, then one with the sums."`
	Config   string        `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`
	As       string        `help:"The account whose jobs to test; for root." placeholder:"USER"`
	Patience time.Duration `help:"How long a job may wait and run (default: 10m)." placeholder:"DURATION"`
	Queue    string        `help:"Queue or partition of the jobs (default: the cluster's)."`
	Account  string        `help:"Account that is charged (default: the cluster's)."`
	Project  string        `help:"Project of the jobs (default: the cluster's)."`
}

// Help is the rest of its help.
func (clusterTest) Help() string {
	return `It sends some fifty short jobs of one core to the cluster, as this account, which
must be the daemon's - or, where run_as = "owner", as the account that root names
with --as - and checks what jjm relies on: the work area both ways, the
wrapper, the account and the clock on a worker; ids, ends, signals, listings,
searches, cancels. The daemon need not run. What each check proves, and what to
do when it fails, is in docs/ADAPTERS.md.

Exit code 0 if all passed, 1 if something failed, 2 if the command line is wrong.

Example:
  $ sudo -u jjm jjm clusters test farm --patience 1h`
}

// exit is an error with an exit code of its own.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// Run tests the cluster.
func (c *clusterTest) Run(stdout io.Writer) (err error) {
	if c.Patience < 0 {
		return &exit{exitUsage, fmt.Errorf("--patience %v: want a time such as 10m", c.Patience)}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where am I: %w", err)
	}
	t, err := app.NewClusterTest(ctx, app.Options{Config: c.Config, Getenv: os.Getenv, Stderr: os.Stderr, Executable: exe},
		c.Name, c.As)
	if jjm.KindOf(err) == jjm.Gone {
		return &exit{exitUsage, err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if c.Patience > 0 {
		t.Patience = c.Patience
	}
	t.Request.Queue, t.Request.Account, t.Request.Project = c.Queue, c.Account, c.Project
	r := &testReport{out: stdout, json: c.JSON, began: time.Now()}
	r.begin(t)
	failed := t.Run(ctx, r.outcome)
	r.end(t)
	if r.err != nil {
		return fmt.Errorf("write the report: %w", r.err)
	}
	if failed > 0 {
		return &exit{code: exitNo, err: fmt.Errorf("%d checks of cluster %s failed", failed, c.Name)}
	}
	return nil
}

// testReport writes outcomes as they come.
type testReport struct {
	out   io.Writer
	json  bool
	began time.Time
	sums  struct {
		Cluster string `json:"cluster"`
		Passed  int    `json:"passed"`
		Failed  int    `json:"failed"`
		Skipped int    `json:"skipped"`
		TookMS  int64  `json:"took_ms"`
	}
	err error // the first of writing
}

func (r *testReport) printf(format string, args ...any) {
	if _, err := io.WriteString(r.out, printable(fmt.Sprintf(format, args...))); r.err == nil {
		r.err = err
	}
}

func (r *testReport) object(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

func (r *testReport) begin(t *app.ClusterTest) {
	if !r.json {
		r.printf("Testing cluster %s (%s) as %s, with jobs in %s; each may take %v.\n",
			t.Cluster, t.Kind, t.Owner.User, t.Dir, t.Patience)
	}
}

// outcome writes one check: what it was, and if it failed, why and what to do.
func (r *testReport) outcome(o conformance.Outcome) {
	remedy := ""
	switch o.Word() {
	case "ok":
		r.sums.Passed++
	case "skipped":
		r.sums.Skipped++
	default:
		r.sums.Failed++
		remedy = o.Check.Remedy
	}
	if r.json {
		r.object(struct {
			Check    string   `json:"check"`
			Result   string   `json:"result"`
			TookMS   int64    `json:"took_ms"`
			Failures []string `json:"failures,omitempty"`
			Remedy   string   `json:"remedy,omitempty"`
			Why      string   `json:"skipped,omitempty"`
			Notes    []string `json:"notes,omitempty"`
		}{o.Check.Name, strings.ToLower(o.Word()), o.Took.Milliseconds(), o.Failures, remedy, o.Skipped, o.Notes})
		return
	}
	r.printf("%-7s %6.2f s  %s\n", o.Word(), o.Took.Seconds(), o.Check.Name)
	details := append(append([]string{}, o.Failures...), o.Notes...)
	if o.Word() == "skipped" {
		details = []string{o.Skipped}
	}
	if remedy != "" {
		details = append(details, "remedy: "+remedy)
	}
	for _, text := range details {
		r.printf("%18s%s\n", "", strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 18)))
	}
}

func (r *testReport) end(t *app.ClusterTest) {
	r.sums.Cluster, r.sums.TookMS = t.Cluster, time.Since(r.began).Milliseconds()
	if r.json {
		r.object(r.sums)
		return
	}
	r.printf("%d passed, %d failed, %d skipped, in %v.\n", r.sums.Passed, r.sums.Failed, r.sums.Skipped,
		time.Since(r.began).Round(100*time.Millisecond))
}

// printable replaces what could control a terminal: batch systems and jobs have
// written some of it.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}
