package jjm

import (
	"cmp"
	"slices"
)

// JoinLumis gives the same sections in order, each once, in as few ranges as can be.
// Ranges without a section are left out.
func JoinLumis(all []LumiRange) []LumiRange {
	order := slices.DeleteFunc(slices.Clone(all), func(r LumiRange) bool { return r.Count() == 0 })
	slices.SortFunc(order, func(a, b LumiRange) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First))
	})
	var out []LumiRange
	for _, r := range order {
		n := len(out)
		if n > 0 && out[n-1].Run == r.Run && int64(r.First) <= int64(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}
