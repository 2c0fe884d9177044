// Package head reads the head of a record: what a client needs to answer for a
// grid job while the daemon is down. It is kept apart from package xmldb, and
// free of its dependencies, because gatekeepers exec the client thousands of
// times: reading a head costs well under a millisecond.
//
// A head is one file of at most [MaxBytes]: DIR/17/record.xml. docs/RECORDS.md
// describes it, docs/record.xsd holds its schema, package xmldb writes it.
package head

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"jjm"
)

// MaxBytes bounds the file of a head.
const MaxBytes = 64 << 10

// File is the name of the head within the folder of its grid job.
const File = "record.xml"

// Head is the aggregate of a grid job at the time it was written.
type Head struct {
	// Grid is the grid job. Read fills what the record carries: ID, Owner,
	// Spec's Type, Name, Key, Mode and Result, Status, Kill, KillBy, Reason,
	// the times, the tar, and Step but for Carry.
	Grid jjm.GridJob
	// Counts are the local jobs by state; Jobs is their number. How many there
	// will be is Grid.Step.Expected.
	Counts [jjm.NumStates]int
	Jobs   int
	// ClusterJobs are the local jobs by the cluster of their current or last
	// attempt; those that had none are left out.
	ClusterJobs []jjm.ClusterJob
	// GRAM, GRAMCode (17 when GRAM is FAILED) and Message are what a
	// gatekeeper is told.
	GRAM     jjm.GRAM
	GRAMCode int
	Message  string
	// Master is the Ganga master status.
	Master string
	// Exit is the exit code of the grid job once it is final.
	Exit int
	// Tar is the absolute path of the output tar, "" until it is complete.
	Tar string
	// Phases sums the progress of the running local jobs.
	Phases []jjm.Progress
	// Inputs are the datasets that it reads.
	Inputs []Input
	// Steps are the local jobs step by step, in order, if there is more than one.
	// Of the steps behind the first, Read gives no more than these.
	Steps []jjm.StepCounts
	// Written is when the record was written.
	Written jjm.Time
}

// Input is a dataset that a grid job reads, and how far it has come with it.
type Input struct {
	Name         string
	Master, Open bool
	Counts       jjm.InputCounts
}

// Numbers returns the counters by the names of their attributes, in order.
func (in *Input) Numbers() iter.Seq2[string, *int64] {
	c := &in.Counts
	names := [...]string{"files", "toBeUsed", "used", "finished", "failed", "events", "eventsUsed"}
	return func(yield func(string, *int64) bool) {
		for i, n := range [...]*int64{&c.Files, &c.ToBeUsed, &c.Used, &c.Finished, &c.Failed, &c.Events, &c.EventsUsed} {
			if !yield(names[i], n) {
				return
			}
		}
	}
}

// Path is the file of the head of a grid job, for records kept in dir.
func Path(dir string, grid jjm.GridID) string {
	return filepath.Join(dir, grid.String(), File)
}

// Read reads the head of a grid job. The error is of kind Gone if there is no
// record, Denied if it may not be read, Internal if it is not a head: then
// nothing is known of the grid job, and nothing may be concluded.
func Read(dir string, grid jjm.GridID) (Head, error) {
	path := Path(dir, grid)
	data, err := readFile(path)
	if err != nil {
		return Head{}, jjm.Errorf(kind(err), "read record of grid job %d: %w", grid, err)
	}
	h, err := Parse(data)
	if err != nil {
		return Head{}, jjm.Errorf(jjm.Internal, "read record of grid job %d: %s: %w", grid, path, err)
	}
	if h.Grid.ID != grid {
		return Head{}, jjm.Errorf(jjm.Internal, "read record of grid job %d: %s: it is the record of grid job %d", grid, path,
			h.Grid.ID)
	}
	return h, nil
}

func kind(err error) jjm.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return jjm.Gone
	case errors.Is(err, fs.ErrPermission):
		return jjm.Denied
	}
	return jjm.Internal
}

// readFile reads a regular file of at most MaxBytes. O_NONBLOCK keeps the
// opening of a fifo from waiting for a writer (open(2)).
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: longer than the %d bytes of a head", path, MaxBytes)
	}
	return data, nil
}
