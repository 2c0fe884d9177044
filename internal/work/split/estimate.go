package split

import "jjm/internal/jjm"

// estimate sets the expected needs of a part with a number of events.
func estimate(in *jjm.PartInput, p *Performance, events float64) {
	in.Estimate = jjm.Estimate{Seconds: events * p.TimePerEvent, DiskKB: events * p.SizePerEvent, MemoryMB: p.Memory}
}

// addParents adds the merged ancestors of files to a part, each ancestor once, if include_parents is set.
func addParents(in *jjm.PartInput, w *Work, p *Params, files ...int32) {
	if !p.IncludeParents {
		return
	}
	var all []string
	seen := map[string]bool{}
	for _, i := range files {
		f := &w.Files[i]
		from, known := w.Ancestors[f.LFN]
		if !known {
			from = f.Parents
		}
		for _, lfn := range from {
			if !seen[lfn] {
				seen[lfn] = true
				all = append(all, lfn)
			}
		}
	}
	if len(all) > 0 {
		more(in).Parents = all
	}
}
