package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// now returns the time.
func now() time.Time { return time.Now() }

// attempt is the attempt that this wrapper runs, with the state of its run. job and assign are the instructions that
// the daemon wrote into the work area; result is the report that the wrapper writes for the daemon at the end.
type attempt struct {
	area   *sandbox.Area
	at     position
	job    sandbox.Job
	assign sandbox.Assignment
	dir    string   // the absolute path of the attempt's folder
	root   *os.Root // the open folder dir; nil until prepare created it
	// aliases are all absolute paths that lead to dir (see paths); nil before the first call of paths.
	aliases []string
	log     *logFile
	result  jjm.Result
	trouble troubles
}

// run runs the attempt at a position of the work area, and returns the wrapper's exit code. The error is the reason for
// an exit code other than 0: exitArea if the area, the assignment or the claim could not be read or written, exitLost
// if another process has the claim, and exitResult if the result could not be written.
func run(areaPath string, at position) (int, error) {
	a, err := open(areaPath, at)
	if err != nil {
		return exitArea, err
	}
	claim, holder, won, err := a.claim()
	if err != nil {
		return exitArea, err
	}
	if !won {
		return exitLost, fmt.Errorf(
			"attempt %d of %s (bulk %s, position %d) is held by %s on %s, batch id %q: nothing was done",
			a.assign.Attempt, a.assign.AttemptID().LocalID, at.tag, at.pos, holder.Holder, holder.Host, holder.Batch)
	}
	signals := catchSignals(a.grace())
	defer signals.stop()
	id := a.assign.AttemptID()
	a.result = jjm.Result{Version: 1, Tag: at.tag, Pos: at.pos, Grid: id.Grid, Local: id.N, Attempt: id.Attempt,
		Claim: claim}
	a.perform(signals)
	if err := a.report(signals.inTime); err != nil {
		return exitResult, errors.Join(append([]error{err}, asErrors(a.trouble.list())...)...)
	}
	return exitOK, nil
}

// open opens the work area, and reads the assignment of a position and the job. It creates nothing, because this
// process has not claimed the attempt yet.
func open(areaPath string, at position) (*attempt, error) {
	if !filepath.IsAbs(areaPath) {
		return nil, fmt.Errorf("AREA %q: want an absolute path", areaPath)
	}
	root, err := openFolder(areaPath)
	if err != nil {
		return nil, fmt.Errorf("open work area: %w", err)
	}
	a := &attempt{area: sandbox.NewArea(filepath.Clean(areaPath), root), at: at}
	if a.assign, err = a.area.ReadAssignment(at.tag, at.pos); err != nil {
		return nil, err
	}
	if a.job, err = a.area.ReadJob(a.assign.Grid); err != nil {
		return nil, err
	}
	a.dir = filepath.Join(a.area.Root(), sandbox.AttemptDir(a.assign.AttemptID()))
	a.assign.MoveIn(filepath.Join(a.dir, sandbox.InName))
	a.log = &logFile{}
	return a, nil
}

// grace returns how long the application may take to end after SIGTERM.
func (a *attempt) grace() time.Duration {
	if a.job.Grace == 0 {
		return 30 * time.Second
	}
	return a.job.Grace.D()
}

// perform runs the attempt and sets the fields of the result: it prepares the folder, runs the application, reads the
// application's log, asks the job type for its opinion, and collects the outputs. If the preparation fails, the
// application is not started.
func (a *attempt) perform(signals *signalBox) {
	a.result.Started = jjm.At(now())
	r := &a.result
	prepared := a.prepare()
	a.logLine(glf.Info, glf.StartData(a.assign.Attempt, r.Claim.Host, r.Claim.PID))
	var stopBeating func()
	if prepared {
		stopBeating = a.beat(signals)
		a.execute(signals)
	} else {
		r.Exit = exitNotExecutable
	}
	said := a.readLog()
	r.Processed = said.Processed()
	a.readRecorded()
	if prepared {
		a.result.Opinion = a.analyse(signals)
	}
	names, asked := a.findOutputs(signals.inTime, said)
	a.conclude(said, names)
	r.Ended = jjm.At(now())
	a.logLine(glf.Info, glf.EndData(r.Exit))
	if prepared {
		names, r.Outputs = a.gather(signals.inTime, a.newCollector(), patience, names)
		r.Unmet = unmet(asked, names, r.Outputs)
		stopBeating()
	}
}

// readRecorded copies the application's reports from the work area to the result: the phases of its progress, and the
// XML fragment for the record of the job.
func (a *attempt) readRecorded() {
	var err error
	a.result.Phases, err = a.area.Phases(a.at.tag, a.at.pos)
	a.note(err)
	fragment, err := a.area.ReadFragment(a.at.tag, a.at.pos)
	a.note(err)
	a.result.Fragment = string(fragment)
}

// troubles collects errors of the wrapper itself for Result.Error, each text once. Several goroutines may add errors.
type troubles struct {
	mu    sync.Mutex
	texts []string
}

func (t *troubles) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.texts, text) {
		t.texts = append(t.texts, text)
	}
}

func (t *troubles) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.texts)
}

// note adds an error of the wrapper itself to the result. It does nothing if err is nil.
func (a *attempt) note(err error) {
	if err != nil {
		a.trouble.add(err.Error())
	}
}

// prepare creates and fills the attempt's folder. If that fails, it notes the error and returns false.
func (a *attempt) prepare() bool {
	if err := a.makeFolder(); err != nil {
		a.note(fmt.Errorf("prepare attempt %s: %w", sandbox.AttemptDir(a.assign.AttemptID()), err))
		return false
	}
	return true
}

// makeFolder creates the attempt's folder, its log file and its work folder, writes the files that describe the input,
// and links the inputs into the folder.
func (a *attempt) makeFolder() error {
	if err := a.area.MakeAttempt(a.assign.AttemptID()); err != nil {
		return err
	}
	root, err := openFolder(a.dir)
	if err != nil {
		return err
	}
	// The log file can be created only once: if two bulks hold the same attempt, the second attempt to run it stops here.
	f, err := root.OpenFile(sandbox.GLFName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("the attempt was run before: its log file exists; its files are left as they are")
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	a.root, a.log = root, &logFile{root: root}
	if err := root.Mkdir(sandbox.WorkName, 0o700); err != nil {
		return err
	}
	if err := a.writeInput(); err != nil {
		return err
	}
	if err := a.linkInputs(); err != nil {
		return err
	}
	return a.linkGiven()
}

// linkInputs links the files of the grid job's package of inputs into work/. The links are relative, because the area
// may have another path where the files are collected. It returns an error if the name of an input contains a slash.
func (a *attempt) linkInputs() error {
	for _, name := range a.job.Files {
		if !filepath.IsLocal(name) || strings.Contains(name, "/") {
			return fmt.Errorf("input %.100q: want a plain file name", name)
		}
		if err := a.root.Symlink(a.inputTarget(name), sandbox.WorkName+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// inputTarget returns the target of the link in work/ to an input: the relative path of the file in the package.
func (a *attempt) inputTarget(name string) string {
	up := strings.Count(sandbox.AttemptDir(a.assign.AttemptID()), "/") + 2
	return strings.Repeat("../", up) + "packages/" + a.job.Package + "/" + name
}

// workDir returns the absolute path of the folder in which the application starts.
func (a *attempt) workDir() string { return filepath.Join(a.dir, sandbox.WorkName) }

// report writes the result into the work area, from where the daemon reads it. It retries for some seconds while the
// error is of kind Busy, because a short failure of a network file system must not waste an attempt of many hours.
func (a *attempt) report(ctx context.Context) error {
	r := &a.result
	text, err := a.log.text()
	a.note(err)
	r.GLF = text
	r.Error = strings.Join(a.trouble.list(), "; ")
	fit(r)
	for try := 0; ; try++ {
		err := a.area.PutResult(*r)
		if err == nil || jjm.KindOf(err) != jjm.Busy || try == len(pauses) {
			return err
		}
		a.makeRoom(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pauses[try]):
		}
	}
}

// pauses are the waits after each failed try to write the result.
var pauses = [...]time.Duration{0, 500 * time.Millisecond, 2 * time.Second}

// makeRoom prepares another try after cause, the error of a failed one. It removes the heartbeat file, which frees a
// block of a full disk (4 KiB on the usual file systems), and shortens the result so that it fits into this block.
func (a *attempt) makeRoom(cause error) {
	if a.root != nil {
		a.note(notGone(a.root.Remove(sandbox.HeartbeatName)))
	}
	a.note(cause)
	a.result.Error = clip(strings.Join(a.trouble.list(), "; "), 1024)
	a.result.GLF = shorten(a.result.GLF, 2048)
}

// notGone returns err, or nil if err only means that a file does not exist.
func notGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func asErrors(texts []string) []error {
	errs := make([]error, len(texts))
	for i, t := range texts {
		errs[i] = errors.New(t)
	}
	return errs
}
