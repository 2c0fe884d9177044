package adaptertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// CarryWrapper imitates jjm-wrapper and the transfer of files by the batch system, for a Sim whose workers do not see
// the work area. Each run of a job has an area of its own, the worker's area.
type CarryWrapper struct {
	// Area is the work area of the job's owner, which only the transfer sees.
	Area *sandbox.Area
	// Scratch is a folder for the workers' own areas.
	Scratch string
}

var _ Wrapper = (*CarryWrapper)(nil)

// own opens the worker's area of this run of the job.
func (w *CarryWrapper) own(job SimJob) (*sandbox.Area, error) {
	if err := os.MkdirAll(w.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("scratch folder of the worker: %w", err)
	}
	return sandbox.OpenArea(filepath.Join(w.Scratch, job.ID+"."+strconv.Itoa(job.Restarts)))
}

// Start unpacks the bulk's box on the worker and claims the attempt there. The box is the tar with the files that the
// wrappers of a bulk need (see sandbox.Box).
func (w *CarryWrapper) Start(job SimJob, at jjm.Time) (jjm.AttemptID, bool, error) {
	area, err := w.own(job)
	if err != nil {
		return jjm.AttemptID{}, false, err
	}
	defer area.Close()
	box, err := os.Open(filepath.Join(w.Area.Root(), sandbox.BulkDir(job.Tag), sandbox.BoxName))
	if err != nil {
		return jjm.AttemptID{}, false, err
	}
	defer box.Close()
	if err := area.Unbox(job.Tag, box); err != nil {
		return jjm.AttemptID{}, false, err
	}
	if err := w.bring(job, area); err != nil {
		return jjm.AttemptID{}, false, err
	}
	return InArea(area).Start(job, at)
}

// bring copies the files that other local jobs made to the worker's area, as a batch system that transfers input files
// does.
func (w *CarryWrapper) bring(job SimJob, area *sandbox.Area) error {
	from, err := w.Area.GivenFolder(job.Tag)
	if err != nil || from == "" {
		return err
	}
	as, err := area.ReadAssignment(job.Tag, job.Index)
	if err != nil {
		return err
	}
	to := filepath.Join(area.Root(), "brought")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(from, strconv.Itoa(int(job.Index))))); err != nil {
		return err
	}
	return area.PutGiven(to, &as)
}

// End writes the result on the worker and copies the parcel with the result back to the work area.
func (w *CarryWrapper) End(job SimJob, play Play, started, ended jjm.Time) error {
	area, err := w.own(job)
	if err != nil {
		return err
	}
	defer area.Close()
	if err := InArea(area).End(job, play, started, ended); err != nil {
		return err
	}
	result, err := area.ReadResult(job.Tag, job.Index)
	if err != nil || result == nil {
		return errors.Join(err, jjm.Errorf(jjm.Internal, "simulated worker: no result of %s", job.ID))
	}
	f, err := os.Create(filepath.Join(w.Area.BackDir(job.Tag), strconv.Itoa(int(job.Index))))
	if err != nil {
		return err
	}
	return errors.Join(area.WriteParcel(f, job.Attempt, result), f.Close())
}
