// Package jedi cuts files and ranges of events into jobs with the algorithm of JEDI. It adds records of the master
// dataset, and the secondary files that go with these records, to a job until the next batch would exceed a bound. A
// job always gets its first batch, so no job is empty.
//
//	Records      makes records of the files: whole files or ranges of events
//	Task.Rules   derives the bounds of a job from a task and a queue
//	Chunk.Next   takes the records of the next job
//	Bunches      cuts a whole chunk and draws a queue for each bunch of jobs
//	Numbers      hands out seeds and sequence numbers
//
// The package does no I/O; random numbers are passed in. Package split decides on the form of a part, and when there is
// enough input.
//
// The algorithm follows the public code of JEDI, including its order of steps and its rounding, with one exception: a
// defect of that code is not reproduced, and output estimates of merge jobs are in bytes here.
package jedi

import "math"

// Unknown stands for an unknown number.
const Unknown = math.MinInt64

// Sizes, in bytes.
const (
	mb = 1 << 20
	gb = 1 << 30
	// reserveOut is the space reserved for outputs: 1 GB, and 500 MB for safety.
	reserveOut = 1500 * mb
	// defaultMaxSize is the default limit of a job's input and output.
	defaultMaxSize = 20 * gb
)

// The maximum numbers of files of a job: the default for the master dataset, and the limit for all datasets together.
const (
	defaultMaxFiles = 200
	maxTotalFiles   = 1000
)

// Record is a file, or a range of events of a file.
type Record struct {
	// ID is a number that the caller chooses; this package does not use it.
	ID  int64
	LFN string
	// Size is the size of the file in bytes; 0 for generated input.
	Size int64
	// Events is the number of events of the file, or Unknown.
	Events int64
	// Start and End are the first and last event of the range, counted from 0 within the file. Both are Unknown for a
	// whole file.
	Start, End int64
	// First is the number of the record's first event if events are numbered over all files, and otherwise Unknown.
	First int64
	// Boundary and LumiBlock are numbers that rules use to keep records together or apart;
	// Unknown = none.
	Boundary, LumiBlock int64
	// Into is the number of events before the record in its chunk.
	Into int64
}

// File returns the record of a whole file. All fields that are not arguments are Unknown.
func File(id int64, lfn string, size int64) Record {
	return Record{ID: id, LFN: lfn, Size: size, Events: Unknown, Start: Unknown, End: Unknown,
		First: Unknown, Boundary: Unknown, LumiBlock: Unknown}
}

// ranged reports whether the record is a range of events.
func (r *Record) ranged() bool { return r.Start != Unknown && r.End != Unknown }

// span returns the number of events of the record, 1 if unknown.
func (r *Record) span() int64 {
	switch {
	case r.ranged():
		return r.End - r.Start + 1
	case r.Events != Unknown:
		return r.Events
	}
	return 1
}

// effective returns the size of the record in bytes: for a range its share of the file's size; 1 MB if the size is 0.
func (r *Record) effective() float64 {
	size := float64(r.Size)
	if size > 0 && r.Events != Unknown && r.Events != 0 && r.ranged() {
		size = math.Trunc(size * float64(r.End-r.Start+1) / float64(r.Events))
	}
	if size <= 0 {
		size = mb
	}
	return size
}

// Rules bound the size of a job. A nil pointer means no rule.
type Rules struct {
	// FilesPerJob and EventsPerJob (NF, NE) are the numbers of files and events of a job.
	FilesPerJob  *int64 `json:"nFilesPerJob"`
	EventsPerJob *int64 `json:"nEventsPerJob"`
	// MaxFiles is the maximum number of files of the master dataset; nil means 200.
	MaxFiles *int64 `json:"maxNumFiles"`
	// MaxSize bounds input and output together, in bytes; nil means 20 GB if neither files nor events are set. MaxDisk
	// bounds the bytes that must fit on the worker's disk, MaxOut the largest output dataset.
	MaxSize *float64 `json:"maxSize"`
	MaxDisk *float64 `json:"maxDiskSize"`
	MaxOut  *float64 `json:"maxOutSize"`
	// MaxWalltime is in seconds; 0 or less means no bound.
	MaxWalltime *float64 `json:"maxWalltime"`

	// OutPerMB is the output in bytes per MB of input, or per event with OutPerEvent. WorkSize is added once for each job.
	// OutPerByte, for merging, is the output per byte of input.
	OutPerMB    float64  `json:"sizeGradients"`
	OutPerEvent bool     `json:"-"`
	WorkSize    float64  `json:"sizeIntercepts"`
	OutPerByte  *float64 `json:"sizeGradientsPerInSize"`

	// WallPerUnit is the wall time in seconds per MB of input. With HS06 it is in HS06 seconds per event, and BaseWall, in
	// seconds, is added once.
	WallPerUnit float64  `json:"walltimeGradient"`
	HS06        bool     `json:"-"`
	BaseWall    float64  `json:"-"`
	Efficiency  float64  `json:"-"` // in percent
	Cores       *float64 `json:"coreCount"`
	CorePower   *float64 `json:"corePower"`
	// Copies is the number of event-service jobs that share the work.
	Copies *float64 `json:"multiplicity"`

	// Boundary is the rule by which the boundaries of records keep records together or apart.
	Boundary *BoundaryRule `json:"useBoundary"`
	// RespectLB starts a new job with each lumi block.
	RespectLB bool `json:"respectLB"`
	// Fields are the positions (from 1) of dot-separated fields of the LFN. All files of a job have the same text in these
	// fields.
	Fields []int `json:"splitByFields"`
	// NoSplit puts everything into one job.
	NoSplit bool `json:"no_split"`
	// DirectIO is set if input is read remotely and takes no disk.
	DirectIO bool `json:"useDirectIO"`

	// Dynamic adapts the number of events to the wall time of the queue instead of using FilesPerJob and EventsPerJob: at
	// most MaxEvents events, and at least MinWalltime seconds.
	Dynamic     bool     `json:"dynNumEvents"`
	MaxEvents   *int64   `json:"max_events"`
	MinWalltime *float64 `json:"min_walltime"`

	// inMB reproduces a defect of the public code in OutPerByte, for tests that compare with recorded results of that
	// code.
	inMB bool
}

// BoundaryRule groups records by boundary.
//
//	InSplit 1  all records of a job have the same boundary
//	        2  a job has all records of one boundary
//	        3  a job may have records of different boundaries, for merging
type BoundaryRule struct {
	InSplit int `json:"inSplit"`
}

func orDefault[T any](p *T, or T) T {
	if p == nil {
		return or
	}
	return *p
}
