package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/adapters/conformance"
	"jjm/internal/jjm"
)

// ClusterTest runs checks of package conformance with real jobs on one cluster of the configuration. It runs only
// checks that do not harm a site's own queue. It needs no daemon and does not disturb a running daemon, because its
// adapters have their own state folders.
type ClusterTest struct {
	// Request contains the resources that the jobs of the test request.
	Request jjm.Request
	// Patience is the longest time from a job's submission to its end. Jobs spend most of this time in the queue.
	Patience time.Duration

	// Cluster and Kind are the cluster's name and kind in the configuration, Owner is the account and Dir the folder
	// of the jobs.
	Cluster, Kind string
	Owner         jjm.Owner
	Dir           string
	// Notes are texts to show to people before the first check.
	Notes []string

	// NotTried is the number of checks that Run left out. Why is the reason, for example that no command of the batch
	// system answers.
	NotTried int
	Why      string
	// Began, if set, is called with the name of each check when the check begins, also concurrently.
	Began func(check string)

	description string // the path of the file that describes the cluster, if there is one
	app         *App
	index       int
	section     map[string]any
	wrapper     string
	state       string
}

// The default settings of a test. A scheduler can run jobs with a short walltime in gaps. The listings every two
// seconds are like those of an impatient user.
const (
	testPatience = 10 * time.Minute
	testWalltime = 10 * time.Minute
	testPause    = 2 * time.Second
	testJobs     = 8
)

// answerTime is how long a probe and a listing may take. If both take longer, the batch system counts as not answering.
const answerTime = 2 * time.Minute

// ownPause is testPause for the embedded batch system, whose listings run no command.
const ownPause = 100 * time.Millisecond

// NewClusterTest reads the configuration and makes the folders of a test, which Close removes. The error is of kind
// Gone if the cluster does not exist. If as names an account, the whole process permanently becomes that account.
func NewClusterTest(ctx context.Context, opts Options, cluster, as string) (*ClusterTest, error) {
	config, path, err := Load(opts.Config, opts.Getenv)
	if err != nil {
		return nil, err
	}
	a := &App{opts: opts, config: config, path: path, level: &slog.LevelVar{}}
	a.setLevel(config.Log)
	a.log = slog.New(slog.NewTextHandler(opts.Stderr, &slog.HandlerOptions{Level: a.level}))
	t := &ClusterTest{
		Patience: testPatience, Request: jjm.Request{Walltime: jjm.Duration(testWalltime)},
		Cluster: cluster, Owner: *ownAccount(), app: a,
	}
	if err := t.find(cluster); err != nil {
		return nil, err
	}
	if t.wrapper, err = Wrapper(a.config.Wrapper, a.opts.Executable); err != nil {
		return nil, err
	}
	if err := t.become(ctx, as); err != nil {
		return nil, err
	}
	err = t.makeFolders()
	if err == nil {
		err = t.look()
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// look notes the path of the file that describes the cluster, if its adapter has one. If jobs on the cluster cannot
// request a walltime, the jobs of the test request none.
func (t *ClusterTest) look() error {
	a, err := t.adapter(func(string, ...any) {})
	if err != nil {
		return err
	}
	if c, ok := a.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	if d, ok := a.(interface{ Description() string }); ok {
		t.description = d.Description()
	}
	checker, ok := a.(adapters.Checker)
	if ok && checker.Check(jjm.Request{}) == nil && checker.Check(t.Request) != nil {
		t.Request.Walltime = 0
		t.Notes = append(t.Notes, "No job can ask for a walltime here, so these ask for none.")
	}
	return nil
}

// find finds the cluster in the configuration.
func (t *ClusterTest) find(cluster string) error {
	var names []string
	for i, section := range t.app.config.Cluster {
		name, _ := section["name"].(string)
		names = append(names, name)
		if name == cluster {
			t.index, t.section = i, section
			t.Kind, _ = section["kind"].(string)
			return nil
		}
	}
	return jjm.Errorf(jjm.Gone, "no cluster %.40q: %s has %s: name the daemon's configuration with --config FILE", cluster,
		readFrom(t.app.opts, t.app.path), strings.Join(names, ", "))
}

// readFrom names, for people, the configuration at path and the reason why it is read.
func readFrom(opts Options, path string) string {
	if path == "" {
		return "no configuration is read (" + FileFrom(opts, path) + "), and a site without one"
	}
	return path + " (" + FileFrom(opts, path) + ")"
}

// makeFolders makes a folder for the adapters' state and a folder for the jobs.
func (t *ClusterTest) makeFolders() (err error) {
	folder := func(below, what string) (string, error) {
		err := os.MkdirAll(below, 0o755)
		dir := ""
		if err == nil {
			dir, err = os.MkdirTemp(below, ".test-*")
		}
		if err != nil {
			return "", jjm.Errorf(jjm.Invalid, "%s folder: %w: run this as the account of the daemon", what, err)
		}
		return dir, nil
	}
	if t.state, err = folder(t.app.config.State, "state"); err != nil {
		return err
	}
	t.Dir, err = folder(t.app.config.Work, "work")
	return err
}

// Close removes the folders of the test.
func (t *ClusterTest) Close() error {
	var errs []error
	for _, dir := range []string{t.state, t.Dir} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// Run runs the checks, and calls report at the end of each check. It returns the number of failed checks. If no command
// answers, Run runs only the check that shows this failure, because every other check would fail for the same reason.
func (t *ClusterTest) Run(ctx context.Context, report func(conformance.Outcome)) (failed int) {
	site := &conformance.Site{Wrapper: t.wrapper, Kind: t.Kind, Description: t.description}
	pause := testPause
	if t.Kind == "local" {
		pause = ownPause
	}
	checks := conformance.ForSite()
	if t.dead(ctx) {
		t.NotTried = len(checks)
		checks = conformance.Answering()
		t.NotTried, t.Why = t.NotTried-len(checks), "no command of the batch system answers"
	}
	sum := conformance.Run(ctx, checks, func(tb conformance.TB) conformance.System {
		if t.Began != nil {
			t.Began(tb.Name())
		}
		dir, err := os.MkdirTemp(t.Dir, "check-*")
		if err != nil {
			tb.Fatalf("%v", err)
		}
		return conformance.System{
			Adapter: t.open(tb), Owner: t.Owner, Dir: dir, Request: t.Request,
			Patience: t.Patience, Pause: pause, Parallel: true, Jobs: testJobs, Site: site,
		}
	}, report)
	if sum.NotTried > 0 {
		t.NotTried, t.Why = t.NotTried+sum.NotTried, sum.Why
	}
	return sum.Failed
}

// dead reports whether no command of the batch system works: both a probe and a listing fail. It returns false if the
// adapter cannot probe or cannot be made. A probe that runs no command succeeds.
func (t *ClusterTest) dead(ctx context.Context) bool {
	a, err := t.adapter(func(string, ...any) {})
	if err != nil {
		return false
	}
	if c, ok := a.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	p, ok := a.(adapters.Prober)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if p.Probe(ctx) == nil {
		return false
	}
	_, err = a.List(ctx, t.Owner, time.Now().Add(-time.Minute))
	return err != nil
}

// adapter makes an adapter with its own state folder.
func (t *ClusterTest) adapter(warn func(msg string, args ...any)) (adapters.Adapter, error) {
	state, err := os.MkdirTemp(t.state, "check-*")
	if err != nil {
		return nil, err
	}
	env := adapters.Env{State: state, Owners: t.app.config.RunAs == runAsOwner, Now: time.Now, Warn: warn}
	common := t.app.config.clusterDefaults(t.section)
	return adaptersall.Registry()[t.Kind](t.Cluster, env, func(into any) error {
		return decodeCluster(t.index, t.section, &common, into).Err()
	})
}

// open makes a new adapter for a check.
func (t *ClusterTest) open(tb conformance.TB) adapters.Adapter {
	adapter, err := t.adapter(func(msg string, args ...any) { tb.Logf("%s %s", msg, fmt.Sprint(args...)) })
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if c, ok := adapter.(io.Closer); ok {
		tb.Cleanup(func() {
			if err := c.Close(); err != nil {
				tb.Errorf("close: %v", err)
			}
		})
	}
	return adapter
}
