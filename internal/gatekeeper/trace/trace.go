// Package trace sends one tiny job through the path that the jobs of a gatekeeper take, and names the hop at which it
// does not go on: the scripts, the daemon, the cut, a cluster, its batch system, the worker, the gatekeeper's poll, the
// tar. It runs the installed scripts as the gatekeeper runs them, and removes the job at the end, also if a hop fails
// or a person interrupts it.
//
// The job runs as the account that calls Run. docs/SEEING.md describes the hops.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// The hops, in order. Clean comes last in every trace.
const (
	Scripts = "scripts" // the gatekeeper's scripts are installed
	Folder  = "folder"  // the account has a folder for the job's files
	Submit  = "submit"  // the gatekeeper's submission is answered with an id
	Daemon  = "daemon"  // the daemon has the grid job
	Cut     = "cut"     // the local job exists
	Cluster = "cluster" // the local job is handed to a cluster
	Batch   = "batch"   // the batch system has accepted it
	Running = "running"
	End     = "end"  // the grid job is done
	Poll    = "poll" // the gatekeeper's poll reports the end
	Tar     = "tar"  // the tar is where the gatekeeper expects it
	Clean   = "clean"
)

// Hop is the outcome of one hop.
type Hop struct {
	At   jjm.Time `json:"at"`
	Name string   `json:"hop"`
	Good bool     `json:"good"`
	// Text is what was found, if the hop is good.
	Text string `json:"text,omitempty"`
	// Fault is set if the hop failed.
	Fault *Fault `json:"fault,omitempty"`
}

// Fault describes a failed hop: what was tried, on what, the error, and what a person can do.
type Fault struct {
	Tried  string `json:"tried,omitempty"`
	On     string `json:"on,omitempty"`
	Text   string `json:"error"`
	Remedy string `json:"remedy,omitempty"`
}

func (f *Fault) Error() string { return f.Text }

// Config describes a trace.
type Config struct {
	// Via is the path: an element of Vias.
	Via string
	// Cluster is the cluster that must take the job, "" for the site's choice.
	Cluster string
	// Dir is the folder of the gatekeeper's scripts, "" for the folder where the gatekeeper looks.
	Dir string
	// Place finds the daemon. State and Socket are passed to the scripts too; otherwise the scripts find the daemon by
	// their own configuration.
	Place client.Place
	// Timeout limits all hops except Clean. Keep leaves the grid job for inspection.
	Timeout time.Duration
	Keep    bool
	// Tell is called with the outcome of each hop when it is known.
	Tell func(Hop) error
	Now  func() time.Time
}

// cleaning is the time for Clean, which begins anew after a failure or an interrupt.
const cleaning = 30 * time.Second

// Run sends the job. It returns whether all hops were good. The error is that of Tell, or of ctx if a person
// interrupted the trace; the job is removed all the same.
func Run(ctx context.Context, cfg Config) (good bool, err error) {
	t, err := newTracer(cfg)
	if err != nil {
		return false, err
	}
	hops, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	good = true
	for _, h := range t.hops() {
		if good, err = t.take(hops, h); !good || err != nil {
			break
		}
	}
	if cfg.Keep && t.submitted {
		return good, err
	}
	last, end := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer end()
	clean, cerr := t.take(last, hop{Clean, t.clean})
	return good && clean, errors.Join(err, cerr)
}

// hop is one hop to take. do returns what it found, or the fault.
type hop struct {
	name string
	do   func(context.Context) (string, error)
}

// tracer is one trace.
type tracer struct {
	Config
	route
	daemon *client.Client
	spool  *gatekeeper.Client
	// key is the request key of the job, from which its handle follows.
	key string
	// folder is the folder for the job's files, "" before it is made.
	folder    string
	submitted bool // a submission was tried, so there may be a grid job
	handle    jjm.Handle
	seen      seen
}

func newTracer(cfg Config) (*tracer, error) {
	if cfg.Dir != "" {
		dir, err := filepath.Abs(cfg.Dir)
		if err != nil {
			return nil, err
		}
		cfg.Dir = dir
	}
	word := make([]byte, 8)
	if _, err := rand.Read(word); err != nil {
		return nil, jjm.Errorf(jjm.Internal, "trace: make a request key: %w", err)
	}
	t := &tracer{Config: cfg, key: "jjmtrace" + hex.EncodeToString(word),
		daemon: &client.Client{Socket: cfg.Place.SocketPath()}, spool: gatekeeper.Open(cfg.Place)}
	t.route = t.routeOf(cfg.Via)
	if t.route == nil {
		return nil, jjm.Errorf(jjm.Invalid, "--via %.40q: want %s", cfg.Via, Vias)
	}
	return t, nil
}

// hops returns the hops before Clean.
func (t *tracer) hops() []hop {
	to := func(s stage) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return t.until(ctx, s) }
	}
	return []hop{{Scripts, t.installed}, {Folder, t.makeFolder}, {Submit, t.submitOnce}, {Daemon, to(accepted)},
		{Cut, to(cut)}, {Cluster, to(given)}, {Batch, to(queued)}, {Running, to(running)}, {End, to(ended)},
		{Poll, t.pollUntilOver}, {Tar, t.checkTar}}
}

// take takes a hop and tells its outcome. If a person interrupted the trace, the error is that of ctx.
func (t *tracer) take(ctx context.Context, h hop) (good bool, err error) {
	text, err := h.do(ctx)
	out := Hop{At: jjm.At(t.Now()), Name: h.name, Good: err == nil, Text: text}
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return false, ctx.Err()
		}
		if !errors.As(err, &out.Fault) {
			out.Fault = &Fault{Text: err.Error()}
		}
	}
	return out.Good, t.Tell(out)
}

// makeFolder makes the folder that stands for the gatekeeper's folder of the job.
func (t *tracer) makeFolder(context.Context) (string, error) {
	if os.Geteuid() == 0 && t.Via == "arc" {
		return "", &Fault{Tried: "become the account of a job", On: "root", Text: "A-REX has no jobs of root",
			Remedy: "run it as the account that A-REX maps a user to: runuser -u USER -- jjm trace --via arc"}
	}
	dir, err := os.MkdirTemp("", "jjm-trace-*")
	if err != nil {
		return "", &Fault{Tried: "make a folder for the job's files", On: os.TempDir(), Text: err.Error(),
			Remedy: "make room there, or name another folder: TMPDIR=DIR jjm trace"}
	}
	t.folder = dir
	return fmt.Sprintf("account %d has folder %s", os.Geteuid(), dir), nil
}

// submitOnce submits the job as the gatekeeper does.
func (t *tracer) submitOnce(ctx context.Context) (string, error) {
	t.submitted = true
	t.handle = jjm.HandleOf(os.Geteuid(), t.requestKey())
	h, err := t.submit(ctx)
	if err != nil {
		return "", err
	}
	t.handle = h
	return "answered with " + string(h), nil
}

// pollUntilOver polls as the gatekeeper does until the poll reports the end.
func (t *tracer) pollUntilOver(ctx context.Context) (string, error) {
	for {
		text, over, err := t.poll(ctx)
		if err != nil || over {
			return text, err
		}
		if !wait(ctx, pollPause) {
			return "", &Fault{Tried: "poll as the gatekeeper does", On: string(t.handle),
				Text:   "the poll does not report the end: " + text,
				Remedy: "the files of the job may not be delivered: look at the log of the gatekeeper and at its folder"}
		}
	}
}

// pollPause is the time between two polls, and lookPause between two looks at the daemon's state.
const (
	pollPause = time.Second
	lookPause = 250 * time.Millisecond
)

// wait waits, and returns whether ctx goes on.
func wait(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
