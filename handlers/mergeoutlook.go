package handlers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Outlook estimates, before any local job has run, how many merges a grid job will have.
type Outlook struct {
	spec  *jjm.Spec
	each  int64   // number of outputs of one local job, 0 if unknown
	jobs  int64   // number of local jobs that will be submitted
	sizes []int64 // estimated sizes of the outputs; nil if one output has no estimate
}

// NewOutlook starts an estimate. cmd is the command of any part; the command may name outputs in addition to the
// outputs in the job file.
func NewOutlook(spec *jjm.Spec, cmd Command) *Outlook {
	return &Outlook{spec: spec, each: outputsOf(spec, cmd), sizes: []int64{}}
}

// outputsOf returns the number of output files of a local job, or 0 if it is unknown: an output is a pattern or
// optional, or the application reports its outputs.
func outputsOf(spec *jjm.Spec, cmd Command) int64 {
	if len(spec.OutputsOptional) > 0 {
		return 0
	}
	names := slices.Concat(spec.Outputs, spec.OutputsRequired, cmd.Outputs, cmd.Required)
	slices.Sort(names)
	names = slices.Compact(names)
	if spec.Result == jjm.ResultGLF || slices.ContainsFunc(names, func(n string) bool {
		return strings.ContainsAny(n, `*?[\`)
	}) {
		return 0
	}
	return int64(len(names))
}

// Add adds a part, unless the part must not be submitted.
func (o *Outlook) Add(p *jjm.Part) {
	if p.Failure() != nil {
		return
	}
	o.jobs++
	if o.sizes == nil || o.each != 1 || p.Input == nil || p.Input.Estimate.DiskKB <= 0 {
		o.sizes = nil
		return
	}
	o.sizes = append(o.sizes, int64(math.Ceil(p.Input.Estimate.DiskKB*1024)))
}

// AddJobs adds n local jobs whose outputs are unknown.
func (o *Outlook) AddJobs(n int64) { o.jobs, o.sizes = o.jobs+n, nil }

// Merges returns the estimate; nil if the job file has no merge. more means that local jobs may be added later. The
// error contains the mistakes in the settings of the merge.
func (o *Outlook) Merges(more bool) (*jjm.MergeOutlook, error) {
	if o.spec.Merge == nil {
		return nil, nil
	}
	cut, problems := MergeCutting(o.spec)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	out := &jjm.MergeOutlook{Splitter: cut.Splitter, Outputs: o.jobs * o.each}
	bound := fmt.Sprintf("at most %d bytes go into one", cut.Params.MaxMergeSize)
	out.Least, out.Most = min(out.Outputs, 1), out.Outputs
	if most := cut.Params.MaxMergeFiles; most > 0 {
		out.Least = (out.Outputs + most - 1) / most
		bound = fmt.Sprintf("at most %d files and %d bytes go into one", most, cut.Params.MaxMergeSize)
	}
	if n := cut.Params.FilesPerJob; cut.Splitter == split.JEDIMerge && n > 0 {
		out.Least = (out.Outputs + n - 1) / n
		out.Most, bound = out.Least, fmt.Sprintf("%d files go into each but the last", n)
	} else if cut.Splitter == split.JEDIMerge {
		bound = fmt.Sprintf("at most %d files go into one, which are expected to make at most %d bytes",
			cut.Params.MaxMergeFiles, cut.Params.MaxMergeSize)
	}
	if out.Outputs == 0 {
		out.Text = "their outputs are merged, and how many merges that makes is known once the outputs are: " + bound
		return out, nil
	}
	out.Text = fmt.Sprintf("their %d outputs make up to %d merges, and at least %d: %s", out.Outputs, out.Most, out.Least,
		bound)
	if more {
		out.Text = fmt.Sprintf("their %d outputs so far make up to %d merges, and more come: %s", out.Outputs, out.Most,
			bound)
		return out, nil
	}
	var err error
	if len(o.sizes) > 0 {
		if out.Estimated, err = pack(cut, o.sizes); err != nil {
			return nil, err
		}
		out.Text += fmt.Sprintf("; about %d if they are as large as estimated", out.Estimated)
	}
	return out, nil
}

// pack returns the number of merges for outputs of known sizes.
func pack(cut Cutting, sizes []int64) (int64, error) {
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return 0, err
	}
	work := split.Work{Closed: true, Files: make([]jjm.File, len(sizes))}
	for i, size := range sizes {
		work.Files[i] = Mergeable(jjm.File{LFN: fmt.Sprint(i), Size: size}, int64(i))
	}
	return sp.Count(work, cut.Params)
}

// WorkArea is the location of outputs that all clusters of a grid job can read.
const WorkArea = "work-area"

// Mergeable returns an output in the form that the merge splitters need: with a run, a section and a location. The
// splitters take files in the order of sections; n is the position of the file in this order.
func Mergeable(f jjm.File, n int64) jjm.File {
	at := uint32(n) + 1
	f.Lumis, f.Locations = []jjm.LumiRange{{Run: 1, First: at, Last: at}}, []string{WorkArea}
	return f
}
