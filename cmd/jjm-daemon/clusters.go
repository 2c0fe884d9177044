package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"jjm/adapters/conformance"
	"jjm/internal/app"
	"jjm/internal/jjm"
)

type clustersGroup struct {
	Test clusterTest `cmd:"" help:"Test a cluster with real jobs."`
}

// clusterTest is the command "jjm clusters test", which tests a cluster.
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

// Help returns the text of --help below the usage.
func (clusterTest) Help() string {
	return `It sends some hundred and thirty short jobs of one core to the cluster, as this
account, which must be the daemon's - or, where run_as = "owner", as the account that root names
with --as - and checks what jjm relies on: the work area both ways, the
wrapper, the account and the clock on a worker; ids, ends, signals, listings,
searches, cancels. The daemon need not run. What each check proves, and what to
do when it fails, is in docs/ADAPTERS.md. What the cluster does not have - arrays, a
walltime, a shared file system - is not tested: those checks are "not applicable".

While nothing ends, a line on standard error says each 30 s which checks run. Where no
job starts within the patience, where it is not known whether the first was taken, or on
Ctrl-C, the checks that remain are not tried.

Exit code 0 if all passed, 1 if something failed or was not tried, 2 if the command line
is wrong.

Example:
  $ sudo -u jjm jjm clusters test farm --patience 1h`
}

// exit is an error that determines the exit code of the command.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// Run tests the cluster.
func (c *clusterTest) Run(stdout io.Writer, stderr errorOutput) (err error) {
	if c.Patience < 0 {
		return &exit{exitUsage, fmt.Errorf("--patience %v: want a time such as 10m", jjm.Duration(c.Patience))}
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
	w := newTestWatch(stderr, sayAfter)
	t.Began = w.began
	failed := t.Run(ctx, func(o conformance.Outcome) {
		w.ended(o.Check.Name)
		r.outcome(o)
	})
	w.stop()
	r.end(t)
	if r.err != nil {
		return fmt.Errorf("write the report: %w", r.err)
	}
	if failed > 0 {
		return &exit{code: exitNo, err: fmt.Errorf("%s of cluster %s failed", jjm.Count(failed, "check"), c.Name)}
	}
	if n := r.sums.NotTried; n > 0 {
		return &exit{code: exitNo, err: fmt.Errorf("%s of cluster %s not tried: %s", jjm.Count(n, "check"), c.Name,
			cmp.Or(t.Why, "the lines above say why"))}
	}
	return nil
}
