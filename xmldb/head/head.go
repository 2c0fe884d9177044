// Package head reads the head of a record. The head contains the facts that a client reports about a grid job while the
// daemon is down. The package is separate from package xmldb and has none of its dependencies, because gatekeepers
// execute the client thousands of times: reading a head takes well under a millisecond.
//
// A head is one file of at most [MaxBytes]: DIR/17/record.xml. docs/RECORDS.md describes it, docs/record.xsd is its
// schema, and package xmldb writes it.
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

	"jjm/internal/jjm"
)

// MaxBytes is the largest size of a head, in bytes.
const MaxBytes = 64 << 10

// File is the name of the head within the folder of its grid job.
const File = "record.xml"

// Head is the summary of a grid job at the time when it was written.
type Head struct {
	// Grid is the grid job. Read sets the fields that the record contains: ID, Owner, Type, Name, Model, Key, Mode,
	// Result, After and AfterEnd of Spec, Status, Generation, Kill, KillBy, Reason, the times, the tar, the warnings,
	// Step without Carry, and Rollback if the grid job is kept.
	Grid jjm.GridJob
	// Counts are the numbers of local jobs by state; Jobs is their sum. Grid.Step.Expected is the expected final
	// number.
	Counts [jjm.NumStates]int
	Jobs   int
	// ClusterJobs are the local jobs by the cluster of their current or last attempt, without the local jobs that have
	// no attempt.
	ClusterJobs []jjm.ClusterJob
	// GRAM, GRAMCode (17 if GRAM is FAILED) and Message are the answer for a gatekeeper.
	GRAM     jjm.GRAM
	GRAMCode int
	Message  string
	// Master is the Ganga master status.
	Master string
	// Exit is the exit code of the grid job if the job has ended.
	Exit int
	// Tar is the absolute path of the output tar, "" until it is complete.
	Tar string
	// Causes are the reasons why local jobs failed or are tried again.
	Causes []jjm.Cause
	// Phases are the phases of the applications, each with its progress summed over the running local jobs.
	Phases []jjm.Progress
	// Inputs are the datasets that the grid job reads.
	Inputs []Input
	// Steps are the counts of local jobs of each step, in order, if there is more than one step. Read sets nothing else
	// about the later steps.
	Steps []jjm.StepCounts
	// Endings are the ends of past generations, oldest first. Read does not set Grid.Endings.
	Endings []Ending
	// Written is the time at which the record was written.
	Written jjm.Time
}

// Ending is the end of a past generation of a grid job, with the answer for a gatekeeper. Counts are the numbers of
// completed, failed and killed local jobs. A record does not contain Causes and Proof.
type Ending struct {
	jjm.Ending
	GRAM     jjm.GRAM
	GRAMCode int
	Message  string
	Master   string
	Jobs     int
	TarPath  string // absolute path of the output tar
}

// Told returns the head as gatekeepers must see it. For gatekeepers a grid job is over after its first generation, so
// if this generation has ended, the returned head shows the state at its end.
func (h Head) Told() Head {
	if len(h.Endings) == 0 {
		return h
	}
	e := &h.Endings[0]
	h.Grid.Status, h.Grid.Kill, h.Grid.KillBy, h.Grid.Usage = e.Status, e.Kill, e.KillBy, e.Usage
	h.Grid.Ended, h.Grid.Step.Expected = e.Ended, e.Expected
	h.Grid.Tar, h.Grid.TarBytes, h.Grid.TarSHA256 = e.Tar, e.TarBytes, e.TarSHA256
	h.Counts, h.Jobs, h.GRAM, h.GRAMCode, h.Exit = e.Counts, e.Jobs, e.GRAM, e.GRAMCode, e.Exit
	h.Message, h.Master, h.Tar = e.Message, e.Master, e.TarPath
	return h
}

// Input is a dataset that a grid job reads, with counts of its used files.
type Input struct {
	Name         string
	Master, Open bool
	Counts       jjm.InputCounts
}

// Numbers yields the counters with the names of their attributes, in order.
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

// Path returns the path of the head of a grid job, for records in dir.
func Path(dir string, grid jjm.GridID) string {
	return filepath.Join(dir, grid.String(), File)
}

// Read reads the head of a grid job. The error is of kind Gone if there is no record, Denied if the caller may not read
// it, and Internal if the file is not a head; in these cases nothing is known about the grid job.
func Read(dir string, grid jjm.GridID) (Head, error) {
	path := Path(dir, grid)
	data, err := readFile(path, MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		text := fmt.Sprintf("there is no record of grid job %d in %s", grid, dir)
		return Head{}, jjm.Errorf(jjm.Gone, "%w", missing{text, err})
	}
	if err != nil {
		return Head{}, jjm.Errorf(kind(err), "read record of grid job %d: %w", grid, err)
	}
	h, err := Parse(data)
	if err != nil {
		return Head{}, jjm.Errorf(jjm.Internal, "read record of grid job %d: %s: %w", grid, path, err)
	}
	if h.Grid.ID != grid {
		return Head{}, jjm.Errorf(jjm.Internal, "read record of grid job %d: %s: the file is the record of grid job %d", grid, path,
			h.Grid.ID)
	}
	return h, nil
}

// missing is the error for a file that does not exist. Its text is for people.
type missing struct {
	text string
	err  error
}

func (m missing) Error() string { return m.text }

// Unwrap returns the error of the file system.
func (m missing) Unwrap() error { return m.err }

// kind returns the kind of an error of the file system.
func kind(err error) jjm.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return jjm.Gone
	case errors.Is(err, fs.ErrPermission):
		return jjm.Denied
	}
	return jjm.Internal
}

// readFile reads a regular file of at most limit bytes. With O_NONBLOCK the opening of a fifo does not wait for a
// writer (open(2)).
func readFile(path string, limit int64) ([]byte, error) {
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
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: longer than the %d bytes that it may have", path, limit)
	}
	return data, nil
}
