package split

import (
	"cmp"
	"fmt"
	"slices"

	"jjm"
	"jjm/split/jedi"
)

// JEDI is the splitter of the package jedi: files, or ranges of their events,
// fill a part until a bound of the task or of the queue would be passed.
const JEDI = "JEDI"

func jediMethod() *method {
	m := &method{name: JEDI, unit: jjm.UnitFile}
	m.defaults = func(p *Params) { p.ChunksToWait = 20 }
	m.bound = func(w *Work, p *Params) int64 {
		size := p.Records.EventsPerJob
		for _, n := range []int64{p.Records.EventsPerRange, p.Records.TargetEvents} {
			if n > 0 && (size <= 0 || n < size) {
				size = n
			}
		}
		var n int64
		for i := range w.Files {
			n = saturated(n, 1)
			if size > 0 {
				n = saturated(n, max(w.Files[i].Events, p.Records.EventsPerFile, 0)/size)
			}
		}
		return n
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if n := m.bound(w, p); n > MaxParts { // its records alone would fill the memory
			return nil, m.invalid("would make as many as %d parts: at most %d", n, MaxParts)
		}
		k := &jediCut{work: w, p: p, files: sortedFiles(w)}
		if err := k.records(c.carry.Checkpoint); err != nil {
			return nil, m.invalid("%w", err)
		}
		if k.ranged {
			c.unit = jjm.UnitRange
		}
		k.streams(c.carry.Cursors)
		k.needs = slices.ContainsFunc(k.chunk.Secondary, needed)
		queue := w.Queue
		if queue == nil {
			queue = &jedi.Queue{}
		}
		k.rules = p.Task.Rules(queue, jedi.Options{Scouts: p.Scouts})
		if p.Records.EventsPerJob > 0 && k.rules.EventsPerJob == nil {
			k.rules.EventsPerJob = &p.Records.EventsPerJob
		}
		k.needs = k.needs || k.rules.Boundary != nil && len(k.chunk.Secondary) > 0
		k.hold(c.carry.Checkpoint)
		k.holdForAll()
		if l := k.lacking(); l != nil {
			return nil, m.invalid(
				"dataset %s has %d of the %d %s that local jobs need of it: add some, say repeat or ru in its "+
					"attributes, or set allow_incomplete", l.Dataset, l.Have, l.Need, l.Unit)
		}
		return k, nil
	}
	return m
}

// jediCut takes jobs from a chunk.
type jediCut struct {
	work     *Work
	p        *Params
	files    []int32 // by LFN: the order of the records
	ranged   bool
	chunk    jedi.Chunk
	rules    jedi.Rules
	sequence bool
	waiting  int
	needs    bool // a secondary dataset must have enough
	groups   map[string]int64
	lacks    *jedi.Lack  // why the next job is not made
	why      string      // what is waited for, where that is known
	resume   *Checkpoint // where what is left out goes on, nil for the beginning of a file
}

func sortedFiles(w *Work) []int32 {
	files := make([]int32, len(w.Files))
	for i := range files {
		files[i] = int32(i)
	}
	sortByName(w, files)
	return files
}

// records makes the records of the master dataset, from where a limit stopped.
func (k *jediCut) records(b *Checkpoint) error {
	k.groups = map[string]int64{}
	list := make([]jedi.Record, len(k.files))
	for n, i := range k.files {
		f := &k.work.Files[i]
		r := jedi.File(int64(i), f.LFN, f.Size)
		if f.Events >= 0 {
			r.Events = f.Events
		}
		if len(f.Lumis) > 0 {
			r.LumiBlock = int64(f.Lumis[0].Run)<<32 | int64(f.Lumis[0].First)
		}
		if f.Group != "" {
			r.Boundary = k.boundary(f.Group)
		}
		list[n] = r
	}
	rules := k.p.Records
	if rules.MaxRecords == 0 {
		rules.MaxRecords = MaxParts
	}
	if b != nil {
		rules.Into, rules.Block, rules.Offset = b.Walk.Event, b.Walk.Lumi, 0
		rules.Head, rules.At = b.File, b.Done
	}
	records, err := jedi.Records(list, rules)
	k.chunk.Master = &jedi.Dataset{Records: records}
	k.ranged = slices.ContainsFunc(records, func(r jedi.Record) bool { return r.Start != jedi.Unknown })
	k.ranged = k.ranged || rules.Ranges()
	return err
}

// boundary is the number of a group of files.
func (k *jediCut) boundary(group string) int64 {
	n, known := k.groups[group]
	if !known {
		n = int64(len(k.groups))
		k.groups[group] = n
	}
	return n
}

// streams makes the secondary datasets, from their cursors on.
func (k *jediCut) streams(cursors map[string]int64) {
	for _, s := range k.work.Secondary {
		if s.Dataset.Name == jedi.Sequence && len(s.Files) == 0 {
			k.sequence = true
			continue
		}
		d := &jedi.Dataset{Name: s.Dataset.Name, Attributes: jedi.ParseAttributes(s.Dataset.Name, s.Dataset.Attributes)}
		for i := range s.Files {
			r := jedi.File(int64(i), s.Files[i].LFN, s.Files[i].Size)
			if s.Files[i].Events > 0 {
				r.Events = s.Files[i].Events
			}
			if s.Files[i].Group != "" {
				r.Boundary = k.boundary(s.Files[i].Group)
			}
			d.Records = append(d.Records, r)
		}
		d.Records = d.Records[min(d.Offset, len(d.Records)):]
		d.Used = int(min(max(cursors[d.Name], 0), int64(len(d.Records))))
		k.chunk.Secondary = append(k.chunk.Secondary, d)
	}
}

// hold leaves out of an open dataset what is too little yet: a number of jobs is waited
// for, and only whole ones of a number of files or events are made. What a limit stopped
// was enough.
func (k *jediCut) hold(b *Checkpoint) {
	if k.work.Closed || b != nil && !b.Waits {
		return
	}
	records := k.chunk.Master.Records
	jobs := max(k.p.ChunksToWait, 1)
	switch {
	case k.rules.FilesPerJob != nil:
		per := int(jobs * *k.rules.FilesPerJob)
		k.keep(len(records) / per * per)
		return
	case k.rules.EventsPerJob != nil && k.ranged:
		k.keepEvents(jobs * *k.rules.EventsPerJob)
		return
	}
	try := copied(&k.chunk)
	for range jobs {
		if _, ok := try.Next(&k.rules); !ok {
			k.keep(0)
			k.waiting = len(k.files)
			return
		}
	}
}

// holdForAll makes nothing while a dataset is open of which each job gets all files.
func (k *jediCut) holdForAll() {
	for _, s := range k.work.Secondary {
		if s.Dataset.Closed || !jedi.ParseAttributes(s.Dataset.Name, s.Dataset.Attributes).NoSplit {
			continue
		}
		k.keep(0)
		k.waiting = len(k.files)
		k.why = fmt.Sprintf("dataset %s is open, and each local job gets all of its files", s.Dataset.Name)
		return
	}
}

// keep leaves the first n records.
func (k *jediCut) keep(n int) {
	k.resume = k.midFile(n)
	k.waiting = len(k.chunk.Master.Records) - n
	k.chunk.Master.Records = k.chunk.Master.Records[:n]
}

// midFile describes the point before a record that waits, nil if its file begins there.
func (k *jediCut) midFile(n int) *Checkpoint {
	records := k.chunk.Master.Records
	if n >= len(records) || records[n].Start == jedi.Unknown || records[n].Start == 0 {
		return nil
	}
	b := k.at(n)
	b.Waits = true
	return b
}

// keepEvents leaves records of a multiple of so many events.
func (k *jediCut) keepEvents(per int64) {
	var total, sum int64
	for _, r := range k.chunk.Master.Records {
		total += events1(&r)
	}
	for n, r := range k.chunk.Master.Records {
		if sum += events1(&r); sum > total/per*per {
			k.keep(n)
			return
		}
	}
}

// events1 is how many events a record has; one that is not known counts as one.
func events1(r *jedi.Record) int64 {
	if r.Start == jedi.Unknown {
		return 1
	}
	return r.End - r.Start + 1
}

// lacking cuts all that is there without making anything, once nothing more comes, and
// returns what the local jobs together should have of the first dataset that falls short,
// and what there is of it; nil is nothing.
func (k *jediCut) lacking() *jedi.Lack {
	if k.p.AllowIncomplete || !k.needs || !k.work.Closed ||
		slices.ContainsFunc(k.work.Secondary, func(s Stream) bool { return !s.Dataset.Closed }) {
		return nil
	}
	try := copied(&k.chunk)
	var all *jedi.Lack
	sums := make([]jedi.Lack, len(try.Secondary))
	for {
		job, ok := try.Next(&k.rules)
		if !ok || len(job.Master) == 0 {
			break
		}
		for n, records := range job.Secondary {
			have := int64(len(records))
			if try.Secondary[n].Events > 0 {
				have = eventsOf(records)
			}
			sums[n].Have += have
			if l := job.Lacks; l == nil || l.Dataset != try.Secondary[n].Name {
				sums[n].Need += have
				continue
			}
			sums[n].Need += job.Lacks.Need
			if all == nil {
				all = &sums[n]
				all.Dataset, all.Unit = job.Lacks.Dataset, job.Lacks.Unit
			}
		}
	}
	return all
}

// eventsOf are the events of files, as far as they are known.
func eventsOf(records []jedi.Record) (n int64) {
	for i := range records {
		n += max(records[i].Events, 0)
	}
	return n
}

// needed reports whether a dataset must have enough.
func needed(d *jedi.Dataset) bool {
	return !d.Repeat && !d.Reusable && !d.NoSplit || len(d.Records) == 0
}

// copied is a chunk of the same records, of which as many are used.
func copied(c *jedi.Chunk) jedi.Chunk {
	master := *c.Master
	out := jedi.Chunk{Master: &master}
	for _, d := range c.Secondary {
		other := *d
		out.Secondary = append(out.Secondary, &other)
	}
	return out
}

// take takes the next job from the chunk, unless it would lack secondary files: then
// nothing is taken, and it is noted.
func (k *jediCut) take() (jedi.Job, bool) {
	if !k.needs || k.p.AllowIncomplete {
		return k.chunk.Next(&k.rules)
	}
	before := copied(&k.chunk)
	job, ok := k.chunk.Next(&k.rules)
	if ok && job.Lacks != nil {
		k.chunk, k.lacks = before, job.Lacks
		return jedi.Job{}, false
	}
	return job, ok
}

func (k *jediCut) next(c *Cutting) (jjm.Part, bool) {
	job, ok := k.take()
	if !ok || len(job.Master) == 0 {
		return jjm.Part{}, false
	}
	part := jjm.Part{Unit: c.unit, Input: &c.inputs.take(1)[0]}
	in := part.Input
	for i := range job.Master {
		part.Count += k.add(in, &job.Master[i])
		if r := &job.Master[i]; r.Start == jedi.Unknown || r.End == r.Events-1 {
			c.finish(int32(r.ID))
		}
	}
	if k.ranged {
		in.Mask.Events = mask(job.Master)
	}
	if first := &job.Master[0]; k.work.Files[first.ID].FirstEvent > 0 {
		more(in).FirstNumber = k.work.Files[first.ID].FirstEvent + max(first.Start, 0)
	}
	in.Estimate.Seconds = job.Seconds
	k.along(c, in, job)
	return part, true
}

// add adds a record to what a part reads and owns; it gives the units of it.
func (k *jediCut) add(in *jjm.PartInput, r *jedi.Record) int64 {
	if n := len(in.Files); n == 0 || in.Files[n-1] != r.LFN {
		in.Files = append(in.Files, r.LFN)
	}
	if !k.ranged {
		return 1
	}
	one := jjm.EventRange{File: int32(len(in.Files) - 1), Count: jjm.ToTheEnd}
	if r.Start != jedi.Unknown {
		one.First, one.Count = r.Start, r.End-r.Start+1
	}
	if n := len(in.Events); n > 0 && in.Events[n-1].File == one.File &&
		in.Events[n-1].First+in.Events[n-1].Count == one.First {
		in.Events[n-1].Count += one.Count
	} else {
		in.Events = append(in.Events, one)
	}
	return events1(r)
}

// mask is what the application is told: how many events to skip, and how many
// to process.
func mask(records []jedi.Record) jjm.Span {
	s := jjm.Span{}
	if records[0].Start != jedi.Unknown {
		s.First = records[0].Start
	}
	for i := range records {
		if records[i].Start == jedi.Unknown {
			return jjm.Span{First: s.First, Count: jjm.ToTheEnd}
		}
		s.Count += events1(&records[i])
	}
	return s
}

// along adds the secondary files, and the numbers of the part.
func (k *jediCut) along(c *Cutting, in *jjm.PartInput, job jedi.Job) {
	for n, records := range job.Secondary {
		d := k.chunk.Secondary[n]
		if len(records) > 0 {
			s := jjm.StreamFiles{Dataset: d.Name}
			for i := range records {
				s.Files = append(s.Files, records[i].LFN)
			}
			more(in).Secondary = append(more(in).Secondary, s)
		}
		if c.carry.Cursors == nil {
			c.carry.Cursors = map[string]int64{}
		}
		c.carry.Cursors[d.Name] = int64(d.Used)
	}
	if k.p.RandomSeed {
		more(in).Seed = c.carry.Seeds.Take() + k.p.RandomSeedOffset
	}
	if k.sequence {
		more(in).Sequence = c.carry.Sequence.Take()
	}
}

func (k *jediCut) checkpoint() *Checkpoint {
	if d := k.chunk.Master; d.Unused() {
		return k.at(d.Used)
	}
	return k.resume // all that can be made is
}

// pause is where the cut goes on once there is more.
func (k *jediCut) pause() *Checkpoint {
	if d := k.chunk.Master; d.Unused() {
		return k.midFile(d.Used)
	}
	return k.resume
}

// at describes the point before a record.
func (k *jediCut) at(n int) *Checkpoint {
	d := k.chunk.Master
	r := &d.Records[n]
	b := &Checkpoint{File: r.LFN, Walk: Walk{Event: r.Into, Lumi: r.LumiBlock}}
	if r.Start != jedi.Unknown {
		b.Done = r.Start
	}
	if n > 0 {
		b.Walk.Lumi = d.Records[n-1].LumiBlock
	}
	return b
}

func (k *jediCut) left(l *Left) {
	if k.lacks != nil {
		l.Waiting = len(k.chunk.Master.Records) - k.chunk.Master.Used
		l.Why = fmt.Sprintf("dataset %s has %d of the %d %s that the next local job needs of it, and is open",
			k.lacks.Dataset, k.lacks.Have, k.lacks.Need, k.lacks.Unit)
		l.Lacks = l.Why
		return
	}
	if l.Waiting = k.waiting; k.waiting > 0 {
		l.Lacks = k.why
		l.Why = cmp.Or(k.why, "jobs wait until there is input for a number of them, or for the dataset to close")
	}
}
