package split

import (
	"math"
	"slices"

	"jjm/internal/jjm"
)

// Ganga's splitters of datasets.
const (
	// GangaDatasetSplitter and SplitByFiles make parts with a fixed number of files, in order.
	GangaDatasetSplitter = "GangaDatasetSplitter"
	SplitByFiles         = "SplitByFiles"
	// LHCbDataSplitter groups files into bunches and cuts each bunch by events.
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
			most = ceil(most, p.FilesPerSubjob) * p.FilesPerSubjob // the last chunk is full
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

// chunks cuts the first most files (-1 = all) into chunks of size files. While the dataset is open, a last chunk that
// is not full is not made yet.
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

// bunches groups files in order into bunches of size files. It cuts each bunch by events; a part may extend over
// several files of the bunch.
type bunches struct {
	work   *Work
	size   int
	end    int   // the splitter uses the files before this position
	events int64 // events of a part; -1: whole files as units; 0: all events of a bunch
	full   bool  // whether only full bunches are made, because more files may come
	names  []string
	at     int   // position of the current bunch in the files
	done   int64 // number of events of the current bunch that are cut
}

// bunch returns the number of files of the current bunch, 0 if no bunch is left.
func (k *bunches) bunch() int {
	n := min(k.size, k.end-k.at)
	if n < k.size && k.full {
		return 0
	}
	return n
}

// count returns the number of parts of all bunches.
func (k *bunches) count(*Cutting) int64 {
	var parts int64
	for n := k.bunch(); n > 0; n = k.bunch() {
		var total int64
		for i := k.at; i < k.at+n; i++ {
			total = saturated(total, max(k.work.Files[i].Events, 0))
		}
		k.at += n
		if k.events > 0 && k.counted(k.at-n, n) {
			parts = saturated(parts, ceil(total, k.events))
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
	case k.events == 0, !k.counted(k.at, n):
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

// told returns the events that a part of whole files passes to its application: normally all events to the end. If
// there is a limit that is not exceeded, their number is the sum of the known numbers of events; files of unknown
// length then count as 0 events.
func (k *bunches) told(n int) jjm.Span {
	var total int64
	for _, f := range k.work.Files[k.at : k.at+n] {
		total = saturated(total, max(f.Events, 0))
	}
	if k.events > 0 && total <= k.events {
		return jjm.Span{Count: total}
	}
	return jjm.Span{Count: jjm.ToTheEnd}
}

// counted reports whether the numbers of events of n files, beginning at position at, are known.
func (k *bunches) counted(at, n int) bool {
	return !slices.ContainsFunc(k.work.Files[at:at+n], func(f jjm.File) bool { return f.Events <= 0 })
}

// wholly adds all events of n files to a part and returns the number of these events. The part owns a file of unknown
// length to its end; such a file counts as one event.
func (k *bunches) wholly(c *Cutting, in *jjm.PartInput, n int) int64 {
	in.Mask.Events = k.told(n)
	in.Events = c.events.take(n)
	var total int64
	for i := range in.Events {
		f := &k.work.Files[k.at+i]
		in.Events[i] = jjm.EventRange{File: int32(i), First: k.work.Skip[f.LFN], Count: f.Events}
		if f.Events <= 0 {
			in.Events[i].Count = jjm.ToTheEnd
		}
		total += max(f.Events, 1)
	}
	return total
}

// cut adds the next events of the bunch to a part. The numbers of events of the bunch's files are known. count is the
// number of added events; last is set if the part is the last part of the bunch.
func (k *bunches) cut(c *Cutting, in *jjm.PartInput, n int) (count int64, last bool) {
	var total int64
	for i := k.at; i < k.at+n; i++ {
		total += k.work.Files[i].Events
	}
	count = min(k.events, total-k.done)
	in.Mask.Events = jjm.Span{First: k.done, Count: count}
	var list []jjm.EventRange
	before := int64(0) // events of the files before file i
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
	return count, k.done >= total
}

func (k *bunches) checkpoint() *Checkpoint {
	if k.done == 0 || k.at >= k.end {
		return nil
	}
	return &Checkpoint{File: k.names[k.at], Done: k.done}
}

// resume moves to the event where a cut stopped because of a limit.
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
