package split

import (
	"slices"

	"jjm"
)

// estimate sets what a part with these events is expected to need.
func estimate(in *jjm.PartInput, p *Performance, events float64) {
	in.Estimate = jjm.Estimate{Seconds: events * p.TimePerEvent, DiskKB: events * p.SizePerEvent, MemoryMB: p.Memory}
}

// ancestors adds the merged files that file i of the work comes from.
func ancestors(in *jjm.PartInput, w *Work, p *Params, i int32) {
	if !p.IncludeParents {
		return
	}
	f := &w.Files[i]
	from, known := w.Ancestors[f.LFN]
	if !known {
		from = f.Parents
	}
	for _, lfn := range from {
		if m := more(in); !slices.Contains(m.Parents, lfn) {
			m.Parents = append(m.Parents, lfn)
		}
	}
}
