package split

import (
	"cmp"
	"fmt"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// JEDI is the splitter of package jedi: it adds files, or ranges of their events, to a part until the next file or
// range would exceed a bound of the task or of the queue.
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
		if n := m.bound(w, p); n > MaxParts { // the records of more parts would need too much memory
			return nil, m.invalid("would make as many as %d parts: at most %d", n, MaxParts)
		}
		k := &jediCut{work: w, p: p, files: sortedFiles(w)}
		if err := k.records(c.carry.Checkpoint); err != nil {
			return nil, m.invalid("%w", err)
		}
		if k.ranged {
			c.unit = jjm.UnitRange
		}
		k.secondaryDatasets(c.carry.Cursors)
		k.mustSuffice = slices.ContainsFunc(k.chunk.Secondary, mustSuffice)
		k.task, k.queue = p.Task, w.Queue
		if k.queue == nil {
			k.queue = &jedi.Queue{}
		}
		if k.task.Efficiency == 0 {
			k.task.Efficiency = jedi.DefaultEfficiency
		}
		k.rules = k.task.Rules(k.queue, jedi.Options{Scouts: p.Scouts})
		if p.Records.EventsPerJob > 0 && k.rules.EventsPerJob == nil {
			k.rules.EventsPerJob = &p.Records.EventsPerJob
		}
		k.mustSuffice = k.mustSuffice || k.rules.Boundary != nil && len(k.chunk.Secondary) > 0
		k.waitForInput(c.carry.Checkpoint)
		k.waitForAllFiles()
		if l := k.findLack(); l != nil {
			return nil, m.invalid("%s: add some, %s, or set allow_incomplete", k.lackText(l), k.remedy(l))
		}
		return k, nil
	}
	return m
}

// jediCut makes a part from each job that package jedi takes from a chunk.
type jediCut struct {
	work        *Work
	p           *Params
	files       []int32 // positions of the files, sorted by LFN, like the records
	ranged      bool    // whether records are ranges of events, not whole files
	chunk       jedi.Chunk
	task        jedi.Task
	queue       *jedi.Queue
	rules       jedi.Rules
	sequence    bool             // whether parts get sequence numbers
	waiting     int              // the number of records or files that wait for more input
	mustSuffice bool             // whether a secondary dataset must have enough files for every job
	groups      map[string]int64 // the numbers of groups of files, by name
	lacks       *jedi.Lack       // the shortage that prevents the next job
	why         string           // the reason why the cut waits, if known
	resume      *Checkpoint      // where the waiting records begin, nil for the beginning of a file
}

func sortedFiles(w *Work) []int32 {
	files := make([]int32, len(w.Files))
	for i := range files {
		files[i] = int32(i)
	}
	sortByName(w, files)
	return files
}

// records makes the records of the master dataset, beginning at checkpoint b.
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

// boundary returns the number of a group of files. A new group gets the next number.
func (k *jediCut) boundary(group string) int64 {
	n, known := k.groups[group]
	if !known {
		n = int64(len(k.groups))
		k.groups[group] = n
	}
	return n
}

// secondaryDatasets adds the secondary datasets to the chunk, each beginning at its cursor.
func (k *jediCut) secondaryDatasets(cursors map[string]int64) {
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

// waitForInput makes the last records of an open dataset wait until there is input for chunks_to_wait jobs. With a
// number of files or events per job, only complete jobs are made. After a checkpoint at which a limit stopped the cut,
// no record waits, because there was enough input then.
func (k *jediCut) waitForInput(b *Checkpoint) {
	if k.work.Closed || b != nil && !b.Waits {
		return
	}
	records := k.chunk.Master.Records
	jobs := max(k.p.ChunksToWait, 1)
	switch {
	case k.rules.FilesPerJob != nil:
		per := int(jobs * *k.rules.FilesPerJob)
		k.truncate(len(records) / per * per)
		return
	case k.rules.EventsPerJob != nil && k.ranged:
		k.truncateEvents(jobs * *k.rules.EventsPerJob)
		return
	}
	try := cloneChunk(&k.chunk)
	for range jobs {
		if _, ok := try.Next(&k.rules); !ok {
			k.truncate(0)
			k.waiting = len(k.files)
			return
		}
	}
}

// waitForAllFiles makes all records wait while a secondary dataset is open whose files must all go to each job.
func (k *jediCut) waitForAllFiles() {
	for _, s := range k.work.Secondary {
		if s.Dataset.Closed || !jedi.ParseAttributes(s.Dataset.Name, s.Dataset.Attributes).NoSplit {
			continue
		}
		k.truncate(0)
		k.waiting = len(k.files)
		k.why = fmt.Sprintf("dataset %s is open, and each local job gets all of its files", s.Dataset.Name)
		return
	}
}

// truncate keeps the first n records and makes all other records wait.
func (k *jediCut) truncate(n int) {
	k.resume = k.midFile(n)
	k.waiting = len(k.chunk.Master.Records) - n
	k.chunk.Master.Records = k.chunk.Master.Records[:n]
}

// midFile returns the position of the waiting record n, or nil if the record begins its file.
func (k *jediCut) midFile(n int) *Checkpoint {
	records := k.chunk.Master.Records
	if n >= len(records) || records[n].Start == jedi.Unknown || records[n].Start == 0 {
		return nil
	}
	b := k.at(n)
	b.Waits = true
	return b
}

// truncateEvents makes the last records wait. The remaining records have at most the largest multiple of per that does
// not exceed the events of all records together.
func (k *jediCut) truncateEvents(per int64) {
	var total, sum int64
	for _, r := range k.chunk.Master.Records {
		total += eventCount(&r)
	}
	for n, r := range k.chunk.Master.Records {
		if sum += eventCount(&r); sum > total/per*per {
			k.truncate(n)
			return
		}
	}
}

// eventCount returns the number of events of a record that is a range, and 1 for a whole file.
func eventCount(r *jedi.Record) int64 {
	if r.Start == jedi.Unknown {
		return 1
	}
	return r.End - r.Start + 1
}

// findLack returns the shortage of the first secondary dataset that has too few files for all jobs: how many files or
// events all jobs together need and have. It cuts a copy of the chunk to the end to find the numbers. It returns nil if
// no dataset is short, if a dataset is open so that more files may come, or if the parameters allow incomplete jobs.
func (k *jediCut) findLack() *jedi.Lack {
	if k.p.AllowIncomplete || !k.mustSuffice || !k.work.Closed ||
		slices.ContainsFunc(k.work.Secondary, func(s Stream) bool { return !s.Dataset.Closed }) {
		return nil
	}
	try := cloneChunk(&k.chunk)
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
			if reads := try.Secondary[n]; reads.Repeat || reads.Reusable {
				return job.Lacks // other jobs read the same files again, so the sums would be too great
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

// eventsOf returns the sum of the known numbers of events of files.
func eventsOf(records []jedi.Record) (n int64) {
	for i := range records {
		n += max(records[i].Events, 0)
	}
	return n
}

// mustSuffice reports whether a dataset must have enough files for every job: its files may be used only once, it has
// no files, or one job needs more files than it has.
func mustSuffice(d *jedi.Dataset) bool {
	return !d.Repeat && !d.Reusable && !d.NoSplit || len(d.Records) == 0 || d.PerJob > int64(len(d.Records))
}

// remedy returns a remedy for a shortage other than more files.
func (k *jediCut) remedy(l *jedi.Lack) string {
	if k.readAgain(l.Dataset) {
		return "say a smaller np in its attributes"
	}
	return "say repeat or ru in its attributes"
}

// lackText returns a text that says how many files or events a dataset has, and how many are needed.
func (k *jediCut) lackText(l *jedi.Lack) string {
	need := "that local jobs need of it"
	if k.readAgain(l.Dataset) {
		need = "that each local job needs of it"
	}
	return fmt.Sprintf("dataset %s has %d of the %d %s %s", l.Dataset, l.Have, l.Need, l.Unit, need)
}

// readAgain reports whether several local jobs may read the same files of a secondary dataset.
func (k *jediCut) readAgain(dataset string) bool {
	return slices.ContainsFunc(k.chunk.Secondary, func(d *jedi.Dataset) bool {
		return d.Name == dataset && (d.Repeat || d.Reusable)
	})
}

// cloneChunk returns a chunk that shares the records but has its own positions.
func cloneChunk(c *jedi.Chunk) jedi.Chunk {
	master := *c.Master
	out := jedi.Chunk{Master: &master}
	for _, d := range c.Secondary {
		other := *d
		out.Secondary = append(out.Secondary, &other)
	}
	return out
}

// take returns the next job of the chunk. If the job lacks secondary files that every job must have, take leaves the
// chunk unchanged, notes the lack, and returns false.
func (k *jediCut) take() (jedi.Job, bool) {
	if !k.mustSuffice || k.p.AllowIncomplete {
		return k.chunk.Next(&k.rules)
	}
	before := cloneChunk(&k.chunk)
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
	if in.Estimate.Seconds = job.Seconds; k.task.HS06 {
		in.Estimate.Seconds = k.task.JobWalltime(k.queue, jedi.Span(job.Master))
	}
	k.addSecondary(c, in, job)
	return part, true
}

// add adds a record to the files that a part reads and to the units that it owns, and returns the number of units.
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
	return eventCount(r)
}

// mask returns the span of events for the application: First is how many to skip, Count how many to process.
func mask(records []jedi.Record) jjm.Span {
	s := jjm.Span{}
	if records[0].Start != jedi.Unknown {
		s.First = records[0].Start
	}
	for i := range records {
		if records[i].Start == jedi.Unknown {
			return jjm.Span{First: s.First, Count: jjm.ToTheEnd}
		}
		s.Count += eventCount(&records[i])
	}
	return s
}

// addSecondary adds the secondary files, the seed and the sequence number to a part.
func (k *jediCut) addSecondary(c *Cutting, in *jjm.PartInput, job jedi.Job) {
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
	return k.resume // every record that does not wait is used
}

// pause returns the position where the cut continues when there is more input.
func (k *jediCut) pause() *Checkpoint {
	if d := k.chunk.Master; d.Unused() {
		return k.midFile(d.Used)
	}
	return k.resume
}

// at returns the position before record n.
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
