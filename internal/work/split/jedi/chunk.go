package jedi

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Chunk is the input of a task: the master dataset, which determines the jobs, and the secondary datasets.
type Chunk struct {
	Master    *Dataset
	Secondary []*Dataset
}

// Job lists the records that one job reads. It shares its records with the datasets.
type Job struct {
	Master []Record
	// Secondary has an entry for each secondary dataset, in their order.
	Secondary [][]Record
	// Order lists the datasets in the order in which they were first used: 0 is the master, n is the n-th secondary
	// dataset (from 1).
	Order []int
	// Short is set if the job has fewer files or events than the rules request.
	Short bool
	// Seconds is the expected wall time.
	Seconds float64
	// Lacks is the shortage of a secondary dataset for this job, nil if there is none. JEDI reduces the files of such
	// a job without a message.
	Lacks *Lack
}

// Lack is a shortage of a secondary dataset. Need is how much a job needs and Have how much there is, in Unit: "files",
// or "events" with the attribute er.
type Lack struct {
	Dataset    string
	Need, Have int64
	Unit       string
}

// Next returns the next job with its records, or false if no record is left. With Dynamic, a job without records means
// that a job for this queue would be too short (MinWalltime).
func (c *Chunk) Next(r *Rules) (Job, bool) {
	if !c.Master.Unused() {
		return Job{}, false
	}
	f := newFill(c, r)
	for r.NoSplit || f.now.within(&f.bounds) {
		f.master()
		f.secondaries()
		f.first = false
		if !c.Master.Unused() || f.ends() || !r.NoSplit && f.nextExceeds() {
			break
		}
	}
	for _, d := range append([]*Dataset{c.Master}, c.Secondary...) {
		if d.Repeat && len(d.Records) > 0 {
			d.Used %= len(d.Records)
		}
	}
	if r.Dynamic && r.MinWalltime != nil && *r.MinWalltime > f.now.wall {
		return Job{}, true
	}
	return f.job(), true
}

// bounds are the limits of a job. A negative number (unbounded) means no limit.
type bounds struct {
	files, size, wall, events, out, disk float64
	dynamic                              bool
	batch                                int64 // number of records added in one round
	perJob                               int64 // number of files of a job, 0 = not set
}

const unbounded = -1

// bounds returns the limits that the rules set. If a rule for files or size is missing, it returns JEDI's default
// limit.
func (r *Rules) bounds() bounds {
	b := bounds{dynamic: r.Dynamic, batch: 1, files: defaultMaxFiles, size: unbounded, wall: orDefault(r.MaxWalltime, 0),
		events: unbounded, out: orDefault(r.MaxOut, unbounded), disk: orDefault(r.MaxDisk, unbounded)}
	files, events := orDefault(r.FilesPerJob, 0), orDefault(r.EventsPerJob, 0)
	if r.Dynamic {
		files, events = 0, orDefault(r.MaxEvents, 0)
	}
	if r.MaxFiles != nil {
		b.files = float64(*r.MaxFiles)
	}
	switch {
	case r.MaxSize != nil:
		b.size = *r.MaxSize
	case files == 0 && (events == 0 || r.Dynamic):
		b.size = defaultMaxSize
	}
	if files > 0 {
		b.files, b.perJob = float64(files), files
		if !r.RespectLB {
			b.batch = files
		}
	}
	if events > 0 {
		b.events = float64(events)
	}
	if r.Boundary != nil && r.Boundary.InSplit == 2 {
		b.files, b.size, b.wall, b.events, b.batch = unbounded, unbounded, 0, unbounded, 1
	}
	return b
}

// load is the size of a job so far, or with the next batch added.
type load struct {
	files, total int64
	events       int64
	size, disk   float64
	wall         float64
	out          []float64       // the output by dataset, the master first
	lfns         map[string]bool // the names of the files; only with Dynamic
	secEvents    []int64
}

func (l *load) clone() load {
	c := *l
	c.out, c.lfns, c.secEvents = slices.Clone(l.out), maps.Clone(l.lfns), slices.Clone(l.secEvents)
	return c
}

// largest returns the size of the largest output.
func (l *load) largest() float64 {
	most := 0.0
	for _, size := range l.out {
		most = math.Max(most, size)
	}
	return most
}

// within reports whether the load is within the bounds.
func (l *load) within(b *bounds) bool {
	files := l.files
	if b.dynamic {
		files = int64(len(l.lfns))
	}
	return (b.files < 0 || float64(files) <= b.files) &&
		(b.size < 0 || l.size <= b.size) &&
		(b.wall <= 0 || l.wall <= b.wall) &&
		(b.events < 0 || float64(l.events) <= b.events) &&
		(b.out < 0 || l.largest() <= b.out) &&
		(b.disk < 0 || l.disk <= b.disk) &&
		l.total <= maxTotalFiles
}

// fields returns the fields of an LFN, by their numbers from 1, that must be equal for all files of a job. It returns
// "" if the LFN lacks one of these fields.
func fields(lfn string, numbers []int) string {
	words := strings.Split(lfn, ".")
	var out strings.Builder
	for _, n := range numbers {
		if n < 1 || n > len(words) {
			return ""
		}
		out.WriteString("." + words[n-1])
	}
	return out.String()
}
