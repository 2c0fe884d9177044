package jedi

import "math"

// Bounds that no split rule (a text such as "NF=10,MX=100") can change. maxOut and maxMergeOut are the largest output
// of a job and of a merge job, in bytes. mergeFactor is the output of merging per byte of input. mergeWork is the
// minimum work space of a merge job in bytes, and mergeFiles the maximum number of its files.
const (
	maxOut      = 10 * gb
	maxMergeOut = 5 * gb
	mergeFactor = 1.2
	mergeWork   = 500 * mb
	mergeFiles  = 50
)

// With direct I/O, input is read remotely, and a small disk must not limit the input. The work area is therefore
// assumed to have at least directScoutMB for the first jobs of a task, and at least directMB for all other jobs.
const (
	directScoutMB = 50_000
	directMB      = 500_000
)

// Rules returns the bounds of a job of the task on a queue. It uses these words of the split rule:
//
//	NF, NE, NG  files, events and gigabytes of a job
//	MF, MW      maximum number of files, and of hours
//	GB          keep boundaries together
//	RL          respect lumi blocks
//	OM          do not split the task
//	RR          do not reduce scouts without NF and NE to one file
//	DY, MX      fit the events to the queue's wall time; maximum number of events
func (t *Task) Rules(q *Queue, o Options) Rules {
	r := Rules{HS06: t.HS06, BaseWall: t.BaseWall, Efficiency: t.Efficiency, OutPerEvent: t.OutPerEvent,
		RespectLB: t.number("RL") != nil, NoSplit: t.number("OM") != nil, Fields: o.Fields, inMB: o.inMB,
		WorkSize: t.WorkSize}
	var size *float64 // the size of a job that the task requests, nil = none
	if o.Merging {
		t.mergeRules(&r)
	} else {
		size = t.jobRules(&r, o)
	}
	cores, power := max(q.Cores, 1), q.CorePower
	if power == 0 {
		power = t.CorePower
	}
	r.Cores, r.CorePower = &cores, &power
	r.DirectIO = q.DirectIO
	r.MaxSize, r.MaxDisk = t.maxSize(&r, q, o, size), inBytes(q.MaxDirMB, 0)
	r.MaxWalltime = t.maxWalltime(q, o)
	if q.MinTime > 0 && t.Dynamic() {
		r.Dynamic, r.MinWalltime, r.MaxEvents = true, &q.MinTime, t.number("MX")
	}
	return r
}

// Dynamic reports whether the number of events of a job depends on the minimum wall time of its queue.
func (t *Task) Dynamic() bool { return t.number("DY") != nil }

// jobRules sets the rules of processing jobs. It returns the number of bytes of input that the task requests for each
// job, nil if the task requests none.
func (t *Task) jobRules(r *Rules, o Options) *float64 {
	r.MaxFiles, r.FilesPerJob, r.EventsPerJob = t.number("MF"), t.number("NF"), t.number("NE")
	if o.Scouts && r.FilesPerJob == nil && r.EventsPerJob == nil && t.number("RR") == nil {
		one := int64(1)
		r.FilesPerJob = &one
	}
	r.OutPerMB, r.WallPerUnit = t.OutPerMB, t.Walltime
	if t.HS06 {
		r.WallPerUnit = t.CPUTime
	}
	if t.Copies > 0 {
		r.Copies = &t.Copies
	}
	if b := t.number("GB"); b != nil {
		r.Boundary = &BoundaryRule{InSplit: 1}
		if *b > 2 {
			r.Boundary.InSplit = 2
		}
	}
	out := float64(maxOut)
	r.MaxOut = &out
	if n := t.number("NG"); n != nil {
		size := float64(*n)*gb + reserveOut
		return &size
	}
	return nil
}

// mergeRules sets the rules of merge jobs.
func (t *Task) mergeRules(r *Rules) {
	l := MergeDefaults()
	for _, word := range []struct {
		name string
		to   *int64
		unit int64
	}{{"ZF", &l.FilesPerJob, 1}, {"ZM", &l.Files, 1}, {"ZG", &l.Bytes, gb}, {"ZE", &l.Events, 1}} {
		if n := t.number(word.name); n != nil {
			*word.to = *n * word.unit
		}
	}
	l.set(r)
}

// MergeLimits are the bounds of a job that merges outputs.
type MergeLimits struct {
	// FilesPerJob (ZF), unless 0, is the exact number of files of a job, regardless of their size.
	FilesPerJob int64
	// Files (ZM) is the maximum number of files of a job.
	Files int64
	// Bytes (ZG) is the maximum number of bytes that a job is expected to write. A single file may exceed it.
	Bytes int64
	// Events (ZE), unless 0, is the maximum number of events of a job. A single file may exceed it.
	Events int64
}

// MergeDefaults returns the limits of JEDI: 50 files and 5 GB.
func MergeDefaults() MergeLimits { return MergeLimits{Files: mergeFiles, Bytes: maxMergeOut} }

// Rules returns the bounds of a merge job if the disk of the worker is unknown.
func (l MergeLimits) Rules() Rules {
	room := math.Inf(1)
	r := Rules{MaxSize: &room}
	l.set(&r)
	return r
}

// set adds the limits to the rules of a merge job.
func (l MergeLimits) set(r *Rules) {
	if l.FilesPerJob > 0 {
		r.FilesPerJob = &l.FilesPerJob
	}
	if l.Events > 0 {
		r.EventsPerJob = &l.Events
	}
	factor, out := mergeFactor, float64(l.Bytes)
	r.MaxFiles, r.OutPerByte, r.MaxOut = &l.Files, &factor, &out
	r.Boundary = &BoundaryRule{InSplit: 3}
	r.WorkSize = max(r.WorkSize, mergeWork)
}

// Full reports whether a job with these records cannot take another file.
func (l MergeLimits) Full(records []Record) bool {
	if l.FilesPerJob > 0 {
		return int64(len(records)) >= l.FilesPerJob
	}
	var events int64
	for i := range records {
		if records[i].ranged() {
			events += records[i].span()
		}
	}
	return int64(len(records)) >= min(l.Files, maxTotalFiles) || MergeSize(records) >= float64(l.Bytes) ||
		l.Events > 0 && events >= l.Events
}

// MergeSize returns the bytes that merging files is expected to write: 1.2 times their size. An empty file counts as 1
// MB.
func MergeSize(records []Record) (out float64) {
	for i := range records {
		out += math.Trunc(records[i].effective() * mergeFactor)
	}
	return out
}

// MergeDisk returns the bytes that merging files is expected to need on the disk of a worker: input, output, and a
// margin of 500 MB.
func MergeDisk(records []Record) float64 {
	disk := MergeSize(records) + mergeWork
	for i := range records {
		disk += float64(records[i].Size)
	}
	return disk
}

// maxSize returns the bound of input and output together: the size that the task requests, or else the size that fits
// on the worker's disk.
func (t *Task) maxSize(r *Rules, q *Queue, o Options, asked *float64) *float64 {
	switch {
	case asked != nil:
		size := *asked + r.WorkSize
		return &size
	case !q.DirectIO:
		return inBytes(q.MaxDirMB, 0)
	case r.EventsPerJob != nil || r.FilesPerJob != nil:
		return nil
	case o.Scouts:
		return inBytes(q.MaxDirMB, directScoutMB)
	}
	return inBytes(q.MaxDirMB, directMB)
}

func inBytes(size *float64, least float64) *float64 {
	if size == nil {
		return nil
	}
	bytes := max(*size, least) * mb
	return &bytes
}

// maxWalltime returns the smaller of the limits of the task (in hours, decision R32) and the queue, in seconds.
func (t *Task) maxWalltime(q *Queue, o Options) *float64 {
	wall := q.MaxTime
	if n := t.number("MW"); n != nil && !o.Merging && (wall <= 0 || float64(*n)*3600 < wall) {
		wall = float64(*n) * 3600
	}
	return &wall
}
