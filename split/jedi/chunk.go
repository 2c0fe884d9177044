package jedi

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Chunk is the input of a task: the master, which decides, and the others.
type Chunk struct {
	Master    *Dataset
	Secondary []*Dataset
}

// Job is what one job reads. The records are shared with the datasets.
type Job struct {
	Master []Record
	// Secondary has an entry for each secondary dataset, in their order.
	Secondary [][]Record
	// Order lists the datasets in the order in which they were first read: 0 is
	// the master, n the n-th secondary one.
	Order []int
	// Short says that the job has fewer files or events than the rules ask for.
	Short bool
	// Seconds is the expected wall time.
	Seconds float64
	// Lacks is what the job should have of a secondary dataset and has not, nil for
	// nothing: JEDI gives it fewer files without a word.
	Lacks *Lack
}

// Lack is what a job should have of a secondary dataset, and what is there for it, in Unit:
// "files", or "events" with the attribute er.
type Lack struct {
	Dataset    string
	Need, Have int64
	Unit       string
}

// Next takes the records of the next job; false when no record is left. A job
// without records means that this queue gives it too little to do
// (MinWalltime): nothing else was wrong.
func (c *Chunk) Next(r *Rules) (Job, bool) {
	if !c.Master.Unused() {
		return Job{}, false
	}
	f := newFill(c, r)
	for r.NoSplit || f.now.within(&f.bounds) {
		f.master()
		f.secondaries()
		f.first = false
		if !c.Master.Unused() || f.ends() || !r.NoSplit && f.nextPasses() {
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

// bounds are the rules in force. A negative number is no bound.
type bounds struct {
	files, size, wall, events, out, disk float64
	dynamic                              bool
	batch                                int64 // records taken at a time
	perJob                               int64 // files per job, 0 = not given
}

const free = -1

func (r *Rules) bounds() bounds {
	b := bounds{dynamic: r.Dynamic, batch: 1, files: defaultMaxFiles, size: free, wall: value(r.MaxWalltime, 0),
		events: free, out: value(r.MaxOut, free), disk: value(r.MaxDisk, free)}
	files, events := value(r.FilesPerJob, 0), value(r.EventsPerJob, 0)
	if r.Dynamic {
		files, events = 0, value(r.MaxEvents, 0)
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
		b.files, b.size, b.wall, b.events, b.batch = free, free, 0, free, 1
	}
	return b
}

// load is what a job has so far, or would have with the next batch.
type load struct {
	files, total int64
	events       int64
	size, disk   float64
	wall         float64
	out          []float64       // by dataset
	lfns         map[string]bool // with Dynamic
	secEvents    []int64
}

func (l *load) clone() load {
	c := *l
	c.out, c.lfns, c.secEvents = slices.Clone(l.out), maps.Clone(l.lfns), slices.Clone(l.secEvents)
	return c
}

// largest is the size of the largest output.
func (l *load) largest() float64 {
	most := 0.0
	for _, size := range l.out {
		most = math.Max(most, size)
	}
	return most
}

// within says whether the load keeps the bounds.
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

// fields returns the fields of an LFN that the files of a job have in common.
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
