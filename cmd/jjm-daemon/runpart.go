package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"jjm"
	"jjm/app"
	"jjm/handlers"
	"jjm/internal/tree"
	starts "jjm/run"
	"jjm/sandbox"
	"jjm/split"
	"jjm/stream"
)

// runPart is "jjm run".
type runPart struct {
	File   string `arg:"" help:"The job file."`
	Part   int    `help:"Which local job, from 0, as jjm split shows them." required:"" placeholder:"N"`
	Dir    string `help:"The folder to run it in, which must be empty or missing (default: part-N here)." placeholder:"DIR"`
	Files  string `help:"The files of the dataset, where the job file does not list them." placeholder:"LIST"`
	Type   string `help:"A file that declares the job type, which the site need not have." placeholder:"TYPE.toml"`
	Config string `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`
}

// Help is the rest of its help.
func (runPart) Help() string {
	return `It runs as on a worker: the same wrapper, inputs, environment, $GBS_LOG; without
a daemon or a batch system, as this account. What the command writes is shown, and
lies in the folder afterwards, with its outputs, its log and its result.

Exit code: that of the command, 128+n if signal n ended it; 5 if the job file is wrong.

Example:
  $ jjm run job.toml --part 0`
}

// The names of what stands for a site.
const (
	foregroundTag  = jjm.Tag("jforeground")
	foregroundGrid = jjm.GridID(1)
)

// wholeDay is the longest that a part runs in the foreground.
const wholeDay = 24 * time.Hour

// Run runs the part.
func (r *runPart) Run(stdout, stderr io.Writer) error {
	config, _, err := app.Load(r.Config, os.Getenv)
	if err != nil {
		return err
	}
	job := &splitJob{File: r.File, Files: r.Files, Type: r.Type}
	doc, err := job.read()
	if err != nil {
		return err
	}
	h, err := typeOf(&config, r.Type, &doc.Spec)
	if err != nil {
		return err
	}
	site := handlers.Site{RecommendedCPU: config.Engine.RecommendedCPU, MaxCPU: config.Engine.MaxCPU,
		MaxLocalJobs: config.Engine.MaxLocalJobs, Open: job.open, Run: runProgram}
	ready, problems := handlers.Ready(h, &doc.Spec, site)
	if len(problems) > 0 {
		return doc.Locate(problems).Err()
	}
	doc.Spec = *ready
	part, err := r.part(job, h, &doc.Spec, site)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	w, err := r.workplace(config.Wrapper)
	if err != nil {
		return err
	}
	defer func() { _ = w.area.Close() }()
	if err := w.fill(ctx, h, &doc.Spec, part, site, job); err != nil {
		return err
	}
	return w.run(ctx, stdout, stderr)
}

// part is the one that is wanted.
func (r *runPart) part(job *splitJob, h handlers.Handler, spec *jjm.Spec, site handlers.Site) (*jjm.Part, error) {
	cut, err := handlers.SplitBy(h, spec, site)
	if err != nil {
		return nil, err
	}
	if len(spec.Datasets) > 0 {
		if cut, err = job.files(spec, site, cut, nil); err != nil {
			return nil, err
		}
	}
	splitter, err := split.Get(cut.Splitter)
	if err != nil {
		return nil, err
	}
	c, err := splitter.Start(cut.Work, cut.Params, split.From(spec.FirstSerial))
	if err != nil {
		return nil, err
	}
	made := 0
	for more := true; more; {
		parts, left, _ := c.Next(split.Limits{MaxParts: 5000})
		if at := r.Part - made; at >= 0 && at < len(parts) {
			if f := parts[at].Failure(); f != nil {
				return nil, jjm.Errorf(jjm.Invalid, "part %d cannot be run: %s", r.Part, f.Reason)
			}
			return &parts[at], nil
		}
		made, more = made+len(parts), left.More
	}
	return nil, &exit{exitUsage, fmt.Errorf("--part %d: the job file makes %d local jobs, numbered from 0", r.Part, made)}
}

// workplace is what stands for a worker.
type workplace struct {
	dir     string
	area    *sandbox.Area
	wrapper string
	id      jjm.LocalID
}

// workplace makes the folder.
func (r *runPart) workplace(wrapper string) (*workplace, error) {
	dir := r.Dir
	if dir == "" {
		dir = "part-" + strconv.Itoa(r.Part)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "--dir: %w", err)
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		return nil, &exit{exitUsage, fmt.Errorf("--dir: %s is not empty: remove it, or name another folder", dir)}
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := app.Wrapper(wrapper, exe)
	if err != nil {
		return nil, err
	}
	area, err := sandbox.OpenArea(filepath.Join(dir, "area"))
	if err != nil {
		return nil, err
	}
	bin, err := area.InstallWrapper(program)
	return &workplace{dir: dir, area: area, wrapper: filepath.Join(bin, sandbox.WrapperName),
		id: jjm.LocalID{Grid: foregroundGrid, N: int32(r.Part)}}, err
}

// fill writes what the wrapper reads: the inputs and the assignment.
func (w *workplace) fill(ctx context.Context, h handlers.Handler, spec *jjm.Spec, part *jjm.Part, site handlers.Site,
	job *splitJob) error {
	inputs, err := handlers.Inputs(h, spec, site)
	if err != nil {
		return err
	}
	pkg, files, err := w.area.Pack(ctx, inputs, func(path string) (io.ReadCloser, error) {
		info, err := os.Stat(job.path(path))
		if err == nil && info.IsDir() {
			return tree.Read(job.path(path), tree.Most{})
		}
		return job.open(path)
	})
	if err != nil {
		return err
	}
	shared := handlers.Shared(foregroundGrid, spec)
	shared.Package, shared.Files = pkg, files
	if err := w.area.WriteJob(shared); err != nil {
		return err
	}
	l := jjm.LocalJob{ID: w.id, Part: *part}
	l.Part.Serials = stream.Foreseen(spec, jjm.StepWork, int(w.id.N))
	assignment, err := handlers.Assigned(h, spec, &l)
	if err != nil {
		return err
	}
	return w.area.WriteAssignment(foregroundTag, []sandbox.Assignment{assignment})
}

// run runs the wrapper, and shows what the command writes.
func (w *workplace) run(ctx context.Context, stdout, stderr io.Writer) error {
	attempt := filepath.Join(w.area.Root(), sandbox.AttemptDir(jjm.AttemptID{LocalID: w.id}))
	over := make(chan struct{})
	shown := make(chan error, 2)
	go func() { shown <- follow(filepath.Join(attempt, sandbox.Stdout), stdout, over) }()
	go func() { shown <- follow(filepath.Join(attempt, sandbox.Stderr), stderr, over) }()
	out, err := starts.Run(ctx, starts.Cmd{Argv: []string{w.wrapper, "run", w.area.Root(), string(foregroundTag)},
		Env: append(os.Environ(), "JJM_INDEX=0"), Dir: w.dir, Deadline: wholeDay})
	close(over)
	if err = errors.Join(err, <-shown, <-shown); err != nil {
		return err
	}
	result, err := w.area.ReadResult(foregroundTag, 0)
	if err != nil || result == nil {
		return fmt.Errorf("the wrapper left no result: exit %d: %s: %w", out.Exit, out.Stderr, err)
	}
	return w.conclude(attempt, result, stderr)
}

// conclude says how it ended, and where its files are.
func (w *workplace) conclude(attempt string, result *jjm.Result, stderr io.Writer) error {
	if result.Error != "" {
		fmt.Fprintln(stderr, "jjm run:", printable(result.Error))
	}
	fmt.Fprintf(stderr, "jjm run: part %d ended with exit code %d after %v; its files are in %s\n", w.id.N, result.Exit,
		(time.Duration(result.WallMS) * time.Millisecond).Round(time.Millisecond), filepath.Join(attempt, sandbox.WorkName))
	for _, o := range result.Outputs {
		if o.Absent != "" {
			fmt.Fprintf(stderr, "jjm run: output %s is absent: %s\n", printable(o.Name), printable(o.Absent))
		}
	}
	if result.Exit != 0 {
		return &exit{result.Exit, fmt.Errorf("part %d ended with exit code %d", w.id.N, result.Exit)}
	}
	return nil
}

// followEvery is how often a file that is being written is looked at.
const followEvery = 50 * time.Millisecond

// follow copies a file while it grows, until over is closed.
func follow(path string, to io.Writer, over <-chan struct{}) error {
	var f *os.File
	defer func() {
		if f != nil {
			_ = f.Close()
		}
	}()
	for last := false; ; {
		if f == nil {
			f, _ = os.Open(path) // not made yet
		}
		if f != nil {
			if _, err := io.Copy(to, f); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		select {
		case <-over:
			last = true
		case <-time.After(followEvery):
		}
	}
}
