package split

import "jjm"

// estimate sets what a part with these events is expected to need.
func estimate(in *jjm.PartInput, p *Performance, events float64) {
	in.Estimate = jjm.Estimate{Seconds: events * p.TimePerEvent, DiskKB: events * p.SizePerEvent, MemoryMB: p.Memory}
}

// ancestors adds the merged files that files of the work come from, each once.
func ancestors(in *jjm.PartInput, w *Work, p *Params, files ...int32) {
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
