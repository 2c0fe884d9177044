package split

import (
	"math"

	"jjm"
)

// Ganga's splitters of datasets.
const (
	// GangaDatasetSplitter and SplitByFiles give each part so many files, in
	// order.
	GangaDatasetSplitter = "GangaDatasetSplitter"
	SplitByFiles         = "SplitByFiles"
	// LHCbDataSplitter bunches files, and cuts each bunch by events.
	LHCbDataSplitter = "LHCbDataSplitter"
)

func gangaDatasetMethod() *method {
	m := fileMethod(GangaDatasetSplitter)
	m.defaults = func(p *Params) { p.FilesPerSubjob, p.MaxFiles, p.Trim = 5, -1, true }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.FilesPerSubjob < 1 || p.MaxFiles == 0 || p.MaxFiles < -1 {
			return nil, m.invalid("files_per_subjob is %d and maxFiles %d: want at least 1, and at least 1 or -1 for all",
				p.FilesPerSubjob, p.MaxFiles)
		}
		most := p.MaxFiles
		if most > 0 && !p.Trim {
			most = ceil(most, p.FilesPerSubjob) * p.FilesPerSubjob // the last chunk is whole
		}
		return chunks(m, c, w, p.FilesPerSubjob, most)
	}
	return m
}

func splitByFilesMethod() *method {
	m := fileMethod(SplitByFiles)
	m.defaults = func(p *Params) { p.FilesPerSplit, p.MaxFiles = 10, -1 }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.FilesPerSplit < 1 || p.MaxFiles == 0 || p.MaxFiles < -1 {
			return nil, m.invalid("filesPerJob is %d and maxFiles %d: want at least 1, and at least 1 or -1 for all",
				p.FilesPerSplit, p.MaxFiles)
		}
		return chunks(m, c, w, p.FilesPerSplit, p.MaxFiles)
	}
	return m
}

// chunks cuts the first most files, -1 = all, into chunks of size. An open
// dataset keeps a last chunk that is not full for later.
func chunks(m *method, c *Cutting, w *Work, size, most int64) (cutter, error) {
	if len(w.Files) == 0 && w.Closed && c.carry.Next == 0 {
		return nil, m.invalid("there are no files")
	}
	k := &bunches{work: w, size: int(min(size, math.MaxInt32)), events: -1, full: !w.Closed, names: lfns(w)}
	k.end = len(w.Files)
	if most >= 0 {
		rest := max(most-c.carry.Next, 0)
		if k.full = k.full && rest > int64(k.end); int64(k.end) > rest {
			k.end = int(rest)
		}
	}
	return k, nil
}

func lhcbMethod() *method {
	m := &method{name: LHCbDataSplitter, unit: jjm.UnitRange}
	m.defaults = func(p *Params) { p.FileBunchSize = 1 }
	m.bound = func(w *Work, p *Params) int64 {
		n := int64(len(w.Files))
		if p.EventBunchSize > 0 {
			for i := range w.Files {
				n = saturated(n, max(w.Files[i].Events, 0)/p.EventBunchSize)
			}
		}
		return n
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		if p.FileBunchSize < 1 || p.EventBunchSize < 0 {
			return nil, m.invalid("file_bunch_size is %d and event_bunch_size %d: want at least 1 and 0", p.FileBunchSize,
				p.EventBunchSize)
		}
		if p.EventBunchSize > 0 {
			if i := negativeEvents(w); i >= 0 {
				return nil, m.invalid("file %.100q has %d events", w.Files[i].LFN, w.Files[i].Events)
			}
		}
		k := &bunches{work: w, size: int(min(p.FileBunchSize, math.MaxInt32)), end: len(w.Files), events: p.EventBunchSize,
			full: !w.Closed, names: lfns(w)}
		k.resume(c.carry.Checkpoint)
		return k, nil
	}
	return m
}

// bunches takes files in their order, size of them together, and cuts each bunch
// by events over all its files.
type bunches struct {
	work   *Work
	size   int
	end    int   // of the files to use
	events int64 // -1: whole files, by number; 0: whole files, as one range
	full   bool  // only full bunches
	names  []string
	at     int   // of the bunch
	done   int64 // of its events
}

// bunch returns the present bunch, 0 if there is none.
func (k *bunches) bunch() int {
	n := min(k.size, k.end-k.at)
	if n < k.size && k.full {
		return 0
	}
	return n
}

// count counts the parts of all bunches.
func (k *bunches) count(*Cutting) int64 {
	var parts int64
	for n := k.bunch(); n > 0; n = k.bunch() {
		var total int64
		for i := k.at; i < k.at+n; i++ {
			total = saturated(total, max(k.work.Files[i].Events, 0))
		}
		k.at += n
		if k.events > 0 {
			parts = saturated(parts, max(ceil(total, k.events), 1))
		} else {
			parts++
		}
	}
	return parts
}

func (k *bunches) next(c *Cutting) (jjm.Part, bool) {
	n := k.bunch()
	if n == 0 {
		return jjm.Part{}, false
	}
	names := k.names[k.at : k.at+n : k.at+n]
	part := jjm.Part{Unit: c.unit, Input: &c.inputs.take(1)[0]}
	part.Input.Files = names
	last := true
	switch {
	case k.events < 0:
		part.Count = int64(n)
	case k.events == 0:
		part.Count = k.wholly(c, part.Input, n)
	default:
		part.Count, last = k.cut(c, part.Input, n)
	}
	if last {
		for i := k.at; i < k.at+n; i++ {
			c.finish(int32(i))
		}
		k.at, k.done = k.at+n, 0
	}
	return part, true
}

// wholly returns the part all events of its files, however many they are.
func (k *bunches) wholly(c *Cutting, in *jjm.PartInput, n int) int64 {
	in.Mask.Events = jjm.Span{Count: jjm.ToTheEnd}
	in.Events = c.events.take(n)
	var total int64
	for i := range in.Events {
		f := &k.work.Files[k.at+i]
		in.Events[i] = jjm.EventRange{File: int32(i), First: k.work.Skip[f.LFN], Count: max(f.Events, 0)}
		total += max(f.Events, 1)
	}
	return total
}

// cut gives the part its range of the events of the bunch, and says whether it
// is the last one. A bunch without events is one part without.
func (k *bunches) cut(c *Cutting, in *jjm.PartInput, n int) (count int64, last bool) {
	var total int64
	for i := k.at; i < k.at+n; i++ {
		total += k.work.Files[i].Events
	}
	count = min(k.events, total-k.done)
	in.Mask.Events = jjm.Span{First: k.done, Count: count}
	var list []jjm.EventRange
	before := int64(0) // events of the files before
	for i := range n {
		f := &k.work.Files[k.at+i]
		first, end := max(k.done-before, 0), min(k.done+count-before, f.Events)
		if first < end {
			list = append(list, jjm.EventRange{File: int32(i), First: k.work.Skip[f.LFN] + first, Count: end - first})
		}
		before += f.Events
	}
	in.Events = c.events.take(len(list))
	copy(in.Events, list)
	k.done += count
	return max(count, 1), k.done >= total
}

func (k *bunches) checkpoint() *Checkpoint {
	if k.done == 0 || k.at >= k.end {
		return nil
	}
	return &Checkpoint{File: k.names[k.at], Done: k.done}
}

// resume goes to the event at which a limit stopped.
func (k *bunches) resume(b *Checkpoint) {
	if b != nil && len(k.names) > 0 && k.names[0] == b.File {
		k.done = b.Done
	}
}

func (k *bunches) left(l *Left) {
	if k.full && k.at < k.end {
		l.Waiting, l.Why = k.end-k.at, "a part waits for more files, or for the dataset to close"
	}
}
