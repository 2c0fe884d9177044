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

	"jjm/handlers"
	"jjm/internal/app"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/analyse/rule"
	starts "jjm/internal/sys/run"
	"jjm/internal/sys/tree"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// runPart is the command "jjm run", which runs one local job of a job file.
type runPart struct {
	File   string `arg:"" help:"The job file."`
	Part   int    `help:"Which local job, from 0, as jjm split shows them." required:"" placeholder:"N"`
	Dir    string `help:"The folder to run it in, which must be empty or missing (default: part-N here)." placeholder:"DIR"`
	Files  string `help:"The files of the dataset, where the job file does not list them." placeholder:"LIST"`
	Type   string `help:"A file that declares the job type, which the site need not have." placeholder:"TYPE.toml"`
	Config string `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`

	daemonPlace
}

// Help returns the text of --help below the usage.
func (runPart) Help() string {
	return `The local job runs as on a worker node, with the same wrapper, inputs, environment
and $GBS_LOG, but without a daemon or a batch system, and as this account. Inputs
that are URLs are fetched. Only for a dataset whose files the job file does not list,
such as the output dataset of another grid job, the daemon is asked, unless --files
lists them: the command gets the paths at which these files lie. The output of the command is shown; the folder keeps it,
with the command's output files, its log and its result.

What would become of a local job that ended so is said on standard error.

Exit code: that of the command, 128+n if signal n ended it; 1 if that was 0 and the local
job would not be complete; 2 if the command line is wrong, 5 if the job file or the type is,
8 for trouble of this machine, such as an input that cannot be read.

Example:
  $ jjm run job.toml --part 0`
}

// The tag of the bulk and the id of the grid job for "jjm run", which submits no bulk and makes no grid job.
const (
	foregroundTag  = jjm.Tag("jforeground")
	foregroundGrid = jjm.GridID(1)
)

// wholeDay is the longest time that the part may run.
const wholeDay = 24 * time.Hour

// Run runs one part of a job file in the foreground.
func (r *runPart) Run(stdout io.Writer, stderr errorOutput) error {
	config, _, err := app.Load(r.Config, os.Getenv)
	if err != nil {
		return err
	}
	job := &splitJob{File: r.File, Files: r.Files, Type: r.Type, daemonPlace: r.daemonPlace}
	doc, wrong, err := job.read(config.Model)
	if err != nil {
		return err
	}
	site := handlers.Site{RecommendedCPU: config.Engine.RecommendedCPU, MaxCPU: config.Engine.MaxCPU,
		MaxLocalJobs: config.Engine.MaxLocalJobs, Open: job.open, Run: runProgram}
	h, err := ready(&config, r.Type, site, &doc, wrong)
	if err != nil {
		return err
	}
	part, err := r.part(job, h, &doc.Spec, site)
	if err != nil {
		return err
	}
	for _, path := range othersOf(os.Geteuid(), r.File, r.Type) {
		fmt.Fprintf(stderr, "jjm run: %s\n", path)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	w, err := r.workplace(config.Wrapper)
	if err != nil {
		return err
	}
	defer func() { _ = w.area.Close() }()
	inputs, err := handlers.Inputs(h, &doc.Spec, site)
	if err != nil {
		return err
	}
	if err := w.fetch(ctx, job, inputs, config.Engine.Fetch, stderr); err != nil {
		return err
	}
	if err := w.pack(ctx, &doc.Spec, job, inputs); err != nil {
		return err
	}
	if err := w.assign(h, &doc.Spec, config.Engine.Retry, job.known.lying(part)); err != nil {
		return err
	}
	return w.run(ctx, stdout, stderr)
}

// othersOf returns a warning for each file that belongs to another account, if this process runs as root: root would
// run the commands in this file. It returns no warnings for other accounts, which can harm only themselves.
func othersOf(euid int, paths ...string) (warnings []string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if euid != 0 || path == "" || err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			warnings = append(warnings, fmt.Sprintf("warning: %s belongs to uid %d, and what it says runs as root; as its owner: "+
				"setpriv --reuid %[2]d --regid %d --clear-groups jjm run ...", path, st.Uid, st.Gid))
		}
	}
	return warnings
}

// part splits the job file and returns part number r.Part. It returns an error if there is no such part, or if the part
// could not be submitted.
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
	return nil, &exit{exitUsage, fmt.Errorf("--part %d: the job file makes %s, numbered from 0", r.Part,
		jjm.Count(made, "local job"))}
}

// workplace is the folder in which the part runs. It contains a work area, as on a worker node.
type workplace struct {
	dir     string
	area    *sandbox.Area
	wrapper string
	id      jjm.LocalID
	part    *jjm.Part
	verdict func(*jjm.Result) jjm.Verdict // judges a first attempt with this result, as the daemon would
}

// emptyFolder creates the folder in which the part runs, and returns its absolute path. It returns an error if the
// folder exists and is not empty.
func (r *runPart) emptyFolder() (string, error) {
	name, flag, how := r.Dir, "--dir: ", "remove it, or name another folder"
	if name == "" {
		name, flag = "part-"+strconv.Itoa(r.Part), ""
		how = fmt.Sprintf("remove it, by rm -r %s, or name another folder with --dir", name)
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return "", jjm.Errorf(jjm.Invalid, "%s%w", flag, err)
	}
	there, err := os.ReadDir(name)
	if err != nil {
		return "", jjm.Errorf(jjm.Invalid, "%s%w", flag, err)
	}
	if len(there) > 0 {
		return "", &exit{exitUsage, fmt.Errorf("%s%s is not empty: %s", flag, name, how)}
	}
	return filepath.Abs(name)
}

// workplace creates the folder in which the part runs, with a work area, and installs the wrapper in it. wrapper is the
// configured path of the wrapper.
func (r *runPart) workplace(wrapper string) (*workplace, error) {
	dir, err := r.emptyFolder()
	if err != nil {
		return nil, err
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

// pack writes the files into the work area that all local jobs share: the package of the inputs, and the description of
// the job.
func (w *workplace) pack(ctx context.Context, spec *jjm.Spec, job *splitJob, inputs []jjm.Input) error {
	pkg, files, err := w.area.Pack(ctx, inputs, func(path string) (io.ReadCloser, error) {
		if weburl.Is(path) {
			return w.area.OpenFetched(foregroundGrid, path)
		}
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
	return errors.Join(w.area.WriteJob(shared), w.area.RemoveFetched(foregroundGrid))
}

// assign writes the assignment of the part into the work area. It also sets w.part and w.verdict. site are the retry
// limits of the site.
func (w *workplace) assign(h handlers.Handler, spec *jjm.Spec, site jjm.Limits, part *jjm.Part) error {
	l := jjm.LocalJob{ID: w.id, Part: *part}
	w.part = part
	l.Part.Serials = stream.Foreseen(spec, jjm.StepWork, int(w.id.N))
	w.verdict = func(r *jjm.Result) jjm.Verdict {
		in := analyse.Input{Evidence: jjm.Evidence{Result: r}, Result: spec.Result, Limits: spec.Retry.Or(site),
			Rules: handlers.RulesOf(h, spec, rule.ShippedRules()), Type: spec.Type, Params: spec.Params,
			Retry: spec.Retry.Asked(), OnExit: spec.Retry.OnExit}
		if a, ok := h.(handlers.Analyser); ok {
			in.Opinion = a.Analyse(spec, &l, r)
		}
		return analyse.Attempt(in)
	}
	assignment, err := handlers.Assigned(h, spec, &l)
	if err != nil {
		return err
	}
	return w.area.WriteAssignment(foregroundTag, []sandbox.Assignment{assignment})
}

// run runs the wrapper, copies the output of the command while it is written, and reports the end (see conclude). It
// returns an error if the wrapper left no result.
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

// followEvery is the time between two reads of a growing file.
const followEvery = 50 * time.Millisecond

// openGrowing opens a regular file that another process may be writing. It returns nil if the file does not exist yet
// or is not regular.
func openGrowing(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // the file was opened for reading: an error loses nothing
		return nil
	}
	return f
}

// follow copies a file, which need not exist yet, while another process appends to it. After over is closed, follow
// copies the rest and returns.
func follow(path string, to io.Writer, over <-chan struct{}) error {
	var f *os.File
	defer func() {
		if f != nil {
			_ = f.Close()
		}
	}()
	for last := false; ; {
		if f == nil {
			f = openGrowing(path) // the file need not exist yet
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
