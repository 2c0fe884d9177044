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

// carriedArea is the name of the worker's own area, in the folder where the job starts.
const carriedArea = "area"

// carry runs an attempt on a worker that does not see the work area. The batch system has transferred the wrapper, the
// box and the packages to the current folder, and will transfer the parcel back. The attempt runs inside the area from
// the box, in the same way as on other workers.
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

// unpackBox creates the area and unpacks the box, the package and the files of other local jobs into the area.
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

// movePackage moves the package to the place to which the attempt's links to its inputs lead.
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

// moveGiven moves the files that other local jobs made to the place to which the attempt's links lead.
func moveGiven(here string, area *sandbox.Area, at position) error {
	as, err := area.ReadAssignment(at.tag, at.pos)
	if err != nil || len(as.Given) == 0 {
		return err
	}
	return area.PutGiven(filepath.Join(here, strconv.Itoa(int(at.pos))), &as)
}

// linkHelpers makes the links with the helpers' names to this program.
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

// writeParcel packs the result and the files of the attempt into the parcel. It writes a parcel even without a result
// and files, because a batch system holds a job if a file to be transferred is missing.
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
