package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"jjm/sandbox"
)

// carriedArea is the name of the folder for the work area of a carried attempt. The folder is in the folder where the
// batch job starts.
const carriedArea = "area"

// carry runs an attempt on a worker that does not see the work area of the owner. The batch system has transferred the
// wrapper, the box (a tar with the bulk's files of the work area), the package of inputs and the files of other local
// jobs to the current folder. carry unpacks them into a work area of its own, and runs the attempt there as on other
// workers. The batch system then transfers the parcel, a tar with the result and the outputs, back. carry returns the
// wrapper's exit code, with the error that explains it.
func carry(at position) (int, error) {
	here, err := os.Getwd()
	if err != nil {
		return exitArea, err
	}
	area, err := unpackBox(here, at)
	if err != nil {
		return exitArea, err
	}
	defer func() { _ = area.Close() }()
	code, err := run(area.Root(), at)
	if perr := writeParcel(here, area, at); perr != nil {
		return exitResult, errors.Join(err, perr)
	}
	return code, err
}

// unpackBox creates the work area of a carried attempt, and moves or unpacks the transferred files into it: the box,
// the package of inputs, and the files of other local jobs.
func unpackBox(here string, at position) (*sandbox.Area, error) {
	box, err := os.Open(filepath.Join(here, sandbox.BoxName))
	if err != nil {
		return nil, fmt.Errorf("the batch system did not bring the box: %w", err)
	}
	defer func() { _ = box.Close() }()
	root := filepath.Join(here, carriedArea)
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, fmt.Errorf("this folder was used before: %w", err)
	}
	area, err := sandbox.OpenArea(root)
	if err != nil {
		return nil, err
	}
	err = area.Unbox(at.tag, box)
	if err == nil {
		err = movePackage(here, area, at)
	}
	if err == nil {
		err = moveGiven(here, area, at)
	}
	if err == nil {
		err = linkHelpers(here)
	}
	if err != nil {
		return nil, errors.Join(err, area.Close())
	}
	return area, nil
}

// movePackage moves the package of inputs to its place in the area, to which the attempt's links to its inputs lead. It
// does nothing if the job has no package.
func movePackage(here string, area *sandbox.Area, at position) error {
	as, err := area.ReadAssignment(at.tag, at.pos)
	if err != nil {
		return err
	}
	job, err := area.ReadJob(as.Grid)
	if err != nil || job.Package == "" {
		return err
	}
	packages := filepath.Join(area.Root(), "packages")
	if err := os.Mkdir(packages, 0o700); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(here, job.Package), filepath.Join(packages, job.Package)); err != nil {
		return fmt.Errorf("the batch system did not bring the inputs: %w", err)
	}
	return nil
}

// moveGiven moves the files that other local jobs made to the places in the area to which the attempt's links lead.
func moveGiven(here string, area *sandbox.Area, at position) error {
	as, err := area.ReadAssignment(at.tag, at.pos)
	if err != nil || len(as.Given) == 0 {
		return err
	}
	return area.PutGiven(filepath.Join(here, strconv.Itoa(int(at.pos))), &as)
}

// linkHelpers makes links to this program under the names of the helpers, in the folder of this program.
func linkHelpers(here string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range sandbox.Helpers() {
		if err := os.Symlink(self, filepath.Join(filepath.Dir(self), name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// writeParcel writes the parcel: the result and the files of the attempt. It writes a parcel even if there is no
// result, because a batch system holds a job if a file that it must transfer is missing.
func writeParcel(here string, area *sandbox.Area, at position) error {
	as, err := area.ReadAssignment(at.tag, at.pos)
	if err != nil {
		return err
	}
	result, err := area.ReadResult(at.tag, at.pos)
	if err != nil {
		return err
	}
	name := filepath.Join(here, sandbox.ParcelName)
	if err := notGone(os.RemoveAll(name)); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // never a pipe that the application made
	if err != nil {
		return err
	}
	err = area.WriteParcel(f, as.AttemptID(), result)
	return errors.Join(err, f.Close())
}
