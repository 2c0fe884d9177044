package jedi

// Bounds besides the split rule: the largest output of a job and of a merge job, the output of
// merging per input, its least work space, and its most files.
const (
	maxOut      = 10 * gb
	maxMergeOut = 5 * gb
	mergeFactor = 1.2
	mergeWork   = 500 * mb
	mergeFiles  = 50
)

// With direct I/O, the least work area that bounds a job, in MB, so that a small disk does not
// limit what is read remotely.
const (
	directScoutMB = 50_000
	directMB      = 500_000
)

// Rules returns the bounds of a job of the task on a queue.
func (t *Task) Rules(q *Queue, o Options) Rules {
	r := Rules{HS06: t.HS06, BaseWall: t.BaseWall, Efficiency: t.Efficiency, OutPerEvent: t.OutPerEvent,
		RespectLB: t.number("RL") != nil, NoSplit: t.number("OM") != nil, Fields: o.Fields, inMB: o.inMB,
		WorkSize: t.WorkSize}
	var size *float64 // the size of a job that the task asks for
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

// Dynamic reports whether the number of events of a job follows the least wall time of its
// queue.
func (t *Task) Dynamic() bool { return t.number("DY") != nil }

// jobRules sets the rules of processing jobs, and returns the size that the task asks for.
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
	files := int64(mergeFiles)
	r.MaxFiles, r.FilesPerJob, r.EventsPerJob = &files, t.number("ZF"), t.number("ZE")
	if n := t.number("ZM"); n != nil {
		r.MaxFiles = n
	}
	r.Boundary = &BoundaryRule{InSplit: 3}
	factor, out := mergeFactor, float64(maxMergeOut)
	if n := t.number("ZG"); n != nil {
		out = float64(*n) * gb
	}
	r.OutPerByte, r.MaxOut = &factor, &out
	r.WorkSize = max(r.WorkSize, mergeWork)
}

// maxSize returns the bound of input and output together: what the task asks for, else what the
// worker's disk holds.
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

// maxWalltime returns the smaller of what the task (in hours, decision R32) and the queue
// allow, in seconds.
func (t *Task) maxWalltime(q *Queue, o Options) *float64 {
	wall := q.MaxTime
	if n := t.number("MW"); n != nil && !o.Merging && (wall <= 0 || float64(*n)*3600 < wall) {
		wall = float64(*n) * 3600
	}
	return &wall
}
