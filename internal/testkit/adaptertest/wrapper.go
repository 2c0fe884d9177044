package adaptertest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// Wrapper imitates jjm-wrapper for the jobs of a Sim. Its methods are not called concurrently.
type Wrapper interface {
	// Start claims the attempt of a job that starts. It returns the attempt's id, and whether this wrapper won the claim.
	// If won is false, another wrapper has the claim, and the application does not run. An error means that the attempt
	// cannot run.
	Start(job SimJob, at jjm.Time) (id jjm.AttemptID, won bool, err error)
	// End reports the end of a run for which Start returned won. job.Attempt is the id that Start returned. An error is
	// shown by Sim.Troubles.
	End(job SimJob, play Play, started, ended jjm.Time) error
}

// AreaWrapper takes claims and writes results in work areas, like jjm-wrapper.
type AreaWrapper struct {
	// Area returns the work area of an owner.
	Area func(owner jjm.Owner) *sandbox.Area
	// Bare writes only the result, without the attempt's folder, GLF and outputs. It is
	// for benchmarks.
	Bare bool
}

// InArea returns an AreaWrapper for one owner.
func InArea(area *sandbox.Area) *AreaWrapper {
	return &AreaWrapper{Area: func(jjm.Owner) *sandbox.Area { return area }}
}

var _ Wrapper = (*AreaWrapper)(nil)

// simPID is the process id of every simulated wrapper; the value has no meaning.
const simPID = 4711

func claimOf(job SimJob, at jjm.Time) jjm.Claim {
	return jjm.Claim{
		Holder: jjm.HolderWrapper, Batch: job.ID, Restarts: job.Restarts, Host: simHost, PID: simPID,
		Nonce: fmt.Sprintf("%s/%d", job.ID, job.Restarts), Time: at,
	}
}

// Start reads the assignment and takes the claim.
func (w *AreaWrapper) Start(job SimJob, at jjm.Time) (jjm.AttemptID, bool, error) {
	area := w.Area(job.Owner)
	as, err := area.ReadAssignment(job.Tag, job.Index)
	if err != nil {
		return jjm.AttemptID{}, false, err
	}
	id := as.AttemptID()
	_, won, err := area.Claim(job.Tag, job.Index, claimOf(job, at))
	if err != nil || !won || w.Bare {
		return id, won, err
	}
	dir := filepath.Join(area.Root(), sandbox.AttemptDir(id))
	err = os.MkdirAll(filepath.Join(dir, sandbox.WorkName), 0o700)
	start := glf.FormatLine(at.Time(), glf.Info, glf.StartData(id.Attempt, simHost, simPID))
	for name, text := range map[string]string{
		sandbox.GLFName: start, "stdout": "output of " + id.LocalID.String() + "\n", "stderr": "",
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return id, true, err
}

// End writes the GBS log file, the outputs and the result.
func (w *AreaWrapper) End(job SimJob, play Play, started, ended jjm.Time) error {
	id := job.Attempt
	exit := play.Exit
	if play.Signal != 0 {
		exit = 128 + play.Signal
	}
	text := glf.FormatLine(started.Time(), glf.Info, glf.StartData(id.Attempt, simHost, simPID))
	keyword, data := play.Keyword, play.Data
	if keyword == "" {
		keyword, data = glf.Succeeded, "out.dat"
	}
	if keyword != "-" {
		text += glf.FormatLine(ended.Time(), keyword, data)
	}
	text += glf.FormatLine(ended.Time(), glf.Info, glf.EndData(exit))
	r := jjm.Result{
		Version: 1, Tag: job.Tag, Pos: job.Index, Grid: id.Grid, Local: id.N, Attempt: id.Attempt,
		Claim: claimOf(job, started), Started: started, Ended: ended, Exit: exit, Signal: play.Signal,
		WallMS: int64(ended - started), UserMS: int64(ended - started), RSSKB: 100 << 10, GLF: text, Phases: play.Phases,
		Fragment: play.Fragment,
	}
	area := w.Area(job.Owner)
	if err := missGiven(area, job, &r); err != nil {
		return err
	}
	if keyword == glf.Succeeded && !w.Bare && len(r.Gone) == 0 {
		for _, name := range glf.SplitArgs(data) {
			out, err := writeOutput(area, id, name)
			if err != nil {
				return err
			}
			r.Outputs = append(r.Outputs, out...)
		}
	}
	if !w.Bare {
		if err := addLog(area, job, &r); err != nil {
			return err
		}
		path := filepath.Join(area.Root(), sandbox.AttemptDir(id), sandbox.GLFName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return area.PutResult(r)
}

// missGiven stores in the result r which given files are missing. Given files are files that other local jobs made for
// this job. Without them a wrapper does not start the application.
func missGiven(area *sandbox.Area, job SimJob, r *jjm.Result) error {
	as, err := area.ReadAssignment(job.Tag, job.Index)
	if err != nil {
		return err
	}
	for _, g := range as.Given {
		is, why, err := area.CheckMade(g.Path, g.Size)
		if err != nil {
			return err
		}
		if is != jjm.FileReady {
			r.Gone = append(r.Gone, jjm.GoneFile{Link: g.Link, Why: why})
		}
	}
	if len(r.Gone) > 0 {
		r.Exit, r.Error = 126, "prepare: "+r.Gone[0].Link+": "+r.Gone[0].Why
	}
	return nil
}

// writeOutput writes one output file for the application, and describes it. For the name "-" it writes no file. It
// writes no file outside of the job's folder either, and describes such a file as absent.
func writeOutput(area *sandbox.Area, id jjm.AttemptID, name string) ([]jjm.Output, error) {
	below := filepath.Join(sandbox.WorkName, name)
	switch {
	case name == "-":
		return nil, nil
	case !filepath.IsLocal(name):
		return []jjm.Output{{Name: name, Absent: "not below the job's directory"}}, nil
	}
	out, err := writeFile(area, id, below)
	return []jjm.Output{out}, err
}

// addLog writes the log of an attempt and adds it to the outputs, if the assignment requests a log.
func addLog(area *sandbox.Area, job SimJob, r *jjm.Result) error {
	as, err := area.ReadAssignment(job.Tag, job.Index)
	if err != nil || !as.Log {
		return err
	}
	out, err := writeFile(area, job.Attempt, stream.LogName)
	r.Outputs = append(r.Outputs, out)
	return err
}

// writeFile creates a file in the folder of an attempt, and describes it.
func writeFile(area *sandbox.Area, id jjm.AttemptID, below string) (jjm.Output, error) {
	text := []byte("events of " + id.LocalID.String() + "\n")
	path := filepath.Join(area.Root(), sandbox.AttemptDir(id), below)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return jjm.Output{}, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return jjm.Output{}, err
	}
	sum := sha256.Sum256(text)
	return jjm.Output{Name: below, Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}, nil
}
