// Package trace sends one tiny job through a gatekeeper's path and reports the hop at which the job gets stuck. The
// hops are the scripts, the daemon, the cut, a cluster, its batch system, the worker, the gatekeeper's poll, and the
// tar. Package trace runs the installed scripts in the same way as the gatekeeper. At the end it removes the job, also
// if a hop fails or a person interrupts the trace, unless Config.Keep is set.
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

// The hops, in order. Clean is always the last hop; it is left out if Config.Keep is set and the job was submitted.
const (
	Scripts = "scripts" // the gatekeeper's scripts are installed
	Folder  = "folder"  // the account has a folder for the job's files
	Submit  = "submit"  // the gatekeeper's submission returns an id
	Daemon  = "daemon"  // the daemon has the grid job
	Cut     = "cut"     // the local job exists
	Cluster = "cluster" // jjm submits the local job to a cluster
	Batch   = "batch"   // the batch system has accepted the local job
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
	// Text is a text for people about a hop that succeeded.
	Text string `json:"text,omitempty"`
	// Fault is set if the hop failed.
	Fault *Fault `json:"fault,omitempty"`
}

// Fault describes why a hop failed. Tried is the action that failed, On is the object of the action, Text is the error,
// and Remedy tells a person what to do.
type Fault struct {
	Tried  string `json:"tried,omitempty"`
	On     string `json:"on,omitempty"`
	Text   string `json:"error"`
	Remedy string `json:"remedy,omitempty"`
}

func (f *Fault) Error() string { return f.Text }

// Config holds the settings of a trace.
type Config struct {
	// Via is the path that the job takes, one of the words in Vias.
	Via string
	// Cluster is the cluster that must run the job. If it is "", the site chooses a cluster.
	Cluster string
	// Dir is the folder of the gatekeeper's scripts. If it is "", the scripts are in the folder that the gatekeeper uses.
	Dir string
	// Place is the place of the daemon. Its State and Socket are also passed to the scripts if they are set; otherwise the
	// scripts find the daemon by their own configuration.
	Place client.Place
	// Timeout limits all hops except Clean. Keep leaves the grid job for inspection.
	Timeout time.Duration
	Keep    bool
	// Tell is called after each hop with its outcome.
	Tell func(Hop) error
	Now  func() time.Time
}

// cleaning is the time limit for Clean. It does not include the time of the earlier hops.
const cleaning = 30 * time.Second

// Run sends the job and reports whether all hops succeeded. The error is of kind Invalid if cfg.Via is unknown.
// Otherwise it is the error of Tell, or of ctx if a person interrupted the trace; the job is removed nevertheless,
// unless Keep is set.
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

// hop is one step of a trace. do carries out the step. It returns a text for people if the step succeeds, and otherwise
// an error, usually a *Fault.
type hop struct {
	name string
	do   func(context.Context) (string, error)
}

// tracer holds the state of one trace.
type tracer struct {
	Config
	route
	daemon *client.Client
	spool  *gatekeeper.Client
	// key is the request key of the job, from which the handle is computed.
	key string
	// folder is the folder for the job's files, "" until the folder is created.
	folder    string
	submitted bool // a submission was tried, so a grid job may exist
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

// take runs a hop and passes its outcome to Tell. If a person interrupted the trace, take returns the error of ctx.
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

// makeFolder creates the folder that takes the place of the gatekeeper's folder of the job.
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

// submitOnce submits the job in the same way as the gatekeeper.
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

// pollUntilOver polls in the same way as the gatekeeper until the poll reports the end of the job.
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

// pollPause is the time between two polls. lookPause is the time between two requests to the daemon for the job's
// state.
const (
	pollPause = time.Second
	lookPause = 250 * time.Millisecond
)

// wait waits for the pause, and returns false if ctx ended.
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
