package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"jjm"
	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/adapters/conformance"
)

// ClusterTest runs the checks of package conformance that a site's own queue
// can bear on one cluster of the configuration, with real jobs. It needs no
// daemon, and a running one does not notice: the adapters that it makes have
// state folders of their own.
type ClusterTest struct {
	// Request is what its jobs ask for.
	Request jjm.Request
	// Patience is how long a job may take from submission to its end; most of
	// it is waiting in the queue.
	Patience time.Duration

	// Cluster and Kind are those of the configuration, Owner the account and
	// Dir the folder of the jobs.
	Cluster, Kind string
	Owner         jjm.Owner
	Dir           string

	app     *App
	index   int
	section map[string]any
	wrapper string
	state   string
}

// The settings of a test that names none. A short limit lets jobs pass where a
// scheduler fills gaps; a listing every two seconds is what an impatient user
// asks for.
const (
	testPatience = 10 * time.Minute
	testWalltime = 10 * time.Minute
	testPause    = 2 * time.Second
	testJobs     = 8
)

// NewClusterTest reads the configuration and makes the folders of a test, which
// Close removes. It fails with kind Gone when there is no such cluster. With an
// account in as, the whole process becomes that account for good.
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
	if err := t.makeFolders(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// find looks the cluster up in the configuration.
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
	return jjm.Errorf(jjm.Gone, "no cluster %.40q: the configuration has %q", cluster, names)
}

// makeFolders makes one for the adapters' state and one for the jobs.
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

// Run runs the checks and reports each as it ends. It gives the number of those
// that failed.
func (t *ClusterTest) Run(ctx context.Context, report func(conformance.Outcome)) (failed int) {
	site := &conformance.Site{Wrapper: t.wrapper}
	return conformance.Run(ctx, conformance.ForSite(), func(tb conformance.TB) conformance.System {
		dir, err := os.MkdirTemp(t.Dir, "check-*")
		if err != nil {
			tb.Fatalf("%v", err)
		}
		return conformance.System{
			Adapter: t.open(tb), Owner: t.Owner, Dir: dir, Request: t.Request,
			Patience: t.Patience, Pause: testPause, Parallel: true, Jobs: testJobs, Site: site,
		}
	}, report)
}

// open makes the adapter anew, for one check.
func (t *ClusterTest) open(tb conformance.TB) adapters.Adapter {
	state, err := os.MkdirTemp(t.state, "check-*")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	warn := func(msg string, args ...any) { tb.Logf("%s %s", msg, fmt.Sprint(args...)) }
	env := adapters.Env{State: state, Owners: t.app.config.RunAs == runAsOwner, Now: time.Now, Warn: warn}
	common := t.app.config.clusterDefaults(t.section)
	adapter, err := adaptersall.Registry()[t.Kind](t.Cluster, env, func(into any) error {
		return decodeCluster(t.index, t.section, &common, into).Err()
	})
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
