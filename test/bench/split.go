package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// splitArgs describe the work for a splitter: the number of files, and the name of the workload.
type splitArgs struct {
	Work  string
	Files int
}

// splitCost is the cost of splitting: the CPU time of one split, and the peak memory of the process that holds the work
// and the parts.
type splitCost struct {
	CPU    time.Duration
	Plain  time.Duration // CPU time of plainly for the same work
	Parts  int
	PeakMB float64
}

// cutter is a child process that splits work into parts.
type cutter struct{}

func (cutter) close() error { return nil }

func (cutter) answer(_ context.Context, do string, arg func(into any) error) (any, error) {
	var args splitArgs
	if err := arg(&args); err != nil {
		return nil, err
	}
	if do != "cut" {
		return nil, fmt.Errorf("a cutter cannot %q", do)
	}
	for _, w := range workloads() {
		if w.name == args.Work {
			var cost splitCost
			err := profiled("split-"+w.name, func() (err error) {
				cost, err = w.cost(args.Files)
				return err
			})
			return cost, err
		}
	}
	return nil, fmt.Errorf("workload %q: not known", args.Work)
}

// workload describes files for a splitter.
type workload struct {
	name   string // name of the splitter
	shape  string
	params func(*split.Params)
	work   func(*split.Work, int)
	// pieces returns the pieces into which plainly divides a file; nil means no comparison. perPart is the number of
	// pieces in a part. most limits the CPU time of a split, as a multiple of the CPU time of plainly.
	pieces  func(*jjm.File) []jjm.FileLumis
	perPart int
	most    float64
	// python is the time that the original needs for each file if there are 1e5 files, in seconds of one core. It was
	// measured once. memory is a tenth of the original's memory, in MB. 0 means unknown.
	python float64
	memory float64
}

// workloads returns the workloads that were measured with the originals. The originals needed 0.5 GB for whole files
// and up to 2.3 GB for events and sections.
func workloads() []workload {
	const little, much = 50, 230
	perJob := func(n int64) func(*split.Params) { return func(p *split.Params) { p.FilesPerJob = n } }
	merge := func(p *split.Params) { p.MinMergeSize, p.MaxMergeSize = 10_000_000, 40_000_000 }
	return []workload{
		{name: split.FileBased, shape: "5 files per part", params: perJob(5), pieces: wholeFile, perPart: 5, most: 0.5,
			python: 1. / 171_000, memory: little},
		{name: split.MinFileBased, shape: "5 files per part", params: perJob(5), pieces: wholeFile, perPart: 5, most: 0.5,
			python: 1. / 164_000, memory: little},
		{name: split.EventBased, shape: "4 parts per file", params: func(p *split.Params) { p.EventsPerJob = 25 },
			pieces: quarters, perPart: 1, most: 0.7, python: 1. / 9_000, memory: much},
		{name: split.LumiBased, shape: "10 sections per file, 8 per part", params: func(p *split.Params) {
			p.LumisPerJob = 8
		}, pieces: lumiSections, perPart: 8, most: 0.7, python: 1. / 16_600, memory: much},
		{name: split.EventAwareLumiBased, shape: "10 sections per file, 8 per part", params: func(p *split.Params) {
			p.EventsPerJob = 80
		}, pieces: lumiSections, perPart: 8, most: 0.7, python: 1. / 15_800, memory: much},
		// The original needs quadratic time: 12.9 s for 30000 files, the largest number that was measured.
		{name: split.ParentlessMergeBySize, shape: "20 files per merge", params: merge, pieces: wholeFile, perPart: 20,
			most: 0.3, python: 12.9 / 30_000, memory: little},
		{name: split.WMBSMergeBySize, shape: "20 files per merge", params: merge, work: withParents},
		{name: split.SiblingProcessingBased, shape: "5 files per part", params: perJob(5)},
		{name: split.GangaDatasetSplitter, shape: "5 files per part", params: func(p *split.Params) { p.FilesPerSubjob = 5 }},
		{name: split.LHCbDataSplitter, shape: "5 files per bunch, 4 parts", params: func(p *split.Params) {
			p.FileBunchSize, p.EventBunchSize = 5, 125
		}},
		{name: split.JEDI, shape: "5 files per part, 10 secondary ones", params: func(p *split.Params) {
			p.Task.Rule = "NF=5"
		}, work: withSecondary},
		{name: split.JEDI + " by size", shape: "1 GB and output per part", params: func(p *split.Params) {
			p.Task.Rule, p.Task.OutPerMB = "NG=1", 25<<20
		}},
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
func withParents(w *split.Work, n int) {
	w.Parents = make(map[string]split.Parent, n/10)
	for i := range w.Files {
		parent := fmt.Sprintf("/store/parent/%d", i/10)
		w.Files[i].Parents = []string{parent}
		w.Parents[parent] = split.Parent{ID: int64(i / 10),
			Producers: []split.Producer{{Group: int64(i / 1000), Success: true}}}
	}
}

// withSecondary adds a dataset that is used repeatedly.
func withSecondary(w *split.Work, _ int) {
	s := split.Stream{Dataset: jjm.Dataset{Name: "minbias", Attributes: "ratio=2,repeat"}, Files: make([]jjm.File, 1000)}
	for i := range s.Files {
		s.Files[i] = jjm.File{LFN: fmt.Sprintf("/store/minbias/%d", i), Size: 1000}
	}
	w.Secondary = []split.Stream{s}
}

// cost splits the work once to measure the peak memory with all parts. Then it repeats the split often enough to
// measure the CPU time.
func (l *workload) cost(n int) (splitCost, error) {
	work := files(n)
	if l.work != nil {
		l.work(&work, n)
	}
	name := l.splitter()
	params, err := split.Defaults(name)
	if err != nil {
		return splitCost{}, err
	}
	l.params(&params)
	s, err := split.Get(name)
	if err != nil {
		return splitCost{}, err
	}
	var cost splitCost
	cut := func() error {
		parts, _, _, err := s.Cut(work, split.Limits{}, params, split.Carry{})
		cost.Parts = len(parts)
		return err
	}
	if err := cut(); err != nil {
		return splitCost{}, err
	}
	if cost.PeakMB, err = peakMB("self"); err != nil {
		return splitCost{}, err
	}
	rounds := max(1, min(200, 300_000/n))
	if cost.CPU, err = roundCPU(rounds, cut); err != nil || l.pieces == nil {
		return cost, err
	}
	cost.Plain, err = roundCPU(rounds, func() error {
		if parts := plainly(work, l.pieces, l.perPart); len(parts) != cost.Parts {
			return fmt.Errorf("%s: %d parts, and %d of a plain cut: they are to be alike", l.name, cost.Parts, len(parts))
		}
		return nil
	})
	return cost, err
}

// roundCPU returns the mean CPU time of one of many rounds, including garbage collection.
func roundCPU(rounds int, round func() error) (time.Duration, error) {
	runtime.GC()
	before := processCPU()
	for range rounds {
		if err := round(); err != nil {
			return 0, err
		}
	}
	return (processCPU() - before) / time.Duration(rounds), nil
}

// splitter returns the splitter with the name of the workload. Without such a splitter it returns JEDI, whose workloads
// have other names.
func (l *workload) splitter() string {
	for _, name := range split.Names() {
		if l.name == name {
			return name
		}
	}
	return split.JEDI
}

// split measures every splitter of files with several numbers of files. It compares the second-largest measurement with
// plainly, and the largest measurement with the second-largest, to check that the cost is linear.
func (b *bench) split() error {
	var errs []error
	for _, l := range workloads() {
		errs = append(errs, b.splitOne(&l))
	}
	return errors.Join(errs...)
}

func (b *bench) splitOne(l *workload) error {
	var last float64 // CPU per file
	for i, n := range b.size.split {
		cost, err := b.cut(l.name, n)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s, %s, %d files: ", l.name, l.shape, n)
		perFile := float64(cost.CPU.Nanoseconds()) / float64(n)
		switch i {
		case len(b.size.split) - 2:
			b.cpuBeside(l, what, n, cost)
			b.tell("split", what+"files per second", 1e9/perFile, "")
			b.tell("split", what+"parts per second", 1e9/perFile*float64(cost.Parts)/float64(n), "")
			b.tell("split", what+"CPU per part", perFile*float64(n)/float64(cost.Parts), "ns")
			if l.memory > 0 {
				b.target("split", what+"peak memory, work and parts", cost.PeakMB, "MB", l.memory)
			} else {
				b.tell("split", what+"peak memory, work and parts", cost.PeakMB, "MB")
			}
		case len(b.size.split) - 1:
			b.beside("split", what+"CPU per file", perFile, "ns", fmt.Sprintf("%d files", b.size.split[i-1]), last, 2)
			b.tell("split", what+"peak memory, work and parts", cost.PeakMB, "MB")
		default:
			b.tell("split", what+"CPU per file", perFile, "ns")
		}
		last = perFile
	}
	return nil
}

// cpuBeside compares the CPU time of a split with the CPU time of plainly in the same process. It also compares it with
// the original's time, which was measured once; this comparison has no target, because machines differ.
func (b *bench) cpuBeside(l *workload, what string, n int, cost splitCost) {
	perFile := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) }
	if l.pieces == nil {
		b.tell("split", what+"CPU per file", perFile(cost.CPU), "ns")
		return
	}
	b.beside("split", what+"CPU per file", perFile(cost.CPU), "ns", "a plain cut", perFile(cost.Plain), l.most)
	b.beside("split", what+"CPU per file", perFile(cost.CPU), "ns", "the original, recorded", l.python*1e9, 0)
}

// cut splits work in a separate child process, so that the peak memory belongs to one workload.
func (b *bench) cut(name string, n int) (splitCost, error) {
	var cost splitCost
	c, err := b.child("split")
	if err != nil {
		return cost, err
	}
	err = c.ask("cut", splitArgs{Work: name, Files: n}, &cost)
	_, closing := c.close()
	return cost, errors.Join(err, closing)
}
