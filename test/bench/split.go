package main

import (
	"cmp"
	"fmt"
	"net/rpc"
	"runtime"
	"slices"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// workload describes files for a splitter.
type workload struct {
	name   string // of the splitter
	shape  string
	params func(*split.Params)
	work   func(*split.Work) // changes the files; may be nil
	plain  *comparison       // nil: none
}

// comparison is what a cut is compared with.
type comparison struct {
	// pieces returns the pieces into which a plain cut divides a file. perPart is the number of pieces in a part. most
	// limits the CPU time of a cut, as a multiple of the CPU time of a plain cut.
	pieces  func(*jjm.File) []jjm.FileLumis
	perPart int
	most    float64
	// python is the time that the original needs for each file if there are 1e5 files, in seconds of one core. It was
	// measured once. memory is a tenth of the original's memory, in MB.
	python, memory float64
}

// workloads returns the workloads that were measured with the originals, and those of other splitters of files. The
// originals needed 0.5 GB for whole files and up to 2.3 GB for events and sections.
func workloads() []workload {
	const little, much = 50, 230
	perJob := func(p *split.Params) { p.FilesPerJob = 5 }
	merge := func(p *split.Params) { p.MinMergeSize, p.MaxMergeSize = 10_000_000, 40_000_000 }
	return []workload{
		{split.FileBased, "5 files per part", perJob, nil, &comparison{wholeFile, 5, 0.5, 1. / 171_000, little}},
		{split.MinFileBased, "5 files per part", perJob, nil, &comparison{wholeFile, 5, 0.5, 1. / 164_000, little}},
		{split.EventBased, "4 parts per file", func(p *split.Params) { p.EventsPerJob = 25 }, nil,
			&comparison{quarters, 1, 0.7, 1. / 9_000, much}},
		{split.LumiBased, "10 sections per file, 8 per part", func(p *split.Params) { p.LumisPerJob = 8 }, nil,
			&comparison{lumiSections, 8, 0.7, 1. / 16_600, much}},
		{split.EventAwareLumiBased, "10 sections per file, 8 per part", func(p *split.Params) { p.EventsPerJob = 80 }, nil,
			&comparison{lumiSections, 8, 0.7, 1. / 15_800, much}},
		// The original needs quadratic time: 12.9 s for 30000 files, the largest number that was measured.
		{split.ParentlessMergeBySize, "20 files per merge", merge, nil,
			&comparison{wholeFile, 20, 0.3, 12.9 / 30_000, little}},
		{split.WMBSMergeBySize, "20 files per merge", merge, withParents, nil},
		{split.SiblingProcessingBased, "5 files per part", perJob, nil, nil},
		{split.GangaDatasetSplitter, "5 files per part", func(p *split.Params) { p.FilesPerSubjob = 5 }, nil, nil},
		{split.LHCbDataSplitter, "5 files per bunch, 4 parts",
			func(p *split.Params) { p.FileBunchSize, p.EventBunchSize = 5, 125 }, nil, nil},
		{split.JEDI, "5 files per part, 10 secondary ones", func(p *split.Params) { p.Task.Rule = "NF=5" }, withSecondary,
			nil},
		{split.JEDI, "1 GB and output per part",
			func(p *split.Params) { p.Task.Rule, p.Task.OutPerMB = "NG=1", 25<<20 }, nil, nil},
	}
}

// files makes a closed dataset of files of 100 events and 10 sections.
func files(n int) split.Work {
	w := split.Work{Closed: true, Now: 1, Files: make([]jjm.File, n)}
	at := []string{"T1_XX_Disk"}
	lumis := make([]jjm.LumiRange, n)
	for i := range w.Files {
		first := uint32(i%100*10 + 1)
		lumis[i] = jjm.LumiRange{Run: uint32(1 + i/100), First: first, Last: first + 9}
		w.Files[i] = jjm.File{LFN: fmt.Sprintf("/store/data/bench/%06d.root", (i*7919)%n), Size: 2_000_000, Events: 100,
			Lumis: lumis[i : i+1 : i+1], Locations: at}
	}
	return w
}

// withParents adds one parent file for every ten files. A job has successfully read each parent.
func withParents(w *split.Work) {
	w.Parents = make(map[string]split.Parent, len(w.Files)/10)
	for i := range w.Files {
		parent := fmt.Sprintf("/store/parent/%d", i/10)
		w.Files[i].Parents = []string{parent}
		w.Parents[parent] = split.Parent{ID: int64(i / 10),
			Producers: []split.Producer{{Group: int64(i / 1000), Success: true}}}
	}
}

// withSecondary adds a dataset that is used repeatedly.
func withSecondary(w *split.Work) {
	s := split.Stream{Dataset: jjm.Dataset{Name: "minbias", Attributes: "ratio=2,repeat"}, Files: make([]jjm.File, 1000)}
	for i := range s.Files {
		s.Files[i] = jjm.File{LFN: fmt.Sprintf("/store/minbias/%d", i), Size: 1000}
	}
	w.Secondary = []split.Stream{s}
}

// CutArgs are a workload, as an index of workloads, and the number of its files.
type CutArgs struct{ Workload, Files int }

// Cut is the cost of cutting: the CPU time of one cut, and of a plain cut of the same work, and the peak memory of the
// process that holds the work and the parts.
type Cut struct {
	CPU, Plain time.Duration
	Parts      int
	PeakMB     float64
}

// Cutter cuts work in a child.
type Cutter struct{}

// Cut cuts the work once to measure the peak memory with all parts. Then it repeats the cut often enough to measure the
// CPU time.
func (Cutter) Cut(args CutArgs, c *Cut) error {
	return try(func() {
		l, work := workloads()[args.Workload], files(args.Files)
		if l.work != nil {
			l.work(&work)
		}
		params, s := must(split.Defaults(l.name)), must(split.Get(l.name))
		l.params(&params)
		cut := func() {
			parts, _, _, err := s.Cut(work, split.Limits{}, params, split.Carry{})
			check(err)
			c.Parts = len(parts)
		}
		cut()
		c.PeakMB = peakMB("self")
		rounds := max(1, min(200, 300_000/args.Files))
		if c.CPU = roundCPU(rounds, cut); l.plain == nil {
			return
		}
		c.Plain = roundCPU(rounds, func() {
			if parts := plainly(work, l.plain.pieces, l.plain.perPart); len(parts) != c.Parts {
				check(fmt.Errorf("%s: %d parts, and %d of a plain cut: they are to be alike", l.name, c.Parts, len(parts)))
			}
		})
	})
}

// roundCPU returns the mean CPU time of one of many rounds, including garbage collection.
func roundCPU(rounds int, round func()) time.Duration {
	runtime.GC()
	before := processCPU()
	for range rounds {
		round()
	}
	return (processCPU() - before) / time.Duration(rounds)
}

// plainly cuts work into parts in the simplest way: it sorts the files by name, divides each file into pieces, and puts
// a fixed number of pieces into each part. It checks nothing, has no limits, places or groups, and allocates each slice
// separately. The comparison shows the cost of the additional work of a splitter.
func plainly(work split.Work, piecesOf func(*jjm.File) []jjm.FileLumis, perPart int) []jjm.Part {
	files := slices.Clone(work.Files)
	slices.SortFunc(files, func(a, b jjm.File) int { return cmp.Compare(a.LFN, b.LFN) })
	var parts []jjm.Part
	room := 0
	for i := range files {
		for _, piece := range piecesOf(&files[i]) {
			if room == 0 {
				parts = append(parts, jjm.Part{Unit: jjm.UnitLumi, First: int64(len(parts) * perPart),
					Serial: int64(len(parts) + 1), Input: &jjm.PartInput{}})
				room = perPart
			}
			p := &parts[len(parts)-1]
			if in := p.Input; len(in.Files) == 0 || in.Files[len(in.Files)-1] != files[i].LFN {
				in.Files = append(in.Files, files[i].LFN)
			}
			piece.File = int32(len(p.Input.Files) - 1)
			p.Input.Lumis = append(p.Input.Lumis, piece)
			p.Count++
			room--
		}
	}
	return parts
}

// wholeFile returns one piece.
func wholeFile(*jjm.File) []jjm.FileLumis { return make([]jjm.FileLumis, 1) }

// quarters returns four pieces, like ranges of events.
func quarters(*jjm.File) []jjm.FileLumis { return make([]jjm.FileLumis, 4) }

// lumiSections returns one piece for each luminosity section.
func lumiSections(f *jjm.File) (pieces []jjm.FileLumis) {
	for _, r := range f.Lumis {
		for n := r.First; n <= r.Last; n++ {
			pieces = append(pieces, jjm.FileLumis{LumiRange: jjm.LumiRange{Run: r.Run, First: n, Last: n}})
		}
	}
	return pieces
}

// splitters measures every splitter of files with two numbers of files. It compares the first measurement with a plain
// cut, and the second with the first, to check that the cost is linear.
func splitters(b *bench) {
	for i, l := range workloads() {
		few, many := b.size.split[0], b.size.split[1]
		cut := b.cut(i, few)
		what := fmt.Sprintf("%s, %s, %d files: ", l.name, l.shape, few)
		each := perFile(cut.CPU, few)
		b.tellCut(l, what, few, cut)
		b.tell(what+"files per second", 1e9/each, "")
		b.tell(what+"parts per second", float64(cut.Parts)/cut.CPU.Seconds(), "")
		b.tell(what+"CPU per part", perFile(cut.CPU, cut.Parts), "ns")

		cut = b.cut(i, many)
		what = fmt.Sprintf("%s, %s, %d files: ", l.name, l.shape, many)
		b.beside(what+"CPU per file", perFile(cut.CPU, many), "ns", fmt.Sprintf("%d files", few), each, linearLimit)
		b.tell(what+"peak memory, work and parts", cut.PeakMB, "MB")
	}
}

func perFile(d time.Duration, n int) float64 { return float64(d.Nanoseconds()) / float64(n) }

// tellCut compares a cut with a plain cut in the same process, and with a tenth of the original's memory. It also
// compares it with the original's time, which was measured once, but without a target, because machines differ.
func (b *bench) tellCut(l workload, what string, n int, cut Cut) {
	if l.plain == nil {
		b.tell(what+"CPU per file", perFile(cut.CPU, n), "ns")
		b.tell(what+"peak memory, work and parts", cut.PeakMB, "MB")
		return
	}
	b.beside(what+"CPU per file", perFile(cut.CPU, n), "ns", "a plain cut", perFile(cut.Plain, n), l.plain.most)
	b.beside(what+"CPU per file", perFile(cut.CPU, n), "ns", "the original, recorded", l.plain.python*1e9, 0)
	b.target(what+"peak memory, work and parts", cut.PeakMB, "MB", l.plain.memory)
}

// cut cuts in a separate child, so that the peak memory belongs to one workload.
func (b *bench) cut(workload, n int) (c Cut) {
	b.inChild(func(child *rpc.Client) { c = ask[Cut](child, "Cutter.Cut", CutArgs{workload, n}) })
	return c
}
