package cover

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"jjm/internal/jjm"
)

// shareSections reports whether a missing section of a file is also in another of the files. The recovery lists only
// the missing sections of files, so its splitter cannot detect shared sections.
func shareSections(files []lostFile, held [][]jjm.LumiRange) bool {
	twice := heldTwice(held)
	return slices.ContainsFunc(files, func(f lostFile) bool {
		return slices.ContainsFunc(f.lumis, func(l jjm.LumiRange) bool {
			list := twice[l.Run]
			i := sort.Search(len(list), func(i int) bool { return list[i].Last >= l.First })
			return i < len(list) && list[i].First <= l.Last
		})
	})
}

// heldTwice returns, by run, the sections that are in several files, ascending and disjoint.
func heldTwice(held [][]jjm.LumiRange) map[uint32][]jjm.LumiRange {
	in := map[uint32][]jjm.LumiRange{}
	for _, lumis := range held {
		for _, l := range jjm.JoinLumis(lumis) {
			in[l.Run] = append(in[l.Run], l)
		}
	}
	for run, all := range in {
		slices.SortFunc(all, func(a, b jjm.LumiRange) int { return cmp.Compare(a.First, b.First) })
		var twice []jjm.LumiRange
		end := int64(-1) // the last section so far
		for _, l := range all {
			if int64(l.First) <= end {
				twice = append(twice, jjm.LumiRange{Run: run, First: l.First, Last: uint32(min(end, int64(l.Last)))})
			}
			end = max(end, int64(l.Last))
		}
		in[run] = jjm.JoinLumis(twice)
	}
	return in
}

// byFile returns a splitting that starts a new part with each file, so that no list of sections claims sections of
// another part. A splitting with applyLumiCorrection needs no change and is returned as it is.
func byFile(before *jjm.Splitting) *jjm.Splitting {
	if before == nil || before.Params["applyLumiCorrection"] == true {
		return before
	}
	s := &jjm.Splitting{By: before.By, Params: maps.Clone(before.Params)}
	if s.Params == nil {
		s.Params = map[string]any{}
	}
	s.Params["halt_job_on_file_boundaries"] = true
	return s
}
