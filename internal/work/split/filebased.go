package split

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// FileBased and MinFileBased are WMCore's splitters by whole files:
//
//	FileBased     takes all available files, ordered by LFN
//	MinFileBased  keeps the order of the files, and waits until there are enough files for a part
const (
	FileBased    = "FileBased"
	MinFileBased = "MinFileBased"
)

func fileBasedMethod() *method {
	m := fileMethod(FileBased)
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		f, err := startFiles(m, w, p)
		if err != nil {
			return nil, err
		}
		if f.mask, err = maskOf(p); err != nil {
			return nil, m.invalid("%w", err)
		}
		f.priced = true
		f.choose(c.carry.Used)
		f.places = places(c, w, p, f.usable)
		for _, pl := range f.places {
			sortByName(w, pl.files)
		}
		c.expect = int64(len(w.Files)/f.size + len(f.places))
		return f, nil
	}
	return m
}

func minFileBasedMethod() *method {
	m := fileMethod(MinFileBased)
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		f, err := startFiles(m, w, p)
		if err != nil {
			return nil, err
		}
		f.places = places(c, w, p, nil)
		f.full = !w.Closed
		c.expect = int64(len(w.Files)/f.size + len(f.places))
		return f, nil
	}
	return m
}

func fileMethod(name string) *method {
	return &method{name: name, unit: jjm.UnitFile, defaults: func(p *Params) { p.FilesPerJob = 10 },
		bound: func(w *Work, _ *Params) int64 { return int64(len(w.Files)) }}
}

func startFiles(m *method, w *Work, p *Params) (*fileBased, error) {
	if p.FilesPerJob < 1 {
		return nil, m.invalid("files_per_job is %d: want at least 1", p.FilesPerJob)
	}
	return &fileBased{work: w, p: p, size: int(min(p.FilesPerJob, math.MaxInt32))}, nil
}

// fileBased cuts whole files into parts, place by place.
type fileBased struct {
	work   *Work
	p      *Params
	size   int
	mask   lumiMask
	chosen []bool // by position: whether total_files admits the file; nil = all files
	full   bool   // whether only full parts are made, because more files may come
	priced bool   // whether parts get an estimate of time, disk and memory
	places []*place
	at     int
	waits  int
}

// choose selects the first total_files usable files by name, over all places together. used is the number of files that
// earlier cuts took; it is subtracted from total_files. Without total_files all files are chosen.
func (f *fileBased) choose(used int64) {
	if f.p.TotalFiles < 1 {
		return
	}
	files := make([]int32, 0, len(f.work.Files))
	for i := range f.work.Files {
		if f.usable(int32(i)) {
			files = append(files, int32(i))
		}
	}
	sortByName(f.work, files)
	f.chosen = make([]bool, len(f.work.Files))
	for _, i := range files[:max(0, min(int64(len(files)), f.p.TotalFiles-used))] {
		f.chosen[i] = true
	}
}

// usable reports whether a file is chosen and has a good section. Without a mask all sections are good.
func (f *fileBased) usable(i int32) bool {
	if f.chosen != nil && !f.chosen[i] {
		return false
	}
	if len(f.mask) == 0 {
		return true
	}
	for _, r := range f.work.Files[i].Lumis {
		for at := r.First; at <= r.Last; {
			until, ok := f.mask.good(r.Run, at, r.Last)
			if ok {
				return true
			}
			if until == math.MaxUint32 {
				break
			}
			at = until + 1
		}
	}
	return false
}

func (f *fileBased) next(c *Cutting) (jjm.Part, bool) {
	for len(f.places) > 0 {
		files := f.places[0].files[f.at:]
		if len(files) == 0 || f.full && len(files) < f.size {
			f.waits += len(files)
			f.places, f.at = f.places[1:], 0
			continue
		}
		files = files[:f.length(files)]
		f.at += len(files)
		c.carry.Used += int64(len(files))
		return f.part(c, f.places[0], files), true
	}
	return jjm.Part{}, false
}

// length returns how many of the files the next part takes: at most size files. With RespectRuns all of them have the
// same lowest run.
func (f *fileBased) length(files []int32) int {
	n := min(f.size, len(files))
	if f.p.RespectRuns {
		run := lowestRun(&f.work.Files[files[0]])
		for i := 1; i < n; i++ {
			if lowestRun(&f.work.Files[files[i]]) != run {
				return i
			}
		}
	}
	return n
}

// noRun is the lowest run of a file without sections.
const noRun = -1

func lowestRun(f *jjm.File) int64 {
	low := int64(noRun)
	for _, r := range f.Lumis {
		if r.Count() > 0 && (low == noRun || int64(r.Run) < low) {
			low = int64(r.Run)
		}
	}
	return low
}

func (f *fileBased) part(c *Cutting, pl *place, files []int32) jjm.Part {
	pl.open(c, f.p.JobsPerGroup > 0 && pl.inGroup > f.p.JobsPerGroup)
	names := c.words.take(len(files))
	part := c.part(pl, names, int64(len(files)))
	var events float64
	for i, n := range files {
		file := &f.work.Files[n]
		names[i] = file.LFN
		events += f.events(part.Input, int32(i), file)
		c.finish(n)
	}
	addParents(part.Input, f.work, f.p, files...)
	if f.priced {
		estimate(part.Input, &f.p.Performance, events)
	}
	failIfNoCluster(part.Input)
	return part
}

// events returns the number of events of a file that the part has, and adds the file's good sections to the part.
func (f *fileBased) events(in *jjm.PartInput, n int32, file *jjm.File) float64 {
	if len(f.mask) == 0 {
		return float64(file.Events)
	}
	var lumis int64
	for _, r := range sortedRuns(file.Lumis) {
		for at := int64(r.First); at <= int64(r.Last); {
			until, ok := f.mask.good(r.Run, uint32(at), r.Last)
			if ok {
				in.Lumis = appendLumis(in.Lumis, n, jjm.LumiRange{Run: r.Run, First: uint32(at), Last: until})
				lumis += int64(until) - at + 1
			}
			at = int64(until) + 1
		}
	}
	return float64(lumis * eventsPerLumi(file))
}

// appendLumis appends a range of sections. If the range continues the last range of the list, it extends that range
// instead.
func appendLumis(list []jjm.FileLumis, file int32, r jjm.LumiRange) []jjm.FileLumis {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.File == file && last.Run == r.Run && int64(last.Last)+1 == int64(r.First) {
			last.Last = r.Last
			return list
		}
	}
	return append(list, jjm.FileLumis{File: file, LumiRange: r})
}

func (f *fileBased) checkpoint() *Checkpoint {
	b := &Checkpoint{}
	b.Places, b.Open = remaining(f.places)
	return b
}

func (f *fileBased) left(l *Left) {
	if l.Waiting = f.waits; f.waits > 0 {
		l.Why = "a part waits for more files, or for the dataset to close"
	}
}

// sortByName sorts files by LFN. It first compares the eight bytes after the common beginning as a number. This
// comparison decides for most names and is faster than a comparison of texts.
func sortByName(w *Work, files []int32) {
	name := func(i int32) string { return w.Files[i].LFN }
	if len(files) < 2 || slices.IsSortedFunc(files, func(a, b int32) int { return strings.Compare(name(a), name(b)) }) {
		return
	}
	common := name(files[0])
	for _, f := range files[1:] {
		s, n := name(f), 0
		for n < len(common) && n < len(s) && s[n] == common[n] {
			n++
		}
		common = common[:n]
	}
	type entry struct {
		key uint64
		i   int32
		at  int32
	}
	list := make([]entry, len(files))
	for k, f := range files {
		list[k] = entry{key: leading(name(f)[len(common):]), i: f, at: int32(k)}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		if c := strings.Compare(name(a.i), name(b.i)); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	for k := range list {
		files[k] = list[k].i
	}
}

// leading returns the first eight bytes of a text as a number that sorts in the same order.
func leading(s string) uint64 {
	var key uint64
	for i := range min(len(s), 8) {
		key |= uint64(s[i]) << (56 - 8*i)
	}
	return key
}
