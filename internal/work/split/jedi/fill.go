package jedi

import (
	"cmp"
	"math"
)

// fill is the state of a job while records are added to it. Each round adds a batch of master records and then the
// secondary files that go with these records.
type fill struct {
	*Chunk
	r      *Rules
	bounds bounds
	now    load

	first     bool // whether this is the first round
	byEvents  bool // whether a secondary dataset is used by events
	taken     bool // whether the job has a master record
	start     int  // position of the job's first master record
	count     int64
	order     []int
	got       [][]Record
	secFiles  []int64 // by secondary dataset: number of its files in the job
	boundary  int64
	bounded   map[int64]bool // boundaries of the master records of this round
	lumiBlock int64
	fields    string
	hasFields bool
	nextStart int64
	lfn       string
	ranges    bool // whether the master records of this round are ranges of events
	newBound  bool
	newBlock  bool
	jump      bool
	lacks     *Lack
}

func newFill(c *Chunk, r *Rules) *fill {
	f := &fill{Chunk: c, r: r, bounds: r.bounds(), first: true, start: c.Master.Used,
		boundary: Unknown, lumiBlock: Unknown, nextStart: Unknown,
		got: make([][]Record, len(c.Secondary)), secFiles: make([]int64, len(c.Secondary))}
	f.now.out, f.now.secEvents = make([]float64, 1+len(c.Secondary)), make([]int64, len(c.Secondary))
	if r.Dynamic {
		f.now.lfns = map[string]bool{}
	}
	for _, d := range c.Secondary {
		f.byEvents = f.byEvents || d.Events > 0
	}
	return f
}

func (f *fill) job() Job {
	j := Job{Master: f.Master.Records[f.start : f.start+int(f.count)], Secondary: f.got, Order: f.order,
		Seconds: f.now.wall, Lacks: cmp.Or(f.lacks, f.emptyDataset())}
	j.Short = f.bounds.events > 0 && float64(f.now.events) < f.bounds.events ||
		f.bounds.perJob > 0 && f.now.files < f.bounds.perJob
	return j
}

// split reports whether there is a rule about boundaries.
func (f *fill) split() bool { return f.r.Boundary != nil }

// otherBoundary reports whether a record has another boundary and must not join this job.
func (f *fill) otherBoundary(r *Record) bool {
	return f.split() && f.boundary != Unknown && f.boundary != r.Boundary && f.r.Boundary.InSplit != 3
}

// otherBlock reports whether a record has another lumi block and must not join this job.
func (f *fill) otherBlock(r *Record) bool {
	return f.r.RespectLB && f.lumiBlock != Unknown && f.lumiBlock != r.LumiBlock
}

// master adds the next batch of master records.
func (f *fill) master() {
	f.bounded, f.ranges = map[int64]bool{}, false
	batch := f.Master.next(f.bounds.batch)
	for i := range batch {
		r := &batch[i]
		if f.breaks(r) {
			return
		}
		f.count++
		f.Master.Used++
		f.use(0)
		f.measure(&f.now, r, !f.taken)
		if f.countsEvents() && r.ranged() {
			f.ranges = true
			f.now.events += r.span()
			if f.nextStart = r.End + 1; f.nextStart == r.Events {
				f.nextStart = 0
			}
			f.lfn = r.LFN
		}
		if f.split() {
			f.boundary = r.Boundary
			f.bounded[r.Boundary] = true
		}
		if f.r.RespectLB {
			f.lumiBlock = r.LumiBlock
		}
		f.taken = true
	}
}

// countsEvents reports whether the numbers of events of ranges are needed.
func (f *fill) countsEvents() bool { return f.bounds.events >= 0 || f.byEvents || f.r.Dynamic }

// breaks reports whether the job must end before this record. It notes the reason.
func (f *fill) breaks(r *Record) bool {
	if (f.bounds.events >= 0 || f.r.Dynamic) && r.Start != Unknown && f.nextStart != Unknown {
		if f.nextStart != r.Start || f.nextStart != 0 && f.lfn != "" && f.lfn != r.LFN {
			f.jump = true
			return true
		}
	}
	if f.otherBoundary(r) {
		f.newBound = true
		return true
	}
	if f.otherBlock(r) {
		f.newBlock = true
		return true
	}
	if f.r.Fields != nil {
		text := fields(r.LFN, f.r.Fields)
		if f.hasFields && text != f.fields {
			f.newBound = true
			return true
		}
		f.fields, f.hasFields = text, true
	}
	return false
}

// use appends a dataset to the order in which datasets are used, if it is not in the order yet.
func (f *fill) use(dataset int) {
	for _, d := range f.order {
		if d == dataset {
			return
		}
	}
	f.order = append(f.order, dataset)
}

// measure adds a master record to a load.
func (f *fill) measure(l *load, r *Record, firstMaster bool) {
	// With Dynamic, the input of a file counts only when the next batch is tried.
	seen := l == &f.now || f.now.lfns[r.LFN]
	if l.lfns != nil {
		l.lfns[r.LFN] = true
	}
	l.files++
	l.total++
	effective := r.effective()
	out := math.Trunc(f.r.OutPerMB * effective / mb)
	if f.r.OutPerEvent {
		out = math.Trunc(f.r.OutPerMB * float64(r.span()))
	}
	in := float64(r.Size)
	if f.r.Dynamic && seen {
		in = 0
	}
	f.grow(l, 0, in, out)
	if f.r.OutPerByte != nil {
		per := effective
		if f.r.inMB {
			per /= mb
		}
		f.grow(l, 0, 0, math.Trunc(per**f.r.OutPerByte))
	}
	if firstMaster {
		l.size += f.r.WorkSize
		if f.r.HS06 {
			l.wall += f.r.BaseWall
		}
	}
	l.wall += f.wall(r, effective)
}

// grow adds input and output of a dataset to a load, in bytes.
func (f *fill) grow(l *load, dataset int, in, out float64) {
	l.size += in + out
	l.disk += out
	if !f.r.DirectIO {
		l.disk += in
	}
	l.out[dataset] += out
}

// wall returns the expected wall time of a record in seconds.
func (f *fill) wall(r *Record, effective float64) float64 {
	per := math.Max(f.r.WallPerUnit, 0)
	cores := orDefault(f.r.Cores, 1)
	wall := per * effective / mb / cores
	if f.r.HS06 {
		wall = per * float64(r.span()) / cores
		if power := orDefault(f.r.CorePower, 0); power != 0 {
			wall /= power
		}
		if f.r.Efficiency == 0 {
			wall = 0
		} else {
			wall /= f.r.Efficiency / 100
		}
	}
	if f.r.Copies != nil {
		wall /= *f.r.Copies
	}
	return math.Trunc(wall)
}

// ends reports whether the job is complete after this round.
func (f *fill) ends() bool {
	return f.bounds.perJob > 0 && !f.r.RespectLB || f.newBound || f.newBlock || f.jump
}
