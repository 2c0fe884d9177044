// Package jedi is JEDI's way of cutting files and event ranges into jobs: fill a
// job with records of the master dataset, and what comes along of the secondary
// ones, until one of its bounds would be passed. A job always gets its first
// batch, so that none is empty.
//
// It also makes the records (Records), chooses a queue for each bunch of jobs
// (Bunches), and hands out seeds, sequence and serial numbers (Numbers,
// Serials). Everything here is pure; chance is passed in.
//
// The algorithm follows what the public code does, in its order and with its
// rounding, except where that is a defect: output estimates of merge jobs are in
// bytes.
package jedi

import "math"

// Unknown is a number that is not known.
const Unknown = math.MinInt64

// Sizes, in bytes.
const (
	mb = 1 << 20
	gb = 1 << 30
	// reserveOut is kept free for outputs: 1 GB and 500 MB for safety.
	reserveOut = 1500 * mb
	// defaultMaxSize bounds a job by default.
	defaultMaxSize = 20 * gb
)

// The most files of a job: by default of the master dataset, and of all.
const (
	defaultMaxFiles = 200
	maxTotalFiles   = 1000
)

// Record is a file, or a range of the events of one.
type Record struct {
	// ID is the caller's.
	ID  int64
	LFN string
	// Size is that of the file, in bytes; 0 of generated input.
	Size int64
	// Events is how many the file has, Unknown if not known.
	Events int64
	// Start and End are the first and last event of the range, from 0 within the
	// file; both Unknown for a whole file.
	Start, End int64
	// First is the number of its first event, of events that are numbered over
	// all files; Unknown for none.
	First int64
	// Boundary and LumiBlock keep records together; Unknown for none.
	Boundary, LumiBlock int64
	// Into is how many events of its chunk came before it.
	Into int64
}

// File is a whole file with nothing else known.
func File(id int64, lfn string, size int64) Record {
	return Record{ID: id, LFN: lfn, Size: size, Events: Unknown, Start: Unknown, End: Unknown,
		First: Unknown, Boundary: Unknown, LumiBlock: Unknown}
}

// ranged says whether the record is a range of events.
func (r *Record) ranged() bool { return r.Start != Unknown && r.End != Unknown }

// span is how many events the record has, 1 if not known.
func (r *Record) span() int64 {
	switch {
	case r.ranged():
		return r.End - r.Start + 1
	case r.Events != Unknown:
		return r.Events
	}
	return 1
}

// effective is the size of the record in bytes: a part of the file's for a
// range, and 1 MB where it would be nothing.
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

// Rules say how large a job may be. A nil pointer is no rule.
type Rules struct {
	// NF, NE: how many files or events a job has.
	FilesPerJob  *int64 `json:"nFilesPerJob"`
	EventsPerJob *int64 `json:"nEventsPerJob"`
	// MaxFiles is of the master dataset, 200 by default.
	MaxFiles *int64 `json:"maxNumFiles"`
	// MaxSize is of input and output together, in bytes; 20 GB by default where
	// neither files nor events are given. MaxDisk is what must fit on the
	// worker's disk, MaxOut bounds the largest output dataset.
	MaxSize *float64 `json:"maxSize"`
	MaxDisk *float64 `json:"maxDiskSize"`
	MaxOut  *float64 `json:"maxOutSize"`
	// MaxWalltime is in seconds; 0 or less is no bound.
	MaxWalltime *float64 `json:"maxWalltime"`

	// OutPerMB is the output in bytes for each MB of input, or for each event
	// with OutPerEvent; WorkSize comes on top, once. OutPerByte, for merging, is
	// the output for each byte of input.
	OutPerMB    float64  `json:"sizeGradients"`
	OutPerEvent bool     `json:"-"`
	WorkSize    float64  `json:"sizeIntercepts"`
	OutPerByte  *float64 `json:"sizeGradientsPerInSize"`

	// WallPerUnit is the wall time for each MB of input, or the HS06 seconds for
	// each event with HS06, where BaseWall comes on top, once.
	WallPerUnit float64  `json:"walltimeGradient"`
	HS06        bool     `json:"-"`
	BaseWall    float64  `json:"-"`
	Efficiency  float64  `json:"-"` // per cent
	Cores       *float64 `json:"coreCount"`
	CorePower   *float64 `json:"corePower"`
	// Copies is by how many the work is shared, for event services.
	Copies *float64 `json:"multiplicity"`

	// Boundary groups records by their boundary.
	Boundary *BoundaryRule `json:"useBoundary"`
	// RespectLB begins a new job with each lumi block.
	RespectLB bool `json:"respectLB"`
	// Fields are the numbers, from 1, of the fields of the LFN, between dots,
	// that the files of a job have in common.
	Fields []int `json:"splitByFields"`
	// NoSplit puts everything into one job.
	NoSplit bool `json:"no_split"`
	// DirectIO: input is read from afar and takes no disk.
	DirectIO bool `json:"useDirectIO"`

	// Dynamic fits events to the wall time of the queue instead of FilesPerJob
	// and EventsPerJob: at most MaxEvents, at least MinWalltime.
	Dynamic     bool     `json:"dynNumEvents"`
	MaxEvents   *int64   `json:"max_events"`
	MinWalltime *float64 `json:"min_walltime"`

	// inMB repeats the public defect of OutPerByte, for its recorded rows.
	inMB bool
}

// BoundaryRule groups records. InSplit 1: a job stays within a boundary; 2: it
// has all of one; 3: boundaries are mixed, for merging.
type BoundaryRule struct {
	InSplit int `json:"inSplit"`
}

func value[T any](p *T, or T) T {
	if p == nil {
		return or
	}
	return *p
}
